"""The published numbers that public data allows to compute again, each beside what comes out here."""

from audiosim.reproduce.row import Row
from audiosim.reproduce.sources import SOURCES, rows

__all__ = ["SOURCES", "Row", "rows"]
