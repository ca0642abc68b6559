"""Definitions of stopping rules: their protocol, their notation, and common checks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.expected.about import About
from audiosim.expected.estimation import ExpectedScores
from audiosim.expected.ranking import Ranking
from audiosim.relevance.belief import Belief

CHECKED = 50  # number of judgments after which statements are valid on collections that the model did not learn from
NEVER = 2.0  # highest target for a share; targets above 1 are never reached
SMALL = 5  # in a pool of fewer than SMALL x CHECKED pairs, one pair in SMALL is enough
RULE_WRITTEN = re.compile(r"(?P<name>[a-z]+)(\((?P<parameters>[^()]+)\))?=(?P<target>[^()=]+)")

Written = Mapping[str, str]


class LoopState(Protocol):
    """State that a stopping rule reads: a judging loop at one moment, such as a `Selection`."""

    @property
    def ranking(self) -> Ranking:
        """Stated ranking, with wider deviations if the judgments so far contradict the model."""
        ...

    def stated(self, about: About) -> Ranking:
        """Stated ranking about another subject."""
        ...

    @property
    def pool(self) -> Pool: ...

    @property
    def expected(self) -> ExpectedScores: ...

    @property
    def belief(self) -> Belief: ...


@runtime_checkable
class StoppingRule(Protocol):
    """Rule that ends the judging.

    Entry-point group `audiosim.stopping_rules`, see `StoppingDefinition`.
    """

    def level(self, state: LoopState) -> float:
        """Level that judging has reached, in the unit of the rule's target."""
        ...

    def reached(self, state: LoopState) -> bool:
        """True if enough is judged."""
        ...


@dataclass(frozen=True, slots=True)
class StoppingDefinition:
    """Definition of a kind of stopping rule, written `NAME=TARGET` or `NAME(PARAMETER=VALUE,...)=TARGET`.

    Entry-point group `audiosim.stopping_rules`: each entry is a definition, under its own name. Contract:
    `audiosim.plugins.check_stopping_rule`.

    name        name in lower case
    make        function that makes the rule from given parameters and a target; `str` of the rule parses to an equal
                one
    example     example of the notation
    parameters  names of the parameters
    """

    name: str
    make: Callable[[Written, float], StoppingRule]
    example: str
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = RULE_WRITTEN.fullmatch(self.example)
        if parts is None or parts["name"] != self.name:
            raise InputError(f"the example of stopping rule {self.name} must be NAME=TARGET, got {self.example!r}")
        self.parse(self.example, parts["parameters"])

    def parse(self, text: str, parameters: str | None) -> dict[str, str]:
        """The parameters in the brackets of a text, by name."""
        written: dict[str, str] = {}
        for part in parameters.split(",") if parameters else []:
            key, equals, value = part.partition("=")
            if not (key and equals and value) or "=" in value:
                raise InputError(f"{text}: expected parameters such as {self.example}, got {part!r}")
            if key not in self.parameters:
                raise InputError(f"{self.name} has no parameter {key!r}, expected {self.example}")
            if key in written:
                raise InputError(f"{text}: {key} is written twice, expected it once")
            written[key] = value
        return written


def floor_in(written: Written) -> int:
    """Floor in the parameters, or the default."""
    return whole_number(number_of("floor", written["floor"])) if "floor" in written else CHECKED


def about_in(written: Written) -> About | None:
    """Subject in the parameters, such as queries; None for the loop's subject."""
    return About.parse(written["about"]) if "about" in written else None


def stated_to(state: LoopState, about: About | None) -> Ranking:
    """Stated ranking about the subject of a rule, or about that of the loop if the rule names none."""
    return state.ranking if about is None else state.stated(about)


def number_of(name: str, value: str | None) -> float:
    """Number in a text; an error if there is none."""
    try:
        number = float(value or "")
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"the {name} of a stopping rule must be a number, got {value or 'none'}")
    return number


def target_above(name: str, target: float) -> float:
    """The target itself, if it is above 0."""
    if not target > 0:
        raise InputError(f"the target of {name} must be above 0, got {target:g}")
    return target


def share_to_reach(name: str, target: float) -> float:
    """The target itself, if it is above 0 and not a percentage; slightly more than 1 is never reached."""
    if target > NEVER:
        raise InputError(f"the target of {name} is a share such as 0.95, got {target:g}")
    return target_above(name, target)


def whole_number(target: float) -> int:
    """Whole number of judgments."""
    if target != int(target):
        raise InputError(f"a number of judgments must be whole, got {target:g}")
    return int(target)


def yes_or_no(value: str | None) -> bool:
    """True for "yes", and by default."""
    if value not in {None, "yes", "no"}:
        raise InputError(f"corrected must be yes or no, got {value}")
    return value != "no"


def spelled_target(number: float) -> str:
    """A number with all its digits, so that the printed text parses to the same rule."""
    return repr(float(number)).removesuffix(".0")


def checked(state: LoopState, floor: int) -> bool:
    """True if enough is judged to trust the model: `floor` pairs, or one in SMALL of a small pool."""
    ranking = state.ranking
    return ranking.judged >= min(floor, -(-ranking.pool // SMALL))


def check_floor(floor: int) -> None:
    """Raise an error for a floor below 0."""
    if floor < 0:
        raise InputError(f"the floor of a stopping rule must be 0 or more judgments, got {floor}")


def check_share(share: float) -> None:
    """Refuse an invalid share of users."""
    if not 0 <= share <= 1:
        raise InputError(f"a share of users must be in [0, 1], got {share:g}")


def spelled_parameters(
    numbers: Mapping[str, float], floor: int, corrected: bool = True, about: About | None = None
) -> str:
    """The parameters in their notation, without those at their default."""
    parts = [f"{name}={spelled_target(number)}" for name, number in numbers.items()]
    parts += [] if corrected else ["corrected=no"]
    parts += [] if floor == CHECKED else [f"floor={floor}"]
    parts += [] if about is None else [f"about={about.written}"]
    return f"({','.join(parts)})" if parts else ""
