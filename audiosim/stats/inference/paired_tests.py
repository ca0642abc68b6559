"""Paired tests of all pairs of systems: estimates, intervals and p-values of their differences.

Every test takes the scores (s, q) of the systems on the same queries and answers for all s (s - 1) / 2 pairs. Numbers
closer than 1e-12 of the largest score count as equal, so that the order of summation does not matter. If all
differences of a pair are 0, every p-value is 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, stdtr, stdtrit

from audiosim.arrays import Array, Booleans, Integers
from audiosim.display import frame_of
from audiosim.errors import InputError
from audiosim.stats.inference.multiple import benjamini_hochberg, holm
from audiosim.stats.inference.resampling import (
    bootstrap_intervals,
    bootstrap_p_values,
    bootstraps,
    permutation_intervals,
    permutation_p_values,
    permutations,
)
from audiosim.stats.inference.score_matrix import (
    Differences,
    check_scores,
    pair_names,
    paired_differences,
    ratio_or_infinity,
)
from audiosim.stats.inference.signed_rank import signed_rank_p_values, signed_ranks, walsh_intervals

if TYPE_CHECKING:
    import pandas as pd

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
    confidence: float


Estimate = tuple[Array, Array, Array]  # the estimate and the ends of its interval
Tested = tuple[Array, Array, Booleans]  # statistic, p-value, and whether that is exact


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
    _check_options(test, confidence)
    differences, rng = paired_differences(scores), np.random.default_rng(0) if rng is None else rng
    asked = _Asked(check_scores(scores), differences, rng, samples, confidence)
    estimate, tested = _TESTS[test](asked)
    pairs = differences.first, differences.second, differences.means(), differences.standardised()
    return Comparison(test, confidence, differences.queries, *pairs, *estimate, *tested)


def _t_test(asked: _Asked) -> tuple[Estimate, Tested]:
    """The paired t-test.

        t = mean / (deviation / sqrt q), on q - 1 degrees of freedom        (5.1)

    If all differences are equal, t is infinite, p is 0 or 1 and the interval a point; if all are 0, t is 0 and p is 1.
    """
    differences = asked.differences
    means, error = differences.means(), differences.deviations() / np.sqrt(differences.queries)
    reach = -stdtrit(differences.queries - 1, (1 - asked.confidence) / 2) * error
    return (means, means - reach, means + reach), (*_t_p_values(differences), np.full(len(means), True))


def _wilcoxon_test(asked: _Asked) -> tuple[Estimate, Tested]:
    """Wilcoxon's signed-rank test.

        W+ = sum of the ranks of the positive differences among the sizes of those that are not 0

    The W of (5.2) is the smaller of W+ and n (n + 1) / 2 - W+, with n non-zero differences. Differences of 0 are
    dropped, ties share the middle rank; see `signed_rank` for when p-values are exact, and for the interval.
    """
    ranks = signed_ranks(asked.differences)
    interval = walsh_intervals(asked.differences, asked.confidence)
    return interval, (ranks.sums, signed_rank_p_values(ranks), ranks.exact)


def _sign_test(asked: _Asked) -> tuple[Estimate, Tested]:
    """The sign test, always exact.

        S = number of positive differences, binomial among those that are not 0        (5.3)

    Differences of 0 are dropped from the test, not from the interval, whose ends are order statistics of
    all q differences. The p-value is twice the smaller tail.
    """
    queries = asked.differences.queries
    ordered = np.sort(asked.differences.values, axis=1)
    cut = int(np.sum(bdtr(np.arange(queries + 1), queries, 0.5) <= (1 - asked.confidence) / 2))
    unbounded = np.full(len(ordered), np.inf)
    lower = ordered[:, cut - 1] if cut > 0 else -unbounded
    upper = ordered[:, queries - cut] if cut > 0 else unbounded
    tested = *_sign_p_values(asked.differences), np.full(len(ordered), True)
    return (np.median(ordered, axis=1), lower, upper), tested


def _bootstrap_test(asked: _Asked) -> tuple[Estimate, Tested]:
    """The bootstrap test by the shift method; see `resampling.bootstrap_p_values`."""
    drawn, means = bootstraps(asked.scores, asked.rng, asked.samples), asked.differences.means()
    tested = means, bootstrap_p_values(drawn), np.full(len(means), False)
    return (means, *bootstrap_intervals(drawn, asked.confidence)), tested


def _permutation_test(asked: _Asked) -> tuple[Estimate, Tested]:
    """The permutation test; see `resampling.permutation_p_values`."""
    drawn, means = permutations(asked.scores, asked.rng, asked.samples), asked.differences.means()
    tested = means, permutation_p_values(drawn), np.full(len(means), drawn.exact)
    return (means, *permutation_intervals(drawn, asked.confidence)), tested


_TESTS: dict[str, Callable[[_Asked], tuple[Estimate, Tested]]] = {
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
    if test not in TESTS:
        raise InputError(f"test must be one of {', '.join(TESTS)}, got {test!r}")
    return TESTS[test](check_scores(scores), rng, samples)


TESTS: dict[str, Callable[[Array, np.random.Generator, int], Array]] = {
    "t": lambda scores, rng, samples: _t_p_values(paired_differences(scores))[1],
    "wilcoxon": lambda scores, rng, samples: signed_rank_p_values(signed_ranks(paired_differences(scores))),
    "sign": lambda scores, rng, samples: _sign_p_values(paired_differences(scores))[1],
    "bootstrap": lambda scores, rng, samples: bootstrap_p_values(bootstraps(scores, rng, samples)),
    "permutation": lambda scores, rng, samples: permutation_p_values(permutations(scores, rng, samples)),
}


def _t_p_values(differences: Differences) -> tuple[Array, Array]:
    statistic = ratio_or_infinity(differences.means(), differences.deviations() / np.sqrt(differences.queries))
    p_values: Array = 2 * stdtr(differences.queries - 1, -np.abs(statistic))
    constant = differences.deviations() == 0
    return statistic, np.where(constant & (statistic == 0), 1.0, p_values)


def _sign_p_values(differences: Differences) -> tuple[Array, Array]:
    positive, negative = ((sign * differences.values > 0).sum(axis=1) for sign in (1, -1))
    counted = positive + negative
    p_values = np.minimum(1.0, 2 * bdtr(np.minimum(positive, negative), counted, 0.5))
    return positive.astype(float), np.where(counted == 0, 1.0, p_values)


def _check_options(test: str, confidence: float) -> None:
    if test not in TESTS:
        raise InputError(f"test must be one of {', '.join(TESTS)}, got {test!r}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence:g}")
