"""Columns of features: checked, with errors that name unfit ones, and standardised."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from audiosim.arrays import Array
from audiosim.errors import InputError

DEPENDENT = 1e-10  # share of a column's variance that earlier columns must leave unexplained


class UnidentifiedError(InputError):
    """No single set of coefficients is the most likely."""


def check_finite(columns: Array, names: Sequence[str]) -> None:
    """Raise an error that names the first column and row with a NaN or an infinity."""
    if np.isfinite(columns).all():
        return
    row, column = np.argwhere(~np.isfinite(columns))[0].tolist()
    raise InputError(
        f"{names[column]} is {columns[row, column]:g} in row {row}, expected finite numbers (NaN, infinity)"
    )


def standardise(columns: Array, weights: Array, names: Sequence[str]) -> tuple[Array, Array, Array]:
    """Columns of mean 0 and variance 1, with their former means and deviations.

    columns  (n, k)
    weights  (n,) multiplicity of each row

    Raises an error that names the first constant column.
    """
    total = weights.sum()
    mean = weights @ columns / total
    centred = columns - mean
    centred -= (slip := weights @ centred / total)  # corrects the rounding of the first mean far from 0
    deviation = np.sqrt(np.einsum("n,nk,nk->k", weights, centred, centred) / total)
    for column, name in enumerate(names):
        if deviation[column] <= 1e-13 * abs(mean[column]):
            raise InputError(f"{name} is constant, {columns[0, column]:g}: it carries no information on the level")
    centred /= deviation
    return centred, mean + slip, deviation


def check_independent(standard: Array, weights: Array, names: Sequence[str]) -> None:
    """Raise an error that names the first column that is a linear combination of earlier ones.

    standard  (n, k) columns with mean 0 and variance 1
    """
    correlation = (standard * weights[:, None]).T @ standard / weights.sum()
    factor = np.zeros_like(correlation)
    for column, name in enumerate(names):
        before = factor[:column, :column]
        row = solve_triangular(before, correlation[:column, column], lower=True) if column else np.empty(0)
        left = correlation[column, column] - row @ row
        if left < DEPENDENT:
            shares = solve_triangular(before.T, row)
            others = [names[i] for i in np.flatnonzero(np.abs(shares) > 1e-6).tolist()]
            raise UnidentifiedError(f"{name} is a combination of {', '.join(others)}: leave one of them out")
        factor[column, :column] = row
        factor[column, column] = np.sqrt(left)
