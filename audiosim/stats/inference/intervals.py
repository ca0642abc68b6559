"""Intervals of a mean, and of the score on a new query."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, stdtrit

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.stats.inference.distributions import check_sample


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
    _check_confidence(confidence)
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
    _check_confidence(confidence)
    sample = check_sample(scores, 1)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, -math.inf, math.inf, confidence)
    error = float(sample.std(ddof=1)) * math.sqrt(new + 1 / len(sample))
    reach = float(stdtrit(len(sample) - 1, (1 + confidence) / 2)) * error
    return Interval(mean, mean - reach, mean + reach, confidence)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence:g}")
