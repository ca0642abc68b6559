"""Estimators that learn from a campaign, as a service wants them: what they learned is kept.

See `audiosim.relevance.relearning`.
"""

from functools import lru_cache

import numpy as np

from audiosim.arrays import Array
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.model_check import Reserved, Unlearned
from audiosim.relevance.relearning import relearned

KEPT = 2


class Remembering:
    """An estimator that remembers what it learned last: learning takes seconds where predicting takes milliseconds."""

    def __init__(self, estimator: RelevanceEstimator) -> None:
        self._estimator = estimator
        self._learned = lru_cache(maxsize=KEPT)(self._learn)

    @property
    def plain(self) -> RelevanceEstimator:
        """The estimator itself."""
        return self._estimator

    @property
    def name(self) -> str:
        return self._estimator.name

    def predict(self, grades: Array) -> Belief:
        return self._estimator.predict(grades)

    def in_reserve(self) -> RelevanceEstimator | None:
        """The estimator in reserve for where this one does not fit; None where there is none."""
        return self._estimator.in_reserve() if isinstance(self._estimator, Reserved) else None

    def unlearned(self) -> RelevanceEstimator:
        """The estimator as it was when nothing was judged; itself where it does not say."""
        return self._estimator.unlearned() if isinstance(self._estimator, Unlearned) else self._estimator

    def relearned(self, grades: Array) -> "Remembering":
        """The estimator that has learned from these judgments, the same object for the same ones.

        grades  (n,) NaN where unjudged
        """
        return self._learned(grades.tobytes())

    def _learn(self, grades: bytes) -> "Remembering":
        return Remembering(relearned(self._estimator, np.frombuffer(grades).copy()))
