"""Paired tests of all pairs of systems: estimates, intervals and p-values of their differences.

Every test takes the scores (s, q) of the systems on the same queries and answers for all s (s - 1) / 2 pairs. Numbers
closer than 1e-12 of the largest score count as equal, so that the order of summation does not matter. If all
differences of a pair are 0, every p-value is 1.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, stdtr, stdtrit

from audiosim.errors import ArgumentError, InputError, check_between
from audiosim.results.value import frame_of
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.ranks import signed_rank_p_values, signed_ranks, walsh_intervals
from audiosim.stats.resampling import (
    bootstrap_intervals,
    bootstrap_p_values,
    bootstraps,
    permutation_intervals,
    permutation_p_values,
    permutations,
)
from audiosim.stats.score_matrix import Differences, check_scores, pair_names, paired_differences, ratio_or_infinity

if TYPE_CHECKING:
    import pandas as pd


# Many tests at once: p-values adjusted so that all can be read together.


def holm(p_values: ArrayLike) -> Array:
    """Holm's adjusted p-values: below alpha, they keep the chance of any false finding at alpha.

        max over j <= i of  (m - j + 1) p_(j), at most 1;  p_(1) <= ... <= p_(m)

    p_values  (m,) p-values from 0 to 1, of tests that may depend on each other in any way

    Holm (1979), https://www.jstor.org/stable/4615733.
    """
    values = _checked(p_values)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Array:
    """Benjamini and Hochberg's adjusted p-values: below alpha, they keep the expected share of false findings at alpha.

        min over j >= i of  m p_(j) / j;  p_(1) <= ... <= p_(m)

    p_values  (m,) p-values from 0 to 1, of tests that are independent or depend positively

    Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    from scipy.stats import false_discovery_control  # imported here, as most uses need not pay for its start-up time

    return np.asarray(false_discovery_control(_checked(p_values), method="bh"))


def _checked(p_values: ArrayLike) -> Array:
    values = np.asarray(p_values, dtype=float)
    if values.ndim != 1:
        raise InputError(f"p-values must be (m,), got {values.shape}")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(f"p-value {place} must be from 0 to 1, got {values[place]:g}")
    return values


MOST_DRAWS = 1_000_000  # of any simulation: more would hardly change a digit and would fill the memory
SAMPLES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Results of a paired test on all pairs of systems.

    test          t, wilcoxon, sign, bootstrap or permutation
    confidence    confidence of the intervals
    queries       number of queries
    first         (p,) place of one system in the scores
    second        (p,) place of the other
    difference    (p,) mean score of the first less that of the second
    standardised  (p,) the same in standard deviations of the differences
    estimate      (p,) estimate for the interval: the mean difference; for Wilcoxon's test the pseudo-median, for the
                  sign test the median
    lower         (p,) lower end of the interval; infinite if too few queries leave it open
    upper         (p,) upper end, likewise
    statistic     (p,) t; W+; S; for bootstrap and permutation the mean difference
    p_value       (p,) two-sided
    exact         (p,) True if the p-value is exact under the test's assumptions, neither sampled nor approximate
    """

    test: str
    confidence: float
    queries: int
    first: Integers
    second: Integers
    difference: Array
    standardised: Array
    estimate: Array
    lower: Array
    upper: Array
    statistic: Array
    p_value: Array
    exact: Booleans

    def to_frame(self, systems: Sequence[str] | None = None) -> "pd.DataFrame":
        """One row per pair, with the p-values adjusted for all pairs by Holm and by Benjamini and Hochberg.

        systems  (s,) their names; None: their places in the scores
        """
        columns = ("difference", "standardised", "estimate", "lower", "upper", "statistic", "p_value")
        return frame_of(
            pair_names(self.first, self.second, systems)
            | {column: getattr(self, column) for column in columns}
            | {"holm": holm(self.p_value), "benjamini_hochberg": benjamini_hochberg(self.p_value)}
            | {"exact": self.exact}
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Input of a test: scores (s, q), their differences, and options."""

    scores: Array
    differences: Differences
    rng: np.random.Generator
    samples: int
    confidence: float = 0.95


