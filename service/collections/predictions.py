"""Predictions: for the pairs of a pool in one state of the judgments, or for rows of features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat

import numpy as np

from audiosim.campaign import Campaign
from audiosim.collection.pool import Pool
from audiosim.collection.values import Judgment, Pair, PairedComparison, mean_grades
from audiosim.joint.check import Reserved, Unlearned
from audiosim.joint.estimators import RelevanceEstimator, comparing, following, relearned, taught_by
from audiosim.joint.independent import row_probabilities
from audiosim.joint.moments import comparisons_learned
from audiosim.joint.posterior import Belief, evidence_of, model_notes
from audiosim.ordinal.features import FEATURES, check_terms
from audiosim.ordinal.model import Model
from audiosim.ranking import Selection
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.ordinal import expectation, variance

# Estimators that learn from a campaign, wrapped to cache the results of learning.
#
# See `audiosim.joint.estimators`.


KEPT = 2


class Remembering:
    """An estimator that caches the last result of learning: learning takes seconds, predicting milliseconds."""

    def __init__(self, estimator: RelevanceEstimator) -> None:
        self._estimator = estimator
        self._learned = lru_cache(maxsize=KEPT)(self._learn)
        self._by_comparisons = lru_cache(maxsize=KEPT)(self._learn_comparisons)

    def __reduce__(self) -> tuple[type["Remembering"], tuple[RelevanceEstimator]]:
        return Remembering, (self._estimator,)  # without what it remembers

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
        first = self._by_comparisons(comparisons[: comparisons_learned(comparisons)])
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
        return comparing(self._estimator, comparisons, learn=True) if comparisons else self._estimator


STATUSES = ("predicted", "judged", "unknown")
PREDICTED, JUDGED, UNKNOWN = range(3)
ABSENT = -1
BLOCK = 5_000


@dataclass(frozen=True, eq=False)
class Predicted:
    """Requested rows, with predictions for each.

    name, version  of the estimator; None if it has no version
    judgments      number of judgments used for the predictions
    levels         (l,) grades, rising
    expectation    (m,) expected grade, or the grade of a row that is judged for certain; NaN if unknown
    variance       (m,) of the grade, 0 where it is certain; NaN if unknown
    status         (m,) number of the row's status in STATUSES
    models         names of the models used
    model          (m,) index of the model used for the row; -1 if unknown
    probabilities  (m, l) as predicted, even for a judged row; NaN if unknown
    evidence       combinations of kinds of evidence used, such as output and genre; none if the estimator names none
    spoke          (m,) index of the combination used for the row; -1 if unknown
    state          number of the campaign's state, if its judgments were used; None for others
    gain           (m,) the expectation as a share of the highest grade; NaN if unknown; None for rows of features
    covariance     (m, m) of the grades, NaN in the rows and columns of unknown pairs; None unless asked for
    notes          sentences on rows that another model predicts
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
    evidence: tuple[tuple[str, ...], ...]
    spoke: Integers
    state: int | None = None
    gain: Array | None = None
    covariance: Array | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class State:
    """One state of the judgments, and the predictions from it.

    pool       n pairs
    name       of the estimator
    version    of the estimator's model, or None
    judgments  number of judgments
    belief     about the n pairs, from these judgments; if a campaign predicts only after several judgments, from its
               last prediction
    number     of the last event in the campaign's log; None if the judgments are not a campaign's
    selection  the campaign's, with the ranking for these predictions, or None
    """

    pool: Pool
    name: str
    version: str | None
    judgments: int
    belief: Belief
    number: int | None = None
    selection: Selection | None = None

    @property
    def stated(self) -> Belief:
        """Belief behind the ranking; the replacement's if the model failed its check."""
        return self.belief if self.selection is None else self.selection.stated_belief

    @property
    def widening(self) -> float:
        """Factor on the deviations of the ranking, from that check."""
        return 1.0 if self.selection is None else self.selection.widening

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of each grade, as the ranking adds them up."""
        return self.stated.variance * self.widening**2

    def _places(self, pairs: Sequence[Pair]) -> Integers:
        """(m,) place of each pair in the pool; looked up in portions, to let other threads run in between."""
        look = self.pool.positions.get
        starts = range(0, len(pairs), BLOCK)
        blocks = [np.fromiter(map(look, pairs[start : start + BLOCK], repeat(ABSENT)), np.int64) for start in starts]
        return np.concatenate([np.empty(0, np.int64), *blocks])

    def of(self, pairs: Sequence[Pair], covariance: bool = False) -> Predicted:
        """The rows of these pairs, in their order; those outside the pool are unknown.

        covariance  True to add the covariance of their grades
        """
        place, stated = self._places(pairs), self.stated
        unknown, spoke = place == ABSENT, stated.spoke
        expectation = np.where(unknown, np.nan, stated.expectation[place])
        return Predicted(
            name=self.name,
            version=self.version,
            judgments=self.judgments,
            levels=stated.levels,
            expectation=expectation,
            variance=np.where(unknown, np.nan, self.variance[place]),
            status=np.where(unknown, UNKNOWN, np.where(stated.judged[place], JUDGED, PREDICTED)),
            models=stated.models,
            model=np.where(unknown, ABSENT, stated.model[place]),
            probabilities=np.where(unknown[:, None], np.nan, stated.probabilities[place]),
            evidence=stated.evidence,
            spoke=np.full(len(place), ABSENT) if spoke is None else np.where(unknown, ABSENT, spoke[place]),
            state=self.number,
            gain=expectation / stated.maximum,
            covariance=self._covariance(place) if covariance else None,
            notes=model_notes(stated, self.pool, place[~unknown]),
        )

    def _covariance(self, place: Integers) -> Array:
        unknown = place == ABSENT
        found = self.stated.covariance(np.maximum(place, 0)) * self.widening**2
        return np.where(unknown | unknown[:, None], np.nan, found)


def predict_features(model: Model, table: Mapping[str, Array]) -> Predicted:
    """Predictions of a model from rows of features; a row with an unknown feature is unknown, without a fallback.

    table  features, each (m,), NaN where unknown; it must have those of the model, and may have others
    """
    check_terms(list(table))
    count = len(next(iter(table.values()), ()))
    probabilities = row_probabilities(model, table, count)
    unknown = np.isnan(probabilities[:, 0])
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
        evidence=(evidence_of(FEATURES[name] for name in model.features),),
        spoke=np.where(unknown, ABSENT, 0),
    )


# An estimator and its predictions from the judgments of a campaign, computed once for each state.


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
        if self._leads:
            return self._led()  # not kept: an earlier state would stay in memory until the next request
        last = self._last  # read once and replaced in one step, so that other threads see a whole state
        if last is None or last.number != self._campaign.number:
            last = self._last = self._followed()
        return last

    def _led(self) -> State:
        now = self._campaign.current_state
        return State(self.pool, self.name, self.version, now.judgments, now.selection.belief, *now)

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
