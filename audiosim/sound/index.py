"""An index of recordings as Gaussians: extracted from sound, saved, compared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from audiosim.collection.arrivals import ARRIVALS
from audiosim.errors import InputError
from audiosim.results.value import cached_property, need
from audiosim.sound import kullback_leibler
from audiosim.sound import packed as packing
from audiosim.sound import store as index_store
from audiosim.sound.channel import Decoder
from audiosim.sound.decode import STANDARD_READER, Reader
from audiosim.sound.describe import Described, Failure, Outcomes, Read, describe_all, listed, pack_row
from audiosim.sound.gaussians import Gaussian, RowTable, Singles, from_rows, from_triangles, to_rows, width
from audiosim.sound.kullback_leibler import Packed, Reals, pack
from audiosim.sound.nearest import SearchField
from audiosim.sound.parameters import STANDARD_FRAMES, Descriptor, Parameters
from audiosim.sound.search import Divergence, Queries, Ranked, check_search, search
from audiosim.sound.sources import SoundSource, find_sounds, is_url
from audiosim.sound.store import HEAD, Appender, Recording, Recordings, RowsOnDisk, check_rows, read_head
from audiosim.stats.arrays import Array, Booleans, Integers, Precision
from audiosim.text import repeated

ShowProgress = Callable[[int, int, int], object]
SAVED = 10_000  # recordings written together


class Neighbour(NamedTuple):
    """A recording near another: their divergence in nats, and their mutual proximity if requested."""

    identifier: str
    divergence: float
    proximity: float | None = None


@dataclass(frozen=True, eq=False)
class AudioIndex:
    """Recordings, each as the Gaussian of its frames.

    recordings  (n) entries with distinct identifiers
    table       (m, width) rows of Gaussians, single precision: mean, upper triangle of the covariance, ln det
    parameters  parameters of the frames; d dimensions
    failed      files that `extract` could not describe, with the reasons
    places      (n,) the row of each recording; None: row i is recording i
    folder      folder of the index on disk; None: in memory only
    """

    recordings: Sequence[Recording]
    table: Singles
    parameters: Parameters = STANDARD_FRAMES
    failed: tuple[Failure, ...] = ()
    places: Integers | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.places is not None:
            return  # rows on disk were checked when written
        expected = (len(self.recordings), width(self.parameters.dimension))
        if self.table.shape != expected:
            raise InputError(f"rows must be {expected} to match the recordings and parameters, got {self.table.shape}")
        if (twice := repeated(self.ids)) is not None:
            raise InputError(f"two recordings are called {twice!r}")

    @classmethod
    def of(cls, gaussians: Mapping[str, Gaussian], parameters: Parameters = STANDARD_FRAMES) -> Self:
        """An index of given Gaussians, by identifier."""
        return cls(tuple(map(Recording, gaussians)), _rows(map(pack_row, gaussians.values()), parameters), parameters)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The index in a folder, its rows mapped into memory and its lines not yet read."""
        stored = index_store.load(folder)
        return cls(stored.recordings, stored.rows, stored.parameters, (), stored.places, Path(folder))

    def save(self, folder: str | Path) -> None:
        """Write the index to a new folder."""
        if (Path(folder) / HEAD).exists():
            raise InputError(f"{folder}: holds an index already, expected a new folder")
        with Appender(folder, self.parameters) as index:
            for start in range(0, len(self), SAVED):
                part = slice(start, start + SAVED)
                index.extend(self.recordings[part], self.rows[part])

    def __len__(self) -> int:
        return len(self.recordings)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The identifiers, in the order of the rows."""
        if isinstance(self.recordings, Recordings):
            return self.recordings.identifiers
        return tuple(recording.identifier for recording in self.recordings)

    @cached_property
    def silent(self) -> Booleans:
        """(n,) True for recordings that are silent, or nearly so."""
        if isinstance(self.recordings, Recordings):
            return self.recordings.silent
        return np.array([recording.silent for recording in self.recordings], dtype=bool)

    @cached_property
    def limited(self) -> Booleans:
        """(n,) True for recordings that are known to be band-limited."""
        if isinstance(self.recordings, Recordings):
            return self.recordings.limited
        return np.array([recording.limited for recording in self.recordings], dtype=bool)

    def counts(self) -> dict[str, int]:
        """Numbers of band-limited and of silent recordings."""
        return {"band_limited": int(self.limited.sum()), "silent": int(self.silent.sum())}

    @cached_property
    def rows(self) -> Singles:
        """(n, width) the rows of the recordings; a copy if some were replaced on disk."""
        table = self.table
        if self.folder is not None and self.places is not None:
            check_rows(self.folder, table, self.places, index_store.ROWS)
        if self.places is None or np.array_equal(self.places, np.arange(len(table))):
            return table
        return table[self.places]

    def rows_at(self, positions: Integers) -> Singles:
        """(m, width) copy of some rows; on disk, only these are read and checked."""
        if self.places is None:
            return np.array(self.table[positions])
        return np.array(self.row_table[self.places[positions]])

    @cached_property
    def row_table(self) -> RowTable:
        """(m, width) rows by entry, as `table`; on disk, rows are checked when first used."""
        if self.folder is None or self.places is None:
            return self.table
        return RowsOnDisk(self.folder, self.table, self.places, index_store.ROWS)

    @property
    def means(self) -> Array:
        """(n, d)"""
        return from_rows(self.rows, self.parameters.dimension)[0]

    @property
    def covariances(self) -> Array:
        """(n, d, d)"""
        return from_rows(self.rows, self.parameters.dimension)[1]

    def joined(self, other: "AudioIndex") -> "AudioIndex":
        """The recordings of both indexes, which must have the same parameters, as one index in memory."""
        self._check_comparable(other)
        recordings = (*self.recordings, *other.recordings)
        return AudioIndex(
            recordings, np.concatenate([self.rows, other.rows]), self.parameters, self.failed + other.failed
        )

    def divergence(
        self,
        rows: Iterable[str] | None = None,
        columns: Iterable[str] | None = None,
        precision: Precision = "single",
    ) -> Reals:
        """Symmetrised Kullback-Leibler divergence KL(i || j) + KL(j || i), in nats: (r, c).

        rows       (r) identifiers; None: all
        columns    (c) identifiers; None: all
        precision  precision of the result; single is within a relative 1e-4, also for near duplicates
        """
        places = [None if ids is None and not self._is_large else self._packed_places(ids) for ids in (rows, columns)]
        return kullback_leibler.kullback_leibler_divergence(self._packed, places[0], places[1], precision)

    def neighbours(
        self,
        ids: Iterable[str] | None,
        k: int,
        artists: Mapping[str, str | None] | None = None,
        *,
        divergence: Divergence = "js",
        proximity: bool = True,
    ) -> dict[str, tuple[Neighbour, ...]]:
        """The k nearest recordings of each of some, nearest first, without itself; fewer if there are no more.

        ids         recordings to find neighbours of; None: all
        k           number of neighbours, at least 1
        artists     identifier -> artist: recordings by the same artist are left out; unknown artists never match
        divergence  "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon
        proximity   True to rank by mutual proximity, which reduces hubs, instead of the divergence

        Equally near recordings are in the order of the index. A silent recording is never a neighbour, but it
        has neighbours. Among more than 1,000 recordings all but plain "kl" rank a shortlist: see `search`.
        """
        check_search(k, divergence)
        positions = self.positions(ids)
        places = self._inside[positions]
        groups = self._groups(artists) if artists else None
        own = positions if groups is None else groups[positions]
        queries = Queries(self._packed.rows[places], own, places, self.limited[positions])
        ranked = search(self._field(groups), queries, k, divergence, proximity, self._limited)
        return {self.ids[position]: self._named(near) for position, near in zip(positions, ranked, strict=True)}

    def neighbours_of(
        self, other: "AudioIndex", k: int, *, divergence: Divergence = "js", proximity: bool = True
    ) -> dict[str, tuple[Neighbour, ...]]:
        """The k recordings of this index nearest to each recording of another one, such as a new clip's.

        other  index with the same parameters; an identifier that occurs here too means another recording
        """
        check_search(k, divergence)
        self._check_comparable(other)
        nobody = np.full(len(other), -1)
        queries = Queries(np.asarray(other.rows), nobody, nobody, other.limited)
        ranked = search(self._field(None), queries, k, divergence, proximity, self._limited)
        return {identifier: self._named(near) for identifier, near in zip(other.ids, ranked, strict=True)}

    def positions(self, ids: Iterable[str] | None) -> Integers:
        """The rows of some identifiers; None: of all."""
        if ids is None:
            return np.arange(len(self))
        try:
            return np.array([self._positions[identifier] for identifier in ids], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"no recording is called {error.args[0]!r} in this index of {len(self)}") from None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {identifier: position for position, identifier in enumerate(self.ids)}

    @property
    def _is_large(self) -> bool:
        return self.folder is not None and len(self.table) >= packing.LARGE

    @cached_property
    def _packed(self) -> Packed:
        """For a large index on disk all entries, including superseded ones; otherwise the recordings."""
        if self.folder is not None and self._is_large:
            return packing.packed_on_disk(self.folder, self.row_table, self.parameters.dimension)
        return pack(self.rows, self.parameters.dimension)

    @cached_property
    def _inside(self) -> Integers:
        """(n,) place of each recording among the packed rows."""
        return self.places if self.places is not None and self._is_large else np.arange(len(self))

    @cached_property
    def _outside(self) -> Integers:
        """Number of the recording in each packed row; -1 if the row has none."""
        outside = np.full(len(self._packed), -1)
        outside[self._inside] = np.arange(len(self))
        return outside

    @cached_property
    def _closed(self) -> Booleans:
        """Mask of the packed rows that are never neighbours."""
        return np.append(self.silent, True)[self._outside]

    @cached_property
    def _limited(self) -> Booleans:
        """Mask of the packed rows of band-limited recordings."""
        return np.append(self.limited, False)[self._outside]

    def _packed_places(self, ids: Iterable[str] | None) -> Integers:
        return self._inside[self.positions(ids)]

    def _field(self, groups: Integers | None) -> SearchField:
        """Search field: recordings that are valid and not silent, by default each in a group of its own."""
        known = self._outside if groups is None else np.where(self._outside < 0, 0, groups[self._outside])
        return SearchField(self._packed, known, self._closed, self._outside)

    def _named(self, near: Ranked) -> tuple[Neighbour, ...]:
        close = [None] * len(near.place) if near.proximity is None else near.proximity.tolist()
        return tuple(
            Neighbour(self.ids[position], distance, proximity)
            for position, distance, proximity in zip(
                self._outside[near.place], near.divergence.tolist(), close, strict=True
            )
        )

    def _groups(self, artists: Mapping[str, str | None]) -> Integers:
        """A number per recording, equal for two recordings exactly if they must not be neighbours."""
        groups = {artist: -1 - number for number, artist in enumerate(dict.fromkeys(artists.values()))}
        named = [artists.get(identifier) for identifier in self.ids]
        return np.array(
            [groups[artist] if artist else position for position, artist in enumerate(named)], dtype=np.int64
        )

    def _check_comparable(self, other: "AudioIndex") -> None:
        if other.parameters != self.parameters:
            raise InputError(
                f"cannot compare frames of other parameters ({other.parameters}), expected {self.parameters}"
            )


def _rows(described: Iterable[Array], parameters: Parameters) -> Singles:
    """Rows to be stored, from means and upper triangles."""
    d = parameters.dimension
    rows = np.array([*described], dtype=float).reshape(-1, width(d) - 1)
    return to_rows(rows[:, :d], from_triangles(rows[:, d:], d))


def extract(
    sound: str | Path | Iterable[str | Path] | Mapping[str, str | Path],
    n_jobs: int | None = None,
    *,
    into: str | Path | None = None,
    parameters: Parameters | None = None,
    read: Read = STANDARD_READER,
    progress: ShowProgress | None = None,
    scheduler: str | None = None,
    prune: bool = False,
    decoders: Sequence[Decoder] = (),
) -> AudioIndex:
    """Describe sound files: one Gaussian of full covariance per recording.

    sound       files, folders, URLs or a documents.tsv (see `find_sounds`), or a mapping from identifiers to files
    n_jobs      worker processes, as in scikit-learn: None is 1, -1 one per processor
    into        folder of the index; files in it that have not changed are not read again. None: in memory
    parameters  parameters of the frames; None: those of an existing index, else STANDARD_FRAMES: MFCC, spectral
                contrast and band descriptors. See `described_by` for others
    read        opens a sound file
    decoders    decoders of file kinds that audiosim does not open itself; they replace `read`
    progress    called with the number of files done (including those already in the index), failed, and in total
    scheduler   address of a Dask cluster that does the work instead; see `describe_all`
    prune       True to first remove recordings with a missing file; recordings at URLs stay

    Files that cannot be described are listed in `.failed` of the result and do not stop the rest. With `into`, finished
    work survives an interruption, and repeating the call continues from there; the result is the whole index, including
    recordings of earlier calls.
    """
    need("sound", "describing sound")
    suffixes = tuple(suffix for decoder in decoders for suffix in decoder.suffixes)
    if decoders:
        read = Reader(decoders=tuple(decoders))
    sources: Mapping[str, SoundSource] = sound if isinstance(sound, Mapping) else find_sounds(sound, suffixes)
    files, report = listed(sources), progress or _unwatched
    parameters = parameters or _parameters_of(into)
    if into is None:
        described: list[Described] = []
        outcomes = describe_all(files, parameters, read, n_jobs, scheduler=scheduler)
        failed = _follow(outcomes, 0, len(files), report, described.append)
        rows = _rows((row for _, row in described), parameters)
        return AudioIndex(tuple(recording for recording, _ in described), rows, parameters, failed)
    with Appender(into, parameters) as index:
        if prune:
            _prune(index)
        todo = [file for file in files if not index.holds(file)]
        outcomes, done = describe_all(todo, parameters, read, n_jobs, scheduler=scheduler), len(files) - len(todo)
        failed = _follow(
            outcomes, done, len(files), report, lambda one: index.append(one[0], _rows([one[1]], parameters)[0])
        )
    return replace(AudioIndex.load(into), failed=failed)


def _parameters_of(folder: str | Path | None) -> Parameters:
    """Parameters of an index; STANDARD_FRAMES if there is none."""
    if folder is None or not (Path(folder) / HEAD).exists():
        return STANDARD_FRAMES
    parameters = read_head(Path(folder))
    for one in parameters.descriptors:
        if isinstance(one, Descriptor):
            raise InputError(f"{folder}: holds frames of descriptor {one.name}, which must be among the parameters")
    return parameters


def _prune(index: Appender) -> None:
    for recording in index.recordings:
        if not is_url(recording.path) and not Path(recording.path).exists():
            index.remove(recording.identifier)


def _follow(
    outcomes: Outcomes, done: int, total: int, progress: ShowProgress, keep: Callable[[Described], object]
) -> tuple[Failure, ...]:
    """Keep each outcome as it arrives and report progress; return the failures."""
    failed: list[Failure] = []
    with closing(outcomes):
        progress(done, len(failed), total)
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                failed.append(outcome)
            else:
                keep(outcome)
                done += 1
            progress(done, len(failed), total)
    return tuple(failed)


def _unwatched(done: int, failed: int, total: int) -> None:
    """Ignore progress."""


# Recordings that arrived after an index was made: a second index with the same parameters, in `arrivals/`.
#
# The first index does not change, so closeness and the state of a campaign, which depend on it, do not change either.


def later_folder(folder: str | Path) -> Path:
    """Folder of the index of recordings that came later than a given index."""
    return Path(folder).parent / ARRIVALS / Path(folder).name


def load_all(folder: str | Path) -> tuple[AudioIndex, int]:
    """An index followed by the recordings that came later, and the number of its own.

    A later recording that `extract` has since described counts among the index's own.
    """
    index, later = AudioIndex.load(folder), later_folder(folder)
    if not (later / HEAD).exists():
        return index, len(index)
    arrived, own = AudioIndex.load(later), set(index.ids)
    fresh = [place for place, name in enumerate(arrived.ids) if name not in own]
    some = AudioIndex(tuple(arrived.recordings[place] for place in fresh), arrived.rows[fresh], arrived.parameters)
    return (index.joined(some) if fresh else index), len(index)


def append_later(folder: str | Path, described: Described) -> None:
    """Add a recording to those that came after an index was made; it is stored safely on return."""
    parameters = AudioIndex.load(folder).parameters
    d = parameters.dimension
    row = described.row.reshape(1, -1)
    later_folder(folder).parent.mkdir(parents=True, exist_ok=True)
    with Appender(later_folder(folder), parameters) as index:
        index.append(described.recording, to_rows(row[:, :d], from_triangles(row[:, d:], d))[0])
