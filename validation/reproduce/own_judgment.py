"""aSYS and aART with the pair's OWN judgment in their averages: only to reproduce the papers' numbers.

A feature that contains the answer predicts well if the answer is known, and is useless otherwise. The printed
coefficients and errors of M_jud need this. `audiosim.ordinal.judgment` always leaves a pair's own judgment out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.features import FEATURES
from audiosim.ordinal.model import Model
from audiosim.stats.arrays import Array
from audiosim.training.plan import Plan
from audiosim.training.train import train


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


ASYS = Feature(
    "aSYSown", "judgment", "all queries", 1, "mean grade of its systems, its own included",
    _mean_grade_of_systems,
)  # fmt: skip
AART = Feature(
    "aARTown", "judgment", "own query", 1, "mean grade of its artist, its own included",
    _mean_grade_of_artist, "artist",
)  # fmt: skip
OWN = {"aSYS": ASYS, "aART": AART}


def own_columns(pool: Pool, grades: Array, names: Sequence[str]) -> dict[str, Array]:
    """The affected ones among the named features, each (n,), with the pair's own judgment included.

    grades  (n,) NaN where unjudged
    """
    return {name: OWN[name].values(pool, grades) for name in names if name in OWN}


def fit_as_printed(collections: Sequence[Collection], plan: Plan) -> Model:
    """The model of a plan, fitted with the pair's own judgment in aSYS and aART.

    Registers both features in this process; the model's terms are the plan's, so that in use the judgment is left out.
    """
    for feature in OWN.values():
        cast(dict[str, Feature], FEATURES)[feature.name] = feature
    terms = tuple(":".join(OWN[name].name if name in OWN else name for name in term.split(":")) for term in plan.terms)
    return replace(
        train(collections, replace(plan, terms=terms)).model, terms=plan.terms, definitions=None, report=None
    )
