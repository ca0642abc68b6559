"""Old names: they work for one more minor version, and say what takes their place."""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
UNTIL = "0.2"  # the version that no longer has what is deprecated now


def warn_deprecated(old: str, new: str, until: str = UNTIL, stacklevel: int = 2) -> None:
    """Warn that a name is old.

    old         as it was used
    new         what to use instead
    until       the first version without it
    stacklevel  as of `warnings.warn`: 2 is the caller of the function that calls this one
    """
    message = f"{old} is deprecated and goes with audiosim {until}: use {new}"
    warnings.warn(message, FutureWarning, stacklevel=stacklevel + 1)


def deprecated(new: str, until: str = UNTIL) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """A decorator of a function that goes with version `until`; who calls it is told to use `new`."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def warned(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            warn_deprecated(function.__name__, new, until)
            return function(*arguments, **named)

        return warned

    return decorate


def former_argument(
    old: str, new: str, until: str = UNTIL
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """A decorator of a function with an argument that has the name `new` and is taken by the name `old` too."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def renamed(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            if old in named:
                warn_deprecated(f"{function.__name__}({old}=...)", f"{new}=", until)
                named.setdefault(new, named.pop(old))
            return function(*arguments, **named)

        return renamed

    return decorate


def old_names(
    module: str, others: Callable[[str], object] | None = None, until: str = UNTIL, **new: str
) -> Callable[[str], object]:
    """The `__getattr__` of a module whose public names have changed.

    module  its `__name__`
    others  its `__getattr__` for all other names; None: there is none
    new     by each old name the name that the same thing has there now
    """

    def find(name: str) -> object:
        if name not in new and others is not None:
            return others(name)
        if name not in new:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_deprecated(f"{module}.{name}", f"{module}.{new[name]}", until)
        return getattr(sys.modules[module], new[name])

    return find
