"""Wilcoxon's signed ranks: their null distribution, exact or normal, and the shifts it does not reject."""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from audiosim.arrays import Array, Booleans, Integers
from audiosim.stats.inference.score_matrix import Differences

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
        few: Booleans = (self.counts <= EXACT_TIED) | (self.counts <= EXACT) & (self.ties == 0)
        return few


def signed_ranks(differences: Differences) -> SignedRanks:
    """Rank the differences; those that differ only by rounding are tied."""
    values = differences.values
    zero = values == 0
    sizes = np.where(zero, -np.inf, np.abs(values))
    order = np.argsort(sizes, axis=1, kind="stable")
    rising = np.take_along_axis(np.where(zero, -1.0, sizes), order, axis=1)
    starts = np.column_stack([np.full(len(values), True), np.diff(rising, axis=1) > differences.near])
    group = np.cumsum(starts) - 1
    members = np.bincount(group)
    columns = np.tile(np.arange(values.shape[1]), len(values))
    middle = np.bincount(group, weights=columns) / members + 1
    zeros: Integers = zero.sum(axis=1)
    doubled = np.empty(values.shape, dtype=np.int64)
    ranks = middle[group].reshape(values.shape) - zeros.reshape(-1, 1)
    np.put_along_axis(doubled, order, np.rint(2 * ranks).astype(np.int64), axis=1)
    doubled[zero] = 0
    counted = rising[starts] >= 0
    cubes = np.where(counted, members.astype(float) ** 3 - members, 0.0)
    ties: Array = np.bincount(np.nonzero(starts)[0], weights=cubes, minlength=len(values)).astype(float)
    sums: Array = np.where(values > 0, doubled, 0).sum(axis=1) / 2
    return SignedRanks(doubled, sums, values.shape[1] - zeros, ties)


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
    capped: Array = np.minimum(np.array(tails), 1.0)
    return capped


@lru_cache(maxsize=1024)
def _null_tails(doubled: tuple[int, ...]) -> Array:
    """P(2 W <= 0), P(2 W <= 1), ...: each rank is added or left out with probability 1/2."""
    probabilities = np.zeros(sum(doubled) + 1)
    probabilities[0] = 1.0
    for rank in filter(None, doubled):
        probabilities[rank:] += probabilities[:-rank].copy()
        probabilities /= 2
    tails: Array = np.cumsum(probabilities)
    return tails


def _normal_tails(ranks: SignedRanks, sums: Array) -> Array:
    n = ranks.counts
    deviation = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48)
    tails: Array = ndtr((sums + 0.5 - n * (n + 1) / 4) / deviation)
    return tails


@cache
def _critical_count(queries: int, alpha: float) -> int:
    """Number of values of W from 0 upwards with P(W <= value) <= alpha, without ties or zeros."""
    if queries <= EXACT:
        return int(np.sum(_null_tails(tuple(range(2, 2 * queries + 1, 2)))[::2] <= alpha))
    mean = queries * (queries + 1) / 4
    deviation = np.sqrt(mean * (2 * queries + 1) / 6)
    return max(0, int(np.floor(mean - 0.5 + deviation * ndtri(alpha))) + 1)
