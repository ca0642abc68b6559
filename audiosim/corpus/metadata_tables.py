"""Tables with a header: documents.tsv, queries.tsv, systems.tsv. Tabs separate the fields, without quoting."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from audiosim.corpus.identifiers import check_identifier
from audiosim.corpus.lines import BYTE_ORDER_MARK, columns_hint, read_lines
from audiosim.corpus.model import Document
from audiosim.errors import FormatError, InputError
from audiosim.messages import did_you_mean, nearest_name, repeated

TableRow = tuple[int, dict[str, str]]
DOCUMENT_COLUMNS = ("document", "artist", "genre", "path")


def read_documents(path: str | Path) -> dict[str, Document]:
    """The documents of a documents.tsv: `document`, any of `artist`, `genre`, `path`, and more; empty means unknown."""
    rows = _read_unique(Path(path), "document", known=DOCUMENT_COLUMNS)
    return {identifier: _document(row) for identifier, row in rows}


def _document(row: dict[str, str]) -> Document:
    known = {column: value for column, value in row.items() if value}
    identifier = known.pop("document")
    return Document(identifier, known.pop("artist", None), known.pop("genre", None), known.pop("path", None), known)


def read_queries(path: str | Path) -> dict[str, str]:
    """The document of each query in a queries.tsv; queries without a document are left out."""
    rows = _read_unique(Path(path), "query", others=["document"])
    return {query: row["document"] for query, row in rows if row["document"]}


def read_systems(path: str | Path) -> dict[str, str]:
    """The team of each system of a systems.tsv; systems without a team are left out."""
    rows = _read_unique(Path(path), "system", others=["team"])
    return {system: row["team"] for system, row in rows if row["team"]}


def _read_unique(
    path: Path, key: str, others: Sequence[str] | None = None, known: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a tab-separated file by their identifier; any other columns are allowed if `others` is None.

    known   columns with a meaning, if any are allowed
    """
    lines = read_lines(path, f"a header with {' and '.join([key, *(others or [])])}")
    seen: dict[str, int] = {}
    required = [key, *(others or [])]
    rows = read_rows(path, lines, lambda _, text: text.split("\t"), required, others and required, known)
    for number, row in rows:
        identifier = row[key]
        check_identifier(path, number, key, identifier)
        if identifier in seen:
            raise FormatError(
                path, number, f"{key} {identifier} is on line {seen[identifier]} already, expected it once"
            )
        seen[identifier] = number
        yield identifier, row


def read_rows(
    path: Path,
    lines: Iterator[tuple[int, str]],
    split: Callable[[int, str], list[str]],
    required: Sequence[str],
    allowed: Sequence[str] | None,
    known: Sequence[str] = (),
) -> Iterator[TableRow]:
    """The lines after the header, each as its number and its fields by column; all but paths are trimmed.

    split     splits a line, given with its number, into fields
    required  columns that must be present
    allowed   columns that may be present, None for any
    known     columns with a meaning, if any are allowed
    """
    number, text = next(lines)
    header = [name.strip() for name in split(number, text)]
    _check_header(path, number, header)
    _check_columns(path, number, header, required, allowed)
    _check_misspelt(path, number, header, known)
    for number, text in lines:
        fields = split(number, text)
        if len(fields) != len(header):
            raise FormatError(path, number, f"expected {len(header)} columns as in the header, found {len(fields)}")
        row = zip(header, fields, strict=True)
        yield number, {column: text if column == "path" else text.strip() for column, text in row}


def _check_header(path: Path, number: int, header: list[str]) -> None:
    for position, column in enumerate(header, start=1):
        if not column.strip():
            raise FormatError(path, number, f"column {position} of the header has no name, expected one")
    if (twice := repeated(header)) is not None:
        raise FormatError(path, number, f"the header names column {twice} twice, expected it once")


def _check_columns(
    path: Path, number: int, header: list[str], required: Sequence[str], allowed: Sequence[str] | None
) -> None:
    for column in required:
        if column not in header:
            found = f"expected a column {column} in the header, found {', '.join(header)}"
            raise FormatError(path, number, f"{found}{_header_hint(column, header)}")
    for column in header if allowed else ():
        if column not in (allowed or ()):
            expected = f"expected {', '.join(allowed or ())}{did_you_mean(column, allowed or ())}"
            raise FormatError(path, number, f"unknown column {column}, {expected}")


def _header_hint(column: str, header: list[str]) -> str:
    """Hint at the probable cause of a missing column, or nothing."""
    if len(header) == 1 and (hint := columns_hint(header[0], "tabs")):
        return hint
    near = nearest_name(column, header)
    return f"; did you mean {column} for {near}?" if near else ""


def _check_misspelt(path: Path, number: int, header: list[str], known: Sequence[str]) -> None:
    """Raise an error if a column's name resembles that of a missing known one: its values would go unnoticed."""
    others = [column for column in header if column not in known]
    for name in known:
        near = None if name in header else nearest_name(name, others)
        if near:
            problem = (
                f"unknown column {near}, did you mean {name}? Rename it to {name}, or to something clearly different"
            )
            raise FormatError(path, number, problem)


def document_lines(documents: Iterable[Document]) -> list[str]:
    """The lines of a documents.tsv; columns that are empty for all documents are left out."""
    filled = [_columns(document) for document in documents]
    columns = dict.fromkeys(column for row in filled for column in row)
    header = [column for column in DOCUMENT_COLUMNS if column in columns]
    header += [column for column in columns if column not in header]
    return [tsv_line(header), *(tsv_line([row.get(column, "") for column in header]) for row in filled)]


def _columns(document: Document) -> dict[str, str]:
    clash = set(DOCUMENT_COLUMNS) & set(document.more)
    if clash:
        raise InputError(f"document {document.identifier} has an extra column named {min(clash)}, a reserved name")
    named = zip(DOCUMENT_COLUMNS, (document.identifier, document.artist, document.genre, document.path), strict=True)
    return {column: value for column, value in named if value} | dict(document.more)


def query_lines(query_documents: Mapping[str, str]) -> list[str]:
    """The lines of a queries.tsv."""
    return [tsv_line(pair) for pair in [("query", "document"), *query_documents.items()]]


def system_lines(teams: Mapping[str, str]) -> list[str]:
    """The lines of a systems.tsv."""
    return [tsv_line(pair) for pair in [("system", "team"), *teams.items()]]


def tsv_line(values: Sequence[str]) -> str:
    """One line of a table; an InputError if a value would break it, or the first is not an identifier."""
    for value in values:
        if "\t" in value or "\n" in value or "\r" in value:
            raise InputError(f"{value!r} cannot be written to a table: it contains a tab or a line end")
    if not values[0] or values[0] != values[0].strip() or values[0].startswith(BYTE_ORDER_MARK):
        raise InputError(f"{values[0]!r} cannot be written to a table: expected an identifier")
    return "\t".join(values)


def known_artists(documents: Mapping[str, Document], not_artists: frozenset[str]) -> dict[str, str]:
    """The artist of each document that has one."""
    artists = ((identifier, document.artist) for identifier, document in documents.items())
    return {identifier: artist for identifier, artist in artists if artist and artist not in not_artists}
