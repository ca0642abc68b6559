"""Memory management of a service: freed memory is reused, and cached answers live as long as their subject."""

import ctypes
import sys
from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")
Answer = TypeVar("Answer")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as glibc's malloc.h numbers them
KEPT_BYTES = 128 * 2**20
LARGE_BYTES = 32 * 2**20


def keep_freed_memory() -> None:
    """Make glibc keep freed memory for reuse; on other platforms, do nothing.

    Otherwise it returns the large arrays of a prediction to the system after each request, and gets them back page by
    page for the next: a third of the time for 5,000 rows of features.
    """
    _malloc("mallopt", M_MMAP_THRESHOLD, LARGE_BYTES)
    _malloc("mallopt", M_TRIM_THRESHOLD, KEPT_BYTES)


def give_back_freed_memory() -> None:
    """Make glibc return freed memory to the system; on other platforms, do nothing.

    For use after rare, large tasks: a model that has learned predicts everything again, which leaves some 60 MB free.
    """
    _malloc("malloc_trim", 0)


def kept_beside(make: Callable[[Value], Answer]) -> Callable[[Value], Answer]:
    """Function that caches its answer for each value for as long as the value exists.

    An LRU cache would keep the values alive, too: rankings, each holding the whole belief about a pool.
    """
    known = WeakKeyDictionary[Value, Answer]()

    @wraps(make)
    def answer(about: Value) -> Answer:
        found = known.get(about)
        if found is None:
            found = known[about] = make(about)
        return found

    return answer


def _malloc(name: str, *numbers: int) -> None:
    if sys.platform == "linux" and (call := getattr(ctypes.CDLL(None), name, None)) is not None:
        call(*numbers)
