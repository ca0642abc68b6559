"""All sources of printed numbers: functions from the folder of the data to rows, even if a file is missing."""

from collections.abc import Callable, Iterator
from pathlib import Path

from audiosim.errors import InputError
from reproduce.generalizability import stability_of_mirex_2011
from reproduce.low_cost import (
    paper_with_judgments,
    paper_without_judgments,
    rankings_of_mirex_2011,
    scores_of_mirex_2011,
)
from reproduce.mappings import satisfaction_and_agreement, satisfaction_examples
from reproduce.partial_order import recall_of_groups
from reproduce.relevance import errors_on_mirex_2011, relevance_examples
from reproduce.row import PrintedRow

SOURCES: tuple[Callable[[Path], Iterator[PrintedRow]], ...] = (
    satisfaction_and_agreement,
    satisfaction_examples,
    stability_of_mirex_2011,
    relevance_examples,
    errors_on_mirex_2011,
    rankings_of_mirex_2011,
    scores_of_mirex_2011,
    paper_without_judgments,
    paper_with_judgments,
    recall_of_groups,
)


def rows(folder: str | Path) -> Iterator[PrintedRow]:
    """All rows of all sources.

    folder  folder with the published data: mirex2011, a collection, and preferences/answers.tsv
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder with the published data")
    for source in SOURCES:
        yield from source(folder)
