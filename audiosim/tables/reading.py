"""A table from anything: a file of text, JSON, XML or Parquet, or a value of a program."""

import csv
import re
from collections.abc import Collection as Names
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from json import JSONDecoder
from pathlib import Path
from typing import Any

from audiosim.errors import FormatError
from audiosim.tables import large
from audiosim.tables.arrays import PARQUET, parquet_portions, parquet_table
from audiosim.tables.memory import memory_table
from audiosim.tables.nested import read_json, read_xml
from audiosim.tables.schema import Schema
from audiosim.tables.table import Table
from audiosim.tables.text import BYTE_ORDER_MARK, OF_EXCEL, SEPARATORS, Lines, is_json, is_xml, read_lines
from audiosim.text import counted, quoted, repeated


def read(source: Any, schema: Schema, name: str = "") -> Table:
    """The table of a file, or of a value of a program, in the schema's columns; see `as_it_is` and `Schema.settled`.

    A text is the path of a file, unless the value has a name.
    """
    if isinstance(source, Table):
        return source
    return schema.settled(as_it_is(Path(source) if isinstance(source, str) and not name else source, schema, name))


def as_it_is(source: Any, schema: Schema, name: str = "") -> Table:
    """The table of a file, or of a value of a program, with the columns that are there.

    source  a path; a data frame, a dict, objects with named values; JSON is read like a dict of the same contents
    name    what a value of a program is called in messages; empty: as in the schema

    A text has columns by names under a header, between tabs, commas, semicolons or spaces; else by place, with the
    names of a form with as many columns, between spaces, or between tabs if they hold spaces. Between commas and
    semicolons, fields may be quoted.
    """
    if not isinstance(source, Path):
        return memory_table(source, schema, name or schema.what)
    if source.suffix.lower() in PARQUET:
        return parquet_table(source)
    lines = read_lines(source, schema.expected)
    number, text = next(lines)
    if is_xml(text):
        return read_xml(source, schema, chain([(number, text)], lines))
    if is_json(text):
        found = read_json(source, chain([(number, text)], lines), schema.carried)
        return found if isinstance(found, Table) else memory_table(found, schema, source)
    separator, names, head = _header(source, number, text, schema)
    if number == 1 and not schema.kept and source.stat().st_size >= large.LARGE:
        table = large.large_table(source, schema, text, separator, names, head)
        if table is not None:
            return table
    return _of_lines(source, schema, lines if head else chain([(number, text)], lines), separator, names, head)


def portions(path: Path, schema: Schema, size: int, wanted: Names[str]) -> Iterator[Table]:
    """The table of a file with a header, in portions of so many rows; at least one, which may be empty.

    wanted  columns that are needed; those of a text file come all
    """
    if path.suffix.lower() in PARQUET:
        yield from parquet_portions(path, wanted, size)
        return
    lines = read_lines(path, schema.expected)
    separator, names, head = _header(path, *next(lines), schema)
    while len(table := _of_lines(path, schema, islice(lines, size), separator, names, head)) == size:
        yield table
    yield table


def _of_lines(
    path: Path, schema: Schema, lines: Lines, separator: str | None, names: Sequence[str], head: int | None
) -> Table:
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, text in lines:
        row = split_line(path, number, text, separator)
        if len(row) != len(names):
            row = text.split() if schema.forms and separator == "\t" else row
            if len(row) != len(names):
                if head is None and len(rows) == 1 and rows[0][0].startswith("#"):
                    problem = f"expected {schema.expected}, from the first line on, found {quoted(' '.join(rows[0]))}"
                    raise FormatError(path, numbers[0], problem)
                where = "on the lines above" if head is None else "in the header"
                hint = _spaces(head is None and 0 < len(row) - len(names) < 3)
                raise FormatError(path, number, f"expected {len(names)} columns as {where}, found {len(row)}{hint}")
        rows.append(row)
        numbers.append(number)
    cells = zip(*rows, strict=True) if rows else ((),) * len(names)
    return Table(path, dict(zip(names, cells, strict=True)), numbers, head, by_place=head is None)