# First the statistics, p-values and whether these are exact; then, if asked for, the estimates and both ends of their
# intervals, which take longer.
Results = Iterator[tuple[Array, Array, Any]]


def paired_test(
    scores: ArrayLike,
    test: str,
    rng: np.random.Generator | None = None,
    *,
    samples: int = SAMPLES,
    confidence: float = 0.95,
) -> Comparison:
    """A two-sided paired test of all pairs of systems.

    scores       (s, q) finite
    test         t, wilcoxon, sign, bootstrap or permutation
    rng          for the last two: draws the samples of queries, or the signs, the same for all pairs; seeded with 0
                 if None
    samples      number of samples; if the 2^q permutations are no more than this, all are used and the test is exact
    confidence   confidence of the interval, between 0 and 1: of the mean difference; for Wilcoxon's test of the
                 pseudo-median, for the sign test of the median
    """
    results = named_test(test)
    check_between("confidence", confidence)
    differences, rng = paired_differences(scores), np.random.default_rng(0) if rng is None else rng
    tested, estimate = results(_Asked(check_scores(scores), differences, rng, samples, confidence))
    pairs = differences.first, differences.second, differences.means(), differences.standardised()
    return Comparison(test, confidence, differences.queries, *pairs, *estimate, *tested)


def _t_test(asked: _Asked) -> Results:
    """The paired t-test.

        t = mean / (deviation / sqrt q), on q - 1 degrees of freedom        (5.1)

    If all differences are equal, t is infinite, p is 0 or 1 and the interval a point; if all are 0, t is 0 and p is 1.
    """
    differences = asked.differences
    means, error = differences.means(), differences.deviations() / np.sqrt(differences.queries)
    statistic = ratio_or_infinity(means, error)
    p_values = 2 * stdtr(differences.queries - 1, -np.abs(statistic))
    constant = differences.deviations() == 0
    yield statistic, np.where(constant & (statistic == 0), 1.0, p_values), np.full(len(means), True)
    reach = -stdtrit(differences.queries - 1, (1 - asked.confidence) / 2) * error
    yield means, means - reach, means + reach


def _wilcoxon_test(asked: _Asked) -> Results:
    """Wilcoxon's signed-rank test.

        W+ = sum of the ranks of the positive differences among the sizes of those that are not 0

    The W of (5.2) is the smaller of W+ and n (n + 1) / 2 - W+, with n non-zero differences. Differences of 0 are
    dropped, ties share the middle rank; see `signed_rank` for when p-values are exact, and for the interval.
    """
    ranks = signed_ranks(asked.differences)
    yield ranks.sums, signed_rank_p_values(ranks), ranks.exact
    yield walsh_intervals(asked.differences, asked.confidence)


def _sign_test(asked: _Asked) -> Results:
    """The sign test, always exact.

        S = number of positive differences, binomial among those that are not 0        (5.3)

    Differences of 0 are dropped from the test, not from the interval, whose ends are order statistics of
    all q differences. The p-value is twice the smaller tail.
    """
    positive, negative = ((sign * asked.differences.values > 0).sum(axis=1) for sign in (1, -1))
    counted = positive + negative
    p_values = np.minimum(1.0, 2 * bdtr(np.minimum(positive, negative), counted, 0.5))
    yield positive.astype(float), np.where(counted == 0, 1.0, p_values), np.full(len(counted), True)
    queries = asked.differences.queries
    ordered = np.sort(asked.differences.values, axis=1)
    cut = int(np.sum(bdtr(np.arange(queries + 1), queries, 0.5) <= (1 - asked.confidence) / 2))
    unbounded = np.full(len(ordered), np.inf)
    lower = ordered[:, cut - 1] if cut > 0 else -unbounded
    upper = ordered[:, queries - cut] if cut > 0 else unbounded
    yield np.median(ordered, axis=1), lower, upper


