"""Tables with a header: documents.tsv, queries.tsv, systems.tsv; the tab parts the fields and nothing is quoted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from audiosim.corpus.lines import BYTE_ORDER_MARK, read_lines
from audiosim.corpus.model import Document
from audiosim.errors import FormatError, InputError

Row = tuple[int, dict[str, str]]


def read_documents(path: str | Path) -> dict[str, Document]:
    """The documents of a documents.tsv: `document`, any of `artist`, `genre`, `path`, and more; empty is unknown."""
    documents = {}
    for _, row in _unique(Path(path), read_tsv(Path(path), required=["document"])):
        known = {column: value for column, value in row.items() if value}
        identifier = known.pop("document")
        documents[identifier] = Document(
            identifier, known.pop("artist", None), known.pop("genre", None), known.pop("path", None), known
        )
    return documents


def read_queries(path: str | Path) -> dict[str, str]:
    """The document that each query of a queries.tsv is; a query with an empty document is left out."""
    return _read_mapping(Path(path), "query", "document")


def read_systems(path: str | Path) -> dict[str, str]:
    """The team of each system of a systems.tsv; a system with an empty team is left out."""
    return _read_mapping(Path(path), "system", "team")


def _read_mapping(path: Path, key: str, value: str) -> dict[str, str]:
    rows = read_tsv(path, required=[key, value], allowed=[key, value])
    return {row[key]: row[value] for _, row in _unique(path, rows) if row[value]}


def read_tsv(path: Path, required: Sequence[str], allowed: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a tab-separated file with a header."""
    lines = read_lines(path, f"a header with {' and '.join(required)}")
    return read_rows(path, lines, lambda _, text: text.split("\t"), required, allowed)


def read_rows(
    path: Path,
    lines: Iterator[tuple[int, str]],
    split: Callable[[int, str], list[str]],
    required: Sequence[str],
    allowed: Sequence[str] | None,
) -> Iterator[Row]:
    """Each line after the header as its number and its fields by column; the first required column identifies it.

    split     takes a line's number and text apart
    required  columns that must be there
    allowed   columns that may be there, None for any
    """
    number, text = next(lines)
    header = split(number, text)
    _check_header(path, number, header, required, allowed)
    for number, text in lines:
        fields = split(number, text)
        if len(fields) != len(header):
            raise FormatError(path, number, f"expected {len(header)} columns as in the header, found {len(fields)}")
        row = dict(zip(header, fields, strict=True))
        if not row[required[0]].strip():
            raise FormatError(path, number, f"column {required[0]} is empty, expected an identifier")
        yield number, row


def _check_header(
    path: Path, number: int, header: list[str], required: Sequence[str], allowed: Sequence[str] | None
) -> None:
    for column in header:
        if not column.strip():
            raise FormatError(path, number, f"column {header.index(column) + 1} of the header has no name")
        if header.count(column) > 1:
            raise FormatError(path, number, f"the header names column {column} twice")
    for column in required:
        if column not in header:
            raise FormatError(path, number, f"the header lacks column {column}, found {', '.join(header)}")
    for column in header if allowed is not None else []:
        if column not in (allowed or []):
            raise FormatError(path, number, f"unknown column {column}, expected {', '.join(allowed or [])}")


def _unique(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows as they are; an identifier, the value of the first required column, twice is an error."""
    seen: dict[str, int] = {}
    for number, row in rows:
        column = next(name for name in ("document", "query", "system") if name in row)
        column = "query" if "query" in row else column
        if row[column] in seen:
            raise FormatError(path, number, f"{column} {row[column]} is on line {seen[row[column]]} already")
        seen[row[column]] = number
        yield number, row
