"""Coordinates of Gaussians with distances that follow their divergences: means, and logarithms of covariances."""

import numpy as np

from audiosim.sound.gaussians import Singles, from_rows, triangles, upper_triangle
from audiosim.sound.kullback_leibler import Whitener
from audiosim.stats.arrays import Array

SMALLEST = 1e-12  # lower bound of an eigenvalue, as a share of the largest


def log_euclidean(rows: Singles, whitener: Whitener) -> Array:
    """Coordinates (n, d + d(d+1)/2) of Gaussians: W (m - c), then the upper triangle of log W S W'.

    rows      (n, width) see `to_rows`
    whitener  W and c, which bring covariances near the identity, where this metric is closest to the divergence

    Entries off the diagonal count twice: the squared distance of two Gaussians is |m - n|^2 + |log S - log T|_F^2 of
    whitened means and covariances, the log-Euclidean metric of Arsigny et al. (2007), doi:10.1137/050637996.
    """
    d = len(whitener.shift)
    means, covariances = from_rows(rows, d)
    values, vectors = np.linalg.eigh(whitener.stretch @ covariances @ whitener.stretch.T)
    values = np.maximum(values, SMALLEST * values[:, -1:])  # rounding may leave one below zero
    logarithms = (vectors * np.log(values)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    twice = np.where(np.equal(*upper_triangle(d)), 1.0, np.sqrt(2))
    return np.column_stack([(means - whitener.shift) @ whitener.stretch.T, triangles(logarithms) * twice])
