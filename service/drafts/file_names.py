"""File names in error messages about a draft, whose own folder is hidden from users."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audiosim.errors import FormatError, InputError

SOUNDS = "sounds"


@contextmanager
def named_from(aside: Path, place: str, name: str) -> Iterator[None]:
    """Replace paths on this machine by the sender's file names in error messages."""
    try:
        yield
    except FormatError as error:
        own = name or error.path.relative_to(aside / place).as_posix()
        raise InputError(f"{own}:{error.line}: {_without(error.problem, aside, place)}") from None
    except InputError as error:
        said = str(error).replace(str(aside / place), name) if name else str(error)
        raise InputError(_without(said, aside, place)) from None


def _without(text: str, aside: Path, place: str) -> str:
    return text.replace(f"{aside / place}/", "").replace(f"{aside}/", "")
