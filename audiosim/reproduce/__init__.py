"""Published numbers that public data can reproduce, each beside audiosim's result."""

from audiosim.reproduce.publications import SOURCES, rows
from audiosim.reproduce.row import PrintedRow

__all__ = ["SOURCES", "PrintedRow", "rows"]
