"""Standard deviations at which a cost is least: a search by their logarithms, and how sure its end is."""

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from audiosim.arrays import Array

SMALLEST = 1e-4  # standard deviation, in units of the values, that a component does not fall below
STEPS = 300
FARTHEST = 2.0  # that a logarithm moves in one step
NEAR = 1e-14  # of a log-likelihood that a step promises to gain, at the end: 1e-7 standard errors away
DAMPED, MOST_DAMPED = 0.01, 1e8  # how much steps are held back at first where they lead up, and at most
SINGULAR = 1e-9  # of the largest curvature, which none counts less than
SURE = 4  # curvature by the logarithm of a size at which the variance is a standard error above 0
FLAT = 1e-7  # of the largest curvature: below, the data does not tell
TIE = 1e-9  # of a log-likelihood: less is no difference


class Point(Protocol):
    """A cost at logarithms `at` (k,).

    value      of the cost
    slopes     (k,)
    about      (k, k) its curvature, roughly: positive semi-definite, and cheap
    curvature  (k, k) its second derivatives
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


def least_cost(cost: Cost[P], start: Array, highest: float) -> P:
    """The point where the cost is least.

    cost     at any logarithms (k,) of standard deviations; LinAlgError where there is none
    highest  logarithm that none exceeds

    The cost flattens as a size nears 0: those that had better be the smallest are made that, and the others sought
    again.
    """
    best = cost(start)
    while True:
        best = _descended(cost, best, highest)
        lowered = _lowered(cost, best)
        if lowered is best:
            return best
        best = lowered


def _descended(cost: Cost[P], start: P, highest: float) -> P:
    """Point from which no step leads down, by damped Newton steps between the bounds.

    Steps go by what the curvature is about, and what that lacks as the steps before have shown: with it alone each
    would gain no more than some share of the last. Dennis, Gay & Welsch (1981), doi:10.1145/355958.355965.
    """
    best, damping, lacking = start, 0.0, np.zeros((len(start.at),) * 2)
    for _ in range(STEPS):
        step, promise = _step(best, best.about + lacking, damping, highest)
        if promise < NEAR:
            break
        point = _tried(cost, best.at + step)
        if point is not None and point.value < best.value + TIE:
            lacking = _learned(lacking, best, point)
            best, damping = point, 0.0 if damping <= DAMPED else damping / 10
        elif damping < MOST_DAMPED:
            damping = max(DAMPED, 10 * damping)
        else:
            break
    return best


def _learned(lacking: Array, before: Point, after: Point) -> Array:
    """(k, k) what the curvature lacks, so that it says how the slopes have changed: a symmetric rank-one update."""
    step = after.at - before.at
    missed = after.slopes - before.slopes - (after.about + lacking) @ step
    share = float(missed @ step)
    if abs(share) < SINGULAR * np.linalg.norm(missed) * np.linalg.norm(step):
        return lacking
    return np.asarray(lacking + np.outer(missed, missed / share))


def _tried(cost: Cost[P], at: Array) -> P | None:
    """The point there, None where rounding leaves a covariance no inverse: a search that looks there turns back."""
    try:
        return cost(at)
    except np.linalg.LinAlgError:
        return None


def _step(point: Point, curvature: Array, damping: float, highest: float) -> tuple[Array, float]:
    """(k,) a step down, and how much it promises to gain.

    By units in which the cost bends alike. A curvature that is negative counts as a positive one, so that the step
    leads away from a saddle.
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
    """The same, with each size in turn at its smallest if that costs less, or no more where the cost falls towards it;
    not those that are surely above 0.
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
    """Standard errors of these logarithms, those at their smallest held there."""
    free = np.flatnonzero(at > np.log(2 * SMALLEST))
    errors = np.full(len(at), np.inf)
    if len(free):
        curvatures, directions = np.linalg.eigh(curvature[np.ix_(free, free)])
        determined = curvatures > FLAT * max(1.0, curvatures[-1])
        variances = directions[:, determined] ** 2 @ (1 / curvatures[determined])
        lost = np.sum(directions[:, ~determined] ** 2, axis=1) > FLAT
        errors[free] = np.where(lost, np.inf, np.sqrt(variances))
    return errors
