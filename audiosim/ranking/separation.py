"""Verdicts on the systems of a pool, and the number of further judgments that would probably separate two of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from scipy.linalg import solve_triangular

from audiosim.collection.arguments import judgments_second
from audiosim.collection.collection import Collection
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, taught
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure
from audiosim.ranking.about import OF_THIS_KIND, THESE, About, DifferenceDistribution, Ideal, as_about
from audiosim.ranking.expected import FEWEST_QUERIES, ExpectedScores, expected_scores, rank_belief, to_rank
from audiosim.ranking.ranking import Ranking, of_these
from audiosim.ranking.sampled import DRAWS
from audiosim.ranking.two_systems import TwoSystems
from audiosim.ranking.verdicts import TOP, Separation, Verdicts
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import MultivariateNormal, Sparse, variance_of_differences
from audiosim.stats.tests import MOST_DRAWS

PROBABLY = 0.8
MOST = 1000  # most further judgments considered
FIRST = 125  # number considered first, as most answers are lower


@judgments_second
def verdicts(
    collection: object,
    model: NameOrFile | RelevanceEstimator | None = None,
    measure: str | Measure = "CG",
    *,
    ideal: Ideal = "ordered",
    draws: Annotated[int, Ge(2), Le(MOST_DRAWS)] = DRAWS,
    distribution: DifferenceDistribution = "t",
    about: About | str | Sequence[str] = THESE,
    top: Annotated[int, Ge(1)] = TOP,
    judgments: object = None,
    scale: str | None = None,
) -> Verdicts:
    """Rank the systems from few judgments or none, and say how sure the ranking is.

    Systems that share a letter of Group cannot be told apart; Ranks are the possible ranks of each. All these
    statements hold together at 95 %. The last lines say how many more judgments would separate the next two systems,
    and whether the judgments so far agree with the model's predictions.

    Expected scores are exact for CG, DCG and other sums of gains, and approximate to first order for nDCG and RBP. All
    other measures are simulated from the probabilities of the levels; the standard error of the simulation is reported.

    ideal  ideal ranking of nDCG and RBP while judgments are missing: ordered, by order statistics; independent, as in
           the thesis, which is too high; correlated, between the two
    distribution  distribution of a difference between systems: t, or normal as in the paper of 2013
    draws  number of simulated draws of grades, for measures without a formula
    top    print the probability that each system is among the best K

    The other arguments are those of `audiosim.estimate`, whose ranking this is.

    Example: `audiosim estimate demo --measure nDCG@5`
    """
    collection, measure, pool = to_rank(collection, measure, scale, judgments)
    estimator, expected = taught(pool, model, collection.judgments), expected_scores(measure, pool, ideal, draws)
    return verdicts_on(collection, estimator, expected, distribution, top, as_about(about))


def verdicts_of_pool(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    grades: Array,
    distribution: DifferenceDistribution = "t",
    order: Integers | None = None,
    k: int = TOP,
    about: About = THESE,
) -> Verdicts:
    """Verdicts on the systems of a pool from the judgments so far, with the next separation; see `rank_belief`.

    k      number of best systems for the probability of being among them
    about  subject of the verdicts
    """
    belief = estimator.predict(grades)
    verdicts = Verdicts(rank_belief(expected, estimator, belief, distribution, order, about), k=k)
    return with_next(verdicts, expected, belief)


def verdicts_on(
    collection: Collection,
    estimator: RelevanceEstimator,
    expected: ExpectedScores,
    distribution: DifferenceDistribution = "t",
    k: int = TOP,
    about: About = THESE,
) -> Verdicts:
    """Verdicts on the systems of a collection from its judgments, in the order of judging; see `verdicts_of_pool`.

    estimator  estimator that has learned from them
    """
    grades = collection.grades()
    order = expected.pool.locate_judged(grades)
    return verdicts_of_pool(expected, estimator, expected.pool.spread(grades), distribution, order, k, about)


def two_systems_of_pool(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    grades: Array,
    names: tuple[str, str],
    level: float,
    distribution: DifferenceDistribution = "t",
    order: Integers | None = None,
    about: About | None = None,
) -> TwoSystems:
    """Verdict on two systems of a pool, and the number of further judgments that would probably separate them.

    names  names of the two systems
    level  confidence of the interval, and required for a verdict
    about  subject of the verdict; the verdict about the other kind of queries is given beside it. None: queries of
           this kind, or, with a single query, that query alone, as it shows no variation
    """
    belief, several = estimator.predict(grades), len(expected.pool.queries) >= FEWEST_QUERIES
    about = about or (OF_THIS_KIND if several else THESE)
    ranking = rank_belief(
        expected, estimator, belief, distribution, order, replace(about, queries="queries") if several else about
    )
    return two_systems_ranked(expected, belief, ranking, names, level, about)


def two_systems_ranked(
    expected: ExpectedScores, belief: Belief, ranking: Ranking, names: tuple[str, str], level: float, about: About
) -> TwoSystems:
    """Verdict on two systems of a ranking; see `two_systems_of_pool`.

    ranking  about queries of this kind, or about a single query
    """
    several = ranking.scores.sampling is not None
    own, other = (ranking, of_these(ranking)) if about.queries == "queries" else (of_these(ranking), ranking)
    beside = TwoSystems(other, *names, level) if several else None
    found = TwoSystems(own, *names, level, beside=beside)
    if found.verdict != "not told apart" or not looks_ahead(expected, belief):
        return found
    pair = found.ranking.scores.place_of(*map(ranking.systems.index, names))
    return replace(
        found, more=judgments_to_separate(expected, belief, found.ranking, pair, found.ranking.scores.critical(level))
    )


def looks_ahead(expected: ExpectedScores, belief: Belief) -> bool:
    """True if the effect of further judgments can be predicted: not for simulated scores, and not for gains modelled as
    independent, because their variances are too small.
    """
    return expected.draws is None and belief.prior.correlated


def with_next(verdicts: Verdicts, expected: ExpectedScores, belief: Belief) -> Verdicts:
    """Verdicts with the next separation added; see `next_separation`."""
    return replace(verdicts, nearest=next_separation(expected, belief, verdicts))


def next_separation(expected: ExpectedScores, belief: Belief, verdicts: Verdicts) -> Separation | None:
    """Separation of the two systems that need the fewest further judgments.

    belief  belief behind the scores of the ranking, with correlated gains

    None if all pairs that can be separated are, if more than MOST judgments would be needed, or if it cannot be
    predicted; see `looks_ahead`.
    """
    ranking = verdicts.ranking
    if not looks_ahead(expected, belief):
        return None
    difference, variance = ranking.scores.differences
    open_ = np.flatnonzero(~verdicts.better[ranking.scores.pairs] & (variance > 0))
    if not len(open_):
        return None
    nearest = int(open_[np.argmax(difference[open_] / np.sqrt(variance[open_]))])
    a, b = (ranking.systems[of[nearest]] for of in ranking.scores.pairs)
    count = judgments_to_separate(expected, belief, ranking, nearest, verdicts.critical)
    return None if count is None else Separation(a, b, count)


def judgments_to_separate(
    expected: ExpectedScores, belief: Belief, ranking: Ranking, pair: int, critical: float
) -> int | None:
    """Least number of further judgments that separate two systems with probability PROBABLY.

    pair      place among the pairs of the ranking
    critical  standard deviations that a difference must exceed

    The pairs with the largest C_d^2 / Var[G_d] are judged first; C_d is the covariance of the difference D with the
    gain of d. The variance V_n that remains after n judgments is known in advance. The expected difference after them
    is normal around its present value E, with variance V - V_n:

        P(told apart) = F((E - c sqrt(V_n)) / sqrt(V - V_n)) + F((-E - c sqrt(V_n)) / sqrt(V - V_n))

    Raiffa & Schlaifer (1961), Applied Statistical Decision Theory, section 5.4 (preposterior analysis). If the
    ranking's deviations are wider than the belief's, they remain wider; judgments do not reduce the variation between
    queries of this kind. None if more than MOST judgments would be needed.
    """
    better, worse = (int(of[pair]) for of in ranking.scores.pairs)
    difference, variance = (float(of[pair]) for of in ranking.scores.differences)
    sampling = ranking.scores.sampling
    sampled = 0.0 if sampling is None else float(variance_of_differences(sampling, better, worse))
    telling = telling_pairs(expected, belief, better, worse)
    gains, order, covariance, whole = telling.gains, telling.order, telling.covariance, telling.whole
    if not len(order) or whole <= 0:
        return None
    for most in (FIRST, MOST):
        chosen = order[:most]
        removed = _removed(gains.among(chosen), covariance[chosen]) / whole
        left = sampled + (variance - sampled) * np.maximum(0, 1 - removed)
        spread, reach = np.sqrt(np.maximum(variance - left, np.finfo(float).tiny)), critical * np.sqrt(left)
        ends = np.stack([difference - reach, -difference - reach]) / spread
        enough = np.flatnonzero(ranking.scores.cumulated(ends).sum(axis=0) >= PROBABLY)
        if len(enough):
            return int(enough[0]) + 1
        if most >= len(order):
            break
    return None


@dataclass(frozen=True, slots=True, eq=False)
class TellingPairs:
    """Unjudged pairs, ordered by the information of their judgment about the difference of two systems.

    gains       gains of the n pairs
    order       places of the unjudged pairs that carry any information, most informative first
    covariance  (n,) covariance of the difference with the gain of each pair, C_d
    reduction   (n,) reduction of the difference's variance by a judgment, C_d^2 / Var[G_d]; -1 where judged
    whole       variance of the difference
    """

    gains: MultivariateNormal
    order: Integers
    covariance: Array
    reduction: Array
    whole: float


def telling_pairs(expected: ExpectedScores, belief: Belief, first: int, second: int) -> TellingPairs:
    """The most informative pairs for the difference of two systems, given by their places."""
    if belief.people is not None:
        # As in the selection rules, a further judgment reveals the mean grade of a pair.
        belief = belief.revise(belief.grades)
    gains, slopes = expected.gains(belief), expected.slopes(belief)
    across = gains.across(slopes)
    covariance = _row(across, first) - _row(across, second)
    open_ = ~belief.judged & (gains.variance > 0)
    reduction = np.divide(covariance**2, gains.variance, out=np.full(len(open_), -1.0), where=open_)
    order = np.argsort(-reduction, kind="stable")[: int((reduction > 0).sum())]
    whole = float((_row(slopes, first) - _row(slopes, second)) @ covariance)
    return TellingPairs(gains, order, covariance, reduction, whole)


def _row(across: Sparse | Array, system: int) -> Array:
    row = across[system] if isinstance(across, np.ndarray) else across[[system]].toarray()[0]
    return np.asarray(row)


def _removed(among: Array, covariance: Array) -> Array:
    """(m,) reduction of a variance once the first, the first two, ... of m unknowns are known.

    among       (m, m) covariance of the m unknowns
    covariance  (m,) their covariance with the unknown whose variance is reduced
    """
    explained = solve_triangular(np.linalg.cholesky(among), covariance, lower=True)
    return np.asarray(np.cumsum(explained**2))