def _bootstrap_test(asked: _Asked) -> Results:
    """The bootstrap test by the shift method; see `resampling.bootstrap_p_values`."""
    drawn, means = bootstraps(asked.scores, asked.rng, asked.samples), asked.differences.means()
    yield means, bootstrap_p_values(drawn), np.full(len(means), False)
    yield means, *bootstrap_intervals(drawn, asked.confidence)


def _permutation_test(asked: _Asked) -> Results:
    """The permutation test; see `resampling.permutation_p_values`."""
    drawn, means = permutations(asked.scores, asked.rng, asked.samples), asked.differences.means()
    yield means, permutation_p_values(drawn), np.full(len(means), drawn.exact)
    yield means, *permutation_intervals(drawn, asked.confidence)


TESTS: dict[str, Callable[[_Asked], Results]] = {
    "t": _t_test,
    "wilcoxon": _wilcoxon_test,
    "sign": _sign_test,
    "bootstrap": _bootstrap_test,
    "permutation": _permutation_test,
}


def p_values(scores: ArrayLike, test: str, rng: np.random.Generator, samples: int = SAMPLES) -> Array:
    """(p,) two-sided p-values of all pairs of systems by a test, without intervals.

    scores   (s, q) finite
    test     t, wilcoxon, sign, bootstrap or permutation
    rng      generator for the last two
    samples  number of samples for the last two
    """
    return next(named_test(test)(_Asked(check_scores(scores), paired_differences(scores), rng, samples)))[1]


def named_test(test: str) -> Callable[[_Asked], Results]:
    """A test of `TESTS` by its name; an InputError if there is none."""
    if test not in TESTS:
        raise ArgumentError("test", f"test must be one of {', '.join(TESTS)}, got {test!r}")
    return TESTS[test]


# Test of differences between systems where queries and listeners are both samples.


LISTENERS = "listeners"


def crossed_test(scores: Array, confidence: float = 0.95) -> Comparison:
    """Test of all pairs of systems for other queries and other listeners of the same kinds.

        d_qa = mean + query_q + listener_a + rest_qa
        Var[mean of d] = max(MS_q, MS_a, MS_q + MS_a - MS_qa) / (q a)

    with the mean squares of queries, of listeners, and of the residual. Degrees of freedom are those of the larger mean
    square, or Satterthwaite's (1946) for the sum, which is the quasi-F of Clark (1973),
    doi:10.1016/S0022-5371(73)80014-3. The sum alone could fall below the variance due to a single factor; if listeners
    do not differ, this is the paired t-test.

    scores      (s, q, a) score of each system on each query by each listener; at least two queries and two listeners
    confidence  confidence of the intervals
    """
    _, queries, listeners = scores.shape
    if min(queries, listeners) < 2:
        raise InputError(f"the test needs two queries and two listeners, got {queries} and {listeners}")
    found = paired_differences(scores.mean(axis=2))
    spread, freedom = np.array(
        [_of_one(scores[a] - scores[b]) for a, b in zip(found.first, found.second, strict=True)]
    ).T
    difference, error = found.means(), np.sqrt(spread / (queries * listeners))
    ratio = ratio_or_infinity(difference, error)
    half = stdtrit(freedom, (1 + confidence) / 2) * error
    ends = difference - half, difference + half
    p_value = 2 * stdtr(freedom, -np.abs(ratio))
    exact = np.zeros(len(difference), dtype=np.bool_)
    places = found.first, found.second, difference, found.standardised(), difference
    return Comparison(LISTENERS, confidence, queries, *places, *ends, ratio, p_value, exact)


