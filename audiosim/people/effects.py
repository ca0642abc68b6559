"""Effects of the order of questions: drift of all people together, and preference for the document shown first.

For the effect of the place on a page of several candidates, see `position_effect`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv, stdtrit

from audiosim.collection.values import Judgment, PairedComparison
from audiosim.errors import ArgumentError
from audiosim.joint.estimators import RelevanceEstimator, without_comparisons_of
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import REACH, JudgeReport, Panel, within_scale
from audiosim.ranking.about import THESE, About, DifferenceDistribution
from audiosim.ranking.expected import ExpectedScores, estimate_after, known_ends
from audiosim.ranking.ranking import Ranking, RankingChange
from audiosim.results.value import Result, Value, parts
from audiosim.stats.arrays import Array, Integers
from audiosim.text import choices

# Effect of each assessor on a ranking: the ranking with and without their judgments.


@dataclass(frozen=True, eq=False)
class JudgeEffect(Result):
    """Effect of one person's judgments on a ranking.

    judge      name
    judgments  number of their judgments of pairs in the pool
    comparisons  number of their comparisons
    having     ranking with all their answers
    lacking    ranking without their answers, including comparisons, learned again from the others'
    """

    judge: str
    judgments: int
    comparisons: int
    having: Ranking
    lacking: Ranking

    @property
    def change(self) -> RankingChange:
        """Change of the ranking when their answers are left out."""
        return RankingChange(self.having, self.lacking, "without", f"Without {self.judge}")

    @property
    def sentence(self) -> str:
        """The effect in one sentence."""
        return self.change.sentence

    def rows(self) -> list[dict[str, Any]]:
        """One row per system, best first with their judgments: rank and score with and without them."""
        return self.change.rows()

    def summary(self) -> dict[str, Any]:
        """Changes of the ranking without them, as plain values."""
        return self.change.summary()

    def to_dict(self) -> dict[str, Any]:
        """The effect as plain values, ready for JSON."""
        return parts(self, "judge", "judgments", "comparisons") | self.change.to_dict()


def judge_effect(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    judge: str,
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
) -> JudgeEffect:
    """Effect of one person's judgments on the ranking.

    estimator  estimator of the pool, before it learned from any judgment, with all valid comparisons
    judgments  judgments of all people, including this person
    """
    return judge_effects(expected, estimator, judgments, [judge], distribution, about)[0]


def judge_effects(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    judges: Sequence[str],
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[JudgeEffect]:
    """Effects of some people, leaving out one at a time; the other arguments are those of `judge_effect`.

    progress  called with the number of people left out, and of all
    """
    pool = expected.pool
    inside = [one for one in judgments if one.pair in pool.positions]
    without = {name: without_comparisons_of(estimator, name) for name in judges}
    counts = {name: sum(one.assessor == name for one in inside) for name in judges}
    missing = next((name for name in judges if not counts[name] and not without[name][1]), None)
    if missing is not None:
        known = sorted({one.assessor for one in inside} | {one.assessor for one in pool.comparisons} - {""})
        who = choices(missing, known) if known else "judgments that name who made them"
        raise ArgumentError("judge", f"{missing!r} has judged no pair of {pool.collection}, expected {who}")

    def ranked(by: RelevanceEstimator, some: Sequence[Judgment]) -> Ranking:
        found = estimate_after(expected, by, some, distribution, about)
        # Without what refers to the belief: of ten people, with thousands of judgments, it takes a gigabyte.
        reach = None if found.scores.reach is None else partial(known_ends, *found.scores.reach())
        return replace(found, scores=replace(found.scores, reach=reach), _others=None)

    having = ranked(estimator, inside)
    near = estimator.kept_model(Panel.of(pool, inside)) if isinstance(estimator, JointEstimator) else None
    others = {name: [one for one in inside if one.assessor != name] for name in judges}

    def lacking(name: str) -> Ranking:
        by = without[name][0]
        return ranked(by.near(near) if near and counts[name] and isinstance(by, JointEstimator) else by, others[name])

    found = []
    for number, name in enumerate(judges):
        progress(number, len(judges))
        found.append(JudgeEffect(name, counts[name], without[name][1], having, lacking(name)))
    return found


FEWEST_PEOPLE = 2
FEWEST_COMPARISONS = 10  # fewest comparisons that prefer one of the two documents
OUTSIDE = 0.05
CHANGES = {
    "drift": ("Drift", "first to last judgment"),
    "position": ("Effect of the place on a page", "the first candidate to the last"),
}


@dataclass(frozen=True, slots=True)
class OrderEffect(Value):
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

    def to_dict(self) -> Any:
        """The effect as plain values, ready for JSON, with its sentence."""
        return Value.to_dict(self) | {"sentence": self.sentence}


def order_effects(
    people: Sequence[JudgeReport], comparisons: Sequence[PairedComparison] = ()
) -> tuple[OrderEffect, ...]:
    """Effects of order that people's judgments and comparisons show, of people who are named; empty if too few."""
    drifts = [one.drift for one in people if one.judge and one.drift is not None]
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


# Effect of a candidate's place on a page of several: the rise of grades from the first place to the last.


FEWEST_FREE = 10  # fewest degrees of freedom of the residual


class PlacedGrade(NamedTuple):
    """Grade of one of several candidates on a page.

    person  person who graded it
    page    number of the page, different for each page of each person
    place   place on the page, from 0, the first, to 1, the last
    grade   grade as a share of the scale
    """

    person: str
    page: int
    place: float
    grade: float


def position_effect(placed: Sequence[PlacedGrade]) -> OrderEffect | None:
    """Mean rise of people's grades from the first place of a page to the last; None if there are too few grades.

    The grades of a person rise by b with the place x on a page with a fixed level:

        y = level of the page + b x + residual

    by least squares, with one variance of the residual for all. The order on a page is random, so differences between
    the candidates are part of the residual. The mean over people, who may differ, is that of `mean_of_people`.
    """
    if not placed:
        return None
    _, page = np.unique([one.page for one in placed], return_inverse=True)
    names, person = np.unique([one.person for one in placed], return_inverse=True)
    place = _within(np.array([one.place for one in placed]), page)
    grade = _within(np.array([one.grade for one in placed]), page)
    squares = np.bincount(person, place**2, len(names))
    several = squares > 0  # people with a page of several grades; the others carry no information
    free = len(placed) - page.max() - 1 - int(several.sum())
    if several.sum() < FEWEST_PEOPLE or free < FEWEST_FREE:
        return None
    slopes = np.bincount(person, place * grade, len(names))[several] / squares[several]
    by_person = np.zeros(len(names))
    by_person[several] = slopes
    residual = grade - by_person[person] * place
    variance = float(residual @ residual) / free
    if variance <= np.finfo(float).eps:  # everybody gave all candidates of a page the same grade
        return None
    return mean_of_people("position", slopes, np.sqrt(variance / squares[several]))


def _within(values: Array, group: Integers) -> Array:
    """Values less the mean of their group."""
    means: Array = np.bincount(group, values) / np.bincount(group)
    return values - means[group]
