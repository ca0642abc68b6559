"""Times at which an estimator learns from a campaign's own judgments, beyond conditioning on them.

At 25, 50, 100, 200, ... judged pairs, and at no other moment: what a campaign says can be had again from the order of
its judgments.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from audiosim.arrays import Array
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import Pool
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.judges import Panel
from audiosim.relevance.moments import last_moment


@runtime_checkable
class Relearning(Protocol):
    """An estimator that learns from a campaign's judgments, such as a joint model's variance components."""

    def relearned(self, grades: Array) -> RelevanceEstimator:
        """The estimator that has learned from these judgments.

        grades  (n,) NaN where unjudged
        """
        ...


@runtime_checkable
class Resuming(Protocol):
    """An estimator whose lessons can be written down, and taken up again by one that has not learned them."""

    @property
    def basis(self) -> object:
        """All that a lesson rests on beside the grades: values, arrays, and dataclasses of them."""
        ...

    @property
    def learned(self) -> dict[str, Any]:
        """The last lesson, as plain values."""
        ...

    def resumed(self, grades: Array, learned: Mapping[str, Any]) -> RelevanceEstimator:
        """The estimator that has learned this from these judgments, as `relearned` made it.

        grades  (n,) NaN where unjudged
        """
        ...


@runtime_checkable
class Hearing(Protocol):
    """An estimator that can tell people who judge from each other."""

    def hearing(self, panel: Panel) -> RelevanceEstimator:
        """The estimator that knows who judged, where it is asked about the grades that these people gave."""
        ...


@runtime_checkable
class Following(Protocol):
    """An estimator that can take over what one of another pool of the same collection has learned."""

    def following(self, learned: object) -> RelevanceEstimator | None:
        """The estimator that has learned the same as another; None where that one knows something else."""
        ...


def relearned(estimator: RelevanceEstimator, grades: Array) -> RelevanceEstimator:
    """Estimator that has learned from these judgments (n,), if it does."""
    return estimator.relearned(grades) if isinstance(estimator, Relearning) else estimator


def hearing(estimator: RelevanceEstimator, panel: Panel) -> RelevanceEstimator:
    """Estimator that knows who judged, if it can tell people from each other."""
    return estimator.hearing(panel) if isinstance(estimator, Hearing) else estimator


def following(estimator: RelevanceEstimator, learned: RelevanceEstimator) -> RelevanceEstimator | None:
    """Estimator that has learned what one of another pool has; None where it cannot take that over."""
    return estimator.following(learned) if isinstance(estimator, Following) else None


def learned_from(pool: Pool, grades: Mapping[Pair, float]) -> dict[Pair, float]:
    """The grades that a campaign's estimator has learned from, whose pairs were first judged in this order.

    grades  of the judged pairs; those outside the pool are left out
    """
    judged = [pair for pair in grades if pair in pool.positions]
    return {pair: grades[pair] for pair in judged[: last_moment(len(judged))]}


def after_judgments(pool: Pool, estimator: RelevanceEstimator, judgments: Sequence[Judgment]) -> RelevanceEstimator:
    """The estimator as a campaign has it after these judgments; it knows who made them."""
    return hearing(after_grades(pool, estimator, mean_grades(judgments)), Panel.of(pool, judgments))


def after_grades(pool: Pool, estimator: RelevanceEstimator, grades: Mapping[Pair, float]) -> RelevanceEstimator:
    """The estimator as a campaign has it in which the pairs were first judged in this order."""
    first = learned_from(pool, grades)
    return relearned(estimator, pool.spread(first)) if first else estimator
