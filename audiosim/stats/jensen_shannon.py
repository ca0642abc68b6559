"""A Jensen-Shannon divergence of Gaussians: every pair needs a determinant of its own."""

import numpy as np

from audiosim.arrays import Array
from audiosim.stats.gaussian import Singles, from_rows
from audiosim.stats.threads import spread

COLUMNS = 128  # factorised together: they stay in cache
ACCURACY = 1e-4  # relative error that calls for a second evaluation


def divergence(first: Singles, second: Singles | None, dimension: int) -> Array:
    """Jensen-Shannon divergence of Gaussians, their mixture replaced by the Gaussian of its moments, in nats.

        (ln det C - (ln det S_i + ln det S_j) / 2) / 2,   C = (S_i + S_j) / 2 + (m_i - m_j)(m_i - m_j)' / 4

    first      (r, width) rows of Gaussians, see `to_rows`
    second     (c, width) likewise; None: the same, which takes half the time
    dimension  d

    (r, c), never negative, 0 for a Gaussian and itself, exactly symmetric where second is None. C is
    the covariance of the equal mixture of the two, so that this is the entropy of its Gaussian less the
    mean entropy of both: an upper bound of the Jensen-Shannon divergence. ln det S is read from the
    rows, and computed again where its rounding could cost more than a relative 1e-4.
    Lin (1991), doi:10.1109/18.61115; for the Gaussians of music in musly, Schnitzer (2014), as "timbre".
    """
    others = first if second is None else second
    result = np.empty((len(first), len(others)))
    halves, means = _halves(first, dimension)

    def fill(left: int) -> None:
        strip = others[left : left + COLUMNS]
        across = _halves(strip, dimension)
        for i in range(len(first) if second is not None else min(len(first), left + len(strip))):
            mixed = across[0] + halves[i]
            apart = across[1] - means[i]
            mixed += apart[:, :, None] * apart[:, None, :]
            result[i, left : left + len(strip)] = _divergences(mixed, first[i], strip, dimension)

    spread(fill, range(0, len(others), COLUMNS)[::-1])
    if second is None:
        lower = np.tril_indices(len(first), -1)
        result[lower] = result.T[lower]
    return result


def _halves(rows: Singles, dimension: int) -> tuple[Array, Array]:
    means, covariances = from_rows(rows, dimension)
    return covariances / 2, means / 2


def _divergences(mixed: Array, row: Singles, others: Singles, dimension: int) -> Array:
    """(n,) the divergences of one Gaussian from others, by the covariances C of their mixtures."""
    own, theirs = float(row[-1]), others[:, -1].astype(float)
    both = log_determinants(mixed)
    divergences = (both - (own + theirs) / 2) / 2
    near = np.flatnonzero(ACCURACY * divergences <= 2.0**-25 * (abs(own) + np.abs(theirs)))
    if len(near):
        exact = log_determinants(from_rows(np.vstack([row, others[near]]), dimension)[1])
        divergences[near] = (both[near] - (exact[0] + exact[1:]) / 2) / 2
    return np.maximum(0.0, divergences)


def log_determinants(matrices: Array) -> Array:
    """(n,) ln det of symmetric positive definite matrices (n, d, d)."""
    roots = np.linalg.cholesky(matrices)
    logarithms: Array = 2 * np.log(np.einsum("nii->ni", roots)).sum(axis=1)
    return logarithms
