"""Covariances of many values, correlated within blocks and, through shared effects, across blocks.

    C = B + Z L Z',   C^-1 = B^-1 - B^-1 Z M^-1 Z' B^-1,   M = L^-1 + Z' B^-1 Z

This is Woodbury's identity; B has the blocks on its diagonal, L the variances of the effects. Blocks of equal size
are stacked, so that one call handles thousands of them. The values of a large block meet few of many effects, such as
the tastes of those who judged it: their rows of Z have columns for these alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotri, dtrtri

from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers, places_within
from audiosim.stats.normal.blocks import written_out
from audiosim.stats.normal.layout import REST, Layout

AT_ONCE = 500  # values processed at a time, to limit the memory of their products
FEW = 2  # a block that meets at most one effect in this many has columns for these alone
LARGE = 16  # block size from which one call per block, using its triangular shape, is faster than one call per stack
Sums = tuple[Array, Array, Array]  # S, X and Y of `SharedInverse.together`


class _Group(NamedTuple):
    """All b blocks of one size m.

    rows      slice of their values in the group-by-group order
    kernels   (c, b, m, m) one per component in `kinds`; scaled
    loadings  (b, m, q) rows of Z, in the columns of the q effects in `met`
    met       (b, q) effects that a block meets, p in place of missing ones; None: all p effects
    """

    rows: slice
    kernels: Array
    loadings: Array
    met: Integers | None

    def of(self, ordered: Array) -> Array:
        """(b, m, ...) rows that belong to these blocks."""
        return ordered[self.rows].reshape(*self.kernels.shape[1:3], ordered.shape[1])

    def gathered(self, effects: Array) -> Array:
        """(b or 1, q, x) rows of the effects met, from those of all (p, x)."""
        return effects[None] if self.met is None else np.vstack([effects, np.zeros((1, effects.shape[1]))])[self.met]

    def between(self, effects: Array, block: slice = slice(None)) -> Array:
        """(b or 1, q, q) entries of the effects met, from those of all, after which come zeros (p + 1, p + 1)."""
        if self.met is None:
            return effects[None, :-1, :-1]
        return np.array([among(effects, met) for met in self.met[block]])

    def add_products(
        self, loadings: Array, rows: Array, into: Array, block: slice = slice(None), both: bool = False
    ) -> None:
        """Add the products of transposed loadings (b, m, q) and rows (..., b, m, x) to all effects (..., p + 1, x).

        both  True for rows (..., b, m, q), whose columns belong to the same effects

        The last row takes what belongs to no effect, which is 0.
        """
        if self.met is None:  # one product for all blocks: those of single blocks, b q x numbers, would take far more
            into[..., :-1, : rows.shape[-1]] += _flat(loadings).T @ _flat(rows)
            return
        for number, met in enumerate(self.met[block]):
            add_met(into, met, loadings[number].T @ rows[..., number, :, :], both)


def among(effects: Array, met: Integers) -> Array:
    """(q, q) entries of the effects met, from those of all; by rows and then by columns takes a third of the time."""
    return np.asarray(effects[met][:, met])


def add_met(into: Array, met: Integers, more: Array, both: bool) -> None:
    """Add rows (..., q, x) of the effects met to those of all; of the last effect, only one of several is added.

    both  True for entries (..., q, q), whose columns belong to the same effects
    """
    rows = into[..., met, :]
    if both:
        rows[..., met] += more
    else:
        rows += more
    into[..., met, :] = rows


@dataclass(frozen=True, slots=True, eq=False)
class BlockCovariances:
    """Kernels within blocks, and loadings on shared effects.

    groups    blocks, grouped by size
    order     (n,) places of the values, group by group
    kinds     (c,) indices of the components whose kernels are not 0 everywhere, `rest` last
    owner     (p,) index of the component of each effect; effects of one component are adjacent
    count     k, number of components
    """

    groups: Sequence[_Group]
    order: Integers
    kinds: Integers
    owner: Integers
    count: int

    @classmethod
    def of(cls, layout: Layout) -> "BlockCovariances":
        """Components of a layout, in the order of its names."""
        sizes, names = np.array([len(rows) for rows in layout.blocks]), layout.names
        groups, places, start = [], [np.empty(0, dtype=np.int64)], 0
        for size in np.unique(sizes[sizes > 0]).tolist():
            some = np.flatnonzero(sizes == size).tolist()
            places.append(np.concatenate([layout.blocks[block] for block in some]))
            rows = slice(start, start + len(places[-1]))
            groups.append(_Group(rows, _kernels(layout, some), *_loadings(layout.loadings[places[-1]], size)))
            start += len(places[-1])
        # If all effects of a component are shared between blocks, its kernels are empty.
        used = np.array([*(any(group.kernels[c].any() for group in groups) for c in range(len(layout.kernels))), True])
        groups = [group if used.all() else group._replace(kernels=group.kernels[used]) for group in groups]
        kinds = np.array([names.index(name) for name in (*layout.kernels, REST)])[used]
        owner = np.array([names.index(name) for name in layout.shared], dtype=np.int64)[layout.owner]
        return cls(groups, np.concatenate(places), kinds, owner, len(names))

    def inverse(self, variances: Array) -> "BlockInverse":
        effects = variances[self.owner]
        roots, loadings, determinant = list[Array](), list[Array](), float(np.log(effects).sum())
        own = np.zeros((len(effects) + 1,) * 2)
        for group in self.groups:
            factor = np.asarray(np.linalg.cholesky(np.tensordot(variances[self.kinds], group.kernels, 1)), np.float64)
            roots.append(_triangle_inverses(factor))
            determinant += log_determinant(factor)
            loadings.append(roots[-1] @ group.loadings)
            group.add_products(loadings[-1], loadings[-1], own, both=True)
        own = own[:-1, :-1]
        factor = np.asarray(np.linalg.cholesky(own + np.diag(1 / effects)), np.float64)
        return BlockInverse(effects, own, factor, determinant + log_determinant(factor), self, roots, loadings)

    def weighted(self, loadings: Sequence[Array], ordered: Array) -> Array:
        """(p, x) transposed loadings (b, m, q) of each group times the rows (n, x)."""
        found = np.zeros((len(self.owner) + 1, ordered.shape[1]))
        for group, of in zip(self.groups, loadings, strict=True):
            group.add_products(of, group.of(ordered), found)
        return found[:-1]

    def loaded(self, loadings: Sequence[Array], effects: Array) -> Array:
        """(n, x) loadings (b, m, q) of each group times effects (p, x)."""
        parts = [_flat(of @ group.gathered(effects)) for group, of in zip(self.groups, loadings, strict=True)]
        return np.concatenate([np.empty((0, effects.shape[1])), *parts])

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
        loadings = [group.loadings for group in self.groups]
        weights = self.weighted(loadings, ordered)
        for kind in np.unique(self.owner).tolist():
            sums[kind] += self.loaded(loadings, np.where(self.owner[:, None] == kind, weights, 0))
        return self.returned(sums)

    def returned(self, ordered: Array) -> Array:
        """(..., n, c) rows put back into the layout's order."""
        found = np.empty_like(ordered)
        found[..., self.order, :] = ordered
        return found


