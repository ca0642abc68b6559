"""Measures by name: parsed, compared, printed and stored."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from audiosim.arrays import Array
from audiosim.corpus.model import Scale
from audiosim.errors import InputError, did_you_mean

Value = str | float
NAME = r"[A-Za-z][A-Za-z0-9]*"
WRITTEN = re.compile(rf"(?P<name>{NAME})(\((?P<parameters>[^()]*)\))?@(?P<cutoff>[0-9]{{1,6}})")


@dataclass(frozen=True, slots=True)
class Parameter:
    """What may be chosen about a measure.

    name      as it is written
    default   what holds where nothing is written; None where the scale of the judgments decides
    expected  what may be written, in words
    choices   the words that may be written; empty for a number
    low       a number must be more than this
    high      a number must be less than this
    closed    whether a number may be `low` itself
    """

    name: str
    default: Value | None
    expected: str
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    closed: bool = False

    def check(self, measure: str, value: Value) -> Value:
        """The value itself, a number as a float, if it may be written for this measure."""
        meant = value if self.choices else _number(value)
        if not (meant in self.choices or self._holds(meant)):
            raise InputError(f"{self.name} of {measure} must be {self.expected}, got {_spell(value)}")
        return meant

    def _holds(self, number: Value) -> bool:
        if isinstance(number, str):
            return False
        return self.low < number < self.high or (self.closed and number == self.low)


GAIN = Parameter("gain", "linear", "linear or exponential", ("linear", "exponential"))
IDEAL = Parameter("ideal", "judged", "judged or user", ("judged", "user"))
FORM = Parameter("form", "bounded", "bounded or original", ("bounded", "original"))
MINIMUM = Parameter("min", None, "a grade above 0")
BASE = Parameter("base", 2.0, "a number above 1", low=1.0)
BETA = Parameter("beta", 1.0, "a number, 0 or more", closed=True)
PERSISTENCE = Parameter("p", 0.8, "a number between 0 and 1", high=1.0)

Score = Callable[["Measure", Scale, Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure is, before its cutoff and its parameters are chosen.

    Entry-point group `audiosim.measures`: each entry is a definition, under its own name. Contract:
    `audiosim.plugins.check_measure`.

    name        a letter, then letters and digits
    parameters  what may be chosen, in the order in which it is printed
    score       what rankings score, all at once: see `audiosim.measures.scores.score`, which passes on the ranks down
                to the cutoff; a function of a module, so that measures can be sent to other processes. None for the
                measures that come with audiosim: their scores stand there
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    score: Score | None = None

    def __post_init__(self) -> None:
        if re.fullmatch(NAME, self.name) is None:
            raise InputError(f"the name of a measure must be a letter, then letters and digits, got {self.name!r}")
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise InputError(f"the parameters of {self.name} must differ in their names, got {', '.join(names)}")


BUILT_IN: Mapping[str, Definition] = {
    definition.name: definition
    for definition in (
        Definition("P", (MINIMUM,)),
        Definition("AP", (MINIMUM, IDEAL, FORM)),
        Definition("RR", (MINIMUM,)),
        Definition("CG", (GAIN, FORM)),
        Definition("DCG", (GAIN, BASE, FORM)),
        Definition("nDCG", (GAIN, BASE, IDEAL, FORM)),
        Definition("Q", (GAIN, BETA, IDEAL, FORM)),
        Definition("RBP", (GAIN, PERSISTENCE, IDEAL, FORM)),
        Definition("ERR", (GAIN, IDEAL, FORM)),
        Definition("EDCG", (GAIN, IDEAL, FORM)),
        Definition("GAP", (IDEAL, FORM)),
        Definition("ADR", (IDEAL, FORM)),
    )
}
PARAMETERS: Mapping[str, tuple[Parameter, ...]] = {name: known.parameters for name, known in BUILT_IN.items()}
NAMES = tuple(BUILT_IN)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured of a ranking.

    name        P AP RR CG DCG nDCG Q RBP ERR EDCG GAP or ADR, or that of `foreign`
    cutoff      last rank that counts, at least 1
    parameters  pairs of name and value; those at their default are left out, the others put in one order
    foreign     the definition of a measure that does not come with audiosim

    gain    linear, a gain is its grade; or exponential, 2^grade - 1
    min     the lowest grade that is relevant; the lowest one above 0 where nothing is written
    base    of the logarithm in the discount
    beta    how much the gains weigh in Q
    p       persistence of RBP
    ideal   judged, scores are relative to the best that the judged documents allow; or user, to the highest grade at
            every rank
    form    bounded, scores are 0 to 1; or original, as the measure was first published

    Urbano (2013): form=original is chapter 2, ideal=user chapter 3, ideal=judged chapter 5.
    """

    name: str
    cutoff: int
    parameters: tuple[tuple[str, Value], ...] = ()
    foreign: Definition | None = None
    _chosen: Mapping[str, Value] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_name()
        if self.cutoff < 1:
            raise InputError(f"the cutoff of {self.name} must be at least 1, got {self.cutoff}")
        written = self._checked(dict(self.parameters))
        ordered = {p.name: written[p.name] for p in self.definition.parameters if p.name in written}
        object.__setattr__(self, "_chosen", ordered)
        object.__setattr__(self, "parameters", tuple(ordered.items()))
        if ordered.get("form") == "original" and "ideal" in ordered:
            raise InputError(f"{self.name} has form=original or ideal=user, expected one of them")

    def _check_name(self) -> None:
        if self.foreign is None and self.name not in BUILT_IN:
            raise InputError(
                f"unknown measure {self.name!r}, expected one of {', '.join(NAMES)}{did_you_mean(self.name, NAMES)}"
            )
        if self.foreign is not None and self.name in BUILT_IN:
            raise InputError(f"{self.name} comes with audiosim, expected another name for a measure of your own")
        if self.foreign is not None and (self.foreign.name != self.name or self.foreign.score is None):
            raise InputError(f"{self.name} needs its own definition with a score, got {self.foreign}")

    @property
    def definition(self) -> Definition:
        """What may be chosen about it."""
        return BUILT_IN[self.name] if self.foreign is None else self.foreign

    def _checked(self, written: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters that are not at their default."""
        known = {parameter.name: parameter for parameter in self.definition.parameters}
        for name in written:
            if name not in known:
                raise InputError(f"{self.name} has no parameter {name!r}, expected {' or '.join(known) or 'none'}")
        checked = {name: known[name].check(self.name, value) for name, value in written.items()}
        return {name: value for name, value in checked.items() if value != known[name].default}

    def word(self, name: str) -> str:
        """What is chosen for a parameter that has words; empty for one that the measure does not have."""
        value = self._value(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float:
        """What is chosen for a parameter that is a number; `min` is 0 where nothing is written."""
        value = self._value(name)
        return value if isinstance(value, float) else 0.0

    def _value(self, name: str) -> Value | None:
        defaults = {parameter.name: parameter.default for parameter in self.definition.parameters}
        return self._chosen.get(name, defaults.get(name))

    def __str__(self) -> str:
        written = ",".join(f"{name}={_spell(value)}" for name, value in self.parameters)
        return f"{self.name}({written})@{self.cutoff}" if written else f"{self.name}@{self.cutoff}"


def _number(value: Value) -> float:
    """The number that a parameter spells; NaN, which no rule allows, where it spells none."""
    try:
        # Python reads 1_0 as ten; nobody else does.
        return math.nan if isinstance(value, str) and "_" in value else float(value)
    except ValueError:
        return math.nan


def _spell(value: Value) -> str:
    return value if isinstance(value, str) else repr(value).removesuffix(".0")


def as_measure(measure: str | Measure) -> Measure:
    """A measure, parsed if it is written."""
    return parse_measure(measure) if isinstance(measure, str) else measure


def parse_measure(text: str, known: Mapping[str, Definition] = BUILT_IN) -> Measure:
    """The measure that is written so, such as CG@5 or RBP(p=0.5,ideal=user)@10.

    known  definitions by name; `audiosim.plugins.find_measure` knows those of installed packages too
    """
    parts = WRITTEN.fullmatch(text)
    if parts is None:
        raise InputError(f"unknown measure {text!r}, expected a name and a cutoff such as CG@5")
    name = parts["name"]
    if name not in known:
        raise InputError(f"unknown measure {name!r}, expected one of {', '.join(known)}{did_you_mean(name, known)}")
    chosen = tuple(_parse_parameters(text, parts["parameters"]).items())
    return Measure(name, int(parts["cutoff"]), chosen, None if known[name] is BUILT_IN.get(name) else known[name])


def _parse_parameters(text: str, written: str | None) -> dict[str, Value]:
    parameters: dict[str, Value] = {}
    for part in [] if written is None else written.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise InputError(f"{text}: expected parameters such as gain=exponential in brackets, got {part.strip()!r}")
        if name in parameters:
            raise InputError(f"{text}: {name} is written twice, expected it once")
        parameters[name] = value
    return parameters
