"""What an estimator says of the pairs of a pool: level by level, or with how they hang together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Pair
from audiosim.stats.field import Field
from audiosim.stats.ordinal import expectation, variance

FREEDOM = 10  # 5 to 30 predict single grades about as well


@dataclass(frozen=True, eq=False)
class Prediction:
    """P(level) of every pair of a pool.

    What a new judgment says of other pairs is not in `know`: the estimator must be asked again, it is not `exact`.

    levels         (l,) grades, rising
    probabilities  (n, l) rows sum to 1
    models         names of the models that were used
    model          (n,) which of them spoke for each pair
    """

    levels: Array
    probabilities: Array
    models: tuple[str, ...]
    model: Integers

    field = None
    exact = False

    @cached_property
    def expectation(self) -> Array:
        """(n,) expected grade."""
        return expectation(self.probabilities, self.levels)

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of the grade."""
        return variance(self.probabilities, self.levels)

    def rows(self, pairs: Sequence[Pair], chosen: Iterable[int]) -> list[dict[str, Any]]:
        """One row per chosen pair: query, document, expectation, variance, probabilities, model.

        pairs   n, those of the pool
        chosen  places among them
        """
        return _rows(self, pairs, chosen)

    def know(self, index: int, grade: float) -> "Prediction":
        """The same: what is known of one pair says nothing of the others."""
        return self

    def apart(self) -> "Prediction":
        """The same: no pair has anything to do with another."""
        return self


@dataclass(frozen=True, eq=False)
class JointPrediction:
    """Mean and covariance of the grades of all pairs of a pool, and what the ordinal models make of them.

    What a new judgment says of other pairs is all in `know`, which is `exact`: the estimator would say the same.

    prior    what the ordinal models say before anything is judged
    start    (n,) field of the grades as shares of the highest, before anything is judged
    field    the same given the judgments
    grades   (n,) the judgments, NaN where unjudged
    maximum  the highest grade

        P(level <= l) = distribution function of Student's t of  (end_l - mean) / deviation,
        end_l = expectation by the ordinal model + deviation at the start x normal quantile of P(level <= l) by it

    mean and deviation being those of the field, for a judged pair given all judgments but its own. A field that moves
    shifts and stretches what the ordinal models say, and it stays on the scale. The tails are those of FREEDOM degrees
    of freedom, heavier than normal ones: some queries vary more than others, and a single grade shows it.
    """

    prior: Prediction
    start: Field
    field: Field
    grades: Array
    maximum: float

    exact = True

    @property
    def levels(self) -> Array:
        """(l,) grades, rising."""
        return self.prior.levels

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that were used for the prior."""
        return self.prior.models

    @property
    def model(self) -> Integers:
        """(n,) which of them spoke for each pair."""
        return self.prior.model

    @cached_property
    def probabilities(self) -> Array:
        """(n, l) P(level); rows sum to 1."""
        mean, spread = self.field.mean.copy(), self.field.variance.copy()
        judged = np.flatnonzero(~np.isnan(self.grades))
        mean[judged], spread[judged] = self.start.left_out(judged, self.grades[judged] / self.maximum)
        below = np.clip(np.cumsum(self.prior.probabilities, axis=1)[:, :-1], 0, 1)
        own = self.prior.expectation / self.maximum
        ends = own[:, None] + np.sqrt(self.start.variance)[:, None] * ndtri(below)
        reached = np.zeros((len(mean), len(self.levels) + 1))
        reached[:, 1:-1] = stdtr(FREEDOM, (ends - mean[:, None]) / np.sqrt(spread)[:, None])
        reached[:, -1] = 1
        probabilities = np.diff(reached, axis=1)
        probabilities.flags.writeable = False
        return probabilities

    @cached_property
    def expectation(self) -> Array:
        """(n,) expected grade."""
        return expectation(self.probabilities, self.levels)

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of the grade."""
        return variance(self.probabilities, self.levels)

    def rows(self, pairs: Sequence[Pair], chosen: Iterable[int]) -> list[dict[str, Any]]:
        """As of `Prediction`."""
        return _rows(self, pairs, chosen)

    def know(self, index: int, grade: float) -> "JointPrediction":
        """What is predicted once one unjudged pair turned out to have this grade."""
        grades = self.grades.copy()
        grades[index] = grade
        return replace(self, field=self.field.know(index, grade / self.maximum), grades=grades)

    def apart(self) -> Prediction:
        """The same of each pair, as if it had nothing to do with the others."""
        return Prediction(self.levels, self.probabilities, self.models, self.model)


def _rows(
    prediction: Prediction | JointPrediction, pairs: Sequence[Pair], chosen: Iterable[int]
) -> list[dict[str, Any]]:
    keys = ("expectation", "variance", "probabilities")
    columns = (prediction.expectation.tolist(), prediction.variance.tolist(), prediction.probabilities.tolist())
    return [
        pairs[i]._asdict()
        | {key: column[i] for key, column in zip(keys, columns, strict=True)}
        | {"model": prediction.models[prediction.model[i]]}
        for i in chosen
    ]
