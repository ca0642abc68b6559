"""Moments of a campaign at which models learn from its own judgments: at 25, 50, 100, 200, ... of them."""

from collections.abc import Sequence

from audiosim.collection.values import PairedComparison

FIRST_LEARNING = 25


def is_moment(judged: int) -> bool:
    """True if an estimator learns again at this number of judged pairs."""
    return judged == last_moment(judged) > 0


def last_moment(judged: int) -> int:
    """The last moment of learning up to this number of judged pairs; 0 before the first."""
    moment = 0
    while (following := max(FIRST_LEARNING, 2 * moment)) <= judged:
        moment = following
    return moment


def comparisons_learned(comparisons: Sequence[PairedComparison]) -> int:
    """Number of the first comparisons from which models learn: up to the last moment, or the first of another person.

    A table may have one person's after the other's, and how much people disagree is not learned from one of them.
    """
    begun = {one.assessor: place for place, one in reversed([*enumerate(comparisons, start=1)])}
    return max(last_moment(len(comparisons)), *(place for place in begun.values() if place > FIRST_LEARNING), 0)
