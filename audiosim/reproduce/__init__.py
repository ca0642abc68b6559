"""Published numbers that public data can reproduce, each beside audiosim's result."""

from audiosim.reproduce.publications import SOURCES, reproduced_numbers, rows
from audiosim.reproduce.row import PrintedRow, Reproduction

__all__ = ["SOURCES", "PrintedRow", "Reproduction", "reproduced_numbers", "rows"]
