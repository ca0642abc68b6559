"""Determinants of the mixtures of many pairs of Gaussians, by elimination in step: one operation on all of them.

A Gaussian of half a mixture is the upper triangle, row by row, of its matrix bordered by half of its mean and -1/2:

    A   h
       -1/2

The sum of one of A, a and one of B, -b has the determinant -det(A + B) (1 + v' (A + B)^-1 v), v = a - b: that of
-(A + B + v v'). The last pivot of its elimination is -1 - v' (A + B)^-1 v, in which nothing cancels however far
apart the means are. So a pair costs one addition and one elimination.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from audiosim.arrays import Array
from audiosim.stats.gaussian import upper_triangle

LANES = 64
TOGETHER = 7  # pivots multiplied before a logarithm is taken: of more a product could leave double precision

Fill = Callable[[Array, Array, int, Array], None]


def bordered(means: Array, upper: Array) -> Array:
    """(n, (d + 1)(d + 2) / 2) bordered triangles.

    means  (n, d)
    upper  (n, d (d + 1) / 2) triangles of the matrices
    """
    d = means.shape[1]
    i, j = upper_triangle(d + 1)
    result = np.full((len(means), len(i)), -0.5)
    result[:, j < d] = upper
    result[:, (i < d) & (j == d)] = means
    return result


def log_determinants_of_mixtures(mine: Array, theirs: Array, dimension: int, many: bool = False) -> Array:
    """(r, c) ln det (A_i + B_j + (a_i - b_j)(a_i - b_j)'); not finite where a pivot is not positive, by rounding.

    mine       (r, p) bordered triangles of a and A
    theirs     (p, c) those of -b and B, upright
    dimension  d
    many       whether they are worth machine code, see `compiled`

    In double precision. What is found for a pair depends on that pair alone.
    """
    count = theirs.shape[1]
    if not many:
        return _by_arrays(mine, np.ascontiguousarray(theirs), dimension + 1)
    others = np.pad(theirs, ((0, 0), (0, -count % LANES)), mode="edge")
    result = np.empty((len(mine), others.shape[1]))
    compiled()(mine, others, dimension + 1, result)
    return result[:, :count]


def _by_arrays(mine: Array, theirs: Array, size: int) -> Array:
    count = theirs.shape[1]
    result, mixed = np.empty((len(mine), count)), np.empty_like(theirs)
    rows, factors = np.empty((2, size, size, count))
    pivots = np.empty((size, count))
    for number, own in enumerate(mine):
        np.add(theirs, own[:, None], out=mixed)
        start = 0
        for k in range(size):
            row = mixed[start : start + size - k]
            start += size - k
            if k:
                row -= np.einsum("mb,mjb->jb", factors[:k, k], rows[:k, k:])
            pivots[k], rows[k, k:] = row[0], row
            with np.errstate(divide="ignore", invalid="ignore"):
                np.divide(row[1:], row[0], out=factors[k, k + 1 :])
        with np.errstate(divide="ignore", invalid="ignore"):
            result[number] = np.log(pivots[:-1]).sum(axis=0) + np.log(-pivots[-1])
    return result


@cache
def compiled() -> Fill:
    """Machine code of the same, by numba, 64 pairs side by side; made when first asked for, in a second or two."""
    from numba import njit

    translate = njit(nogil=True, error_model="numpy", fastmath={"contract"})
    eliminate = translate(_eliminate)

    def fill(mine: Array, theirs: Array, size: int, result: Array) -> None:
        block, matrix = np.empty((len(theirs), LANES)), np.empty((len(theirs), LANES))
        rest = np.empty((size + 1, LANES))
        for left in range(0, result.shape[1], LANES):
            for place in range(len(theirs)):
                for lane in range(LANES):
                    block[place, lane] = theirs[place, left + lane]
            for row in range(len(mine)):
                for place in range(len(theirs)):
                    for lane in range(LANES):
                        matrix[place, lane] = mine[row, place] + block[place, lane]
                eliminate(matrix, size, rest, result[row, left : left + LANES])

    made: Fill = translate(fill)
    return made


def _eliminate(matrix: Array, size: int, rest: Array, logarithms: Array) -> None:
    """The logarithm of each lane's determinant, up to sign, by its upper triangle, which is overwritten.

    rest  (size + 1, lanes) memory
    """
    product, pivot = rest[size], 0  # rest[k] holds one over the pivot
    for lane in range(LANES):
        logarithms[lane], product[lane] = 0.0, 1.0
    for k in range(size):
        sign = -1.0 if k == size - 1 else 1.0
        for lane in range(LANES):
            rest[k, lane] = 1 / matrix[pivot, lane]
            product[lane] *= sign * matrix[pivot, lane] if sign * matrix[pivot, lane] > 0 else math.nan
        if k % TOGETHER == TOGETHER - 1 or k == size - 1:
            for lane in range(LANES):
                logarithms[lane] += math.log(product[lane])
                product[lane] = 1.0
        for i in range(k + 1, size):
            for lane in range(LANES):
                rest[i, lane] = matrix[pivot + i - k, lane] * rest[k, lane]
        place = pivot + size - k
        for i in range(k + 1, size):
            for j in range(i, size):
                for lane in range(LANES):
                    matrix[place, lane] -= rest[i, lane] * matrix[pivot + j - k, lane]
                place += 1
        pivot += size - k
