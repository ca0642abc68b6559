"""People's answers compared with a measure: satisfaction by score, agreement by difference in score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from audiosim.collection.collection import Collection
from audiosim.collection.grading import find_grading, on_scale, read_on
from audiosim.collection.values import SCALES
from audiosim.errors import InputError, of_argument
from audiosim.measures.measure import Measure, as_measure
from audiosim.measures.satisfaction import SatisfactionMapping, user_form, user_scores
from audiosim.measures.scores import judged_runs
from audiosim.people.answers import Answers, read_answers
from audiosim.results.plots import Line, draw_curves, draw_points
from audiosim.results.value import Result, Value, cached_property, parts, plain, rows_of
from audiosim.stats.arrays import Array, Booleans, Integers

if TYPE_CHECKING:
    from altair import LayerChart


BINS = 10
WIDTH = 1000 // BINS  # width of a bin, in thousandths
MIDDLES = (np.arange(BINS) + 0.5) / BINS
SHARES = (0.0, 1.0)


def thousandths(scores: Array) -> Integers:
    """(...) scores in [0, 1], rounded to three decimals, as whole thousandths.

    The thesis bins rounded scores, and differences of rounded scores: its tables can only be reproduced this way.
    """
    return np.rint(scores * 1000).astype(np.int64)


def bins(rounded: Integers) -> Integers:
    """(...) the bin of each score or difference in thousandths: [0, .1), [.1, .2), ... [.9, 1] are 0 to 9."""
    return np.minimum(rounded // WIDTH, BINS - 1)


@dataclass(frozen=True, slots=True, eq=False)
class SatisfiedShares:
    """Share of cases of one kind in each bin.

    counts  (10,) cases
    shares  (10,) share of the kind; NaN without cases
    errors  (10,) standard error of the share; NaN without cases, 0 if all cases agree
    """

    counts: Integers
    shares: Array
    errors: Array


def shares(places: Integers, hits: Booleans, answers: Integers) -> SatisfiedShares:
    """The share of hits in each bin.

        error = sqrt(sum over answers of (sum over its cases of hit - share)^2) / cases

    places   (m,) the bin of each case
    hits     (m,) True if it is of the kind
    answers  (m,) number of each case's answer

    The two lists of one answer share one opinion, so answers, not lists, count as independent. With one case per answer
    the error is the binomial sqrt(p (1 - p) / n).
    """
    counts = np.bincount(places, minlength=BINS)
    known = np.where(counts > 0, counts, np.nan)
    share = np.bincount(places, weights=hits, minlength=BINS) / known
    cells, cell = np.unique(answers * BINS + places, return_inverse=True)
    deviations = np.bincount(cell, weights=hits - share[places])
    spread = np.bincount(cells % BINS, weights=deviations**2, minlength=BINS)
    return SatisfiedShares(counts, share, np.sqrt(spread) / known)


@dataclass(frozen=True, slots=True)
class CubicFit:
    """A cubic fitted to the shares of satisfied users.

    mapping   the cubic
    r2        share of the variance of the bins' shares that it explains; 1 if all shares are equal
    residual  root mean squared distance from the bins' shares
    """

    mapping: SatisfactionMapping
    r2: float
    residual: float


def fit_cubic(satisfied: SatisfiedShares, source: str) -> CubicFit | None:
    """The unweighted least-squares cubic through the middles of the bins; None if fewer than four have answers.

    With four bins it passes through every share exactly, so its fit is meaningless. Urbano (2013), equation 4.3 and
    Table 4.2.
    """
    there = satisfied.counts > 0
    if there.sum() < 4:
        return None
    x, y = MIDDLES[there], satisfied.shares[there]
    coefficients = np.polynomial.polynomial.polyfit(x, y, 3)
    squares = float(np.sum((y - np.polynomial.polynomial.polyval(x, coefficients)) ** 2))
    total = float(np.sum((y - y.mean()) ** 2))
    a0, a1, a2, a3 = coefficients.tolist()
    r2 = 1 - squares / total if total > 0 else 1.0
    return CubicFit(SatisfactionMapping((a0, a1, a2, a3), source), r2, float(np.sqrt(squares / len(x))))


@dataclass(frozen=True, eq=False)
class Preferences(Result):
    """People's answers compared with a measure.

    measure    measure that scores the lists
    scale      name of the scale of the grades
    levels     levels of that scale
    answers    number of answers
    ties       number of answers about two lists of equal score, without a better list to agree on
    satisfied  share of good lists, by the score of a list, among answers that both are good or both bad
    agreeing   share of answers that prefer the list of the higher score, by the difference
    opposed    share of answers that prefer the list of the lower score, by the difference
    prior      how often past systems differ enough for users to notice; None: not requested
    """

    measure: str
    scale: str
    levels: tuple[float, ...]
    answers: int
    ties: int
    satisfied: SatisfiedShares
    agreeing: SatisfiedShares
    opposed: SatisfiedShares
    prior: "NoticeableDifferences | None" = None

    @cached_property
    def cubic(self) -> CubicFit | None:
        """The mapping from scores to P(Sat), and its goodness of fit; None if fewer than four bins have answers."""
        return fit_cubic(self.satisfied, f"{self.answers} answers, {self.measure} on the {self.scale} scale")

    @property
    def endpoint_bias(self) -> float:
        """Distance of the first and the last bin from the values their scores predict; NaN if one of them is empty.

            sqrt(((P(Sat in [0, .1)) - .05)^2 + (.95 - P(Sat in [.9, 1]))^2) / 2)

        Urbano (2013), equation 3.11, computed as in Table 3.2 with the middles of the bins, not with 0 and 1.
        """
        first, last = self.satisfied.shares[[0, -1]]
        return float(np.sqrt(((first - MIDDLES[0]) ** 2 + (MIDDLES[-1] - last) ** 2) / 2))

    @property
    def distance_from_agreement(self) -> float:
        """Root mean squared distance of P(Agr = 1) from 1 over the bins with answers; (3.12), Table 3.3."""
        return float(np.sqrt(np.nanmean((1 - self.agreeing.shares) ** 2)))

    @property
    def distance_from_no_opposition(self) -> float:
        """Root mean squared distance of P(Agr = -1) from 0 over the bins with answers; (3.13), Table 3.4."""
        return float(np.sqrt(np.nanmean(self.opposed.shares**2)))

    def agreement(self, differences: Array) -> Array:
        """(m, 3) shares of users who prefer the better list, neither, and the worse, at differences of scores.

        differences  (m,) better minus worse, in [0, 1]

        Each takes the shares of its bin; NaN if the bin has no answers.
        """
        if not np.all((differences >= 0) & (differences <= 1)):
            raise InputError("differences of scores must lie in [0, 1], better minus worse")
        place = bins(thousandths(differences))
        better, worse = self.agreeing.shares[place], self.opposed.shares[place]
        return np.stack([better, 1 - better - worse, worse], axis=-1)

    def rows(self) -> list[dict[str, Any]]:
        """One row per bin, both of scores and of differences; None where it has no answers."""
        columns = {
            "low": np.arange(BINS) / BINS,
            "high": np.arange(1, BINS + 1) / BINS,
            "lists": self.satisfied.counts,
            "satisfied": self.satisfied.shares,
            "satisfied_error": self.satisfied.errors,
            "pairs": self.agreeing.counts,
            "agree": self.agreeing.shares,
            "agree_error": self.agreeing.errors,
            "disagree": self.opposed.shares,
            "disagree_error": self.opposed.errors,
        }
        return [plain(row) for row in rows_of(columns)]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values, ready for JSON; None for undefined ones."""
        fit = self.cubic
        return {
            **parts(self, "measure", "scale", "answers", "ties"),
            "bins": self.rows(),
            "cubic": fit and {"coefficients": list(fit.mapping.coefficients), "r2": fit.r2, "residual": fit.residual},
            **parts(self, "endpoint_bias", "distance_from_agreement", "distance_from_no_opposition"),
        } | ({} if self.prior is None else {"prior": self.prior.to_dict()})

    def __repr__(self) -> str:
        return (
            f"{self.measure} on the {self.scale} scale against {self.answers:,} answers, {self.ties:,} of them on ties"
        )

    def plot(self) -> "LayerChart":
        """The share of satisfied users by score, with its standard errors, and the cubic."""
        across, up = f"{self.measure}, {self.scale} scale", "satisfied users"
        points = draw_points(MIDDLES, self.satisfied.shares, self.satisfied.errors, across, up, SHARES)
        if self.cubic is None:
            return points
        x = np.linspace(0, 1, 101)
        return points + draw_curves([Line("cubic", x, self.cubic.mapping.probability(x))], across, up, within=SHARES)


