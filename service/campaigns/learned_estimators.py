"""Estimators that learn from a campaign, wrapped to cache the results of learning.

See `audiosim.relevance.relearning`.
"""

from functools import lru_cache

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import PairedComparison
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.model_check import Reserved, Unlearned
from audiosim.relevance.moments import last_moment
from audiosim.relevance.relearning import after_comparisons, comparing, relearned

KEPT = 2


class Remembering:
    """An estimator that caches the last result of learning: learning takes seconds, predicting milliseconds."""

    def __init__(self, estimator: RelevanceEstimator) -> None:
        self._estimator = estimator
        self._learned = lru_cache(maxsize=KEPT)(self._learn)
        self._by_comparisons = lru_cache(maxsize=KEPT)(self._learn_comparisons)

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
        """Replacement used if the estimator fails its check, or None."""
        return self._estimator.in_reserve() if isinstance(self._estimator, Reserved) else None

    def unlearned(self) -> RelevanceEstimator:
        """The estimator before any judgment; itself if it does not learn."""
        return self._estimator.unlearned() if isinstance(self._estimator, Unlearned) else self._estimator

    def knowing(self, comparisons: tuple[PairedComparison, ...]) -> "Remembering":
        """The estimator with these comparisons; itself if it has them already, or uses none."""
        first = self._by_comparisons(comparisons[: last_moment(len(comparisons))])
        known = comparing(first, comparisons)
        return self if known is self._estimator else Remembering(known)

    def relearned(self, grades: Array) -> "Remembering":
        """The estimator after learning from these judgments; the same judgments give the same object.

        grades  (n,) NaN where unjudged
        """
        return self._learned(grades.tobytes())

    def _learn(self, grades: bytes) -> "Remembering":
        return Remembering(relearned(self._estimator, np.frombuffer(grades).copy()))

    def _learn_comparisons(self, comparisons: tuple[PairedComparison, ...]) -> RelevanceEstimator:
        return after_comparisons(self._estimator, comparisons) if comparisons else self._estimator
