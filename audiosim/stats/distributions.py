"""Distributions of scores from query to query, fitted and tried on held-out queries: normal, truncated normal, beta,
empirical. All but the last are SciPy's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from audiosim.errors import InputError, check_count
from audiosim.results.plots import draw_bars
from audiosim.results.value import Result, Row, plain
from audiosim.stats.arrays import Array

if TYPE_CHECKING:
    from altair import LayerChart


class Distribution(Protocol):
    """Distribution of the score on a new query, such as one of `scipy.stats`."""

    def cdf(self, scores: Array, /) -> Array:
        """P(score <= x) at each x."""
        ...


class Fitted(NamedTuple):
    """A family of `scipy.stats` and its parameters: what SciPy itself freezes takes several times as long."""

    family: Any
    args: tuple[float, ...]

    def cdf(self, scores: Array, /) -> Array:
        """P(score <= x) at each x."""
        return np.asarray(self.family.cdf(scores, *self.args))


@dataclass(frozen=True, slots=True, eq=False)
class Empirical:
    """Empirical distribution: the scores (n,) themselves, all equally likely."""

    scores: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", np.sort(check_sample(self.scores, 1)))

    def cdf(self, scores: Array, /) -> Array:
        """P(score <= x), a step at each score."""
        return np.searchsorted(self.scores, scores, side="right") / len(self.scores)


def check_sample(scores: ArrayLike, least: int) -> Array:
    """Scores as an array (n,) of at least `least` finite numbers."""
    sample = np.asarray(scores, dtype=float)
    if sample.ndim != 1 or len(sample) < least:
        raise InputError(f"scores must be (n,) with n at least {least}, got {sample.shape}")
    if not np.isfinite(sample).all():
        place = int(np.argmax(~np.isfinite(sample)))
        raise InputError(f"score {place} is {sample[place]:g}, expected finite numbers")
    return sample


def fit_normal(scores: ArrayLike) -> Fitted:
    """The normal distribution with the mean and standard deviation (divisor n - 1) of scores (n,)."""
    from scipy.stats import norm  # imported here, as most uses need not pay for its start-up time

    sample = _varied(scores)
    return Fitted(norm, (sample.mean(), sample.std(ddof=1)))


def fit_truncated_normal(scores: ArrayLike) -> Fitted:
    """The normal distribution of `fit_normal`, truncated to [0, 1].

    scores  (n,) scores from 0 to 1

    As in Urbano (2013), section 4.2.1. Truncation moves mean and variance, so they differ slightly from the scores'.
    """
    from scipy.stats import truncnorm

    sample = _within_unit(_varied(scores))
    mean, deviation = sample.mean(), sample.std(ddof=1)
    return Fitted(truncnorm, (-mean / deviation, (1 - mean) / deviation, mean, deviation))


def fit_beta(scores: ArrayLike) -> Fitted:
    """Beta distribution with the mean m and variance v (divisor n - 1) of the scores.

        alpha = m (m (1 - m) / v - 1),  beta = (1 - m) (m (1 - m) / v - 1),  where v < m (1 - m)

    scores  (n,) scores from 0 to 1

    If v >= m (1 - m), where nearly all scores are 0 or 1, the distribution is that of greatest likelihood. This is
    unbounded at scores of 0 and 1; if there are any, all are first moved inwards, to (x (n - 1) + 1/2) / n. Urbano
    (2013), section 4.2.1; Smithson & Verkuilen (2006), doi:10.1037/1082-989X.11.1.54.
    """
    from scipy.stats import beta

    sample = _within_unit(_varied(scores))
    mean, variance = sample.mean(), sample.var(ddof=1)
    if variance >= mean * (1 - mean):
        if sample.min() == 0 or sample.max() == 1:
            sample = (sample * (len(sample) - 1) + 0.5) / len(sample)
        return Fitted(beta, beta.fit(sample, floc=0, fscale=1)[:2])
    common = mean * (1 - mean) / variance - 1
    return Fitted(beta, (mean * common, (1 - mean) * common))


def omega_squared(distribution: Distribution, scores: ArrayLike) -> Array:
    """Sum over scores (..., n) of the squared distance between a distribution and their empirical one, equation 4.7.

    distribution  of all scores; or those of the samples, with parameters (..., 1)
    """
    sample = np.sort(scores, axis=-1)
    shares = np.reshape([Empirical(own).cdf(own) for own in np.atleast_2d(sample)], sample.shape)
    return np.asarray(np.sum((shares - distribution.cdf(sample)) ** 2, axis=-1))


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


FITS: Mapping[str, Callable[[Array], Distribution]] = {
    "normal": fit_normal,
    "truncated normal": fit_truncated_normal,
    "beta": fit_beta,
    "empirical": Empirical,
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

    def to_dict(self) -> dict[str, Any]:
        """The numbers of queries and trials, and mean omega over the systems by distribution."""
        means = {name: plain(value) for name, value in self.means().items()}
        return {"queries": self.size, "trials": self.trials} | means

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
    check_count("trials", trials)
    omega, rng = np.full((len(matrix), trials, len(FITS)), np.nan), np.random.default_rng(seed)
    for row, values in enumerate(matrix):
        drawn = values[[rng.permutation(queries) for _ in range(trials)]]
        varied = np.ptp(drawn[:, :size], axis=1) > 1e-12
        omega[row, varied] = _omegas(drawn[varied, :size], drawn[varied, size:])
    counts = np.isfinite(omega).sum(axis=1)
    sums = np.nansum(omega, axis=1)
    return DistributionFits(size, trials, np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _omegas(seen: Array, others: Array) -> Array:
    """(t, d) omega of each distribution in each trial, fitted to scores (t, n) and compared with others (t, m)."""
    found = []
    for fit in FITS.values():
        fits = [fit(sample) for sample in seen]
        if fits and isinstance(fits[0], Fitted):  # all at once: a call of SciPy's takes as long as hundreds of scores
            args = np.transpose([one.args for one in fits if isinstance(one, Fitted)])
            found.append(omega_squared(Fitted(fits[0].family, tuple(args[:, :, None])), others))
        else:
            found.append(np.array([omega_squared(*one) for one in zip(fits, others, strict=True)]))
    return np.sqrt(np.transpose(found))
