"""Blocks of linear algebra spread over the processors."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import lazy_loader

threadpoolctl = lazy_loader.load("threadpoolctl")

Task = TypeVar("Task")
Result = TypeVar("Result")


class Limit:
    """Limit of one thread for the matrix products of the process: the first user sets it, and the last one removes it.

    Users never wait for each other: one that waited while holding the lock of a cached property could deadlock.
    """

    def __init__(self) -> None:
        self._counting, self._wanted, self._set = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._counting:
            if not self._wanted:
                self._set.enter_context(_blas().limit(limits=1))
            self._wanted += 1

    def __exit__(self, *_: object) -> None:
        with self._counting:
            self._wanted -= 1
            if not self._wanted:
                self._set.close()


_ALONE = Limit()


def spread_on_threads(work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Results of `work` on each task, in their order, on as many threads as matrix products may use.

    Each task then computes its products on one thread, so that the code around a product runs in parallel too. A single
    task runs in the calling thread, with its products on all threads.
    """
    if len(tasks) < 2:
        return [work(task) for task in tasks]
    count = min(len(tasks), max((int(library["num_threads"]) for library in _blas().info()), default=1))
    if count < 2:
        return [work(task) for task in tasks]
    with _ALONE, ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, tasks))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products on one thread: for many small ones, distributing them costs more than computing them."""
    with _ALONE:
        yield


def stay_on_one_thread() -> None:
    """Run all matrix products of this process on one thread from now on.

    For a service: products of several requests, each on all processors, would wait for each other in busy loops.
    """
    _blas().limit(limits=1)


@cache
def _blas() -> Any:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")
