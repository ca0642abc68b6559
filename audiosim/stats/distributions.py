"""Distributions of scores from query to query: normal, truncated normal, beta, empirical."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, betaln, digamma, ndtr, ndtri, polygamma

from audiosim.errors import InputError
from audiosim.results.plots import draw_bars
from audiosim.results.value import Result, Row
from audiosim.stats.arrays import Array

if TYPE_CHECKING:
    from altair import LayerChart


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


# Distributions fitted to scores, by moments and by likelihood, and the goodness of their fit.


STEPS = 200  # most steps of Newton's method, which needs about ten


def fit_normal(scores: ArrayLike) -> Normal:
    """The normal distribution with the mean and standard deviation (divisor n - 1) of scores (n,)."""
    sample = _varied(scores)
    return Normal(float(sample.mean()), float(sample.std(ddof=1)))


def fit_truncated_normal(scores: ArrayLike) -> TruncatedNormal:
    """The normal distribution of `fit_normal`, truncated to [0, 1].

    scores  (n,) scores from 0 to 1

    As in Urbano (2013), section 4.2.1. Truncation moves mean and variance, so they differ slightly from the scores'.
    """
    sample = _within_unit(_varied(scores))
    return TruncatedNormal(float(sample.mean()), float(sample.std(ddof=1)))


def fit_beta(scores: ArrayLike) -> Beta:
    """Beta distribution with the mean m and variance v (divisor n - 1) of the scores.

        alpha = m (m (1 - m) / v - 1),  beta = (1 - m) (m (1 - m) / v - 1),  where v < m (1 - m)

    scores  (n,) scores from 0 to 1

    If v >= m (1 - m), where nearly all scores are 0 or 1, `fit_beta_likelihood` is used. Urbano (2013), section 4.2.1.
    """
    sample = _within_unit(_varied(scores))
    mean, variance = float(sample.mean()), float(sample.var(ddof=1))
    if variance >= mean * (1 - mean):
        return fit_beta_likelihood(sample)
    return _of_moments(mean, variance)


def fit_beta_likelihood(scores: ArrayLike) -> Beta:
    """Beta distribution of greatest likelihood, by Newton's method.

    scores  (n,) scores from 0 to 1

    The likelihood is unbounded at scores of 0 and 1. If there are any, all scores are first moved inwards, to
    (x (n - 1) + 1/2) / n. Smithson & Verkuilen (2006), doi:10.1037/1082-989X.11.1.54.
    """
    sample = _within_unit(_varied(scores))
    if sample.min() == 0 or sample.max() == 1:
        sample = (sample * (len(sample) - 1) + 0.5) / len(sample)
    logs = np.array([np.log(sample).mean(), np.log1p(-sample).mean()])
    start = _of_moments(float(sample.mean()), float(sample.var()))
    shapes = np.array([start.alpha, start.beta])
    for _ in range(STEPS):
        gradient, hessian = beta_gradient(shapes, logs), _beta_hessian(shapes)
        step = -np.linalg.solve(hessian, gradient)
        if np.all(np.abs(step) <= 1e-13 * shapes):
            break
        while (
            np.any(shapes + step <= 0) or beta_likelihood(shapes + step, logs) < beta_likelihood(shapes, logs) - 1e-12
        ):
            step /= 2
        shapes = shapes + step
    return Beta(*shapes.tolist())


def fit_empirical(scores: ArrayLike) -> Empirical:
    """The empirical distribution of scores (n,)."""
    return Empirical(np.sort(check_sample(scores, 1)))


def beta_likelihood(shapes: Array, logs: Array) -> float:
    """Mean log-likelihood of scores under a Beta distribution.

    shapes  (2,) alpha and beta
    logs    (2,) the means of log x and of log(1 - x)
    """
    return float((shapes - 1) @ logs - betaln(*shapes))


def beta_gradient(shapes: Array, logs: Array) -> Array:
    """(2,) derivatives of `beta_likelihood` by alpha and beta."""
    gradient: Array = logs - digamma(shapes) + digamma(shapes.sum())
    return gradient


def omega_squared(distribution: Distribution, scores: ArrayLike) -> float:
    """Sum over scores (n,) of the squared distance between a distribution and their empirical one, equation 4.7."""
    sample = np.sort(check_sample(scores, 1))
    return float(np.sum((Empirical(sample).cdf(sample) - distribution.cdf(sample)) ** 2))


def _of_moments(mean: float, variance: float) -> Beta:
    common = mean * (1 - mean) / variance - 1
    return Beta(mean * common, (1 - mean) * common)


def _beta_hessian(shapes: Array) -> Array:
    hessian: Array = polygamma(1, shapes.sum()) - np.diag(polygamma(1, shapes))
    return hessian


def _varied(scores: ArrayLike) -> Array:
    sample = check_sample(scores, 2)
    if np.ptp(sample) <= 1e-12 * np.abs(sample).max():
        raise InputError(f"the scores are all {sample[0]:g}: a distribution with a spread needs some that differ")
    return sample


def _within_unit(sample: Array) -> Array:
    wrong = (sample < 0) | (sample > 1)
    if wrong.any():
        raise InputError(f"expected scores from 0 to 1, got {sample[wrong][0]:g}")
    return sample


# Held-out fit of score distributions: fitted to some queries, tested on the others, over many random splits.


FITS: Mapping[str, Callable[[ArrayLike], Distribution]] = {
    "normal": fit_normal,
    "truncated normal": fit_truncated_normal,
    "beta": fit_beta,
    "empirical": fit_empirical,
}


@dataclass(frozen=True, slots=True, eq=False)
class DistributionFits(Result):
    """Distances of fitted distributions from held-out scores.

    size    queries that each distribution is fitted to
    trials  random splits of the queries, for each system
    omega   (s, d) mean over the trials of omega, the root of (4.7), by system and distribution, in the order of FITS;
            NaN if every draw of a system's scores has a single value, so that no spread can be fitted
    """

    size: int
    trials: int
    omega: Array

    def means(self) -> dict[str, float]:
        """Mean omega over the systems, by distribution: as in Urbano (2013), Tables 4.4 and 4.5."""
        return dict(zip(FITS, np.nanmean(self.omega, axis=0).tolist(), strict=True))

    def __repr__(self) -> str:
        return ", ".join(f"{name} {value:.3f}" for name, value in self.means().items())

    def rows(self) -> list[Row]:
        """One row per system: mean omega of each distribution."""
        return [dict(zip(FITS, row, strict=True)) for row in self.omega.tolist()]

    def plot(self) -> "LayerChart":
        """Plot the mean distance of each distribution."""
        means = self.means()
        return draw_bars(list(means), list(means.values()), f"mean omega, fitted to {self.size} queries")


def fit_distributions(
    scores: ArrayLike, seed: int | np.random.Generator = 0, *, size: int | None = None, trials: int = 200
) -> DistributionFits:
    """Fit four distributions to the scores on some queries and compare them with the scores on the others.

        omega = sqrt(sum over the other queries of (share of their scores <= x, less the fit's cdf at x)^2)

    scores  (s, q) scores from 0 to 1
    seed    seed, or generator, that draws the queries to fit to
    size    number of queries to fit to, from 2 to half of all; half if None
    trials  draws for each system

    Urbano (2013), section 4.2, which uses 200 trials and prints the mean of omega, not of omega squared.
    """
    matrix = np.asarray(scores, dtype=float)
    queries = matrix.shape[1]
    size = queries // 2 if size is None else size
    if not 2 <= size <= queries - size:
        raise InputError(f"a fit needs from 2 to {queries // 2} of {queries} queries, got {size}")
    if trials < 1:
        raise InputError(f"trials must be at least 1, got {trials}")
    omega, rng = np.full((len(matrix), trials, len(FITS)), np.nan), np.random.default_rng(seed)
    for row, values in enumerate(matrix):
        for trial in range(trials):
            order = rng.permutation(queries)
            omega[row, trial] = _omegas(values[order[:size]], values[order[size:]])
    counts = np.isfinite(omega).sum(axis=1)
    sums = np.nansum(omega, axis=1)
    return DistributionFits(size, trials, np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _omegas(seen: Array, others: Array) -> Array:
    """(d,) omega of each distribution; all NaN if the scores to fit to have a single value."""
    if np.ptp(seen) <= 1e-12:
        return np.full(len(FITS), np.nan)
    return np.sqrt([omega_squared(fit(seen), others) for fit in FITS.values()])
