"""Reading and writing of comparisons: which of two documents is more relevant to a query, or neither."""

from collections.abc import Iterable
from pathlib import Path

from audiosim.corpus.identifiers import check_identifier
from audiosim.corpus.lines import BYTE_ORDER_MARK, finite, read_lines, shortest
from audiosim.corpus.metadata_tables import read_rows, tsv_line
from audiosim.corpus.model import PairedComparison
from audiosim.errors import FormatError, InputError

REQUIRED = ("query", "document_a", "document_b", "answer")
COLUMNS = (*REQUIRED, "assessor", "seconds")
HEAD_BYTES = 4096
MOST_SECONDS = 1e6  # longest time that an answer may have taken


def read_comparisons(path: str | Path) -> tuple[PairedComparison, ...]:
    """The comparisons of a comparisons.tsv, in the order of their lines.

    A tab-separated table with a header: REQUIRED, and any of `assessor` and `seconds`. A repeated answer about the
    same two documents is a revision; all are kept.
    """
    return tuple(one for _, one in numbered_comparisons(path))


def numbered_comparisons(path: str | Path) -> list[tuple[int, PairedComparison]]:
    """The comparisons of a comparisons.tsv, each with the number of its line; see `read_comparisons`."""
    path = Path(path)
    lines = read_lines(path, f"a header with {', '.join(REQUIRED)}")
    rows = read_rows(path, lines, lambda _, text: text.split("\t"), REQUIRED, COLUMNS)
    return [(number, _comparison(path, number, row)) for number, row in rows]


def has_comparisons(text: bytes) -> bool:
    """True if the header of a file's text is that of comparisons."""
    head = text[:HEAD_BYTES].decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).lstrip()
    return {"document_a", "document_b"} <= set(head.partition("\n")[0].strip().split("\t"))


def _comparison(path: Path, number: int, row: dict[str, str]) -> PairedComparison:
    for column in REQUIRED[:-1]:
        check_identifier(path, number, column, row[column])
    spelled = row.get("seconds") or None
    seconds = None if spelled is None else finite(path, number, "seconds", spelled)
    if seconds is not None and seconds > MOST_SECONDS:
        raise FormatError(path, number, f"expected seconds from 0 to {MOST_SECONDS:.0f}, got {spelled}")
    try:
        return PairedComparison(
            row["query"],
            row["document_a"],
            row["document_b"],
            row["answer"],
            row.get("assessor", ""),
            seconds,
        )
    except InputError as error:
        raise FormatError(path, number, str(error)) from None


def comparison_lines(comparisons: Iterable[PairedComparison]) -> list[str]:
    """The lines of a comparisons.tsv."""
    rows = [
        (one.query, one.document_a, one.document_b, one.answer, one.assessor, _spelled(one.seconds))
        for one in comparisons
    ]
    return [tsv_line(row) for row in [COLUMNS, *rows]]


def _spelled(seconds: float | None) -> str:
    return "" if seconds is None else str(shortest(seconds))
