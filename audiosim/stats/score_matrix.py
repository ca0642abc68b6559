"""Intervals of a mean, and of the score on a new query."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit

from audiosim.errors import InputError, check_between
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.distributions import check_sample
from audiosim.stats.inference.ties import nearness


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the ends of an interval.

    estimate    the mean
    lower       end
    upper       end
    confidence  probability that the interval contains the true value
    """

    estimate: float
    lower: float
    upper: float
    confidence: float


def mean_interval(scores: ArrayLike, confidence: float = 0.95, *, bounded: bool = False) -> Interval:
    """The mean score and its interval: `bounded_mean` if all scores lie within 0 and 1, else the t-interval.

        mean +- t deviation / sqrt n        (4.4, 4.5, 4.6)

    scores      (n,) n at least 1; a single score leaves both ends of the t-interval infinite
    confidence  between 0 and 1
    bounded     True if scores cannot lie outside [0, 1]

    If all scores are equal, the t-interval has no width.
    """
    if not bounded:
        return _t_interval(scores, confidence, 0.0)
    sample = check_sample(scores, 1)
    variance = sample.var(ddof=1) if len(sample) > 1 else 0.0
    low, high = bounded_mean(sample.mean(), variance, len(sample), confidence=confidence)
    return Interval(float(sample.mean()), float(low), float(high), confidence)


def bounded_mean(
    mean: ArrayLike, variance: ArrayLike, count: int, further: ArrayLike = 0.0, confidence: float = 0.95
) -> tuple[Array, Array]:
    """Ends (...,) of intervals, within [0, 1], for the mean of values that cannot lie outside [0, 1].

    Quantiles of the Beta distribution with the mean of the sample and one more value, 0 for the lower end and 1 for the
    upper, and with the squared standard error of that mean.

    mean        (...,) sample means
    variance    (...,) sample variances; 0 for a sample of one
    count       size of the samples, at least 1
    further     (...,) variance of the means beside that of sampling, such as that due to missing judgments
    confidence  between 0 and 1

    The further value at the end of the scale is that of Gaffke (2005) and of Learned-Miller & Thomas (2020),
    arXiv:1905.06208, whose weights of the values are uniform on the simplex; for values 0 and 1 their interval is that
    of Clopper & Pearson (1934). The Beta distribution replaces theirs, so that moments suffice, and is a little wider.
    Student's t misses the mean far too often if few values are skewed or equal: see docs/howto_figures.md.
    """
    check_between("confidence", confidence)
    center, spread, added = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (mean, variance, further)))
    share = count / (count + 1)
    ends = []
    for end, probability in ((0.0, (1 - confidence) / 2), (1.0, (1 + confidence) / 2)):
        middle = share * center + (1 - share) * end
        squares = (count - 1) * spread + share * (center - end) ** 2
        error = squares / (count * (count + 1)) + share**2 * added
        inside = (error > 0) & (error < middle * (1 - middle))
        size = np.where(inside, middle * (1 - middle), 1.0) / np.where(inside, error, 0.5) - 1
        shapes = np.where(inside, middle, 0.5) * size, np.where(inside, 1 - middle, 0.5) * size
        ends.append(np.where(inside, betaincinv(*shapes, probability), end))
    return np.minimum(ends[0], center), np.maximum(ends[1], center)


def prediction_interval(scores: ArrayLike, confidence: float = 0.95) -> Interval:
    """Prediction interval of the score on one new query, if scores are normal.

        mean +- t deviation sqrt(1 + 1 / n)

    scores      (n,) n at least 1; a single score leaves both ends infinite
    confidence  between 0 and 1
    """
    return _t_interval(scores, confidence, 1.0)


def _t_interval(scores: ArrayLike, confidence: float, new: float) -> Interval:
    """Interval of the mean, with the variance of `new` further scores."""
    check_between("confidence", confidence)
    sample = check_sample(scores, 1)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, -math.inf, math.inf, confidence)
    error = float(sample.std(ddof=1)) * math.sqrt(new + 1 / len(sample))
    reach = float(stdtrit(len(sample) - 1, (1 + confidence) / 2)) * error
    return Interval(mean, mean - reach, mean + reach, confidence)


# Scores of systems on queries: checked, and the differences of all pairs of systems.


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
