"""Friedman's test and Tukey's honestly significant differences on ranks, as MIREX reports them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr, ndtri

from audiosim.errors import check_between
from audiosim.results.value import frame_of
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.inference.ties import equalised
from audiosim.stats.score_matrix import Differences, check_scores, pair_names

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
    from scipy.stats import studentized_range  # imported here, as most uses need not pay for its start-up time

    check_between("confidence", confidence)
    systems = len(friedman.mean_ranks)
    first, second = np.triu_indices(systems, 1)
    difference = friedman.mean_ranks[first] - friedman.mean_ranks[second]
    error = np.sqrt(friedman.variance / friedman.queries)
    ranges = np.abs(difference) / error if error > 0 else np.zeros(len(difference))
    reach = float(studentized_range.ppf(confidence, systems, np.inf)) * error
    p_value = studentized_range.sf(ranges, systems, np.inf)
    return RankComparison(confidence, first, second, difference, difference - reach, difference + reach, p_value)


def _ranks(matrix: Array) -> Array:
    """(s, q) ranks of the systems within each query, ties sharing the middle rank."""
    from scipy.stats import rankdata

    return rankdata(equalised(matrix), axis=0)


# Agreement of two scorings of the same systems: of their order, ranks and differences.


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Agreement of two scorings of the same systems.

    accuracy          share of pairs of systems in the same order; a tie in only one scoring counts half
    tau               Kendall's correlation a: pairs in the same order less pairs in opposite order, over all pairs
    rho               Spearman's correlation; see `spearman`
    rmse_differences  root mean squared difference of the differences between systems

    Urbano (2013), Table 8.1. For a single system: 1, 1, 1 and 0.
    """

    accuracy: float
    tau: float
    rho: float
    rmse_differences: float


def rank_agreement(one: Array, other: Array) -> RankAgreement:
    """Agreement of the scores (s,) of systems by one and by another measure, or expected and true."""
    a, b = np.triu_indices(len(one), 1)
    if len(a) == 0:
        return RankAgreement(1.0, 1.0, 1.0, 0.0)
    one, other = equalised(one), equalised(other)
    first, second = one[a] - one[b], other[a] - other[b]
    signs = np.sign(first) * np.sign(second)
    tied = (first == 0) & (second == 0)
    return RankAgreement(
        accuracy=float(np.where(tied, 1.0, (1 + signs) / 2).mean()),
        tau=float(signs.mean()),
        rho=spearman(one, other),
        rmse_differences=float(np.sqrt(((first - second) ** 2).mean())),
    )


def spearman(expected: Array, true: Array) -> float:
    """Spearman's correlation of two rankings of the systems, ties sharing the middle rank.

    expected, true  (s,) scores

    1 for a single system; 0 if either ranking has all systems tied.
    """
    if len(true) < 2:
        return 1.0
    # Twice each rank less their mean: the systems below less those above.
    one, other = (np.sign(np.subtract.outer(of, of)).sum(axis=1) for of in map(equalised, (expected, true)))
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / spread if spread > 0 else 0.0


# Wilcoxon's signed ranks: their null distribution, exact or normal, and the shifts it does not reject.


EXACT = 50  # non-zero differences up to which the null distribution is exact, none of them tied
EXACT_TIED = 25  # the same where some are tied: each pattern of ties has its own distribution


@dataclass(frozen=True, slots=True, eq=False)
class SignedRanks:
    """Ranks of the sizes of non-zero differences of pairs of systems, smallest first.

    doubled  (p, q) twice the rank, ties sharing the middle one; 0 for a difference of 0
    sums     (p,) W+, the sum of the ranks of positive differences
    counts   (p,) number of non-zero differences
    ties     (p,) sum over groups of t tied differences of t^3 - t
    """

    doubled: Integers
    sums: Array
    counts: Integers
    ties: Array

    @property
    def exact(self) -> Booleans:
        """(p,) whether the p-value is exact."""
        return np.asarray((self.counts <= EXACT_TIED) | (self.counts <= EXACT) & (self.ties == 0))


