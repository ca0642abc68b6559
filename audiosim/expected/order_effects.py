"""Effects of the order of questions: drift of all people together, and preference for the document shown first.

For the effect of the place on a page of several candidates, see `position_effect`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv, stdtrit

from audiosim.corpus.model import PairedComparison
from audiosim.relevance.judge_reports import REACH, JudgeReport, within_scale

FEWEST_PEOPLE = 2
FEWEST_COMPARISONS = 10  # fewest comparisons that prefer one of the two documents
OUTSIDE = 0.05
CHANGES = {
    "drift": ("Drift", "first to last judgment"),
    "position": ("Effect of the place on a page", "the first candidate to the last"),
}


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """Estimate of an effect of order, with a 95 % interval.

    effect     drift: mean change of people's grades from first to last judgment, as a share of the scale;
               position: the same from the first to the last place of a page of several candidates;
               first: share of `a`, the document shown first, among comparisons without ties
    count      number of people, or of these comparisons
    by_chance  True if the interval contains no effect at all
    between    standard deviation of the change from person to person, as a share of the scale; None for comparisons
    """

    effect: Literal["drift", "position", "first"]
    value: float
    low: float
    high: float
    count: int
    by_chance: bool
    between: float | None = None

    @property
    def sentence(self) -> str:
        """The effect in words."""
        said = "may be chance" if self.by_chance else "more than chance explains"
        if self.effect != "first":
            name, from_to = CHANGES[self.effect]
            return (
                f"{name} of {self.count} people, on average: {self.value:+.2f} of the scale from {from_to} "
                f"(95 % interval {self.low:+.2f} to {self.high:+.2f}): {said}."
            )
        value, low, high = (100 * share for share in (self.value, self.low, self.high))
        return (
            f"The document shown first was preferred in {value:.0f} % of {self.count} comparisons without ties "
            f"(95 % interval {low:.0f} to {high:.0f} %; 50 % without an effect): {said}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The effect as plain values, ready for JSON."""
        return asdict(self) | {"sentence": self.sentence}


def order_effects(
    people: Sequence[JudgeReport], comparisons: Sequence[PairedComparison] = ()
) -> tuple[OrderEffect, ...]:
    """Effects of order that people's judgments and comparisons show; empty if there are too few of either."""
    drifts = [one.drift for one in people if one.drift is not None]
    answers = [one.answer for one in comparisons if one.answer != "="]
    found = []
    if len(drifts) >= FEWEST_PEOPLE:
        values, _, high = np.array(drifts).T
        found.append(mean_of_people("drift", values, (high - values) / REACH))
    if len(answers) >= FEWEST_COMPARISONS:
        found.append(first_preferred(answers.count("a"), len(answers)))
    return tuple(found)


def mean_of_people(effect: Literal["drift", "position"], estimates: ArrayLike, errors: ArrayLike) -> OrderEffect:
    """Mean effect on at least two people, who may differ, from each one's estimate and its standard error.

    The weights are 1 / (e^2 + T), where T is the variance between people by DerSimonian & Laird (1986), eq. 8. The
    interval is that of Hartung & Knapp (2001), with Student's t, as the normal one is too narrow for few people. It is
    never based on a smaller standard error than that of the weights: Röver, Knapp & Friede (2015).
    It ends at -1 and 1, as differences of grades do.
    """
    values, variances = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    freedom = len(values) - 1
    weights = 1 / variances
    off = weights @ (values - np.average(values, weights=weights)) ** 2
    between = max(0.0, float((off - freedom) / (weights.sum() - weights @ weights / weights.sum())))
    weights = 1 / (variances + between)
    mean = float(np.average(values, weights=weights))
    spread = max(1.0, float(weights @ (values - mean) ** 2) / freedom)
    reach = float(stdtrit(freedom, 1 - OUTSIDE / 2) * np.sqrt(spread / weights.sum()))
    value, low, high = within_scale(mean, mean - reach, mean + reach)
    return OrderEffect(effect, value, low, high, freedom + 1, abs(mean) <= reach, between**0.5)


def first_preferred(preferred: int, count: int) -> OrderEffect:
    """Share of comparisons that preferred the document shown first, with the interval of Clopper & Pearson (1934)."""
    low = float(betaincinv(preferred, count - preferred + 1, OUTSIDE / 2)) if preferred else 0.0
    high = float(betaincinv(preferred + 1, count - preferred, 1 - OUTSIDE / 2)) if preferred < count else 1.0
    chance = 2 * float(bdtr(min(preferred, count - preferred), count, 0.5))
    return OrderEffect("first", preferred / count, low, high, count, chance > OUTSIDE)
