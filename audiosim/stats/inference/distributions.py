"""Distributions of scores from query to query: normal, truncated normal, beta, empirical."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, ndtr, ndtri

from audiosim.arrays import Array
from audiosim.errors import InputError


class Distribution(Protocol):
    """Distribution of the score on a new query."""

    @property
    def mean(self) -> float: ...

    @property
    def variance(self) -> float: ...

    def cdf(self, scores: ArrayLike) -> Array:
        """P(score <= x) at each x."""
        ...

    def quantile(self, probabilities: ArrayLike) -> Array:
        """The x with P(score <= x) = p, for each p from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal distribution, which gives some probability to scores below 0 and above 1.

    mean       mean of the scores
    deviation  standard deviation, above 0
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        _check_deviation(self.deviation)

    @property
    def variance(self) -> float:
        """Variance of a score."""
        return self.deviation**2

    def cdf(self, scores: ArrayLike) -> Array:
        """P(score <= x)."""
        below: Array = ndtr((np.asarray(scores, dtype=float) - self.mean) / self.deviation)
        return below

    def quantile(self, probabilities: ArrayLike) -> Array:
        """The x with P(score <= x) = p."""
        standard: Array = ndtri(_probabilities(probabilities))
        return self.mean + self.deviation * standard


@dataclass(frozen=True, slots=True)
class TruncatedNormal:
    """Normal distribution truncated to an interval.

    location   mean before truncation
    deviation  standard deviation before truncation, above 0
    lower      end of the interval
    upper      end of the interval
    """

    location: float
    deviation: float
    lower: float = 0.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        _check_deviation(self.deviation)
        if not self.lower < self.upper:
            raise InputError(f"lower must be below upper, got {self.lower:g} and {self.upper:g}")
        if not self._between(self.lower, self.upper) > 0:
            raise InputError(f"no probability is left between {self.lower:g} and {self.upper:g}")

    @property
    def mean(self) -> float:
        """Mean of a score, after the truncation."""
        return self.location + self.deviation * self._edges(0)

    @property
    def variance(self) -> float:
        """Variance of a score, after the truncation."""
        return self.deviation**2 * (1 + self._edges(1) - self._edges(0) ** 2)

    def cdf(self, scores: ArrayLike) -> Array:
        """P(score <= x)."""
        within = np.clip(np.asarray(scores, dtype=float), self.lower, self.upper)
        return self._between(self.lower, within) / self._between(self.lower, self.upper)

    def quantile(self, probabilities: ArrayLike) -> Array:
        """The x with P(score <= x) = p."""
        p = _probabilities(probabilities)
        start, end = (ndtr(self._sign() * self._standard(edge)) for edge in (self.lower, self.upper))
        standard = self._sign() * ndtri(start + p * (end - start))
        return np.clip(self.location + self.deviation * standard, self.lower, self.upper)

    def _standard(self, scores: ArrayLike) -> Array:
        return (np.asarray(scores, dtype=float) - self.location) / self.deviation

    def _sign(self) -> float:
        """-1 if the interval lies in the upper tail: the tail is mirrored, as differences near 1 lose their digits."""
        return -1.0 if self.lower > self.location else 1.0

    def _between(self, start: ArrayLike, end: ArrayLike) -> Array:
        sign = self._sign()
        between: Array = sign * (ndtr(sign * self._standard(end)) - ndtr(sign * self._standard(start)))
        return between

    def _edges(self, power: int) -> float:
        """(a^k phi(a) - b^k phi(b)) / (Phi(b) - Phi(a)) of the standardised ends a and b."""
        ends = self._standard(np.array([self.lower, self.upper]))
        a, b = ends**power * np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
        return float((a - b) / self._between(self.lower, self.upper))


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta distribution on [0, 1], density proportional to x^(alpha - 1) (1 - x)^(beta - 1).

    alpha  above 0
    beta   above 0
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < math.inf:
                raise InputError(f"{name} must be finite and above 0, got {value:g}")

    @property
    def mean(self) -> float:
        """Mean of a score."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> float:
        """Variance of a score."""
        return self.mean * (1 - self.mean) / (self.alpha + self.beta + 1)

    def cdf(self, scores: ArrayLike) -> Array:
        """P(score <= x)."""
        below: Array = betainc(self.alpha, self.beta, np.clip(np.asarray(scores, dtype=float), 0, 1))
        return below

    def quantile(self, probabilities: ArrayLike) -> Array:
        """The x with P(score <= x) = p."""
        found: Array = betaincinv(self.alpha, self.beta, _probabilities(probabilities))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Empirical:
    """Empirical distribution: the scores themselves, all equally likely.

    scores  (n,) rising
    """

    scores: Array

    def __post_init__(self) -> None:
        check_sample(self.scores, 1)
        if np.any(np.diff(self.scores) < 0):
            raise InputError("the scores of an empirical distribution must be in rising order")

    @property
    def mean(self) -> float:
        """Mean of a score."""
        return float(self.scores.mean())

    @property
    def variance(self) -> float:
        """Variance of a score, with divisor n: the sample is the whole distribution."""
        return float(self.scores.var())

    def cdf(self, scores: ArrayLike) -> Array:
        """P(score <= x), a step at each score."""
        return np.searchsorted(self.scores, np.asarray(scores, dtype=float), side="right") / len(self.scores)

    def quantile(self, probabilities: ArrayLike) -> Array:
        """Quantiles interpolated linearly between scores; score i is the (i - 1) / (n - 1) quantile.

        As in Urbano (2013), section 4.2.1; it is therefore not the exact inverse of the step function `cdf`. Hyndman &
        Fan (1996), doi:10.2307/2684934, type 7.
        """
        found: Array = np.quantile(self.scores, _probabilities(probabilities))
        return found


def check_sample(scores: ArrayLike, least: int) -> Array:
    """Scores as an array (n,) of at least `least` finite numbers."""
    sample = np.asarray(scores, dtype=float)
    if sample.ndim != 1 or len(sample) < least:
        raise InputError(f"scores must be (n,) with n at least {least}, got {sample.shape}")
    if not np.isfinite(sample).all():
        place = int(np.argmax(~np.isfinite(sample)))
        raise InputError(f"score {place} is {sample[place]:g}, expected finite numbers")
    return sample


def _probabilities(probabilities: ArrayLike) -> Array:
    values = np.asarray(probabilities, dtype=float)
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise InputError(f"probabilities must be from 0 to 1, got {values[wrong].flat[0]:g}")
    return values


def _check_deviation(deviation: float) -> None:
    if not 0 < deviation < math.inf:
        raise InputError(f"deviation must be finite and above 0, got {deviation:g}")
