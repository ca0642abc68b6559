"""Estimated standard deviations of the random effects of a multivariate normal, from values drawn from it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array
from audiosim.stats.normal.block_covariances import BlockCovariances, BlockInverse
from audiosim.stats.normal.layout import Layout
from audiosim.stats.normal.repeated import RepeatedCovariances, RepeatedInverse
from audiosim.stats.threads import one_thread

# Restricted log-likelihood of variance components, with its first and second derivatives.
#
# -1/2 ((n - f) log 2 pi + log |C| + log |X' C^-1 X| + y' P y),   X the trend, y the values
# slope by a variance        1/2 (y' P K P y - tr P K),   P = C^-1 - C^-1 X (X' C^-1 X)^-1 X' C^-1
# average information        1/2 y' P K_i P K_j P y
# expected information       1/2 tr P K_i P K_j
#
# The observed information is twice the average less the expected one. The average one needs no more than products of
# matrices with a few vectors. Patterson & Thompson (1971), doi:10.1093/biomet/58.3.545; Gilmour, Thompson & Cullis
# (1995), doi:10.2307/2533274.


FEWEST = 2  # values of each unknown, on average, from which equations of the unknowns are smaller than of the values


@dataclass(frozen=True, eq=False)
class RestrictedLikelihood:
    """Restricted likelihood of n values under the components of a layout.

    layout  structure of the covariance
    values  (n,)

    X leaves out columns that are linear combinations of others.
    """

    layout: Layout
    values: Array

    @property
    def informative(self) -> bool:
        """True if there are more values than trend coefficients; otherwise all variances are equally likely."""
        return bool(len(self.values) > self.layout.independent.shape[1])

    @cached_property
    def _covariances(self) -> BlockCovariances | RepeatedCovariances:
        repeats = self.layout.repeats
        if repeats is None or len(self.values) < FEWEST * len(np.unique(repeats.unknown)):
            return BlockCovariances.of(self.layout)
        return RepeatedCovariances.of_layout(self.layout, repeats)

    def at(self, variances: Array) -> "Bend":
        """Likelihood and its derivatives at variances (k,), in the order of the layout's names."""
        trend = self.layout.independent
        inverse = self._covariances.inverse(variances)
        solved = inverse.solve(np.column_stack([trend, self.values]))
        normal, beside = trend.T @ solved[:, :-1], trend.T @ solved[:, -1]
        factor, coefficients = np.linalg.cholesky(normal), np.linalg.solve(normal, beside)
        # y' P y, a sum of squares: below 0 only if rounding has made C indefinite, and the search must turn back.
        left = float(self.values @ solved[:, -1] - beside @ coefficients) if self.informative else 0.0
        if left < 0:
            raise np.linalg.LinAlgError("rounding leaves the covariance no inverse")
        constant = (len(self.values) - len(normal)) * math.log(2 * math.pi)
        twice = constant + inverse.determinant + 2 * float(np.log(np.diagonal(factor)).sum()) + left
        # C^-1 X F'^-1 with F F' = X' C^-1 X: P is then C^-1 less a product, and its trace a sum of squares.
        mean = np.linalg.solve(factor, solved[:, :-1].T).T
        return Bend(-twice / 2, self._covariances, inverse, mean, solved[:, -1] - solved[:, :-1] @ coefficients)

    def trend(self, variances: Array) -> Array:
        """(f + 1, f + 1) [X y]' C^-1 [X y] with all columns of the trend: the normal equations of its coefficients."""
        sides = np.column_stack([self.layout.fixed, self.values])
        if len(self.values) == 0:
            return np.zeros((sides.shape[1],) * 2)
        return np.asarray(sides.T @ self._covariances.inverse(variances).solve(sides))


