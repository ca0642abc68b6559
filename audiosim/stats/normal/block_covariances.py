"""Covariances of many values, correlated within blocks and, through shared effects, across blocks.

    C = B + Z L Z',   C^-1 = B^-1 - B^-1 Z M^-1 Z' B^-1,   M = L^-1 + Z' B^-1 Z

This is Woodbury's identity; B has the blocks on its diagonal, L the variances of the effects. Blocks of equal size
are stacked, so that one call handles thousands of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotri, dtrtri

from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.layout import REST, Layout

AT_ONCE = 500  # values processed at a time, to limit the memory of their products
LARGE = 16  # block size from which one call per block, using its triangular shape, is faster than one call per stack


class _Group(NamedTuple):
    """All b blocks of one size m.

    rows     slice of their values in the group-by-group order
    kernels  (c, b, m, m) one per component in `kinds`; scaled
    """

    rows: slice
    kernels: Array

    def of(self, ordered: Array) -> Array:
        """(b, m, ...) rows that belong to these blocks."""
        return ordered[self.rows].reshape(*self.kernels.shape[1:3], ordered.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class BlockCovariances:
    """Kernels within blocks, and loadings on shared effects.

    groups    blocks, grouped by size
    order     (n,) places of the values, group by group
    kinds     (c,) indices of the components whose kernels are not 0 everywhere, `rest` last
    owner     (p,) index of the component of each effect; effects of one component are adjacent
    loadings  (n, p) Z, rows in that order
    count     k, number of components
    """

    groups: Sequence[_Group]
    order: Integers
    kinds: Integers
    owner: Integers
    loadings: Array
    count: int

    @classmethod
    def of(cls, layout: Layout) -> "BlockCovariances":
        """Components of a layout, in the order of its names."""
        sizes, names = np.array([len(rows) for rows in layout.blocks]), layout.names
        groups, places, start = [], [np.empty(0, dtype=np.int64)], 0
        for size in np.unique(sizes[sizes > 0]).tolist():
            some = np.flatnonzero(sizes == size).tolist()
            places.append(np.concatenate([layout.blocks[block] for block in some]))
            groups.append(_Group(slice(start, start + len(places[-1])), _kernels(layout, some)))
            start += len(places[-1])
        # If all effects of a component are shared between blocks, its kernels are empty.
        used = np.array([*(any(group.kernels[c].any() for group in groups) for c in range(len(layout.kernels))), True])
        groups = [group if used.all() else group._replace(kernels=group.kernels[used]) for group in groups]
        kinds = np.array([names.index(name) for name in (*layout.kernels, REST)])[used]
        owner = np.array([names.index(name) for name in layout.shared], dtype=np.int64)[layout.owner]
        order = np.concatenate(places)
        return cls(groups, order, kinds, owner, layout.loadings[order].toarray(), len(names))

    def inverse(self, variances: Array) -> "BlockInverse":
        effects = variances[self.owner]
        roots, determinant = [], float(np.log(effects).sum())
        for group in self.groups:
            factor = np.asarray(np.linalg.cholesky(np.tensordot(variances[self.kinds], group.kernels, 1)), np.float64)
            roots.append(_triangle_inverses(factor))
            determinant += _log_determinant(factor)
        loadings = self.times_blocks(roots, self.loadings)
        own = loadings.T @ loadings
        factor = np.asarray(np.linalg.cholesky(own + np.diag(1 / effects)), np.float64)
        determinant += _log_determinant(factor)
        return BlockInverse(
            self, roots, loadings, own, _triangle_inverse(factor), _inverse(factor), effects, determinant
        )

    def times_blocks(self, blocks: Sequence[Array], ordered: Array, turned: bool = False) -> Array:
        """Product of the matrices (b, m, m) of each group with the rows (n, c).

        turned  True to transpose the matrices
        """
        parts = [
            _flat((np.swapaxes(of, 1, 2) if turned else of) @ group.of(ordered))
            for group, of in zip(self.groups, blocks, strict=True)
        ]
        return np.concatenate([np.empty((0, ordered.shape[1])), *parts])

    def times(self, vectors: Array) -> Array:
        ordered = vectors[self.order]
        sums = np.zeros((self.count, len(ordered), vectors.shape[1]))
        for place, kind in enumerate(self.kinds.tolist()):
            sums[kind] = self.times_blocks([group.kernels[place] for group in self.groups], ordered)
        weights = self.loadings.T @ ordered
        kinds, starts = np.unique(self.owner, return_index=True)
        for kind, start, count in zip(kinds.tolist(), starts, np.bincount(self.owner)[kinds], strict=True):
            own = slice(start, start + count)
            sums[kind] += self.loadings[:, own] @ weights[own]
        return self.returned(sums)

    def returned(self, ordered: Array) -> Array:
        """(..., n, c) rows put back into the layout's order."""
        found = np.empty_like(ordered)
        found[..., self.order, :] = ordered
        return found


