"""A schema says what the columns of a table mean: their names in every tool's words, and which of them are required."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from audiosim.errors import InputError
from audiosim.tables.table import Cells, Table
from audiosim.text import did_you_mean, nearest_name, quoted

INDEX = ("", "Unnamed: 0")  # names of the index of a frame of pandas, in its CSV and read from it


@dataclass(frozen=True)
class Schema:
    """Columns of one kind of table.

    what      what the rows are, such as "judgments"
    expected  the forms of such a table, in words
    columns   for each column its names, the one that counts first where a table has several; its own is among them
    required  columns that must be there
    any_of    columns of which at least one must be there
    forms     columns by their place, of tables without a header; those that are not in `columns` are not read
    passed    further columns that may be there, and are not read
    carried   further columns that may be there, and are kept as they are
    open      True if other columns may be there; those much like a missing one are an error, as they would go unnoticed
    kept      True if other columns are kept
    numbers   columns of numbers
    whole     columns of whole numbers
    keys      columns of the keys of a dict or of JSON, from the outside in; ("system",) may be before them
    value     column of the values; empty if they are objects with further columns
    memory    the forms of values of a program, in words
    """

    what: str
    expected: str
    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...] = ()
    passed: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    open: bool = False
    kept: bool = False
    numbers: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    value: str = ""
    any_of: tuple[str, ...] = ()
    memory: str = "a data frame"
    known: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = {name for some in self.columns.values() for name in some}
        object.__setattr__(self, "known", frozenset(names | {*self.passed, *self.carried}))

    def settled(self, table: Table) -> Table:
        """The table with our names of columns; an error if a column is missing, misspelt or unknown."""
        if not isinstance(table.source, Path) and not len(table):
            return table.with_columns({name: [] for name in self.columns})
        given, found = list(table.columns), dict[str, str]()
        for name, words in self.columns.items():
            own = next((word for word in words if word in table.columns and word not in found.values()), None)
            if own is not None:
                found[name] = own
        for name in self.required:
            if name not in found:
                raise self._missing(table, (name,), name)
        others = [] if table.by_place else [name for name in given if name not in self.known and name not in INDEX]
        for name in self.columns if self.open else ():
            if name not in found and (near := nearest_name(name, others)) is not None:
                advice = f"did you mean {name}? Rename it to {name}, or to something clearly different"
                raise table.error(first_row(table, near), f"unknown column {near}, {advice}")
        if others and not self.open:
            expected = f"expected {', '.join(self.columns)}{did_you_mean(others[0], self.columns)}"
            unknown = quoted(others[0]).strip("'")
            raise table.error(first_row(table, others[0]), f"unknown column {unknown}, {expected}")
        if self.any_of and found.keys().isdisjoint(self.any_of):
            first, *more_words = (word for name in self.any_of for word in self.columns[name])
            raise self._missing(table, self.any_of, f"{first} (or {', '.join(more_words)})")
        kept = {*self.carried, *(others if self.kept else ())}
        more = {name: table.columns[name] for name in given if name in kept}
        columns = {name: table.columns[own] for name, own in found.items()} | more
        if isinstance(table.source, Path) and not len(table):
            where = "holds nothing" if table.head is None else "ends after its header"
            raise table.error(None, f"the file {where}, expected {self.what}{' below it' if table.head else ''}")
        return replace(table.with_columns(columns), unread=(*table.unread, *([] if self.kept else others)))

    def _missing(self, table: Table, names: Sequence[str], said: str) -> InputError:
        """An error that names the columns that are there, in place of one of some others."""
        given = [*table.columns, *table.unread]
        where = " in the header" if table.head is not None else ""
        found = f"found {', '.join(given) or 'none'}{self.meant(given, names)}"
        return table.error(None, f"expected a column {said}{where}, {found}")

    def meant(self, given: Sequence[str], names: Sequence[str]) -> str:
        """End of an error message: the given name that is much like a word of one of some columns, or nothing."""
        words = ((name, word) for name in names for word in self.columns[name])
        near = next(((name, near) for name, word in words if (near := nearest_name(word, given))), None)
        return f"; did you mean {near[0]} for {near[1]}?" if near else ""


def first_row(table: Table, column: str) -> int | None:
    """The first row with a cell in a column, of rows that name their cells; None under a header."""
    if table.head is not None or table.lines is None:
        return None
    cells: Cells = table.columns[column]  # type: ignore[assignment]  # plain cells
    return next((row for row, cell in enumerate(cells) if cell is not None), 0)
