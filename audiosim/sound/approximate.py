"""Approximate search of a large index: 128 bytes per recording, in lists made once by FAISS, which may be deleted.

    approximate.faiss  the lists, with all entries of the index that hold a Gaussian
    approximate.npz    the map from Gaussians to 128 numbers, the number of entries covered, recall, and CRC-32 of the
                       lists and of these entries

A search takes 200 candidates from the lists, or 4 per neighbour if that is more, and compares these exactly. New
entries are added to the lists; once the index has doubled in size, the lists are made again.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile
from zlib import crc32

import numpy as np

from audiosim.errors import InputError
from audiosim.results.value import need
from audiosim.sound.descriptions import Searched
from audiosim.sound.gaussians import RowTable, Singles
from audiosim.sound.index import AudioIndex
from audiosim.sound.jensen_shannon import jensen_shannon_divergence
from audiosim.sound.kullback_leibler import Whitener
from audiosim.sound.log_euclidean import log_euclidean
from audiosim.sound.store import ENTRIES, read_checks
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.threads import spread_on_threads

LISTS, FACTS = "approximate.faiss", "approximate.npz"
NUMBERS = 128  # numbers kept of a Gaussian; half as many find .91 of the neighbours that these find
CANDIDATES = 200  # candidates that are compared exactly
PROBED = 16  # share of the lists searched: one in 16
LEAST = 64  # entries in a list, on average
SAMPLE = 20_000  # entries used to make the map
TRAINED = 100_000  # entries used to make the lists
TOGETHER = 2_000
CHECKED, NEAREST = 50, 10  # recordings used to measure the recall, and number of nearest ones counted
SEED = 2012


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Map from Gaussians to a few numbers: their log-Euclidean coordinates on principal axes.

    centre  (w,) mean of the coordinates
    axes    (w, numbers)
    """

    whitener: Whitener
    centre: Array
    axes: Array

    @classmethod
    def of(cls, rows: Singles, dimension: int) -> Self:
        """Projection on the principal axes of a sample."""
        whitener = Whitener.of(rows, dimension)
        coordinates = log_euclidean(rows, whitener)
        centre = coordinates.mean(axis=0)
        centred = coordinates - centre
        _, axes = np.linalg.eigh(centred.T @ centred)
        return cls(whitener, centre, axes[:, ::-1][:, :NUMBERS].copy())

    def __call__(self, rows: Singles) -> Singles:
        """(n, numbers) in single precision."""
        projected: Singles = ((log_euclidean(rows, self.whitener) - self.centre) @ self.axes).astype(np.float32)
        return projected


@dataclass(frozen=True, slots=True, eq=False)
class CoarseIndex:
    """Lists of the Gaussians of an index.

    lists    lists of FAISS; they return numbers of entries
    entries  number of covered entries of the index
    trained  number of entries when the lists were made
    recall   share of the ten nearest by Jensen-Shannon divergence that are among the candidates
    origin   CRC-32 of the entries covered
    """

    projection: Projection
    lists: Any
    entries: int
    trained: int
    recall: float
    origin: int

    def near(self, rows: Singles, count: int = CANDIDATES) -> Integers:
        """(q, count) entries that may be nearest to each Gaussian; -1 fills up short rows."""
        _, found = self.lists.search(self.projection(rows), count)
        return np.asarray(found, np.int64)


class ApproximateSearch:
    """Candidates for neighbours of recordings in indexes on disk; missing lists are made.

    recall  the lowest of the indexes; NaN if all are empty
    """

    def __init__(self, searched: Searched) -> None:
        need("approximate", "an approximate search")
        self._searched = searched
        self._coarse = [coarse_index(shard) for shard in searched.shards]
        self._outside = [_outside(shard) for shard in searched.shards]
        known = [coarse.recall for coarse in self._coarse if coarse is not None]
        self.recall = min(known, default=float("nan"))

    def near(self, query: int, count: int = CANDIDATES) -> Integers:
        """Places of recordings of each index that may be nearest to one recording, itself included; at least this many.

        Fewer if the searched lists hold no more.
        """
        row = self._searched.rows(np.array([query]))
        found, start = [np.empty(0, np.int64)], 0
        for shard, coarse, outside in zip(self._searched.shards, self._coarse, self._outside, strict=True):
            if coarse is not None:
                entries = coarse.near(row, max(count, CANDIDATES))[0]
                places = outside[entries[entries >= 0]]
                found.append(start + places[places >= 0])
            start += len(shard)
        return np.unique(np.concatenate(found))


def _outside(shard: AudioIndex) -> Integers:
    """Number of each entry's recording; -1 if the entry is superseded."""
    outside = np.full(len(shard.row_table), -1)
    outside[shard.places] = np.arange(len(shard))
    return outside


def coarse_index(index: AudioIndex) -> CoarseIndex | None:
    """The lists of an index on disk, brought up to date; None if the index is empty."""
    folder = index.folder
    if folder is None or index.places is None:
        raise InputError("an approximate search needs an index on disk, got one in memory")
    if not len(index):
        return None
    known, count = _read(folder), len(index.row_table)
    if known is not None and (known.entries > count or known.origin != _origin(folder, known.entries)):
        known = None  # recordings of an index that existed before
    if known is not None and known.entries == count:
        return known
    if known is None or count >= 2 * known.trained:
        known = _made(index)
    else:
        _add(known.lists, known.projection, index.row_table, known.entries, count)
    known = replace(known, entries=count, recall=_recall(index, known), origin=_origin(folder, count))
    with suppress(OSError):  # a read-only folder cannot keep them: they are made again next time
        _write(folder, known)
    return known


