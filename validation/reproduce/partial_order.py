"""Worked examples of the paper on average dynamic recall, with its grouped ground truth."""

from collections.abc import Iterator
from pathlib import Path

from audiosim.measures.levels import adr_of_groups
from reproduce.row import PrintedRow

GROUPS = ((1, 2), (3, 4, 5))
SOURCE = "Typke, Veltkamp & Wiering (2006), section 3"
# printed recall by results, with the printed decimals
EXAMPLES = {(2, 3, 1, 5, 7, 8, 9, 4): (0.86, 2), (2, 10, 3, 1, 5, 7, 8, 9, 4): (0.7433, 4)}


def recall_of_groups(_: Path) -> Iterator[PrintedRow]:
    """Both results of section 3."""
    for results, (printed, digits) in EXAMPLES.items():
        what = f"average dynamic recall of {', '.join(map(str, results))}"
        yield PrintedRow(SOURCE, what, printed, adr_of_groups(results, GROUPS), digits)
