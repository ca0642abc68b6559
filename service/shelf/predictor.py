"""An estimator and its predictions from the judgments of a campaign, computed once for each state."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from audiosim.arrays import Array
from audiosim.campaign import Campaign
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import Pool
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.relearning import comparing, following, taught_by
from audiosim.service.campaigns.learned_estimators import Remembering
from audiosim.service.shelf.prediction import State


class Predictor:
    """An estimator for one pool, and its predictions from the judgments of a campaign.

    Threads may share one: apart from caches, it never changes.

    pool        pool of the estimator
    estimator   estimator before any learning
    campaign    source of the judgments
    leads       True if pool and estimator are the campaign's, whose predictions are then reused
    within      predictor of the same model for a part of the pool, whose learning is reused here
    """

    def __init__(
        self,
        pool: Pool,
        estimator: RelevanceEstimator,
        campaign: Campaign,
        leads: bool = False,
        within: "Predictor | None" = None,
    ) -> None:
        self.pool, self.estimator, self._within = pool, Remembering(estimator), within
        self._campaign, self._leads = campaign, leads
        self.version: str | None = getattr(estimator, "version", None)
        # The batches of one large pool arrive in sequence with the same judgments.
        self._recent = lru_cache(maxsize=2)(self._predict)
        self._last: State | None = None

    @property
    def name(self) -> str:
        """The name of the estimator."""
        return self.estimator.name

    def now(self) -> State:
        """Predictions from all judgments, including those that other processes wrote to the campaign's log."""
        self._campaign.refresh()
        return self.own

    def state(self, grades: Mapping[Pair, float] | None) -> State:
        """The state with exactly these judgments; None for the campaign's."""
        return self.now() if grades is None else self.given(grades)

    @property
    def own(self) -> State:
        """Predictions from the campaign's judgments, as far as this process has read them."""
        last = self._last  # read once and replaced in one step, so that other threads see a whole state
        if last is None or last.number != (
            self._campaign.current_state.number if self._leads else self._campaign.number
        ):
            last = self._last = self._led() if self._leads else self._followed()
        return last

    def _led(self) -> State:
        number, selection, judgments = self._campaign.current_state
        return State(self.pool, self.name, self.version, judgments, selection.belief, number, selection)

    def _followed(self) -> State:
        number, judgments = self._campaign.snapshot()
        grades = mean_grades(judgments)
        state = self._state(self.learned(judgments), self.pool.spread(grades), len(judgments), number)
        return state if self._last is None else replace(state, belief=state.belief.resumed(self._last.belief))

    def given(self, grades: Mapping[Pair, float]) -> State:
        """The state with exactly these judgments; judgments of pairs outside the pool are ignored.

        The estimator does not learn from the campaign here, so that the same judgments always give the same
        predictions.
        """
        return self._state(self.estimator, self.pool.spread(grades), len(grades), None)

    def prior(self, learned: Mapping[Pair, float]) -> Belief:
        """The belief before any judgment of a pair, after learning from these judgments."""
        nothing = np.full(len(self.pool.pairs), np.nan)
        estimator = self.estimator.relearned(self.pool.spread(learned)) if learned else self.estimator
        return estimator.predict(nothing)

    def learned(self, judgments: Sequence[Judgment]) -> Remembering:
        """The estimator after a campaign with these judgments, in their order."""
        if self._within is not None:
            found = following(self.estimator.plain, self._within.taught(judgments))
            if found is not None:
                return Remembering(comparing(found, self._campaign.comparisons.in_force()[1]))
        comparisons = self._campaign.comparisons.in_force()[1]
        learned = taught_by(self.pool, self.estimator.knowing(comparisons), judgments)
        assert isinstance(learned, Remembering)
        return learned

    def taught(self, judgments: Sequence[Judgment]) -> RelevanceEstimator:
        """The estimator with what it learned in a campaign."""
        return self._campaign.current_state.selection.estimator if self._leads else self.learned(judgments).plain

    def _state(self, estimator: Remembering, grades: Array, judgments: int, number: int | None) -> State:
        return State(self.pool, self.name, self.version, judgments, self._recent(estimator, grades.tobytes()), number)

    def _predict(self, estimator: Remembering, grades: bytes) -> Belief:
        return estimator.predict(np.frombuffer(grades).copy())
