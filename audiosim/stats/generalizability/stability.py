"""Stability of results with more queries: coefficients signal / (signal + noise), and the queries they require."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from audiosim.arrays import Array
from audiosim.display import frame_of
from audiosim.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Stability as a function of the number of queries, with intervals.

    queries     (m,) query set sizes
    confidence  confidence of each interval
    relative    (m,) E rho^2
    absolute    (m,) Phi
    relative_lower, relative_upper, absolute_lower, absolute_upper  (m,)
    """

    queries: Array
    confidence: float
    relative: Array
    relative_lower: Array
    relative_upper: Array
    absolute: Array
    absolute_lower: Array
    absolute_upper: Array

    def to_frame(self) -> "pd.DataFrame":
        """One row per query set size."""
        return frame_of(self.columns())

    def columns(self) -> dict[str, Array]:
        """Columns of the table, by name."""
        names = ("relative", "relative_lower", "relative_upper", "absolute", "absolute_lower", "absolute_upper")
        return {"queries": self.queries} | {name: getattr(self, name) for name in names}


def coefficient(signal: Array | float, noise: Array) -> Array:
    """Signal / (signal + noise); 0 without signal."""
    signal, noise = np.broadcast_arrays(np.asarray(signal, dtype=float), noise)
    return np.divide(signal, signal + noise, out=np.zeros(signal.shape), where=signal > 0)


def fewest(signal: float, noise: float, stability: float) -> int | None:
    """Smallest n with signal / (signal + noise / n) >= stability."""
    most = tolerated(signal, stability)
    if most <= 0:
        return None
    return max(1, math.ceil(noise / most * (1 - 1e-12)))  # a whole number may come out just above itself


def tolerated(signal: float, stability: float) -> float:
    """Noise at which signal / (signal + noise) equals the stability."""
    if not 0 < stability < 1:
        raise InputError(f"stability must be between 0 and 1, got {stability:g}")
    return signal * (1 - stability) / stability


def coefficient_of_ratio(ratio: float, queries: Array) -> Array:
    """Coefficient with n queries from the ratio of signal to noise with one."""
    if math.isinf(ratio):
        return np.ones_like(queries)
    return coefficient(np.maximum(ratio, 0.0), 1 / queries)


def divided(numerator: float, denominator: float) -> float:
    """A quotient; x / 0 is infinite, 0 / 0 is 0."""
    if denominator == 0:
        return math.inf if numerator > 0 else 0.0
    return numerator / denominator


def interval_sides(confidence: float) -> tuple[float, float]:
    """Probabilities of the F quantiles to divide by, for the lower and the upper end of an interval."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence:g}")
    return (1 + confidence) / 2, (1 - confidence) / 2


def at_least_one(name: str, values: ArrayLike) -> Array:
    """Sizes as an array, each 1 or more."""
    sizes = np.asarray(values, dtype=float)
    wrong = ~(sizes >= 1)
    if wrong.any():
        raise InputError(f"{name} must be at least 1, got {sizes[wrong].flat[0]:g}")
    return sizes
