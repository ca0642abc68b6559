"""Identifiers in tables."""

from collections.abc import Callable
from pathlib import Path

from audiosim.errors import FormatError
from audiosim.text import quoted

Say = Callable[[str], object]


def check_identifier(path: Path, number: int, kind: str, identifier: str) -> None:
    """Check that an identifier has a character other than white space, and no byte 0."""
    if not identifier.strip():
        raise FormatError(path, number, f"the {kind} is empty, expected an identifier")
    if "\0" in identifier:
        raise FormatError(path, number, f"the {kind} {quoted(identifier)} has a byte 0, expected text")
