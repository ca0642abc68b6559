"""The terminal: a console, and a plain table, which pages show too."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod
from rich.table import Table
from rich.text import Text

from audiosim.results.value import shortened_to

Setting = Literal["left", "whole", "right", "bar"]
GAP = 2  # characters between columns
SHORTEST = 8  # fewest characters of a shortened name
UNLIMITED = 10_000


class PlainTable:
    """A table without lines that fits the terminal and never cuts a number.

    If it is too wide, drawn columns are dropped first; then text is shortened in the middle, down to SHORTEST
    characters.
    """

    def __init__(self, *columns: tuple[str, Setting] | str) -> None:
        """An empty table.

        columns  heading of each, aligned right, or heading and alignment: left for text that may be shortened, whole
                 for text that may not, right for numbers, bar for drawings
        """
        self.heads = [column if isinstance(column, str) else column[0] for column in columns]
        self.settings: list[Setting] = ["right" if isinstance(column, str) else column[1] for column in columns]
        self.rows: list[tuple[str | Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row: a cell for each column."""
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """The table at the available width."""
        widths = [max(map(cell_len, map(str, column))) for column in zip(self.heads, *self.rows, strict=True)]
        kept = list(range(len(widths)))
        if _whole(widths, kept) > options.max_width:
            kept = [column for column in kept if self.settings[column] != "bar"]
        short = [column for column in kept if self.settings[column] == "left"]
        while short and _whole(widths, kept) > options.max_width:
            widest = max(short, key=lambda column: widths[column])
            if widths[widest] <= SHORTEST:
                break
            widths[widest] -= 1
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
        for column in kept:
            justify: JustifyMethod = "right" if self.settings[column] == "right" else "left"
            table.add_column(self.heads[column], justify=justify, no_wrap=True, min_width=widths[column])
        for row in self.rows:
            table.add_row(*(self._cell(row[column], column, widths[column]) for column in kept))
        # Wide enough for its contents: rich would shorten every column a little, even numbers.
        table.width = max(_whole(widths, kept), 1)
        yield table

    def _cell(self, cell: str | Text, column: int, width: int) -> str | Text:
        return shortened_to(cell, width) if self.settings[column] == "left" and isinstance(cell, str) else cell


class Column(NamedTuple):
    """A column of a table: its heading, the cell of a row, and its alignment, as for `PlainTable`."""

    head: str
    cell: Callable[[Mapping[str, Any]], str | Text]
    setting: Setting = "right"


def word(head: str, key: str) -> Column:
    """Column of texts, which may be shortened."""
    return Column(head, lambda row: row[key], "left")


def number(head: str, key: str, form: str | Callable[[float], str] = ".3f") -> Column:
    """Column of numbers in a form, or as a function spells them; - where there is none."""
    spell = form if callable(form) else f"{{:{form}}}".format
    return Column(head, lambda row: "-" if row[key] is None else spell(row[key]))


def interval(low: str = "low", high: str = "high", form: str = ".3f") -> Column:
    """Column of intervals, of which two other columns are the ends."""
    return Column("95 % interval", lambda row: f"{row[low]:{form}} – {row[high]:{form}}", "whole")


def filled(rows: Iterable[Mapping[str, Any]], *columns: Column) -> PlainTable:
    """A table of rows."""
    table = PlainTable(*((one.head, one.setting) for one in columns))
    table.rows = [tuple(one.cell(row) for one in columns) for row in rows]
    return table


def numbered(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with their `place`, from 1."""
    return [{"place": place, **row} for place, row in enumerate(rows, start=1)]


def table_of(
    heads: Mapping[str, str], rows: Iterable[Mapping[str, Any]], spell: Callable[[str, Any], str]
) -> PlainTable:
    """A table of rows, with columns of text aligned left and all others right.

    heads  headings of the columns, by key
    spell  function of a column's key and a value that returns text
    """
    rows = list(rows)
    words = {key for key in heads if rows and isinstance(rows[0][key], str)}
    table = PlainTable(*((head, "left" if key in words else "right") for key, head in heads.items()))
    table.rows = [tuple(spell(key, row[key]) for key in heads) for row in rows]
    return table


def _whole(widths: list[int], kept: list[int]) -> int:
    """Width of a table with some of its columns, including the gaps between them."""
    return sum(widths[column] for column in kept) + GAP * (len(kept) - 1)


def console(stderr: bool = False) -> Console:
    """Console as wide as the terminal; unlimited without a terminal, so that a file has every column in full."""
    shown = Console(stderr=stderr, highlight=False, soft_wrap=False)
    return shown if shown.is_terminal else Console(stderr=stderr, highlight=False, width=UNLIMITED)
