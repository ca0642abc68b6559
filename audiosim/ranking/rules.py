"""Selection rules: weights of the pairs of a pool by the expected information of their judgments."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from scipy.linalg import get_blas_funcs

from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.plugins import ExtensionPoint, a_function
from audiosim.ranking.expected import ExpectedScores
from audiosim.ranking.linear import LinearScores
from audiosim.ranking.ranking import Ranking
from audiosim.stats.arrays import Array, Booleans
from audiosim.stats.normal.roots import factor_of, lower_root, times_lower
from audiosim.stats.threads import one_thread
from audiosim.text import one_line

# Values of judgments of the pairs of a pool, exact or noisy.


@dataclass(frozen=True, eq=False)
class PairValues:
    """Values of exact judgments of n pairs, from which those of noisy judgments follow.

        value of a judgment with noise variance v_d = value of an exact one Var[G_d] / (Var[G_d] + v_d)

    by_noise  (n,) values of exact judgments, each with its share of the draws; the first shows whether any gain is left
    variance  (n,) variance of the gains
    even      share of the draws with equal chances for all pairs, whatever their noise
    open      (n,) pairs that are not judged
    drawn     (n,) numbers that divide the weights; None: the weights are the first values
    """

    by_noise: tuple[tuple[float, Array], ...]
    variance: Array
    open: Booleans
    even: float = 0.0
    drawn: Array | None = None

    def weights(self, noise: Array | None = None) -> Array:
        """(n,) values of judgments.

        noise  (n,) variance that the judging person adds to each gain; None: judgments are exact
        """
        values = [value if noise is None else self._with(noise, value) for _, value in self.by_noise]
        if self.drawn is None or not values[0][self.open].any():
            return values[0]
        shares = [share for share, _ in self.by_noise]
        parts = zip((*shares, self.even), (*values, np.ones(len(self.open))), strict=True)
        return np.asarray(sum(share * self._shared(value) for share, value in parts) / self.drawn)

    def _with(self, noise: Array, value: Array) -> Array:
        both = self.variance + noise
        return value * np.divide(self.variance, both, out=np.zeros(len(both)), where=both > 0)

    def _shared(self, values: Array) -> Array:
        """(n,) values, 0 or more, as shares of their sum over the open pairs; 0 for other pairs."""
        kept = np.where(self.open, values, 0)
        return np.asarray(kept / max(kept.sum(), np.finfo(float).tiny))


EVEN = 0.1  # share of the draws with equal chances for all pairs
SCORED = 0.1  # share of the draws for the scores themselves, not their differences
SETTLED = 0.95  # confidence from which the order of two systems needs no further judgments
CACHED = 200_000  # numbers of a dense block that fits into the processor's cache


class SelectionRule(Protocol):
    """Weighs pairs by the expected information of their judgments.

    Entry-point group `audiosim.selection_rules`: each entry is a function that takes the ExpectedScores of a measure
    in a pool and a seed, and returns a rule for them. Contract: `audiosim.ranking.contract.check_selection_rule`.
    """

    @property
    def name(self) -> str: ...

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        """(n,) present value of a judgment of each pair, 0 or more; values of judged pairs are ignored.

        belief   belief about the n pairs of the pool
        ranking  expected ranking of the systems
        """
        ...


@runtime_checkable
class NoisyRule(Protocol):
    """A selection rule by which a judgment with noise is worth less than an exact one."""

    def values(self, belief: Belief, ranking: Ranking) -> PairValues:
        """Values of judgments of the n pairs; without noise they are the rule's weights."""
        ...


SelectionRuleFactory = Callable[[ExpectedScores, int], SelectionRule]


class AffectedDifferences:
    """Number of pairs of systems with a difference that a judgment affects, weighted by the size of the effect.

        w_d = sum over pairs of systems (a, b) of |discount_a(d) - discount_b(d)|

    divided by the expected sum of the ideal ranking if the measure has one. For CG this counts the pairs of systems in
    which only one retrieved the document. The rule serves to rank the systems. Urbano (2013), section 8.3.
    """

    name = "differences"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected
        self._fixed: Array | None = None

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        if self._fixed is not None:
            return self._fixed
        weights = differences_affected(self._expected.discounted(belief))
        # Without an ideal ranking the discounts do not depend on the judgments.
        if isinstance(self._expected, LinearScores):
            self._fixed = weights
        return weights


def differences_affected(discounts: sparse.csc_array) -> Array:
    """(n,) the sum over pairs of systems of the difference of their discounts.

    discounts  (s, n) sparse, 0 or more

    With the s values of a column sorted, it is the sum of value times (2 position - s + 1), positions from 0; systems
    that did not retrieve the document have value 0 and come first.
    """
    systems, pairs = discounts.shape
    column = np.repeat(np.arange(pairs), np.diff(discounts.indptr))
    value = discounts.data[np.lexsort((discounts.data, column))]
    position = systems - discounts.indptr[column + 1] + np.arange(len(value))
    return np.asarray(np.bincount(column, value * (2 * position - systems + 1), pairs), dtype=np.float64)