def _origin(folder: Path, count: int) -> int:
    """CRC-32 of the first entries of an index, over their checksums or, if it has none, their places."""
    checks = read_checks(folder, count)
    return crc32(
        checks.tobytes() if len(checks) == count else np.fromfile(folder / ENTRIES, "<u8", 2 * count).tobytes()
    )


def _made(index: AudioIndex) -> CoarseIndex:
    dimension, count, places = index.parameters.dimension, len(index.row_table), np.asarray(index.places)
    sample = _held(index.row_table[_spread(places, SAMPLE)], dimension)
    projection = Projection.of(sample, dimension)
    numbers = projection.axes.shape[1]
    number_of_lists = max(1, min(round(4 * np.sqrt(len(places))), len(places) // LEAST))
    lists = _faiss().index_factory(numbers, f"IVF{number_of_lists},SQ8")
    lists.nprobe = max(min(8, number_of_lists), number_of_lists // PROBED)
    training = _spread(places, TRAINED)
    chosen = [training[start : start + TOGETHER] for start in range(0, len(training), TOGETHER)]
    lists.cp.niter, lists.cp.seed, lists.cp.min_points_per_centroid = 8, SEED, 1
    lists.train(np.concatenate(spread_on_threads(lambda some: projection(index.row_table[some]), chosen)))
    _add(lists, projection, index.row_table, 0, count)
    return CoarseIndex(projection, lists, count, count, float("nan"), 0)


def _spread(places: Integers, most: int) -> Integers:
    """Evenly spread places."""
    spread: Integers = np.sort(places)[:: max(1, -(-len(places) // most))]
    return spread


def _held(rows: Singles, dimension: int) -> Singles:
    """Mask of the rows that hold a Gaussian; the row of an entry that removes a recording is zero."""
    return rows[rows[:, dimension] > 0]


def _add(lists: Any, projection: Projection, table: RowTable, start: int, stop: int) -> None:
    """Put a range of entries into the lists."""
    dimension = len(projection.whitener.shift)

    def projected(part: range) -> tuple[Integers, Singles]:
        rows = table[np.arange(part.start, part.stop)]
        held = np.flatnonzero(rows[:, dimension] > 0)
        return part.start + held, projection(rows[held])

    for first in range(start, stop, 16 * TOGETHER):
        parts = _parts(first, min(stop, first + 16 * TOGETHER))
        for entries, numbers in spread_on_threads(projected, list(parts)):
            if len(entries):
                lists.add_with_ids(numbers, entries)


def _parts(start: int, stop: int) -> Iterator[range]:
    return (range(first, min(stop, first + TOGETHER)) for first in range(start, stop, TOGETHER))


def _recall(index: AudioIndex, coarse: CoarseIndex) -> float:
    """Recall on a sample of recordings: share of their ten nearest, found exactly, that are among the candidates."""
    table, dimension, held = index.row_table, index.parameters.dimension, np.sort(np.asarray(index.places))
    asked = _spread(held, CHECKED)
    rows = table[asked]
    candidates, wanted = coarse.near(rows), min(NEAREST, len(held) - 1)
    best = np.full((len(asked), 0), np.inf)
    names = np.empty((len(asked), 0), np.int64)
    for start in range(0, len(held), 16 * TOGETHER):
        some = held[start : start + 16 * TOGETHER]
        found = jensen_shannon_divergence(rows, table[some], dimension)
        found[asked[:, None] == some] = np.inf
        best, names = np.column_stack([best, found]), np.column_stack([names, np.tile(some, (len(asked), 1))])
        first = np.argpartition(best, min(wanted, best.shape[1] - 1), axis=1)[:, :wanted]
        best, names = np.take_along_axis(best, first, axis=1), np.take_along_axis(names, first, axis=1)
    shares = [np.isin(near, some).mean() for near, some in zip(names, candidates, strict=True) if len(near)]
    return float(np.mean(shares)) if shares else 1.0


def _read(folder: Path) -> CoarseIndex | None:
    """The lists in a folder; None if they are missing or damaged."""
    try:
        content = np.fromfile(folder / LISTS, np.uint8)
        with np.load(folder / FACTS) as known:
            if crc32(content.data) != int(known["crc"]):
                return None
            whitener = Whitener(known["shift"], known["stretch"], float(known["scale"]))
            projection = Projection(whitener, known["centre"], known["axes"])
            counts = int(known["entries"]), int(known["trained"]), float(known["recall"]), int(known["origin"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    return CoarseIndex(projection, _faiss().deserialize_index(content), *counts)


def _write(folder: Path, coarse: CoarseIndex) -> None:
    """Write the lists, then their facts, whose CRC-32 shows if a kill in between left the facts of other lists."""
    content, own = _faiss().serialize_index(coarse.lists), coarse.projection
    whitener = own.whitener
    lists, facts = (folder / f"{name}.{os.getpid()}" for name in (LISTS, FACTS))
    content.tofile(lists)
    with facts.open("wb") as file:
        np.savez(
            file, crc=crc32(content.data), entries=coarse.entries, trained=coarse.trained, recall=coarse.recall,
            origin=coarse.origin,
            shift=whitener.shift, stretch=whitener.stretch, scale=whitener.scale, centre=own.centre, axes=own.axes,
        )  # fmt: skip
    lists.replace(folder / LISTS)
    facts.replace(folder / FACTS)


@cache
def _faiss() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # SWIG's types cause these warnings
        import faiss
    return faiss
