"""Estimated standard deviations of the random effects of a multivariate normal, from values drawn from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.properties import cached_property
from audiosim.stats.normal.layout import Layout
from audiosim.stats.normal.restricted_likelihood import Bend, RestrictedLikelihood
from audiosim.stats.normal.size_search import LEAST_GAIN, least_cost, relative_errors
from audiosim.stats.threads import one_thread

LARGEST = 10  # upper bound of a standard deviation, in multiples of the largest value


@dataclass(frozen=True, slots=True)
class Components:
    """Estimated variance components with their standard errors.

    standard_deviations  standard deviations by name
    errors      standard errors of these, by name; infinite where the data do not determine one
    likelihood  restricted log-likelihood at the estimate, without the prior
    trend       (f,) coefficients of the trend, by generalised least squares
    covariance  (f, f) covariance of these coefficients
    """

    standard_deviations: Mapping[str, float]
    errors: Mapping[str, float]
    likelihood: float
    trend: Array
    covariance: Array


def estimate_components(
    layouts: Sequence[Layout],
    values: Sequence[Array],
    start: Mapping[str, float],
    spread: Mapping[str, float] | None = None,
    enough: float = LEAST_GAIN,
) -> Components:
    """Standard deviations by restricted maximum likelihood, from one or several independent sets of values.

    values  for each layout (n,) values with mean 0 apart from the trend. The trend is estimated too, with coefficients
            of its own in each layout; those returned are fitted to all layouts together
    start   initial standard deviations, above 0; with `spread` also the centre of the prior
    spread  standard deviations of a normal prior on their logarithms, by name; None for no prior
    enough  promised gain of log-likelihood at which the search ends

    Newton's method on the logarithms, see `least_cost`. Standard errors come from the curvature at the maximum, with
    components at the lower bound held there. Patterson & Thompson (1971), doi:10.1093/biomet/58.3.545.
    """
    # On the logarithms every step keeps standard deviations positive, and the likelihood is closer to a parabola.
    names = _names(layouts, values, start, spread)
    tightness = np.array([0.0 if spread is None else spread[name] ** -2 for name in names])
    likelihoods = [RestrictedLikelihood(layout, value) for layout, value in zip(layouts, values, strict=True)]
    # A set with no more values than trend coefficients has no information on variances and no defined likelihood.
    cost = _Cost([one for one in likelihoods if one.informative], np.log([start[name] for name in names]), tightness)
    with one_thread():
        found = least_cost(cost, cost.centre, math.log(_ceiling(layouts, values, start)), enough)
        trend, covariance = _trend(likelihoods, np.exp(2 * found.at))
    deviations, errors = np.exp(found.at), relative_errors(found.curvature, found.at)
    return Components(
        dict(zip(names, deviations.tolist(), strict=True)),
        dict(zip(names, (deviations * errors).tolist(), strict=True)),
        found.likelihood,
        trend,
        covariance,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cost:
    """Negative logarithm of likelihood times prior: the function to minimise.

    centre     (k,) centre of the prior, as logarithms
    tightness  (k,) precision of the prior, 0 for none
    """

    likelihoods: Sequence[RestrictedLikelihood]
    centre: Array
    tightness: Array

    def __call__(self, at: Array) -> "_Point":
        variances = np.exp(2 * at)
        return _Point(at, variances, [one.at(variances) for one in self.likelihoods], at - self.centre, self.tightness)


@dataclass(frozen=True, eq=False)
class _Point:
    """Cost at logarithms s of standard deviations; the variances are exp(2 s)."""

    at: Array
    variances: Array
    bends: Sequence[Bend]
    off: Array
    tightness: Array

    @cached_property
    def likelihood(self) -> float:
        return sum(bend.value for bend in self.bends)

    @cached_property
    def value(self) -> float:
        return float(self.tightness @ self.off**2) / 2 - self.likelihood

    @cached_property
    def _rising(self) -> Array:
        """(k,) derivatives of the log-likelihood by s; d variance / d s = 2 variance."""
        slopes: Array = sum((bend.slopes for bend in self.bends), np.zeros(len(self.at)))
        return 2 * self.variances * slopes

    @cached_property
    def slopes(self) -> Array:
        return self.tightness * self.off - self._rising

    @cached_property
    def about(self) -> Array:
        return self._bent([bend.average_information for bend in self.bends]) + np.diag(self.tightness)

    @cached_property
    def curvature(self) -> Array:
        # The chain rule adds slope times d2 variance / d s2 = 4 variance; it vanishes only at the maximum itself.
        own = np.diag(self.tightness - 2 * self._rising)
        return self._bent([bend.observed_information for bend in self.bends]) + own

    def _bent(self, information: Sequence[Array]) -> Array:
        """(k, k) information on variances, converted to information on the logarithms of standard deviations."""
        total = sum(information, np.zeros((len(self.at),) * 2))
        # d variance / d s = 2 variance, once for each index.
        return np.asarray(4 * np.outer(self.variances, self.variances) * total)


def _trend(likelihoods: Sequence[RestrictedLikelihood], variances: Array) -> tuple[Array, Array]:
    """(f,) coefficients of generalised least squares, b = (X' C^-1 X)^-1 X' C^-1 y, and (f, f) (X' C^-1 X)^-1.

    A column of zeros has coefficient 0 and infinite variance. So have all columns if the others are not independent.
    """
    # Normal equations add over independent sets: one trend is fitted to all layouts, unlike in the likelihoods.
    products = np.sum([one.trend(variances) for one in likelihoods], axis=0)
    normal, beside = products[:-1, :-1], products[:-1, -1]
    there = np.flatnonzero(np.diagonal(normal) > np.finfo(float).eps * np.diagonal(normal).max(initial=0))
    trend, covariance = np.zeros(len(normal)), np.diag(np.full(len(normal), np.inf))
    some = normal[np.ix_(there, there)]
    if len(there) and np.linalg.matrix_rank(some) == len(there):
        covariance[np.ix_(there, there)] = inverse = np.linalg.inv(some)
        trend[there] = inverse @ beside[there]
    return trend, covariance


def _names(
    layouts: Sequence[Layout],
    values: Sequence[Array],
    start: Mapping[str, float],
    spread: Mapping[str, float] | None,
) -> tuple[str, ...]:
    """Names of the components; an InputError if layouts, values, start and spread do not match."""
    if not layouts or len(layouts) != len(values):
        raise InputError(f"layouts must be at least one, with values each, got {len(layouts)} and {len(values)}")
    names = layouts[0].names
    for layout, value in zip(layouts, values, strict=True):
        if layout.names != names:
            got = f"{', '.join(names)} and {', '.join(layout.names)}"
            raise InputError(f"layouts must have the same components, got {got}")
        if value.shape != layout.scale.shape or not np.all(np.isfinite(value)):
            raise InputError(f"values must be finite and {layout.scale.shape} to match the layout, got {value.shape}")
    for what, given in (("start", start), ("spread", spread)):
        if given is not None and not all(given.get(name, 0) > 0 for name in names):
            raise InputError(f"{what} must have a number above 0 for each of {', '.join(names)}")
    return names


def _ceiling(layouts: Sequence[Layout], values: Sequence[Array], start: Mapping[str, float]) -> float:
    """Upper bound of the standard deviations, low enough that every covariance met in the search has an inverse."""
    largest = max(start.values())
    for layout, value in zip(layouts, values, strict=True):
        largest = max(largest, float(np.max(np.abs(value / layout.scale), initial=0)))
    return LARGEST * largest
