"""aSYS and aART with the pair's OWN judgment in their averages: only to reproduce the papers' numbers.

A feature that contains the answer predicts well if the answer is known, and is useless otherwise. The printed
coefficients and errors of M_jud need this. `features.judgment` always leaves a pair's own judgment out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from audiosim.collection.pool import Pool
from audiosim.stats.arrays import Array

AFFECTED = ("aSYS", "aART")
WARNING = (
    "OWN JUDGMENT INCLUDED: aSYS and aART contain the judgment that they predict. "
    "This reproduces printed numbers, but is useless for unjudged pairs"
)


def own_columns(pool: Pool, grades: Array, names: Sequence[str]) -> dict[str, Array]:
    """The affected ones among the named features, each (n,), with the pair's own judgment included.

    grades  (n,) NaN where unjudged
    """
    makers = {"aSYS": _mean_grade_of_systems, "aART": _mean_grade_of_artist}
    return {name: makers[name](pool, grades) for name in names if name in AFFECTED}


def _mean_grade_of_systems(pool: Pool, grades: Array) -> Array:
    judged = ~np.isnan(grades)
    retrieved = pool.retrieved
    total = retrieved.T @ (retrieved @ np.where(judged, grades, 0.0))
    return _ratio(total, retrieved.T @ (retrieved @ judged.astype(np.float64)))


def _mean_grade_of_artist(pool: Pool, grades: Array) -> Array:
    judged, group = ~np.isnan(grades), pool.artists.group
    total = np.bincount(group, np.where(judged, grades, 0.0))[group]
    return np.where(pool.artists.known, _ratio(total, np.bincount(group, judged)[group]), np.nan)


def _ratio(total: ArrayLike, count: ArrayLike) -> Array:
    count = np.asarray(count, dtype=np.float64)
    return np.asarray(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))
