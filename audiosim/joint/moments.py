"""Moments of a campaign at which models learn from its own judgments: at 25, 50, 100, 200, ... of them."""

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
