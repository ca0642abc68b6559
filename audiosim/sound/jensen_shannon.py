"""A Jensen-Shannon divergence of Gaussians, which needs a determinant for every pair."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from audiosim.sound.gaussians import Singles, from_rows, upper_triangle
from audiosim.stats.arrays import Array
from audiosim.stats.threads import spread_on_threads

# Columns of a strip, which stays in cache. A symmetric result needs only half of all pairs, and a third of these
# columns, because the corners of strips are wasted.
COLUMNS = 384
TOGETHER_ANEW = 128  # pairs that are re-evaluated together
MANY = 1_000_000  # number of pairs from which loading numba, and compiling once per machine, costs less than it saves
PAIRS = 512  # pairs eliminated together by arrays: fewer need more calls, more do not stay in cache
PIVOTS = 7  # pivots multiplied before a logarithm is taken; a product of more could overflow or underflow
SIDE_BY_SIDE = 64  # pairs in the innermost loop of the compiled elimination
ACCURACY = 1e-4  # relative error that calls for a second evaluation
SPARE = 1e-8  # divergence below which a pair is always evaluated again

Elimination = Callable[[Array, Array, int], Array]


def jensen_shannon_divergence(
    first: Singles, second: Singles | None, dimension: int, many: bool | None = None
) -> Array:
    """Jensen-Shannon divergence of Gaussians, their mixture replaced by the Gaussian of its moments, in nats.

        (ln det C - (ln det S_i + ln det S_j) / 2) / 2,   C = (S_i + S_j) / 2 + v v',  v = (m_i - m_j) / 2

    first      (r, width) rows of Gaussians, see `to_rows`
    second     (c, width) likewise; None: the same, which takes half the time
    dimension  d
    many       True to use compiled loops if numba is installed; None: from a million pairs on

    (r, c), never negative, 0 for a Gaussian and itself, exactly symmetric where second is None. C is the covariance of
    the equal mixture of the two, so this is the entropy of the mixture's Gaussian less the mean entropy of both: an
    upper bound of the Jensen-Shannon divergence.

    ln det C comes from `_log_determinants`, ln det S is read from the rows. If rounding could cost more than
    a relative 1e-4, ln det S too is computed in double precision. Lin (1991), doi:10.1109/18.61115; for the Gaussians
    of music in musly, Schnitzer (2014), as "timbre".
    """
    if second is not None and len(second) < min(len(first), COLUMNS):
        return jensen_shannon_divergence(second, first, dimension, many).T
    others = first if second is None else second
    result, own = np.empty((len(first), len(others))), _halves(first, dimension, 1)
    eliminated: Elimination = _log_determinants
    if many or (many is None and len(first) * len(others) >= MANY):
        eliminated = _by_loops() or _log_determinants
    columns = COLUMNS if second is not None else max(1, COLUMNS // 3)

    def fill(left: int) -> None:
        strip = others[left : left + columns]
        mine = slice(len(first) if second is not None else min(len(first), left + len(strip)))
        theirs = np.ascontiguousarray(_halves(strip, dimension, -1).T)
        mixed = eliminated(own[mine], theirs, dimension + 1)
        result[mine, left : left + len(strip)] = _divergences(mixed, first[mine], strip, dimension)

    spread_on_threads(fill, range(0, len(others), columns)[::-1])
    if second is None:
        lower = np.tril_indices(len(first), -1)
        result[lower] = result.T[lower]
    return result


def _halves(rows: Singles, dimension: int, sign: int) -> Array:
    """(n, (d + 1)(d + 2) / 2) bordered triangles of n Gaussians: upper triangles, row by row, of

        A   h
           -1/2

    with A half of the covariance, and h half of the mean, up to sign
    """
    halves, (i, j) = rows[:, :-1].astype(float) / 2, upper_triangle(dimension + 1)
    result = np.full((len(rows), len(i)), -0.5)
    result[:, j < dimension] = halves[:, dimension:]
    result[:, (i < dimension) & (j == dimension)] = sign * halves[:, :dimension]
    return result


def _log_determinants(mine: Array, theirs: Array, size: int) -> Array:
    """(r, c) ln det (A_i + B_j + (a_i - b_j)(a_i - b_j)'); not finite where rounding makes a pivot 0 or negative.

    mine    (r, p) bordered triangles of a and A
    theirs  (p, c) bordered triangles of -b and B, one per column
    size    d + 1

    The sum of the bordered matrices has the determinant -det(A + B) (1 + v' (A + B)^-1 v) with v = a - b, which is
    -det(A + B + v v'). The last pivot of its elimination is -1 - v' (A + B)^-1 v: both terms have the same sign, so
    nothing cancels, however far apart the means are. A pair costs one addition and one elimination; each step acts on
    many pairs at once.
    """
    count = theirs.shape[1]
    result, together = np.empty((len(mine), count)), max(1, PAIRS // max(1, count))
    for top in range(0, len(mine), together):
        own = mine[top : top + together].T
        mixed = (own[:, :, None] + theirs[:, None, :]).reshape(len(theirs), -1)
        result[top : top + together] = _eliminated(mixed, size).reshape(-1, count)
    return result


def _eliminated(mixed: Array, size: int) -> Array:
    """(b,) ln det of bordered triangles, one per column; they are overwritten."""
    rows, factors = np.empty((2, size, size, mixed.shape[1]))
    pivots, start = np.empty((size, mixed.shape[1])), 0
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(size):
            row = mixed[start : start + size - k]
            start += size - k
            if k:
                row -= np.einsum("mb,mjb->jb", factors[:k, k], rows[:k, k:])
            pivots[k], rows[k, k:] = row[0], row
            np.divide(row[1:], row[0], out=factors[k, k + 1 :])
        determinants: Array = np.log(pivots[:-1]).sum(axis=0) + np.log(-pivots[-1])
    return determinants


@cache
def _by_loops() -> Elimination | None:
    """`_log_determinants` by compiled loops, in half to a third of the time; None without numba or leave to compile.

    Compiling takes a second and is kept where numba can write, beside this module or in the user's cache folder.
    """
    try:
        from numba import njit
    except (ImportError, OSError):  # OSError: memory may not be made executable (SELinux, MemoryDenyWriteExecute)
        return None

    def compiled(keep: bool) -> Any:
        signature = "void(float64[:, ::1], float64[:, ::1], int64, float64[:, ::1])"
        return njit(signature, cache=keep, nogil=True, error_model="numpy", fastmath={"contract"})(_eliminate)

    try:
        loops = compiled(True)
    except (RuntimeError, OSError):  # there is no folder to keep it in, or no space
        loops = compiled(False)

    def eliminated(mine: Array, theirs: Array, size: int) -> Array:
        products = np.empty((len(mine), theirs.shape[1]))
        loops(mine, theirs, size, products)
        return products

    return eliminated


def _eliminate(mine: Array, theirs: Array, size: int, result: Array) -> None:
    """Write `_log_determinants` into (r, c), by loops for numba: a plain elimination of the pairs of some columns."""
    work = np.empty((len(theirs), SIDE_BY_SIDE))
    factor, product, total = np.empty(SIDE_BY_SIDE), np.empty(SIDE_BY_SIDE), np.empty(SIDE_BY_SIDE)
    for left in range(0, theirs.shape[1], SIDE_BY_SIDE):
        lanes = min(SIDE_BY_SIDE, theirs.shape[1] - left)
        for i in range(len(mine)):
            for at in range(len(theirs)):
                for lane in range(lanes):
                    work[at, lane] = mine[i, at] + theirs[at, left + lane]
            row, total[:], product[:] = 0, 0.0, 1.0
            for k in range(size):
                last, below = k == size - 1, row + size - k
                for lane in range(lanes):
                    pivot = -work[row, lane] if last else work[row, lane]
                    product[lane] *= pivot if pivot > 0 else np.nan
                if last or k % PIVOTS == PIVOTS - 1:
                    for lane in range(lanes):
                        total[lane] += np.log(product[lane])
                        product[lane] = 1
                for m in range(1, size - k):
                    for lane in range(lanes):
                        factor[lane] = work[row + m, lane] / work[row, lane]
                    for j in range(m, size - k):
                        for lane in range(lanes):
                            work[below, lane] -= factor[lane] * work[row + j, lane]
                        below += 1
                row += size - k
            for lane in range(lanes):
                result[i, left + lane] = total[lane]


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
    return np.asarray((mixed - exact) / 2)


def log_determinants(matrices: Array) -> Array:
    """(n,) ln det of symmetric positive definite matrices (n, d, d)."""
    roots = np.linalg.cholesky(matrices)
    return np.asarray(2 * np.log(np.einsum("nii->ni", roots)).sum(axis=1))
