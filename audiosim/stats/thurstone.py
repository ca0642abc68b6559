"""Comparisons of two values with ties, by Thurstone's law; expectation propagation for values that are jointly normal.

A person compares a and b, whose values differ by d, with an error e ~ N(0, c^2), and gives one of three answers:

    a if d + e > t,   b if d + e < -t,   the same otherwise

Thurstone (1927), doi:10.1037/h0070288; ties by Glenn & David (1960), doi:10.2307/2527957. A share of answers is guessed
instead, whatever d is: the lapses of psychophysics, Wichmann & Hill (2001), doi:10.3758/BF03194544. Expectation
propagation replaces each answer by a site: a measurement of d with normal noise that changes the mean and variance of d
exactly as the answer does. Minka (2001); Rasmussen & Williams (2006), section 3.6; with guesses, Kim & Ghahramani
(2008). The result does not depend on the order of the answers, and is nearly exact because the likelihood of an answer
that is not guessed is log-concave.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.special import log_ndtr

from audiosim.stats.arrays import Array, Integers

A, SAME, B = 1, 0, -1  # answers
SWEEPS = 100  # largest number of sweeps; about ten are usually enough
CLOSE = 1e-4  # change of a site, as a share of its spread or its cavity's, below which the sweeps end
KEPT = 0.5  # share of the old site kept in an update, once sweeps oscillate
LEAST_PRECISION = 1e-10  # lower bound, for sites that carry almost no information

_Marginals = Callable[["Sites"], tuple[Array, Array]]
_Moments = Callable[[Array, Array], "AnswerMoments"]


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """Measurements with normal noise in place of J answers.

    precision  (J,) above 0
    shift      (J,) precision times measured value
    """

    precision: Array
    shift: Array

    @property
    def value(self) -> Array:
        """(J,) measured value of each d."""
        return self.shift / self.precision

    @property
    def variance(self) -> Array:
        """(J,) variance of the noise of each measurement."""
        return 1 / self.precision


class AnswerMoments(NamedTuple):
    """Log probability of answers if d ~ N(mean, variance), and its derivatives by the mean.

    log      (..., J) logarithm of the probability
    slope    (..., J) its first derivative by the mean
    curve    (..., J) its second derivative, at most 0
    """

    log: Array
    slope: Array
    curve: Array


def answer_moments(answer: Integers, mean: Array, variance: Array, noise: Array, tie: Array | float) -> AnswerMoments:
    """Log probability of each answer if d is normal, with its derivatives by the mean of d.

        log P = log(Phi(u) - Phi(l)),  l = (low - mean) / s,  u = (high - mean) / s,  s^2 = variance + noise^2

    answer    (J,) A, SAME or B; its bounds are (tie, inf), (-tie, tie), (-inf, -tie)
    mean, variance  (J,) mean and variance of d
    noise     (..., J) standard deviation of the error, above 0
    tie       t, above 0
    """
    low = np.where(answer == A, tie, np.where(answer == SAME, -tie, -np.inf))
    high = np.where(answer == B, -tie, np.where(answer == SAME, tie, np.inf))
    s = np.sqrt(variance + noise**2)
    lower, upper = (low - mean) / s, (high - mean) / s
    # Mirrored into the left tail: in the right one both distribution functions are near 1 and their difference is lost.
    swapped = lower > -upper
    first, last = np.where(swapped, -upper, lower), np.where(swapped, -lower, upper)
    log = log_ndtr(last)
    # The bound keeps log1p off -inf where the two ends are equal up to rounding.
    log = log + np.log1p(-np.exp(np.minimum(log_ndtr(first) - log, -1e-300)))
    at_lower, at_upper = (np.exp(-(end**2) / 2 - log) / np.sqrt(2 * np.pi) for end in (lower, upper))
    slope = (at_lower - at_upper) / s
    inner = np.where(np.isfinite(lower), lower, 0) * at_lower - np.where(np.isfinite(upper), upper, 0) * at_upper
    return AnswerMoments(log, slope, np.minimum(inner / s**2 - slope**2, 0))


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """Answers, and the process that leads to them from the differences.

    answer   (J,) A, SAME or B
    noise    (q, J) standard deviations that the error may have, above 0
    weights  (q,) their probabilities
    tie      (J,) above 0
    guess    (J,) probability that the answer is guessed, at least 0 and below 1
    guessed  (J,) probability of this answer if it is guessed, above 0
    """

    answer: Integers
    noise: Array
    weights: Array
    tie: Array
    guess: Array
    guessed: Array

    @classmethod
    def plain(cls, answer: Integers, noise: Array, tie: Array | float) -> "Answering":
        """Answers that nobody guesses, with errors (J,) of known size."""
        ties = np.broadcast_to(np.asarray(tie, dtype=np.float64), noise.shape)
        return cls(answer, noise[None], np.ones(1), ties, np.zeros(len(answer)), np.ones(len(answer)))

    def sized(self, noise: float, tie: float) -> "Answering":
        """The answering with all noise and ties multiplied by these numbers."""
        return replace(self, noise=self.noise * noise, tie=self.tie * tie)

    def moments(self, mean: Array, variance: Array) -> AnswerMoments:
        """Log probability of each answer if d ~ N(mean, variance), with its derivatives by the mean.

            P = guess x guessed + (1 - guess) sum over q of weights_q P_q

        With r_q the share of P that q contributes, the slope of log P is sum r_q slope_q, and its curve
        sum r_q (curve_q + slope_q^2) less the square of that slope.
        """
        log, slope, curve = answer_moments(self.answer, mean, variance, self.noise, self.tie)
        log += np.log(self.weights)[:, None] + np.log1p(-self.guess)
        with np.errstate(divide="ignore"):  # without guesses their logarithm is -inf
            whole = np.logaddexp(np.logaddexp.reduce(log), np.log(self.guess * self.guessed))
        share = np.exp(log - whole)
        slopes = (share * slope).sum(axis=0)
        return AnswerMoments(whole, slopes, (share * (curve + slope**2)).sum(axis=0) - slopes**2)


def cavity(sites: Sites, mean: Array, variance: Array) -> tuple[Array, Array]:
    """(J,) means and (J,) variances of each d without its own site, from the posterior means and variances."""
    # Rasmussen & Williams, 3.56. Exactly, 1 - precision x variance is above 0; rounding may take it there.
    left = np.maximum(1 - sites.precision * variance, 1e-12)
    return (mean - sites.shift * variance) / left, variance / left


def propagate(marginals: _Marginals, moments: _Moments, count: int, sites: Sites | None = None) -> Sites:
    """Sites of the answers by expectation propagation; each sweep updates all sites in parallel.

    marginals  function of the sites: (J,) posterior means and (J,) variances of the differences
    moments    function of means and variances: log probabilities of the answers; see `Answering.moments`
    count      J
    sites      initial sites, such as those found for similar standard deviations; None to start without information
    """
    # Parallel updates need one factorisation per sweep instead of J, but can overshoot when answers share values: once
    # a sweep changes more than the one before, half of each old site is kept.
    nothing = np.full(count, LEAST_PRECISION)
    sites = Sites(nothing, np.zeros(count)) if sites is None else sites
    kept, last = 0.0, np.inf
    for _ in range(SWEEPS):
        mean, variance = cavity(sites, *marginals(sites))
        new = _sites(moments(mean, variance), mean, variance)
        precision = (1 - kept) * new.precision + kept * sites.precision
        shift = (1 - kept) * new.shift + kept * sites.shift
        # A site with less information than its cavity has converged if its effect has: its own value is nearly 0.
        most = np.maximum(np.maximum(precision, sites.precision), 1 / variance)
        moved = np.abs(shift - sites.shift) / np.sqrt(most), np.abs(precision - sites.precision) / most
        sites, change = Sites(precision, shift), max(float(of.max(initial=0)) for of in moved)
        if change < CLOSE:
            break
        kept, last = KEPT if change > last else kept, change
    return sites


def _sites(moments: AnswerMoments, mean: Array, variance: Array) -> Sites:
    """Sites that change the cavities' means and variances as the answers do (moment matching)."""
    # From derivatives of log P: with moments as such, variance of d minus its posterior variance would cancel.
    # An unexpected answer may be a guess and then widens the posterior, which no noise can do: it leaves the variance.
    curve = np.minimum(moments.curve, 0)
    left = 1 + variance * curve
    precision = np.maximum(-curve / left, LEAST_PRECISION)
    return Sites(precision, (moments.slope - mean * curve) / left)


