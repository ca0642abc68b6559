"""Expectation of nDCG and RBP, whose scores are relative to the ideal ranking.

The ideal ranking is unknown while judgments are missing, so a score is the ratio of two random sums, X over Y, that
share documents. The ratio is expanded to first order around their means (the delta method):

    E[X / Y] = E[X] / E[Y]
    Var[X / Y] = (E[X] / E[Y])^2 (Var[X] / E[X]^2 + Var[Y] / E[Y]^2 - 2 Cov[X, Y] / (E[X] E[Y]))

Urbano (2013), equations 8.5 to 8.8 and 8.13 to 8.16.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import sparse

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.measures.lists import gain_of
from audiosim.measures.measure import Measure
from audiosim.measures.satisfaction import SatisfactionMapping
from audiosim.ranking.about import Ideal
from audiosim.ranking.linear import (
    gains_of,
    linear_between,
    linear_by_query,
    mean_sample_covariance,
    pairs_of_query,
    rows_by_query,
    sample_covariance,
    settled,
    spread_over_ranks,
)
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import IndependentNormal, Moments, MultivariateNormal
from audiosim.text import choices

# Expected gain of the ideal ranking while judgments are missing.


NOTHING: tuple[Integers, Array] = np.empty(0, dtype=np.int64), np.empty(0)


def expected_ideal(
    belief: Belief,
    gain: Callable[[Array], Array],
    rows: Integers,
    query: Integers,
    discounts: Array,
    beyond: tuple[Integers, Array] = NOTHING,
) -> Array:
    """(q,) expected discounted sum over the best documents of each query, as a share of the highest gain.

        sum over ranks i of  discount_i E[G_(i)]
        E[G_(i)] = integral over t of P(at least i documents gain t or more)

    rows       (m,) all pairs of the q queries
    query      (m,) query of each pair
    discounts  (k,) discounts of the ranks
    beyond     (b,) query and (b,) grade of each judged document that is not among the pairs

    Exact for independent gains. The number of unjudged documents that reach a level is a sum of independent Bernoulli
    variables (Poisson binomial); its distribution is built up document by document, k + 1 numbers per level. The
    number of judged documents that reach it is known.
    """
    highest = gain(np.array(belief.maximum))
    levels = gain(belief.levels) / highest
    judged = belief.judged[rows]
    count, k = int(query.max()) + 1, len(discounts)
    tails = _tails(belief.probabilities[rows[~judged]], query[~judged], count, k)
    of, grades = np.concatenate([query[judged], beyond[0]]), np.concatenate([belief.grades[rows[judged]], beyond[1]])
    known = _best(gain(grades) / highest, of, count, k)
    lengths = _lengths(known, levels)
    # If c judged documents and at least j others gain more than t, the ranks up to c + j are filled.
    filled = np.zeros((k + 1, k + 1))
    for c in range(k + 1):
        filled[c, 0] = discounts[:c].sum()
        filled[c, 1 : k - c + 1] = discounts[c:]
    return np.asarray(np.einsum("cj,jql,cql->q", filled, tails, lengths, optimize=True))


def _tails(probabilities: Array, query: Integers, count: int, k: int) -> Array:
    """(k + 1, q, l + 1) P(at least j unjudged documents reach each level), with one more level above all others.

    probabilities  (u, l) probabilities of the levels of the unjudged documents
    query          (u,)
    """
    reach = np.flip(np.cumsum(np.flip(probabilities, axis=1), axis=1), axis=1)
    order = np.argsort(query, kind="stable")
    sizes = np.bincount(query, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    exactly = np.zeros((k + 1, count, probabilities.shape[1] + 1))
    exactly[0] = 1
    for place in range(int(sizes.max(initial=0))):
        having = np.flatnonzero(sizes > place)
        chance = reach[order[starts[having] + place]]
        moved = exactly[:-1, having, :-1] * chance
        exactly[:-1, having, :-1] -= moved
        exactly[1:, having, :-1] += moved
    return np.flip(np.cumsum(np.flip(exactly, axis=0), axis=0), axis=0)


def _best(gains: Array, query: Integers, count: int, k: int) -> Array:
    """(k, q) best judged gains of each query, padded with 0."""
    order = np.lexsort((-gains, query))
    starts = np.searchsorted(query[order], np.arange(count))
    ranks = np.arange(len(order)) - starts[query[order]]
    best, within = np.zeros((k, count)), ranks < k
    best[ranks[within], query[order[within]]] = gains[order[within]]
    return best


def _lengths(best: Array, levels: Array) -> Array:
    """(k + 1, q, l + 1) length of each step's part, between levels, that exactly c judged documents exceed.

    best    (k, q) falling
    levels  (l,) rising; the steps are from 0 to the first, from each to the next, and from the last to 1
    """
    low, high = np.concatenate([[0.0], levels]), np.concatenate([levels, [1.0]])
    ends = np.ones((1, best.shape[1]))
    edges = np.clip(np.concatenate([ends, best, 0 * ends])[..., None], low, high)
    return np.asarray(edges[:-1] - edges[1:])


# nDCG and RBP with correlated grades: the ideal ranking is simulated, always with the same random draws.


GRADE_DRAWS = 40
GRADE_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Scores relative to the ideal ranking, by simulation.

        score_a = mean over queries of  X_aq / Y_q,   X the discounted sum of gains, Y the same of the best documents

    mean      (s,) expected scores
    slopes    (s, n) mean derivative of each score by each gain
    residual  (s, s) covariance of the part of the scores that the slopes do not explain
    squares   (s, s) sum of x x' over queries and draws, x the scores for one query
    totals    (s, draws) sums of the scores over the queries

    For a normal distribution the mean derivative is the slope of the best linear approximation: Cov[f(G), G] =
    E[f'(G)] Cov[G] (Stein 1981, doi:10.1214/aos/1176345632). The moments of the linear part are known exactly, so it
    serves as a control variate of the mean. Only the covariance of the remainder is simulated and added.
    """

    mean: Array
    slopes: Array
    residual: Array
    squares: Array
    totals: Array