def _of_one(differences: Array) -> tuple[float, float]:
    """Mean square for the test of the mean difference (q, a), and its degrees of freedom."""
    queries, listeners = differences.shape
    by_query, by_listener = differences.mean(axis=1), differences.mean(axis=0)
    rest = differences - by_query[:, None] - by_listener + differences.mean()
    of_query, of_listener = listeners * by_query.var(ddof=1), queries * by_listener.var(ddof=1)
    freedoms = queries - 1, listeners - 1, (queries - 1) * (listeners - 1)
    of_rest = float((rest**2).sum()) / freedoms[2]
    both = of_query + of_listener - of_rest
    if both <= max(of_query, of_listener):
        return max((of_query, freedoms[0]), (of_listener, freedoms[1]))
    squares = zip((of_query, of_listener, of_rest), freedoms, strict=True)
    return both, both**2 / sum(square**2 / freedom for square, freedom in squares)


# Quantile of the largest standardised difference between any two of many numbers, from draws of all of them.


AT_ONCE = 1_000  # draws of all numbers that fit into the processor's cache
FEW_NUMBERS = 64  # numbers up to which all pairs are computed in every draw


def largest_difference_quantile(drawn: Array, weights: Array, level: float) -> float:
    """Quantile of the largest |x_a - x_b| w_ab over the pairs (a, b), with the interpolation of `np.quantile`.

    drawn    (s, d) x, a column for each draw
    weights  (s, s) w, symmetric, 0 or more; 0 on the diagonal and for pairs that do not count

    The quantile depends only on the largest draws. The difference of the extremes of each draw gives a lower bound of
    each maximum, and so a lower bound t of the quantile. In a draw, a pair can exceed t only if
    max(x_max - x_a, x_a - x_min) w_ab > t. Only few pairs do, among the largest weights of each number.
    """
    if len(drawn) <= FEW_NUMBERS:
        return float(np.quantile(_largest(drawn, weights), level))
    largest = _lower_bounds(drawn, weights)
    _raise_above(largest, float(np.sort(largest)[int((len(largest) - 1) * level)]), drawn, weights)
    return float(np.quantile(largest, level))


def _largest(drawn: Array, weights: Array) -> Array:
    """(d,) largest weighted difference in each draw, by all pairs."""
    largest = np.zeros(drawn.shape[1])
    for start in range(0, len(largest), AT_ONCE):
        some, found = drawn[:, start : start + AT_ONCE], largest[start : start + AT_ONCE]
        for number in range(len(some) - 1):
            standardised = np.abs(some[number + 1 :] - some[number])
            standardised *= weights[number, number + 1 :, None]
            np.maximum(found, standardised.max(axis=0), out=found)
    return largest


def _lower_bounds(drawn: Array, weights: Array) -> Array:
    """(d,) weighted difference, in each draw, of the numbers that are largest and smallest for their deviation."""
    deviation, every = drawn.std(axis=1, keepdims=True), np.arange(drawn.shape[1])
    relative = np.divide(drawn, deviation, out=np.zeros_like(drawn), where=deviation > 0)
    top, low = relative.argmax(axis=0), relative.argmin(axis=0)
    return np.asarray(np.abs(drawn[top, every] - drawn[low, every]) * weights[top, low])


def _raise_above(largest: Array, least: float, drawn: Array, weights: Array) -> None:
    """Raise the largest weighted difference in each draw (d,) to the true one, where that is above `least`."""
    highest, lowest = drawn.max(axis=0), drawn.min(axis=0)
    for number, values in enumerate(drawn[:-1]):
        own, reach = weights[number, number + 1 :], np.maximum(highest - values, values - lowest)
        some, start = np.flatnonzero(reach * own.max() > least), 0
        order = np.argsort(-own) if len(some) else np.empty(0, dtype=np.int64)
        while start < len(order):  # doubles the number of others, in order of falling weight
            others = order[start : max(1, 2 * start)]
            some = some[reach[some] * own[others[0]] > least]
            if not len(some):
                break
            standardised = np.abs(drawn[number + 1 + others[:, None], some] - values[some])
            standardised *= own[others, None]
            largest[some] = np.maximum(largest[some], standardised.max(axis=0))
            start += len(others)
