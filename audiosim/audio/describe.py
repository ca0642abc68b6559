"""Sound files -> one Gaussian each, or the reason why not; in parallel."""

import os
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import Thread
from time import sleep
from typing import NamedTuple

import lazy_loader
import numpy as np

from audiosim.arrays import Array
from audiosim.audio import decode
from audiosim.audio.decode import Signal
from audiosim.audio.mfcc import Parameters, frames
from audiosim.audio.store import Recording
from audiosim.errors import InputError, SoundError
from audiosim.stats.gaussian import Gaussian, fit, triangles

threadpoolctl = lazy_loader.load("threadpoolctl")

Read = Callable[[Path], Signal]

# Variance, in dB squared, that rounding alone may give: frames are exact to 1e-3.
ROUNDING = 1e-6


class Described(NamedTuple):
    """A recording and its row: mean, upper triangle of the covariance."""

    recording: Recording
    row: Array


class Failure(NamedTuple):
    """A sound file that could not be described, and why."""

    path: str
    error: str


One = Callable[[Recording], Described | Failure]
Outcomes = Generator[Described | Failure, None, None]


def listed(sources: Mapping[str, str | Path]) -> list[Recording]:
    """What is known of the files before they are read; a file that is missing has size 0."""
    return [_listed(identifier, Path(path)) for identifier, path in sources.items()]


def _listed(identifier: str, path: Path) -> Recording:
    try:
        status = path.stat()
    except OSError:
        return Recording(identifier, str(path))
    return Recording(identifier, str(path), status.st_size, status.st_mtime_ns)


def describe_all(
    recordings: Iterable[Recording], parameters: Parameters, read: Read = decode.read, n_jobs: int | None = None
) -> Outcomes:
    """Describe many files; outcomes come in the order of the files, each once it and those before it are done.

    read    opens a file; called in the worker processes
    n_jobs  worker processes, as in scikit-learn: None is 1, -1 one per processor; each keeps to one thread

    The rows do not depend on n_jobs. Closing the generator ends the work.
    """
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0; -1 means one per processor")
    one = partial(describe, parameters=parameters, read=read)
    if n_jobs in {None, 1}:
        return _in_turn(one, recordings)
    return _in_parallel(one, recordings, n_jobs)


def _in_turn(one: One, recordings: Iterable[Recording]) -> Outcomes:
    # One thread as in the workers: with more, sums come in another order and rows differ in their last bits.
    with threadpoolctl.threadpool_limits(1):
        yield from map(one, recordings)


def _in_parallel(one: One, recordings: Iterable[Recording], n_jobs: int | None) -> Outcomes:
    from joblib import Parallel, delayed, parallel_config

    tasks = (delayed(_in_worker)(one, recording) for recording in recordings)
    with parallel_config("loky", inner_max_num_threads=1):
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    try:
        for outcome in outcomes:  # noqa: UP028 - `yield from` would hand an early close on, and joblib warns of it
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that tasks are dropped: whoever closes early means it
            outcomes.close()


def _in_worker(one: One, recording: Recording) -> Described | Failure:
    _end_with_parent()
    return one(recording)


@cache
def _end_with_parent() -> None:
    """End this process once its parent is gone: after a kill -9 loky's workers would wait for it for ever."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def describe(recording: Recording, parameters: Parameters, read: Read = decode.read) -> Described | Failure:
    """The Gaussian of one file, or why there is none."""
    try:
        signal = read(Path(recording.path))
        coefficients = frames(signal, parameters)
        row = pack_row(_fit(recording.path, coefficients))
    except SoundError as error:
        return Failure(recording.path, str(error).removeprefix(f"{recording.path}: "))
    known = replace(recording, seconds=signal.duration_s, frames=len(coefficients), note="; ".join(signal.notes))
    return Described(known, row)


def _fit(path: str, coefficients: Array) -> Gaussian:
    """The Gaussian of frames that vary by more than rounding, whichever way one looks."""
    steady = (
        f"{path}: steady, as a pure tone is: its frames do not vary in every direction, expected sound that changes"
    )
    try:
        gaussian = fit(coefficients)
    except InputError:
        raise SoundError(steady) from None
    if np.linalg.eigvalsh(gaussian.covariance)[0] <= ROUNDING:
        raise SoundError(steady)
    return gaussian


def pack_row(gaussian: Gaussian) -> Array:
    """The row of a Gaussian: mean, upper triangle of the covariance row by row."""
    return np.concatenate([gaussian.mean, triangles(gaussian.covariance[None])[0]])
