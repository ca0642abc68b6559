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


def is_moment_of_comparing(compared: int, another: bool) -> bool:
    """True if an estimator learns again at this number of comparisons.

    another  True if it is the first by another person: how much people disagree is not learned from one of them
    """
    return is_moment(compared) or (another and compared > FIRST_LEARNING)


def comparisons_learned(comparisons: Sequence[PairedComparison]) -> int:
    """Number of the first comparisons from which models learn: those up to the last moment; 0 before the first."""
    moment, people = 0, set[str]()
    for compared, one in enumerate(comparisons, start=1):
        if is_moment_of_comparing(compared, one.assessor not in people):
            moment = compared
        people.add(one.assessor)
    return moment
