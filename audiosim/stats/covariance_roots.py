"""Roots of covariances, by which values are drawn of them."""

import numpy as np

from audiosim.arrays import Array


def root_of(covariance: Array) -> Array:
    """(m, m) R with R R' the covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(0, values)))


def factor_of(covariance: Array) -> Array:
    """(m, m) R with R R' the covariance: a Cholesky factor, several times as fast as `_root`, where there is one.

    Rows and columns of unknowns that are certain are 0.
    """
    certain = np.diagonal(covariance) <= 0
    try:
        factor = np.linalg.cholesky(covariance + np.diag(certain.astype(np.float64)))
    except np.linalg.LinAlgError:
        return root_of(covariance)
    factor[certain] = 0
    return np.asarray(factor)


def closer_root(within: Array, variance: Array, times: float) -> tuple[Array, float]:
    """(m, m) root of times K - (times - 1) diag(variance), and times: less where that is no covariance.

    It is one as long as times <= 1 / (1 - the least eigenvalue of K over the deviations).
    """
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    own, every = within / np.outer(deviation, deviation), np.diag((variance > 0).astype(np.float64))
    try:
        root = np.linalg.cholesky(times * own - (times - 1) * every + np.eye(len(own)) - every)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(own + np.eye(len(own)) - every)[0])
        times = 1 / (1 - min(least, 1 - 1 / times))
        root = root_of(times * own - (times - 1) * every)
    return np.where(variance > 0, deviation, 0)[:, None] * root, times
