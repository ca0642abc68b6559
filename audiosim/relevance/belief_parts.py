"""Parts of a belief, with their checks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError

SUMMING = 1e-6  # tolerance for the sum of a row; probabilities may have been computed in single precision


def _check_array(what: str, value: object, kind: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != kind:
        came = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{what} must be an array of {kind}, got {came}")


def check_marginals(levels: Array, probabilities: Array, maximum: float) -> None:
    """Raise an error unless levels (l,) are rising grades of a scale, and rows of probabilities (n, l) sum to 1."""
    _check_array("levels", levels, "float64")
    if levels.ndim != 1 or not len(levels):
        raise InputError(f"levels must be one row of grades, got shape {levels.shape}")
    if not np.all(np.diff(levels) > 0) or not levels[0] >= 0 or not levels[-1] <= maximum:
        raise InputError(f"levels must rise within the scale, got {levels.tolist()}")

    _check_array("probabilities", probabilities, "float64")
    if probabilities.ndim != 2 or probabilities.shape[1] != len(levels):
        raise InputError(f"probabilities must be (n, {len(levels)}) to match the levels, got {probabilities.shape}")
    sums = np.abs(probabilities @ np.ones(len(levels)) - 1) <= SUMMING
    if not (np.all(sums) and np.min(probabilities, initial=0) >= 0):
        row = int(np.argmin(sums & np.all(probabilities >= 0, axis=1)))
        raise InputError(
            f"each row of probabilities must be 0 or more and sum to 1, row {row} has least "
            f"{probabilities[row].min():g} and sum {probabilities[row].sum():g}"
        )


def check_models(models: tuple[str, ...], model: Integers, count: int) -> None:
    """Raise an error unless each of `count` pairs has the index of one of the models."""
    if not isinstance(models, tuple) or not models or not all(isinstance(name, str) and name for name in models):
        raise InputError(f"models must be a tuple of names, got {models!r}")
    _check_array("model", model, "int64")
    if model.shape != (count,) or not np.all((model >= 0) & (model < len(models))):
        raise InputError(f"each of {count} pairs must name one of the models {', '.join(models)}")


def checked_grades(grades: Array, count: int, maximum: float) -> Array:
    """A read-only copy of the grades."""
    _check_array("grades", grades, "float64")
    if grades.shape != (count,):
        raise InputError(f"grades must be ({count},) to match the probabilities, got {grades.shape}")
    right = np.isnan(grades) | ((grades >= 0) & (grades <= maximum))
    if not np.all(right):
        row = int(np.argmin(right))
        raise InputError(f"row {row}: a grade must be in [0, {maximum:g}], got {grades[row]:g}")
    grades = grades.copy()
    grades.flags.writeable = False
    return grades


@dataclass(frozen=True, eq=False)
class Marginals:
    """Level probabilities of the n pairs of a pool, each pair by itself, and the models that predicted them.

    levels         (l,) grades, rising, from 0 to the highest of the scale
    probabilities  (n, l) P(level) of each pair by the model used for it; rows sum to 1
    models         names of the models used
    model          (n,) index of the model used for each pair
    maximum        the highest grade of the scale

    Checked only once, because beliefs with different judgments share this value. An InputError names the row where a
    part is malformed.
    """

    levels: Array
    probabilities: Array
    models: tuple[str, ...]
    model: Integers
    maximum: float

    def __post_init__(self) -> None:
        check_marginals(self.levels, self.probabilities, self.maximum)
        check_models(self.models, self.model, len(self.probabilities))


def moments_of(gain: Callable[[Array], Array], mean: Array, deviation: Array) -> tuple[Array, Array]:
    """(k,) mean and (k,) variance of a function of normal gains, cut to [0, 1], by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    values = gain(np.clip(mean[:, None] + deviation[:, None] * nodes, 0, 1))
    weights = weights / weights.sum()
    centre = values @ weights
    return centre, values**2 @ weights - centre**2