@dataclass(frozen=True, eq=False)
class BlockInverse:
    """C^-1 = R' (I - H H') R as its factors, with F F' = M.

    roots     for each group (b, m, m) R, with B^-1 = R' R
    loadings  (n, p) R Z
    own       (p, p) Z' B^-1 Z
    root      (p, p) F^-1
    inverse   (p, p) M^-1
    effects   (p,) variances of the effects
    """

    covariances: BlockCovariances
    roots: Sequence[Array]
    loadings: Array
    own: Array
    root: Array
    inverse: Array
    effects: Array
    determinant: float

    @cached_property
    def half(self) -> Array:
        """(n, p) H = R Z F'^-1."""
        if not self.loadings.size:
            return self.loadings
        return np.asarray(dtrmm(1.0, self.root, self.loadings.T, lower=1).T, np.float64)

    def solve(self, sides: Array) -> Array:
        of = self.covariances
        # I - H H' is applied to vectors and never formed: it would be n x n. H itself takes as long to make as all the
        # rest of a likelihood, and only derivatives need it.
        rooted = of.times_blocks(self.roots, sides[of.order])
        shared = self.root.T @ (self.root @ (self.loadings.T @ rooted))
        return of.returned(of.times_blocks(self.roots, rooted - self.loadings @ shared, turned=True))

    def diagonal(self) -> Array:
        """(n,) diagonal of C^-1."""
        parts = []
        for group, root in zip(self.covariances.groups, self.roots, strict=True):
            mixed = np.swapaxes(root, 1, 2) @ group.of(self.half)
            parts.append(((root**2).sum(axis=1) - (mixed**2).sum(axis=2)).ravel())
        return self.covariances.returned(np.concatenate([np.empty(0), *parts])[:, None])[:, 0]

    def within(self) -> Iterator[tuple[Integers, Array]]:
        """Places (m,) of the values of each block, and its diagonal block (m, m) of C^-1."""
        for group, root in zip(self.covariances.groups, self.roots, strict=True):
            mixed = np.swapaxes(root, 1, 2) @ group.of(self.half)
            inverse = np.swapaxes(root, 1, 2) @ root - mixed @ np.swapaxes(mixed, 1, 2)
            places = self.covariances.order[group.rows].reshape(len(root), -1)
            yield from zip(places, inverse, strict=True)

    def traces(self) -> Array:
        found = np.zeros(self.covariances.count)
        for group, root in zip(self.covariances.groups, self.roots, strict=True):
            half = group.of(self.half)
            inverse = np.swapaxes(root, 1, 2) @ (np.eye(root.shape[1]) - half @ np.swapaxes(half, 1, 2)) @ root
            found[self.covariances.kinds] += group.kernels.reshape(len(group.kernels), -1) @ inverse.ravel()
        # Z' C^-1 Z as Z' B^-1 Z M^-1 L^-1: Woodbury's form subtracts two nearly equal matrices when effects are large.
        shared = np.vecdot(self.own, self.inverse) / self.effects
        return np.asarray(found + np.bincount(self.covariances.owner, shared, self.covariances.count))

    def products(self, mean: Array) -> Array:
        """(k, k) traces tr P K_i P K_j of all components, with P = R' (I - W W') R and A = R K R' of each kernel.

        two kernels             tr A_i A_j - 2 tr W' A_i A_j W + tr W' A_i W W' A_j W
        two kinds of effects    |Z_i' P Z_j|^2
        a kernel and effects    tr Z_j' P K_i P Z_j
        """
        # Each trace is expanded around W, which has only p + f columns, so that no n x n matrix is ever formed.
        of = self.covariances
        unrooted = self._unrooted(mean[of.order])
        outer, beyond = np.hstack([self.half, unrooted]), unrooted.T @ self.loadings
        q = outer.shape[1]
        within, across = np.zeros((len(of.kinds),) * 2), np.zeros((len(of.kinds), q, q))
        for kernels, some in self._rooted_kernels(outer):
            moved = kernels @ some
            flat, beside = kernels.reshape(len(kernels), -1), moved.reshape(len(kernels), -1)
            within += flat @ flat.T - 2 * beside @ beside.T
            across += _flat(some).T @ moved.reshape(len(kernels), -1, q)
        within += across.reshape(len(within), -1) @ np.swapaxes(across, 1, 2).reshape(len(within), -1).T
        # (I - W W') R Z is W S, S being F^-1 L^-1 above minus the trend's part: no difference of nearly equal matrices.
        sides = np.vstack([self.root / self.effects, -beyond])
        both = np.asarray((sides * (across @ sides)).sum(axis=1))
        # Z' C^-1 Z as in `traces`.
        effects = self.own @ self.inverse / self.effects - beyond.T @ beyond
        return self._together(within, both, effects)

    def _together(self, within: Array, both: Array, effects: Array) -> Array:
        """(k, k) traces of all components, from kernels (c, c), kernels and effects (c, p), and effects (p, p)."""
        of = self.covariances
        found = np.zeros((of.count, of.count))
        found[np.ix_(of.kinds, of.kinds)] += within
        np.add.at(found, (of.owner[:, None], of.owner), effects * effects.T)
        for kind, shares in zip(of.kinds.tolist(), both, strict=True):
            shared = np.bincount(of.owner, shares, of.count)
            found[kind] += shared
            found[:, kind] += shared
        return found

    def _unrooted(self, ordered: Array) -> Array:
        """R'^-1 times the rows (n, c)."""
        parts = [
            _flat(np.asarray(np.linalg.solve(np.swapaxes(root, 1, 2), group.of(ordered)), np.float64))
            for group, root in zip(self.covariances.groups, self.roots, strict=True)
        ]
        return np.concatenate([np.empty((0, ordered.shape[1])), *parts])

    def _rooted_kernels(self, ordered: Array) -> Iterator[tuple[Array, Array]]:
        """(c, b, m, m) R K R' of a few blocks at a time, and (b, m, x) the rows of those blocks."""
        for group, root in zip(self.covariances.groups, self.roots, strict=True):
            rows, step = group.of(ordered), max(1, AT_ONCE // root.shape[1])
            for first in range(0, len(root), step):
                some = slice(first, first + step)
                yield root[some] @ group.kernels[:, some] @ np.swapaxes(root[some], 1, 2), rows[some]


def _flat(stacked: Array) -> Array:
    """(b m, c) array from (b, m, c)."""
    return stacked.reshape(stacked.shape[0] * stacked.shape[1], stacked.shape[2])


def _kernels(layout: Layout, some: Sequence[int]) -> Array:
    """(c, b, m, m) scaled kernels of some blocks of one size, and last the values' own part, `rest`."""
    size = len(layout.blocks[some[0]])
    kernels = np.empty((len(layout.kernels) + 1, len(some), size, size))
    for place, of in enumerate(layout.kernels.values()):
        kernels[place] = [of[block] for block in some]
    kernels[-1] = np.eye(size)
    if layout.times is not None:
        kernels[-1] *= np.array([layout.times[layout.blocks[block]] ** 2 for block in some])[:, :, None]
    scale = np.array([layout.scale[layout.blocks[block]] for block in some])
    return np.asarray(kernels * (scale[:, :, None] * scale[:, None, :]))


def _inverse(factor: Array) -> Array:
    """Inverse of a matrix from its lower Cholesky factor."""
    if len(factor) == 0:
        return factor
    lower = np.tril(np.asarray(dpotri(factor, lower=1)[0], dtype=np.float64))
    return np.asarray(lower + np.tril(lower, -1).T)


def _log_determinant(factor: Array) -> float:
    """Sum of log |C| over matrices, from their lower Cholesky factors (..., m, m)."""
    return 2 * float(np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum())


def _triangle_inverse(factor: Array) -> Array:
    return np.asarray(dtrtri(factor, lower=1)[0], dtype=np.float64) if len(factor) else factor


def _triangle_inverses(factors: Array) -> Array:
    """Inverses of lower triangular matrices (b, m, m)."""
    if factors.shape[1] < LARGE:
        return np.asarray(np.linalg.inv(factors))
    found = np.empty_like(factors)
    for inverse, factor in zip(found, factors, strict=True):
        inverse[:] = dtrtri(factor.T, lower=0)[0].T  # transposed because LAPACK works by columns; this needs no copy
    return found
