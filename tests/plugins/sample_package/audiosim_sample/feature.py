"""A feature that counts the systems that ranked the document first."""

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.ordinal.feature import Feature
from audiosim.stats.arrays import Array


def share_of_firsts(pool: Pool) -> Array:
    """(n,) share of the systems that ranked the document first, for each pair of the pool."""
    first = np.bincount(pool.ranks.indices, pool.ranks.data == 1, len(pool.pairs))
    return np.asarray(first / len(pool.systems))


fTOP = Feature("fTOP", "output", "nothing", 1, "share of systems that put the document first", share_of_firsts)  # noqa: N816, its name
