"""The published numbers that public data allows to compute again, each beside what comes out here."""

from audiosim.reproduce.publications import SOURCES, rows
from audiosim.reproduce.row import PrintedRow

__all__ = ["SOURCES", "PrintedRow", "rows"]
