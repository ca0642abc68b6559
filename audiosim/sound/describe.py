"""Description of sound files by Gaussians, or the reason why there is none: here, in other processes, on a cluster."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, TypeVar

import lazy_loader
import numpy as np
from numpy.typing import NDArray

from audiosim import workers
from audiosim.errors import InputError, SoundError
from audiosim.sound import decode
from audiosim.sound.channel import fed
from audiosim.sound.decode import STANDARD_READER, Reader, Signal
from audiosim.sound.filters import filter_banks
from audiosim.sound.frames import FrameBlocks, framed, frames
from audiosim.sound.gaussians import Gaussian, Singles, to_rows
from audiosim.sound.parameters import BANDS, CONTRAST, MFCC, PLAIN, STANDARD_FRAMES, Descriptor, Parameters
from audiosim.sound.sources import LeftOut, SoundSource, is_url, local_copy, remote_status
from audiosim.sound.store import HEAD, Recording, read_head
from audiosim.stats.arrays import Array
from audiosim.text import did_you_mean, one_line

threadpoolctl = lazy_loader.load("threadpoolctl")

Read = Callable[[Path], Signal]

# Variance in dB squared below which frames count as constant. Frames are exact to 2e-3 dB, so rounding gives up
# to 4e-6; rows are kept in single precision, which moves an eigenvalue by up to 3e-7 of the largest. The smallest
# eigenvalue of 96 real clips is 5.7 in the median, and at least 0.01 and 7e-6 of the largest.
STEADY = 1e-3
STEADY_SHARE = 3e-6  # the same, as a share of the largest eigenvalue
LIMIT_S = 120.0  # seconds allowed for describing a file, plus
LIMIT_S_PER_BYTE = 4e-6  # these per byte: a megabyte is at most some minutes of sound


class Described(NamedTuple):
    """A recording and its row; see `gaussians.to_rows`."""

    recording: Recording
    row: Singles


class Failure(NamedTuple):
    """A sound file that could not be described, and the reason."""

    path: str
    error: str

    def row(self) -> dict[str, str]:
        """The failure as plain values: a path with escapes for bytes that are not text."""
        return {"path": self.path.encode("utf-8", "backslashreplace").decode(), "error": self.error}


class Embedded(NamedTuple):
    """A recording and its vector, in single precision."""

    recording: Recording
    vector: NDArray[np.float32]


Done = TypeVar("Done", Described, Embedded)
Outcomes = Generator[Described | Failure, None, None]


def listed(sources: Mapping[str, SoundSource]) -> list[Recording]:
    """Facts about files before they are read.

    A missing file has size 0. The note of a file that must not be opened gives the reason.
    """
    return [_listed(identifier, source) for identifier, source in sources.items()]


def _listed(identifier: str, source: SoundSource) -> Recording:
    if isinstance(source, LeftOut):
        return Recording(identifier, source.path, note=source.reason)
    if is_url(source):
        return Recording(identifier, str(source), *remote_status(str(source)))
    try:
        status = Path(source).stat()
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return Recording(identifier, str(source))
    return Recording(identifier, str(source), status.st_size, status.st_mtime_ns)


def describe_all(
    recordings: Iterable[Recording],
    parameters: Parameters,
    read: Read = STANDARD_READER,
    n_jobs: int | None = None,
    *,
    scheduler: str | None = None,
    limit_s: float = LIMIT_S,
) -> Outcomes:
    """Describe many files; outcomes come in the order of the files, each as early as possible.

    read       opens a file; called in the worker processes
    n_jobs     worker processes, each on one thread; -1 is one per processor, -2 one fewer, as in scikit-learn. None:
               this process, which then suffers if a codec crashes or hangs
    scheduler  address of a Dask cluster that does the work instead; it must find the files under their paths
    limit_s    seconds that a file may take in a worker, plus 4 s per megabyte; a slower file counts as failed

    If a codec crashes or hangs in a worker, only that file is lost. The rows do not depend on n_jobs; on a
    cluster of other machines they may differ in their last bits. Closing the generator ends the work.
    """
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; -1 means one per processor")
    if n_jobs is None and scheduler is None:
        return _in_turn(partial(describe_file, parameters=parameters, read=read), recordings)
    import joblib

    portable = read if isinstance(read, Reader) else joblib.wrap_non_picklable_objects(read)
    parameters = parameters.portable(joblib.wrap_non_picklable_objects)
    one = partial(describe_file, parameters=parameters, read=portable)
    if scheduler is None:
        filter_banks(parameters)  # computed once here, so that the workers do not each import librosa
    return each_file(one, recordings, n_jobs, scheduler, partial(prepare_for, parameters), limit_s)


def each_file(
    one: Callable[[Recording], Done | Failure],
    recordings: Iterable[Recording],
    n_jobs: int | None,
    scheduler: str | None,
    prepare: Callable[[], object],
    limit_s: float = LIMIT_S,
) -> Generator[Done | Failure, None, None]:
    """The outcome of work on each file in worker processes or on a cluster, in order; see `describe_all`.

    prepare  called by each worker process before its first file
    """
    import joblib

    limit = partial(_limit_s, limit_s)
    if scheduler is not None:
        return workers.spread_on_cluster(
            partial(_elsewhere, one, str(Path.cwd())), list(recordings), scheduler, limit, _lost
        )
    return workers.spread(one, recordings, joblib.effective_n_jobs(n_jobs), limit, _lost, prepare)


def describer(parameters: Parameters, read: Read, limit_s: float) -> workers.Crew[Recording, Described | Failure]:
    """Worker that describes files one by one, made ready before the first.

    Arguments as for `describe_all`.
    """
    one = partial(describe_file, parameters=parameters, read=read)
    return workers.Crew(one, partial(_limit_s, limit_s), _lost, partial(prepare_for, parameters))


def prepare_for(parameters: Parameters) -> None:
    """Load the libraries and compile the code that describing needs."""
    with suppress(Exception):  # each file will report the error of a descriptor
        frames(second_of_sound(parameters.rate_hz), parameters)


def second_of_sound(rate_hz: int) -> Signal:
    """A sweep for a worker to begin with, once the libraries that read sound are loaded."""
    decode.load_libraries()
    time = np.arange(rate_hz, dtype=np.float32) / rate_hz
    return Signal(np.sin(np.float32(1e4) * time * time), rate_hz)  # numpy.random takes 10 ms to load


def _in_turn(one: Callable[[Recording], Described | Failure], recordings: Iterable[Recording]) -> Outcomes:
    # One thread as in the workers: with more, sums come in another order and rows differ in their last bits.
    with threadpoolctl.threadpool_limits(1):
        yield from map(one, recordings)


def _elsewhere(one: Callable[[Recording], Done | Failure], folder: str, recording: Recording) -> Done | Failure:
    """Work on a file by its path relative to a folder, which may differ from the worker's current one."""
    if is_url(recording.path):
        return one(recording)
    outcome = one(replace(recording, path=str(Path(folder, recording.path))))
    if isinstance(outcome, Failure):
        return Failure(recording.path, outcome.error)
    return outcome._replace(recording=replace(outcome.recording, path=recording.path))


