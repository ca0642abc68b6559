"""Gaussians: a single one as a checked value, many as rows of a table."""

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers

Singles = NDArray[np.float32]


class RowTable(Protocol):
    """Table (n, width) of Gaussians, one per row, in memory or read on access."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: Integers | slice, /) -> Singles: ...


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """Normal distribution summarising the MFCC frames of one recording.

    mean        (d,)    one value per coefficient
    covariance  (d, d)  symmetric, positive definite
    """

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        d = len(self.mean)
        if self.covariance.shape != (d, d):
            raise InputError(f"covariance must be ({d}, {d}) to match the mean, got {self.covariance.shape}")
        if not np.isfinite(self.mean).all():
            raise InputError("mean must be finite")
        if not np.isfinite(self.covariance).all() or not np.allclose(self.covariance, self.covariance.T):
            raise InputError("covariance must be symmetric and finite")
        smallest, largest = np.linalg.eigvalsh(self.covariance)[[0, -1]]
        if smallest <= largest * d * np.finfo(float).eps:
            raise InputError(f"covariance must be positive definite; {d} coefficients need well over {d} frames")


def width(dimension: int) -> int:
    """Length of a row: mean, upper triangle of the covariance, and its log-determinant."""
    return dimension + dimension * (dimension + 1) // 2 + 1


def to_rows(means: Array, covariances: Array) -> Singles:
    """Gaussians as rows (n, width) in single precision: mean, upper triangle row by row, ln det.

    means        (n, d)
    covariances  (n, d, d) each symmetric, positive definite

    Rounding moves eigenvalues by up to about d^1/2 2^-24 of the largest, which could make a nearly singular
    covariance indefinite. Where the smallest eigenvalue is below d 2^-23 of the largest, the diagonal is raised to
    that bound. ln det belongs to the rounded row, not to the original covariance.
    """
    d = means.shape[1]
    upper = triangles(covariances).astype(np.float32)
    eigenvalues = np.linalg.eigvalsh(from_triangles(upper, d))
    lacking = np.maximum(0.0, d * 2.0**-23 * eigenvalues[:, -1] - eigenvalues[:, 0])
    raised = triangles(covariances + lacking[:, None, None] * np.eye(d)).astype(np.float32)
    rounded = np.where(lacking[:, None] > 0, raised, upper)
    _, logarithms = np.linalg.slogdet(from_triangles(rounded, d))
    return np.column_stack([means.astype(np.float32), rounded, logarithms.astype(np.float32)])


def from_rows(rows: Singles, dimension: int) -> tuple[Array, Array]:
    """Means (n, d) and covariances (n, d, d) from rows (n, width), in double precision."""
    d = dimension
    return rows[:, :d].astype(float), from_triangles(rows[:, d:-1], d)


def triangles(matrices: Array) -> Array:
    """Upper triangles (n, d(d+1)/2), row by row, of symmetric matrices (n, d, d)."""
    return matrices[:, *upper_triangle(matrices.shape[-1])]


def from_triangles(upper: Array | Singles, dimension: int) -> Array:
    """Symmetric matrices (n, d, d) from upper triangles (n, d(d+1)/2)."""
    matrices = np.empty((len(upper), dimension, dimension))
    i, j = upper_triangle(dimension)
    matrices[:, i, j] = upper
    matrices[:, j, i] = upper
    return matrices


@cache
def upper_triangle(dimension: int) -> tuple[Integers, Integers]:
    """Row and column indices of the entries of an upper triangle, row by row."""
    i, j = np.triu_indices(dimension)
    return i, j
