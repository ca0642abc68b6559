"""Learning from a campaign's own judgments, beyond conditioning on them.

Learning takes place at 25, 50, 100, 200, ... judged pairs, and at no other moment, so that results of a campaign can be
reproduced from the order of its judgments.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from audiosim.arrays import Array
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment, Pair, PairedComparison
from audiosim.corpus.pool import Pool
from audiosim.relevance.comparison_model import Compared, ComparisonModel
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.judges import Panel
from audiosim.relevance.moments import last_moment


@runtime_checkable
class Relearning(Protocol):
    """An estimator that learns from a campaign's judgments, such as a joint model learning variance components."""

    def relearned(self, grades: Array) -> RelevanceEstimator:
        """The estimator that has learned from these judgments.

        grades  (n,) NaN where unjudged
        """
        ...


@runtime_checkable
class Resuming(Protocol):
    """An estimator with a learned state that can be stored, and restored without learning again."""

    @property
    def basis(self) -> object:
        """Everything except the grades that learning depends on: values, arrays, and dataclasses of them."""
        ...

    @property
    def learned(self) -> dict[str, Any]:
        """The last learned state, as plain values."""
        ...

    def resumed(self, grades: Array, learned: Mapping[str, Any]) -> RelevanceEstimator:
        """The estimator with this state, learned from these judgments; equal to the result of `relearned`.

        grades  (n,) NaN where unjudged
        """
        ...


@runtime_checkable
class Hearing(Protocol):
    """An estimator that can model individual judges."""

    def hearing(self, panel: Panel) -> RelevanceEstimator:
        """The estimator with the judges of its judgments, for requests about these people's grades."""
        ...


@runtime_checkable
class Following(Protocol):
    """An estimator that can take over the learned state of an estimator of another pool of the collection."""

    def following(self, learned: object) -> RelevanceEstimator | None:
        """The estimator with the other's learned state; None if their models differ."""
        ...


@runtime_checkable
class Comparing(Protocol):
    """An estimator that takes in comparisons, such as a joint model."""

    @property
    def comparisons(self) -> tuple[PairedComparison, ...]:
        """The comparisons known to the estimator."""
        ...

    def comparing(self, comparisons: tuple[PairedComparison, ...], learned_from: int = 0) -> RelevanceEstimator:
        """The estimator with these comparisons, and no others.

        learned_from  number of comparisons to learn deviations from, the first ones; 0: keep those learned before
        """
        ...

    def comparison_model(self, compared: Compared) -> ComparisonModel:
        """Model of comparisons that people are asked for, with deviations as last learned."""
        ...


def comparing(estimator: RelevanceEstimator, comparisons: tuple[PairedComparison, ...]) -> RelevanceEstimator:
    """The estimator with these comparisons; estimators other than joint models ignore them."""
    return estimator.comparing(comparisons) if isinstance(estimator, Comparing) else estimator


def after_comparisons(estimator: RelevanceEstimator, comparisons: tuple[PairedComparison, ...]) -> RelevanceEstimator:
    """The estimator of a campaign after these comparisons: it learns from them at its moments of learning."""
    if not isinstance(estimator, Comparing):
        return estimator
    return estimator.comparing(comparisons, last_moment(len(comparisons)))


def without_comparisons_of(estimator: RelevanceEstimator, assessor: str) -> tuple[RelevanceEstimator, int]:
    """The estimator that learned from all comparisons but one person's, and the number of that person's comparisons."""
    if not isinstance(estimator, Comparing):
        return estimator, 0
    left = tuple(one for one in estimator.comparisons if one.assessor != assessor)
    theirs = len(estimator.comparisons) - len(left)
    return (estimator.comparing(left, max(1, len(left))) if theirs else estimator), theirs


def relearned(estimator: RelevanceEstimator, grades: Array) -> RelevanceEstimator:
    """The estimator after learning from these judgments (n,), if it can learn."""
    return estimator.relearned(grades) if isinstance(estimator, Relearning) else estimator


def hearing(estimator: RelevanceEstimator, panel: Panel) -> RelevanceEstimator:
    """The estimator with the judges of its judgments, if it can model judges."""
    return estimator.hearing(panel) if isinstance(estimator, Hearing) else estimator


def following(estimator: RelevanceEstimator, learned: RelevanceEstimator) -> RelevanceEstimator | None:
    """The estimator with the state learned by one of another pool; None if it cannot take it over."""
    return estimator.following(learned) if isinstance(estimator, Following) else None


def learned_from(pool: Pool, judgments: Sequence[Judgment]) -> dict[Pair, float]:
    """The mean grades from which a campaign's estimator has learned: those known at its last moment of learning.

    judgments  in the order in which they were made; those outside the pool are left out
    """
    first: dict[Pair, int] = {}
    for place, one in enumerate(judgments):
        if one.pair in pool.positions:
            first.setdefault(one.pair, place)
    moment = last_moment(len(first))
    known = judgments[: list(first.values())[moment - 1] + 1] if moment else ()
    return mean_grades(one for one in known if one.pair in pool.positions)


def after_judgments(pool: Pool, estimator: RelevanceEstimator, judgments: Sequence[Judgment]) -> RelevanceEstimator:
    """The estimator of a campaign after these judgments, including their judges."""
    return hearing(taught_by(pool, estimator, judgments), Panel.of(pool, judgments))


def taught_by(pool: Pool, estimator: RelevanceEstimator, judgments: Sequence[Judgment]) -> RelevanceEstimator:
    """The estimator of a campaign after these judgments, as it predicts mean grades."""
    first = learned_from(pool, judgments)
    return relearned(estimator, pool.spread(first)) if first else estimator


def after_grades(pool: Pool, estimator: RelevanceEstimator, grades: Mapping[Pair, float]) -> RelevanceEstimator:
    """The estimator of a campaign in which one person judged pairs in this order."""
    return taught_by(pool, estimator, [Judgment(*pair, grade) for pair, grade in grades.items()])
