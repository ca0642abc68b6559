"""Scores of systems on queries: checked, and the differences of all pairs of systems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError
from audiosim.stats.inference.ties import nearness

BLOCK = 2_000_000  # numbers held at a time where pairs meet resamples


def check_scores(scores: ArrayLike) -> Array:
    """The scores as an array (systems, queries) of finite numbers, at least two of each."""
    matrix = np.asarray(scores, dtype=float)
    if matrix.ndim != 2:
        raise InputError(f"scores must be (systems, queries), got {matrix.shape}")
    systems, queries = matrix.shape
    if systems < 2:
        raise InputError(f"expected at least 2 systems to compare, got {systems}")
    if queries < 2:
        raise InputError(f"expected at least 2 queries, got {queries}")
    if not np.isfinite(matrix).all():
        system, query = np.argwhere(~np.isfinite(matrix))[0].tolist()
        score = matrix[system, query]
        raise InputError(f"the score of system {system} on query {query} is {score:g}, expected finite numbers")
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Score differences of pairs of systems, query by query.

    first   (p,) system with a positive sign in the difference
    second  (p,) system with a negative sign
    values  (p, q) first - second; 0 if only rounding is left
    near    tolerance within which differences count as equal
    """

    first: Integers
    second: Integers
    values: Array
    near: float

    @property
    def queries(self) -> int:
        """Number of queries."""
        return int(self.values.shape[1])

    def means(self) -> Array:
        """(p,) mean difference; 0 if only rounding is left."""
        return _rounded(self.values.mean(axis=1), self.near)

    def deviations(self) -> Array:
        """(p,) sample standard deviation, divisor q - 1; 0 if only rounding is left."""
        return _rounded(self.values.std(axis=1, ddof=1), self.near)

    def standardised(self) -> Array:
        """(p,) the mean difference in standard deviations (Cohen's d for pairs).

        If all differences are equal: 0 if they are 0, else infinite with their sign.
        """
        return ratio_or_infinity(self.means(), self.deviations())


def paired_differences(scores: ArrayLike) -> Differences:
    """Differences of all pairs of systems, in the order (0, 1), (0, 2), ..., (1, 2), ...

    scores  (s, q) score of each system on each query
    """
    matrix = check_scores(scores)
    first, second = np.triu_indices(len(matrix), 1)
    near = nearness(matrix)
    return Differences(first, second, _rounded(matrix[first] - matrix[second], near), near)


def ratio_or_infinity(numerators: Array, denominators: Array) -> Array:
    """Quotients, where 0 / 0 is 0 and x / 0 infinite with the sign of x."""
    limits = np.where(numerators == 0, 0.0, np.copysign(np.inf, numerators))
    return np.divide(numerators, denominators, out=limits, where=denominators > 0)


def over_pairs(values: Array) -> Iterator[tuple[slice, Array]]:
    """Places among the pairs, and the differences there, a block at a time.

    values  (s, t) values of each system, linear in its scores
    """
    systems, length = values.shape
    rows, start = max(1, BLOCK // length), 0
    for first in range(systems - 1):
        for second in range(first + 1, systems, rows):
            block = values[first] - values[second : second + rows]
            yield slice(start, start + len(block)), block
            start += len(block)


def _rounded(values: Array, near: float) -> Array:
    return np.where(np.abs(values) <= near, 0.0, values)


def pair_names(
    first: Integers, second: Integers, systems: Sequence[str] | None
) -> dict[str, NDArray[np.int64] | NDArray[np.str_]]:
    """Columns `first` and `second` of a table of pairs: names of the systems; None: their places."""
    count = int(second.max()) + 1
    if systems is not None and len(systems) != count:
        raise InputError(f"expected the names of {count} systems, got {len(systems)}")
    names = np.arange(count) if systems is None else np.asarray(systems)
    return {"first": names[first], "second": names[second]}
