"""Expectation of nDCG and RBP, whose scores are relative to the ideal ranking.

The ideal ranking is unknown while judgments are missing, so a score is the ratio of two random sums, X over Y, that
share documents. The ratio is expanded to first order around their means (the delta method):

    E[X / Y] = E[X] / E[Y]
    Var[X / Y] = (E[X] / E[Y])^2 (Var[X] / E[X]^2 + Var[Y] / E[Y]^2 - 2 Cov[X, Y] / (E[X] E[Y]))

Urbano (2013), equations 8.5 to 8.8 and 8.13 to 8.16.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Integers
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.expected.choices import Ideal
from audiosim.expected.ideal import expected_ideal
from audiosim.expected.joint_ratio import GRADE_DRAWS, GRADE_SEED, QueryRatio, Ratios, drawn_ratios, ratios_by_query
from audiosim.expected.linear import (
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
from audiosim.measures.gains import gain_of
from audiosim.measures.measure import Measure
from audiosim.properties import cached_property
from audiosim.relevance.belief import Belief
from audiosim.stats.normal.multivariate import IndependentNormal, Moments, MultivariateNormal
from audiosim.users.satisfaction import SatisfactionMapping


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
    .25 too high, see benchmarks/expected.py. On pools of a dozen documents it is within .0025, with exponential gains
    within .011. With correlated gains `ordered` is simulated, always with the same random draws; see `drawn_ratios`.
    The other forms then correlate numerators and ideals in any case.
    """

    measure: Measure
    pool: Pool
    ideal: Ideal = "ordered"

    draws = None

    def __post_init__(self) -> None:
        if self.ideal not in get_args(Ideal):
            raise InputError(f"unknown ideal {self.ideal!r}, expected one of {', '.join(get_args(Ideal))}")

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
        if before.prior.correlated:
            return self.scores(belief)
        rows = pairs_of_query(self.pool, index)
        (old_mean, old_covariance), (mean, covariance) = (self._sums(known, rows) for known in (before, belief))
        return settled(scores.mean + mean - old_mean, scores.covariance + covariance - old_covariance)

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
        gain = gain_of(self.measure)
        highest = gain(np.array(belief.maximum))
        draws = belief.draw(np.random.default_rng(GRADE_SEED), GRADE_DRAWS)
        gains = ((rows, gain(grades) / highest) for rows, grades in draws)
        mean = self.gains(belief).mean
        weights = np.asarray(self._weights.toarray())
        of, grades = self.pool.coded_beyond
        beyond = of, gain(grades) / highest
        return ratios_by_query(gains, mean, self.pool.query, weights, self._discounts, beyond)

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
