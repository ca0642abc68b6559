"""Determinants of the mixtures of very many pairs of Gaussians, by machine code: 64 pairs side by side, in lanes."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from audiosim.arrays import Array

LANES = 64
TOGETHER = 7  # pivots multiplied before a logarithm is taken: of more a product could leave double precision

Fill = Callable[[Array, Array, Array, Array, Array], None]


def log_determinants_of_mixtures(mine: Array, my_means: Array, theirs: Array, their_means: Array) -> Array:
    """(r, c) ln det (A_i + B_j + (a_i - b_j) (a_i - b_j)'); NaN where rounding leaves a pivot that is not positive.

    mine         (r, d (d + 1) / 2) upper triangles of A, row by row
    my_means     (r, d) a
    theirs       (d (d + 1) / 2, c) those of B, upright
    their_means  (d, c) b

    The determinant is the product of the pivots of an elimination in double precision. What is found for a pair depends
    on that pair alone.
    """
    count = theirs.shape[1]
    spare = (0, 0), (0, -count % LANES)
    others, other_means = np.pad(theirs, spare, mode="edge"), np.pad(their_means, spare, mode="edge")
    result = np.empty((len(mine), others.shape[1]))
    compiled()(mine, my_means, others, other_means, result)
    return result[:, :count]


@cache
def compiled() -> Fill:
    """Machine code, made when it is first asked for: that takes a second, as long as a million pairs by LAPACK."""
    from numba import njit

    translate = njit(nogil=True, error_model="numpy", fastmath={"contract"})
    mix, eliminate = translate(_mix), translate(_eliminate)

    def fill(mine: Array, my_means: Array, theirs: Array, their_means: Array, result: Array) -> None:
        d = my_means.shape[1]
        matrix, rest = np.empty((len(theirs), LANES)), np.empty((d + 1, LANES))
        for left in range(0, result.shape[1], LANES):
            for row in range(len(mine)):
                mix(mine[row], my_means[row], theirs, their_means, left, matrix, rest)
                eliminate(matrix, d, rest, result[row, left : left + LANES])

    made: Fill = translate(fill)
    return made


def _mix(
    mine: Array, my_mean: Array, theirs: Array, their_means: Array, left: int, matrix: Array, apart: Array
) -> None:
    """The upper triangles of the mixtures of one with each of 64 others, those from column `left` on."""
    d, place = len(my_mean), 0
    for k in range(d):
        for lane in range(LANES):
            apart[k, lane] = my_mean[k] - their_means[k, left + lane]
    for k in range(d):
        for j in range(k, d):
            for lane in range(LANES):
                both = mine[place] + theirs[place, left + lane]
                matrix[place, lane] = both + apart[k, lane] * apart[j, lane]
            place += 1


def _eliminate(matrix: Array, d: int, rest: Array, logarithms: Array) -> None:
    """The logarithm of each lane's determinant, of its upper triangle, which is overwritten.

    rest  (d + 1, lanes) memory
    """
    product, pivot = rest[d], 0  # rest[k] holds one over the pivot
    for lane in range(LANES):
        logarithms[lane], product[lane] = 0.0, 1.0
    for k in range(d):
        for lane in range(LANES):
            product[lane] *= matrix[pivot, lane] if matrix[pivot, lane] > 0 else math.nan
            rest[k, lane] = 1 / matrix[pivot, lane]
        if k % TOGETHER == TOGETHER - 1 or k == d - 1:
            for lane in range(LANES):
                logarithms[lane] += math.log(product[lane])
                product[lane] = 1.0
        for i in range(k + 1, d):
            for lane in range(LANES):
                rest[i, lane] = matrix[pivot + i - k, lane] * rest[k, lane]
        place = pivot + d - k
        for i in range(k + 1, d):
            for j in range(i, d):
                for lane in range(LANES):
                    matrix[place, lane] -= rest[i, lane] * matrix[pivot + j - k, lane]
                place += 1
        pivot += d - k
