"""The columns of a large text file, by Arrow. Whatever is not plain there is left to the reader of lines.

Both give the same table; the reader of lines reports all errors.
"""

import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from audiosim.stats.arrays import Array
from audiosim.tables.arrays import cells_of
from audiosim.tables.schema import Schema
from audiosim.tables.table import Table, Words
from audiosim.tables.text import most_unpacked, open_bytes

LARGE = 2**19  # bytes from which importing Arrow takes less time than it saves
BLOCK = 2**23  # bytes read at once by a thread


def large_table(
    path: Path, schema: Schema, first: str, separator: str | None, names: Sequence[str], head: int | None
) -> Table | None:
    """The table of a file; None if it is not plain.

    first      its first line
    separator  between its columns; None: white space
    names      of its columns
    head       line of its header, or None
    """
    sign = separator or next((one for one in " \t" if len(first.split(one)) == len(names)), None)
    columns = None if sign is None else _columns(path, schema, sign, names, head)
    if not columns or any(isinstance(one, Words) and not _are_plain(one, separator) for one in columns.values()):
        return None
    rows = len(next(iter(columns.values())))
    start = 1 if head is None else 2
    unread = () if head is None else tuple(name for name in names if name and name not in schema.known)
    lines = range(start, start + rows)
    return Table(path, columns, lines, head, by_place=head is None, unread=unread) if rows else None


def _columns(
    path: Path, schema: Schema, sign: str, names: Sequence[str], head: int | None
) -> dict[str, Words | Array | list[Any]] | None:
    import pyarrow as arrow  # a tenth of a second, which only large files are worth
    from pyarrow import csv

    quote = '"' if sign in ",;" else False
    words = arrow.dictionary(arrow.int32(), arrow.string())
    kinds = dict.fromkeys(schema.numbers, arrow.float64()) | dict.fromkeys(schema.whole, arrow.int64())
    known = {name: kinds.get(own, words) for own, some in schema.columns.items() for name in some}
    types = {name: known.get(name, words) for name in names if name in known or name in schema.carried}
    try:
        with open_bytes(path) as stream:
            most = most_unpacked(path)
            source: Any = path if most == math.inf else arrow.BufferReader(stream.read(int(most) + 1))
        if most != math.inf and source.size() > most:
            return None
        found = csv.read_csv(
            source,
            read_options=csv.ReadOptions(
                column_names=list(names), skip_rows=0 if head is None else 1, block_size=BLOCK
            ),
            parse_options=csv.ParseOptions(delimiter=sign, quote_char=quote, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
            ),
        )
    except (OSError, EOFError, zlib.error, arrow.ArrowInvalid):
        return None
    columns = {name: cells_of(found.column(name)) for name in types}
    infinite = any(isinstance(one, np.ndarray) and not np.isfinite(one).all() for one in columns.values())
    return None if infinite else columns


def _are_plain(words: Words, separator: str | None) -> bool:
    """True if the names are those that the reader of lines finds."""
    if separator is None and any(len(name.split()) != 1 for name in words.names):
        return False
    return not any("\0" in name or "\ufeff" in name for name in words.names)