def _header(path: Path, number: int, text: str, schema: Schema) -> tuple[str | None, Sequence[str], int | None]:
    """The separator (None: white space), the names of the columns, and the line of the header if there is one."""
    broken = None
    for separator in (*SEPARATORS, None):
        if separator is not None and separator not in text:
            continue
        try:
            cells = list(map(_name, split_line(path, number, text, separator)))
        except FormatError as error:  # names by place may hold quotation marks, commas and semicolons
            broken = error
            continue
        places = schema.known.union(*schema.forms)
        if is_header(schema, cells) and (separator is not None or (len(cells) > 1 and places.issuperset(cells))):
            _check_header(path, number, cells)
            return separator, cells, number
    if not schema.forms:
        separator = next((sign for sign in SEPARATORS if sign in text), "\t")
        cells = list(map(_name, split_line(path, number, text, separator)))
        _check_header(path, number, cells)
        return separator, cells, number
    fields, words = text.split("\t"), text.split()
    for separator, found in (("\t", fields), (None, words)):
        for form in schema.forms:
            if len(form) == len(found):
                return separator, form, None
    if broken is not None:
        raise broken
    problem = f"found {counted(len(words), 'column')}{_spaces(len(words) > max(map(len, schema.forms)))}"
    if (sign := next((one for one in ",;" if one in text), None)) is not None:
        near = schema.meant([cell.strip() for cell in text.split(sign)], schema.required)
        needed = f"columns between {SEPARATORS[sign]} need a header with {' and '.join(schema.required)}"
        problem = f"found {quoted(text)}: {needed}{near}"
    raise FormatError(path, number, f"expected {schema.expected}, {problem}")


def _name(cell: str) -> str:
    """The name of a column, without the type that RecBole writes after it, as in `user_id:token`."""
    return re.sub(r":(token|float)(_seq)?$", "", cell.strip()) if ":" in cell else cell.strip()


def is_header(schema: Schema, cells: Sequence[str]) -> bool:
    """True if the cells of a first line are names of columns, in any case: at least two, or one without forms."""
    names = schema.known.difference(schema.passed, schema.carried)
    found = sum(cell.strip().strip('"').lower() in names for cell in cells)
    return found >= min(len(cells), 2) if not schema.forms else found >= 2


def _check_header(path: Path, number: int, header: Sequence[str]) -> None:
    """Raise an error if a column other than the first has no name, or if two have the same."""
    if "" in header[1:]:
        raise FormatError(path, number, f"column {header.index('', 1) + 1} of the header has no name, expected one")
    if len({*header}) < len(header):
        raise FormatError(path, number, f"the header names column {repeated(header)} twice, expected it once")


def split_line(path: Path, number: int, text: str, separator: str | None) -> list[str]:
    """The fields of a line; None: between white space. A line is a whole record, as no name contains a line end."""
    if separator in (None, "\t") or '"' not in text:
        return text.split(separator)
    try:
        return next(csv.reader([text], delimiter=separator, strict=True))
    except csv.Error as error:
        raise FormatError(path, number, f"not CSV: {error}, expected one record per line") from None


def named_in(head: str) -> set[str]:
    """The names in the header of a table, or the keys of the first record of JSON, as a file begins with them."""
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    with suppress(ValueError, RecursionError):
        record, _ = JSONDecoder().raw_decode(text.lstrip("[ \n\r\t"))
        if isinstance(record, dict):
            return {name.lower() for name in record}
    line = next((one for one in re.split(r"[\r\n]+", text) if not OF_EXCEL.fullmatch(one)), "")
    separator = next((sign for sign in SEPARATORS if sign in line), None)
    try:
        cells = split_line(Path(), 1, line, separator)
    except FormatError:
        return set()
    return {_name(cell.strip().strip('"')).lower() for cell in cells}


def _spaces(more: bool) -> str:
    return "; a name with a space counts as two columns" if more else ""