@dataclass(frozen=True, slots=True, eq=False)
class QueryRatio:
    """Scores for one query relative to its ideal ranking, by simulation.

    query       its number
    rows        (m,) places of its pairs
    ratio       (s, draws) scores
    slope       (s, m) mean derivative of each score by each gain
    controlled  (s, draws) scores less their part explained by the slopes: see `Ratios`
    """

    query: int
    rows: Integers
    ratio: Array
    slope: Array
    controlled: Array


def _useful_share(ratio: Array, linear: Array) -> Array:
    """(s,) share of the linear part (s, draws) of the ratios (s, draws) that serves as control variate.

    1 where the ratio varies less without its linear part, otherwise the least-squares coefficient, not below 0. Where
    an ideal is near 0, as by exponential gains, the derivative of a ratio in [0, 1] may be a billion. The linear part
    has a mean of 0, so that draws which miss a rare high gain are far from it.
    """
    both, own = np.vecdot(linear, ratio - ratio.mean(axis=1, keepdims=True)), np.vecdot(linear, linear)
    return np.where(own > 2 * both, np.divide(np.maximum(0, both), own, out=np.zeros(len(own)), where=own > 0), 1)


def drawn_ratios(parts: Iterator[QueryRatio], systems: int, pairs: int, count: int) -> Ratios:
    """Ratios over all queries.

    parts  ratios of each query with any document
    count  number of all queries
    """
    slopes, scores = np.zeros((systems, pairs)), np.zeros(1)
    squares, totals = np.zeros((systems, systems)), np.zeros((systems, 1))
    for one in parts:
        slopes[:, one.rows] = one.slope / count
        squares, totals = squares + one.ratio @ one.ratio.T, totals + one.ratio
        scores = scores + one.controlled / count
    if scores.ndim == 1:
        return Ratios(np.zeros(systems), slopes, np.zeros((systems, systems)), squares, totals)
    return Ratios(scores.mean(axis=1), slopes, np.atleast_2d(np.cov(scores)), squares, totals)


