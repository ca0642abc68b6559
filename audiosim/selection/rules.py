"""Selection rules: weights of the pairs of a pool by what their judgments would tell."""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Booleans
from audiosim.errors import InputError, did_you_mean
from audiosim.expected.estimation import ExpectedScores
from audiosim.expected.linear import LinearScores
from audiosim.expected.ranking import Ranking
from audiosim.relevance.belief import Belief
from audiosim.stats.threads import one_thread

EVEN = 0.1  # share of the draws of which every pair has the same chance
SCORED = 0.1  # share of the draws for the scores themselves, not their differences
SETTLED = 0.95  # confidence from which the order of two systems asks for no more judgments
CACHED = 200_000  # numbers of a dense block, which stay in the processor's cache


class SelectionRule(Protocol):
    """Weighs pairs by what their judgments would tell.

    Entry-point group `audiosim.selection_rules`: each entry is a function that takes the ExpectedScores of a measure
    in a pool and a seed, and returns a rule for them. Contract: `audiosim.plugins.check_selection_rule`.
    """

    @property
    def name(self) -> str: ...

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        """(n,) how much the judgment of each pair is worth now, 0 where nothing; those of judged pairs are not read.

        belief   about the n pairs of the pool
        ranking  of the systems, as it is expected to be
        """
        ...


SelectionRuleFactory = Callable[[ExpectedScores, int], SelectionRule]


class AffectedDifferences:
    """Number of pairs of systems that a judgment bears on, each weighted by how much; to rank the systems.

        w_d = sum over pairs of systems (a, b) of |discount_a(d) - discount_b(d)|

    over the expected sum of the ideal ranking where the measure has one. For CG this counts the pairs of systems of
    which only one retrieved the document. Urbano (2013), section 8.3.
    """

    name = "differences"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected
        self._fixed: Array | None = None

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        if self._fixed is not None:
            return self._fixed
        weights = differences_affected(self._expected.discounted(belief))
        if isinstance(self._expected, LinearScores):
            self._fixed = weights
        return weights


def differences_affected(discounts: sparse.csc_array) -> Array:
    """(n,) the sum over pairs of systems of the difference of their discounts.

    discounts  (s, n) sparse, 0 or more

    With the s values of a column sorted, the sum is that of value times (2 position - s + 1),
    positions from 0; what is not retrieved has value 0 and comes first.
    """
    systems, pairs = discounts.shape
    column = np.repeat(np.arange(pairs), np.diff(discounts.indptr))
    value = discounts.data[np.lexsort((discounts.data, column))]
    position = systems - discounts.indptr[column + 1] + np.arange(len(value))
    return np.asarray(np.bincount(column, value * (2 * position - systems + 1), pairs), dtype=np.float64)


class UnsettledDifferences:
    """Pairs of systems that a judgment bears on and whose order is not settled yet, each weighted by its confidence.

        w_d = sum over pairs of systems (a, b) with C_ab < SETTLED of  C_ab (discount_a(d) - discount_b(d))^2

    where C_ab is the confidence in their order: those nearest to being settled come first. With all settled every pair
    counts alike. Urbano & Schedl (2013), section 3.4, who suggest it where each pair is to reach the confidence.
    """

    name = "unsettled"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        confidences = ranking.confidences
        shares = np.where(confidences < SETTLED, confidences, 0)
        systems = len(ranking.systems)
        weights = np.zeros((systems, systems))
        weights[ranking.pairs] = shares if shares.any() else 1
        return squared_differences(self._expected.discounted(belief), weights + weights.T)


class VarianceOfScores:
    """The variances of the scores of the systems that retrieved the document, added up; to know the scores.

        w_d = sum over systems a that retrieved d of Var[score of a]

    Urbano (2013), section 8.4.
    """

    name = "scores"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._retrieved = sparse.csr_array(expected.pool.retrieved.T)

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        return np.asarray(self._retrieved @ ranking.scores.variance)


class DoubtAboutDifferences:
    """Expected decrease, by a judgment, of the doubt about which of two systems is better, over all pairs.

        w_d = 1 / Var[G_d] sum over pairs of systems (a, b) of  f(z_ab)^2 / V_ab (C_ad - C_bd)^2

    where z = E / sqrt(V) is a pair's expected difference in standard deviations, f the normal density and C_ad the
    covariance of the score of a with the gain of d, so that what the judgment of one document says of others counts.
    That is, to first order in the share of V that the judgment removes, the expected fall of the sum of p (1 - p), p
    being the probability that a is better than b: a settled pair (large z) asks for nothing any more, and neither does
    a document of which enough is known.
    """

    name = "doubts"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        gains = self._expected.gains(belief)
        return self.of(gains.across(self._expected.slopes(belief)), gains.variance, ranking)

    def of(self, across: sparse.csc_array | Array, variance: Array, ranking: Ranking) -> Array:
        """(n,) the weights, of the covariances of the scores with the gains (s, n) and the gains' variances (n,)."""
        difference, uncertain = ranking.differences
        open_ = uncertain > 0
        spread = np.where(open_, uncertain, 1)
        doubt = np.where(open_, np.exp(-(difference**2) / spread) / (2 * np.pi * spread), 0)
        systems = len(ranking.systems)
        weights = np.zeros((systems, systems))
        weights[ranking.pairs] = doubt
        return _over(squared_differences(across, weights + weights.T), variance)


