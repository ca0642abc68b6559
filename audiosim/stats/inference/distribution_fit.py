"""Distributions fitted to scores, by moments and by likelihood, and the goodness of their fit."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, digamma, polygamma

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.stats.inference.distributions import Beta, Distribution, Empirical, Normal, TruncatedNormal, check_sample

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
