"""Worth of a grade: gains, the share of users it satisfies, and how much a gain counts at each rank."""

from collections.abc import Callable, Mapping

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Scale
from audiosim.measures.definition import Measure


def share_of(score: Array, best: Array | float) -> Array:
    """Scores as shares of the best there could be; 0 where that is 0."""
    score, best = np.broadcast_arrays(score, np.asarray(best, dtype=np.float64))
    return np.divide(score, best, out=np.zeros(score.shape), where=best > 0)


def linear_gain(grades: Array) -> Array:
    """A grade gains itself, nothing retrieved (NaN) gains 0. Järvelin & Kekäläinen (2002)."""
    return np.where(np.isnan(grades), 0.0, grades)


def exponential_gain(grades: Array) -> Array:
    """A grade gains 2^grade - 1, nothing retrieved (NaN) gains 0. Burges et al. (2005), doi:10.1145/1102351.1102363."""
    return np.exp2(linear_gain(grades)) - 1


def discounts(cutoff: int, base: float = 2.0) -> Array:
    """(cutoff,) what a gain counts at each rank.

        1 / log_b(i + b - 1)

    base  b, above 1

    Burges et al. (2005), with any base; Urbano (2013), after equation 2.9. Base 2 gives 1 / log2(i + 1).
    """
    return np.asarray(np.log(base) / np.log(np.arange(1.0, cutoff + 1) + (base - 1)))


def first_discounts(cutoff: int, base: float = 2.0) -> Array:
    """(cutoff,) what a gain counts at each rank, as first published.

        1 for i < b, 1 / log_b i from there

    base  b, above 1

    Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418. With base 2, rank 2 is not discounted.
    """
    return np.asarray(1 / np.maximum(1.0, np.log(np.arange(1.0, cutoff + 1)) / np.log(base)))


def discounted(gains: Array, weights: Array) -> Array:
    """(...,) the sum of the gains, each times the weight (k,) of its rank."""
    width = min(gains.shape[-1], len(weights))
    return np.asarray(gains[..., :width] @ weights[:width])


def persistence(cutoff: int, p: float) -> Array:
    """(cutoff,) how likely it is that a listener gets to each rank: p^(i-1)."""
    return np.asarray(np.power(p, np.arange(float(cutoff))), dtype=np.float64)


def share_satisfied(grades: Array, scale: Scale) -> Array:
    """(...,) the share of users for whom each grade is relevant, with uniform thresholds; nothing (NaN) suits none.

        F(r) = number of levels above the lowest, up to r / number of levels above the lowest

    Robertson et al. (2010), doi:10.1145/1835449.1835550: p_l = 1 / (n_L - 1).
    """
    thresholds = np.array(scale.levels[1:])
    reached = np.searchsorted(thresholds, np.nan_to_num(grades, nan=-1.0), side="right")
    return np.asarray(reached / len(thresholds))


GAINS: Mapping[str, Callable[[Array], Array]] = {"linear": linear_gain, "exponential": exponential_gain}


def gain_of(measure: Measure) -> Callable[[Array], Array]:
    """Gain of a grade in a measure: linear where nothing else may be chosen."""
    return GAINS[measure.word("gain") or "linear"]
