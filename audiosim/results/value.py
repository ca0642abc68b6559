"""A result: a value with rows, and what is made of them; optional packages; properties computed once."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib.machinery import PathFinder
from math import isfinite
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from audiosim.errors import MissingPackageError
from audiosim.text import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


# Optional packages: checks for those that a feature needs, and what to install.


# Packages of each extra, by import name.
EXTRAS = {
    "plots": ("altair", "vl_convert"),
    "frames": ("pandas",),
    "maps": ("umap",),
}
CALLED = {"vl_convert": "vl-convert-python", "umap": "umap-learn"}  # packages installed under another name


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
PRINTED = 20  # most rows of a printed table
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
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def frame_of(
    rows: Iterable[object] | Mapping[str, object], columns: Sequence[str] = (), index: Sequence[str] = ()
) -> "pd.DataFrame":
    """Rows, or columns by name, as a pandas table; pandas is imported only here.

    columns  names of the columns; if there are none those of the rows, or without rows those of the index
    index    names of the columns that the table is indexed by
    """
    need("frames", "to_frame")
    import pandas as pd

    data = dict(rows) if isinstance(rows, Mapping) else list(rows)
    table = pd.DataFrame(data, columns=list(columns) or (None if data else list(index)))
    return table.set_index(list(index)) if index else table


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of columns of equal length, arrays or lists, with numbers of Python."""
    whole = [getattr(column, "tolist", lambda column=column: column)() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*whole, strict=True)]


def plain(value: Any) -> Any:
    """A value as JSON has it, to any depth: numbers of Python, lists and dicts; a number that is not finite is None.

    Results, dataclasses and named tuples become dicts; measures, paths and whatever else has no parts, their text.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    kind: Any = type(value)
    if kind.__str__ is not object.__str__:
        return str(value)
    if is_dataclass(value):
        return parts(value, *_public(value))
    if hasattr(value, "_asdict"):  # a named tuple
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, Iterable) else str(value)


def parts(value: object, *names: str) -> dict[str, Any]:
    """Attributes of a value by name, as JSON has them."""
    return {name: plain(getattr(value, name)) for name in names}


def _public(value: Any) -> list[str]:
    return [part.name for part in fields(value) if not part.name.startswith("_")]


Row = dict[str, Any]


class Value:
    """A dataclass that becomes plain values: by its fields, unless it says otherwise."""

    __slots__ = ()

    def to_dict(self) -> Any:
        """The same as plain values, ready for JSON."""
        return parts(self, *_public(self))


def known_columns(found: object) -> tuple[str, ...]:
    """Columns that a result's table has even without rows: all of them, or those that name a row."""
    return found._columns or found._index if isinstance(found, Result) else ()


