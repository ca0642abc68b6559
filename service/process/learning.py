"""Learning in a separate process, so that seconds of computing do not delay assessors.

Run as a module, it reads a method of a value, such as `Lesson.learned`, from the service and writes the result back.

Arrays travel beside the pickle (protocol 5), and arrays from the service are not sent back: a joint model has 45 MB of
them, and pickling these would stop all threads for a fifth of a second.
"""

import dataclasses
import io
import logging
import mmap
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

import numpy as np

from audiosim.campaign import Counted, Stretch
from audiosim.campaign.learning import takes_long
from audiosim.errors import ServiceError
from audiosim.joint.estimators import Relearning
from audiosim.results.value import cached_property
from audiosim.service.process.loops import give_back_freed_memory

# Progress of work in a separate process, reported to the process that waits for it; see `learning_process`.


class ErrandProgress(NamedTuple):
    """Number of steps done, and of all steps."""

    done: int
    total: int


listeners: list[Callable[[ErrandProgress], object]] = []  # of this process, called at each step


def tell_progress(done: int, total: int) -> None:
    """Report the progress of this process's work."""
    for listen in listeners:
        listen(ErrandProgress(done, total))


LOG = logging.getLogger("service")
NICENESS = 5  # assessors' requests take precedence
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
GRACE_S = 5.0
PART_BYTES = OWN_BYTES = 2**20
PROTOCOL = 5

Memory = bytearray | memoryview
Found = TypeVar("Found")


class Parcel(NamedTuple):
    """A value in transit: its pickle and its arrays, by number where the other side already has the array."""

    text: bytes
    arrays: list[memoryview]
    known: list[int | None]

    def write(self, target: BinaryIO) -> None:
        """Write the parcel without the arrays that the other side has."""
        pickle.dump((self.text, [array.nbytes for array in self.arrays], self.known), target)
        for array, known in zip(self.arrays, self.known, strict=True):
            for start in range(0, array.nbytes if known is None else 0, PART_BYTES):
                target.write(array[start : start + PART_BYTES])
        target.flush()


def wrap(
    value: object, known: Sequence[Memory] = (), shared: Sequence[object] = (), with_results: bool = True
) -> Parcel:
    """A value prepared for sending.

    known   arrays that the other side has, recognised by their place in memory, not by equality
    shared  objects that the other side has, in this order
    with_results  False to leave out what `cached_property` keeps: other threads may be adding to it
    """
    places = {_place(part): number for number, part in enumerate(known)}
    arrays: list[memoryview] = []
    text = io.BytesIO()
    packing = _Packing if with_results else _PackingWhileInUse
    packing(text, shared, lambda buffer: arrays.append(buffer.raw())).dump(value)
    return Parcel(text.getvalue(), arrays, [places.get(_place(array)) for array in arrays])


class _Packing(pickle.Pickler):
    """Pickler that writes numbers in place of the objects that the other side has."""

    def __init__(self, text: io.BytesIO, shared: Sequence[object], keep: Callable[[pickle.PickleBuffer], None]) -> None:
        super().__init__(text, protocol=PROTOCOL, buffer_callback=keep)
        self._numbers = {id(one): number for number, one in enumerate(shared)}

    def persistent_id(self, one: object) -> int | None:
        return self._numbers.get(id(one))


class _PackingWhileInUse(_Packing):
    """Pickler of values that other threads use meanwhile: nothing that they may fill is read while it is written.

    Results kept by `cached_property` are left out, and dictionaries and lists of objects are copied in one step.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._copies = dict[int, tuple[object, object]]()  # by identity: what two objects share, they share there too

    def reducer_override(self, one: Any) -> Any:
        kind = type(one)
        if kind.__module__ == "builtins" or not (hasattr(one, "__dict__") or dataclasses.is_dataclass(one)):
            return NotImplemented
        if isinstance(one, type):
            return NotImplemented
        reduced = one.__reduce_ex__(PROTOCOL)
        if not isinstance(reduced, tuple) or len(reduced) < 3:
            return NotImplemented
        make, given, state, *rest = reduced
        if isinstance(state, dict):
            results = {
                name for base in kind.__mro__ for name, of in vars(base).items() if isinstance(of, cached_property)
            }
            state = {name: self._copied(part) for name, part in state.copy().items() if name not in results}
        elif isinstance(state, list):
            state = [self._copied(part) for part in state]
        return make, given, state, *rest

    def _copied(self, part: object) -> object:
        if type(part) not in (dict, list):
            return part
        return self._copies.setdefault(id(part), (part, part.copy()))[1]  # type: ignore[attr-defined]


class _Unpacking(pickle.Unpickler):
    """Unpickler that replaces these numbers by the objects."""

    def __init__(self, text: bytes, shared: Sequence[object], arrays: Sequence[Memory]) -> None:
        super().__init__(io.BytesIO(text), buffers=arrays)
        self._shared = shared

    def persistent_load(self, number: int) -> object:
        return self._shared[number]


def _place(part: Memory) -> tuple[int, int]:
    """Address and size of a part of memory."""
    seen = np.frombuffer(part, np.uint8)
    return seen.ctypes.data, seen.nbytes


def receive(source: BinaryIO, known: Sequence[Memory] = (), shared: Sequence[object] = ()) -> tuple[Any, list[Memory]]:
    """A received value and its arrays; objects on both sides are taken from `known` and `shared`."""
    text, sizes, places = pickle.load(source)  # noqa: S301 - written by our own process
    if sum(size for size, place in zip(sizes, places, strict=True) if place is None) > OWN_BYTES:
        give_back_freed_memory()  # before what arrives takes more
    arrays: list[Memory] = []
    for size, place in zip(sizes, places, strict=True):
        array = _fresh(size) if place is None else known[place]
        if place is None and source.readinto(array) != size:  # type: ignore[attr-defined]
            raise EOFError("an array was cut off")
        arrays.append(array)
    return _Unpacking(text, shared, arrays).load(), arrays


def _fresh(size: int) -> Memory:
    """Memory for an array that arrives. Large ones come from the system and return to it, and leave no holes."""
    return memoryview(mmap.mmap(-1, size)) if size >= OWN_BYTES else bytearray(size)


class Errand(Generic[Found]):
    """Work done in a separate process."""

    def __init__(
        self,
        work: Callable[[], Found],
        shared: Sequence[object] = (),
        progress: Callable[[ErrandProgress], object] = lambda _: None,
    ) -> None:
        """Begin the work.

        work    a method of a value that can be pickled
        shared  parts of that value; the result refers to these very objects, not to copies. Without any, nothing of the
                value stays in memory here while it is worked on
        progress  called whenever the work calls `tell_progress`
        """
        packed = wrap((work, tuple(shared)), with_results=False)
        self._shared, self._packed, self._progress = shared, packed, progress
        self._process = subprocess.Popen(  # noqa: S603 - this very module
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(os.environ),
        )

    def result(self) -> Found:
        """The result; waits for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with self._process.stdin as target, self._process.stdout as source:
                self._packed.write(target)  # type: ignore[arg-type]
                known = self._packed.arrays if self._shared else []
                del self._packed
                found = receive(source, known, self._shared)[0]  # type: ignore[arg-type]
                while isinstance(found, ErrandProgress):
                    self._progress(found)
                    found = receive(source, known, self._shared)[0]  # type: ignore[arg-type]
        except (OSError, EOFError, pickle.UnpicklingError):
            raise ServiceError(f"the process that learns ended with status {self._process.wait()}") from None
        self._process.wait()
        result: Found = found
        return result

    def stop(self) -> None:
        """End the process and drop its result."""
        self._process.kill()