def held_against(answers: Answers, scores: Array, measure: str) -> Preferences:
    """Answers compared with the scores of the lists.

    scores   (n, 2) scores of the two lists of each answer, in [0, 1]
    measure  name of the scores
    """
    if scores.shape != (len(answers.choices), 2) or not np.all((scores >= 0) & (scores <= 1 + 1e-9)):
        raise InputError(f"the scores of {measure} must be two in [0, 1] for each of {len(answers.choices)} answers")
    rounded = thousandths(scores)
    number = np.arange(len(rounded))
    both = answers.said("good", "bad")
    satisfied = shares(
        bins(rounded[both]).ravel(), np.repeat(answers.said("good")[both], 2), np.repeat(number[both], 2)
    )
    difference = rounded[:, 0] - rounded[:, 1]
    preferred = answers.said("a").astype(int) - answers.said("b")
    place, product = bins(np.abs(difference)), np.sign(difference) * preferred
    agreeing, opposed = shares(place, product > 0, number), shares(place, product < 0, number)
    ties = int(np.sum(difference == 0))
    return Preferences(
        measure, answers.scale.name, answers.scale.levels, len(number), ties, satisfied, agreeing, opposed
    )


def preferences(answers: Answers, measure: str | Measure) -> Preferences:
    """Answers compared with a measure: satisfaction by score, agreement by difference.

    measure  measure with a cutoff that the lists reach; used in its user-oriented form, as the lists themselves have
             the only judgments
    """
    measure = user_form(measure)
    if measure.cutoff > answers.cutoff:
        raise InputError(f"{measure} needs lists of {measure.cutoff} documents, the answers are about {answers.cutoff}")
    return held_against(answers, user_scores(measure, answers.scale, answers.grades), str(measure))


