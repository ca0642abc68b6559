"""Background loops of a service, run until stopped; failures are logged once, retried, and shown in its readiness."""

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from audiosim.errors import AudiosimError
from audiosim.text import one_line

# Memory management of a service: freed memory is reused, and a cached answer lives as long as its value.


Value = TypeVar("Value")
Answer = TypeVar("Answer")
P = ParamSpec("P")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # as glibc's malloc.h numbers them
KEPT_BYTES = 32 * 2**20
LARGE_BYTES = 32 * 2**20
SPARE_BYTES = 16 * 2**20
SIZE = ctypes.c_size_t


def keep_freed_memory() -> None:
    """Make glibc keep freed memory for reuse, by all threads; on other platforms, do nothing.

    Otherwise glibc returns the large arrays of each prediction to the system and gets them back page by page for the
    next request: a third of the time for 5,000 rows of features. It also keeps what a thread has freed for that thread
    and a few others: with dozens of threads, hundreds of megabytes that no other can use.
    """
    _malloc("mallopt", M_ARENA_MAX, 1)
    _malloc("mallopt", M_MMAP_THRESHOLD, LARGE_BYTES)
    _malloc("mallopt", M_TRIM_THRESHOLD, KEPT_BYTES)


def give_back_freed_memory() -> None:
    """Make glibc return freed memory to the system; on other platforms, do nothing.

    For use after rare, large tasks: a model that has learned predicts all pairs again, which leaves some 60 MB unused.
    """
    _malloc("malloc_trim", 0)


class SpareMemory:
    """Gives freed memory back whenever SPARE_BYTES more of it are in the process than after it last did.

    glibc finds a hole for each new array, but with threads that allocate and free beliefs of several sizes, holes come
    to take more than what is in use.
    """

    def __init__(self) -> None:
        """Start from what is unused now."""
        self._least = _unused()

    def __call__(self) -> None:
        """Look, and give back."""
        # By the size of the process alone, what is freed after a peak would stay until the next higher peak.
        unused = _unused()
        if unused > self._least + SPARE_BYTES:
            give_back_freed_memory()
            self._least = _unused()
        self._least = min(self._least, unused)


class _MallocInfo(ctypes.Structure):
    """Figures of glibc's malloc, as its `mallinfo2` returns them: ten, of which two are read here."""

    _fields_ = [("before", SIZE * 4), ("hblkhd", SIZE), ("between", SIZE * 2), ("uordblks", SIZE), ("after", SIZE * 2)]


def _unused() -> int:
    """Bytes of this process in memory that malloc has not given to anybody; all of them if the system does not say."""
    try:
        resident = int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)  # since glibc 2.33
    if ask is None:
        return resident
    ask.restype = _MallocInfo
    info = ask()
    return int(resident - info.uordblks - info.hblkhd)


def kept_beside(make: Callable[Concatenate[Value, P], Answer]) -> Callable[Concatenate[Value, P], Answer]:
    """Function that caches its answer for each value, its first argument, as long as the value exists.

    An LRU cache would keep the values alive as well: rankings, each with a whole pool's belief.
    """
    known = WeakKeyDictionary[Value, Answer]()

    @wraps(make)
    def answer(about: Value, /, *others: P.args, **named: P.kwargs) -> Answer:
        found = known.get(about)
        if found is None:
            found = known[about] = make(about, *others, **named)
        return found

    return answer


def _malloc(name: str, *numbers: int) -> None:
    if sys.platform == "linux" and (call := getattr(ctypes.CDLL(None), name, None)) is not None:
        call(*numbers)


LOG = logging.getLogger("service")
SLOWEST_S = 30.0  # longest pause after a failed round


class Loop:
    """A thread that repeats a task until it is stopped.

    An exception in a round is logged once; later rounds retry, with growing pauses. `reasons` describes the problem
    until a round succeeds.

    name     description of the task, for people
    work     one round; returns the seconds until the next
    wake     when set, starts the next round at once
    longest_rest_s  longest pause after a failed round
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], float],
        wake: threading.Event | None = None,
        longest_rest_s: float = SLOWEST_S,
    ) -> None:
        self.name, self._work, self._longest_rest_s = name, work, longest_rest_s
        self.stopping, self._wake = threading.Event(), wake or threading.Event()
        self._failing: dict[tuple[str, ...], str] = {}
        self._thread = threading.Thread(target=self._go_round, name=name, daemon=True)
        self._started = False

    def start(self) -> None:
        """Start the first round."""
        self._started = True
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current round."""
        self.stopping.set()
        self._wake.set()

    def reasons(self) -> Iterator[str]:
        """Descriptions of current problems, one line each; empty if all works."""
        for task, problem in list(self._failing.items()):
            yield ": ".join((self.name, *task, problem))
        if self._started and not self._thread.is_alive() and not self.stopping.is_set():
            yield f"{self.name}: its thread has ended; restart the service"

    @contextmanager
    def attempt(self, *task: str) -> Iterator[None]:
        """One part of a round, whose failure does not prevent the other parts.

        task  its subject, then its action if the subject does not say it
        """
        try:
            yield
        except Exception as error:
            self._fail(task, error)
        else:
            if self._failing.pop(task, None) is not None:
                LOG.warning("%s works again", ": ".join((self.name, *task)))

    def forget_all_but(self, about: Container[str]) -> None:
        """Forget failures about all other subjects, which are no longer run."""
        for task in [one for one in self._failing if one and one[0] not in about]:
            self._failing.pop(task, None)

    def _fail(self, task: tuple[str, ...], error: Exception) -> None:
        ours = isinstance(error, AudiosimError)
        if task not in self._failing:
            where = ": ".join((self.name, *task))
            LOG.error("%s: %s", where, error if ours else one_line(error), exc_info=None if ours else error)
        self._failing[task] = str(error) if ours else one_line(error)

    def _go_round(self) -> None:
        failed, rest_s = 0, 0.0
        while not self.stopping.is_set():
            self._wake.clear()
            with self.attempt():
                rest_s = self._work()
            failed = failed + 1 if self._failing else 0
            # The pause doubles with each failure: otherwise a slow, failing task would use the whole processor.
            self._wake.wait(min(max(rest_s, 0.25) * 2.0 ** min(failed, 20), self._longest_rest_s) if failed else rest_s)
