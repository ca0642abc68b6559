"""Standard deviations at which a cost is least: a search by their logarithms, and how sure its end is."""

import math
from collections.abc import Callable

import numpy as np

from audiosim.arrays import Array

SMALLEST = 1e-4  # standard deviation, in units of the values, that a component does not fall below
ITERATIONS = 500
STEP = 1e-3  # of a logarithm, for differences of the gradient
NEAR = 1e-7  # of a standard error, to the best ones
HOPELESS = 1e10  # cost where rounding leaves a covariance no inverse: a search that looks there turns back
SURE = 4  # curvature by the logarithm of a size at which the variance is a standard error above 0
FLAT = 1e-7  # of the largest curvature: below, the data does not tell
TIE = 1e-9  # of a log-likelihood: less is no difference

Cost = Callable[[Array], tuple[float, Array]]  # of logarithms (k,): the cost and its slopes (k,)


def least_cost(cost: Cost, start: Array, highest: float, count: int) -> tuple[Array, Array]:
    """Logarithms of the standard deviations where the cost is least, and how it bends there.

    highest  logarithm that none exceeds
    count    of the values: the cost bends by about twice that at most

    The cost bends far more with some than with others: the search goes by units in which it bends alike at the
    start. It flattens as one nears 0, where L-BFGS stops on the way: those that had better be the smallest are
    made that, and the others sought again.
    """
    cost = _guarded(cost)
    best, curvature = start, _curvature(cost, start)
    while True:
        units = 1 / np.sqrt(np.clip(np.diagonal(curvature), SURE, max(SURE, 2 * count)))
        best = _descended(cost, best, units, highest)
        curvature = _curvature(cost, best)
        lowered = _lowered(cost, best, np.diagonal(curvature))
        if lowered is best:
            return best, curvature
        best = lowered


def _guarded(cost: Cost) -> Cost:
    def guarded(at: Array) -> tuple[float, Array]:
        try:
            return cost(at)
        except np.linalg.LinAlgError:
            return HOPELESS, np.zeros(len(at))

    return guarded


def _descended(cost: Cost, start: Array, units: Array, highest: float) -> Array:
    """Point at which L-BFGS stops.

    units  for each size about a standard error of its logarithm
    """

    def scaled(at: Array) -> tuple[float, Array]:
        value, slopes = cost(at * units)
        return value, slopes * units

    from scipy.optimize import minimize  # costs start-up time that most commands need not pay

    found = minimize(
        scaled,
        start / units,
        jac=True,
        method="L-BFGS-B",
        bounds=[(math.log(SMALLEST) / unit, highest / unit) for unit in units.tolist()],
        options={"maxiter": ITERATIONS, "ftol": 1e-14, "gtol": NEAR},
    )
    return np.asarray(found.x * units, dtype=np.float64)


def _lowered(cost: Cost, best: Array, curvature: Array) -> Array:
    """The same, with each size in turn at its smallest if that costs less, or no more where the cost falls towards it;
    not those that are surely above 0.
    """
    least, slopes = cost(best)
    for place in np.flatnonzero((best > np.log(SMALLEST)) & (curvature < SURE)):
        moved = best.copy()
        moved[place] = np.log(SMALLEST)
        found = cost(moved)[0]
        if found < least - TIE or (found < least + TIE and slopes[place] > 0):
            best, least = moved, found
    return best


def _curvature(cost: Cost, at: Array) -> Array:
    """(k, k) the second derivatives of the cost, by central differences of its slopes."""
    steps = STEP * np.eye(len(at))
    curvature = np.array([cost(at + step)[1] - cost(at - step)[1] for step in steps]) / (2 * STEP)
    return (curvature + curvature.T) / 2


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
