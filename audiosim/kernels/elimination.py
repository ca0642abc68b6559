"""Determinants of the mixtures of many pairs of Gaussians, by simultaneous elimination: each step acts on all pairs.

Half a mixture is stored as the upper triangle, row by row, of half the covariance bordered by half the mean and -1/2:

    A   h
       -1/2

The sum of the bordered matrices of (A, a) and (B, -b) has the determinant -det(A + B) (1 + v' (A + B)^-1 v) with
v = a - b, which is -det(A + B + v v'). The last pivot of its elimination is -1 - v' (A + B)^-1 v: both terms have the
same sign, so nothing cancels, however far apart the means are. A pair costs one addition and one elimination.
"""

import numpy as np

from audiosim.kernels.door import by_code
from audiosim.stats.arrays import Array

ROWS = 256  # rows per call of the machine code
PAIRS = 512  # pairs eliminated together by arrays: fewer need more calls, more do not stay in cache


def log_determinants_of_mixtures(mine: Array, theirs: Array, dimension: int, many: bool = False) -> Array:
    """(r, c) ln det (A_i + B_j + (a_i - b_j)(a_i - b_j)'); not finite where rounding makes a pivot 0 or negative.

    mine       (r, p) bordered triangles of a and A
    theirs     (p, c) bordered triangles of -b and B, one per column
    dimension  d
    many       True to use machine code where LLVM is installed; compiling takes a tenth of a second

    In double precision. The result of a pair depends on that pair alone.
    """

    def arrays() -> Array:
        return _by_arrays(mine, np.ascontiguousarray(theirs), dimension + 1)

    return by_code(lambda: _by_code(mine, theirs, dimension + 1), arrays) if many else arrays()


def _by_code(mine: Array, theirs: Array, size: int) -> Array:
    from audiosim.kernels.elimination_code import BEYOND, PAIRS_AT_ONCE, PIVOTS_AT_ONCE, elimination  # loads LLVM

    code, count = elimination(size), theirs.shape[1]
    columns = np.pad(theirs, ((0, BEYOND), (0, -count % PAIRS_AT_ONCE)), mode="edge")
    groups = np.ascontiguousarray(columns.reshape(len(columns), -1, PAIRS_AT_ONCE).swapaxes(0, 1))
    rows, result = np.pad(mine, ((0, 0), (0, BEYOND)), mode="edge"), np.empty((len(mine), len(groups) * PAIRS_AT_ONCE))
    work = np.zeros((size + 1, size | 1, PAIRS_AT_ONCE))
    pivots = np.empty((min(len(mine), ROWS), -(-size // PIVOTS_AT_ONCE), PAIRS_AT_ONCE))
    for top in range(0, len(mine), ROWS):
        some, part = rows[top : top + ROWS], result[top : top + ROWS]
        for number, group in enumerate(groups):
            found = pivots[: len(some)]
            code(len(some), mine=some, theirs=group, work=work, pivots=found)
            with np.errstate(divide="ignore", invalid="ignore"):
                np.log(found, out=found)
            np.sum(found, axis=1, out=part[:, number * PAIRS_AT_ONCE : (number + 1) * PAIRS_AT_ONCE])
    return result[:, :count]


def _by_arrays(mine: Array, theirs: Array, size: int) -> Array:
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