@dataclass(frozen=True, eq=False)
class Bend:
    """Log-likelihood at some variances; its derivatives by the variances are computed on first access.

    value      log-likelihood
    mean       (n, f): P is C^-1 less its product with itself
    projected  (n,) P y
    """

    value: float
    covariances: BlockCovariances | RepeatedCovariances
    inverse: BlockInverse | RepeatedInverse
    mean: Array
    projected: Array

    @cached_property
    def own(self) -> Array:
        """(n,) diagonal of P."""
        return np.asarray(self.inverse.diagonal() - np.vecdot(self.mean, self.mean))

    @cached_property
    def _moved(self) -> Array:
        """(k, n, f + 1) product of each K with P y and with `mean`."""
        return self.covariances.times(np.column_stack([self.projected, self.mean]))

    @cached_property
    def slopes(self) -> Array:
        """(k,) derivatives by the variances."""
        moved = self._moved
        traces = self.inverse.traces - np.einsum("knf,nf->k", moved[:, :, 1:], self.mean)
        return np.asarray(moved[:, :, 0] @ self.projected - traces) / 2

    @cached_property
    def average_information(self) -> Array:
        """(k, k) average information 1/2 y' P K_i P K_j P y."""
        # Gilmour, Thompson & Cullis (1995): the traces of observed and expected information cancel, so k solves do.
        vectors = self._moved[:, :, 0].T
        beside = self.mean.T @ vectors
        return np.asarray(vectors.T @ self.inverse.solve(vectors) - beside.T @ beside) / 2

    @cached_property
    def observed_information(self) -> Array:
        """(k, k) observed information: twice the average less the expected one. It needs traces of products."""
        return np.asarray(2 * self.average_information - self.inverse.products(self.mean) / 2)


# Minimisation of a cost over logarithms of standard deviations, with standard errors at the minimum.


SMALLEST = 1e-4  # lower bound of a standard deviation, in units of the values
STEPS = 300
FARTHEST = 2.0  # largest change of a logarithm in one step
TINY = math.log(0.02)  # a component below this, if its cost falls towards the bound, is tried at the bound once
LEAST_GAIN = 1e-14  # promised gain of log-likelihood at which a search ends: 1e-7 standard errors from the minimum
ASTRAY = 1e-3  # promised gain from which a step that led uphill shows that the correction was wrong
DAMPED, MOST_DAMPED = 0.01, 1e8  # first and largest damping of steps that lead uphill
SINGULAR = 1e-9  # lower bound of a curvature, as a share of the largest
SURE = 4  # curvature by the logarithm at which the variance is one standard error above 0
FLAT = 1e-7  # share of the largest curvature below which the data determine nothing
TIE = 1e-9  # differences of log-likelihood below this count as none


class Point(Protocol):
    """A cost at logarithms `at` (k,).

    value      value of the cost
    slopes     (k,)
    about      (k, k) approximate curvature: positive semi-definite, and cheap
    curvature  (k, k) second derivatives
    """

    @property
    def at(self) -> Array: ...
    @property
    def value(self) -> float: ...
    @property
    def slopes(self) -> Array: ...
    @property
    def about(self) -> Array: ...
    @property
    def curvature(self) -> Array: ...


P = TypeVar("P", bound=Point)
Cost = Callable[[Array], P]


def least_cost(
    cost: Cost[P], start: Array, highest: float, enough: float = LEAST_GAIN, lacking: Array | None = None
) -> P:
    """Point of least cost.

    cost     function of logarithms (k,) of standard deviations; may raise LinAlgError
    highest  upper bound of the logarithms
    enough   promised gain at which the search ends: the square of the distance, in standard errors
    lacking  (k, k) what the approximate curvature lacks near the start, if known

    The cost flattens as a standard deviation approaches 0, so Newton steps stall there. Components that cost less at
    the lower bound are set to it, and the others are searched again.
    """
    best = cost(start)
    while True:
        best = _descended(cost, best, highest, enough, lacking)
        lowered = _lowered(cost, best)
        if lowered is best:
            return best
        best = lowered


