"""Properties computed once per object and cached with it, safely across threads."""

import functools
from threading import Lock, RLock
from typing import TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class _Turn:
    """Lock on one property of one object during its computation, and the number of threads that hold or await it."""

    __slots__ = ("lock", "threads")

    def __init__(self) -> None:
        self.lock, self.threads = RLock(), 0


_TURNS: dict[tuple[int, str], _Turn] = {}  # kept here, since an object may be pickled during the computation
_GUARD = Lock()


class cached_property(functools.cached_property[Value]):  # noqa: N801 - stands for the one of the standard library
    """A property computed at the first use and then cached, like `functools.cached_property`, for threads.

    Python 3.11's holds one lock for all objects of a class: a thread that uses one object waits for the work on
    another, and two properties that need each other on other objects deadlock. Here each lock covers one property of
    one object. As no property needs itself, threads cannot wait for each other in a circle. A property whose value is
    its object is computed at each use.
    """

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> "cached_property[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> "cached_property[Value] | Value":
        if instance is None:
            return self
        name, kept = self.attrname, instance.__dict__
        assert name is not None
        key = id(instance), name  # no other thread can use this key while this call holds the object
        with _GUARD:
            turn = _TURNS.setdefault(key, _Turn())
            turn.threads += 1
        try:
            with turn.lock:
                found: Value = kept[name] if name in kept else self.func(instance)
                # An object that held itself would stay, with its arrays, until the collector of cycles runs.
                if found is not instance:
                    kept[name] = found
                return found
        finally:
            with _GUARD:
                turn.threads -= 1
                if not turn.threads:
                    del _TURNS[key]
