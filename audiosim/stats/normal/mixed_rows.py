"""Rows of conditioned blocks as factors, and those of many blocks stacked for products with the shared effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from audiosim.arrays import Array, Booleans, Integers


@dataclass(frozen=True, slots=True, eq=False)
class MixedRows:
    """Rows of a conditioned block as factors: original rows - gain @ known, and 0 for certain unknowns.

    gain     (m, k)
    known    (k, p) rows of the known values
    certain  places in the block
    """

    gain: Array
    known: Array
    certain: Integers

    def of(self, before: Array) -> Array:
        """(m, p) conditioned rows, from the original ones."""
        return self.applied(before, self.known)

    def applied(self, before: NDArray[np.floating], known: Array) -> Array:
        """Conditioned rows times a matrix, from the original rows (m, ...) and `known` (k, ...) times that matrix."""
        found: Array = before - self.gain @ known
        found[self.certain] = 0
        return found

    def at(self, places: Integers, before: Array) -> Array:
        """(k, p) conditioned rows of some places, from the original rows there."""
        found: Array = before - self.gain[places] @ self.known
        found[np.isin(places, self.certain)] = 0
        return found

    def weighted(self, weights: Array, before: Array) -> Array:
        """(t, p) weights (t, m) times the conditioned rows; exactly 0 where all weights are on certain unknowns."""
        some = weights.copy()
        some[:, self.certain] = 0
        return np.asarray(some @ before - (some @ self.gain) @ self.known)

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


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """Mixed rows of many blocks, for products with effects: one sparse product instead of one product a block.

    parts    mixed rows by block, in order
    rows     (r,) places of their unknowns, block by block
    gain     (r, k) their gains, in the columns of all known values
    known    (k, p) rows of the known values
    starts   (b + 1,) first known value of each block, and k
    certain  places of their certain unknowns
    owner    block number of each certain unknown
    """

    parts: Mapping[int, MixedRows]
    rows: Integers
    gain: sparse.csr_array
    known: Array
    starts: Integers
    certain: Integers
    owner: Integers

    @classmethod
    def of(cls, parts: Mapping[int, MixedRows], blocks: Sequence[Integers]) -> "Stacked":
        """The mixed rows of some blocks.

        blocks  places of the unknowns of every block
        """
        places, every = [blocks[block] for block in parts], list(parts.values())
        counts = np.array([len(part.known) for part in every], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)])
        widths = np.repeat(counts, list(map(len, places)))
        ends = np.concatenate([[0], np.cumsum(widths)])
        column = np.arange(ends[-1]) - np.repeat(ends[:-1], widths)
        column += np.repeat(np.repeat(starts[:-1], list(map(len, places))), widths)
        gains = np.concatenate([part.gain.ravel() for part in every])
        return cls(
            parts,
            np.concatenate(places),
            sparse.csr_array((gains, column, ends), shape=(len(widths), int(starts[-1]))),
            np.vstack([part.known for part in every]),
            starts,
            np.concatenate([own[part.certain] for own, part in zip(places, every, strict=True)]),
            np.repeat(np.arange(len(every)), [len(part.certain) for part in every]),
        )

    def current(self, changed: Mapping[int, object]) -> Booleans:
        """True for each block with rows that are still those of a mapping."""
        return np.array([changed.get(block) is part for block, part in self.parts.items()], dtype=np.bool_)

    def change(self, found: NDArray[np.floating], effects: Array, current: Booleans) -> None:
        """Correct the product (n, ...) of original rows and effects (p, ...) in the blocks that are current."""
        known = self.known @ effects
        known[~np.repeat(current, np.diff(self.starts))] = 0
        found[self.rows] -= self.gain @ known
        found[self.certain[current[self.owner]]] = 0