class Errands:
    """Long computations of campaigns, in separate processes while the service answers requests.

    Each holds the state that it began from: one runs at a time, beside learning and what requests wait for. Until the
    service answers requests, they run in this process: nobody waits, and no process has to be started.
    """

    def __init__(self) -> None:
        self._serving = self._ended = False
        self._under_way: set[Errand[Any]] = set()
        self._turn = threading.RLock()

    def start(self) -> None:
        """Use separate processes from now on: the service answers requests."""
        self._serving, self._ended = True, False

    def stop(self) -> None:
        """End all running work."""
        self._ended = True
        for one in list(self._under_way):
            one.stop()

    def count(self, stretch: Stretch) -> Counted:
        """Selection at the end of a stretch of a log."""
        people = len({change.assessor for change in stretch.changes})
        long = takes_long(len(stretch.changes), people, len(stretch.first.pool.pairs))
        if not long or not isinstance(stretch.base, Relearning):
            return stretch.counted()
        try:
            return self.run_now(lambda: stretch.counted, stretch.shared)
        except ServiceError as error:
            if self._ended:
                raise
            LOG.warning("%s; it is done within the service", error)  # because requests wait for it
            return stretch.counted()

    def run(self, prepare: Callable[[], Callable[[], Found]]) -> Found:
        """Result of work, when its turn comes; see `run_now`.

        prepare  makes the work, so that nothing here keeps its state in memory meanwhile
        """
        with self._turn:
            return self.run_now(prepare)

    def run_now(self, prepare: Callable[[], Callable[[], Found]], shared: Sequence[object] = ()) -> Found:
        """Result of work, as for `Errand`; without waiting for a turn, because requests wait for it, or the model does.

        It is done in this process if the service does not answer requests yet, or if the value cannot be pickled.
        """
        if not self._serving:
            return prepare()()
        try:
            errand = Errand(prepare(), shared)
        except (TypeError, AttributeError, ValueError, pickle.PickleError) as error:
            LOG.warning("computed within the service, not in a process of its own: %s", error)
            return prepare()()
        self._under_way.add(errand)
        try:
            if self._ended:  # since the check above
                errand.stop()
            return errand.result()
        finally:
            self._under_way.discard(errand)


def _environment(known: Mapping[str, str]) -> dict[str, str]:
    """Environment of the process: one thread for linear algebra, and this process's import path, with its plugins."""
    path = os.pathsep.join(filter(None, sys.path))
    return {**known, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": path}


def _learn(source: BinaryIO, target: BinaryIO) -> None:
    os.nice(NICENESS)
    listeners.append(lambda progress: wrap(progress).write(target))
    (work, shared), arrays = receive(source)
    threading.Thread(target=_end_with_service, args=[source.fileno()], daemon=True).start()
    wrap(work(), arrays if shared else (), shared).write(target)


def _end_with_service(source: int) -> None:
    """End the process with the service, because nobody waits for the result any more."""
    while os.read(source, 1):
        pass
    os._exit(1)


def main() -> None:
    """Do the work that the service sends through standard input."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a plugin must not mix with the answer
    try:
        with answer:
            _learn(sys.stdin.buffer, answer)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):  # the service was killed: nobody waits for the answer
        os._exit(1)


if __name__ == "__main__":
    # The work reports its progress to the imported module, whose listeners are others than those of this one.
    from audiosim.service.process import learning

    learning.main()