def signed_ranks(differences: Differences) -> SignedRanks:
    """Rank the differences; those that differ only by rounding are tied."""
    from scipy.stats import rankdata

    values = differences.values
    zeros: Integers = (values == 0).sum(axis=1)
    sizes = equalised(np.abs(values).T, near=differences.near).T
    ranks = np.where(values == 0, 0.0, rankdata(sizes, axis=1) - zeros[:, None])
    members = rankdata(sizes, "max", axis=1) - rankdata(sizes, "min", axis=1) + 1
    ties: Array = np.where(values == 0, 0.0, members**2 - 1).sum(axis=1)
    sums: Array = np.where(values > 0, ranks, 0).sum(axis=1)
    return SignedRanks(np.rint(2 * ranks).astype(np.int64), sums, values.shape[1] - zeros, ties)


def signed_rank_p_values(ranks: SignedRanks) -> Array:
    """(p,) probability of a W+ as extreme on either side if each sign is equally likely; 1 if all differences are 0.

    Zeros are dropped first, as in Wilcoxon (1945). Exact up to 50 differences without ties and 25 with ties; beyond
    that normal, with the variance reduced by ties and a continuity correction of 1/2, as in R.
    """
    most = ranks.counts * (ranks.counts + 1) / 2
    p_values = np.ones(len(most))
    exact = ranks.exact
    below, above = ranks.sums, most - ranks.sums
    for chosen, tail in ((exact, _exact_tails), (~exact, _normal_tails)):
        if chosen.any():
            some = SignedRanks(ranks.doubled[chosen], ranks.sums[chosen], ranks.counts[chosen], ranks.ties[chosen])
            lower, upper = tail(some, below[chosen]), tail(some, above[chosen])
            p_values[chosen] = np.minimum(1.0, 2 * np.minimum(lower, upper))
    return p_values


def walsh_intervals(differences: Differences, confidence: float) -> tuple[Array, Array, Array]:
    """(p,) each: the pseudo-median of the differences, and the ends of its confidence interval.

    Order statistics of the Walsh averages (d_i + d_j) / 2, i <= j, with their median as the estimate. These are the
    shifts that the test of all q differences would not reject without ties, so with zeros or ties the test and the
    interval can disagree a little about 0. Hollander, Wolfe & Chicken (2014), section 3.3.
    """
    averages = differences.queries * (differences.queries + 1) // 2
    cut = _critical_count(differences.queries, (1 - confidence) / 2)
    places = sorted({max(cut - 1, 0), (averages - 1) // 2, averages // 2, averages - max(cut, 1)})
    i, j = np.triu_indices(differences.queries)
    found = np.empty((len(differences.values), 4))
    for row, values in enumerate(differences.values):
        ordered = np.partition((values[i] + values[j]) / 2, places)
        found[row] = ordered[[max(cut - 1, 0), (averages - 1) // 2, averages // 2, averages - max(cut, 1)]]
    lower = found[:, 0] if cut > 0 else np.full(len(found), -np.inf)
    upper = found[:, 3] if cut > 0 else np.full(len(found), np.inf)
    middles: Array = found[:, 1:3].mean(axis=1)
    return middles, lower, upper


def _exact_tails(ranks: SignedRanks, sums: Array) -> Array:
    """(p,) P(W <= sum) given the ranks."""
    patterns = np.sort(ranks.doubled, axis=1).tolist()
    places = np.rint(2 * sums).astype(np.int64).tolist()
    tails = [_null_tails(tuple(pattern))[place] for pattern, place in zip(patterns, places, strict=True)]
    return np.asarray(np.minimum(np.array(tails), 1.0))


@lru_cache(maxsize=1024)
def _null_tails(doubled: tuple[int, ...]) -> Array:
    """P(2 W <= 0), P(2 W <= 1), ...: each rank is added or left out with probability 1/2."""
    probabilities = np.zeros(sum(doubled) + 1)
    probabilities[0] = 1.0
    for rank in filter(None, doubled):
        probabilities[rank:] += probabilities[:-rank].copy()
        probabilities /= 2
    return np.cumsum(probabilities)


def _normal_tails(ranks: SignedRanks, sums: Array) -> Array:
    n = ranks.counts
    deviation = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48)
    return ndtr((sums + 0.5 - n * (n + 1) / 4) / deviation)


@cache
def _critical_count(queries: int, alpha: float) -> int:
    """Number of values of W from 0 upwards with P(W <= value) <= alpha, without ties or zeros."""
    if queries <= EXACT:
        return int(np.sum(_null_tails(tuple(range(2, 2 * queries + 1, 2)))[::2] <= alpha))
    mean = queries * (queries + 1) / 4
    deviation = np.sqrt(mean * (2 * queries + 1) / 6)
    return max(0, int(np.floor(mean - 0.5 + deviation * ndtri(alpha))) + 1)
