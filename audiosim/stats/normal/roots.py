"""Matrix roots of covariances, for drawing values and for stable updates."""

import numpy as np
from scipy.linalg import get_blas_funcs, solve_triangular

from audiosim.stats.arrays import Array

ROUNDING = 1e-9  # share of its variance below which a conditioned unknown counts as certain


def symmetric_root(covariance: Array) -> Array:
    """(m, m) the symmetric R with R R equal to the covariance, which may be singular.

    Only this root changes little with the covariance. Signs of eigenvectors, and directions of those with equal
    eigenvalues, are up to the last bits, which differ between machines and between ways to one state; so would be what
    is drawn.
    """
    # By eigenvalues: Cholesky's method stops at a singular matrix, where rounding leaves eigenvalues just below 0.
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(0, values))) @ vectors.T)


def factor_of(covariance: Array) -> Array:
    """(m, m) R with R R' equal to the covariance: the Cholesky factor if it exists, else the slower symmetric root.

    Rows and columns of certain unknowns are 0.
    """
    certain = np.diagonal(covariance) <= 0
    try:
        factor = np.linalg.cholesky(covariance + np.diag(certain.astype(np.float64)))
    except np.linalg.LinAlgError:
        return symmetric_root(covariance)
    factor[certain] = 0
    return np.asarray(factor)


def known_root(covariance: Array, variance: Array) -> Array:
    """(..., k, k) Cholesky factor of a covariance; see below for one that is singular up to rounding.

    variance  (..., k) scale of the pivots

    If a pivot is at most ROUNDING of its variance, as for perfectly correlated unknowns, the diagonal is raised by that
    share of the variances. Conditioning is then close to that with the pseudo-inverse.
    """
    least = ROUNDING * variance
    try:
        root = np.asarray(np.linalg.cholesky(covariance))
        if (np.diagonal(root, axis1=-2, axis2=-1) ** 2 > least).all():
            return root
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.cholesky(covariance + least[..., None] * np.eye(covariance.shape[-1])))


def closer_root(within: Array, variance: Array, times: float) -> tuple[Array, float]:
    """(m, m) root of times K - (times - 1) diag(variance), and the factor `times` that was used.

    The matrix is a covariance as long as times <= 1 / (1 - smallest eigenvalue of the correlation matrix of K); a
    larger factor is lowered to that bound.
    """
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    own, every = within / np.outer(deviation, deviation), np.diag((variance > 0).astype(np.float64))
    try:
        root = np.linalg.cholesky(times * own - (times - 1) * every + np.eye(len(own)) - every)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(own + np.eye(len(own)) - every)[0])
        times = 1 / (1 - min(least, 1 - 1 / times))
        root = symmetric_root(times * own - (times - 1) * every)
    return np.where(variance > 0, deviation, 0)[:, None] * root, times


def effects_given(covariance: Array, precision: Array) -> Array:
    """(p, p) posterior covariance V (I + P V)^-1 of shared effects, from prior covariance V and data precision P."""
    half = half_given(factor_of(covariance), precision)
    return np.asarray(half.T @ half)


def half_given(root: Array, precision: Array) -> Array:
    """(p, p) H with H' H = V (I + P V)^-1, from a root R of V and data precision P: R (I + R' P R)^-1 R' = H' H."""
    return half_times(inner_factor(root, precision), root.T)


def inner_factor(root: Array, precision: Array) -> Array:
    """(p, p) lower Cholesky factor C of I + R' P R."""
    # I + R' P R is symmetric with eigenvalues of at least 1: its Cholesky factor exists even where V is singular or P
    # huge. I + P V is not symmetric, and (V^-1 + P)^-1 needs the inverse of V.
    return np.asarray(np.linalg.cholesky(np.eye(len(root)) + root.T @ precision @ root))


def half_times(inner: Array, rooted: Array) -> Array:
    """(p, ...) H times some columns, from C and from R' times these columns."""
    return np.asarray(solve_triangular(inner, rooted, lower=True, check_finite=False))


def lower_root(half: Array) -> Array:
    """(p, p) lower triangular R with R R' = H' H."""
    return np.ascontiguousarray(np.asarray(np.linalg.qr(half, mode="r")).T)


def times_lower(rows: Array, root: Array, overwrite: bool = False) -> Array:
    """(n, p) rows times a lower triangular matrix of the same precision: half the work of a full product.

    overwrite  True if the product may overwrite the rows
    """
    return np.asarray(get_blas_funcs("trmm", (rows,))(1.0, root.T, rows.T, overwrite_b=overwrite).T)