@dataclass(frozen=True, eq=False)
class SharedInverse:
    """Part of C^-1 that belongs to shared effects.

    effects   (p,) variances of the effects
    own       (p, p) Z' B^-1 Z
    factor    (p, p) F, lower, with F F' = M
    determinant  log |C|
    """

    effects: Array
    own: Array
    factor: Array
    determinant: float

    @cached_property
    def inverse(self) -> Array:
        """(p, p) M^-1."""
        if len(self.factor) == 0:
            return self.factor
        lower = np.tril(np.asarray(dpotri(self.factor, lower=1)[0], dtype=np.float64))
        return np.asarray(lower + np.tril(lower, -1).T)

    @cached_property
    def padded(self) -> Array:
        """(p + 1, p + 1) M^-1, and zeros."""
        return np.pad(self.inverse, (0, 1))

    def shared_traces(self, owner: Integers, count: int) -> Array:
        """(k,) traces tr C^-1 Z Z' of the effects of each component."""
        # Z' C^-1 Z as Z' B^-1 Z M^-1 L^-1: Woodbury's form subtracts two nearly equal matrices when effects are large.
        return np.asarray(np.bincount(owner, np.vecdot(self.own, self.inverse) / self.effects, count), np.float64)

    def together(self, within: Array, sums: Sums, beyond: Array, kinds: Integers, owner: Integers, count: int) -> Array:
        """(k, k) traces tr P K_i P K_j of all components, P = C^-1 - w w'.

        within  (c, c) of kernels, within blocks
        sums    S (c, p, p) sums of Z' B^-1 K B^-1 Z over blocks, X (c, p, f) of Z' B^-1 K w, Y (c, f, f) of w' K w
        beyond  (p, f) Z' w
        """
        (s, x, y), c = sums, len(within)
        moved = s @ self.inverse
        # One at a time: with hundreds of effects all of them turned would take as much memory again.
        within = within + np.column_stack([moved.reshape(c, -1) @ one.T.ravel() for one in moved])
        within += 2 * x.reshape(c, -1) @ (self.inverse @ x).reshape(c, -1).T + y.reshape(c, -1) @ y.reshape(c, -1).T
        # (I - G) L as L M^-1 L^-1 minus the trend's part: no difference of nearly equal matrices.
        both = np.array([np.vecdot(self.inverse, one.T) for one in moved]).reshape(c, -1) / self.effects**2
        both -= 2 * np.vecdot(self.inverse @ x, beyond) / self.effects
        both += np.vecdot(beyond @ y, beyond)
        # Z' C^-1 Z as in `shared_traces`.
        effects = self.own @ self.inverse / self.effects - beyond @ beyond.T
        found = np.zeros((count, count))
        found[np.ix_(kinds, kinds)] += within
        np.add.at(found, (owner[:, None], owner), effects * effects.T)
        for kind, shares in zip(kinds.tolist(), both, strict=True):
            shared = np.bincount(owner, shares, count)
            found[kind] += shared
            found[:, kind] += shared
        return found


