"""Covariances of many values that observe few unknowns: several people's judgments of the pairs of each query.

    C = D' + E S E' + Z L Z',   D' = D + v J J'

E assigns each value to its unknown, S is the covariance of the unknowns within each block, J assigns it to a person's
values in the block, times its scale; v is their variance, and D is diagonal. Henderson's mixed-model equations (1950;
Searle, Casella & McCulloch 1992, chapter 7) need matrices of the size of unknowns and people, not of values:

    N = E' D'^-1 E,   W = (N^-1 + S)^-1 = E' B^-1 E,   T = N^-1 - N^-1 W N^-1,   B^-1 = D'^-1 - D'^-1 E T E' D'^-1

and |B| = |D'| |N| |N^-1 + S|. D' is inverted person by person, by Sherman & Morrison's formula. Blocks are filled up to
a common size with unknowns and people without values.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve

from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.block_covariances import SharedInverse, Sums, add_met, among, log_determinant
from audiosim.stats.normal.blocks import written_out
from audiosim.stats.normal.layout import Layout, Repeats


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedCovariances:
    """Sums over the values of b blocks with up to u unknowns and g people each, which any variances share.

    order      for each block the places of its values
    of, by     (n, b u) E and (n, b g) J
    loadings   (n, p) Z
    met        (b, q) effects that a block meets, p in place of missing ones
    kernels    (c, b, u, u) of the unknowns, scaled
    kinds      (c + 1,) indices of the components of these kernels, and of that of a person's values in a block
    owner      (p,) index of the component of each effect
    own        (n,) D at a variance of 1
    counts     (b, u) E' D^-1 E, its diagonal, for that D, as all that follow
    people     (b, g) J' D^-1 J, its diagonal
    between    (b, u, g) E' D^-1 J
    of_loaded  (b, u, q) E' D^-1 Z
    by_loaded  (b, g, q) J' D^-1 Z
    loaded     (p, p) Z' D^-1 Z
    count      k, number of components
    """

    order: tuple[Integers, ...]
    of: sparse.csr_array
    by: sparse.csr_array
    loadings: sparse.csr_array
    met: Integers
    kernels: Array
    kinds: Integers
    owner: Integers
    own: Array
    counts: Array
    people: Array
    between: Array
    of_loaded: Array
    by_loaded: Array
    loaded: Array
    count: int

    @classmethod
    def of_layout(cls, layout: Layout, repeats: Repeats) -> "RepeatedCovariances":
        """Components of a layout of repeated observations, in the order of its names."""
        n, blocks, names, loadings = len(layout.scale), layout.blocks, layout.names, layout.loadings
        unknowns, people = ([np.unique(code[rows], return_inverse=True)[1] for rows in blocks] for code in repeats[:2])
        u, g = (max(int(part.max()) + 1 for part in parts) for parts in (unknowns, people))
        place = np.concatenate(blocks)
        block = np.repeat(np.arange(len(blocks)), [len(rows) for rows in blocks])
        code, person = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        code[place], person[place] = block * u + np.concatenate(unknowns), block * g + np.concatenate(people)
        of = sparse.csr_array((np.ones(n), code, np.arange(n + 1)), shape=(n, len(blocks) * u))
        by = sparse.csr_array((layout.scale, person, np.arange(n + 1)), shape=(n, len(blocks) * g))
        own = (layout.scale * (1.0 if layout.times is None else layout.times)) ** 2
        weighted = sparse.diags_array(1 / own) @ loadings
        of_all, by_all = (sparse.csr_array(each.T @ weighted) for each in (of, by))
        met, of_loaded, by_loaded = _met(of_all, by_all, len(blocks), u, g)
        between = np.zeros((len(blocks), u, g))
        np.add.at(between.reshape(-1), code * g + person % g, layout.scale / own)
        kernels = np.zeros((len(layout.kernels) - 1, len(blocks), u, u))
        for one, name in zip(kernels, (name for name in layout.kernels if name != repeats.within), strict=True):
            for number, (rows, at) in enumerate(zip(blocks, unknowns, strict=True)):
                first = np.unique(at, return_index=True)[1]
                scale = layout.scale[rows[first]]
                found = layout.kernels[name][number][np.ix_(first, first)] * np.outer(scale, scale)
                one[number, : len(first), : len(first)] = found
        kinds = [names.index(name) for name in layout.kernels if name != repeats.within]
        return cls(
            blocks,
            of,
            by,
            loadings,
            met,
            kernels,
            np.array([*kinds, names.index(repeats.within)]),
            np.array([names.index(name) for name in layout.shared], dtype=np.int64)[layout.owner],
            own,
            np.asarray(of.T @ (1 / own)).reshape(len(blocks), u),
            np.asarray(by.T @ (layout.scale / own)).reshape(len(blocks), g),
            between,
            of_loaded,
            by_loaded,
            np.asarray((loadings.T @ weighted).toarray()),
            len(names),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of blocks, and of unknowns and people of each."""
        blocks, u, g = self.between.shape
        return blocks, u, g

    def added(self, left: Array, right: Array, both: bool = False) -> Array:
        """(p, x) sum over blocks of the products of transposed rows (b, m, q) of the effects met and rows (b, m, x).

        both  True if the columns of the latter belong to the same effects
        """
        products = (one.T @ other for one, other in zip(left, right, strict=True))
        return self.summed(products, None if both else right.shape[-1])

    def summed(self, products: Iterable[Array], width: int | None = None) -> Array:
        """(p, x) sum over blocks of values (q, x) of the effects met, or (q, q) if `width` is None."""
        p = len(self.owner)
        found = np.zeros((p + 1, p + 1 if width is None else width))
        for met, product in zip(self.met, products, strict=True):
            add_met(found, met, product, width is None)
        return found[:-1, : p if width is None else None]

    def inverse(self, variances: Array) -> "RepeatedInverse":
        rest, shared = float(variances[-1]), float(variances[self.kinds[-1]])
        ratio = 1 / (1 + shared * self.people / rest)
        # J' D'^-1 is this share of J' D^-1; D'^-1 is D^-1 less D^-1 J (shrunk) J' D^-1.
        shrunk = shared * ratio / rest**2
        there = self.counts > 0
        information = -(self.between * shrunk[:, None]) @ np.swapaxes(self.between, 1, 2)
        diagonal = np.arange(there.shape[1])
        information[:, diagonal, diagonal] += np.where(there, self.counts / rest, 1.0)
        alone = np.asarray(np.linalg.inv(information), np.float64)
        total = alone + np.tensordot(variances[self.kinds[:-1]], self.kernels, 1)
        weight = np.asarray(np.linalg.inv(total), np.float64)
        loaded = self.of_loaded / rest - (self.between * shrunk[:, None]) @ self.by_loaded
        gain = alone - alone @ weight @ alone
        moved = gain @ loaded
        people = self.by_loaded * np.sqrt(shrunk)[:, :, None]  # a product with itself takes half the time
        parts = zip(people, loaded, moved, strict=True)
        own = self.loaded / rest - self.summed(by.T @ by + one.T @ other for by, one, other in parts)
        effects = variances[self.owner]
        factor = np.asarray(np.linalg.cholesky(own + np.diag(1 / effects)), np.float64)
        determinant = float(np.log(effects).sum() + np.log(rest * self.own).sum() - np.log(ratio).sum())
        for root in (np.linalg.cholesky(information), np.linalg.cholesky(total), factor):
            determinant += log_determinant(np.asarray(root, np.float64))
        sizes = effects, own, factor, determinant
        return RepeatedInverse(*sizes, self, variances, ratio, alone, weight, gain, loaded, moved)

    def times(self, vectors: Array) -> Array:
        """(k, n, x) product of the covariance of each component, of variance 1, with the vectors (n, x)."""
        sums = np.zeros((self.count, len(self.own), vectors.shape[1]))
        seen = (self.of.T @ vectors).reshape(*self.shape[:2], -1)
        for kind, kernel in zip(self.kinds[:-1].tolist(), self.kernels, strict=True):
            sums[kind] = self.of @ (kernel @ seen).reshape(-1, vectors.shape[1])
        sums[self.kinds[-1]] = self.by @ (self.by.T @ vectors)
        sums[-1] = self.own[:, None] * vectors
        weights = self.loadings.T @ vectors
        for kind in np.unique(self.owner).tolist():
            sums[kind] += self.loadings @ np.where(self.owner[:, None] == kind, weights, 0)
        return sums


