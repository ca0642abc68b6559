"""Paired tests of all pairs of systems: how large a difference is, between what bounds, and how surprising.

Every test takes the scores (s, q) of the systems on the same queries and answers for all s (s - 1) / 2 pairs.
Numbers nearer than 1e-12 of the largest score are equal, so that sums in another order make no differences.
Where all differences of a pair are 0 every p-value is 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, stdtr, stdtrit

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.stats.multiple import benjamini_hochberg, holm
from audiosim.stats.resampling import (
    Alternative,
    bootstrap_intervals,
    bootstrap_p_values,
    bootstraps,
    permutation_intervals,
    permutation_p_values,
    permutations,
)
from audiosim.stats.score_matrix import Differences, check_scores, pair_names, paired_differences, ratio_or_infinity
from audiosim.stats.signed_rank import signed_rank_p_values, signed_ranks, walsh_intervals

if TYPE_CHECKING:
    import pandas as pd

SAMPLES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Results of a paired test on all pairs of systems.

    test          t, wilcoxon, sign, bootstrap or permutation
    alternative   "two-sided"; "greater" where the first system is held to be better, "less" the second
    confidence    of the intervals
    queries       how many queries there are
    first         (p,) a system's place in the scores
    second        (p,) another's
    difference    (p,) mean score of the first less that of the second
    standardised  (p,) the same in standard deviations of the differences
    estimate      (p,) what the interval is about: the mean difference; of Wilcoxon's test the
                  pseudo-median, of the sign test the median
    lower         (p,) the interval's ends; infinite where the alternative, or too few queries, leave it open
    upper         (p,)
    statistic     (p,) t; W+; S; of bootstrap and permutation the mean difference
    p_value       (p,)
    exact         (p,) whether the p-value is exact under the test's assumptions, neither sampled nor approximate
    """

    test: str
    alternative: Alternative
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

        systems  (s,) their names; their places in the scores where None
        """
        import pandas as pd

        columns = ("difference", "standardised", "estimate", "lower", "upper", "statistic", "p_value")
        return pd.DataFrame(
            pair_names(self.first, self.second, systems)
            | {column: getattr(self, column) for column in columns}
            | {"holm": holm(self.p_value), "benjamini_hochberg": benjamini_hochberg(self.p_value)}
            | {"exact": self.exact}
        )


def t_test(scores: ArrayLike, *, alternative: Alternative = "two-sided", confidence: float = 0.95) -> Comparison:
    """The paired t-test of all pairs of systems.

        t = mean / (deviation / sqrt q), on q - 1 degrees of freedom        (5.1)

    scores       (s, q) finite
    alternative  "two-sided", "greater" or "less"
    confidence   of the interval of the mean difference, between 0 and 1

    Where all differences are equal, t is infinite, p 0 or 1 and the interval a point; all 0, t is 0 and p 1.
    """
    _check_options(alternative, confidence)
    differences = paired_differences(scores)
    means, error = differences.means(), differences.deviations() / np.sqrt(differences.queries)
    statistic, p_values = _t_p_values(differences, alternative)
    sides = 2 if alternative == "two-sided" else 1
    reach = -stdtrit(differences.queries - 1, (1 - confidence) / sides) * error
    lower = means - (reach if alternative != "less" else np.inf)
    upper = means + (reach if alternative != "greater" else np.inf)
    exact = np.full(len(means), True)
    return _comparison("t", differences, alternative, confidence, (means, lower, upper), (statistic, p_values, exact))


def wilcoxon_test(scores: ArrayLike, *, alternative: Alternative = "two-sided", confidence: float = 0.95) -> Comparison:
    """Wilcoxon's signed-rank test of all pairs of systems.

        W+ = sum of the ranks of the positive differences among the sizes of those that are not 0

    scores       (s, q) finite
    alternative  "two-sided", "greater" or "less"
    confidence   of the interval of the pseudo-median, between 0 and 1

    The W of (5.2) is the smaller of W+ and n (n + 1) / 2 - W+, n differences not being 0. Differences of 0 are
    dropped, ties share the middle rank; see `signed_rank` on where p-values are exact and on the interval.
    """
    _check_options(alternative, confidence)
    differences = paired_differences(scores)
    ranks = signed_ranks(differences)
    interval = walsh_intervals(differences, alternative, confidence)
    tested = ranks.sums, signed_rank_p_values(ranks, alternative), ranks.exact
    return _comparison("wilcoxon", differences, alternative, confidence, interval, tested)


def sign_test(scores: ArrayLike, *, alternative: Alternative = "two-sided", confidence: float = 0.95) -> Comparison:
    """The sign test of all pairs of systems, always exact.

        S = number of positive differences, binomial among those that are not 0        (5.3)

    scores       (s, q) finite
    alternative  "two-sided", "greater" or "less"
    confidence   of the interval of the median difference, between 0 and 1

    Differences of 0 are dropped from the test, not from the interval, whose ends are order statistics of
    all q differences. The two-sided p-value is twice the smaller tail.
    """
    _check_options(alternative, confidence)
    differences = paired_differences(scores)
    statistic, p_values = _sign_p_values(differences, alternative)
    ordered = np.sort(differences.values, axis=1)
    queries = differences.queries
    alpha = (1 - confidence) / (2 if alternative == "two-sided" else 1)
    cut = int(np.sum(bdtr(np.arange(queries + 1), queries, 0.5) <= alpha))
    unbounded = np.full(len(ordered), np.inf)
    lower = ordered[:, cut - 1] if cut > 0 and alternative != "less" else -unbounded
    upper = ordered[:, queries - cut] if cut > 0 and alternative != "greater" else unbounded
    tested = statistic, p_values, np.full(len(ordered), True)
    interval = np.median(ordered, axis=1), lower, upper
    return _comparison("sign", differences, alternative, confidence, interval, tested)


def bootstrap_test(
    scores: ArrayLike,
    rng: np.random.Generator,
    *,
    samples: int = SAMPLES,
    alternative: Alternative = "two-sided",
    confidence: float = 0.95,
) -> Comparison:
    """The bootstrap test by the shift method, of all pairs of systems; see `resampling.bootstrap_p_values`.

    scores       (s, q) finite
    rng          draws the samples of queries, the same for all pairs
    samples      how many
    alternative  "two-sided", "greater" or "less"
    confidence   of the interval of the mean difference, between 0 and 1
    """
    _check_options(alternative, confidence)
    differences = paired_differences(scores)
    drawn = bootstraps(check_scores(scores), rng, samples)
    means = differences.means()
    tested = means, bootstrap_p_values(drawn, alternative), np.full(len(means), False)
    interval = means, *bootstrap_intervals(drawn, alternative, confidence)
    return _comparison("bootstrap", differences, alternative, confidence, interval, tested)


def permutation_test(
    scores: ArrayLike,
    rng: np.random.Generator,
    *,
    samples: int = SAMPLES,
    alternative: Alternative = "two-sided",
    confidence: float = 0.95,
) -> Comparison:
    """The permutation test of all pairs of systems; see `resampling.permutation_p_values`.

    scores       (s, q) finite
    rng          draws the signs, the same for all pairs; not used where the test is exact
    samples      how many; where the 2^q permutations are no more, all are taken and the test is exact
    alternative  "two-sided", "greater" or "less"
    confidence   of the interval of the mean difference, between 0 and 1
    """
    _check_options(alternative, confidence)
    differences = paired_differences(scores)
    drawn = permutations(check_scores(scores), rng, samples)
    means = differences.means()
    tested = means, permutation_p_values(drawn, alternative), np.full(len(means), drawn.exact)
    interval = means, *permutation_intervals(drawn, alternative, confidence)
    return _comparison("permutation", differences, alternative, confidence, interval, tested)


def p_values(scores: ArrayLike, test: str, rng: np.random.Generator, samples: int = SAMPLES) -> Array:
    """(p,) the two-sided p-values of all pairs of systems by the test of a name, without intervals.

    scores   (s, q) finite
    test     t, wilcoxon, sign, bootstrap or permutation
    rng      for the last two
    samples  for the last two
    """
    if test not in TESTS:
        raise InputError(f"test must be one of {', '.join(TESTS)}, got {test!r}")
    return TESTS[test](check_scores(scores), rng, samples)


TESTS: dict[str, Callable[[Array, np.random.Generator, int], Array]] = {
    "t": lambda scores, rng, samples: _t_p_values(paired_differences(scores), "two-sided")[1],
    "wilcoxon": lambda scores, rng, samples: signed_rank_p_values(
        signed_ranks(paired_differences(scores)), "two-sided"
    ),
    "sign": lambda scores, rng, samples: _sign_p_values(paired_differences(scores), "two-sided")[1],
    "bootstrap": lambda scores, rng, samples: bootstrap_p_values(bootstraps(scores, rng, samples), "two-sided"),
    "permutation": lambda scores, rng, samples: permutation_p_values(permutations(scores, rng, samples), "two-sided"),
}


def _t_p_values(differences: Differences, alternative: Alternative) -> tuple[Array, Array]:
    statistic = ratio_or_infinity(differences.means(), differences.deviations() / np.sqrt(differences.queries))
    freedom = differences.queries - 1
    if alternative == "two-sided":
        p_values: Array = 2 * stdtr(freedom, -np.abs(statistic))
    else:
        p_values = stdtr(freedom, -statistic if alternative == "greater" else statistic)
    constant = differences.deviations() == 0
    return statistic, np.where(constant & (statistic == 0), 1.0, p_values)


def _sign_p_values(differences: Differences, alternative: Alternative) -> tuple[Array, Array]:
    positive, negative = ((sign * differences.values > 0).sum(axis=1) for sign in (1, -1))
    counted = positive + negative
    if alternative == "two-sided":
        p_values = np.minimum(1.0, 2 * bdtr(np.minimum(positive, negative), counted, 0.5))
    else:
        p_values = bdtr(negative if alternative == "greater" else positive, counted, 0.5)
    return positive.astype(float), np.where(counted == 0, 1.0, p_values)


def _comparison(
    test: str,
    differences: Differences,
    alternative: Alternative,
    confidence: float,
    interval: tuple[Array, Array, Array],
    tested: tuple[Array, Array, Booleans],
) -> Comparison:
    return Comparison(
        test,
        alternative,
        confidence,
        differences.queries,
        differences.first,
        differences.second,
        differences.means(),
        differences.standardised(),
        *interval,
        *tested,
    )


def _check_options(alternative: str, confidence: float) -> None:
    if alternative not in get_args(Alternative):
        raise InputError(f"alternative must be one of {', '.join(get_args(Alternative))}, got {alternative!r}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence:g}")
