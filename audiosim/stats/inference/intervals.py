"""Intervals of a mean, and of the score on a new query."""

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike
from scipy.special import stdtrit

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


def mean_interval(scores: ArrayLike, confidence: float = 0.95) -> Interval:
    """The mean score and its t-interval.

        mean +- t deviation / sqrt n        (4.4, 4.5, 4.6)

    scores      (n,) n at least 2
    confidence  between 0 and 1

    If all scores are equal, the interval has no width.
    """
    return _t_interval(scores, confidence, 0.0)


def prediction_interval(scores: ArrayLike, confidence: float = 0.95) -> Interval:
    """Prediction interval of the score on one new query, if scores are normal.

        mean +- t deviation sqrt(1 + 1 / n)

    scores      (n,) n at least 2
    confidence  between 0 and 1
    """
    return _t_interval(scores, confidence, 1.0)


def _t_interval(scores: ArrayLike, confidence: float, new: float) -> Interval:
    """Interval of the mean, with the variance of `new` further scores."""
    _check_confidence(confidence)
    sample = check_sample(scores, 2)
    mean = float(sample.mean())
    error = float(sample.std(ddof=1)) * math.sqrt(new + 1 / len(sample))
    reach = float(stdtrit(len(sample) - 1, (1 + confidence) / 2)) * error
    return Interval(mean, mean - reach, mean + reach, confidence)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence:g}")
