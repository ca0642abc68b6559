"""Lists of pairs: a query and a document per line, separated by a tab or spaces; a header is optional."""

from pathlib import Path

from audiosim.corpus.lines import read_lines
from audiosim.corpus.model import Pair
from audiosim.errors import FormatError

HEADER = ["query", "document"]


def read_pairs(path: str | Path) -> dict[Pair, int]:
    """The pairs of a file in their order, each with the number of its line.

    Raises an error if a line does not have two names, or if a pair is repeated.
    """
    path, pairs = Path(path), dict[Pair, int]()
    for number, text in read_lines(path, "a query and a document per line"):
        fields = [field.strip() for field in text.split("\t")] if "\t" in text else text.split()
        if not pairs and fields == HEADER:
            continue
        if len(fields) != 2 or not all(fields):
            raise FormatError(path, number, f"expected 2 fields (query, document), found {len(fields)}")
        pair = Pair(*fields)
        if pair in pairs:
            raise FormatError(
                path, number, f"query {pair.query}, document {pair.document} is on line {pairs[pair]} already"
            )
        pairs[pair] = number
    if not pairs:
        raise FormatError(path, 1, "the file holds no pair, expected a query and a document per line")
    return pairs
