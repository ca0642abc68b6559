"""Display for people: long texts shortened in the middle, results in notebooks."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.machinery import PathFinder
from threading import Lock, RLock
from typing import TYPE_CHECKING, Protocol, TypeVar, overload

from audiosim.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd


# Optional packages: checks for those that a feature needs, and what to install.


# Packages of each extra, by import name; `all` includes sound, plots and frames.
EXTRAS = {
    "sound": ("librosa", "mutagen"),  # librosa brings numba; without it, arrays replace compiled loops
    "plots": ("matplotlib",),
    "frames": ("pandas",),
    "hover": ("matplotlib", "altair", "vl_convert"),
    "all": ("sklearn",),
    "maps": ("umap",),
}
CALLED = {
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "umap": "umap-learn",
}  # packages installed under another name


def has_package(name: str) -> bool:
    """True if a package can be imported."""
    # Not `importlib.util.find_spec`, which would load lazily registered modules.
    return PathFinder.find_spec(name) is not None


def missing(extras: str) -> list[str]:
    """Packages of some extras, joined by commas, that are not installed."""
    names = [name for extra in extras.split(",") for name in EXTRAS[extra]]
    return [CALLED.get(name, name) for name in names if not has_package(name)]


def need(extras: str, what: str) -> None:
    """Raise a MissingPackageError unless all packages of some extras are installed.

    extras  joined by commas, as pip takes them
    what    feature that needs them: subject of the message, singular
    """
    if names := missing(extras):
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        raise MissingPackageError(f"{what} needs {listed}: pip install 'audiosim[{extras}]'")


ROWS = 60  # most rows of a table in a notebook
NAMED = 4  # most things named one by one in a sentence, if there are more than one further


def shortened_to(text: str, width: int) -> str:
    """A text shortened to a number of characters, at least 3: its beginning and its end, with … between them."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def listed(names: Sequence[str]) -> str:
    """A, B and C; for many names the first few and the number of others."""
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def notebook_html(sentence: str, to_frame: "Callable[[], pd.DataFrame]", columns: list[str] | None = None) -> str:
    """A result as notebooks show it: one sentence, and a table of at most ROWS rows with three decimals.

    columns  columns of the table to show; None: all

    Without pandas it is the sentence alone.
    """
    if missing("frames"):
        return f"<p>{escape(sentence)}</p>"
    table = to_frame() if columns is None else to_frame()[columns]
    shown: str = table.to_html(float_format=lambda value: f"{value:.3f}", max_rows=ROWS)
    return f"<p>{escape(sentence)}</p>{shown}"


class Tabled(Protocol):
    """A result with a table."""

    def to_frame(self) -> "pd.DataFrame":
        """The table."""
        ...


def in_notebook(result: Tabled) -> str:
    """A result that notebooks show as a sentence and its whole table, in `_repr_html_`."""
    return notebook_html(repr(result), result.to_frame)


def frame_of(
    rows: Iterable[object] | Mapping[str, object], columns: list[str] | None = None, index: str | None = None
) -> "pd.DataFrame":
    """Rows, or columns by name, as a pandas table; pandas is imported only here.

    index  name of the column that the table is indexed by
    """
    need("frames", "to_frame")
    import pandas as pd

    table = pd.DataFrame(dict(rows) if isinstance(rows, Mapping) else list(rows), columns=columns)
    return table if index is None else table.set_index(index)


# Properties computed once per object and cached with it, safely across threads.


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