class Result(Value):
    """A result, and all that is made of its rows: a table, a display, items, length and iteration.

    A subclass is a dataclass; it has `rows`, its one line in `__repr__`, and a `plot` if it can be drawn.

    _index    columns that name a row: `found["A"]` is the row of A; without any, rows are found by place alone
    _columns  names of the columns, for a table without rows; empty: those of the rows
    _shown    columns that a notebook shows; empty: all
    """

    __slots__ = ()
    _index: ClassVar[tuple[str, ...]] = ()
    _columns: ClassVar[tuple[str, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = ()

    def rows(self) -> list[Row]:
        """The rows of its table: plain values by column."""
        row: Row = self.to_dict()
        return [row]

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a pandas table, indexed by the columns that name a row."""
        return frame_of(self.rows(), self._columns, self._index)

    def _repr_html_(self) -> str:
        """The result as notebooks show it: its line, and its table where pandas is installed."""
        return notebook_html(repr(self), None if missing("frames") else self.to_frame(), self._shown)

    def __str__(self) -> str:
        """The line of `repr`, and below it the first rows if they are several or have names: text for `print`."""
        rows = self.rows()
        if not rows or (len(rows) == 1 and not self._index):
            return repr(self)
        shown = [*self._index, *self._shown] if self._shown else list(rows[0])
        columns = [name for name in shown if not isinstance(rows[0].get(name, ()), list | tuple | dict)]
        more = [f"… and {len(rows) - PRINTED:,} more, in rows() and to_frame()"] if len(rows) > PRINTED else []
        return "\n".join([repr(self), *_aligned(columns, rows[:PRINTED]), *more])

    def __len__(self) -> int:
        return len(self.rows())

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __contains__(self, name: object) -> bool:
        """True for the name of a row, as `found[name]` takes it, and for a row itself."""
        return any(name == row or self._name(row) in (name, (name,)) for row in self.rows())

    def _name(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[key] for key in self._index)

    @overload
    def __getitem__(self, name: slice) -> list[Row]: ...

    @overload
    def __getitem__(self, name: int | str | tuple[str, ...]) -> Row: ...

    def __getitem__(self, name: slice | int | str | tuple[str, ...]) -> Row | list[Row]:
        """A row by its name or place, or several by a slice of places."""
        rows = self.rows()
        if isinstance(name, slice | int):
            return rows[name]
        for row in rows:
            if self._name(row) in (name, (name,)):
                return row
        names = [", ".join(map(str, self._name(row))) for row in rows] if self._index else []
        near = did_you_mean(str(name), names) or (f", such as {'; '.join(names[:NAMED])}" if names else "")
        raise KeyError(f"no row {name!r}, expected {' and '.join(self._index) or 'a place'} of a row{near}")


class Rows(Result):
    """A result that is its rows, as plain values too."""

    __slots__ = ()

    def to_dict(self) -> list[Row]:
        """The rows, ready for JSON."""
        return self.rows()


def _aligned(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """A line of names and one for each row: texts begin, and numbers end, below one another."""
    lines = [list(columns), *([_printed(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = [all(isinstance(row.get(name), str | None) for row in rows) for name in columns]
    return [
        "  ".join(
            f"{cell:{'<' if text else '>'}{width}}" for cell, text, width in zip(line, left, widths, strict=True)
        ).rstrip()
        for line in lines
    ]


def _printed(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def notebook_html(sentence: str, table: "pd.DataFrame | None", columns: Sequence[str] = ()) -> str:
    """One sentence, and a table of at most ROWS rows with three decimals.

    columns  columns of the table to show, where it has them; empty: all
    """
    if table is None:
        return f"<p>{escape(sentence)}</p>"
    shown: str = table[[one for one in table if one in columns or not columns]].to_html(
        float_format="{:.3f}".format, max_rows=ROWS
    )
    return f"<p>{escape(sentence)}</p>{shown}"


# Properties computed once per object and cached with it, safely across threads.


Computed = TypeVar("Computed")


class _Turn:
    """Lock on one property of one object during its computation, and the number of threads that hold or await it."""

    __slots__ = ("lock", "threads")

    def __init__(self) -> None:
        self.lock, self.threads = RLock(), 0


_TURNS: dict[tuple[int, str], _Turn] = {}  # kept here, since an object may be pickled during the computation
_GUARD = Lock()


class cached_property(functools.cached_property[Computed]):  # noqa: N801 - stands for the one of the standard library
    """A property computed at the first use and then cached, like `functools.cached_property`, for threads.

    Python 3.11's holds one lock for all objects of a class: a thread that uses one object waits for the work on
    another, and two properties that need each other on other objects deadlock. Here each lock covers one property of
    one object. As no property needs itself, threads cannot wait for each other in a circle. A property whose value is
    its object is computed at each use.
    """

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> "cached_property[Computed]": ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Computed: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> "cached_property[Computed] | Computed":
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
                found: Computed = kept[name] if name in kept else self.func(instance)
                # An object that held itself would stay, with its arrays, until the collector of cycles runs.
                if found is not instance:
                    kept[name] = found
                return found
        finally:
            with _GUARD:
                turn.threads -= 1
                if not turn.threads:
                    del _TURNS[key]
