"""Stopping rules, which end the judging; they are written and parsed like measures.

confidence=0.95             the mean confidence in the better of two systems
every=0.95                  that confidence for every pair of systems
difference(size=0.02)=0.95  the mean confidence in the likeliest of: better by more than a size, worse, neither
users(share=0.05)=0.95      the same for the share of users whom the systems satisfy
success(share=0.5)=0.95     the mean confidence that each system satisfies more than a share of the users, or does not
error=0.05                  the mean absolute error of the systems' scores, corrected by simulated campaigns
error(corrected=no)=0.05    the same without the correction, the first form in the thesis
judgments=200               number of judged pairs

A rule uses the subject of the loop's ranking, by default these queries; about=queries asks for a statement about
queries of this kind: confidence(about=queries)=0.95. Such a goal may remain out of reach, however much is judged.

Except for the last, no rule is met before enough pairs are judged to check the model: CHECKED of them, or a fifth of a
small pool. `floor` sets another number: confidence(floor=0)=0.95 trusts the model unchecked.

A campaign learns its collection from few judgments, and stopping when a statement first reaches a target selects a
lucky moment: statements at the stop are overconfident, the more so the earlier the stop. With correlated gains, the
rules on confidence therefore use wider deviations, see `caution`. A model that fails its check cannot meet a rule; its
widened replacement must, see `ModelCheck`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from typing import Protocol, runtime_checkable

import numpy as np

from audiosim import package_files
from audiosim.collection.pool import Pool
from audiosim.errors import ArgumentError, InputError, of_argument
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure
from audiosim.measures.satisfaction import published_mapping
from audiosim.plugins import ExtensionPoint, an_instance
from audiosim.ranking.about import About
from audiosim.ranking.expected import ExpectedScores
from audiosim.ranking.ranking import Ranking, of_these, of_this_kind, widened
from audiosim.stats.arrays import Array
from audiosim.stats.inference.ties import nearness
from audiosim.text import choices, nearest_name

# Correction of stated deviations of scores, which are smaller than the true errors, learned on simulated campaigns.


@dataclass(frozen=True, slots=True)
class Correction:
    """Correction for a measure, learned on simulated campaigns.

    errors      rising mean absolute errors of the systems' scores
    deviations  sqrt of the mean stated variance at the moment campaigns reached that error
    """

    errors: tuple[float, ...]
    deviations: tuple[float, ...]


def corrected_deviation(measure: Measure, error: float, known: Mapping[str, Correction] | None = None) -> float:
    """Stated standard deviation of scores at which their mean absolute error is expected to be `error`.

    known  learned corrections by name of the measure; those shipped with the package if None

    Linear between learned errors, proportional below the lowest and above the highest. A measure without a learned
    correction takes the smallest deviation among the others. Urbano (2013), section 8.4. Figure 8.5 gives no numbers,
    so models/make_correction.py learned them again.
    """
    known = corrections() if known is None else known
    return min(_interpolated(known[name], error) for name in ([measure.name] if measure.name in known else known))


def _interpolated(correction: Correction, error: float) -> float:
    errors, deviations = np.array(correction.errors), np.array(correction.deviations)
    inside = float(np.clip(error, errors[0], errors[-1]))
    return float(np.interp(inside, errors, deviations)) * error / inside


@cache
def corrections() -> dict[str, Correction]:
    """Learned corrections, by name of the measure."""
    path = package_files.folder("models") / "stopping" / "correction.json"
    fields = json.loads(path.read_text(encoding="utf-8"))
    return {name: Correction(tuple(of["errors"]), tuple(of["deviations"])) for name, of in fields["measures"].items()}


# Definitions of stopping rules: their protocol, their notation, and common checks.


CHECKED = 50  # number of judgments after which statements are valid on collections that the model did not learn from
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
    `audiosim.ranking.contract.check_stopping_rule`.

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
                known = f"; it has {choices(key, self.parameters)}" if self.parameters else ""
                raise InputError(f"{self.name} has no parameter {key!r}, expected {self.example}{known}")
            if key in written:
                raise InputError(f"{text}: {key} is written twice, expected it once")
            written[key] = value
        return written

    def rule(self, text: str) -> StoppingRule:
        """The rule in a text such as confidence=0.95."""
        parts = RULE_WRITTEN.fullmatch(text.replace(" ", ""))
        if parts is None or parts["name"] != self.name:
            raise InputError(f"expected {self.example}, got {text!r}")
        return self.make(self.parse(text, parts["parameters"]), number_of("target", parts["target"]))


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
    # Not by the ranking: below the floor nobody reads it, and its model would be checked for nothing.
    return bool(np.count_nonzero(state.belief.judged) >= min(floor, -(-len(state.pool.pairs) // SMALL)))


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


CAUTION = 50  # in judgments; learned on campaigns by benchmarks/verdicts.py; see docs/verdicts.md
LEVEL = 0.95  # confidence of the intervals in the rule for the error; Urbano (2013), section 8.4
# Limit of the thesis. Independent gains have too high an ideal ranking, so all scores are too low together, which no
# correction of deviations detects: at .02, 4 of 12 campaigns on halves of MIREX 2011 by nDCG and RBP were further off.
LEAST_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim about the systems that becomes certain enough by judging.

    name       name of the rule for it
    sure       function of a ranking and a size: probability of the claim, rising as deviations fall
    parameter  name of the size: `size` for a difference in score, or `share` for a share of users; the ranking's scores
               are then shares of satisfied users, by `satisfied_users`. Empty if the claim has no size
    """

    name: str
    sure: Callable[[Ranking, float], float]
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class Assurance:
    """Rule that is met when a claim is as certain as its target.

    target  level to reach, a share in (0, 1]
    size    size in the claim: a difference in score, 0 or more, or a share of users
    floor   fewest judgments before it can be met; see `checked`
    about   subject of the claim; None for that of the loop's ranking
    """

    claim: Claim
    target: float
    size: float = 0.0
    floor: int = CHECKED
    about: About | None = None

    def __post_init__(self) -> None:
        if target_above(self.claim.name, self.target) > 1:
            raise InputError(
                f"the target of {self.claim.name} is a share such as 0.95, at most 1, got {spelled_target(self.target)}"
            )
        check_floor(self.floor)
        if self.claim.parameter == "share":
            check_share(self.size)
        elif not self.size >= 0:
            raise InputError(f"the size of a difference must be 0 or more, got {self.size:g}")

    def level(self, state: LoopState) -> float:
        ranking = stated_to(state, self.about)
        if self.claim.parameter == "share":
            ranking = satisfied_users(state, ranking)
        return self.claim.sure(
            widened(ranking, caution(ranking.judged) if ranking.scores.correlated else 1.0), self.size
        )

    def reached(self, state: LoopState) -> bool:
        return checked(state, self.floor) and self.level(state) >= self.target

    def __str__(self) -> str:
        sizes = {self.claim.parameter: self.size} if self.claim.parameter else {}
        written = spelled_parameters(sizes, self.floor, about=self.about)
        return f"{self.claim.name}{written}={spelled_target(self.target)}"


