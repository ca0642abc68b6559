"""Split-half study: do significant differences on half of the queries hold on the other half?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from audiosim.errors import InputError, check_count
from audiosim.results.plots import Line, draw_curves
from audiosim.results.value import Result, Row, plain, rows_of
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.score_matrix import check_scores, paired_differences
from audiosim.stats.tests import SAMPLES, named_test, p_values

if TYPE_CHECKING:
    from altair import LayerChart

# The 32 significance levels of Urbano (2013), section 5.4.
ALPHAS = (
    *(step / 10_000 for step in range(1, 10)),
    *(step / 1000 for step in range(1, 10)),
    *(step / 100 for step in range(1, 10)),
    *(step / 10 for step in range(1, 6)),
)
BINS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5)  # upper ends of p-values in Table 5.5


@dataclass(frozen=True, slots=True, eq=False)
class SplitHalf(Result):
    """Outcomes of pairs of systems on one half of the queries and on the other, at each significance level.

    test              the test's name
    alphas            (a,) significance levels
    comparisons       pairs of systems times splits
    non_significance  (a,) comparisons not significant on the first half
    success           (a,) significant on both, with the same sign
    lack_of_power     (a,) significant on the first only, with the same sign, or no difference at all on the second
    minor_conflict    (a,) significant on the first only, with opposite signs
    major_conflict    (a,) significant on both, with opposite signs
    binned            (b,) comparisons with a p-value on the first half in each of the BINS
    squares           (b,) sum of the squared differences of their p-values on the two halves

    The five before the bins are counts and add up to the comparisons.
    """

    test: str
    alphas: Array
    comparisons: int
    non_significance: Integers
    success: Integers
    lack_of_power: Integers
    minor_conflict: Integers
    major_conflict: Integers
    binned: Integers
    squares: Array

    def __repr__(self) -> str:
        return f"{self.test} test on halves of the queries: {self.comparisons:,} comparisons, {len(self.alphas)} levels"

    def plot(self) -> "LayerChart":
        """Rates of success, lack of power and conflict by the level of significance."""
        rows = self.rows()
        kinds = {"success": "success", "lack_of_power": "lack of power", "global_conflict": "conflict"}
        lines = [Line(name, self.alphas, [row[column] for row in rows]) for column, name in kinds.items()]
        return draw_curves(lines, f"level of significance, {self.test} test", "share of significant pairs", log=True)

    @property
    def relative_error(self) -> float | None:
        """Relative root mean square error of the global conflict rate, over the significance levels.

            sqrt(mean over alpha of ((rate - alpha) / alpha)^2)

        over levels with significant differences; None without any. 0 for an exact test. Urbano (2013), section 5.5.
        """
        significant = self.comparisons - self.non_significance
        some = significant > 0
        if not some.any():
            return None
        rates = (self.minor_conflict + self.major_conflict)[some] / significant[some]
        return float(np.sqrt(np.mean((rates / self.alphas[some] - 1) ** 2)))

    def agreement_rows(self) -> list[dict[str, float | None]]:
        """Agreement of the test with itself: one row per bin of p-values on the first half.

        above, up_to  ends of the bin
        comparisons   number in the bin
        rmse          root mean squared difference of their p-values on the two halves; None without any

        Urbano (2013), Table 5.5.
        """
        lows, counts = (0.0, *BINS[:-1]), self.binned.tolist()
        errors = np.sqrt(self.squares / np.maximum(self.binned, 1)).tolist()
        return [
            {"above": low, "up_to": high, "comparisons": count, "rmse": error if count else None}
            for low, high, count, error in zip(lows, BINS, counts, errors, strict=True)
        ]

    def rows(self) -> list[Row]:
        """The rates of Table 5.3 of Urbano (2013), one row per significance level.

        Non-significance is a share of all comparisons, the other rates of the significant ones; None if there are none.
        The global conflict rate is minor and major together.
        """
        significant = self.comparisons - self.non_significance
        kinds = ("success", "lack_of_power", "minor_conflict", "major_conflict")
        with np.errstate(invalid="ignore"):
            shares = {name: getattr(self, name) / significant for name in kinds}
        columns = {"alpha": self.alphas, "non_significance": self.non_significance / self.comparisons} | shares
        both = {"global_conflict": shares["minor_conflict"] + shares["major_conflict"]}
        return [plain(row) for row in rows_of(columns | both)]

    def to_dict(self) -> dict[str, Any]:
        """The study as plain values, ready for JSON."""
        return {"test": self.test, "comparisons": self.comparisons, "rates": self.rows()} | {
            "relative_error": self.relative_error,
            "agreement": self.agreement_rows(),
        }


def split_half(
    scores: ArrayLike,
    test: str,
    rng: np.random.Generator,
    *,
    trials: int = 300,
    alphas: ArrayLike = ALPHAS,
    samples: int = SAMPLES,
) -> SplitHalf:
    """Test all pairs of systems on a random half of the queries, test the other half, and count the outcomes.

    scores   (s, q) finite, q at least 4; if q is odd, each split leaves one query out
    test     t, wilcoxon, sign, bootstrap or permutation, two-sided
    rng      draws the splits, and the samples of the last two
    trials   number of splits
    alphas   (a,) significance levels: a difference is significant if p <= alpha
    samples  number of resamples of the last two tests

    A difference's sign is that of its mean, whatever the test ranks. Each split counts once, from its first
    half to its second. Urbano (2013), section 5.3.
    """
    matrix, levels = check_scores(scores), _checked(alphas)
    named_test(test)
    if matrix.shape[1] < 4:
        raise InputError(f"expected at least 4 queries to split, got {matrix.shape[1]}")
    check_count("trials", trials)
    half = matrix.shape[1] // 2
    counts = np.zeros((5, len(levels)), dtype=np.int64)
    binned, squares = np.zeros(len(BINS), dtype=np.int64), np.zeros(len(BINS))
    for _ in range(trials):
        order = rng.permutation(matrix.shape[1])
        halves = matrix[:, order[:half]], matrix[:, order[half : 2 * half]]
        first, second = (p_values(part, test, rng, samples) for part in halves)
        signs = [np.sign(paired_differences(part).means()) for part in halves]
        counts += outcomes(first, second, signs[0] * signs[1] < 0, levels)
        places = np.searchsorted(BINS, first)  # the last place is for p above .5, which Table 5.5 leaves out
        binned += np.bincount(places, minlength=len(BINS) + 1)[:-1]
        squares += np.bincount(places, (first - second) ** 2, len(BINS) + 1)[:-1]
    pairs = len(matrix) * (len(matrix) - 1) // 2
    nothing, success, lack, minor, major = counts
    return SplitHalf(test, levels, trials * pairs, nothing, success, lack, minor, major, binned, squares)


def outcomes(first: Array, second: Array, opposite: Booleans, alphas: Array) -> Integers:
    """(5, a) numbers of comparisons not significant; successful; lacking power; in minor and in major conflict.

    first     (p,) p-values on the first half
    second    (p,) on the second
    opposite  (p,) True if the differences have opposite signs
    alphas    (a,)
    """
    found, again = (p[:, None] <= alphas for p in (first, second))
    conflict = opposite[:, None]
    kinds = (~found, found & again & ~conflict, found & ~again & ~conflict, found & ~again & conflict)
    return np.stack([kind.sum(axis=0) for kind in (*kinds, found & again & conflict)])


def _checked(alphas: ArrayLike) -> Array:
    levels = np.atleast_1d(np.asarray(alphas, dtype=float))
    wrong = ~((levels > 0) & (levels < 1))
    if wrong.any():
        raise InputError(f"significance levels must be between 0 and 1, got {levels[wrong][0]:g}")
    return levels