class UnsettledDifferences:
    """Pairs of unsettled systems with a difference that a judgment affects, weighted by the confidence in their order.

        w_d = sum over pairs of systems (a, b) with C_ab < SETTLED of  C_ab (discount_a(d) - discount_b(d))^2

    C_ab is the confidence in their order, so pairs close to being settled come first. Once all are settled, every pair
    counts the same. Urbano & Schedl (2013), section 3.4, suggested there for goals that every pair must reach.
    """

    name = "unsettled"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        confidences = ranking.scores.confidences
        shares = np.where(confidences < SETTLED, confidences, 0)
        weights = ranking.scores.square(shares if shares.any() else np.ones(len(shares)))
        return squared_differences(self._expected.discounted(belief), weights)


class VarianceOfScores:
    """Sum of the score variances of the systems that retrieved the document.

        w_d = sum over systems a that retrieved d of Var[score of a]

    The rule serves to estimate the scores themselves. Urbano (2013), section 8.4.
    """

    name = "scores"

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._retrieved = sparse.csr_array(expected.pool.retrieved.T)

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        return np.asarray(self._retrieved @ ranking.scores.variance)


class _ByInformation(ABC):
    """A rule whose weights are the information of judgments on the scores, from their covariances with the gains."""

    def __init__(self, expected: ExpectedScores, _: int = 0) -> None:
        self._expected = expected

    @abstractmethod
    def values(self, belief: Belief, ranking: Ranking) -> PairValues:
        """The parts of the weights, which `next` shows in words."""

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        return self.values(belief, ranking).weights()


class DoubtAboutDifferences(_ByInformation):
    """Expected decrease, by a judgment, of the doubt about the order of two systems, summed over all pairs of systems.

        w_d = 1 / Var[G_d] sum over pairs of systems (a, b) of  f(z_ab)^2 / V_ab (C_ad - C_bd)^2

    z = E / sqrt(V) is a pair's expected difference in standard deviations, f the normal density, and C_ad the
    covariance of the score of a with the gain of d, so information that one document carries on others is included. To
    first order in the share of V that the judgment removes, the weight is the expected fall of the sum of p (1 - p), p
    being the probability that a is better than b. Settled pairs (large z) and well-known documents get weights near 0.
    """

    name = "doubts"

    def values(self, belief: Belief, ranking: Ranking) -> PairValues:
        gains = self._expected.gains(belief)
        doubts = self.of(gains.across(self._expected.slopes(belief)), gains.variance, ranking)
        return PairValues(((1.0, doubts),), gains.variance, ~belief.judged)

    def of(self, across: sparse.csc_array | Array, variance: Array, ranking: Ranking) -> Array:
        """(n,) the weights, from the covariances of the scores with the gains (s, n) and the gains' variances (n,)."""
        difference, uncertain = ranking.scores.differences
        # The difference of systems known to be equal has variance 0, and a judgment cannot remove any doubt.
        open_ = uncertain > 0
        spread = np.where(open_, uncertain, 1)
        doubt = np.where(open_, np.exp(-(difference**2) / spread) / (2 * np.pi * spread), 0)
        return _over(squared_differences(across, ranking.scores.square(doubt)), variance)


class DrawnByDoubt(_ByInformation):
    """Pairs drawn at random, mostly with probabilities in proportion to `doubts`.

        w_d / e_d,   e_d drawn once from the exponential distribution
        w = (1 - EVEN - SCORED) doubts + SCORED variances + EVEN 1,  each over its sum over the unjudged pairs

    Each pair has the largest weight with a probability equal to its share of the sum of w (Efraimidis & Spirakis 2006,
    doi:10.1016/j.ipl.2005.11.003). Always judging the pair of greatest doubt leads to overconfidence, because the
    unjudged pairs are then not a random sample; drawn pairs represent the others. A share of the draws follows the
    information on the scores themselves, and a share is even: documents retrieved by most systems hardly affect
    any difference, and would otherwise never be judged.
    """

    name = "drawn"

    def __init__(self, expected: ExpectedScores, seed: int = 0) -> None:
        super().__init__(expected)
        self._doubts = DoubtAboutDifferences(expected)
        # Drawn once, not per request: a request without an answer changes nothing, and the seed reproduces the order.
        self._drawn = np.random.default_rng(seed).exponential(size=len(expected.pool.pairs))

    def values(self, belief: Belief, ranking: Ranking) -> PairValues:
        gains = self._expected.gains(belief)
        across = gains.across(self._expected.slopes(belief))
        open_ = ~belief.judged
        doubts = self._doubts.of(across, gains.variance, ranking)
        parts = ((1 - EVEN - SCORED, doubts), (SCORED, squares_of(across, gains.variance)))
        return PairValues(parts, gains.variance, open_, EVEN, self._drawn)