def assured(claim: Claim, example: str, usual: str | None = None) -> StoppingDefinition:
    """Definition of the rule for a claim.

    usual  default size; None if the size must be given
    """
    parameter = claim.parameter

    def make(of: Written, target: float) -> Assurance:
        size = number_of(parameter, of.get(parameter, usual)) if parameter else 0.0
        return Assurance(claim, target, size, floor_in(of), about_in(of))

    return StoppingDefinition(claim.name, make, example, (*([parameter] if parameter else []), "floor", "about"))


def _order(ranking: Ranking, _: float) -> float:
    """Mean confidence in the better system, over all pairs of systems."""
    return 1.0 if ranking.confidence is None else ranking.confidence


def _every_order(ranking: Ranking, _: float) -> float:
    """Smallest confidence in the better of two systems; systems known to be equal are settled."""
    return float(ranking.scores.confidences.min(initial=1.0))


def _verdicts(ranking: Ranking, size: float) -> float:
    """The mean confidence in the likeliest verdict on two systems: better by more than a size, worse, or neither.

    Near-ties, which are the most expensive to separate, then need no separation. With a size of 0 this equals `_order`.
    It also applies to shares of satisfied users: the mean over the queries of the mapping of the query's score, for
    measures with a published mapping (Urbano 2013, Table 4.3). Sections 4.1.1 and 8.5.
    """
    settled = ranking.scores.mean_of_open(ranking.scores.settled(size))
    return 1.0 if settled is None else settled


ORDER, EVERY_ORDER = Claim("confidence", _order), Claim("every", _every_order)
DIFFERENT, USERS_SATISFIED = Claim("difference", _verdicts, "size"), Claim("users", _verdicts, "share")

