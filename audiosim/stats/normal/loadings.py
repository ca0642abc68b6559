"""Loadings of many unknowns on shared effects: sparse, except for blocks with rows changed by conditioning."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.blocks import PerBlock, side_by_side, written_out
from audiosim.stats.normal.multivariate import Sparse


@dataclass(frozen=True, slots=True, eq=False)
class MixedRows:
    """Rows of a conditioned block as factors: original rows - gain @ known, and 0 for certain unknowns.

    gain     (m, k)
    known    (k, p) rows of the known values, sparse or not
    certain  places in the block
    """

    gain: Array
    known: Array | sparse.csr_array
    certain: Integers

    def of(self, before: Array) -> Array:
        """(m, p) conditioned rows, from the original ones."""
        return self.applied(before, self.known)

    def applied(self, before: NDArray[np.floating], known: Array | sparse.csr_array) -> Array:
        """Conditioned rows times a matrix, from the original rows (m, ...) and `known` (k, ...) times that matrix."""
        found: Array = before - self.gain @ known
        found[self.certain] = 0
        return found

    def at(self, places: Integers, before: Array) -> Array:
        """(k, p) conditioned rows of some places, from the original rows there."""
        return MixedRows(self.gain[places], self.known, np.flatnonzero(np.isin(places, self.certain))).of(before)

    def weighted(self, weights: Array) -> Array:
        """(t, p) weights (t, m) times gain @ known; exactly 0 where all weights are on certain unknowns."""
        some = weights.copy()
        some[:, self.certain] = 0
        return np.asarray((some @ self.gain) @ self.known)

    def variances(self, variances: Array, before: sparse.csr_array, effects: Array) -> Array:
        """(m,) z' V z of the conditioned rows z.

        variances  (m,) variances of the original rows
        before     (m, p) the original rows
        effects    (p, k) V times the known rows
        """
        known = self.gain @ (self.known @ effects) - 2 * (before @ effects)
        found: Array = variances + np.vecdot(known, self.gain)
        found[self.certain] = 0
        return found


AT_ONCE = 4_096  # rows that are made dense at a time
SPARSE = 4  # a row is sparse if it loads on at most one effect in this many
FEW = 4  # changed rows are kept as factors if these are at least this many times smaller


Changed = Array | MixedRows


@dataclass(frozen=True, eq=False)
class Loadings(PerBlock[Array]):
    """Rows of Z, block by block, of n unknowns on p effects; the dense rows (m, p) of a block are made on access.

    rows     (n, p) sparse
    blocks   for each block the places of its unknowns (m,)
    changed  for some blocks, their new rows: dense (m, p), or as `MixedRows`

    A pair has about ten loadings out of hundreds of effects. Conditioning mixes the rows of a block and makes them
    dense; with few known values, the factors of the mixed rows take a hundredth of the memory.
    """

    rows: sparse.csr_array
    blocks: Sequence[Integers]
    changed: Mapping[int, Changed]

    @classmethod
    def dense(cls, parts: Sequence[Array], blocks: Sequence[Integers], effects: int) -> "Loadings":
        """Loadings from dense rows (m, p) of all blocks."""
        empty = sparse.csr_array((sum(map(len, blocks)), effects))
        return cls(empty, blocks, dict(enumerate(parts)))

    @property
    def effects(self) -> int:
        """Number p of shared effects."""
        return int(self.rows.shape[1])

    def __getitem__(self, block: int) -> Array:  # type: ignore[override]  # nobody slices blocks
        changed = self.changed.get(block)
        if isinstance(changed, MixedRows):
            return changed.of(self._before(block))
        return self._before(block) if changed is None else changed

    def some(self, block: int, places: Integers) -> Array:
        """(k, p) rows of some places in a block."""
        changed, rows = self.changed.get(block), self.blocks[block][places]
        if isinstance(changed, MixedRows):
            return changed.at(places, written_out(self.rows, rows))
        return written_out(self.rows, rows) if changed is None else changed[places]

    def of_unknowns(self, places: Integers, block: Integers, place: Integers) -> Array:
        """(m, p) rows of unknowns.

        places, block, place  (m,) of each: its place among all, its block, and its place in that block
        """
        found = written_out(self.rows, places)
        for code in self.changed.keys() & set(block.tolist()):
            own = np.flatnonzero(block == code)
            found[own] = self.some(code, place[own])
        return found

    def _before(self, block: int) -> Array:
        return written_out(self.rows, self.blocks[block])

    @cached_property
    def _counts(self) -> Integers:
        return np.diff(self.rows.indptr)

    @cached_property
    def _same(self) -> Booleans:
        """(n,) mask of the unchanged rows."""
        same = np.ones(self.rows.shape[0], dtype=np.bool_)
        for block in self.changed:
            same[self.blocks[block]] = False
        return same

    @cached_property
    def _loaded(self) -> Booleans:
        """(n,) mask of the rows that still have their original loadings, less those of known values."""
        found = self._same.copy()
        for block, part in self.changed.items():
            if isinstance(part, MixedRows):
                found[self.blocks[block]] = True
                found[self.blocks[block][part.certain]] = False
        return found

    def with_changed(self, parts: Mapping[int, Changed]) -> "Loadings":
        """The loadings with other rows (m, p) of some blocks."""
        return replace(self, changed={**self.changed, **parts}) if parts else self

    def mixed(self, block: int, gain: Array, known: Array, certain: Integers) -> Changed:
        """Rows of a block after conditioning: the present ones less gain (m, k) times known (k, p).

        certain  places in the block
        """
        now = self.changed.get(block)
        if isinstance(now, MixedRows):
            before = now.known if isinstance(now.known, np.ndarray) else now.known.toarray()
            gain, known = np.hstack([now.gain, gain]), np.vstack([before, known])
            certain = np.concatenate([now.certain, certain])
        mixed = MixedRows(gain, known, certain)
        size, effects = len(gain), self.effects
        # Factors only pay while they are few. Dense rows stay dense: turning them back would need a factorisation.
        if not isinstance(now, np.ndarray) and FEW * len(known) * (size + effects) <= size * effects:
            return mixed
        return mixed.of(now if isinstance(now, np.ndarray) else self._before(block))

    def in_full(self) -> sparse.csr_array:
        """(n, p) all present rows, sparse."""
        if not self.changed:
            return self.rows
        parts = [self[block] for block in self.changed]
        kept = sparse.diags_array(self._same.astype(np.float64)) @ self.rows
        rows = [self.blocks[block] for block in self.changed]
        line = np.concatenate([np.repeat(own, self.effects) for own in rows])
        column = np.tile(np.arange(self.effects), len(line) // max(1, self.effects))
        values = np.concatenate([part.ravel() for part in parts])
        found = sparse.csr_array(kept + sparse.csr_array((values, (line, column)), shape=self.rows.shape))
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def times(self, effects: Array) -> Array:
        """Product (n, ...) of Z and effects (p, ...)."""
        found: Array = self.rows @ effects
        self._change(found, effects)
        return found

    def _change(self, found: NDArray[np.floating], effects: Array) -> None:
        """Correct the product of Z and effects in the changed blocks."""
        for block, part in self.changed.items():
            own = self.blocks[block]
            if isinstance(part, MixedRows):
                found[own] = part.applied(found[own], part.known @ effects)
            else:
                found[own] = part @ effects

    def rows_times(self, effects: Array, into: NDArray[np.floating]) -> None:
        """Write Z times effects (p, s) to an array (n, s), in the array's precision."""
        for start in range(0, len(into), AT_ONCE):
            into[start : start + AT_ONCE] = self.rows[start : start + AT_ONCE] @ effects
        self._change(into, effects)

    def weighted(
        self,
        weights: Sparse,
        changed: Iterable[tuple[Integers, Array]],
        kept: dict[int, tuple[Array, Array]] | None = None,
    ) -> Array:
        """(s, p) weights (s, n) times Z.

        changed  for each changed block, in order, the sums with a share in it (t,) and their weights there (t, m)
        kept     cache by block: changed dense rows, and their product with these weights
        """
        # Dense rows would fill the sparse product: they are masked out of it and added separately.
        by_row = weights.tocsr(copy=bool(self.changed))
        if self.changed:
            by_row.data *= self._loaded[by_row.indices]
            by_row.eliminate_zeros()
        found = np.asarray((by_row @ self.rows).toarray())
        for (block, part), (sums, some) in zip(self.changed.items(), changed, strict=True):
            if isinstance(part, MixedRows):
                # Not cached: with a hundred people it would take 20 MB, and the factors are few.
                product = -part.weighted(some)
            else:
                known = None if kept is None else kept.get(block)
                if known is None or known[0] is not part:
                    known = part, some @ part
                    if kept is not None:
                        kept[block] = known
                product = known[1]
            if len(sums) == len(found):
                found += product
            else:
                found[sums] += product
        return found

    def variances(self, covariance: Array) -> Array:
        """(n,) z' V z of each row, V (p, p)."""
        found, written = np.zeros(self.rows.shape[0]), np.zeros(self.rows.shape[0], dtype=np.bool_)
        for block, part in self.changed.items():
            written[self.blocks[block]] = isinstance(part, np.ndarray)
        # For a row with many loadings, as with hundreds of systems, a dense product is faster than gathering pairs.
        full = SPARSE * self._counts > self.effects
        places = np.flatnonzero(full & ~written)
        for start in range(0, len(places), AT_ONCE):
            some = places[start : start + AT_ONCE]
            own = written_out(self.rows, some)
            found[some] = np.vecdot(own @ covariance, own)
        # Other rows with equally many loadings form a matrix, so z' V z needs no loop over rows and no dense Z.
        for count in np.unique(self._counts[~full]).tolist():
            places = np.flatnonzero((self._counts == count) & ~written)
            for start in range(0, len(places), AT_ONCE):
                some = places[start : start + AT_ONCE]
                cell = self.rows.indptr[some] + np.arange(count)[:, None]
                found[some] = _squared(self.rows.indices[cell].astype(np.int64), self.rows.data[cell], covariance)
        for block, part in self.changed.items():
            rows = self.blocks[block]
            if isinstance(part, MixedRows):
                found[rows] = part.variances(found[rows], self.rows[rows], covariance @ part.known.T)
            else:
                some = np.flatnonzero(part.any(axis=1))  # rows that are not certain
                own = part[some]
                found[rows[some]] = np.vecdot(own @ covariance, own)
        return found

    def scaled(self, factors: Array) -> "Loadings":
        """Loadings with each row multiplied by its factor (n,)."""
        rows = sparse.csr_array(sparse.diags_array(factors) @ self.rows)
        changed = {block: self[block] * factors[self.blocks[block], None] for block in self.changed}
        return Loadings(rows, self.blocks, changed)

    def beside(self, *more: Array | sparse.csr_array) -> "Loadings":
        """The loadings with columns (n, q) for more effects, in one or several parts."""
        parts = [sparse.csr_array(part) for part in more]
        rows = side_by_side([(part, None) for part in (self.rows, *parts)], self.rows.shape[0])
        changed = {
            block: np.hstack([self[block], *(written_out(part, self.blocks[block]) for part in parts)])
            for block in self.changed
        }
        return Loadings(rows, self.blocks, changed)


def _squared(effect: Integers, data: Array, covariance: Array) -> Array:
    """(r,) z' V z of rows with equal numbers of loadings.

    effect  (k, r) index of each loading's effect
    data    (k, r) loadings
    """
    effects, flat = len(covariance), covariance.ravel()
    found = np.zeros(effect.shape[1])
    for place in range(len(effect)):
        between = flat.take(effect[place] * effects + effect[place:])
        between *= data[place:]
        between[1:] *= 2  # counts each product of two effects twice, once for either order
        found += data[place] * between.sum(axis=0)
    return found
