"""What is predicted: of the pairs of a pool in one state of the judgments, or of rows of features."""

from collections.abc import Collection as Several
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.table import check_terms
from audiosim.relevance.estimators import Prediction
from audiosim.relevance.published import Model
from audiosim.stats.ordinal import expectation, variance

STATUSES = ("predicted", "judged", "unknown")
PREDICTED, JUDGED, UNKNOWN = range(3)
ABSENT = -1


@dataclass(frozen=True, eq=False)
class Predicted:
    """The rows that somebody asked for, and what is predicted of them.

    name, version  of the estimator; None where it has no version
    judgments      how many the predictions rest on
    levels         (l,) grades, rising
    expectation    (m,) the grade of a judged row; NaN where unknown
    variance       (m,) 0 for a judged row; NaN where unknown
    status         (m,) number in STATUSES
    models         names of the models that were used
    model          (m,) which of them spoke for the row; -1 where unknown
    probabilities  (m, l) as predicted, for a judged row too; NaN where unknown
    """

    name: str
    version: str | None
    judgments: int
    levels: Array
    expectation: Array
    variance: Array
    status: Integers
    models: tuple[str, ...]
    model: Integers
    probabilities: Array


@dataclass(frozen=True, eq=False)
class State:
    """One state of the judgments, and what is predicted from it.

    pool        n pairs
    name        of the estimator
    version     of the estimator's model, None where it has none
    judgments   how many were made
    grades      (n,) NaN where unjudged
    prediction  of the n pairs, from these grades
    """

    pool: Pool
    name: str
    version: str | None
    judgments: int
    grades: Array
    prediction: Prediction

    @cached_property
    def judged(self) -> Booleans:
        """(n,) whether the pair is judged."""
        return ~np.isnan(self.grades)

    @cached_property
    def expectation(self) -> Array:
        """(n,) the grade where judged, else the expected one."""
        return np.where(self.judged, self.grades, self.prediction.expectation)

    @cached_property
    def variance(self) -> Array:
        """(n,) 0 where judged."""
        return np.where(self.judged, 0, self.prediction.variance)

    def of(self, pairs: Several[Pair]) -> Predicted:
        """The rows of these pairs, in their order; those outside the pool are unknown."""
        place = np.fromiter(map(self.pool.positions.get, pairs, repeat(ABSENT)), np.int64, len(pairs))
        unknown = place == ABSENT
        return Predicted(
            name=self.name,
            version=self.version,
            judgments=self.judgments,
            levels=self.prediction.levels,
            expectation=np.where(unknown, np.nan, self.expectation[place]),
            variance=np.where(unknown, np.nan, self.variance[place]),
            status=np.where(unknown, UNKNOWN, np.where(self.judged[place], JUDGED, PREDICTED)),
            models=self.prediction.models,
            model=np.where(unknown, ABSENT, self.prediction.model[place]),
            probabilities=np.where(unknown[:, None], np.nan, self.prediction.probabilities[place]),
        )


def predict_features(model: Model, table: Mapping[str, Array]) -> Predicted:
    """What a model says of rows of features; a row with an unknown one is unknown, no fallback steps in.

    table  features of any model, each (m,), NaN where unknown; those of this one are needed
    """
    check_terms(list(table))
    count = len(next(iter(table.values()), ()))
    with np.errstate(over="ignore", invalid="ignore"):
        probabilities = model.probabilities(table, count)
    needed = np.array([table[name] for name in model.features]).reshape(len(model.features), count)
    unknown = np.isnan(needed).any(axis=0)
    _check_overflow(np.isnan(probabilities[:, 0]) & ~unknown)
    levels = np.array(model.levels)
    return Predicted(
        name=model.name,
        version=model.version,
        judgments=0,
        levels=levels,
        expectation=expectation(probabilities, levels),
        variance=variance(probabilities, levels),
        status=np.where(unknown, UNKNOWN, PREDICTED),
        models=(model.name,),
        model=np.where(unknown, ABSENT, 0),
        probabilities=probabilities,
    )


def _check_overflow(overflown: Booleans) -> None:
    if np.any(overflown):
        raise InputError(f"the features of row {int(np.argmax(overflown))} are too large to multiply")