CONFIDENCE = assured(ORDER, "confidence=0.95")
EVERY = assured(EVERY_ORDER, "every=0.95")
DIFFERENCE = assured(DIFFERENT, "difference(size=0.02)=0.95")
USERS = assured(USERS_SATISFIED, "users(share=0.05)=0.95")


@dataclass(frozen=True, slots=True)
class Error:
    """Rule that is met when the systems' scores are known to within a size, on average over the systems.

        t sqrt(mean Var) <= size,  t the quantile of 95 % intervals

    corrected  True to use, instead of size / t, the standard deviation at which scores err by at most the size: with
               correlated gains that of a normal distribution, size / sqrt(2 / pi); otherwise that of simulated
               campaigns, see `corrected_deviation`, which is refused below LEAST_ERROR for measures other than CG and
               DCG

    Urbano (2013), section 8.4.
    """

    size: float
    corrected: bool = True
    floor: int = CHECKED
    about: About | None = None

    def __post_init__(self) -> None:
        check_floor(self.floor)
        if not self.size > 0:
            raise InputError(f"an error must be above 0, got {self.size:g}")

    def level(self, state: LoopState) -> float:
        """Error that the rule compares with its size: half the width of a 95 % interval, corrected on request."""
        ranking = stated_to(state, self.about)
        return float(np.sqrt(ranking.scores.variance.mean())) / self._deviation(ranking) * self.size

    def reached(self, state: LoopState) -> bool:
        level = self.level(state)  # first, so that an invalid size is refused before any judgment
        return checked(state, self.floor) and level <= self.size

    def _deviation(self, ranking: Ranking) -> float:
        if self.corrected and ranking.scores.correlated:
            return float(self.size * np.sqrt(np.pi / 2))
        if self.corrected:
            measure = ranking.measure
            if self.size < LEAST_ERROR and (measure.rank_weights is None or measure.relative):
                raise InputError(
                    f"{self} cannot be guaranteed for {measure} with the model {ranking.model}, as its gains are "
                    f"independent: use {LEAST_ERROR:g} or more, CG or DCG, or a joint model"
                )
            return corrected_deviation(measure, self.size)
        return self.size / ranking.scores.quantile(LEVEL)

    def __str__(self) -> str:
        written = spelled_parameters({}, self.floor, self.corrected, self.about)
        return f"error{written}={spelled_target(self.size)}"


ERROR = StoppingDefinition(
    "error",
    lambda of, target: Error(target_above("error", target), yes_or_no(of.get("corrected")), floor_in(of), about_in(of)),
    "error=0.05",
    ("corrected", "floor", "about"),
)


@dataclass(frozen=True, slots=True)
class Judgments:
    """Rule that is met after a number of judged pairs."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise InputError(f"a number of judgments must be 0 or more, got {self.count}")

    def level(self, state: LoopState) -> float:
        return state.ranking.judged

    def reached(self, state: LoopState) -> bool:
        return self.level(state) >= self.count

    def __str__(self) -> str:
        return f"judgments={self.count}"


JUDGMENTS = StoppingDefinition("judgments", lambda _, target: Judgments(whole_number(target)), "judgments=200")


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Rule that is met when one of several is, such as a confidence or the end of a budget."""

    rules: tuple[StoppingRule, ...]

    def level(self, state: LoopState) -> float:
        """Level that judging has reached by the first rule."""
        return self.rules[0].level(state)

    def reached(self, state: LoopState) -> bool:
        return any(rule.reached(state) for rule in self.rules)

    def __str__(self) -> str:
        return " or ".join(map(str, self.rules))


def satisfied_users(state: LoopState, ranking: Ranking | None = None) -> Ranking:
    """A ranking of the state with each score converted to the share of users it satisfies: the mean over the queries of
    the published mapping of its measure, not the mapping of the mean score; Urbano (2013), equation 4.4.

    It is about the same queries as the ranking (None: the state's), and widened by the same factor.
    """
    expected, belief = state.expected, state.belief
    ranking = state.ranking if ranking is None else ranking
    mapping = published_mapping(expected.measure, expected.pool.scale.name)
    shares = expected.satisfied(belief, mapping)
    doubt = float(expected.scores(belief).variance.sum())
    wider = np.sqrt(float(ranking.scores.of_these.variance.sum()) / doubt) if doubt > 0 else 1.0
    scores = replace(ranking.scores.of_these.moved(shares), reach=None).wider(float(wider))
    found = replace(of_these(ranking), scores=scores)
    if ranking.scores.sampling is None:
        return found
    return of_this_kind(found, expected.between_queries(belief, shares, mapping))


