"""Measures by name: parsed, compared, printed and stored."""

import re
from dataclasses import dataclass

from audiosim.errors import InputError

NAMES = ("CG", "DCG")
WRITTEN = re.compile(r"(?P<name>[A-Za-z]+)@(?P<cutoff>[0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured of a ranking.

    name    CG, the mean gain, or DCG, the mean gain discounted by rank; both 0 to 1
    cutoff  last rank that counts, at least 1
    """

    name: str
    cutoff: int

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise InputError(f"unknown measure {self.name!r}, expected one of {', '.join(NAMES)}")
        if self.cutoff < 1:
            raise InputError(f"the cutoff of {self.name} must be at least 1, got {self.cutoff}")

    def __str__(self) -> str:
        return f"{self.name}@{self.cutoff}"


def as_measure(measure: str | Measure) -> Measure:
    """A measure, parsed if it is written."""
    return parse_measure(measure) if isinstance(measure, str) else measure


def parse_measure(text: str) -> Measure:
    """The measure that is written so, such as CG@5."""
    parts = WRITTEN.fullmatch(text)
    if parts is None:
        raise InputError(f"unknown measure {text!r}, expected a name and a cutoff such as CG@5")
    return Measure(parts["name"], int(parts["cutoff"]))