def _limit_s(limit_s: float, recording: Recording) -> float:
    return limit_s + LIMIT_S_PER_BYTE * recording.size_bytes


def _lost(recording: Recording, why: str) -> Failure:
    return Failure(recording.path, f"its decoder {why}, expected {decode.FORMATS} that it can read")


def describe_file(recording: Recording, parameters: Parameters, read: Read = STANDARD_READER) -> Described | Failure:
    """The Gaussian of one file, or the reason for its absence.

    A recording that already has a note is not opened; the note is the reason. A failed assertion in `read` is a bug and
    is raised; after any other exception only this file is lost.
    """
    if recording.note and not recording.frames:
        return Failure(recording.path, recording.note)
    place = recording.path
    try:
        with opened_sound(place) as path:
            place = str(path)
            recorded, notes = _heard(read, path, parameters)
            return _described(recording, recorded, notes)
    except SoundError as error:
        return Failure(recording.path, str(error).removeprefix(f"{place}: ").removeprefix(f"{recording.path}: "))
    except MemoryError:
        return Failure(recording.path, "does not fit into memory, expected a shorter recording")


def opened_sound(place: str) -> AbstractContextManager[Path]:
    """Local path of a sound file; for a URL, a copy that exists as long as it is open."""
    return local_copy(place) if is_url(place) else nullcontext(Path(place))


def _heard(read: Read, path: Path, parameters: Parameters) -> tuple[FrameBlocks, tuple[str, ...]]:
    """The frames of a file, and notes on them."""
    notes: tuple[str, ...] = ()

    def hand_on(start: Callable[[], FrameBlocks]) -> FrameBlocks:
        nonlocal notes
        if isinstance(read, Reader):
            found, notes = read.feed(path, start)
            return found
        signal = read(path)
        notes = signal.notes
        return fed(start(), signal.samples)

    try:
        return framed(hand_on, parameters), notes
    except (SoundError, MemoryError, AssertionError):
        raise
    except Exception as error:
        raise SoundError(f"{path}: its decoder failed ({one_line(error)}), expected {decode.FORMATS}") from error


