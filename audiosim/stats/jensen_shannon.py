"""A Jensen-Shannon divergence of Gaussians: every pair needs a determinant of its own."""

import numpy as np

from audiosim.arrays import Array
from audiosim.stats.gaussian import Singles, from_rows
from audiosim.stats.threads import spread_on_threads

COLUMNS = 128  # factorised together: they stay in cache
ACCURACY = 1e-4  # relative error that calls for a second evaluation
CORNER = 1e6  # above any v' M^-1 v that can be told from infinite; it costs 1e-10 of accuracy
SPARE = 1e-8  # divergence from which that is nothing


def jensen_shannon_divergence(first: Singles, second: Singles | None, dimension: int) -> Array:
    """Jensen-Shannon divergence of Gaussians, their mixture replaced by the Gaussian of its moments, in nats.

        (ln det C - (ln det S_i + ln det S_j) / 2) / 2,   C = M + v v',  M = (S_i + S_j) / 2,  v = (m_i - m_j) / 2

    first      (r, width) rows of Gaussians, see `to_rows`
    second     (c, width) likewise; None: the same, which takes half the time
    dimension  d

    (r, c), never negative, 0 for a Gaussian and itself, exactly symmetric where second is None. C is
    the covariance of the equal mixture of the two, so that this is the entropy of its Gaussian less the
    mean entropy of both: an upper bound of the Jensen-Shannon divergence.

    ln det C = ln det M + ln(1 + v' M^-1 v), both read off one Cholesky factor, that of M bordered by v and a corner c:
    its last pivot squared is c - v' M^-1 v. The bordered matrix is the sum of one part of i and one of j, so that a
    pair costs one addition and one factor. ln det S is read from the rows. Where rounding could cost more than a
    relative 1e-4 all is computed again from the definition.
    Lin (1991), doi:10.1109/18.61115; for the Gaussians of music in musly, Schnitzer (2014), as "timbre".
    """
    others = first if second is None else second
    result = np.empty((len(first), len(others)))
    own = _bordered(first, dimension, 1)

    def fill(left: int) -> None:
        strip = others[left : left + COLUMNS]
        across = _bordered(strip, dimension, -1)
        mixed = np.empty_like(across)
        for i in range(len(first) if second is not None else min(len(first), left + len(strip))):
            np.add(across, own[i], out=mixed)
            result[i, left : left + len(strip)] = _divergences(mixed, first[i], strip, dimension)

    spread_on_threads(fill, range(0, len(others), COLUMNS)[::-1])
    if second is None:
        lower = np.tril_indices(len(first), -1)
        result[lower] = result.T[lower]
    return result


def _bordered(rows: Singles, dimension: int, sign: int) -> Array:
    """(n, d + 1, d + 1) half of the covariance, bordered by half of the mean, up to sign, and half of the corner."""
    means, covariances = from_rows(rows, dimension)
    parts = np.empty((len(rows), dimension + 1, dimension + 1))
    parts[:, :-1, :-1] = covariances / 2
    parts[:, -1, :-1] = parts[:, :-1, -1] = sign * means / 2
    parts[:, -1, -1] = CORNER / 2
    return parts


def _divergences(mixed: Array, row: Singles, others: Singles, dimension: int) -> Array:
    """(n,) the divergences of one Gaussian from others, by the bordered matrices of their mixtures."""
    own, theirs = float(row[-1]), others[:, -1].astype(float)
    try:
        pivots = np.einsum("nii->ni", np.linalg.cholesky(mixed))
    except np.linalg.LinAlgError:  # some are too far apart for the corner
        return _by_definition(row, others, dimension)
    both = 2 * np.log(pivots[:, :-1]).sum(axis=1) + np.log1p(CORNER - pivots[:, -1] ** 2)
    divergences: Array = (both - (own + theirs) / 2) / 2
    near = np.flatnonzero(ACCURACY * divergences <= 2.0**-25 * (abs(own) + np.abs(theirs)) + ACCURACY * SPARE)
    if len(near):
        divergences[near] = _by_definition(row, others[near], dimension)
    return np.maximum(0.0, divergences, out=divergences)


def _by_definition(row: Singles, others: Singles, dimension: int) -> Array:
    """(n,) the same, with every determinant in double precision."""
    means, covariances = from_rows(np.vstack([row, others]), dimension)
    apart = (means[1:] - means[0]) / 2
    mixed = (covariances[1:] + covariances[0]) / 2 + apart[:, :, None] * apart[:, None, :]
    exact = log_determinants(covariances)
    divergences: Array = np.maximum(0.0, (log_determinants(mixed) - (exact[0] + exact[1:]) / 2) / 2)
    return divergences


def log_determinants(matrices: Array) -> Array:
    """(n,) ln det of symmetric positive definite matrices (n, d, d)."""
    roots = np.linalg.cholesky(matrices)
    logarithms: Array = 2 * np.log(np.einsum("nii->ni", roots)).sum(axis=1)
    return logarithms
