"""Every error raised on purpose. The command prints it as a single line; the service answers 422."""

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
ALIKE = 0.78  # of difflib's ratio: gnere is genre, part is not path
LONGEST_QUOTE = 40
MOST_COMPARED = 2000  # names: with more, comparing (microseconds each) takes too long


class AudiosimError(Exception):
    """The base class: catch this to catch everything that audiosim raises on purpose.

    Its message is one line whatever it quotes: an unprintable character appears as its code.
    """

    def __str__(self) -> str:
        words = super().__str__()
        return words if words.isprintable() else "".join(map(_shown, words))


class InputError(AudiosimError, ValueError):
    """A value breaks a rule; the message names the rule and what came instead."""


class FormatError(InputError):
    """A line of a file breaks a rule of its format: `path:line: problem`, lines counted from 1."""

    def __init__(self, path: str | Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")
        self.path, self.line, self.problem = Path(path), line, problem

    def __reduce__(self) -> tuple[type["FormatError"], tuple[Path, int, str]]:
        return FormatError, (self.path, self.line, self.problem)


class SoundError(InputError):
    """A recording cannot be described honestly: not sound, too short, silent, truncated."""


class MissingPackageError(AudiosimError, ImportError):
    """A package from an extra is not installed; the message says how to install it."""


class ServiceError(AudiosimError):
    """A service did not answer as agreed."""


class StoreError(AudiosimError):
    """The log of a campaign could not be read or written: disk full, read-only, locked, unreachable.

    passing  True if it may resolve itself soon: a lock, a server that is starting
    """

    def __init__(self, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class RewoundError(StoreError):
    """The log of a campaign was truncated, replaced, or does not fit: everything derived from it is invalid."""


class BusyError(StoreError):
    """Others are writing to the log of a campaign, or waiting for it; retry in a moment."""

    def __init__(self, message: str) -> None:
        super().__init__(message, passing=True)


class LeaseError(InputError):
    """A pair is leased to another assessor."""


class ClosedError(InputError):
    """A campaign is paused or closed."""


def printable(text: str) -> str:
    """Text with escapes for unprintable characters and those that UTF-8 cannot encode."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")


def one_line(error: Exception) -> str:
    """Kind and message of a foreign exception."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def repeated(names: Iterable[Name]) -> Name | None:
    """The first name that occurs twice, or None."""
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Known name that was probably meant: equal but for case or two swapped letters, or similar."""
    folded: dict[str, str] = {}
    for other in known:
        folded.setdefault(other.strip().casefold(), other)
    wanted = name.strip().casefold()
    if wanted in folded or len(folded) > MOST_COMPARED:
        return folded.get(wanted)
    # Two swapped letters are four in ten of a short name, such as nDGC, so difflib finds it unlike. Digits are never
    # swapped: d12 is another name than d21.
    swapped = (f"{wanted[:at]}{wanted[at + 1]}{wanted[at]}{wanted[at + 2 :]}" for at in range(len(wanted) - 1))
    for other in swapped:
        if wanted.isalpha() and other in folded:
            return folded[other]
    from difflib import get_close_matches  # importing it takes longer than most commands run

    return next((folded[close] for close in get_close_matches(wanted, folded, 1, ALIKE)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End of an error message on an unknown name: the nearest known one, or nothing."""
    near = nearest_name(name, known)
    return "" if near is None else f"; did you mean {near}?"


def quoted(text: str) -> str:
    """Text found in a file, in quotes, shortened in the middle if long."""
    return repr(text) if len(text) <= LONGEST_QUOTE else shortened(text)


def shortened(text: str) -> str:
    """Text, shortened in the middle if long."""
    half = LONGEST_QUOTE // 2
    return text if len(text) <= LONGEST_QUOTE else f"{text[:half]!r}...{text[-half:]!r} ({len(text)} characters)"