def _described(recording: Recording, found: FrameBlocks, notes: tuple[str, ...]) -> Described:
    if found.frames < 2:
        raise SoundError(f"{recording.path}: lasts {found.seconds:.3g} s, which is one frame, expected at least 2")
    gaussian, ridge, still = summarise(found.values())
    silent = found.silent or still
    known = replace(
        recording,
        seconds=found.seconds,
        frames=found.frames,
        note="; ".join(_notes(notes, found.limit_hz, ridge, silent)),
        silent=silent,
        limit_hz=None if silent else found.limit_hz,
    )
    return Described(known, to_rows(gaussian.mean[None], gaussian.covariance[None])[0])


def _notes(notes: tuple[str, ...], limit_hz: float | None, ridge: float, silent: bool) -> Iterator[str]:
    """Notes on the signal, and on its frames."""
    yield from notes
    if limit_hz is not None and not silent:
        yield f"band-limited: almost nothing above {limit_hz / 1000:.1f} kHz"
    if silent and not any(note.startswith("silent") for note in notes):
        yield "silent: almost nothing is audible"
    elif ridge and not silent:
        yield f"steady: its frames do not vary in every direction, so {ridge:.2g} was added to each variance"


def summarise(blocks: Iterable[Array]) -> tuple[Gaussian, float, bool]:
    """The Gaussian of a recording's frames, the ridge added to it (0 if none), and whether its frames are all the same.

        covariance  S + r I,  r = max(0, f - l1),  f = max(1e-3, 3e-6 ld),  l1 <= ... <= ld the eigenvalues of S

    blocks  (n, d) frames at a time, at least 2 in total

    Frames of silence are all equal, and those of a pure tone span few directions, so they have no density. The ridge r
    gives them one, as thin as rounding allows (see STEADY), and leaves all other recordings unchanged. Because it is
    thin, such recordings are thousands of nats from music, while music is tens of nats from music: they are
    neighbours of each other only. Constant frames have ld <= 1e-3.
    """
    mean, covariance = _moments(blocks)
    eigenvalues = np.linalg.eigvalsh(covariance)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    ridge = max(0.0, max(STEADY, STEADY_SHARE * largest) - smallest)
    return Gaussian(mean, covariance + ridge * np.eye(len(mean))), ridge, largest <= STEADY


def _moments(blocks: Iterable[Array]) -> tuple[Array, Array]:
    """Mean and covariance of frames, a block at a time.

    Each block is centred on its own mean: sums of squares would lose digits where the mean is far from 0.
    Chan, Golub & LeVeque (1983), doi:10.1080/00031305.1983.10483115, equation 1.5b.
    """
    count, mean, scatter = 0, np.zeros(()), np.zeros(())
    for values in blocks:
        own = values.mean(axis=0, dtype=float)
        centred = values - own
        away, total = own - mean, count + len(values)
        between = count * len(values) / total * np.outer(away, away) if count else 0.0
        mean = mean + len(values) / total * away if count else own
        scatter, count = scatter + (centred.T @ centred + between), total
    return mean, scatter / (count - 1)


# Descriptions of frames by name.

OWN_FRAMES = {"standard": STANDARD_FRAMES, "mfcc": PLAIN}
OWN_DESCRIPTORS = (MFCC, CONTRAST, BANDS)
LIBROSA = {
    "chroma": "feature.chroma_stft",
    "onset": "onset.onset_strength",
    "rolloff": "feature.spectral_rolloff",
    "tonnetz": "feature.tonnetz",
}


def find_frames(text: str) -> Parameters:
    """The parameters of frames named by `--frames`: "standard", or names of descriptors joined by commas.

    audiosim's own are mfcc, contrast and bands; chroma, onset, rolloff and tonnetz are librosa's.
    """
    if text in OWN_FRAMES:
        return OWN_FRAMES[text]
    names, known = [name.strip() for name in text.split(",")], [*OWN_DESCRIPTORS, *LIBROSA]
    for name in names:
        if name not in known:
            expected = f"{' or '.join(OWN_FRAMES)} alone, or some of {', '.join(known)}{did_you_mean(name, known)}"
            raise InputError(f"unknown descriptor {name!r}, expected {expected}")
    return Parameters(descriptors=tuple(name if name in OWN_DESCRIPTORS else _of_librosa(name) for name in names))


def _of_librosa(name: str) -> Descriptor:
    module, _, function = LIBROSA[name].partition(".")
    return Descriptor.of(getattr(import_module(f"librosa.{module}"), function), name)


def frames_of_index(folder: Path) -> Parameters:
    """The parameters of the index in a folder, with the functions of its descriptors; the standard ones without it."""
    if not (folder / HEAD).exists():
        return STANDARD_FRAMES
    parameters = read_head(folder)
    return replace(parameters, descriptors=find_frames(",".join(parameters.names)).descriptors)
