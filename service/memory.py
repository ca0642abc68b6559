"""Memory of a service: what was freed is kept for the next answer, an answer while what it is about is there."""

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
    """Have glibc keep what is freed at hand; elsewhere, do nothing.

    It otherwise gives the large arrays of a prediction back to the system after each request, and gets them again,
    page by page, for the next: of the time for 5,000 rows of features that is a third.
    """
    _malloc("mallopt", M_MMAP_THRESHOLD, LARGE_BYTES)
    _malloc("mallopt", M_TRIM_THRESHOLD, KEPT_BYTES)


def give_back_freed_memory() -> None:
    """Have glibc give what is freed back to the system; elsewhere, do nothing.

    After something rare that takes much: a model that has learned predicts all anew, and some 60 MB are free then.
    """
    _malloc("malloc_trim", 0)


def kept_beside(make: Callable[[Value], Answer]) -> Callable[[Value], Answer]:
    """Function whose answer is made once for each value and goes with it.

    A cache of the last so many would keep the values, too: rankings of which each holds all that is believed of a pool.
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