def _descended(cost: Cost[P], start: P, highest: float, enough: float, lacking: Array | None = None) -> P:
    """Point from which no step leads down, by damped Newton steps between the bounds.

    Steps use the approximate curvature plus a correction learned from earlier steps; with the approximation alone,
    convergence would only be linear. Dennis, Gay & Welsch (1981), doi:10.1145/355958.355965.
    """
    best, damping = start, 0.0
    lacking = np.zeros((len(start.at),) * 2) if lacking is None else lacking
    lasting = np.zeros(len(start.at), dtype=np.bool_)  # tried at the bound
    for _ in range(STEPS):
        step, promise = _step(best, best.about + lacking, damping, highest)
        if promise < enough:
            break
        # Towards the bound the cost flattens, and Newton's steps with it.
        vanishing = (best.at < TINY) & (best.slopes > 0) & ~lasting
        step[vanishing] = math.log(SMALLEST) - best.at[vanishing]
        lasting |= vanishing
        point = _tried(cost, best.at + step)
        if point is not None and point.value < best.value + TIE:
            lacking = _learned(lacking, best, point)
            best, damping = point, 0.0 if damping <= DAMPED else damping / 10
        elif promise > ASTRAY and lacking.any():
            lacking = np.zeros_like(lacking)  # curvature learned far from here does not hold here
        elif damping < MOST_DAMPED:
            damping = max(DAMPED, 10 * damping)
        else:
            break
    return best


def _learned(lacking: Array, before: Point, after: Point) -> Array:
    """(k, k) correction of the curvature that reproduces the last change of slopes: a symmetric rank-one update."""
    step = after.at - before.at
    missed = after.slopes - before.slopes - (after.about + lacking) @ step
    share = float(missed @ step)
    if abs(share) < SINGULAR * np.linalg.norm(missed) * np.linalg.norm(step):
        return lacking
    return np.asarray(lacking + np.outer(missed, missed / share))


def _tried(cost: Cost[P], at: Array) -> P | None:
    """Point at these logarithms; None if rounding makes a covariance singular, so that the search turns back."""
    try:
        return cost(at)
    except np.linalg.LinAlgError:
        return None


def _step(point: Point, curvature: Array, damping: float, highest: float) -> tuple[Array, float]:
    """(k,) step downhill, and its predicted gain.

    Computed in units that give all directions similar curvature. Negative curvatures count by their absolute value,
    so that the step leads away from a saddle point.
    """
    slopes, lowest = point.slopes, math.log(SMALLEST)
    held = ((point.at <= lowest) & (slopes >= 0)) | ((point.at >= highest) & (slopes <= 0))
    free, step = np.flatnonzero(~held), np.zeros(len(slopes))
    units = 1 / np.sqrt(np.maximum(np.diagonal(point.about)[free], SINGULAR**2))
    curvatures, directions = np.linalg.eigh(curvature[np.ix_(free, free)] * np.outer(units, units))
    curvatures = np.maximum(np.abs(curvatures), SINGULAR) + damping
    step[free] = -units * (directions @ (directions.T @ (units * slopes[free]) / curvatures))
    step = np.clip(np.clip(step, -FARTHEST, FARTHEST), lowest - point.at, highest - point.at)
    return step, float(-slopes @ step) / 2


def _lowered(cost: Cost[P], best: P) -> P:
    """Point with components moved to the lower bound, one by one, if that costs less, or as much while the cost falls
    towards the bound. Components clearly above 0 stay.
    """
    unsure = np.diagonal(best.curvature) < SURE
    for place in np.flatnonzero((best.at > math.log(SMALLEST)) & unsure).tolist():
        moved = best.at.copy()
        moved[place] = math.log(SMALLEST)
        point = _tried(cost, moved)
        if point is None or point.value >= best.value + TIE:
            continue
        if point.value < best.value - TIE or best.slopes[place] > 0:
            best = point
    return best


