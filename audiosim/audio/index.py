"""Many recordings as Gaussians: extracted from sound, saved, compared."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.audio import decode, store
from audiosim.audio.describe import Described, Failure, Outcomes, Read, describe_all, listed, pack_row
from audiosim.audio.mfcc import STANDARD, Parameters
from audiosim.audio.sources import find_sounds
from audiosim.audio.store import Appender, Recording
from audiosim.corpus.model import Run
from audiosim.errors import InputError
from audiosim.stats import gaussian
from audiosim.stats.gaussian import Gaussian, Packed, from_triangles, pack, width

Progress = Callable[[int, int, int], object]
QUERIES = 256  # compared with all others at a time


class Neighbour(NamedTuple):
    """A recording near another, and how far from it in nats."""

    identifier: str
    divergence: float


@dataclass(frozen=True, eq=False)
class AudioIndex:
    """Recordings, each as the Gaussian of its MFCC frames.

    recordings  (n) no two of one identifier
    rows        (n, d + d(d+1)/2) their means, then the upper triangles of their covariances row by row
    parameters  of the frames; d coefficients
    failed      the files that `extract` could not describe, and why
    """

    recordings: tuple[Recording, ...]
    rows: Array
    parameters: Parameters = STANDARD
    failed: tuple[Failure, ...] = ()

    def __post_init__(self) -> None:
        expected = (len(self.recordings), width(self.parameters.coefficients))
        if self.rows.shape != expected:
            raise InputError(f"rows must be {expected} to match the recordings and parameters, got {self.rows.shape}")
        if len(self._positions) < len(self.recordings):
            twice = next(name for name in self.ids if self.ids.count(name) > 1)
            raise InputError(f"two recordings are called {twice!r}")

    @classmethod
    def of(cls, gaussians: Mapping[str, Gaussian], parameters: Parameters = STANDARD) -> Self:
        """An index of Gaussians that are known already, by identifier."""
        rows = [pack_row(known) for known in gaussians.values()]
        empty = np.empty((0, width(parameters.coefficients)))
        return cls(tuple(map(Recording, gaussians)), np.stack(rows) if rows else empty, parameters)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The index in a folder, its rows mapped into memory."""
        parameters, recordings, rows = store.load(folder)
        return cls(recordings, rows, parameters)

    def save(self, folder: str | Path) -> None:
        """Write the index to a new folder."""
        if (Path(folder) / store.HEAD).exists():
            raise InputError(f"{folder}: holds an index already, expected a new folder")
        with Appender(folder, self.parameters) as index:
            for recording, row in zip(self.recordings, self.rows, strict=True):
                index.append(recording, row)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The identifiers, in the order of the rows."""
        return tuple(recording.identifier for recording in self.recordings)

    @property
    def means(self) -> Array:
        """(n, d)"""
        return self.rows[:, : self.parameters.coefficients]

    @property
    def covariances(self) -> Array:
        """(n, d, d)"""
        d = self.parameters.coefficients
        return from_triangles(self.rows[:, d:], d)

    def joined(self, other: "AudioIndex") -> "AudioIndex":
        """The recordings of both, which must have the same parameters, as one index in memory."""
        if other.parameters != self.parameters:
            raise InputError(
                f"cannot compare frames of other parameters ({other.parameters}), expected {self.parameters}"
            )
        rows = np.concatenate([self.rows, other.rows])
        return AudioIndex(self.recordings + other.recordings, rows, self.parameters, self.failed + other.failed)

    def divergence(self, rows: Iterable[str] | None = None, columns: Iterable[str] | None = None) -> Array:
        """Symmetrised Kullback-Leibler divergence KL(i || j) + KL(j || i), in nats: (r, c).

        rows     (r) identifiers, all where None
        columns  (c) identifiers, all where None
        """
        return gaussian.divergence(self._packed, self.positions(rows), self.positions(columns))

    def neighbours(
        self, ids: Iterable[str] | None, k: int, artists: Mapping[str, str | None] | None = None
    ) -> dict[str, tuple[Neighbour, ...]]:
        """The k recordings nearest to each of some, nearest first, never itself; fewer where there are no more.

        ids      whose neighbours, all where None
        k        at least 1
        artists  identifier -> artist: recordings of the same artist are left out, of an unknown one never

        Recordings equally near stand in the order of the index.
        """
        if k < 1:
            raise InputError(f"k must be at least 1, got {k}")
        groups = self._groups(artists or {})
        return {
            self.ids[query]: tuple(Neighbour(self.ids[j], float(row[j])) for j in _nearest(row, k))
            for query, row in self._rows_of_others(self.positions(ids), groups)
        }

    def positions(self, ids: Iterable[str] | None) -> Integers:
        """The rows of some identifiers, of all where None."""
        if ids is None:
            return np.arange(len(self.ids))
        try:
            return np.array([self._positions[identifier] for identifier in ids], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"no recording is called {error.args[0]!r} in this index of {len(self.ids)}") from None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {identifier: position for position, identifier in enumerate(self.ids)}

    @cached_property
    def _packed(self) -> Packed:
        return pack(self.means, self.covariances)

    def _groups(self, artists: Mapping[str, str | None]) -> Integers:
        """A number for each recording, the same for two exactly where they must not be neighbours."""
        groups = {artist: -1 - number for number, artist in enumerate(dict.fromkeys(artists.values()))}
        named = [artists.get(identifier) for identifier in self.ids]
        return np.array(
            [groups[artist] if artist else position for position, artist in enumerate(named)], dtype=np.int64
        )

    def _rows_of_others(self, queries: Integers, groups: Integers) -> Iterator[tuple[int, Array]]:
        """Each query and its divergences, infinite from what must not be its neighbour."""
        for start in range(0, len(queries), QUERIES):
            block = queries[start : start + QUERIES]
            away = gaussian.divergence(self._packed, block)
            away[groups[block][:, None] == groups[None, :]] = np.inf
            yield from zip(block.tolist(), away, strict=True)


def _nearest(row: Array, k: int) -> Integers:
    """Where the k smallest finite values are, smallest first, the earlier of equal ones first."""
    bound = np.partition(row, k - 1)[k - 1] if k < len(row) else np.inf
    candidates = np.flatnonzero((row <= bound) & np.isfinite(row))
    return candidates[np.argsort(row[candidates], kind="stable")][:k]


def nearest_run(
    index: AudioIndex,
    system: str,
    queries: Mapping[str, str],
    k: int,
    artists: Mapping[str, str | None] | None = None,
) -> Run:
    """The baseline system that retrieves for each query the recordings nearest to its own; see `neighbours`.

    queries  query -> the recording that it is
    """
    nearest = index.neighbours(dict.fromkeys(queries.values()), k, artists)
    return Run(system, {query: tuple(near.identifier for near in nearest[own]) for query, own in queries.items()})


def extract(
    sound: str | Path | Iterable[str | Path] | Mapping[str, str | Path],
    n_jobs: int | None = None,
    *,
    into: str | Path | None = None,
    parameters: Parameters = STANDARD,
    read: Read = decode.read,
    progress: Progress | None = None,
) -> AudioIndex:
    """Describe sound files: one Gaussian of full covariance per recording.

    sound       files, folders or a documents.tsv (see `find_sounds`), or identifier -> file
    n_jobs      worker processes, as in scikit-learn: None is 1, -1 one per processor
    into        folder of the index; files in it that have not changed are not read again. None: in memory
    parameters  of the frames; those of the index where there is one
    read        what opens a sound file
    progress    called with the numbers of files done (those already in the index too), failed, and in all

    Files that cannot be described are in `.failed` of the result and do not stop the rest. With `into`
    all that is done survives an interruption, and the same call goes on from there; the result holds
    all of the index, sound from earlier calls too.
    """
    sources = sound if isinstance(sound, Mapping) else find_sounds(sound)
    files, report = listed(sources), progress or _silent
    if into is None:
        described: list[Described] = []
        failed = _follow(describe_all(files, parameters, read, n_jobs), 0, len(files), report, described.append)
        rows = np.array([row for _, row in described]).reshape(-1, width(parameters.coefficients))
        return AudioIndex(tuple(recording for recording, _ in described), rows, parameters, failed)
    with Appender(into, parameters) as index:
        todo = [file for file in files if not index.holds(file)]
        outcomes, done = describe_all(todo, parameters, read, n_jobs), len(files) - len(todo)
        failed = _follow(outcomes, done, len(files), report, lambda described: index.append(*described))
    return replace(AudioIndex.load(into), failed=failed)


def _follow(
    outcomes: Outcomes, done: int, total: int, progress: Progress, keep: Callable[[Described], object]
) -> tuple[Failure, ...]:
    """Keep each outcome as it comes, and say how far it has got; what failed."""
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


def _silent(done: int, failed: int, total: int) -> None:
    """Nobody watches."""
