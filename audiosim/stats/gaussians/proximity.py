"""Mutual proximity: a divergence turned into a symmetric rank, which reduces hubs; and its nearest correlation."""

import numpy as np

from audiosim.arrays import Array, Booleans
from audiosim.stats.gaussians.gaussian import Singles


def mutual_proximity(
    distances: Array | Singles, from_one: Array | Singles, from_other: Array | Singles, counted: Booleans
) -> Array:
    """Empirical mutual proximity of one thing x and others y, in [0, 1].

        share of the references r with  D(x, r) > D(x, y)  and  D(y, r) > D(x, y)

    distances   (m,) D(x, y)
    from_one    (r,) D(x, r)
    from_other  (m, r) D(y, r)
    counted     (m, r) which references count for which y: none that is x or y itself

    1: every reference is farther from both; 0: none is. NaN if no reference counts. Only distances to the references
    are needed, so it can be computed for a new item too.
    Schnitzer, Flexer, Schedl & Widmer (2012), JMLR 13, section 3.2, which assumes no distribution.
    """
    threshold = distances[:, None]
    farther = (from_one > threshold) & (from_other > threshold) & counted
    count = counted.sum(axis=1)
    shares: Array = np.divide(farther.sum(axis=1), count, out=np.full(len(distances), np.nan), where=count > 0)
    return shares


def nearest_correlation(alike: Array) -> Array:
    """(m, m) similarities turned into a correlation matrix: no negative eigenvalues, 1 on the diagonal.

    alike  (m, m) symmetric, 1 on the diagonal
    """
    linked = np.ix_(*2 * [np.flatnonzero(np.count_nonzero(alike, axis=1) > 1)])
    values, vectors = np.linalg.eigh(alike[linked])
    if (values >= 0).all():
        return alike
    positive = (vectors * np.maximum(0, values)) @ vectors.T
    deviation = np.sqrt(np.diagonal(positive))
    kernel = alike.copy()
    nearest = positive / np.outer(deviation, deviation)
    kernel[linked] = (nearest + nearest.T) / 2  # a product is the same from both sides but for rounding
    return kernel