def _of_query(weights: Array, gains: Array, discounts: Array, beyond: Array) -> tuple[Array, Array]:
    """(s, draws) the scores for one query, and (s, m) their mean derivatives.

    weights  (s, m)
    gains    (draws, m)
    beyond   (b,) known gains that also count in the ideal ranking
    """
    retrieved = gains.shape[1]
    weights = np.pad(weights, [(0, 0), (0, len(beyond))])
    gains = np.hstack([gains, np.tile(beyond, (len(gains), 1))])
    draws, pairs = gains.shape
    k = min(len(discounts), pairs)
    best = np.argpartition(-gains, k - 1, axis=1)[:, :k] if k < pairs else np.tile(np.arange(pairs), (draws, 1))
    order = np.argsort(-np.take_along_axis(gains, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    ideal = np.take_along_axis(gains, best, axis=1) @ discounts[:k]
    inverse = np.divide(1, ideal, out=np.zeros(draws), where=ideal > 0)
    ratio = (weights @ gains.T) * inverse
    place = np.zeros(gains.shape)
    np.put_along_axis(place, best, np.broadcast_to(discounts[:k], best.shape), axis=1)
    slope = weights * inverse.mean() - (ratio * inverse) @ place / draws
    return ratio, slope[:, :retrieved]


@dataclass(frozen=True, eq=False)
class _Expansion:
    """Numerators and ideals of some queries, with the gains that they depend on.

    weights  (s, m) sparse: discount of each of m pairs in each system
    gains    gains of the m pairs
    query    (m,) index of each pair's query, out of q
    place    (m,) discount of each pair in the ranking by expected gain, 0 below the cutoff
    ideal    (q,) expected sum of the ideal ranking
    """

    weights: sparse.csc_array
    gains: IndependentNormal
    query: Integers
    place: Array
    ideal: Array

    @cached_property
    def inverse(self) -> Array:
        """(q,) 1 / ideal; 0 for queries without any positive gain, so that the score is 0."""
        return np.divide(1, self.ideal, out=np.zeros(len(self.ideal)), where=self.ideal > 0)

    @cached_property
    def ratios(self) -> Array:
        """(s, q) expected scores."""
        return self.per_query(self.gains.mean) * self.inverse

    def per_query(self, values: Array) -> Array:
        """(s, q) the sums over each query of discount times value.

        values  (m,)
        """
        shape = (len(self.query), len(self.ideal))
        table = sparse.csc_array((values, (np.arange(len(self.query)), self.query)), shape=shape)
        return np.asarray((self.weights @ table).toarray())


@dataclass(frozen=True, eq=False)
class RatioScores:
    """Moments of the systems' mean scores over the queries, for nDCG and RBP relative to the ideal ranking.

    ideal  form of the ideal ranking, and treatment of its uncertainty:
           ordered      E[Y] is the expected sum over the best k documents in order of their true gains, by order
                        statistics of the level probabilities; numerator and ideal are correlated
           correlated   E[Y] is the sum over the k documents expected to be best, which is less; also correlated
           independent  the same E[Y], treated as independent of the numerator: the thesis's form

    On MIREX 2011 `ordered` is within .001 of simulation from the level probabilities, while the other two are .09 to
    .25 too high. On pools of a dozen documents it is within .0025, with exponential gains
    within .011. With correlated gains `ordered` is simulated, always with the same random draws; see `drawn_ratios`.
    The other forms then correlate numerators and ideals in any case.
    """

    measure: Measure
    pool: Pool
    ideal: Ideal = "ordered"

    draws = None

    def __post_init__(self) -> None:
        if self.ideal not in get_args(Ideal):
            raise InputError(f"unknown ideal {self.ideal!r}, expected one of {choices(self.ideal, get_args(Ideal))}")

    @cached_property
    def _discounts(self) -> Array:
        weights = self.measure.rank_weights
        if weights is None:
            raise InputError(f"{self.measure} is not a weighted sum of gains, expected a measure with weights of ranks")
        return weights

    @cached_property
    def _weights(self) -> sparse.csc_array:
        return spread_over_ranks(self.pool, self._discounts)

    def scores(self, belief: Belief) -> Moments:
        every = np.arange(len(self.pool.pairs))
        if not belief.prior.correlated:
            return settled(*self._sums(belief, every))
        if self.ideal != "ordered":
            found = self._expand(belief, every)
            covariance = self.gains(belief).project(self._slopes(found)).covariance
            return settled(found.ratios.sum(axis=1) / len(self.pool.queries), covariance)
        drawn = self._drawn(belief)
        linear = self.gains(belief).project(sparse.csc_array(drawn.slopes)).covariance
        return settled(drawn.mean, linear + drawn.residual)

    def by_query(self, belief: Belief) -> Iterator[tuple[int, Moments]]:
        count, gains = len(self.pool.queries), self.gains(belief)
        if not belief.prior.correlated:
            for code, rows in enumerate(rows_by_query(self.pool)):
                if len(rows):
                    mean, covariance = self._sums(belief, rows)
                    yield code, settled(mean * count, covariance * count**2)
        elif self.ideal != "ordered":
            found = self._expand(belief, np.arange(len(self.pool.pairs)))
            means = dict(zip(np.unique(self.pool.query).tolist(), found.ratios.T, strict=True))
            for code, moments in linear_by_query(self.pool, gains, self._slopes(found)):
                if code in means:
                    yield code, Moments(means[code], moments.covariance)
        else:
            for one in self._drawn_by_query(belief):
                linear = one.slope @ gains.among(one.rows) @ one.slope.T
                residual = np.atleast_2d(np.cov(one.controlled))
                yield one.query, settled(one.controlled.mean(axis=1), linear + residual)

    def between_queries(self, belief: Belief, scores: Moments, mapping: SatisfactionMapping | None = None) -> Array:
        """(s, s) expected sample covariance of the systems' scores over the queries: see `sample_covariance`, or of the
        same draws as the scores.
        """
        if mapping is not None:
            self.satisfied(belief, mapping)
        count, every = len(self.pool.queries), np.arange(len(self.pool.pairs))
        if belief.prior.correlated and self.ideal == "ordered":
            drawn = self._drawn(belief)
            return mean_sample_covariance(drawn.squares, drawn.totals, count)
        found = self._expand(belief, every)
        ratios = np.zeros((len(self.pool.systems), count))
        ratios[:, np.unique(self.pool.query)] = found.ratios
        if not belief.prior.correlated:
            return sample_covariance(ratios, scores.covariance * count**2, scores)
        return linear_between(self.pool, self.gains(belief), self._slopes(found), scores, ratios)

    def satisfied(self, belief: Belief, mapping: SatisfactionMapping) -> Moments:
        raise InputError(f"satisfaction needs scores that do not depend on which pairs are judged, {self.measure} does")

    def after(self, scores: Moments, before: Belief, belief: Belief, index: int) -> Moments:
        """Update the scores after a judgment of the single pair at `index`: those of its query, or of all queries if
        its gain is correlated with theirs.
        """
        if before.prior.correlated or belief.judged.all():
            return self.scores(belief)
        rows = pairs_of_query(self.pool, index)
        (old_mean, old_covariance), (mean, covariance) = (self._sums(known, rows) for known in (before, belief))
        covariance = scores.covariance + covariance - old_covariance
        return settled(scores.mean + mean - old_mean, covariance, scores.variance)

    def slopes(self, belief: Belief) -> sparse.csc_array:
        """(s, n) derivative of each system's mean score by the gain of each pair, at this belief."""
        if belief.prior.correlated and self.ideal == "ordered":
            return sparse.csc_array(self._drawn(belief).slopes)
        return self._slopes(self._expand(belief, np.arange(len(self.pool.pairs))))

    @cached_property
    def _last(self) -> list[tuple[Belief, Ratios]]:
        """Cache of the ratios of the last belief: scores and selection rules use the same one."""
        return []

    def _drawn(self, belief: Belief) -> Ratios:
        if not self._last or self._last[0][0] is not belief:
            size = len(self.pool.systems), len(self.pool.pairs), len(self.pool.queries)
            self._last[:] = [(belief, drawn_ratios(self._drawn_by_query(belief), *size))]
        return self._last[0][1]

    def _drawn_by_query(self, belief: Belief) -> Iterator[QueryRatio]:
        """Ratios of drawn gains, query by query; a query without any document of positive gain scores 0."""
        gain, query, mean = gain_of(self.measure), self.pool.query, self.gains(belief).mean
        weights, highest = np.asarray(self._weights.toarray()), gain(np.array(belief.maximum))
        of, beyond = self.pool.coded_beyond
        for rows, grades in belief.draw(np.random.default_rng(GRADE_SEED), GRADE_DRAWS):
            for code in np.unique(query[rows]).tolist():
                own = query[rows] == code
                part, values = rows[own], gain(grades[:, own]) / highest
                ratio, slope = _of_query(weights[:, part], values, self._discounts, gain(beyond[of == code]) / highest)
                linear = slope @ (values - mean[part]).T
                share = _useful_share(ratio, linear)[:, None]
                yield QueryRatio(code, part, ratio, share * slope, ratio - share * linear)

    def _slopes(self, found: _Expansion) -> sparse.csc_array:
        """The slopes of an expansion of all queries."""
        placed = np.flatnonzero(found.place)
        scale = found.inverse[found.query] / len(self.pool.queries)
        moved = found.ratios[:, found.query[placed]] * (found.place * scale)[placed]
        columns = np.tile(placed, len(moved))
        rows = np.repeat(np.arange(len(moved)), len(placed))
        ideal = sparse.csc_array((moved.ravel(), (rows, columns)), shape=found.weights.shape)
        return sparse.csc_array(found.weights * scale - ideal)

    def gains(self, belief: Belief) -> MultivariateNormal:
        return gains_of(self.measure, belief)

    def discounted(self, belief: Belief) -> sparse.csc_array:
        """(s, n) the discount at which each system retrieved each pair, over the expected sum of the ideal ranking."""
        found = self._expand(belief, np.arange(len(self.pool.pairs)))
        return sparse.csc_array(found.weights * found.inverse[found.query])

    def _expand(self, belief: Belief, rows: Integers) -> _Expansion:
        """Numerators and ideals of some queries, given by their pairs; `rows` holds all pairs of a query or none."""
        codes, query = np.unique(self.pool.query[rows], return_inverse=True)
        every, gain = gains_of(self.measure, belief), gain_of(self.measure)
        gains = IndependentNormal(every.mean[rows], every.variance[rows])
        of, grades = self.pool.coded_beyond
        own = np.isin(of, codes)
        of, grades = np.searchsorted(codes, of[own]), grades[own]
        means = np.concatenate([gains.mean, gain(grades) / gain(np.array(belief.maximum))])
        place = self._place(means, of_all := np.concatenate([query, of]))
        if self.ideal == "ordered":
            ideal = expected_ideal(belief, gain, rows, query, self._discounts, (of, grades))
        else:
            ideal = np.asarray(np.bincount(of_all, place * means, len(codes)), dtype=np.float64)
        return _Expansion(sparse.csc_array(self._weights[:, rows]), gains, query, place[: len(rows)], ideal)

    def _place(self, mean: Array, query: Integers) -> Array:
        """(m,) the discount of each pair in its query's ranking by expected gain, 0 below the cutoff."""
        order = np.lexsort((-mean, query))
        starts = np.searchsorted(query[order], np.arange(query.max() + 1))
        ranks = np.arange(len(order)) - starts[query[order]]
        place = np.zeros(len(order))
        within = ranks < len(self._discounts)
        place[order[within]] = self._discounts[ranks[within]]
        return place

    def _sums(self, belief: Belief, rows: Integers) -> tuple[Array, Array]:
        """(s,) mean and (s, s) covariance of the sums of scores over some queries, over the number of all."""
        found = self._expand(belief, rows)
        count, variance = len(self.pool.queries), found.gains.variance
        square = found.inverse**2
        scaled = IndependentNormal(found.gains.mean, variance * square[found.query])
        covariance = scaled.project(found.weights).covariance
        ideals = np.bincount(found.query, found.place**2 * variance, len(square)) * square
        covariance += (found.ratios * ideals) @ found.ratios.T
        if self.ideal != "independent":
            shared = found.ratios @ (found.per_query(found.place * variance) * square).T
            covariance -= shared + shared.T
        return found.ratios.sum(axis=1) / count, covariance / count**2
