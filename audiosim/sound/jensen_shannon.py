"""A Jensen-Shannon divergence of Gaussians, which needs a determinant for every pair."""

import numpy as np

from audiosim.kernels.elimination import log_determinants_of_mixtures
from audiosim.sound.gaussians import Singles, from_rows, upper_triangle
from audiosim.stats.arrays import Array
from audiosim.stats.threads import spread_on_threads

# Columns of a strip, which stays in cache. A symmetric result needs only half of all pairs, and a third of these
# columns, because the corners of strips are wasted.
COLUMNS = 384
TOGETHER_ANEW = 128  # pairs that are re-evaluated together
MANY = 50_000  # number of pairs from which machine code is used
ACCURACY = 1e-4  # relative error that calls for a second evaluation
SPARE = 1e-8  # divergence below which a pair is always evaluated again


def jensen_shannon_divergence(
    first: Singles, second: Singles | None, dimension: int, many: bool | None = None
) -> Array:
    """Jensen-Shannon divergence of Gaussians, their mixture replaced by the Gaussian of its moments, in nats.

        (ln det C - (ln det S_i + ln det S_j) / 2) / 2,   C = (S_i + S_j) / 2 + v v',  v = (m_i - m_j) / 2

    first      (r, width) rows of Gaussians, see `to_rows`
    second     (c, width) likewise; None: the same, which takes half the time
    dimension  d
    many       True to use machine code, which takes a tenth of a second to compile; None: from 50,000 pairs on

    (r, c), never negative, 0 for a Gaussian and itself, exactly symmetric where second is None. C is the covariance of
    the equal mixture of the two, so this is the entropy of the mixture's Gaussian less the mean entropy of both: an
    upper bound of the Jensen-Shannon divergence.

    ln det C comes from `log_determinants_of_mixtures`, ln det S is read from the rows. If rounding could cost more than
    a relative 1e-4, ln det S too is computed in double precision. Lin (1991), doi:10.1109/18.61115; for the Gaussians
    of music in musly, Schnitzer (2014), as "timbre".
    """
    if second is not None and len(second) < min(len(first), COLUMNS):
        return jensen_shannon_divergence(second, first, dimension, many).T
    others = first if second is None else second
    result, own = np.empty((len(first), len(others))), _halves(first, dimension, 1)
    by_machine = len(first) * len(others) >= MANY if many is None else many

    columns = COLUMNS if second is not None else max(1, COLUMNS // 3)

    def fill(left: int) -> None:
        strip = others[left : left + columns]
        mine = slice(len(first) if second is not None else min(len(first), left + len(strip)))
        mixed = log_determinants_of_mixtures(own[mine], _halves(strip, dimension, -1).T, dimension, by_machine)
        result[mine, left : left + len(strip)] = _divergences(mixed, first[mine], strip, dimension)

    spread_on_threads(fill, range(0, len(others), columns)[::-1])
    if second is None:
        lower = np.tril_indices(len(first), -1)
        result[lower] = result.T[lower]
    return result


def _halves(rows: Singles, dimension: int, sign: int) -> Array:
    """(n, p) half of the means, up to sign, and of the covariances, bordered."""
    halves = rows[:, :-1].astype(float) / 2
    return bordered(sign * halves[:, :dimension], halves[:, dimension:])


def bordered(means: Array, upper: Array) -> Array:
    """(n, (d + 1)(d + 2) / 2) bordered triangles of n Gaussians.

    means  (n, d)
    upper  (n, d (d + 1) / 2) triangles of the matrices
    """
    d = means.shape[1]
    i, j = upper_triangle(d + 1)
    result = np.full((len(means), len(i)), -0.5)
    result[:, j < d] = upper
    result[:, (i < d) & (j == d)] = means
    return result


def _divergences(mixed: Array, rows: Singles, others: Singles, dimension: int) -> Array:
    """(r, c) divergences of some Gaussians from others, from ln det of their mixtures."""
    own, theirs = rows[:, -1].astype(float)[:, None], others[:, -1].astype(float)
    divergences: Array = (mixed - (own + theirs) / 2) / 2
    sure = ACCURACY * divergences > 2.0**-25 * (np.abs(own) + np.abs(theirs)) + ACCURACY * SPARE
    i, j = np.nonzero(~sure)
    for start in range(0, len(i), TOGETHER_ANEW):
        part = slice(start, start + TOGETHER_ANEW)
        divergences[i[part], j[part]] = _anew(rows[i[part]], others[j[part]], dimension)
    return np.maximum(0.0, divergences, out=divergences)


def _anew(rows: Singles, others: Singles, dimension: int) -> Array:
    """(n,) divergences of pairs of rows, with every determinant in double precision."""
    (means, covariances), (their_means, their_covariances) = from_rows(rows, dimension), from_rows(others, dimension)
    roots = np.linalg.cholesky((covariances + their_covariances) / 2)
    whitened = np.linalg.solve(roots, (means - their_means)[:, :, None] / 2)[:, :, 0]
    mixed = 2 * np.log(np.einsum("nii->ni", roots)).sum(axis=1) + np.log1p((whitened**2).sum(axis=1))
    exact = (log_determinants(covariances) + log_determinants(their_covariances)) / 2
    divergences: Array = (mixed - exact) / 2
    return divergences


def log_determinants(matrices: Array) -> Array:
    """(n,) ln det of symmetric positive definite matrices (n, d, d)."""
    roots = np.linalg.cholesky(matrices)
    logarithms: Array = 2 * np.log(np.einsum("nii->ni", roots)).sum(axis=1)
    return logarithms
