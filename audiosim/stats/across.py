"""Covariances of sums with unknowns, kept at hand while one unknown after the other becomes known."""

import os
from functools import cache

import numpy as np
from scipy.linalg import solve_triangular

from audiosim.arrays import Array, Integers

KEPT = 1 / 32  # of the machine's memory, that the covariances with some sums take at most
DOUBLE = 2_000_000  # numbers in double precision at most
USUAL_MEMORY = 8 * 2**30  # bytes, where the system does not say
AT_ONCE = 2_000  # columns that stay in the processor's cache


def may_be_kept(across: Array) -> bool:
    """True if covariances are no more than the machine has room for."""
    return across.nbytes <= KEPT * _memory()


def precision_of(numbers: int) -> type[np.floating]:
    """Type of covariances with sums: single precision for many.

    They decide what is asked next, and are in no score or interval: seven digits do, in half the time and memory.
    """
    return np.float32 if numbers > DOUBLE else np.float64


def reduced(across: Array, column: Array, index: int) -> Array:
    """(s, n) covariances with sums once an unknown is known, of which this is the covariance with all (n,)."""
    left, share = np.empty_like(across), across[:, [index]] / across.dtype.type(column[index])
    column = column.astype(across.dtype)
    for start in range(0, across.shape[1], AT_ONCE):
        some = slice(start, start + AT_ONCE)
        np.multiply(share, column[some], out=left[:, some])
        np.subtract(across[:, some], left[:, some], out=left[:, some])
    left[:, index] = 0
    return left


def reduced_by(across: Array, halves: Array, root: Array, new: Integers, places: Integers) -> Array:
    """(s, n) covariances with sums once several unknowns are known.

    halves  (k, n) their covariance with all, from the left by the inverse of its root
    root    (k, k) lower Cholesky factor of their own
    new     (k,) those that were not certain before
    places  all of them
    """
    share = np.asarray(solve_triangular(root, across[:, new].astype(np.float64).T, lower=True).T, across.dtype)
    left = np.asarray(across - (halves.T.astype(across.dtype) @ share.T).T)
    left[:, places] = 0
    return left


@cache
def _memory() -> int:
    """Bytes of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return USUAL_MEMORY
