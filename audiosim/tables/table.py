"""A table is a value: columns of cells, and the place of each row."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import FormatError, InputError
from audiosim.stats.arrays import Array
from audiosim.text import decimal_comma, quoted, shortened

Say = Callable[[str], object]
Cells = Sequence[Any]
MISSING = ("NAType", "NaTType")  # types of pandas' signs for a missing value


@dataclass(frozen=True, eq=False)
class Words:
    """A column of names as codes.

    names  distinct names, in the order in which they first occur
    codes  (rows,) the place of each row's name among them
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, cells: Iterable[str]) -> "Words":
        """The names of some cells."""
        places: dict[str, int] = {}
        codes = np.array([places.setdefault(cell, len(places)) for cell in cells], dtype=np.int32)
        return cls(tuple(places), codes)

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> list[str]:
        """The name of each row."""
        return list(map(self.names.__getitem__, self.codes.tolist()))

    def on(self, places: Mapping[str, int]) -> NDArray[np.int64]:
        """(rows,) codes of the names in another table, -1 if a name is missing there."""
        return np.array([places.get(name, -1) for name in self.names], dtype=np.int64)[self.codes]

    def renamed(self, names: Sequence[str]) -> "Words":
        """The same rows with other names, of which several may have become equal."""
        distinct = Words.of(names)
        return Words(distinct.names, distinct.codes[self.codes])

    def chosen(self, rows: NDArray[Any]) -> "Words":
        """Some of the rows, without the names that are left over."""
        there, codes = np.unique(self.codes[rows], return_inverse=True)
        return Words(tuple(self.names[code] for code in there.tolist()), codes.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of cells, and the place of each row.

    source   its file, or what it is called in messages, such as "judgments"
    columns  cells by column: texts, numbers, or values of a program; None where missing
    lines    line of each row in its file; None where rows have no lines
    head     line of the header; None without a header
    keys     columns that lead to the value of each row, as in JSON: its place is $.q1.d3
    by_place True if columns have their names by their place in the line
    unread   columns that its schema does not know, and does not keep
    start    number of the first row, in a portion of a file without lines
    """

    source: Path | str
    columns: Mapping[str, Cells | Words | Array]
    lines: Sequence[int] | None = None
    head: int | None = None
    keys: tuple[str, ...] = ()
    by_place: bool = False
    unread: tuple[str, ...] = ()
    start: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def error(self, row: int | None, problem: str) -> InputError:
        """An error that names the place: of a row, or of the header."""
        if row is None:
            if (line := self.lines[0] if self.head is None and self.lines else self.head) is not None:
                return FormatError(self.source, line, problem)
            return InputError(f"{self.source}: {problem}")
        if self.lines is not None:
            return FormatError(self.source, self.lines[row], problem)
        return InputError(f"{self.source}: {self.place(row)}: {problem}")

    def place(self, row: int) -> str:
        """The place of a row, in words."""
        if self.lines is not None:
            return f"on line {self.lines[row]}"
        inside = [str(self.columns[key][row]) for key in self.keys]  # type: ignore[index]  # keys are plain cells
        return "$." + ".".join(inside) if inside else f"row {self.start + row}"

    @property
    def row_numbers(self) -> Sequence[int]:
        """The line of each row; its own number where rows have no lines."""
        return range(len(self)) if self.lines is None else self.lines

    def with_columns(self, columns: Mapping[str, Cells | Words | Array]) -> "Table":
        """The same rows with other columns."""
        return replace(self, columns=columns)

    def chosen(self, which: NDArray[np.bool_]) -> "Table":
        """Some of the rows."""
        if which.all():
            return self
        rows = np.flatnonzero(which)
        places = rows.tolist()
        columns: dict[str, Cells | Words | Array] = {}
        for name, cells in self.columns.items():
            if isinstance(cells, Words):
                columns[name] = cells.chosen(rows)
            else:
                columns[name] = cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in places]
        lines = None if self.lines is None else [self.lines[row] for row in places]
        return replace(self, columns=columns, lines=lines)

    def rows(self) -> Iterator[dict[str, str]]:
        """The rows as texts by column; only paths keep white space around them.

        Columns of lists, such as links of a corpus, are left out.
        """
        plain = [name for name in self.columns if list not in map(type, self.cells(name))]
        texts = [self.texts(name, name != "path") for name in plain]
        for cells in zip(*texts, strict=True):
            yield dict(zip(plain, cells, strict=True))

    def cells(self, column: str) -> list[Any]:
        """The cells of a column as they are; none if there is no such column."""
        cells = self.columns.get(column, ())
        return cells.cells() if isinstance(cells, Words) else list(cells)

    def names(self, column: str) -> Words:
        """A column of identifiers: texts or whole numbers, trimmed; none is empty or has a byte 0."""
        cells = self.columns[column]
        words = cells if isinstance(cells, Words) else Words.of(self._spelled(column))
        trimmed = list(map(str.strip, words.names))
        for place, name in enumerate(trimmed):
            if not name or "\0" in name:
                shown = f"the {column} {quoted(name)} has a byte 0, expected text"
                problem = shown if name else f"the {column} is empty, expected an identifier"
                raise self.error(int(np.argmax(words.codes == place)), problem)
        return words if trimmed == list(words.names) else words.renamed(trimmed)

    def distinct(self, *columns: str) -> list[tuple[str, ...]]:
        """The identifiers of each row, which no other row has."""
        keys = list(zip(*(self.names(column).cells() for column in columns), strict=True))
        first: dict[tuple[str, ...], int] = {}
        for row, key in enumerate(keys):
            if (before := first.setdefault(key, row)) != row:
                named = ", ".join(f"{column} {name}" for column, name in zip(columns, key, strict=True))
                raise self.error(row, f"{named} is {self.place(before)} already, expected it once")
        return keys

    def _spelled(self, column: str) -> list[str]:
        found = []
        for row, cell in enumerate(self.columns[column]):  # type: ignore[arg-type]  # plain cells
            if isinstance(cell, Integral) and not isinstance(cell, bool):
                cell = str(int(cell))
            elif not isinstance(cell, str):
                if not is_missing(cell):
                    problem = f"expected a text or a whole number as identifier of a {column}, found {_shown(cell)}"
                    raise self.error(row, problem)
                cell = ""
            found.append(cell)
        return found

    def texts(self, column: str, trimmed: bool = True) -> list[str]:
        """A column of texts, empty where missing; all empty if there is no such column."""
        if column not in self.columns:
            return [""] * len(self)
        found = []
        for row, cell in enumerate(self.cells(column)):
            text = cell if isinstance(cell, str) else "" if is_missing(cell) else str(cell)
            if isinstance(cell, list | dict) or "\0" in text:
                raise self.error(row, f"expected text for {column}, found {_shown(cell)}")
            found.append(text.strip() if trimmed else text)
        return found

    def numbers(self, column: str, whole: bool = False) -> Array:
        """(rows,) a column of numbers, all finite; NaN where missing, or if there is no such column."""
        cells = self.columns.get(column)
        if cells is None:
            return np.full(len(self), np.nan)
        if isinstance(cells, Words):
            cells = cells.cells()
        values = cells if isinstance(cells, np.ndarray) else _floats(cells)
        known = None if values is None else values[~np.isnan(values)] if isinstance(cells, np.ndarray) else values
        if values is None or known is None or not np.isfinite(known).all() or (whole and (known % 1 != 0).any()):
            values = np.array([self._number(row, column, cell, whole) for row, cell in enumerate(cells)], dtype=float)
        return np.asarray(values, dtype=np.float64)

    def _number(self, row: int, column: str, cell: object, whole: bool) -> float:
        if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
            return np.nan
        value = number_of(cell)
        if value is None or (whole and value % 1 != 0):
            kind = f"a whole number for the {column}" if whole else f"a finite number for {column}"
            raise self.error(row, f"expected {kind}, found {_shown(cell)}{decimal_comma(cell)}")
        return value


def is_missing(cell: object) -> bool:
    """True for None, and for the signs of a missing value: NaN, pandas' NA and NaT."""
    return cell is None or type(cell).__name__ in MISSING or (isinstance(cell, Real) and cell != cell)


def number_of(cell: object) -> float | None:
    """The finite number in a cell; None for anything else. Python reads 1_000 as a thousand; other readers do not."""
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, str | Real) or (isinstance(cell, str) and "_" in cell):
        return None
    try:
        value = float(cell)
    except (ValueError, OverflowError):
        return None
    return value if np.isfinite(value) else None


def finite(path: Path, number: int, kind: str, text: str) -> float:
    """The number in a field of a line; anything else, NaN or infinity is an error."""
    if (value := number_of(text)) is None:
        problem = f"expected a finite number for {kind}, found {quoted(text)}{decimal_comma(text)}"
        raise FormatError(path, number, problem)
    return value


def _floats(cells: Cells) -> Array | None:
    """Numbers that are all written as text; None if one is not a number."""
    try:
        text = "".join(cells)
        return None if "_" in text else np.array(list(map(float, cells)), dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _shown(cell: object) -> str:
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return quoted(plain) if isinstance(plain, str) else shortened(repr(plain))
