"""Verdicts on the systems of a pool, and how many further judgments would probably tell two of them apart."""

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from audiosim.arrays import Array, Integers
from audiosim.expected.about import OF_THIS_KIND, THESE, About
from audiosim.expected.estimation import FEWEST_QUERIES, ExpectedScores, rank_belief
from audiosim.expected.ranking import DifferenceDistribution, Ranking
from audiosim.expected.two_systems import TwoSystems
from audiosim.expected.verdicts import TOP, Separation, Verdicts
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.stats.multivariate import Sparse

PROBABLY = 0.8
MOST = 1000  # judgments looked ahead
FIRST = 125  # looked at before more are: most answers are below


def verdicts_of_pool(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    grades: Array,
    distribution: DifferenceDistribution = "t",
    order: Integers | None = None,
    k: int = TOP,
    about: About = THESE,
) -> Verdicts:
    """Verdicts on the systems of a pool from the judgments there are, with the next to be had; see `estimate_pool`.

    k      of the probability of being among the best k
    about  which queries the verdicts are about
    """
    belief = estimator.predict(grades)
    verdicts = Verdicts(rank_belief(expected, estimator, belief, distribution, order, about), k=k)
    return with_next(verdicts, expected, belief)


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
    """Verdict on two systems of a pool from the judgments there are, and how many more would probably tell them apart.

    names  of the two
    level  of the interval, and the confidence that a verdict needs
    about  which queries the verdict is about; what holds about the others is beside it. None: queries of this kind,
           but of a single query, which does not show how they vary, that one
    """
    belief, several = estimator.predict(grades), len(expected.pool.queries) >= FEWEST_QUERIES
    about = about or (OF_THIS_KIND if several else THESE)
    ranking = rank_belief(expected, estimator, belief, distribution, order, OF_THIS_KIND if several else about)
    own, other = (ranking, ranking.of_these) if about.queries == "queries" else (ranking.of_these, ranking)
    beside = TwoSystems(other, *names, level) if several else None
    found = TwoSystems(own, *names, level, beside=beside)
    if found.verdict != "not told apart" or not looks_ahead(expected, belief):
        return found
    pair = found.ranking.place_of(*names)
    return replace(found, more=judgments_to_separate(expected, belief, found.ranking, pair, found.critical))


def looks_ahead(expected: ExpectedScores, belief: Belief) -> bool:
    """True where it is known what judgments would do: not of scores that are drawn, nor of gains taken to be
    independent, whose variances are too small.
    """
    return expected.draws is None and belief.prior.correlated


def with_next(verdicts: Verdicts, expected: ExpectedScores, belief: Belief) -> Verdicts:
    """The verdicts with the next to be had: see `next_separation`."""
    return replace(verdicts, nearest=next_separation(expected, belief, verdicts))


def next_separation(expected: ExpectedScores, belief: Belief, verdicts: Verdicts) -> Separation | None:
    """Separation of the two systems that are nearest to being told apart.

    belief  that the scores of the ranking are of, one that correlates gains
    None where all are told apart that may be, where more than MOST judgments would be needed, and where it is not
    known, see `looks_ahead`.
    """
    ranking = verdicts.ranking
    if not looks_ahead(expected, belief):
        return None
    difference, variance = ranking.differences
    open_ = np.flatnonzero(~verdicts.better[ranking.pairs] & (variance > 0))
    if not len(open_):
        return None
    nearest = int(open_[np.argmax(difference[open_] / np.sqrt(variance[open_]))])
    a, b = (ranking.systems[of[nearest]] for of in ranking.pairs)
    count = judgments_to_separate(expected, belief, ranking, nearest, verdicts.critical)
    return None if count is None else Separation(a, b, count)


def judgments_to_separate(
    expected: ExpectedScores, belief: Belief, ranking: Ranking, pair: int, critical: float
) -> int | None:
    """The least number of further judgments after which two systems are told apart with probability PROBABLY.

    pair      place among the pairs of the ranking
    critical  standard deviations that a difference must exceed

    Those judged are the pairs with the largest C_d^2 / Var[G_d], C_d being the covariance of the difference D with the
    gain of d. What is left of the variance after n of them, V_n, is known beforehand; the expected difference will then
    be normal around what it is now, E, with variance V - V_n:

        P(told apart) = F((E - c sqrt(V_n)) / sqrt(V - V_n)) + F((-E - c sqrt(V_n)) / sqrt(V - V_n))

    Raiffa & Schlaifer (1961), Applied Statistical Decision Theory, section 5.4 (preposterior analysis). Deviations that
    the ranking has wider than the belief remain so, and no judgment takes away what queries of this kind vary. None
    where more than MOST would be needed.
    """
    if belief.people is not None:
        # Further judgments are looked at as the selection rules look at them: by the mean grade of a pair.
        belief = belief.revise(belief.grades)
    better, worse = (int(of[pair]) for of in ranking.pairs)
    difference, variance = (float(of[pair]) for of in ranking.differences)
    gains, slopes = expected.gains(belief), expected.slopes(belief)
    across = gains.across(slopes)
    covariance = _row(across, better) - _row(across, worse)
    sampled = 0.0 if ranking.sampling is None else _of_difference(ranking.sampling, better, worse)
    open_ = ~belief.judged & (gains.variance > 0)
    reduction = np.divide(covariance**2, gains.variance, out=np.full(len(open_), -1.0), where=open_)
    order = np.argsort(-reduction, kind="stable")[: int((reduction > 0).sum())]
    whole = float((_row(slopes, better) - _row(slopes, worse)) @ covariance)
    if not len(order) or whole <= 0:
        return None
    for most in (FIRST, MOST):
        chosen = order[:most]
        removed = _removed(gains.among(chosen), covariance[chosen]) / whole
        left = sampled + (variance - sampled) * np.maximum(0, 1 - removed)
        spread, reach = np.sqrt(np.maximum(variance - left, np.finfo(float).tiny)), critical * np.sqrt(left)
        ends = np.stack([difference - reach, -difference - reach]) / spread
        enough = np.flatnonzero([sum(map(ranking.cumulated, pair)) >= PROBABLY for pair in ends.T.tolist()])
        if len(enough):
            return int(enough[0]) + 1
        if most >= len(order):
            break
    return None


def _of_difference(covariance: Array, first: int, second: int) -> float:
    return float(covariance[first, first] + covariance[second, second] - 2 * covariance[first, second])


def _row(across: Sparse | Array, system: int) -> Array:
    row = across[system] if isinstance(across, np.ndarray) else across[[system]].toarray()[0]
    return np.asarray(row)


def _removed(among: Array, covariance: Array) -> Array:
    """(m,) how much of a variance is gone once the first, the first two, ... of m unknowns are known.

    among       (m, m) their covariance
    covariance  (m,) with the unknown whose variance it is
    """
    explained = solve_triangular(np.linalg.cholesky(among), covariance, lower=True)
    return np.asarray(np.cumsum(explained**2))
