"""Gaussians: one fitted to the frames of a recording; the divergences of many, all pairs at once."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError

BLOCK = 1024  # rows and columns of a tile: its temporaries stay near 30 MB
NEAR = 1.0  # nats; below this a pair is evaluated from differences, which do not cancel
CHUNK = 4096  # such pairs taken together


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


def fit(frames: Array) -> Gaussian:
    """The Gaussian of a recording's frames: their mean and their covariance.

    frames  (n, d) one row per frame, n well over d

    The covariance divides by n - 1.
    """
    if frames.ndim != 2 or len(frames) < 2:
        raise InputError(f"frames must be (n, d) with at least 2 rows, got {frames.shape}")
    mean = frames.mean(axis=0, dtype=float)
    centred = frames - mean
    return Gaussian(mean, centred.T @ centred / (len(frames) - 1))


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Many Gaussians, laid out so that their divergences are inner products.

    forward   (n, d(d+1)/2 + d + 1)  A = (P, -2 P m, m'P m), P the inverse covariance
    backward  the same shape         B = (S + m m', m, 1), S the covariance

    A symmetric matrix is its upper triangle; in A the part off the diagonal counts twice, so that
    A_i . B_j = tr(P_i S_j) + (m_j - m_i)'P_i (m_j - m_i)  and  A_i . B_i = d.
    """

    forward: Array
    backward: Array
    dimension: int

    def __len__(self) -> int:
        return len(self.forward)


def pack(means: Array, covariances: Array) -> Packed:
    """Gaussians made ready for `divergence`.

    means        (n, d)
    covariances  (n, d, d) each symmetric, positive definite

    The divergence does not change when all are moved and stretched alike. Here the mean of the
    means goes to 0 and the mean of the covariances to the identity, which keeps the inner products small.
    """
    n, d = means.shape
    if covariances.shape != (n, d, d):
        raise InputError(f"covariances must be ({n}, {d}, {d}) to match the means, got {covariances.shape}")
    if not np.isfinite(means).all():
        raise InputError("means must be finite")
    if n == 0:
        return Packed(np.empty((0, width(d) + 1)), np.empty((0, width(d) + 1)), d)
    whitener, s, p = _whitened(covariances)
    m = (means - means.mean(axis=0)) @ whitener.T
    pm = np.einsum("nij,nj->ni", p, m)
    twice = np.where(np.equal(*_upper(d)), 1.0, 2.0)
    forward = np.column_stack([triangles(p) * twice, -2 * pm, np.sum(m * pm, axis=1)])
    backward = np.column_stack([triangles(s + m[:, :, None] * m[:, None, :]), m, np.ones(n)])
    return Packed(forward, backward, d)


def divergence(packed: Packed, rows: Integers | None = None, columns: Integers | None = None) -> Array:
    """Symmetrised Kullback-Leibler divergence of Gaussians, in nats.

        KL(i || j) + KL(j || i)  =  (A_i . B_j + A_j . B_i) / 2 - d  =  -(A_i - A_j) . (B_i - B_j) / 2

    packed   the Gaussians
    rows     (r,) positions among them, all where None
    columns  (c,) likewise

    (r, c), never negative, 0 for a Gaussian and itself, exactly symmetric where rows and columns
    are the same. The middle form is two matrix products but cancels for near duplicates; pairs
    below 1 nat are evaluated by the last one. Beyond the result it holds one tile in memory.
    Kullback & Leibler (1951), doi:10.1214/aoms/1177729694, where it is J(1, 2).
    """
    every = np.arange(len(packed))
    rows, columns = (every if chosen is None else chosen for chosen in (rows, columns))
    result = np.empty((len(rows), len(columns)))
    symmetric = np.array_equal(rows, columns)
    for top in range(0, len(rows), BLOCK):
        for left in range(top if symmetric else 0, len(columns), BLOCK):
            i, j = slice(top, top + BLOCK), slice(left, left + BLOCK)
            tile = _tile(packed, rows[i], columns[j])
            result[i, j] = (tile + tile.T) / 2 if symmetric and top == left else tile
            if symmetric and top < left:
                result[j, i] = tile.T
    return result


def _tile(packed: Packed, rows: Integers, columns: Integers) -> Array:
    a, b = packed.forward, packed.backward
    tile: Array = (a[rows] @ b[columns].T + b[rows] @ a[columns].T) / 2 - packed.dimension
    near = np.argwhere(tile < NEAR)
    for start in range(0, len(near), CHUNK):
        r, c = near[start : start + CHUNK].T
        i, j = rows[r], columns[c]
        tile[r, c] = np.maximum(0.0, np.einsum("nk,nk->n", a[i] - a[j], b[j] - b[i]) / 2)
    return tile


def _whitened(covariances: Array) -> tuple[Array, Array, Array]:
    """W, with W C W' = I for the mean covariance C; each W S W'; the inverse of each."""
    _check_definite(covariances)
    try:
        whitener = np.linalg.inv(np.linalg.cholesky(covariances.mean(axis=0)))
        s = whitener @ covariances @ whitener.T
        roots = np.linalg.inv(np.linalg.cholesky(s))
    except np.linalg.LinAlgError:
        raise InputError("covariances are too far apart in size to be compared") from None
    return whitener, s, np.swapaxes(roots, 1, 2) @ roots


def _check_definite(covariances: Array) -> None:
    finite: Booleans = np.isfinite(np.abs(covariances).max(axis=(1, 2)))
    smallest: Array = np.linalg.eigvalsh(np.where(finite[:, None, None], covariances, 0.0))[:, 0]
    if (smallest <= 0).any():
        worst = int(np.argmin(np.where(finite, smallest, -np.inf)))
        raise InputError(f"covariance {worst} must be finite and positive definite")


def width(dimension: int) -> int:
    """The number of values of a mean and the upper triangle of a covariance."""
    return dimension + dimension * (dimension + 1) // 2


def triangles(matrices: Array) -> Array:
    """The upper triangles (n, d(d+1)/2), row by row, of symmetric matrices (n, d, d)."""
    upper: Array = matrices[:, *_upper(matrices.shape[-1])]
    return upper


def from_triangles(upper: Array, dimension: int) -> Array:
    """The symmetric matrices (n, d, d) of upper triangles (n, d(d+1)/2)."""
    matrices = np.empty((len(upper), dimension, dimension))
    i, j = _upper(dimension)
    matrices[:, i, j] = upper
    matrices[:, j, i] = upper
    return matrices


@cache
def _upper(dimension: int) -> tuple[Integers, Integers]:
    i, j = np.triu_indices(dimension)
    return i, j