@dataclass(frozen=True, eq=False)
class BlockInverse(SharedInverse):
    """C^-1 = R' R - R' R Z M^-1 Z' R' R as its factors.

    roots     for each group (b, m, m) R, with B^-1 = R' R
    loadings  for each group (b, m, q) R Z, in the effects met
    """

    covariances: BlockCovariances
    roots: Sequence[Array]
    loadings: Sequence[Array]

    @cached_property
    def root(self) -> Array:
        """(p, p) F^-1."""
        return np.asarray(dtrtri(self.factor, lower=1)[0], np.float64) if len(self.factor) else self.factor

    def solve(self, sides: Array) -> Array:
        of = self.covariances
        rooted = of.times_blocks(self.roots, sides[of.order])
        shared = self.root.T @ (self.root @ of.weighted(self.loadings, rooted))
        rest = rooted - of.loaded(self.loadings, shared)
        return of.returned(of.times_blocks(self.roots, rest, turned=True))

    def _mixed(self) -> Iterator[tuple[_Group, Array, Array, Array]]:
        """Each group, its R (b, m, m), and Q = R' R Z (b, m, q) without and with the factor M^-1."""
        for group, root, loadings in zip(self.covariances.groups, self.roots, self.loadings, strict=True):
            mixed = np.swapaxes(root, 1, 2) @ loadings
            yield group, root, mixed, mixed @ group.between(self.padded)

    def diagonal(self) -> Array:
        """(n,) diagonal of C^-1."""
        parts = [((root**2).sum(axis=1) - np.vecdot(mixed, by)).ravel() for _, root, mixed, by in self._mixed()]
        return self.covariances.returned(np.concatenate([np.empty(0), *parts])[:, None])[:, 0]

    def within(self) -> Iterator[tuple[Integers, Array]]:
        """Places (m,) of the values of each block, and its diagonal block (m, m) of C^-1."""
        for group, inverse in self._within():
            places = self.covariances.order[group.rows].reshape(len(inverse), -1)
            yield from zip(places, inverse, strict=True)

    def _within(self) -> Iterator[tuple[_Group, Array]]:
        """Each group, and the diagonal blocks (b, m, m) of C^-1."""
        for group, root, mixed, by in self._mixed():
            yield group, np.swapaxes(root, 1, 2) @ root - by @ np.swapaxes(mixed, 1, 2)

    @cached_property
    def traces(self) -> Array:
        """(k,) traces tr C^-1 K_i of all components."""
        found = np.zeros(self.covariances.count)
        for group, inverse in self._within():
            found[self.covariances.kinds] += group.kernels.reshape(len(group.kernels), -1) @ inverse.ravel()
        return np.asarray(found + self.shared_traces(self.covariances.owner, self.covariances.count))

    def products(self, mean: Array) -> Array:
        """(k, k) traces tr P K_i P K_j of all components.

            P = R' (I - G) R,   G = L M^-1 L' + w w',   L = R Z,   w = R'^-1 mean

        With A = R K R' of each kernel, and its products with L and w summed over blocks, S = sum of L' A L,
        X = sum of L' A w and Y = sum of w' A w:

        two kernels             tr A_i A_j - 2 tr A_i A_j G + tr S_i M^-1 S_j M^-1 + 2 tr X_i' M^-1 X_j + tr Y_i Y_j
        two kinds of effects    |Z_i' P Z_j|^2
        a kernel and effects    tr Z_j' P K_i P Z_j
        """
        # G has rank p + f, and a block meets few of the p effects, so no n x n matrix is ever formed.
        of, p = self.covariances, len(self.effects)
        unrooted = self._unrooted(mean[of.order])
        beyond, f = of.weighted(self.loadings, unrooted).T, mean.shape[1]
        c = len(of.kinds)
        within, s, x, y = np.zeros((c, c)), np.zeros((c, p + 1, p + 1)), np.zeros((c, p + 1, f)), np.zeros((c, f, f))
        for group, some, kernels, loadings, rows in self._rooted_kernels(unrooted):
            by_effects, by_rows = kernels @ loadings, kernels @ rows
            flat, beside, effects = (part.reshape(c, -1) for part in (kernels, by_rows, by_effects))
            by_inverse = (by_effects @ group.between(self.padded, some)).reshape(c, -1)
            within += flat @ flat.T - 2 * (beside @ beside.T + effects @ by_inverse.T)
            group.add_products(loadings, by_effects, s, some, both=True)
            group.add_products(loadings, by_rows, x, some)
            y += (np.swapaxes(rows, 1, 2) @ by_rows).sum(axis=1)
        return self.together(within, (s[:, :-1, :-1], x[:, :-1], y), beyond.T, of.kinds, of.owner, of.count)

    def _unrooted(self, ordered: Array) -> Array:
        """R'^-1 times the rows (n, c)."""
        parts = [
            _flat(np.asarray(np.linalg.solve(np.swapaxes(root, 1, 2), group.of(ordered)), np.float64))
            for group, root in zip(self.covariances.groups, self.roots, strict=True)
        ]
        return np.concatenate([np.empty((0, ordered.shape[1])), *parts])

    def _rooted_kernels(self, ordered: Array) -> Iterator[tuple[_Group, slice, Array, Array, Array]]:
        """Some blocks of a group at a time: their A (c, b, m, m), their L (b, m, q), and their rows (b, m, x)."""
        for group, root, loadings in zip(self.covariances.groups, self.roots, self.loadings, strict=True):
            rows, step = group.of(ordered), max(1, AT_ONCE // root.shape[1])
            for first in range(0, len(root), step):
                some = slice(first, first + step)
                kernels = root[some] @ group.kernels[:, some] @ np.swapaxes(root[some], 1, 2)
                yield group, some, kernels, loadings[some], rows[some]


def _flat(stacked: Array) -> Array:
    """(..., b m, c) array from (..., b, m, c)."""
    *before, b, m, c = stacked.shape
    return stacked.reshape(*before, b * m, c)


def _loadings(rows: sparse.csr_array, size: int) -> tuple[Array, Integers | None]:
    """Loadings of blocks of one size, and the effects that these meet; see `_Group`.

    rows  (b m, p) rows of Z of these blocks
    """
    count, effects = rows.shape[0] // size, rows.shape[1]
    block, effect = np.divmod(
        np.unique(np.repeat(np.arange(rows.shape[0]) // size, np.diff(rows.indptr)) * max(1, effects) + rows.indices),
        max(1, effects),
    )
    widths = np.bincount(block, minlength=count)
    if size < LARGE or FEW * widths.max() > effects:
        return rows.toarray().reshape(count, size, effects), None
    met = np.full((count, widths.max()), effects)
    met[block, places_within(widths)] = effect
    found = np.zeros((count, size, met.shape[1]))
    for number, own in enumerate(met):
        there = own[own < effects]
        found[number, :, : len(there)] = written_out(rows, np.arange(number * size, (number + 1) * size))[:, there]
    return found, met


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


def log_determinant(factor: Array) -> float:
    """Sum of log |C| over matrices, from their lower Cholesky factors (..., m, m)."""
    return 2 * float(np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum())


def _triangle_inverses(factors: Array) -> Array:
    """Inverses of lower triangular matrices (b, m, m)."""
    if factors.shape[1] < LARGE:
        return np.asarray(np.linalg.inv(factors))
    found = np.empty_like(factors)
    for inverse, factor in zip(found, factors, strict=True):
        inverse[:] = dtrtri(factor.T, lower=0)[0].T  # transposed because LAPACK works by columns; this needs no copy
    return found
