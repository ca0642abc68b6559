"""Contract of features, as checks that name violations in words.

A feature gives a number for each pair of a pool, NaN where unknown. The same judgments, which it does not modify, give
the same numbers. A learned feature gives the same values for some pairs as for all. A pair's own judgment never enters
its own value. A judgment changes only values of the pairs in `touched`, which are in rising order, and only judgments
of the queries declared in `reads` have an effect.
"""

from dataclasses import dataclass

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.ordinal.feature import Feature
from audiosim.stats.arrays import Array, Integers
from audiosim.text import one_line

ROUNDING = 1e-9  # relative tolerance: sums may be taken in another order
TRIED = 8  # number of judgments changed, one at a time


def check_feature(feature: Feature, pool: Pool, rng: np.random.Generator) -> None:
    """Check a feature against its contract; an InputError names the violation.

    feature  the installed feature
    pool     at least two queries; grades are drawn for some of its pairs
    """
    checked, every = _Checked(feature, pool), np.arange(len(pool.pairs))
    grades = np.full(len(every), np.nan)
    checked.values(grades, every)
    some = rng.permutation(len(every))[: max(1, len(every) // 2)]
    grades[some] = rng.choice(pool.scale.levels, len(some))
    before = checked.values(grades, every)
    if not np.array_equal(before, checked.values(grades, every), equal_nan=True):
        raise InputError(f"feature {feature.name}: the same judgments give different values the second time")
    if feature.reads == "nothing":
        return
    rows = np.sort(rng.permutation(len(every))[: max(1, len(every) // 3)])
    checked.compare(before[rows], checked.values(grades, rows), "values for some pairs must equal those for all pairs")
    for index in some[:TRIED].tolist():
        checked.check_judgment(grades, before, index)


@dataclass(frozen=True)
class _Checked:
    """A feature with a check of every column."""

    feature: Feature
    pool: Pool

    @property
    def _label(self) -> str:
        return f"feature {self.feature.name}"

    def values(self, grades: Array, rows: Integers) -> Array:
        """Values of some pairs, if they are well-formed."""
        values, given = self.feature.values, grades.copy()
        try:
            found: object = values(self.pool) if callable(values) else values.compute(self.pool, given, rows)
        except Exception as error:
            raise InputError(f"{self._label}: raises {one_line(error)}") from error
        if not isinstance(found, np.ndarray) or found.dtype != np.float64 or found.shape != rows.shape:
            came = f"{found.shape} of {found.dtype}" if isinstance(found, np.ndarray) else type(found).__name__
            raise InputError(f"{self._label}: values must be an array of {len(rows)} float64, got {came}")
        if np.any(np.isinf(found)):
            raise InputError(f"{self._label}: values must be finite, or NaN where unknown")
        if not np.array_equal(given, grades, equal_nan=True):
            raise InputError(f"{self._label}: the grades passed to it are changed")
        return found

    def check_judgment(self, grades: Array, before: Array, index: int) -> None:
        """Check that withdrawing one judgment changes only pairs in `touched`."""
        values = self.feature.values
        assert not callable(values), "only features that read judgments are checked"
        changed = grades.copy()
        changed[index] = np.nan
        after = self.values(changed, np.arange(len(grades)))
        touched: object = values.touched(self.pool, index)
        if not isinstance(touched, np.ndarray) or touched.dtype.kind not in "iu" or np.any(np.diff(touched) <= 0):
            raise InputError(f"{self._label}: touched must be a rising array of places of pairs")
        moved = np.flatnonzero(~np.isclose(before, after, rtol=ROUNDING, atol=ROUNDING, equal_nan=True))
        if index in moved or index in touched:
            raise InputError(f"{self._label}: a pair's own judgment must not enter its own value")
        beyond = np.setdiff1d(moved, touched)
        if len(beyond):
            raise InputError(f"{self._label}: a judgment changes {len(beyond)} values that are not in touched")
        own = self.pool.query[moved] == self.pool.query[index]
        if np.any(own) and self.feature.reads == "other queries":
            raise InputError(f"{self._label}: reads other queries, but a judgment of its own query changes it")
        if not np.all(own) and self.feature.reads == "own query":
            raise InputError(f"{self._label}: reads its own query, but a judgment of another one changes it")

    def compare(self, expected: Array, found: Array, rule: str) -> None:
        if not np.allclose(expected, found, rtol=ROUNDING, atol=ROUNDING, equal_nan=True):
            raise InputError(f"{self._label}: {rule}")
