"""Every error raised on purpose. The command prints it as a single line; the service answers 422."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audiosim.text import brief, reason


class AudiosimError(Exception):
    """The base class: catch this to catch everything that audiosim raises on purpose.

    Its message is one short line whatever it quotes: see `messages.brief`.
    """

    def __str__(self) -> str:
        return brief(super().__str__())


class InputError(AudiosimError, ValueError):
    """A value breaks a rule; the message names the rule and what came instead."""


def not_judged(problem: str) -> InputError:
    """Error about missing judgments, which ends with what to give; each face spells `argument=VALUE` in its own way."""
    return InputError(f"{problem}, expected judgments in its folder, or `judgments=FILE`")


class ArgumentError(InputError):
    """An argument of a function is wrong, whatever it is used on: wrong usage, where a person typed it.

    argument  name of the parameter, or several joined by " and "
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(problem)
        self.argument = argument

    def __reduce__(self) -> tuple[type["ArgumentError"], tuple[str, str]]:
        return ArgumentError, (self.argument, str(self))


@contextmanager
def of_argument(name: str) -> Iterator[None]:
    """Make an error about an argument's own words, such as an unknown name, an ArgumentError; not one of a file."""
    try:
        yield
    except (FormatError, PackageError):
        raise
    except InputError as error:
        raise ArgumentError(name, str(error)) from None


class FormatError(InputError):
    """A line of a file breaks a rule of its format: `path:line: problem`, lines counted from 1."""

    def __init__(self, path: str | Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")
        self.path, self.line, self.problem = Path(path), line, problem

    def __reduce__(self) -> tuple[type["FormatError"], tuple[Path, int, str]]:
        return FormatError, (self.path, self.line, self.problem)


@contextmanager
def placed(place: object, kinds: tuple[type[Exception], ...] = (InputError,), more: str = "") -> Iterator[None]:
    """Begin an error with its place, such as a file or a setting, unless it is a FormatError, which has its own.

    kinds  exceptions whose messages are fit for users
    more   end of the message
    """
    try:
        yield
    except FormatError:
        raise
    except kinds as error:
        raise InputError(f"{place}: {error}{more}") from None


@contextmanager
def on_disk(place: object, problem: str = "cannot be written") -> Iterator[None]:
    """Turn a refusal of the system into an error with the place, the problem and what is expected instead."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: {problem}: {reason(error)}") from None


class SoundError(InputError):
    """A recording cannot be described honestly: not sound, too short, silent, truncated."""


class PackageError(InputError):
    """Something that another package installs cannot be used."""


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


def check_count(what: str, count: int) -> None:
    """Refuse a count below 1."""
    if count < 1:
        raise InputError(f"{what} must be at least 1, got {count}")


def check_between(what: str, value: float) -> None:
    """Refuse a value that is not between 0 and 1."""
    if not 0 < value < 1:
        raise InputError(f"{what} must be between 0 and 1, got {value:g}")
