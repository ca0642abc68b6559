"""Chances of the levels of single grades, of ends on the scale of the gains and of counts of judged levels."""

import numpy as np
from scipy.special import stdtr

from audiosim.arrays import Array, Integers

FREEDOM = 10  # 5 to 30 predict single grades about as well
REACH = 4.0  # deviations that the end of a level may be off
HALVINGS = 30
LEAST = 1e-9  # chance of a level that none is taken to fall below


def between_ends(ends: Array) -> Array:
    """(k, l) chances of the levels whose ends (k, l - 1) lie so many deviations from the mean, of FREEDOM degrees."""
    reached = np.zeros((len(ends), ends.shape[1] + 2))
    reached[:, 1:-1] = stdtr(FREEDOM, ends)
    reached[:, -1] = 1
    return np.asarray(np.diff(reached, axis=1))


def with_counts(chances: Array, counts: Array, worth: float) -> Array:
    """(k, l) chances that count for so many judged pairs, and counts (k, l), together."""
    if not np.isfinite(worth):
        return chances
    return np.asarray((worth * chances + counts) / (worth + counts.sum(axis=1, keepdims=True)))


def log_likelihood(chances: Array, level: Integers) -> float:
    """Sum of the logarithms of the chances of the levels (k,) that came out, none below LEAST."""
    return float(np.log(np.maximum(chances[np.arange(len(level)), level], LEAST)).sum())


def shape_of(ends: Array, ratio: Array, target: Array) -> Array:
    """(l - 1,) by how much ends (k, l - 1) move for their mean chances to be those of a target (l - 1,).

    ratio  (k, 1) by how much the ends of each row move with the shape; no end falls below the one before
    """
    shape, reached = np.zeros(len(target)), np.full(len(ends), -np.inf)
    for level, wanted in enumerate(target.tolist()):
        low, high = -REACH, REACH
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = stdtr(FREEDOM, np.maximum(reached, ends[:, level] + ratio[:, 0] * middle)).mean() > wanted
            low, high = (low, middle) if above else (middle, high)
        shape[level] = (low + high) / 2
        reached = np.maximum(reached, ends[:, level] + ratio[:, 0] * shape[level])
    return shape
