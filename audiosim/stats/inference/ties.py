"""Equality of scores: which differ by rounding alone, and which rank each then has.

Whatever asks which of two systems is better asks here first, so that none is better by the last bit of a sum.
"""

import numpy as np

from audiosim.stats.arrays import Array, Integers

SAME = 1e-12  # share of the largest score: numbers closer than this differ by rounding alone


def nearness(scores: Array) -> float:
    """Tolerance for rounding: largest distance between computed scores that are truly equal."""
    return SAME * float(np.abs(scores).max(initial=0))


def equalised(scores: Array, bounded: bool = False, near: float | None = None) -> Array:
    """The scores (s,) or (s, q), those of systems that differ by rounding alone made equal.

    bounded  True for scores within [0, 1]: those that differ from an end by rounding alone are made equal to it
    near     tolerance for rounding; None: that of the scores themselves
    """
    near, places = nearness(scores) if near is None else near, np.argsort(scores, axis=0, kind="stable")
    rising = np.take_along_axis(scores, places, axis=0)
    steps = ~(np.diff(rising, axis=0, prepend=-np.inf) <= near)
    rows = np.arange(len(scores)).reshape(-1, *[1] * (scores.ndim - 1))
    lowest = np.maximum.accumulate(np.where(steps, rows, 0), axis=0)
    found = np.empty_like(rising)
    np.put_along_axis(found, places, np.take_along_axis(rising, lowest, axis=0), axis=0)
    return at_ends(found) if bounded else found


def at_ends(scores: Array) -> Array:
    """Scores within [0, 1]: those that differ from 0 or from 1 by rounding alone are made equal to it."""
    near_one = np.where(np.abs(scores - 1) <= SAME, 1.0, scores)
    return np.where(np.abs(near_one) <= SAME, 0.0, near_one)


def shared_ranks(scores: Array) -> Integers:
    """(s,) rank of each system, 1 for the highest of the scores (s,); equal systems share the best of their ranks."""
    same = equalised(scores)
    return 1 + len(same) - np.searchsorted(np.sort(same), same, side="right")
