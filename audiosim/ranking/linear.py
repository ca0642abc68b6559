"""Exact expectations of measures that are weighted sums of gains."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from audiosim.collection.pool import Pool
from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.measures.lists import gain_of, linear_gain
from audiosim.measures.measure import Measure, score
from audiosim.measures.satisfaction import SatisfactionMapping
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import Moments, MultivariateNormal
from audiosim.stats.normal.roots import ROUNDING


def weights_of_ranks(measure: Measure, scale: Scale) -> Array:
    """(cutoff,) score of a list with one document of the highest grade, at each rank, and gain 0 elsewhere.

    measure  a weighted sum of gains: its scores are proportional to its `rank_weights`
    """
    weights = measure.rank_weights
    assert weights is not None
    first = np.where(np.arange(measure.cutoff) == 0, scale.maximum, 0.0)
    highest = score(measure, scale, first[None], np.zeros((1, 1)))
    return np.asarray(weights * (highest / weights[0]))


def spread_over_ranks(pool: Pool, weights: Array) -> sparse.csc_array:
    """(s, n) sparse: the weight of the rank at which each system retrieved each pair.

    weights  (cutoff,) one for each rank
    """
    check_cutoff(pool, len(weights))
    spread = weights[pool.ranks.data - 1]
    return sparse.csr_array((spread, pool.ranks.indices, pool.ranks.indptr), shape=pool.ranks.shape).tocsc()


def check_cutoff(pool: Pool, cutoff: int) -> None:
    """Refuse a pool with another cutoff than the measure's, as documents below the cutoff must not count."""
    if pool.cutoff != cutoff:
        raise InputError(
            f"a measure at {cutoff} needs the pool of the top {cutoff}, this one is of the top {pool.cutoff}"
        )


def gains_of(measure: Measure, belief: Belief) -> MultivariateNormal:
    """Posterior of the pairs' gains under a measure, as shares of the highest gain, with means on the scale."""
    gain = gain_of(measure)
    return belief.on_scale if gain is linear_gain else belief.gains_as(gain)


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Moments of the systems' mean scores over the queries, for a measure that is linear in the gains.

        E = W mu,  Var = W Sigma W',  W[a, d] = weight of the rank of d in a / number of queries

    Exact for any covariance of the gains. Urbano (2013), equations 8.9 to 8.14 and 8.17 to 8.18; a document
    retrieved by two systems cancels in their difference. A system that retrieved fewer documents than
    the cutoff, or nothing for a query, gains 0 there.
    """

    measure: Measure
    pool: Pool

    draws = None

    @cached_property
    def weights(self) -> sparse.csc_array:
        """(s, n) sparse: W."""
        spread = spread_over_ranks(self.pool, weights_of_ranks(self.measure, self.pool.scale))
        return sparse.csc_array(spread / len(self.pool.queries))

    def scores(self, belief: Belief) -> Moments:
        return self.gains(belief).project(self.weights)

    def by_query(self, belief: Belief) -> Iterator[tuple[int, Moments]]:
        yield from linear_by_query(self.pool, self.gains(belief), self.weights)

    def between_queries(self, belief: Belief, scores: Moments, mapping: SatisfactionMapping | None = None) -> Array:
        """(s, s) expected sample covariance of the systems' scores over the queries; see `sample_covariance`."""
        if mapping is not None:
            means, bent, slopes = self._mapped(belief, mapping)
            linear = linear_between(self.pool, self.gains(belief), slopes, scores, means)
            return linear + bent / (len(self.pool.queries) - 1)
        return linear_between(self.pool, self.gains(belief), self.weights, scores)

    def satisfied(self, belief: Belief, mapping: SatisfactionMapping) -> Moments:
        """(s,) moments of the mean over the queries of the shares of users whom the scores satisfy.

            E[f(x)] = a0 + a1 m + a2 (m^2 + v) + a3 (m^3 + 3 m v),   f the mapping, x a query's score with moments m, v
            Cov[f(x), f(y)] = E f'(x) E f'(y) c + E f"(x) E f"(y) c^2 / 2 + (6 a3)^2 c^3 / 6,   c = Cov[x, y]

        Exact for a cubic of normal scores, by Hermite polynomials. Between queries, whose scores correlate weakly, only
        the first term of the covariance is used. It is the mean of f, not f of the mean: Urbano (2013), equation 4.4.
        """
        means, bent, slopes = self._mapped(belief, mapping)
        linear = self.gains(belief).project(slopes).covariance
        return settled(means.mean(axis=1), linear + bent / len(self.pool.queries) ** 2)

    def _mapped(self, belief: Belief, mapping: SatisfactionMapping) -> tuple[Array, Array, sparse.csc_array]:
        """(s, q) expected shares of users for each query, (s, s) summed nonlinear terms of their covariance, and (s, n)
        the slopes of the mean shares.
        """
        gains, count, weights = self.gains(belief), len(self.pool.queries), self.weights
        _, first, second, third = mapping.coefficients
        means, bent = np.empty((weights.shape[0], count)), np.zeros((weights.shape[0],) * 2)
        slopes = np.zeros(weights.shape)
        for code, rows in enumerate(rows_by_query(self.pool)):
            own = weights[:, rows].toarray() * count
            score, among = own @ gains.mean[rows], own @ gains.among(rows) @ own.T
            variance, bend = np.diagonal(among), 2 * second + 6 * third * score
            means[:, code] = mapping.cubic(score) + variance * bend / 2
            slope = first + 2 * second * score + 3 * third * (score**2 + variance)
            slopes[:, rows] = slope[:, None] * own / count
            bent += np.outer(bend, bend) * among**2 / 2 + 6 * third**2 * among**3
        return means, bent, sparse.csc_array(slopes)

    def after(self, scores: Moments, before: Belief, belief: Belief, index: int) -> Moments:
        """Rank-one update of the scores after a judgment of the single pair at `index`.

        W mean,  Cov - W c c' W' / c_i,   c the covariance of the pair's gain with all gains
        """
        column = self.gains(before).column(index)
        linear = gain_of(self.measure) is linear_gain or np.count_nonzero(column) < 2
        if not linear or column[index] <= 0:  # nonlinear: other gains change differently; 0: already judged
            return self.scores(belief)
        moved, mean = self.weights @ column, self.weights @ self.gains(belief).mean
        return settled(mean, scores.covariance - np.outer(moved, moved / column[index]), scores.variance)

    def slopes(self, belief: Belief) -> sparse.csc_array:
        return self.weights

    def gains(self, belief: Belief) -> MultivariateNormal:
        return gains_of(self.measure, belief)

    def discounted(self, belief: Belief) -> sparse.csc_array:
        """(s, n) the discount at which each system retrieved each pair, 1 at the first rank of CG and DCG."""
        return sparse.csc_array(self.weights / self.weights.data.max(initial=1e-300))


