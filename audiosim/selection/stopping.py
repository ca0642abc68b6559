"""Stopping rules, which end the judging; they are written and parsed like measures.

confidence=0.95             the mean confidence in the better of two systems
every=0.95                  that confidence for every pair of systems
difference(size=0.02)=0.95  the mean confidence in the likeliest of: better by more than a size, worse, neither
users(share=0.05)=0.95      the same for the share of users whom the systems satisfy
success(share=0.5)=0.95     the mean confidence that each system satisfies more than a share of the users, or does not
error=0.05                  the error of the systems' scores, corrected by simulated campaigns
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

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from audiosim.errors import InputError
from audiosim.expected.about import About
from audiosim.expected.ranking import Ranking
from audiosim.selection.correction import corrected_deviation
from audiosim.selection.stopping_definition import (
    CHECKED,
    LoopState,
    StoppingDefinition,
    StoppingRule,
    Written,
    about_in,
    check_floor,
    check_share,
    checked,
    floor_in,
    number_of,
    share_to_reach,
    spelled_parameters,
    spelled_target,
    stated_to,
    target_above,
    whole_number,
    yes_or_no,
)
from audiosim.users.satisfaction import published_mapping

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

    target  level to reach, above 0; more than 1 is never reached
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
        check_floor(self.floor)
        if self.claim.parameter == "share":
            check_share(self.size)
        elif not self.size >= 0:
            raise InputError(f"the size of a difference must be 0 or more, got {self.size:g}")

    def level(self, state: LoopState) -> float:
        ranking = stated_to(state, self.about)
        if self.claim.parameter == "share":
            ranking = satisfied_users(state, ranking)
        return self.claim.sure(ranking.wider(caution(ranking.judged) if ranking.correlated else 1.0), self.size)

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
    name, parameter = claim.name, claim.parameter

    def make(of: Written, target: float) -> Assurance:
        size = number_of(parameter, of.get(parameter, usual)) if parameter else 0.0
        return Assurance(claim, share_to_reach(name, target), size, floor_in(of), about_in(of))

    return StoppingDefinition(name, make, example, (*([parameter] if parameter else []), "floor", "about"))


def _order(ranking: Ranking, _: float) -> float:
    """Mean confidence in the better system, over all pairs of systems."""
    return 1.0 if ranking.confidence is None else ranking.confidence


def _every_order(ranking: Ranking, _: float) -> float:
    """Smallest confidence in the better of two systems; systems known to be equal are settled."""
    return float(ranking.confidences.min(initial=1.0))


def _verdicts(ranking: Ranking, size: float) -> float:
    """The mean confidence in the likeliest verdict on two systems: better by more than a size, worse, or neither.

    Near-ties, which are the most expensive to separate, then need no separation. With a size of 0 this equals `_order`.
    It also applies to shares of satisfied users: the mean over the queries of the mapping of the query's score, for
    measures with a published mapping (Urbano 2013, Table 4.3). Sections 4.1.1 and 8.5.
    """
    settled = ranking.mean_of_open(ranking.settled(size))
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
        if self.corrected and ranking.correlated:
            return float(self.size * np.sqrt(np.pi / 2))
        if self.corrected:
            measure = ranking.measure
            if self.size < LEAST_ERROR and (measure.rank_weights is None or measure.relative):
                raise InputError(
                    f"{self} cannot be guaranteed for {measure} with the model {ranking.model}, "
                    f"as its gains are independent: use {LEAST_ERROR:g} or more, "
                    "CG or DCG, or a joint model"
                )
            return corrected_deviation(measure, self.size)
        return self.size / ranking.quantile(LEVEL)

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
    wider = np.sqrt(float(ranking.of_these.scores.variance.sum()) / doubt) if doubt > 0 else 1.0
    found = replace(ranking.of_these, scores=shares, reach=None).wider(float(wider))
    if ranking.sampling is None:
        return found
    return found.of_this_kind(expected.between_queries(belief, shares, mapping))


def caution(judged: int) -> float:
    """Factor on the deviations that stopping rules use after `judged` judgments, with correlated gains.

        sqrt(1 + CAUTION / judged)

    This is as if the variance were estimated from these judgments alone. The factor is at most that at CHECKED
    judgments; only small pools and rules with a lower floor can stop earlier.
    """
    return math.sqrt(1 + CAUTION / max(judged, CHECKED))