class AnswerLikelihood(NamedTuple):
    """Approximate log likelihood of answers, with the parts of its derivatives.

    log        logarithm of the probability of all answers
    sites      sites of the answers
    residual   (J,) b = R (value - mean)
    precision  (J, J) R = (K + diag(noise of the sites))^-1; the derivative by a size is tr((b b' - R) dK) / 2
    cavity     (J,) means and (J,) variances without the answer's own site
    """

    log: float
    sites: Sites
    residual: Array
    precision: Array
    cavity: tuple[Array, Array]


def answer_likelihood(
    covariance: Array, mean: Array, answers: Answering, sites: Sites | None = None
) -> AnswerLikelihood:
    """Log likelihood of answers about normal differences by expectation propagation; Rasmussen & Williams, 3.65.

    covariance  (J, J) K of the differences
    mean        (J,)
    """

    def marginals(of: Sites) -> tuple[Array, Array]:
        # One triangular solve for all of K costs half of two, and K K^-1 K is a sum of squares of what it gives.
        root = cholesky(covariance + np.diag(of.variance), lower=True)
        half = solve_triangular(root, np.column_stack([covariance, of.value - mean]), lower=True)
        known, off = half[:, :-1], half[:, -1]
        return mean + off @ known, np.maximum(covariance.diagonal() - np.vecdot(known.T, known.T), 1e-300)

    sites = propagate(marginals, answers.moments, len(mean), sites)
    inside = cavity(sites, *marginals(sites))
    factor = cho_factor(covariance + np.diag(sites.variance), lower=True)
    off = sites.value - mean
    residual = cho_solve(factor, off)
    whole = -np.log(factor[0].diagonal()).sum() - off @ residual / 2
    whole += (sites.shift * sites.value - np.log(sites.precision)).sum() / 2
    log = whole - _by_sites(sites, *inside).sum() + answers.moments(*inside).log.sum()
    return AnswerLikelihood(float(log), sites, residual, cho_solve(factor, np.eye(len(mean))), inside)


def _by_sites(sites: Sites, mean: Array, variance: Array) -> Array:
    """(J,) logarithm of the integral of exp(shift d - precision d^2 / 2) under each N(mean, variance)."""
    more = 1 + sites.precision * variance
    inside = (sites.shift**2 * variance + 2 * sites.shift * mean - sites.precision * mean**2) / more
    return np.asarray((inside - np.log(more)) / 2)