# Prior probability of a noticeable difference: the share of past differences large enough for users to notice.


MAJORITY = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class NoticeableDifferences(Value):
    """Differences between systems that enough users notice.

    share      share of users who must agree
    smallest   smallest difference of scores that they notice; None if they notice none
    observed   number of observed differences
    noticed    share of observed differences of at least `smallest`
    """

    share: float
    smallest: float | None
    observed: int
    noticed: float

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return {
            "agreeing_share": self.share,
            "smallest_difference": self.smallest,
            "observed_differences": self.observed,
            "noticed": self.noticed,
        }


def smallest_noticed(preferences: Preferences, share: float = MAJORITY) -> float | None:
    """The smallest difference of scores at which at least this share of users prefers the better list.

    Interpolated between the middles of the bins; 0 if the first bin already reaches the share, None if no bin does.
    Urbano (2013), section 3.4.
    """
    if not 0 < share <= 1:
        raise InputError(f"a share of users who agree must be above 0 and at most 1, got {share:g}")
    there = preferences.agreeing.counts > 0
    middles, agreeing = MIDDLES[there], preferences.agreeing.shares[there]
    enough = np.flatnonzero(agreeing >= share)
    if not len(enough):
        return None
    first = int(enough[0])
    if first == 0:
        return float(middles[0] - 0.5 / BINS)
    low, high = agreeing[first - 1], agreeing[first]
    step = (share - low) / (high - low)
    return float(middles[first - 1] + step * (middles[first] - middles[first - 1]))


def noticeable_differences(
    preferences: Preferences, collections: Sequence[Collection], share: float = MAJORITY
) -> NoticeableDifferences:
    """Probability that two systems differ enough on a query for most users to agree on the better one.

    preferences  people's answers compared with a measure
    collections  past evaluations, with every retrieved document judged, on a scale with the levels of the answers;
                 every two systems on every query count once
    share        share of users who must agree

    Even a small threshold helps little if differences rarely reach it. Urbano (2013),
    section 3.4, Table 3.5.
    """
    differences = np.concatenate([_differences(one, preferences) for one in collections])
    smallest = smallest_noticed(preferences, share)
    noticed = 0.0 if smallest is None else float((differences >= smallest - 1e-9).mean())
    return NoticeableDifferences(share, smallest, len(differences), noticed)


def _differences(collection: Collection, preferences: Preferences) -> Array:
    """Absolute differences of user-oriented scores, every two systems on every query."""
    if collection.scale.levels != preferences.levels:
        raise InputError(
            f"collection {collection.identifier} is on the {collection.scale.name} scale, the answers on the "
            f"{preferences.scale} scale: expected the same scale, or an artificial one with as many levels"
        )
    measure = user_form(preferences.measure)
    values = judged_runs(collection, measure.cutoff).scores(measure).values
    first, second = np.triu_indices(len(values), 1)
    return np.asarray(np.abs(values[first] - values[second]).ravel())


def satisfaction(
    answers: str | Path | Answers,
    measure: str | Measure = "CG@5",
    *,
    scale: str | None = None,
    prior: Sequence[str | Path | Collection] = (),
    prior_scale: str | None = None,
    agreeing: Annotated[float, Ge(0.01), Le(1)] = MAJORITY,
) -> Preferences:
    """Estimate the share of users that each score satisfies, from people's answers.

    ANSWERS has the columns answer (a, b, good, bad), query, A1 ..., B1 ... and the grades of the documents.

    answers      answers of people who compared two lists, or their file
    scale        scale of the grades if a file has several: fine, broad or binary; or an artificial one made of fine
                 grades, graded-N or binary-M
    prior        judged collections: show how often two systems differ enough for the users to agree which is better
    prior_scale  artificial scale for the judgments of the prior, if it differs from that of the answers; None: `scale`
    agreeing     share of users who must agree, for the prior

    Examples: `audiosim satisfaction answers.tsv --measure CG@5`

    `audiosim satisfaction answers.tsv --scale fine --prior mine` (a collection that is judged in full)
    """
    read = answers if isinstance(answers, Answers) else read_answers(answers, scale)
    found = preferences(read, as_measure(measure))
    artificial = prior_scale or (scale if scale and scale not in SCALES else None)
    with of_argument("prior_scale"):
        _ = prior_scale and (read_on(prior_scale) or find_grading(prior_scale))
    past = [on_scale(one, artificial) for one in prior]
    return replace(found, prior=noticeable_differences(found, past, agreeing)) if past else found
