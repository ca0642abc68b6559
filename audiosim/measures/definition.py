"""Measures as values: the definition of each, and a measure with its cutoff and parameters."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Formatter

from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.stats.arrays import Array

ParameterValue = str | float
DEEPEST = 999_999  # a measure has a weight for each rank down to its cutoff
NAME = r"[A-Za-z][A-Za-z0-9]*"


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a measure.

    name      name as written
    default   value if none is written; None if it depends on the scale of the judgments
    expected  description of the valid values, for error messages
    choices   valid words; empty for a number
    low       lower bound of a number
    high      upper bound of a number, excluded
    closed    True if `low` itself is valid
    pattern   regular expression of a valid text; empty for a word or a number
    needs     name and value of another parameter that this one requires
    excludes  names of parameters that this one excludes
    """

    name: str
    default: ParameterValue | None
    expected: str
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    closed: bool = False
    pattern: str = ""
    needs: tuple[str, str] | None = None
    excludes: tuple[str, ...] = ()

    def check(self, measure: str, value: ParameterValue) -> ParameterValue:
        """The value itself, a number as a float, if this measure allows it."""
        meant = value if self.choices or self.pattern else _number(value)
        if not (meant in self.choices or self._holds(meant)):
            raise InputError(f"{self.name} of {measure} must be {self.expected}, got {_spell(value)}")
        return meant

    def _holds(self, number: ParameterValue) -> bool:
        if isinstance(number, str) or self.pattern:
            return bool(self.pattern) and re.fullmatch(self.pattern, str(number)) is not None
        return self.low < number < self.high or (self.closed and number == self.low)


GAIN = Parameter("gain", "linear", "linear or exponential", ("linear", "exponential"))
GAIN_BASE = Parameter(
    "gain_base", 2.0, "a number above 1 and below 100", low=1.0, high=100.0, needs=("gain", "exponential")
)
THRESHOLDS = Parameter(
    "thresholds", "uniform", "uniform, or GRADE:SHARE/GRADE:SHARE such as 40:0.3/70:0.7",
    pattern=r"uniform|[0-9.]+:[0-9.]+(/[0-9.]+:[0-9.]+)*",
)  # fmt: skip
IDEAL = Parameter("ideal", "judged", "judged or user", ("judged", "user"))
FORM = Parameter("form", "bounded", "bounded or original", ("bounded", "original"), excludes=("ideal",))
MINIMUM = Parameter("min", None, "a grade above 0")
REL = Parameter("rel", None, "a grade above 0", excludes=("min", "gain", "gain_base", "ideal", "form"))
BASE = Parameter("base", 2.0, "a number above 1", low=1.0)
BETA = Parameter("beta", 1.0, "a number, 0 or more", closed=True)
PERSISTENCE = Parameter("p", 0.8, "a number between 0 and 1", high=1.0)

Score = Callable[["Measure", Scale, Array, Array], Array]
RankWeights = Callable[["Measure"], Array]


