"""Published numbers that public data can reproduce, each beside audiosim's result."""

from reproduce.publications import rows
from reproduce.row import PrintedRow

__all__ = ["PrintedRow", "rows"]
