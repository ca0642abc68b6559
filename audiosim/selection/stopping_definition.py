"""Stopping rules as they are written: a definition of each kind, by name, and how a rule is parsed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from audiosim.errors import InputError
from audiosim.selection.stopping import (
    CHECKED,
    Confidence,
    Difference,
    Error,
    EveryConfidence,
    Judgments,
    StoppingRule,
    Users,
)
from audiosim.selection.success import Success

WRITTEN = re.compile(r"(?P<name>[a-z]+)(\((?P<parameters>[^()]+)\))?=(?P<target>[^()=]+)")

Written = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoppingDefinition:
    """All that audiosim knows of a kind of stopping rule: `NAME=TARGET` or `NAME(PARAMETER=VALUE,...)=TARGET`.

    Entry-point group `audiosim.stopping_rules`: each entry is a definition, under its own name. Contract:
    `audiosim.plugins.check_stopping_rule`.

    name        small letters
    make        the rule of the parameters that are written and a target; its `str` is what it was made of, so that it
                is parsed again as an equal one
    example     as it is written
    parameters  names of what may be chosen
    """

    name: str
    make: Callable[[Written, float], StoppingRule]
    example: str
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = WRITTEN.fullmatch(self.example)
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


CONFIDENCE = StoppingDefinition(
    "confidence", lambda of, target: Confidence(_above("confidence", target), _floor(of)), "confidence=0.95", ("floor",)
)
EVERY = StoppingDefinition(
    "every", lambda of, target: EveryConfidence(_above("every", target), _floor(of)), "every=0.95", ("floor",)
)
DIFFERENCE = StoppingDefinition(
    "difference",
    lambda of, target: Difference(_number("size", of.get("size")), _above("difference", target), _floor(of)),
    "difference(size=0.02)=0.95",
    ("size", "floor"),
)
USERS = StoppingDefinition(
    "users",
    lambda of, target: Users(_number("share", of.get("share")), _above("users", target), _floor(of)),
    "users(share=0.05)=0.95",
    ("share", "floor"),
)
SUCCESS = StoppingDefinition(
    "success",
    lambda of, target: Success(_number("share", of.get("share", "0.5")), _above("success", target), _floor(of)),
    "success(share=0.5)=0.95",
    ("share", "floor"),
)
ERROR = StoppingDefinition(
    "error",
    lambda of, target: Error(_above("error", target), _yes(of.get("corrected")), _floor(of)),
    "error=0.05",
    ("corrected", "floor"),
)
JUDGMENTS = StoppingDefinition("judgments", lambda _, target: Judgments(_whole(target)), "judgments=200")
STOPPING_RULES: Mapping[str, StoppingDefinition] = {
    definition.name: definition for definition in (CONFIDENCE, EVERY, DIFFERENCE, USERS, SUCCESS, ERROR, JUDGMENTS)
}


def parse_stopping_rule(text: str, known: Mapping[str, StoppingDefinition] = STOPPING_RULES) -> StoppingRule:
    """The stopping rule that is written so, such as confidence=0.95 or difference(size=0.02)=0.95.

    known  definitions by name; `audiosim.plugins.find_stopping_rule` knows those of installed packages too
    """
    parts = WRITTEN.fullmatch(text.replace(" ", ""))
    if parts is None or parts["name"] not in known:
        examples = ", ".join(definition.example for definition in known.values())
        raise InputError(f"unknown stopping rule {text!r}, expected {examples}")
    definition = known[parts["name"]]
    return definition.make(definition.parse(text, parts["parameters"]), _number("target", parts["target"]))


def _floor(written: Written) -> int:
    return _whole(_number("floor", written["floor"])) if "floor" in written else CHECKED


def _number(name: str, value: str | None) -> float:
    try:
        number = float(value or "")
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"the {name} of a stopping rule must be a number, got {value or 'none'}")
    return number


def _above(name: str, target: float) -> float:
    if not target > 0:
        raise InputError(f"the target of {name} must be above 0, got {target:g}")
    return target


def _whole(target: float) -> int:
    if target != int(target):
        raise InputError(f"a number of judgments must be whole, got {target:g}")
    return int(target)


def _yes(value: str | None) -> bool:
    if value not in {None, "yes", "no"}:
        raise InputError(f"corrected must be yes or no, got {value}")
    return value != "no"
