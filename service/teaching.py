"""Learning in a process of its own: what takes seconds of a processor holds up nobody who judges.

Run as a module it reads a `Lesson` and writes the estimator that has learned; both come from the service itself.

Arrays go beside the pickle, in parts (pickle protocol 5), and what the service sent and gets back is not sent back: a
joint model has 45 MB of them, and to pickle them would stop all threads for a fifth of a second.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from audiosim.campaign import Lesson
from audiosim.errors import ServiceError
from audiosim.relevance.estimators import RelevanceEstimator

NICENESS = 5  # who judges goes first
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
GRACE_S = 5.0
PART_BYTES = 2**20

Memory = bytearray | memoryview


class Parcel(NamedTuple):
    """A value as it is sent: its pickle, its arrays, and for each the number of what the other side has, if it has."""

    text: bytes
    arrays: list[memoryview]
    known: list[int | None]

    def write(self, target: BinaryIO) -> None:
        """Write it, without the arrays that the other side has."""
        pickle.dump((self.text, [array.nbytes for array in self.arrays], self.known), target)
        for array, known in zip(self.arrays, self.known, strict=True):
            for start in range(0, array.nbytes if known is None else 0, PART_BYTES):
                target.write(array[start : start + PART_BYTES])
        target.flush()


def wrap(value: object, known: Sequence[Memory] = ()) -> Parcel:
    """A value to be sent.

    known  arrays that the other side has: not copies of them, these very places in memory
    """
    places = {_place(part): number for number, part in enumerate(known)}
    arrays: list[memoryview] = []
    text = pickle.dumps(value, protocol=5, buffer_callback=lambda buffer: arrays.append(buffer.raw()))
    return Parcel(text, arrays, [places.get(_place(array)) for array in arrays])


def _place(part: Memory) -> tuple[int, int]:
    """Address and size of a part of memory."""
    seen = np.frombuffer(part, np.uint8)
    return seen.ctypes.data, seen.nbytes


def receive(source: BinaryIO, known: Sequence[Memory] = ()) -> tuple[Any, list[Memory]]:
    """A value that was sent, and its arrays; those that both sides have it shares with `known`."""
    text, sizes, places = pickle.load(source)  # noqa: S301 - written by our own process
    arrays: list[Memory] = []
    for size, place in zip(sizes, places, strict=True):
        array = bytearray(size) if place is None else known[place]
        if place is None and source.readinto(array) != size:  # type: ignore[attr-defined]
            raise EOFError("an array was cut off")
        arrays.append(array)
    return pickle.loads(text, buffers=arrays), arrays  # noqa: S301 - likewise


class Learner:
    """A process that learns one lesson."""

    def __init__(self, lesson: Lesson) -> None:
        """Begin to learn."""
        self.lesson, self._packed = lesson, wrap(lesson)
        self._process = subprocess.Popen(  # noqa: S603 - this very module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(os.environ),
        )

    def learned(self) -> RelevanceEstimator:
        """The estimator that has learned, once that is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with self._process.stdin as target, self._process.stdout as source:
                self._packed.write(target)  # type: ignore[arg-type]
                learned: RelevanceEstimator = receive(source, self._packed.arrays)[0]  # type: ignore[arg-type]
        except (OSError, EOFError, pickle.UnpicklingError):
            raise ServiceError(f"the process that learns ended with status {self._process.wait()}") from None
        self._process.wait()
        return learned

    def stop(self) -> None:
        """End it, whatever it has learned."""
        self._process.kill()


def _environment(known: Mapping[str, str]) -> dict[str, str]:
    """One thread for linear algebra, and the modules of this process, plugins among them."""
    path = os.pathsep.join(filter(None, sys.path))
    return {**known, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}


def _learn(source: BinaryIO, target: BinaryIO) -> None:
    os.nice(NICENESS)
    lesson, arrays = receive(source)
    threading.Thread(target=_end_with_service, args=[source.fileno()], daemon=True).start()
    wrap(lesson.learned(), arrays).write(target)


def _end_with_service(source: int) -> None:
    """End when the service does, which holds the other end: nobody waits for the answer then."""
    while os.read(source, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a plugin prints is no answer
    try:
        with answer:
            _learn(sys.stdin.buffer, answer)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):  # the service was killed: there is nobody to tell
        os._exit(1)