def relative_errors(curvature: Array, at: Array) -> Array:
    """Standard errors of the logarithms, with components at the lower bound held there."""
    free = np.flatnonzero(at > np.log(2 * SMALLEST))
    errors = np.full(len(at), np.inf)
    if len(free):
        curvatures, directions = np.linalg.eigh(curvature[np.ix_(free, free)])
        determined = curvatures > FLAT * max(1.0, curvatures[-1])
        variances = directions[:, determined] ** 2 @ (1 / curvatures[determined])
        lost = np.sum(directions[:, ~determined] ** 2, axis=1) > FLAT
        errors[free] = np.where(lost, np.inf, np.sqrt(variances))
    return errors


LARGEST = 10  # upper bound of a standard deviation, in multiples of the largest value


@dataclass(frozen=True, slots=True)
class Components:
    """Estimated variance components with their standard errors.

    standard_deviations  standard deviations by name
    errors      standard errors of these, by name; infinite where the data do not determine one
    likelihood  restricted log-likelihood at the estimate, without the prior
    trend       (f,) coefficients of the trend, by generalised least squares
    covariance  (f, f) covariance of these coefficients
    lacking     (k, k) what the approximate curvature lacks at the estimate, per value
    """

    standard_deviations: Mapping[str, float]
    errors: Mapping[str, float]
    likelihood: float
    trend: Array
    covariance: Array
    lacking: Array

    def raised(self, least: float) -> "Components":
        """The same with standard deviations of at least this, from which a search can leave 0."""
        return replace(
            self, standard_deviations={name: max(of, least) for name, of in self.standard_deviations.items()}
        )


def estimate_components(
    layouts: Sequence[Layout],
    values: Sequence[Array],
    start: Mapping[str, float],
    spread: Mapping[str, float] | None = None,
    enough: float = LEAST_GAIN,
    begin: Components | None = None,
) -> Components:
    """Standard deviations by restricted maximum likelihood, from one or several independent sets of values.

    values  for each layout (n,) values with mean 0 apart from the trend. The trend is estimated too, with coefficients
            of its own in each layout; those returned are fitted to all layouts together
    start   initial standard deviations, above 0; with `spread` also the centre of the prior
    spread  standard deviations of a normal prior on their logarithms, by name; None for no prior
    enough  promised gain of log-likelihood at which the search ends
    begin   estimate by similar values, from which the search begins, in fewer steps

    Newton's method on the logarithms, see `least_cost`. Standard errors come from the curvature at the maximum, with
    components at the lower bound held there. Patterson & Thompson (1971), doi:10.1093/biomet/58.3.545.
    """
    # On the logarithms every step keeps standard deviations positive, and the likelihood is closer to a parabola.
    names = _names(layouts, values, start, spread)
    tightness = np.array([0.0 if spread is None else spread[name] ** -2 for name in names])
    likelihoods = [RestrictedLikelihood(layout, value) for layout, value in zip(layouts, values, strict=True)]
    # A set with no more values than trend coefficients has no information on variances and no defined likelihood.
    cost = _Cost([one for one in likelihoods if one.informative], np.log([start[name] for name in names]), tightness)
    count = sum(len(value) for value in values)
    first, lacking = cost.centre, None
    if begin is not None:
        first, lacking = np.log([begin.standard_deviations[name] for name in names]), count * begin.lacking
    with one_thread():
        found = least_cost(cost, first, math.log(_ceiling(layouts, values, start)), enough, lacking)
        trend, covariance = _trend(likelihoods, np.exp(2 * found.at))
    deviations, errors = np.exp(found.at), relative_errors(found.curvature, found.at)
    return Components(
        dict(zip(names, deviations.tolist(), strict=True)),
        dict(zip(names, (deviations * errors).tolist(), strict=True)),
        found.likelihood,
        trend,
        covariance,
        (found.curvature - found.about) / max(1, count),
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
