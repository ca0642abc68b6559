"""Files of features: one row for each document to predict, read in portions, so that a file may exceed memory.

    rows.csv, rows.tsv    header; a column for each feature, and `query` and `document` if wanted; empty: unknown
    rows.parquet          the same columns

Other columns are not read. Text may be compressed, `.csv.gz`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.array_files import parquet_portions
from audiosim.corpus.evidence_files import SEPARATOR, table_record, without_gz
from audiosim.corpus.lines import Lines, finite, read_lines
from audiosim.errors import FormatError, InputError
from audiosim.messages import repeated

WORDS = ("query", "document")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Some rows of a file of features, one after the other.

    first    number of the first row, from 0
    words    text by column, query and document if the file has them; None where empty
    numbers  (m,) numbers by feature, NaN where unknown
    """

    first: int
    words: dict[str, list[str | None]]
    numbers: dict[str, Array]
    count: int


def is_feature_file(path: Path) -> bool:
    """True for a file of features, by its ending."""
    kind = without_gz(path).suffix
    return (kind in SEPARATOR or path.suffix == ".parquet") and path.is_file()


def read_feature_rows(path: Path, features: Sequence[str], size: int) -> Iterator[FeatureRows]:
    """The rows of a file in portions; at least one portion, which may be empty.

    features  features to read; the file may lack some
    size      rows of a portion
    """
    first = 0
    portions = _parquet if path.suffix == ".parquet" else _table
    for words, numbers, count in portions(path, features, size):
        for name, column in numbers.items():
            if (infinite := np.isinf(column)).any():
                raise InputError(f"{path}: row {first + int(np.argmax(infinite))}: {name} is not finite")
        yield FeatureRows(first, words, numbers, count)
        first += count


_Portion = tuple[dict[str, list[str | None]], dict[str, Array], int]


def _parquet(path: Path, features: Sequence[str], size: int) -> Iterator[_Portion]:
    for portion in parquet_portions(path, features, WORDS, size):
        words = {name: column for name, column in portion.items() if isinstance(column, list)}
        numbers = {name: column for name, column in portion.items() if isinstance(column, np.ndarray)}
        yield words, numbers, len(next(iter(portion.values()), ()))


def _table(path: Path, features: Sequence[str], size: int) -> Iterator[_Portion]:
    separator = SEPARATOR[without_gz(path).suffix]
    lines = read_lines(path, "a header with features such as fSYS")
    number, text = next(lines)
    header = [name.strip() for name in table_record(path, number, text, separator)]
    if (twice := repeated(header)) is not None:
        raise FormatError(path, number, f"the header names column {twice} twice, expected it once")
    places = {name: header.index(name) for name in (*WORDS, *features) if name in header}
    empty = True
    while (rows := list(_rows(path, islice(lines, size), separator, len(header)))) or empty:
        empty = False
        words = {name: [row[places[name]].strip() or None for _, row in rows] for name in WORDS if name in places}
        numbers = {name: _numbers(path, name, rows, places[name]) for name in features if name in places}
        yield words, numbers, len(rows)


def _rows(path: Path, lines: Lines, separator: str, columns: int) -> Iterator[tuple[int, list[str]]]:
    for number, text in lines:
        row = table_record(path, number, text, separator)
        if len(row) != columns:
            raise FormatError(path, number, f"expected {columns} columns as in the header, found {len(row)}")
        yield number, row


def _numbers(path: Path, name: str, rows: Sequence[tuple[int, list[str]]], place: int) -> Array:
    return np.array([finite(path, number, name, row[place]) if row[place].strip() else np.nan for number, row in rows])
