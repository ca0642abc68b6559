"""Mutual proximity: a divergence as a rank that both sides agree on, which tames hubs."""

import numpy as np

from audiosim.arrays import Array, Booleans


def mutual_proximity(apart: Array, from_one: Array, from_other: Array, counted: Booleans) -> Array:
    """Empirical mutual proximity of one thing x and others y, in [0, 1].

        share of the references r with  D(x, r) > D(x, y)  and  D(y, r) > D(x, y)

    apart       (m,) D(x, y)
    from_one    (r,) D(x, r)
    from_other  (m, r) D(y, r)
    counted     (m, r) which references count for which y: none that is x or y itself

    1: every reference is farther from both; 0: none is. NaN where no reference counts. Whatever the
    references are, it needs no other pair, so that it can be had for something new.
    Schnitzer, Flexer, Schedl & Widmer (2012), JMLR 13, section 3.2, which assumes no distribution.
    """
    threshold = apart[:, None]
    farther = (from_one > threshold) & (from_other > threshold) & counted
    count = counted.sum(axis=1)
    shares: Array = np.divide(farther.sum(axis=1), count, out=np.full(len(apart), np.nan), where=count > 0)
    return shares
