"""Cached covariances of weighted sums with unknowns, updated as unknowns become known one by one."""

import os
from functools import cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import sger

from audiosim.arrays import Array, Integers
from audiosim.stats.threads import one_thread

KEPT = 1 / 32  # share of the machine's memory that one such cache may take
DOUBLE = 2_000_000  # largest size, in numbers, that is stored in double precision
USUAL_MEMORY = 8 * 2**30  # bytes, assumed when the system does not report its memory
AT_ONCE = 2_000  # columns that fit into the processor's cache


def may_be_kept(across: Array) -> bool:
    """True if the machine has room to keep these covariances."""
    return across.nbytes <= KEPT * _memory()


def precision_of(numbers: int) -> type[np.floating]:
    """Type of covariances with sums: single precision above DOUBLE numbers.

    They only rank the candidates for the next judgment and enter no score or interval, so seven digits are enough
    and halve time and memory.
    """
    return np.float32 if numbers > DOUBLE else np.float64


def reduced(across: Array, column: Array, index: int) -> Array:
    """(s, n) covariances with sums after one unknown becomes known.

    across  (s, n) covariances before
    column  (n,) covariance of that unknown with every unknown
    index   its place
    """
    left, share = np.empty_like(across), across[:, [index]] / across.dtype.type(column[index])
    column = column.astype(across.dtype)
    if across.dtype == np.float32 and across.flags.f_contiguous:
        np.copyto(left, across)
        with one_thread():  # one pass over the copy; fused operations may round once where the lines below round twice
            left = np.asarray(sger(-1, share[:, 0], column, a=left, overwrite_a=1))
    else:
        # In strips that stay in the cache: the product and the difference are two passes over the same numbers.
        for start in range(0, across.shape[1], AT_ONCE):
            some = slice(start, start + AT_ONCE)
            np.multiply(share, column[some], out=left[:, some])
            np.subtract(across[:, some], left[:, some], out=left[:, some])
    left[:, index] = 0
    return left


def reduced_by(across: Array, halves: Array, root: Array, new: Integers, places: Integers) -> Array:
    """(s, n) covariances with sums after several unknowns become known.

    halves  (k, n) root^-1 times the covariance of the new ones with every unknown
    root    (k, k) lower Cholesky factor of the covariance among the new ones
    new     (k,) places of those that were not certain before
    places  places of all of them
    """
    # The triangular solve is in double precision: in single precision its error would grow with the condition of root.
    share = np.asarray(solve_triangular(root, across[:, new].astype(np.float64).T, lower=True).T, across.dtype)
    left = np.asarray(across - (halves.T.astype(across.dtype) @ share.T).T)
    left[:, places] = 0
    return left


@cache
def _memory() -> int:
    """Size of the machine's memory in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return USUAL_MEMORY