class DoubtAboutScores(_ByInformation):
    """Decrease, by a judgment, of the sum of the variances of the systems' scores.

        w_d = 1 / Var[G_d] sum over systems a of C_ad^2

    C_ad is the covariance of the score of a with the gain of d.
    """

    name = "variances"

    def values(self, belief: Belief, ranking: Ranking) -> PairValues:
        gains = self._expected.gains(belief)
        squares = squares_of(gains.across(self._expected.slopes(belief)), gains.variance)
        return PairValues(((1.0, squares),), gains.variance, ~belief.judged)


def squares_of(across: sparse.csc_array | Array, variance: Array) -> Array:
    """(n,) the sum over the systems of C_ad^2 / Var[G_d], from the covariances of scores with gains (s, n)."""
    if isinstance(across, np.ndarray):
        return _over(np.einsum("sn,sn->n", across, across), variance)
    return _over(np.asarray(across.multiply(across).sum(axis=0)).ravel(), variance)


def _over(squares: Array, variance: Array) -> Array:
    """(n,) squared covariances with unknowns, divided by the unknowns' variances; 0 for certain unknowns."""
    return np.divide(squares, variance, out=np.zeros(len(variance)), where=variance > 0)


def squared_differences(across: sparse.csc_array | Array, weights: Array) -> Array:
    """(n,) the sum over pairs of systems (a, b) of weight_ab (u_a - u_b)^2, for each column u of a matrix.

        u' L u = |G' u|^2,  L = diag(sum over b of weight_ab) - weight = G G',  G lower triangular

    across   (s, n)
    weights  (s, s) symmetric, 0 or more, 0 on the diagonal
    """
    systems, pairs = across.shape
    if systems < 2:
        return np.zeros(pairs)
    # Relative to the first system, so that a component common to all systems cancels exactly.
    laplacian = (np.diag(weights.sum(axis=1)) - weights)[1:, 1:]
    root = lower_root(factor_of(laplacian).T).astype(across.dtype)
    values, step = np.empty(pairs), max(1, CACHED // systems)
    by_pair = isinstance(across, np.ndarray) and across.flags.f_contiguous  # the numbers of a pair are adjacent
    work = np.empty((min(step, pairs), systems) if by_pair else (systems - 1, min(step, pairs)), across.dtype)
    if by_pair:
        root = np.pad(root, ((1, 0), (1, 0)))  # adds the difference of the first system from itself, 0
    with one_thread():
        for start in range(0, pairs, step):
            part = across[:, start : start + step]
            block = part if isinstance(part, np.ndarray) else part.toarray()
            found = values[start : start + step]
            if by_pair:
                rooted = times_lower(_less_first(block, work[: len(found)]), root, overwrite=True)
                found[:] = np.einsum("ns,ns->n", rooted, rooted)
            else:
                rooted = root.T @ np.subtract(block[1:], block[0], out=work[:, : len(found)])
                np.einsum("sn,sn->n", rooted, rooted, out=found)
    return values


def _less_first(block: Array, into: Array) -> Array:
    """(m, s) rows of a block (s, m) in Fortran order, less their first numbers."""
    # By BLAS, because NumPy would start a loop for each of the many short rows.
    np.copyto(into, block.T)
    ger = get_blas_funcs("ger", (into,))
    return np.asarray(ger(-1.0, np.ones(len(block), into.dtype), block[0], a=into.T, overwrite_a=1).T)


class Lot:
    """Random order, every pair equally likely: weights drawn once."""

    name = "random"

    def __init__(self, expected: ExpectedScores, seed: int = 0) -> None:
        self._drawn = 1 - np.random.default_rng(seed).random(len(expected.pool.pairs))

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        return self._drawn


class PoolOrder:
    """Order from the top of all rankings down: 1 divided by the best rank at which any system retrieved the document.

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
SELECTION_RULE_POINT: ExtensionPoint[SelectionRuleFactory] = ExtensionPoint(
    "audiosim.selection_rules",
    "selection rule",
    lambda: SELECTION_RULES,
    a_function("a function of expected scores and a seed"),
)


def default_selection_rule(belief: Belief) -> str:
    """Default rule: `drawn` for correlated gains, else the thesis's `differences`."""
    return DrawnByDoubt.name if belief.prior.correlated else AffectedDifferences.name


def make_selection_rule(name: str, expected: ExpectedScores, seed: int = 0) -> SelectionRule:
    """Selection rule by name: one of audiosim's or of an installed package.

    seed  seed of its random draws
    """
    return made_rule(SELECTION_RULE_POINT.find(name), expected, seed)


def made_rule(factory: SelectionRuleFactory, expected: ExpectedScores, seed: int) -> SelectionRule:
    """The selection rule from a factory; an error in the factory becomes one line."""
    try:
        rule = factory(expected, seed)
    except Exception as error:  # foreign code may raise anything
        raise InputError(f"a selection rule cannot be made: {one_line(error)}") from error
    if not isinstance(getattr(rule, "name", None), str) or not rule.name:
        raise InputError("a selection rule must have a name")
    return rule