class DrawnByDoubt:
    """Pairs drawn by lot, mostly with chances in proportion to `doubts`.

        w_d / e_d,   e_d drawn once from the exponential distribution
        w = (1 - EVEN - SCORED) doubts + SCORED variances + EVEN 1,  each over its sum over the unjudged pairs

    The pair of the largest is drawn with a chance of its share of all (Efraimidis & Spirakis 2006,
    doi:10.1016/j.ipl.2005.11.003). Who always judges what they doubt most ends surer of the ranking than it is right:
    pairs whose doubt is overrated are left for the end. Drawn ones speak for those not drawn. A part is drawn in
    proportion to what pairs tell of the scores themselves, and a part evenly: documents that most systems found bear on
    no difference, and would never be seen.
    """

    name = "drawn"

    def __init__(self, expected: ExpectedScores, seed: int = 0) -> None:
        self._expected, self._doubts = expected, DoubtAboutDifferences(expected)
        self._drawn = np.random.default_rng(seed).exponential(size=len(expected.pool.pairs))

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        gains = self._expected.gains(belief)
        across = gains.across(self._expected.slopes(belief))
        open_ = ~belief.judged
        doubts = self._doubts.of(across, gains.variance, ranking)
        parts = ((1 - EVEN - SCORED, doubts), (SCORED, squares_of(across, gains.variance)), (EVEN, np.ones(len(open_))))
        if not doubts[open_].any():
            return doubts
        shares = sum(share * _shared(values, open_) for share, values in parts)
        return np.asarray(shares / self._drawn)


class DoubtAboutScores:
    """Decrease, by a judgment, of the variances of the systems' scores, added up.

        w_d = 1 / Var[G_d] sum over systems a of C_ad^2

    where C_ad is the covariance of the score of a with the gain of d.
    """

    name = "variances"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        gains = self._expected.gains(belief)
        return squares_of(gains.across(self._expected.slopes(belief)), gains.variance)


def squares_of(across: sparse.csc_array | Array, variance: Array) -> Array:
    """(n,) the sum over the systems of C_ad^2 / Var[G_d], of the covariances of scores with gains (s, n)."""
    if isinstance(across, np.ndarray):
        return _over(np.einsum("sn,sn->n", across, across), variance)
    return _over(np.asarray(across.multiply(across).sum(axis=0)).ravel(), variance)


def _shared(values: Array, open_: Booleans) -> Array:
    """(n,) values 0 or more over their sum over some of them; 0 elsewhere."""
    kept = np.where(open_, values, 0)
    return np.asarray(kept / max(kept.sum(), np.finfo(float).tiny))


def _over(squares: Array, variance: Array) -> Array:
    """(n,) squared covariances with unknowns over their variances; 0 for those that are certain."""
    return np.divide(squares, variance, out=np.zeros(len(variance)), where=variance > 0)


def squared_differences(across: sparse.csc_array | Array, weights: Array) -> Array:
    """(n,) the sum over pairs of systems (a, b) of weight_ab (u_a - u_b)^2, for each column u of a matrix.

        u' L u,  L = diag(sum over b of weight_ab) - weight

    across   (s, n)
    weights  (s, s) symmetric, 0 or more, 0 on the diagonal
    """
    systems, pairs = across.shape
    if systems < 2:
        return np.zeros(pairs)
    # It is differences from the first system that count: what all systems share is then exactly 0.
    laplacian = (np.diag(weights.sum(axis=1)) - weights).astype(across.dtype)[1:, 1:]
    values, step = np.empty(pairs), max(1, CACHED // systems)
    first, second = (np.empty((systems - 1, min(step, pairs)), across.dtype) for _ in range(2))
    with one_thread():
        for start in range(0, pairs, step):
            part = across[:, start : start + step]
            block = part if isinstance(part, np.ndarray) else part.toarray()
            size = block.shape[1]
            difference, product = first[:, :size], second[:, :size]
            np.subtract(block[1:], block[0], out=difference)
            np.matmul(laplacian, difference, out=product)
            values[start : start + size] = np.einsum("sn,sn->n", difference, product)
    return np.maximum(0, values)


class Lot:
    """Every pair as likely as any other: weights drawn at random, once."""

    name = "random"

    def __init__(self, expected: ExpectedScores, seed: int = 0) -> None:
        self._drawn = 1 - np.random.default_rng(seed).random(len(expected.pool.pairs))

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        return self._drawn


class PoolOrder:
    """Order from the top of all rankings downwards: 1 over the best rank at which any system retrieved the document.

    Depth pooling as in TREC, with the ranks of the pool judged one after the other.
    """

    name = "pooled"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        ranks = expected.pool.ranks
        best = np.full(len(expected.pool.pairs), np.inf)
        np.minimum.at(best, ranks.indices, ranks.data)
        self._weights = 1 / best

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        return self._weights


SELECTION_RULES: Mapping[str, SelectionRuleFactory] = {
    rule.name: rule
    for rule in (
        AffectedDifferences,
        UnsettledDifferences,
        VarianceOfScores,
        DoubtAboutDifferences,
        DrawnByDoubt,
        DoubtAboutScores,
        Lot,
        PoolOrder,
    )
}


def default_selection_rule(belief: Belief) -> str:
    """The rule where none is named: `drawn` where gains are correlated, else the thesis's `differences`."""
    return DrawnByDoubt.name if belief.prior.correlated else AffectedDifferences.name


def make_selection_rule(
    name: str, expected: ExpectedScores, seed: int = 0, known: Mapping[str, SelectionRuleFactory] = SELECTION_RULES
) -> SelectionRule:
    """The rule of a name.

    seed   of what it may draw
    known  more than audiosim's own where a program brings others
    """
    if name not in known:
        names = f"{', '.join(known)}{did_you_mean(name, known)}"
        raise InputError(f"unknown selection rule {name!r}, expected one of {names}")
    return known[name](expected, seed)
