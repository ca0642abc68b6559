"""Quantile of the largest standardised difference between any two of many numbers, from draws of all of them."""

import numpy as np

from audiosim.arrays import Array, Booleans

AT_ONCE = 1_000  # draws of all numbers that fit into the processor's cache
FEW = 64  # numbers of which all pairs are looked at in every draw
NEAREST = 8  # pairs of each number that are looked at in every draw: those with the largest weights


def largest_difference_quantile(drawn: Array, weights: Array, level: float) -> float:
    """Quantile of the largest |x_a - x_b| w_ab over the pairs (a, b), as computed by `np.quantile`.

    drawn    (s, d) x, a column for each draw
    weights  (s, s) w, symmetric, 0 or more; 0 on the diagonal and for pairs that do not count

    The quantile depends only on the largest draws. A few pairs of every draw give a lower bound of each maximum, and so
    a lower bound t of the quantile. In a draw, only numbers a with max(x_max - x_a, x_a - x_min) w_a > t can be part of
    a difference above t, where w_a is the largest weight of the other pairs of a: few among hundreds.
    """
    count, draws = drawn.shape
    if count <= FEW:
        return float(np.quantile(_largest(drawn, weights, np.ones(drawn.shape, dtype=np.bool_)), level))
    largest, others = _lower_bounds(drawn, weights)
    least = float(np.sort(largest)[int((draws - 1) * level)])
    reach = np.maximum(drawn.max(axis=0) - drawn, drawn - drawn.min(axis=0)) * others[:, None]
    return float(np.quantile(np.maximum(largest, _largest(drawn, weights, reach > least)), level))


def _largest(drawn: Array, weights: Array, active: Booleans) -> Array:
    """(d,) largest weighted difference in each draw between numbers of which the first is active (s, d)."""
    largest = np.zeros(drawn.shape[1])
    for start in range(0, len(largest), AT_ONCE):
        some, found = drawn[:, start : start + AT_ONCE], largest[start : start + AT_ONCE]
        for number, own in enumerate(active[:-1, start : start + AT_ONCE]):
            if own.all():
                standardised = np.abs(some[number + 1 :] - some[number])
                standardised *= weights[number, number + 1 :, None]
                np.maximum(found, standardised.max(axis=0), out=found)
            elif own.any():
                places = np.flatnonzero(own)
                standardised = np.abs(some[number + 1 :, places] - some[number, places])
                standardised *= weights[number, number + 1 :, None]
                found[places] = np.maximum(found[places], standardised.max(axis=0))
    return largest


def _lower_bounds(drawn: Array, weights: Array) -> tuple[Array, Array]:
    """(d,) lower bound of the largest weighted difference of each draw, and (s,) largest weight of all other pairs.

    The bound uses the pairs of each number with those of its NEAREST largest weights, and with the largest and smallest
    numbers in the draw, both absolutely and relative to their deviation.
    """
    largest, every = np.zeros(drawn.shape[1]), np.arange(drawn.shape[1])
    order = np.argsort(-weights, axis=1, kind="stable")
    for rank in range(NEAREST):
        other = order[:, rank]
        own = weights[np.arange(len(weights)), other]
        np.maximum(largest, (np.abs(drawn - drawn[other]) * own[:, None]).max(axis=0), out=largest)
    deviation = drawn.std(axis=1, keepdims=True)
    relative = np.divide(drawn, deviation, out=np.zeros_like(drawn), where=deviation > 0)
    for values in (drawn, relative):
        for extreme in (values.argmax(axis=0), values.argmin(axis=0)):
            np.maximum(largest, (np.abs(drawn - drawn[extreme, every]) * weights[:, extreme]).max(axis=0), out=largest)
    return largest, weights[np.arange(len(weights)), order[:, NEAREST]]
