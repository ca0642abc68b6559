"""An index of recordings as Gaussians: extracted from sound, saved, compared."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from audiosim.collection.arrivals import ARRIVALS
from audiosim.errors import InputError
from audiosim.sound.decode import STANDARD_READER
from audiosim.sound.describe import Described, Done, Failure, Read, describe_all, listed
from audiosim.sound.descriptions import ByGaussians, Divergence, Searched
from audiosim.sound.gaussians import Gaussian, Singles, from_rows, to_rows, width
from audiosim.sound.kullback_leibler import Reals, kullback_leibler_divergence
from audiosim.sound.parameters import STANDARD_FRAMES, Descriptor, Parameters
from audiosim.sound.recordings import RecordingTable
from audiosim.sound.search import Neighbour, neighbours_by
from audiosim.sound.sources import SoundSource, find_sounds, is_url
from audiosim.sound.store import HEAD, Appender, Recording, read_head
from audiosim.stats.arrays import Array, Precision

ShowProgress = Callable[[int, int, int], object]
SAVED = 10_000  # recordings written together


@dataclass(frozen=True, eq=False, repr=False)
class AudioIndex(RecordingTable):
    """Recordings as Gaussians, to be compared; see `RecordingTable` for `recordings`, `table` and `parameters`.

    failed  files that `extract` could not describe, with the reasons
    """

    failed: tuple[Failure, ...] = ()

    @classmethod
    def of(cls, gaussians: Mapping[str, Gaussian], parameters: Parameters = STANDARD_FRAMES) -> Self:
        """An index of given Gaussians, by identifier."""
        rows = (to_rows(one.mean[None], one.covariance[None])[0] for one in gaussians.values())
        return cls(tuple(map(Recording, gaussians)), _table(rows, parameters), parameters)

    def save(self, folder: str | Path) -> None:
        """Write the index to a new folder."""
        if (Path(folder) / HEAD).exists():
            raise InputError(f"{folder}: holds an index already, expected a new folder")
        with Appender(folder, self.parameters) as index:
            for start in range(0, len(self), SAVED):
                part = slice(start, start + SAVED)
                index.extend(self.recordings[part], self.rows[part])

    def counts(self) -> dict[str, int]:
        """Numbers of band-limited and of silent recordings."""
        return {"band_limited": int(self.limited.sum()), "silent": int(self.silent.sum())}

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
        self.parameters.check_comparable(other.parameters)
        rows = np.concatenate([self.rows, other.rows])
        return AudioIndex((*self.recordings, *other.recordings), rows, self.parameters, self.failed + other.failed)

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
        places = [self.packed_places(Searched((self,)).wanted(ids)[0]) for ids in (rows, columns)]
        return kullback_leibler_divergence(self.packed, places[0], places[1], precision)

    def neighbours(
        self,
        ids: Iterable[str] | None,
        k: int,
        artists: Mapping[str, str | None] | None = None,
        *,
        divergence: Divergence = "js",
        proximity: bool = True,
    ) -> dict[str, tuple[Neighbour, ...]]:
        """The k nearest recordings of each of some by their Gaussians; see `neighbours_by`.

        divergence  "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon
        proximity   True to rank by mutual proximity, which reduces hubs, instead of the divergence
        """
        searched = Searched((self,))
        return neighbours_by(searched, [ByGaussians(searched, divergence)], ids, k, artists, proximity=proximity)

    def neighbours_of(
        self, other: "AudioIndex", k: int, *, divergence: Divergence = "js", proximity: bool = True
    ) -> dict[str, tuple[Neighbour, ...]]:
        """The k recordings of this index nearest to each recording of another one, such as a new clip's.

        other  index with the same parameters; an identifier that occurs here too means another recording
        """
        searched = Searched((self,), other)
        return neighbours_by(searched, [ByGaussians(searched, divergence)], None, k, proximity=proximity)


def _table(rows: Iterable[Singles], parameters: Parameters) -> Singles:
    return np.array([*rows], np.float32).reshape(-1, width(parameters.dimension))


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
) -> AudioIndex:
    """Describe sound files: one Gaussian of full covariance per recording.

    sound       files, folders, URLs or a documents.tsv (see `find_sounds`), or a mapping from identifiers to files
    n_jobs      worker processes, as in scikit-learn: None is 1, -1 one per processor
    into        folder of the index; files in it that have not changed are not read again. None: in memory
    parameters  parameters of the frames; None: those of an existing index, else STANDARD_FRAMES: MFCC, spectral
                contrast and band descriptors. See `described_by` for others
    read        opens a sound file; a function of your own opens kinds of file that audiosim does not
    progress    called with the number of files done (including those already in the index), failed, and in total
    scheduler   address of a Dask cluster that does the work instead; see `describe_all`
    prune       True to first remove recordings with a missing file; recordings at URLs stay

    Files that cannot be described are listed in `.failed` of the result and do not stop the rest. With `into`, finished
    work survives an interruption, and repeating the call continues from there; the result is the whole index, including
    recordings of earlier calls.
    """
    sources: Mapping[str, SoundSource] = sound if isinstance(sound, Mapping) else find_sounds(sound)
    files, report = listed(sources), progress or (lambda done, failed, total: None)
    parameters = parameters or _parameters_of(into)
    if into is None:
        described: list[Described] = []
        outcomes = describe_all(files, parameters, read, n_jobs, scheduler=scheduler)
        failed = follow(outcomes, 0, len(files), report, described.append)
        rows = _table((row for _, row in described), parameters)
        return AudioIndex(tuple(recording for recording, _ in described), rows, parameters, failed)
    with Appender(into, parameters) as index:
        if prune:
            _prune(index)
        todo = [file for file in files if not index.holds(file)]
        outcomes, done = describe_all(todo, parameters, read, n_jobs, scheduler=scheduler), len(files) - len(todo)
        failed = follow(outcomes, done, len(files), report, lambda one: index.append(*one))
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


def follow(
    outcomes: Generator[Done | Failure, None, None],
    done: int,
    total: int,
    progress: ShowProgress,
    keep: Callable[[Done], object],
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
    with Appender(later_folder(folder), read_head(Path(folder))) as index:
        index.append(*described)


def split(folder: str | Path, into: str | Path, count: int) -> tuple[Path, ...]:
    """Write an index as shards of about equal size, in folders numbered from 0; return the folders.

    count  number of shards, at least 1
    """
    if count < 1:
        raise InputError(f"there must be at least one shard, got {count}")
    index, made = AudioIndex.load(folder), []
    for number in range(count):
        part = slice(len(index) * number // count, len(index) * (number + 1) // count)
        shard = AudioIndex(tuple(index.recordings[part]), index.rows[part], index.parameters)
        made.append(Path(into) / f"{number:04}.index")
        shard.save(made[-1])
    return tuple(made)
