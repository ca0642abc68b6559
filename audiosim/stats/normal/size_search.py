"""Minimisation of a cost over logarithms of standard deviations, with standard errors at the minimum."""

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from audiosim.arrays import Array

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


def least_cost(cost: Cost[P], start: Array, highest: float, enough: float = LEAST_GAIN) -> P:
    """Point of least cost.

    cost     function of logarithms (k,) of standard deviations; may raise LinAlgError
    highest  upper bound of the logarithms
    enough   promised gain at which the search ends: the square of the distance, in standard errors

    The cost flattens as a standard deviation approaches 0, so Newton steps stall there. Components that cost less at
    the lower bound are set to it, and the others are searched again.
    """
    best = cost(start)
    while True:
        best = _descended(cost, best, highest, enough)
        lowered = _lowered(cost, best)
        if lowered is best:
            return best
        best = lowered


def _descended(cost: Cost[P], start: P, highest: float, enough: float) -> P:
    """Point from which no step leads down, by damped Newton steps between the bounds.

    Steps use the approximate curvature plus a correction learned from earlier steps; with the approximation alone,
    convergence would only be linear. Dennis, Gay & Welsch (1981), doi:10.1145/355958.355965.
    """
    best, damping, lacking = start, 0.0, np.zeros((len(start.at),) * 2)
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