def rows_by_query(pool: Pool) -> list[Integers]:
    """The pairs of each query, rising."""
    order = np.argsort(pool.query, kind="stable")
    return np.split(order, np.cumsum(np.bincount(pool.query, minlength=len(pool.queries)))[:-1])


def linear_by_query(pool: Pool, gains: MultivariateNormal, weights: sparse.csc_array) -> Iterator[tuple[int, Moments]]:
    """Number of each query, and (s,) moments of scores for it that are weighted sums of gains.

    weights  (s, n) sparse: weights of the gains in the mean scores
    """
    for code, rows in enumerate(rows_by_query(pool)):
        own = weights[:, rows].toarray() * len(pool.queries)
        yield code, settled(own @ gains.mean[rows], own @ gains.among(rows) @ own.T)


def sample_covariance(means: Array, within: Array, scores: Moments) -> Array:
    """(s, s) expected sample covariance, over q queries, of uncertain scores.

        E = (sum over queries of (M_q - M)(M_q - M)' + C_q  -  q Cov[mean]) / (q - 1)

    The sum of squares about the mean equals the sum of squared scores less q times their squared mean; uncertainty adds
    a covariance to each of the two terms. Positive correlation between queries makes the result smaller.

    means   (s, q) expected scores M_q
    within  (s, s) sum over queries of the covariance C_q of the scores for one
    scores  moments of the mean scores
    """
    count = means.shape[1]
    off = means - means.mean(axis=1, keepdims=True)
    found = (off @ off.T + within - count * scores.covariance) / (count - 1)
    return _settled((found + found.T) / 2, np.vecdot(means, means) / (count - 1))


def linear_between(
    pool: Pool, gains: MultivariateNormal, weights: sparse.csc_array, scores: Moments, means: Array | None = None
) -> Array:
    """(s, s) `sample_covariance` of scores that are weighted sums of gains.

    weights  (s, n) sparse: weights of the gains in the mean scores
    means    (s, q) expected scores, if they are not weighted sums of the expected gains
    """
    systems = weights.shape[0]
    within, linear = np.zeros((systems, systems)), np.empty((systems, len(pool.queries)))
    for code, moments in linear_by_query(pool, gains, weights):
        linear[:, code] = moments.mean
        within += moments.covariance
    return sample_covariance(linear if means is None else means, within, scores)


def mean_sample_covariance(squares: Array, totals: Array, queries: int) -> Array:
    """(s, s) mean, over draws, of the sample covariance of drawn scores over the queries.

    squares  (s, s) sum of x x' over queries and draws, x the scores (s,) for one query
    totals   (s, draws) sums of the scores over the queries
    """
    draws = totals.shape[1]
    found = (squares - totals @ totals.T / queries) / draws / (queries - 1)
    return _settled((found + found.T) / 2, np.diagonal(squares) / draws / (queries - 1))


def settled(mean: Array, covariance: Array, before: Array | float = 0.0) -> Moments:
    """Moments in which variances that are 0 but for rounding, and covariances with them, are 0.

    before  (s,) variances from which these were reduced
    """
    return Moments(mean, _settled(covariance, before))


def _settled(covariance: Array, before: Array | float) -> Array:
    known = np.diagonal(covariance) <= ROUNDING * before
    covariance[known] = covariance[:, known] = 0
    return covariance


def pairs_of_query(pool: Pool, index: int) -> Integers:
    """All pairs of the query of one pair."""
    return np.flatnonzero(pool.query == pool.query[index])
