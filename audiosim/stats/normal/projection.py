"""Cached parts of weighted sums over a multivariate normal in blocks: changing one block costs one block."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import sger

from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.conditioning import SeenValues
from audiosim.stats.normal.multivariate import Sparse
from audiosim.stats.threads import one_thread

FEW_WEIGHTS = 2_000_000  # largest number of weights for which parts are cached: 16 MB
WEIGHTS_KEPT = 4
ROUNDING = 1e-9  # share of the largest entry by which a change may differ from rank one
UPDATES = 50  # rank-one updates before a full computation, so that rounding does not add up


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Cached parts of weighted sums.

    weights   the sums; referenced here so that no other object can get their identity
    split     for each block the sums with a share in it, and their weights there; see `by_block`
    products  K_b and its part of the covariance of the sums, by block
    loadings  dense rows of Z and their part of the loadings of the sums, by block
    """

    weights: Sparse
    split: list[tuple[Integers, Array]]
    products: dict[int, tuple[Array, Array]]
    loadings: dict[int, tuple[Array, Array]]


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """Results computed for a distribution that remain usable after conditioning.

    variance  (n,) variances of the unknowns; None: not computed yet
    acrosses  covariances of weighted sums with each unknown, with their weights, by the identity of the weights
    kept      parts of weighted sums, likewise, found again by the identity of the arrays that they are made from
    """

    variance: Array | None = None
    acrosses: dict[int, tuple[Sparse, Array]] = field(default_factory=dict)
    kept: dict[int, Kept] = field(default_factory=dict)

    def parts(self, weights: Sparse, blocks: Sequence[Integers]) -> Kept | None:
        """Parts of these sums, from the cache if they are there; None if they would take too much memory."""
        if weights.shape[0] * weights.shape[1] > FEW_WEIGHTS:
            return None
        found = self.kept.get(id(weights))
        if found is None or found.weights is not weights:  # identities of objects differ between processes
            if len(self.kept) >= WEIGHTS_KEPT:
                self.kept.clear()
            found = self.kept[id(weights)] = Kept(weights, list(by_block(weights, blocks)), {}, {})
        return found


@dataclass(frozen=True, slots=True, eq=False)
class EffectsGiven:
    """Posterior of the shared effects given observations in some blocks.

    seen       observed values, by block
    precision  (p, p + 1) sum of their precisions
    shared     (p, p) posterior covariance
    updates    number of rank-one updates so far
    """

    seen: Mapping[int, SeenValues]
    precision: Array
    shared: Array
    updates: int = 0

    def updated(self, seen: Mapping[int, SeenValues]) -> "EffectsGiven | None":
        """Posterior after one more value: V - V z z' V / (1 + z' V z); None if more than that has changed."""
        changed = [block for block, one in seen.items() if self.seen.get(block) is not one]
        if not changed and len(seen) == len(self.seen):
            return self
        if len(changed) != 1 or self.updates >= UPDATES or not self.seen.keys() <= seen.keys():
            return None
        more = seen[changed[0]].precision
        more = more - self.seen[changed[0]].precision if changed[0] in self.seen else more
        place = int(np.argmax(np.diagonal(more)))
        if not more[place, place] > 0:
            return None
        z = more[:, place] / np.sqrt(more[place, place])
        if np.abs(more[:, :-1] - np.outer(z, z)).max() > ROUNDING * more[place, place]:
            return None
        moved = self.shared @ z
        shared = self.shared - np.outer(moved, moved / (1 + float(z @ moved)))
        return EffectsGiven(dict(seen), self.precision + more, shared, self.updates + 1)


def kept_product(kept: dict[int, tuple[Array, Array]] | None, block: int, within: Array, some: Array) -> Array:
    """(t, t) W K W' of a block, from the cache if K is the same object.

    some  (t, m) W
    """
    if kept is None:
        return np.asarray(some @ within @ some.T)
    known = kept.get(block)
    if known is None or known[0] is not within:
        known = kept[block] = within, some @ within @ some.T
    return known[1]


def by_block(weights: Sparse, blocks: Sequence[Integers]) -> Iterator[tuple[Integers, Array]]:
    """For each block the sums that have a share in it (t,), and their weights there (t, m)."""
    columns = weights.tocsc()[:, np.concatenate([np.empty(0, dtype=np.int64), *blocks])]
    columns.sum_duplicates()
    stop = 0
    for rows in blocks:
        start, stop = stop, stop + len(rows)
        ends = columns.indptr[start : stop + 1]
        sums, place = np.unique(columns.indices[ends[0] : ends[-1]], return_inverse=True)
        some = np.zeros((len(sums), len(rows)))
        some[place, np.repeat(np.arange(len(rows)), np.diff(ends))] = columns.data[ends[0] : ends[-1]]
        yield sums.astype(np.int64), some


# Cached covariances of weighted sums with unknowns, updated as unknowns become known one by one.


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