def caution(judged: int) -> float:
    """Factor on the deviations that stopping rules use after `judged` judgments, with correlated gains.

        sqrt(1 + CAUTION / judged)

    This is as if the variance were estimated from these judgments alone. The factor is at most that at CHECKED
    judgments; only small pools and rules with a lower floor can stop earlier.
    """
    return math.sqrt(1 + CAUTION / max(judged, CHECKED))


# Stopping rule on success: satisfaction of most users by each system.


def _successes(satisfied: Ranking, share: float) -> float:
    """Mean confidence in the systems' success or failure; success means satisfying more than a share of the users.

    share  share of the users, such as .5 for most of them

    The share of users whom a system satisfies is the mean over the queries of P(Sat) of the query's score. With P the
    probability that it exceeds `share`, the confidence is max(P, 1 - P). This is not the share of successful queries,
    equation 4.8, for which see `measures.satisfaction.success`. Urbano (2013), equation 4.4 and section 8.5: a minimum
    level of effectiveness.
    """
    chances = success_chances(satisfied, share)
    return float(np.maximum(chances, 1 - chances).mean())


SUCCESSES = Claim("success", _successes, "share")
SUCCESS = assured(SUCCESSES, "success(share=0.5)=0.95", usual="0.5")


def success_chances(satisfied: Ranking, share: float) -> Array:
    """(s,) probability that each system satisfies more than a share of the users.

    satisfied  shares of users that the systems satisfy, as a ranking; see `satisfied_users`
    share      share of the users in [0, 1]; a known share of users gives 0 or 1
    """
    means, variances = satisfied.scores.mean.tolist(), satisfied.scores.variance.tolist()
    return np.array(
        [
            satisfied.scores.cumulative(mean - share, variance)
            if variance > 0
            else float(mean - share > nearness(satisfied.scores.mean))
            for mean, variance in zip(means, variances, strict=True)
        ]
    )


# Stopping rules by name; their definitions are in `stopping` and `success`, beside the rules.


STOPPING_RULES: Mapping[str, StoppingDefinition] = {
    rule.name: rule for rule in (CONFIDENCE, EVERY, DIFFERENCE, USERS, ERROR, JUDGMENTS, SUCCESS)
}


STOPPING_RULE_POINT = ExtensionPoint(
    "audiosim.stopping_rules",
    "stopping rule",
    lambda: STOPPING_RULES,
    an_instance(StoppingDefinition, "a StoppingDefinition"),
)


@of_argument("stopping_rule")
def parse_stopping_rule(text: str) -> StoppingRule:
    """Stopping rule from text, such as confidence=0.95, or 0.95 alone: audiosim's or an installed package's."""
    try:
        level = float(text)
    except ValueError:
        return _written_rule(text)
    return Assurance(ORDER, level)


def _written_rule(text: str) -> StoppingRule:
    parts = RULE_WRITTEN.fullmatch(text.replace(" ", ""))
    name = "" if parts is None else parts["name"]
    if name not in STOPPING_RULES and name not in (known := STOPPING_RULE_POINT.names()):
        examples = {one: STOPPING_RULES[one].example if one in STOPPING_RULES else f"{one}=TARGET" for one in known}
        near = nearest_name(re.split(r"[(=]", text)[0].strip(), known)
        meant = "" if near is None else f"; did you mean {examples[near]}?"
        raise InputError(f"unknown stopping rule {text!r}, expected {', '.join(examples.values())}{meant}")
    return STOPPING_RULE_POINT.find(name).rule(text)


def first_of(rules: Sequence[StoppingRule]) -> StoppingRule:
    """Rule that is met as soon as one of several is."""
    return AnyOf(tuple(rules)) if len(rules) > 1 else rules[0]


def as_stopping_rule(given: object) -> StoppingRule:
    """The stopping rule given by a rule, its text or a mean confidence."""
    if isinstance(given, StoppingRule):
        return given
    if isinstance(given, str | Real):
        return parse_stopping_rule(str(given))
    raise ArgumentError("stopping_rule", f"expected a confidence such as 0.95, or a rule, every=0.95, got {given!r}")
