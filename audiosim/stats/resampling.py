"""Bootstrap and permutation of queries: all pairs of systems share the resamples, so two matrix products suffice."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audiosim.errors import check_count
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.inference.ties import nearness
from audiosim.stats.score_matrix import over_pairs

ROWS = 1000  # resamples drawn at a time


@dataclass(frozen=True, slots=True, eq=False)
class Permutations:
    """Sums of scores over the queries that each permutation flips the differences of.

    flipped  (s, t) sum of each system over the flipped queries of each permutation
    sizes    (t,) number of flipped queries
    totals   (s,) sum over all queries
    queries  number of queries
    exact    True if these are all 2^q permutations, each once
    near     rounding that a mean may carry
    """

    flipped: Array
    sizes: Array
    totals: Array
    queries: int
    exact: bool
    near: float

    @property
    def count(self) -> int:
        """Number of equally likely arrangements behind a p-value, including the observed one."""
        return len(self.sizes) + (not self.exact)


def permutations(scores: Array, rng: np.random.Generator, samples: int) -> Permutations:
    """All 2^q permutations if they are no more than the number of samples, otherwise that many random ones.

    scores   (s, q) checked
    samples  number of samples, at least 1
    """
    check_count("samples", samples)
    queries = scores.shape[1]
    exact = queries < 63 and 2**queries <= samples
    blocks = _all_flips(queries) if exact else _drawn_flips(queries, rng, samples)
    parts = [(scores @ flips.T, flips.sum(axis=1)) for flips in blocks]
    flipped, sizes = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return Permutations(flipped, sizes, scores.sum(axis=1), queries, exact, nearness(scores))


def permutation_p_values(drawn: Permutations) -> Array:
    """(p,) share of permutations with a mean difference at least as extreme as the observed one.

        sum over i of  1(|P_i| >= |observed|) / T        (5.5)

    With random permutations the observed arrangement counts as one more, (b + 1) / (T + 1), so that no p-value is 0.
    Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.
    """
    slack = drawn.near * drawn.queries
    totals = _of_pairs(drawn.totals)
    counts = np.empty(len(totals))
    for place, flipped in over_pairs(drawn.flipped):
        total = totals[place, None]
        counts[place] = (np.abs(total - 2 * flipped) >= np.abs(total) - slack).sum(axis=1)
    return (counts + (not drawn.exact)) / drawn.count


def permutation_intervals(drawn: Permutations, confidence: float) -> tuple[Array, Array]:
    """(p,) and (p,) ends of the range of differences that the same permutations do not reject.

    Subtract delta from every difference: a permutation is then as extreme as the observation if the mean over its
    flipped queries, or over the others, lies beyond delta. The ends are therefore order statistics of these means,
    and exclude 0 exactly where p <= 1 - confidence. Hartigan (1969), Journal of the
    American Statistical Association 64, 1303-1317.
    """
    totals = _of_pairs(drawn.totals)
    lower, upper = np.full(len(totals), -np.inf), np.full(len(totals), np.inf)
    kept = allowed(1 - confidence, drawn.count) - (not drawn.exact)
    if kept < 0:
        return lower, upper
    none, every = drawn.sizes == 0, drawn.sizes == drawn.queries
    unbounded = none | every
    sizes = np.where(none, 1.0, drawn.sizes)
    others = np.where(every, 1.0, drawn.queries - drawn.sizes)
    for place, flipped in over_pairs(drawn.flipped):
        inside = flipped / sizes
        outside = (totals[place, None] - flipped) / others
        lower[place] = _smallest(np.where(unbounded, -np.inf, np.minimum(inside, outside)), kept)
        upper[place] = -_smallest(np.where(unbounded, -np.inf, -np.maximum(inside, outside)), kept)
    return lower, upper


@dataclass(frozen=True, slots=True, eq=False)
class Bootstraps:
    """Mean scores of queries drawn with replacement, shifted to have mean 0.

    shifted  (s, t) mean of each system in each sample, less the mean of these means
    means    (s,) the observed means
    near     rounding that a mean may carry
    """

    shifted: Array
    means: Array
    near: float

    @property
    def count(self) -> int:
        """Number of arrangements behind a p-value, including the observed one."""
        return int(self.shifted.shape[1]) + 1


def bootstraps(scores: Array, rng: np.random.Generator, samples: int) -> Bootstraps:
    """Samples of q queries drawn with replacement.

    scores   (s, q) checked
    samples  number of samples, at least 1
    """
    check_count("samples", samples)
    queries = scores.shape[1]
    parts = [scores @ counts.T for counts in _drawn_counts(queries, rng, samples)]
    means = np.concatenate(parts, axis=1) / queries
    return Bootstraps(means - means.mean(axis=1, keepdims=True), scores.mean(axis=1), nearness(scores))


def bootstrap_p_values(drawn: Bootstraps) -> Array:
    """(p,) share of shifted sample means at least as extreme as the observed mean difference.

        sum over i of  1(|B_i - B| >= |observed|) / T,  B the mean of the B_i        (5.4)

    The observed sample counts as one more, (b + 1) / (T + 1), so that no p-value is 0.
    """
    observed = _pair_means(drawn)
    counts = np.empty(len(observed))
    for place, shifted in over_pairs(drawn.shifted):
        counts[place] = (np.abs(shifted) >= np.abs(observed[place, None]) - drawn.near).sum(axis=1)
    return (counts + 1) / drawn.count


def bootstrap_intervals(drawn: Bootstraps, confidence: float) -> tuple[Array, Array]:
    """(p,) and (p,) ends of the range of mean differences that the same samples do not reject by the shift method.

    The observed mean minus and plus an order statistic of |B_i - B|. It excludes 0 if and only if p <= 1 - confidence.
    """
    observed = _pair_means(drawn)
    reach = np.full(len(observed), np.inf)
    kept = allowed(1 - confidence, drawn.count) - 1
    if kept >= 0:
        for place, shifted in over_pairs(drawn.shifted):
            reach[place] = -_smallest(-np.abs(shifted), kept)
    return observed - reach, observed + reach


def allowed(alpha: float, count: int) -> int:
    """Largest number of arrangements out of `count` that is a share of at most alpha."""
    return int(np.floor(alpha * count + 1e-9))  # 0.05 * 100 may come out below 5


def _of_pairs(values: Array) -> Array:
    """(p,) differences of all pairs of some values (s,)."""
    first, second = np.triu_indices(len(values), 1)
    return values[first] - values[second]


def _pair_means(drawn: Bootstraps) -> Array:
    means = _of_pairs(drawn.means)
    return np.where(np.abs(means) <= drawn.near, 0.0, means)


def _smallest(rows: Array, place: int) -> Array:
    """(p,) value in each row (p, t) with `place` smaller values."""
    return np.partition(rows, place, axis=1)[:, place]


def _all_flips(queries: int) -> Iterator[Array]:
    bits = np.arange(queries)
    for start in range(0, 2**queries, ROWS):
        patterns: Integers = np.arange(start, min(start + ROWS, 2**queries))
        yield (patterns[:, None] >> bits & 1).astype(float)


def _drawn_flips(queries: int, rng: np.random.Generator, samples: int) -> Iterator[Array]:
    width = -(-queries // 8)
    for start in range(0, samples, ROWS):
        rows = min(ROWS, samples - start)
        coins = np.frombuffer(rng.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
        yield np.unpackbits(coins, axis=1, count=queries).astype(float)


def _drawn_counts(queries: int, rng: np.random.Generator, samples: int) -> Iterator[Array]:
    for start in range(0, samples, ROWS):
        rows = min(ROWS, samples - start)
        chosen = rng.integers(queries, size=(rows, queries)) + queries * np.arange(rows)[:, None]
        yield np.bincount(chosen.ravel(), minlength=rows * queries).reshape(rows, queries).astype(float)
