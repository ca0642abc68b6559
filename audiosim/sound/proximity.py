"""Mutual proximity: a divergence turned into a symmetric rank, which reduces hubs; and its nearest correlation."""

import numpy as np

from audiosim.sound.gaussians import Singles
from audiosim.stats.arrays import Array, Booleans, Integers

LEAST = 20  # fewest references of a kind that has proximities of its own
SEED = 2012


def mutual_proximity(
    distances: Array | Singles, from_one: Array | Singles, from_other: Array | Singles, counted: Booleans
) -> Array:
    """Empirical mutual proximity of one thing x and others y, in [0, 1].

        share of the references r with  D(x, r) > D(x, y)  and  D(y, r) > D(x, y)

    distances   (m,) D(x, y)
    from_one    (r,) D(x, r)
    from_other  (m, r) D(y, r)
    counted     (m, r) True for references that count for each y: none that is x or y itself

    1: every reference is farther from both; 0: none is. NaN if no reference counts. Only distances to the references
    are needed, so it can be computed for a new item too.
    Schnitzer, Flexer, Schedl & Widmer (2012), JMLR 13, section 3.2, which assumes no distribution.
    """
    threshold = distances[:, None]
    farther = (from_one > threshold) & (from_other > threshold) & counted
    count = counted.sum(axis=1)
    return np.asarray(np.divide(farther.sum(axis=1), count, out=np.full(len(distances), np.nan), where=count > 0))


def references_among(count: int, most: int) -> Integers:
    """Places of the references among this many things, in rising order: all, or `most` of them, always the same."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, most, replace=False))


def has_two_kinds(references: Booleans) -> bool:
    """True if there are enough references of each of two kinds to take proximities within them."""
    return bool(LEAST <= np.count_nonzero(references) <= len(references) - LEAST)


def proximity_of_kinds(
    distances: Array | Singles,
    from_one: Array | Singles,
    from_other: Array | Singles,
    counted: Booleans,
    one: bool,
    others: Booleans,
    references: Booleans,
) -> Array:
    """Mutual proximity of x and others y with things of two kinds, where those of one kind are nearer to each other.

        of one kind  share of the references r of that kind with  D(x, r) > D(x, y)  and  D(y, r) > D(x, y)
        of two       share of those of y's kind with  D(x, r) > D(x, y)
                     times the share of those of x's kind with  D(y, r) > D(x, y)

    one         kind of x
    others      (m,) kind of each y
    references  (r,) kind of each r; see `mutual_proximity` for the rest

    A distance is ranked among distances between the same two kinds, so distances from one kind to the other may all be
    larger. The product is the proximity of independent ranks (Schnitzer et al. 2012, equation 5).
    """
    threshold = distances[:, None]
    from_x, from_y = (from_one > threshold) & counted, (from_other > threshold) & counted
    own, theirs = references == one, references == others[:, None]
    of_own, of_theirs = (np.maximum(1, (counted & kind).sum(axis=1)) for kind in (own, theirs))
    within = (from_x & from_y & own).sum(axis=1) / of_own
    across = (from_x & theirs).sum(axis=1) / of_theirs * ((from_y & own).sum(axis=1) / of_own)
    return np.asarray(np.where(others == one, within, across))


def nearest_correlation(alike: Array) -> Array:
    """(m, m) correlation matrix nearest to similarities: no negative eigenvalues, 1 on the diagonal.

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
