"""Cholesky factor of the covariance of unknowns in an order, which grows as unknowns are added at the end."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from audiosim.arrays import Array, Integers

STEP = 32  # unknowns added at once


@dataclass(frozen=True, slots=True, eq=False)
class OrderedFactor:
    """Cholesky factor of the covariance of unknowns in an order.

    A campaign needs it after each judgment, for the same unknowns and one more.

    places  (k,) places of the unknowns
    root    (k, k) lower triangular; the first i rows and columns are the factor of the first i unknowns
    """

    places: Integers
    root: Array

    def followed(self, places: Integers, between: Callable[[Integers, Integers], Array]) -> "OrderedFactor":
        """The factor of these unknowns, computed from the steps of this factor that share the same first unknowns.

        places   (k,) different
        between  covariance (m, k) of some unknowns (m,) with others (k,)
        """
        # Steps start at fixed places, and only whole ones are reused: so the result has the same digits whether the
        # unknowns were added one by one or at once.
        length = min(len(self.places), len(places))
        other = np.flatnonzero(self.places[:length] != places[:length])
        same = int(other[0] if len(other) else length) // STEP * STEP
        root = np.zeros((len(places), len(places)))
        root[:same, :same] = self.root[:same, :same]
        for start in range(same, len(places), STEP):
            stop = min(start + STEP, len(places))
            covariance = between(places[start:stop], places[:stop])
            root[start:stop, :start] = solve_triangular(root[:start, :start], covariance[:, :start].T, lower=True).T
            left = covariance[:, start:] - root[start:stop, :start] @ root[start:stop, :start].T
            root[start:stop, start:stop] = cholesky(left, lower=True)
        return OrderedFactor(places, root)

    def predictions(self, values: Array, mean: Array) -> tuple[Array, Array]:
        """(k,) mean and (k,) standard deviation of each unknown given the values (k,) of those before it.

        mean  (k,) mean of each unknown before any value is known
        """
        deviation = np.diagonal(self.root)
        innovation = solve_triangular(self.root, values - mean, lower=True)
        return np.asarray(values - deviation * innovation), np.asarray(deviation)


NO_FACTOR = OrderedFactor(np.empty(0, dtype=np.int64), np.empty((0, 0)))