@dataclass(frozen=True, eq=False)
class RepeatedInverse(SharedInverse):
    """C^-1 as its factors.

    variances  (k,) of the components
    ratio   (b, g) share of J' D^-1 that is J' D'^-1
    alone   (b, u, u) N^-1
    weight  (b, u, u) W
    gain    (b, u, u) T
    loaded  (b, u, q) E' D'^-1 Z
    moved   (b, u, q) T E' D'^-1 Z
    """

    covariances: RepeatedCovariances
    variances: Array
    ratio: Array
    alone: Array
    weight: Array
    gain: Array
    loaded: Array
    moved: Array

    def _without_effects(self, sides: Array) -> Array:
        """(n, x) B^-1 times the sides."""
        of, found = self.covariances, self._without_unknowns(sides)
        seen = (of.of.T @ found).reshape(*of.shape[:2], -1)
        return found - self._without_unknowns(of.of @ (self.gain @ seen).reshape(-1, sides.shape[1]))

    def _without_unknowns(self, sides: Array) -> Array:
        """(n, x) D'^-1 times the sides."""
        of, rest = self.covariances, float(self.variances[-1])
        found = sides / (rest * of.own)[:, None]
        shrunk = float(self.variances[of.kinds[-1]]) * self.ratio.reshape(-1, 1)
        return np.asarray(found - (of.by @ (shrunk * (of.by.T @ found))) / (rest * of.own)[:, None])

    def solve(self, sides: Array) -> Array:
        found, loadings = self._without_effects(sides), self.covariances.loadings
        effects = cho_solve((self.factor, True), loadings.T @ found)
        return np.asarray(found - self._without_effects(loadings @ effects))

    @cached_property
    def _of_people(self) -> Array:
        """(b, g, u) J' D'^-1 E."""
        of = self.covariances
        return np.asarray(np.swapaxes(of.between, 1, 2) * (self.ratio / self.variances[-1])[:, :, None])

    def _met(self) -> tuple[Array, Iterator[Array]]:
        """(b, u + g, q) [E J]' B^-1 Z, and for each block this times M^-1."""
        of = self.covariances
        people = of.by_loaded * (self.ratio / self.variances[-1])[:, :, None] - self._of_people @ self.moved
        met = np.hstack([self.weight @ (self.alone @ self.loaded), people])
        return met, (one @ among(self.padded, at) for one, at in zip(met, of.met, strict=True))

    def diagonal(self) -> Array:
        """(n,) diagonal of C^-1."""
        of, found = self.covariances, np.empty(len(self.covariances.own))
        _, u, g = of.shape
        scale = float(self.variances[of.kinds[-1]]) * self.ratio / float(self.variances[-1])
        # B^-1 Z = D^-1 (Z - J h - E e), with what the values tell about people and unknowns, e and h.
        people = scale[:, :, None] * (of.by_loaded - np.swapaxes(of.between, 1, 2) @ self.moved)
        for number, rows in enumerate(of.order):
            code, person = of.of.indices[rows] % u, of.by.indices[rows] % g
            size = of.by.data[rows]
            own = float(self.variances[-1]) * of.own[rows]
            # Each value's row of E - J (shrunk) J' D^-1 E, whose quadratic form with T is what unknowns explain.
            less = -size[:, None] * (scale[number, :, None] * of.between[number].T)[person]
            less[np.arange(len(rows)), code] += 1
            explained = np.vecdot(less @ self.gain[number], less)
            met = of.met[number]
            some = np.zeros((len(rows), len(met)))
            there = met < len(of.owner)
            some[:, there] = written_out(of.loadings, rows)[:, met[there]]
            some -= size[:, None] * people[number][person] + self.moved[number][code]
            explained += np.vecdot(some @ among(self.padded, met), some)
            shared = float(self.variances[of.kinds[-1]]) * self.ratio[number][person] * size**2
            found[rows] = 1 / own - (shared + explained) / own**2
        return found

    @cached_property
    def traces(self) -> Array:
        """(k,) traces tr C^-1 K_i of all components."""
        of, found = self.covariances, np.zeros(self.covariances.count)
        u, c = of.shape[1], len(of.kernels)
        within, people = self.weight.copy(), self.ratio * of.people / self.variances[-1]
        people -= np.vecdot(self._of_people @ self.gain, self._of_people)
        for unknown, person, met, by in zip(within, people, *self._met(), strict=True):
            unknown -= by[:u] @ met[:u].T
            person -= np.vecdot(by[u:], met[u:])
        found[of.kinds[:-1]] += of.kernels.reshape(c, -1) @ within.ravel()
        found[of.kinds[-1]] += people.sum()
        found += self.shared_traces(of.owner, of.count)
        found[-1] = (len(of.own) - self.variances[:-1] @ found[:-1]) / self.variances[-1]  # as tr C^-1 C is n
        return found

    def products(self, mean: Array) -> Array:
        """(k, k) traces tr P K_i P K_j of all components; see `BlockInverse.products`.

        Those of `rest` follow from P C P = P.
        """
        of, (within, sums) = self.covariances, self._products_of_kernels(mean)
        found = self.together(within, sums, of.loadings.T @ mean, of.kinds, of.owner, of.count)
        traces = self.traces - np.einsum("knf,nf->k", of.times(mean), mean)
        others, rest = self.variances[:-1], float(self.variances[-1])
        found[-1, :-1] = found[:-1, -1] = (traces[:-1] - others @ found[:-1, :-1]) / rest
        found[-1, -1] = (traces[-1] - others @ found[:-1, -1]) / rest
        return found

    def _products_of_kernels(self, mean: Array) -> tuple[Array, Sums]:
        """The parts `within` and `sums` of `together`."""
        of, u = self.covariances, self.covariances.shape[1]
        rows = np.concatenate(
            [(part.T @ mean).reshape(of.shape[0], -1, mean.shape[1]) for part in (of.of, of.by)], axis=1
        )
        here, (met, every), shared = self._within, self._met(), rows @ np.swapaxes(rows, 1, 2)
        for one, at, by_all in zip(shared, met, every, strict=True):
            one += by_all @ at.T
        parts = [slice(u)] * len(of.kernels) + [slice(u, None)]
        (c, p), f = (len(parts), len(of.owner)), mean.shape[1]
        within, s, x, y = np.zeros((c, c)), np.empty((c, p, p)), np.empty((c, p, f)), np.empty((c, f, f))
        for place, some in enumerate(parts):
            # Each kernel is of unknowns alone, or of people alone.
            by = _times(of.kernels[place] if place < len(of.kernels) else None)
            by_rows = by(rows[:, some])
            s[place] = of.added(met[:, some], by(met[:, some]), True)
            x[place] = of.added(met[:, some], by_rows)
            y[place] = (np.swapaxes(rows[:, some], 1, 2) @ by_rows).sum(axis=0)
            # tr K_i P K_j P within blocks, with P as what is here less what is shared: K_i and K_j meet in its corners.
            for other, others in enumerate(parts[: place + 1]):
                and_by = _times(of.kernels[other] if other < len(of.kernels) else None)
                once = np.swapaxes(by(here[:, some, others]), 1, 2)
                twice = and_by(here[:, others, some] - 2 * shared[:, others, some])
                within[place, other] = within[other, place] = np.vdot(once, twice)
        return within, (s, x, y)

    @property
    def _within(self) -> Array:
        """(b, u + g, u + g) [E J]' B^-1 [E J]."""
        of, (blocks, u, g) = self.covariances, self.covariances.shape
        found = np.empty((blocks, u + g, u + g))
        found[:, :u, :u] = self.weight
        found[:, u:, :u] = self._of_people @ self.alone @ self.weight
        found[:, :u, u:] = np.swapaxes(found[:, u:, :u], 1, 2)
        found[:, u:, u:] = -self._of_people @ self.gain @ np.swapaxes(self._of_people, 1, 2)
        people = np.arange(u, u + g)
        found[:, people, people] += self.ratio * of.people / self.variances[-1]
        return found


def _times(kernel: Array | None) -> Callable[[Array], Array]:
    """Product with a kernel; None: the identity."""
    return np.asarray if kernel is None else partial(np.matmul, kernel)


def _met(of: sparse.csr_array, by: sparse.csr_array, blocks: int, u: int, g: int) -> tuple[Integers, Array, Array]:
    """The effects that each block meets, (b, q), and rows (b u, p) and (b g, p) in their columns alone."""
    effects = of.shape[1]
    each = list[Integers]()
    for block in range(blocks):
        start, stop = of.indptr[[block * u, block * u + u]]
        each.append(np.unique(of.indices[start:stop]))
    width = max((len(some) for some in each), default=0)
    met = np.full((blocks, width), effects)
    found = [np.zeros((blocks, size, width)) for size in (u, g)]
    for block, some in enumerate(each):
        met[block, : len(some)] = some
        for whole, rows, size in zip(found, (of, by), (u, g), strict=True):
            whole[block, :, : len(some)] = written_out(rows, np.arange(block * size, (block + 1) * size))[:, some]
    return met, found[0], found[1]
