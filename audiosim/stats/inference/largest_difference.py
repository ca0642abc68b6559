"""Quantile of the largest standardised difference between any two of many numbers, from draws of all of them."""

import numpy as np

from audiosim.arrays import Array

AT_ONCE = 1_000  # draws of all numbers that fit into the processor's cache
FEW_NUMBERS = 64  # numbers up to which all pairs are computed in every draw


def largest_difference_quantile(drawn: Array, weights: Array, level: float) -> float:
    """Quantile of the largest |x_a - x_b| w_ab over the pairs (a, b), with the interpolation of `np.quantile`.

    drawn    (s, d) x, a column for each draw
    weights  (s, s) w, symmetric, 0 or more; 0 on the diagonal and for pairs that do not count

    The quantile depends only on the largest draws. The difference of the extremes of each draw gives a lower bound of
    each maximum, and so a lower bound t of the quantile. In a draw, a pair can exceed t only if
    max(x_max - x_a, x_a - x_min) w_ab > t. Only few pairs do, among the largest weights of each number.
    """
    if len(drawn) <= FEW_NUMBERS:
        return float(np.quantile(_largest(drawn, weights), level))
    largest = _lower_bounds(drawn, weights)
    _raise_above(largest, float(np.sort(largest)[int((len(largest) - 1) * level)]), drawn, weights)
    return float(np.quantile(largest, level))


def _largest(drawn: Array, weights: Array) -> Array:
    """(d,) largest weighted difference in each draw, by all pairs."""
    largest = np.zeros(drawn.shape[1])
    for start in range(0, len(largest), AT_ONCE):
        some, found = drawn[:, start : start + AT_ONCE], largest[start : start + AT_ONCE]
        for number in range(len(some) - 1):
            standardised = np.abs(some[number + 1 :] - some[number])
            standardised *= weights[number, number + 1 :, None]
            np.maximum(found, standardised.max(axis=0), out=found)
    return largest


def _lower_bounds(drawn: Array, weights: Array) -> Array:
    """(d,) weighted difference, in each draw, of the numbers that are largest and smallest for their deviation."""
    deviation, every = drawn.std(axis=1, keepdims=True), np.arange(drawn.shape[1])
    relative = np.divide(drawn, deviation, out=np.zeros_like(drawn), where=deviation > 0)
    top, low = relative.argmax(axis=0), relative.argmin(axis=0)
    return np.asarray(np.abs(drawn[top, every] - drawn[low, every]) * weights[top, low])


def _raise_above(largest: Array, least: float, drawn: Array, weights: Array) -> None:
    """Raise the largest weighted difference in each draw (d,) to the true one, where that is above `least`."""
    highest, lowest = drawn.max(axis=0), drawn.min(axis=0)
    for number, values in enumerate(drawn[:-1]):
        own, reach = weights[number, number + 1 :], np.maximum(highest - values, values - lowest)
        some, start = np.flatnonzero(reach * own.max() > least), 0
        order = np.argsort(-own) if len(some) else np.empty(0, dtype=np.int64)
        while start < len(order):  # doubles the number of others, in order of falling weight
            others = order[start : max(1, 2 * start)]
            some = some[reach[some] * own[others[0]] > least]
            if not len(some):
                break
            standardised = np.abs(drawn[number + 1 + others[:, None], some] - values[some])
            standardised *= own[others, None]
            largest[some] = np.maximum(largest[some], standardised.max(axis=0))
            start += len(others)
