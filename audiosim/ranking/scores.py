"""Expected scores of systems with their joint distribution: differences, confidences and intervals."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from audiosim.ranking.about import DifferenceDistribution, check_named
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.inference.ties import equalised, nearness, shared_ranks
from audiosim.stats.normal.multivariate import Moments, variance_of_differences
from audiosim.stats.score_matrix import bounded_mean

Reach = Callable[[], tuple[Array, Array]]


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores(Moments):
    """Moments of the s mean scores of systems over some queries, whose means that differ by rounding alone are equal.

    queries       number of queries
    pool          number of pairs in the pool
    bounded       True if the measure is: the scores lie in [0, 1]
    distribution  for mean scores and differences: Student's t as in the thesis, or normal as in
                  Urbano & Schedl (2013), equations 6 to 8
    correlated    True if the gains were modelled as correlated; otherwise the variances are too small
    draws         number of draws behind the moments; None if they were computed without drawing
    sampling      (s, s) part of the covariance due to the queries being a sample of their kind; None for scores on
                  these queries
    reach         makes the lowest and the highest score that each system can have, (s,) each; None: 0 to 1, or any
                  score above 0 if the measure is unbounded
    """

    queries: int
    pool: int
    bounded: bool = True
    distribution: DifferenceDistribution = "t"
    correlated: bool = False
    draws: int | None = None
    sampling: Array | None = None
    reach: Reach | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_named(self.distribution, "distribution", DifferenceDistribution)
        object.__setattr__(self, "mean", equalised(self.mean, self.bounded))

    @cached_property
    def order(self) -> Integers:
        """(s,) the systems by expected score, best first; equal ones in the order of the runs."""
        return np.argsort(-self.mean, kind="stable")

    @property
    def ranks(self) -> Integers:
        """(s,) rank of each system by expected score, 1 for the best; equal ones share it."""
        return shared_ranks(self.mean)

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The better and the worse system of every pair, (p,) each, p = s (s - 1) / 2, best first."""
        better, worse = np.triu_indices(len(self.mean), 1)
        return self.order[better], self.order[worse]

    def square(self, values: Array) -> Array:
        """(s, s) values of the pairs (p,), of both orders of two systems; 0 on the diagonal."""
        found = np.zeros((len(self.mean),) * 2)
        found[self.pairs] = values
        return found + found.T

    def place_of(self, i: int, j: int) -> int:
        """Place of two systems among the pairs, in either order."""
        (i, j), (first, second) = sorted((i, j)), self.pairs
        low, high = np.minimum(first, second), np.maximum(first, second)
        return int(np.flatnonzero((low == i) & (high == j))[0])

    @cached_property
    def differences(self) -> tuple[Array, Array]:
        """(p,) expectation and (p,) variance of the difference of each pair, better minus worse.

        E = mu_a - mu_b, Var = S_aa + S_bb - 2 S_ab: a document in both lists cancels.
        Urbano (2013), equations 8.11 and 8.12.
        """
        better, worse = self.pairs
        difference = variance_of_differences(self.covariance, better, worse)
        rounding = (self.variance[better] + self.variance[worse]) * self.pool * np.finfo(float).eps
        return self.mean[better] - self.mean[worse], np.where(difference > rounding, difference, 0)

    @cached_property
    def tied(self) -> Booleans:
        """(p,) pairs of systems known to be equal, such as one run under two names; these have no order."""
        expectation, variance = self.differences
        return np.asarray((variance == 0) & (expectation == 0))

    @cached_property
    def firsts(self) -> Integers:
        """(s,) place of the first system known to be equal to each one, which may be itself."""
        places, tied = np.arange(len(self.mean)), self.tied
        np.minimum.at(places, self.pairs[1][tied], self.pairs[0][tied])
        return places

    @cached_property
    def confidences(self) -> Array:
        """(p,) the confidence in the order of each pair, in [1/2, 1].

            F_t(E / sqrt(Var)), with (queries - 1) degrees of freedom

        1 for a pair whose difference is known, even if it is 0. Urbano (2013), equation 8.20, with the sign corrected;
        a single query gets one degree of freedom, the widest t distribution.
        """
        return np.where(self.tied, 1.0, self.above(0.0))

    def above(self, size: float) -> Array:
        """(p,) probability that the better of each pair is better by more than `size`; 1/2 if the difference equals it.

        F_t((E - size) / sqrt(Var))
        """
        return self._positive(self.differences[0] - size)

    def larger(self, size: float) -> Array:
        """(p,) probability that a pair differs by more than `size` in either direction: P(|difference| > size)."""
        return self.above(size) + self._positive(-self.differences[0] - size)

    def settled(self, size: float) -> Array:
        """(p,) the probability of the likeliest of three verdicts: better by more than `size`, worse, or neither.

        With a size of 0 these are the confidences.
        """
        above, below = self.above(size), self._positive(-self.differences[0] - size)
        return np.where(self.tied, 1.0, np.maximum(above, np.maximum(below, 1 - above - below)))

    def cumulative(self, expectation: float, variance: float) -> float:
        """P(a difference > 0) by its expectation and variance; a known tie gives 1/2."""
        if variance <= 0:
            return float(self._known(np.array(expectation)))
        return float(self.cumulated(np.array(expectation / np.sqrt(variance))))

    def _positive(self, expectation: Array) -> Array:
        """(p,) P(value > 0) for values with these expectations and the variances of the differences."""
        variance = self.differences[1]
        deviation = np.sqrt(np.where(variance > 0, variance, 1))
        return np.where(variance > 0, self.cumulated(expectation / deviation), self._known(expectation))

    def _known(self, values: Array) -> Array:
        """P(value > 0) for known values: 0 or 1, and 1/2 for those that are 0 but for rounding."""
        return np.where(np.abs(values) <= nearness(self.mean), 0.5, values > 0)

    def cumulated(self, deviations: Array) -> Array:
        """P(a score is at most this many standard deviations above its expectation)."""
        if self.distribution == "normal":
            return np.asarray(ndtr(deviations))
        return np.asarray(stdtr(self.freedom, deviations))

    def quantile(self, level: float) -> float:
        """Half-width, in standard deviations, of a central interval of this level."""
        return self.critical((1 + level) / 2)

    def mean_of_open(self, values: Array) -> float | None:
        """Mean of values (p,) over the pairs of systems not known to be equal; None if there is none."""
        return None if self.tied.all() else float(values[~self.tied].mean())

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """(s,) low and (s,) high end of each system's score, in the order of `systems`.

            E +- t sqrt(Var), with (queries - 1) degrees of freedom; cut to `bounds`

        Urbano (2013), equation 8.19, for these queries. For queries of this kind and bounded scores see `bounded_mean`:
        with everything judged the intervals are those of `evaluate`. Systems known to be equal have the same interval.
        """
        low, high = self._interval(level)
        return low[self.firsts], high[self.firsts]

    def _interval(self, level: float) -> tuple[Array, Array]:
        if self.sampling is not None and self.bounded:
            sampled = np.diagonal(self.sampling)
            further = np.maximum(0, self.variance - sampled)
            return bounded_mean(self.mean, sampled * self.queries, self.queries, further, level)
        return self._within(self.mean, self.variance, *self.bounds, level)

    def _within(self, mean: Array, variance: Array, least: Array, most: Array, level: float) -> tuple[Array, Array]:
        half = self.quantile(level) * np.sqrt(variance)
        # An approximate mean may lie outside; its interval contains it all the same.
        return np.minimum(mean, np.maximum(least, mean - half)), np.maximum(mean, np.minimum(most, mean + half))

    def difference_interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """(p,) low and (p,) high end of the difference of each pair, better minus worse.

        E +- t sqrt(Var), with (queries - 1) degrees of freedom; cut to the differences within `bounds`
        """
        (low, high), (better, worse) = self.bounds, self.pairs
        return self._within(*self.differences, low[better] - high[worse], high[better] - low[worse], level)

    @property
    def p_values(self) -> Array:
        """(p,) two-sided p-value of the hypothesis that the two of a pair are equal: 2 (1 - confidence), and 1 if tied.

        With everything judged, on queries of this kind, that of the paired t-test.
        """
        return 2 * self._positive(-self.differences[0])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """(s,) the lowest and (s,) the highest score that each system can have, given the judgments."""
        if self.reach is not None:
            return self.reach()
        none = np.zeros(len(self.mean))
        return none, none + (1.0 if self.bounded else np.inf)

    @property
    def errors(self) -> Array | None:
        """(s,) standard error of each expected score that comes from drawing grades; None where none were drawn.

        sqrt(Var / draws), the same for systems known to be equal
        """
        return None if self.draws is None else np.sqrt(self.variance[self.firsts] / self.draws)

    def critical(self, level: float) -> float:
        """Standard deviations that a difference must exceed for a verdict of this confidence."""
        return float(ndtri(level) if self.distribution == "normal" else stdtrit(self.freedom, level))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of Student's t: the number of queries less 1, at least 1."""
        return max(1, self.queries - 1)

    def wider(self, factor: float) -> "SystemScores":
        """The scores with the deviations due to missing judgments multiplied by a factor.

        The variation between queries is observed in the scores themselves and stays the same.
        """
        if factor == 1:
            return self  # keeps its cached properties
        sampling = 0 if self.sampling is None else self.sampling
        return replace(self, covariance=(self.covariance - sampling) * factor**2 + sampling)

    def moved(self, scores: Moments) -> "SystemScores":
        """The same with other moments."""
        return replace(self, mean=scores.mean, covariance=scores.covariance)

    def of_this_kind(self, between: Array) -> "SystemScores":
        """Scores on queries of this kind, from those on these queries.

            Var[difference] = Var[mean of d | judgments] + E[sample variance of d | judgments] / queries

        d is the difference of two systems on one query. This is the law of total variance, for queries that are a
        random sample of their kind. With everything judged the first term is 0, and the confidence is one minus the
        one-sided p-value of the paired t-test.

        between  (s, s) expected sample covariance of the scores over the queries; see `ExpectedScores.between_queries`
        """
        sampling = between / self.queries
        return replace(self, covariance=self.covariance + sampling, sampling=sampling, reach=None)

    @property
    def of_these(self) -> "SystemScores":
        """Scores on these queries alone: missing judgments are the only uncertainty."""
        if self.sampling is None:
            return self
        return replace(self, covariance=self.covariance - self.sampling, sampling=None)
