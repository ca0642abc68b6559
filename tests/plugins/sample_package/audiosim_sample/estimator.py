"""An estimator that spreads the grade of each pair around the mean grade of its query."""

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief
from audiosim.stats.arrays import Array


class AroundTheMean:
    """Grades lie around the mean of the query's other judgments; around the middle of the scale if there are none.

    spread  standard deviation, as a share of the highest grade
    """

    name = "sample"

    def __init__(self, pool: Pool, spread: float) -> None:
        if not spread > 0:
            raise InputError(f"the spread of sample must be more than 0, got {spread:g}")
        self._pool = pool
        self._levels = np.array(pool.scale.levels)
        self._spread = spread * pool.scale.maximum

    def predict(self, grades: Array) -> Belief:
        """Belief about each pair of the pool.

        grades  (n,) NaN where unjudged
        """
        middle = (self._levels[0] + self._levels[-1]) / 2
        query, judged = self._pool.query, ~np.isnan(grades)
        number = np.bincount(query, judged)[query] - judged
        total = np.bincount(query, np.nan_to_num(grades))[query] - np.nan_to_num(grades)
        mean = np.where(number > 0, total / np.maximum(number, 1), middle)
        weight = np.exp(-(((self._levels - mean[:, None]) / self._spread) ** 2) / 2)
        probabilities = weight / weight.sum(axis=1, keepdims=True)
        return Belief.independent(self._levels, probabilities, grades, self._pool.scale.maximum, (self.name,))


def around_the_mean(pool: Pool, text: str) -> AroundTheMean:
    """The estimator of `--model sample`, or `--model sample:0.1` for a spread of a tenth of the scale."""
    return AroundTheMean(pool, float(text or 0.25))