def judged_ideal(measure: "Measure") -> bool:
    """True if the ideal ranking of a measure is that of the judged documents."""
    return measure.word("ideal") == "judged"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The measure of ir_measures that has the same name but another form, in words.

    ours    our default form, after Urbano (2013)
    theirs  their form
    chosen  parameters that choose their form here
    """

    ours: str
    theirs: str
    chosen: tuple[tuple[str, ParameterValue], ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """Definition of a measure, without a cutoff and parameters.

    Entry-point group `audiosim.measures`: each entry is a definition, under its own name. Contract:
    `audiosim.ranking.contract.check_measure`. Functions must be defined at the top of a module, so that measures can be
    sent to other processes.

    name          a letter, then letters and digits
    parameters    in the order in which they are printed
    score         function for the scores of all rankings at once: see `audiosim.measures.measure.score`, which passes
                  the ranks down to the cutoff; None for the weighted sum defined by `rank_weights` and `relative`
    rank_weights  (cutoff,) weight of the gain at each rank, 0 or more, the first above 0, if scores are weighted sums
                  of gains, which have exact expectations; None for any other measure
    relative      True if that sum is divided by that of the ideal ranking of the judged documents, or a function that
                  returns this, such as `judged_ideal`; None if the sum is never divided
    two_levels    measure that this one equals, in its user-oriented form, on a scale of two levels
    compares      True if grades are compared with each other, so that ties absent from the scale would matter
    words         meaning for people, such as "share of the first {cutoff} results that are relevant"; {p} is the
                  parameter p
    first_words   meaning at cutoff 1, where `words` would speak of "the first 1 results"; empty if they are the same
    elsewhere     other form under the same name in ir_measures; None if the numbers are the same
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    score: Score | None = None
    rank_weights: RankWeights | None = None
    relative: Callable[["Measure"], bool] | None = None
    two_levels: "Definition | None" = None
    compares: bool = False
    words: str = ""
    first_words: str = ""
    elsewhere: Elsewhere | None = None

    def __post_init__(self) -> None:
        if re.fullmatch(NAME, self.name) is None:
            raise InputError(f"the name of a measure must be a letter, then letters and digits, got {self.name!r}")
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise InputError(f"the parameters of {self.name} must differ in their names, got {', '.join(names)}")
        if self.score is None and self.rank_weights is None:
            raise InputError(f"{self.name} needs a score or weights of ranks, got neither")
        for words in (self.words, self.first_words):
            self._check_words(words, names)
        if self.relative is not None and self.rank_weights is None:
            raise InputError(f"{self.name} needs weights of ranks to be relative to the ideal ranking, got none")

    def _check_words(self, words: str, names: Sequence[str]) -> None:
        """Check that the words can be filled in for any cutoff and parameters."""
        try:
            unknown = {name for _, name, _, _ in Formatter().parse(words) if name} - {"cutoff", *names}
            if not unknown:
                words.format(cutoff=1, **dict.fromkeys(names, "1"))
        except (ValueError, LookupError) as error:
            raise InputError(
                f"the words of {self.name} must be text with {{cutoff}} or parameters in braces, got {words!r}: {error}"
            ) from None
        if unknown:
            raise InputError(
                f"the words of {self.name} may name its cutoff and parameters, got {', '.join(sorted(unknown))}"
            )


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure of a ranking.

    definition  definition of P AP RR CG DCG nDCG Q RBP ERR EDCG GAP or ADR, or of a measure from elsewhere
    cutoff      last rank that counts, from 1 to DEEPEST
    parameters  pairs of name and value, without those at their default, in one fixed order

    gain    linear, a gain is its grade; or exponential, gain_base^grade - 1
    gain_base  base of exponential gains, 2 by default
    thresholds  for GAP: the share of users for whom each grade is the lowest relevant one; uniform over the levels
    min     lowest relevant grade; by default the lowest above 0
    rel     lowest relevant grade, for the form of ir_measures
    base    base of the logarithm in the discount
    beta    weight of the gains in Q
    p       persistence of RBP
    ideal   judged, scores are relative to the best ranking of the judged documents; or user, to the highest grade at
            every rank
    form    bounded, scores are 0 to 1; or original, the first published form of the measure

    Urbano (2013): form=original is chapter 2, ideal=user chapter 3, ideal=judged chapter 5.
    """

    definition: Definition
    cutoff: int
    parameters: tuple[tuple[str, ParameterValue], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.definition, Definition):
            raise InputError(
                f"a measure is made of a Definition, got {self.definition!r}; expected parse_measure of text"
            )
        if self.cutoff < 1:
            raise InputError(f"the cutoff of {self.name} must be at least 1, got {self.cutoff}")
        if self.cutoff > DEEPEST:
            raise InputError(f"the cutoff of {self.name} must be at most {DEEPEST:,}, got {self.cutoff}")
        written = self._checked(dict(self.parameters))
        ordered = {p.name: written[p.name] for p in self.definition.parameters if p.name in written}
        object.__setattr__(self, "parameters", tuple(ordered.items()))
        for parameter in self.definition.parameters:
            wrong = [name for name in ordered if name in parameter.excludes and parameter.name in ordered]
            if wrong:
                one, other = (f"{name}={_spell(ordered[name])}" for name in (parameter.name, wrong[0]))
                raise InputError(f"{self.name} has both {one} and {other}, expected only one of them")
            if parameter.name in ordered and parameter.needs not in (None, *ordered.items()):
                with_it = "=".join(parameter.needs or ())
                raise InputError(f"{parameter.name} of {self.name} is only allowed with {with_it}")

    @property
    def name(self) -> str:
        """The name without cutoff and parameters."""
        return self.definition.name

    @property
    def rank_weights(self) -> Array | None:
        """(cutoff,) weight of the gain at each rank; None if the score is not a weighted sum of gains."""
        return None if self.definition.rank_weights is None else self.definition.rank_weights(self)

    @property
    def relative(self) -> bool:
        """True if the weighted sum of gains is divided by that of the ideal ranking of the judged documents."""
        return self.definition.relative is not None and self.definition.relative(self)

    @property
    def bounded(self) -> bool:
        """True if no score lies outside [0, 1]: in all forms but the first published ones."""
        return self.word("form") != "original"

    def _checked(self, written: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """The parameters that are not at their default, checked."""
        known = {parameter.name: parameter for parameter in self.definition.parameters}
        for name in written:
            if name not in known:
                raise InputError(f"{self.name} has no parameter {name!r}, expected {' or '.join(known) or 'none'}")
        checked = {name: known[name].check(self.name, value) for name, value in written.items()}
        return {name: value for name, value in checked.items() if value != known[name].default}

    def word(self, name: str) -> str:
        """Value of a parameter that is a word; empty for a parameter that the measure does not have."""
        value = self._value(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float:
        """Value of a parameter that is a number; `min` is 0 by default."""
        value = self._value(name)
        return value if isinstance(value, float) else 0.0

    @property
    def original(self) -> bool:
        """True for the form first published, which `rel` chooses too."""
        return self.word("form") == "original" or self.lowest_rel > 0

    @property
    def lowest_rel(self) -> float:
        """The parameter `rel`; 0 if it is not given."""
        return self.number("rel")

    @property
    def lowest_relevant(self) -> float:
        """Lowest relevant grade, by `min` or `rel`; 0 if neither is given: then each grade above 0 is relevant."""
        return self.lowest_rel or self.number("min")

    @property
    def form_in_words(self) -> str:
        """The form that was used, and how the other one is written; empty if no other tool means something else."""
        other = self.definition.elsewhere
        if other is None or not {"form", "ideal", "gain"}.isdisjoint(dict(self.parameters)):
            return ""
        kept, rel = {name: value for name, value in self.parameters if name == "p"}, self.lowest_rel
        if rel:
            least = {"min": rel} if MINIMUM in self.definition.parameters else {}
            ours = replace(self, parameters=tuple((kept | least).items()))
            return f"{self} {other.theirs}, as in ir_measures; in Urbano (2013) {self.name} {other.ours}: {ours}."
        least = {"rel": self.lowest_relevant} if self.lowest_relevant else {}
        theirs = replace(self, parameters=(*kept.items(), *(dict(other.chosen) | least).items()))
        return f"{self} {other.ours}, as in Urbano (2013); in ir_measures {self.name} {other.theirs}: {theirs}."

    @property
    def words(self) -> str:
        """Meaning of a score in words; empty if its definition gives none."""
        numbers = {p.name: _spell(self.number(p.name)) for p in self.definition.parameters}
        words = (self.cutoff == 1 and self.definition.first_words) or self.definition.words
        said = words.format(cutoff=self.cutoff, **numbers)
        if not said or not {MINIMUM, REL}.issubset(self.definition.parameters):
            return said
        least = f"of {_spell(self.lowest_relevant)} or more" if self.lowest_relevant else "above 0"
        return f"{said}; relevant is a grade {least}"

    @property
    def meaning(self) -> str:
        """Sentence of its name, its words and the range of a score; empty without words."""
        return f"{self}: {self.words}{', 0 to 1' if self.bounded else ''}." if self.words else ""

    def _value(self, name: str) -> ParameterValue | None:
        defaults = {parameter.name: parameter.default for parameter in self.definition.parameters}
        return dict(self.parameters).get(name, defaults.get(name))

    def __repr__(self) -> str:
        return f"parse_measure('{self}')"

    def __str__(self) -> str:
        written = ",".join(f"{name}={_spell(value)}" for name, value in self.parameters)
        return f"{self.name}({written})@{self.cutoff}" if written else f"{self.name}@{self.cutoff}"


def _number(value: ParameterValue) -> float:
    """The number in a parameter's text; NaN, which no rule allows, if the text is not a number."""
    try:
        # Python reads 1_0 as ten; other programs do not.
        return math.nan if isinstance(value, str) and "_" in value else float(value)
    except ValueError:
        return math.nan


def _spell(value: ParameterValue) -> str:
    return value if isinstance(value, str) else repr(value).removesuffix(".0")
