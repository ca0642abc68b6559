"""Memory management of a service: freed memory is reused, and a cached answer lives as long as its value."""

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

    Otherwise glibc returns the large arrays of each prediction to the system and gets them back page by page for the
    next request: a third of the time for 5,000 rows of features.
    """
    _malloc("mallopt", M_MMAP_THRESHOLD, LARGE_BYTES)
    _malloc("mallopt", M_TRIM_THRESHOLD, KEPT_BYTES)


def give_back_freed_memory() -> None:
    """Make glibc return freed memory to the system; on other platforms, do nothing.

    For use after rare, large tasks: a model that has learned predicts all pairs again, which leaves some 60 MB unused.
    """
    _malloc("malloc_trim", 0)


def kept_beside(make: Callable[[Value], Answer]) -> Callable[[Value], Answer]:
    """Function that caches its answer for each value as long as the value exists.

    An LRU cache would keep the values alive as well: rankings, each with a whole pool's belief.
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
