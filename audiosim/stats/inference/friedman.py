"""Friedman's test and Tukey's honestly significant differences on ranks, as MIREX reports them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr

from audiosim.arrays import Array, Integers
from audiosim.display import frame_of
from audiosim.errors import InputError
from audiosim.stats.inference.middle_ranks import middle_ranks
from audiosim.stats.inference.score_matrix import check_scores, pair_names
from audiosim.stats.inference.ties import nearness

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Friedman:
    """Result of Friedman's test: do all systems rank equally well over the queries?

    mean_ranks  (s,) mean ranks from 1, worst on every query, to s, best on every query
    statistic   chi-squared
    freedom     its degrees of freedom, s - 1
    p_value     p-value from the chi-squared distribution
    variance    variance of the ranks within a query, (s^2 + s) / 12 without ties
    queries     number of queries
    """

    mean_ranks: Array
    statistic: float
    freedom: int
    p_value: float
    variance: float
    queries: int


@dataclass(frozen=True, slots=True, eq=False)
class RankComparison:
    """Tukey's comparison of the mean ranks of all pairs of systems.

    confidence  simultaneous, of all intervals together
    first       (p,) row of one system in the scores
    second      (p,) row of the other system
    difference  (p,) mean rank of the first minus that of the second: above 0 if the first is better
    lower       (p,) ends of simultaneous intervals
    upper       (p,)
    p_value     (p,) already adjusted for all pairs
    """

    confidence: float
    first: Integers
    second: Integers
    difference: Array
    lower: Array
    upper: Array
    p_value: Array

    def to_frame(self, systems: Sequence[str] | None = None) -> "pd.DataFrame":
        """Table with one row per pair: the columns of MIREX's tables, and the p-value.

        systems  (s,) names of the systems; their row numbers in the scores if None
        """
        return frame_of(
            pair_names(self.first, self.second, systems)
            | {
                "lower": self.lower,
                "difference": self.difference,
                "upper": self.upper,
                "significant": self.p_value <= 1 - self.confidence,
                "p_value": self.p_value,
            }
        )


def friedman_test(scores: ArrayLike) -> Friedman:
    """Friedman's test of the scores of all systems.

        n sum over systems of (mean rank - (s + 1) / 2)^2 / variance of the ranks within a query

    scores  (s, q) finite

    Scores of a query that differ by rounding alone share the middle rank; the variance corrects for ties.
    If all scores of every query are tied, the statistic is 0 and p is 1. Friedman (1937), doi:10.2307/2279372.
    """
    matrix = check_scores(scores)
    systems, queries = matrix.shape
    ranks = _ranks(matrix)
    deviations = ranks - (systems + 1) / 2
    variance = float(np.sum(deviations**2) / (queries * (systems - 1)))
    statistic = float(queries * np.sum(deviations.mean(axis=1) ** 2) / variance) if variance > 0 else 0.0
    p_value = float(chdtrc(systems - 1, statistic))
    return Friedman(ranks.mean(axis=1), statistic, systems - 1, p_value, variance, queries)


def tukey_test(friedman: Friedman, confidence: float = 0.95) -> RankComparison:
    """Tukey's honestly significant differences of mean ranks, after Friedman's test.

        |difference| / sqrt(variance / n)  is a studentised range of s normal values, variance known

    friedman    Friedman's test of the same scores
    confidence  simultaneous, of all intervals together, between 0 and 1

    The variance is that of the ranks within queries, not an estimated error. The result for two systems therefore
    depends on the other systems that took part. Tukey-Kramer on ranks, as in Matlab's multcompare.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence:g}")
    systems = len(friedman.mean_ranks)
    first, second = np.triu_indices(systems, 1)
    difference = friedman.mean_ranks[first] - friedman.mean_ranks[second]
    error = np.sqrt(friedman.variance / friedman.queries)
    ranges = np.abs(difference) / error if error > 0 else np.zeros(len(difference))
    reach = studentised_range_quantile(confidence, systems) * error
    p_value = studentised_range_tail(ranges, systems)
    return RankComparison(confidence, first, second, difference, difference - reach, difference + reach, p_value)


def studentised_range_tail(values: Array, count: int) -> Array:
    """(m,) P(range of independent standard normal values > value).

        count * integral of phi(z) (Phi(z)^(count - 1) - (Phi(z) - Phi(z - value))^(count - 1)) dz

    values  (m,) 0 or more
    count   number of normal values, at least 2

    This is the studentised range with infinite degrees of freedom. The integral is computed by the trapezoid rule,
    whose error falls exponentially for this integrand.
    """
    z = np.arange(-9.0, 40.0, 0.05)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    below = ndtr(z)
    tails = np.empty(len(values))
    # The difference of powers by expm1 and log1p: for small tails the two powers agree in nearly all their digits.
    for place, value in enumerate(values.tolist()):
        beyond = np.minimum(ndtr(z - value) / below, 1 - 1e-16)
        tails[place] = -np.sum(density * below ** (count - 1) * np.expm1((count - 1) * np.log1p(-beyond)))
    return np.where(values == 0, 1.0, np.clip(0.05 * count * tails, 0.0, 1.0))


def studentised_range_quantile(probability: float, count: int) -> float:
    """Quantile of the range of `count` independent standard normal values."""
    from scipy.optimize import brentq  # imported here, as most uses need not pay for its start-up time

    excess = lambda value: float(studentised_range_tail(np.array([value]), count)[0]) - (1 - probability)  # noqa: E731
    return float(brentq(excess, 0.0, 60.0, xtol=1e-12))


def _ranks(matrix: Array) -> Array:
    """(s, q) ranks of the systems within each query, ties sharing the middle rank."""
    near = nearness(matrix)
    order = np.argsort(matrix, axis=0, kind="stable")
    rising = np.take_along_axis(matrix, order, axis=0)
    steps = np.concatenate([np.zeros((1, matrix.shape[1])), np.diff(rising, axis=0) > near])
    groups = np.empty_like(matrix)
    np.put_along_axis(groups, order, np.cumsum(steps, axis=0), axis=0)
    ranks: Array = middle_ranks(groups, axis=0)
    return ranks
