"""Covariances within blocks: those changed by conditioning are stored, the others are computed on access."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy import sparse

from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers

# Rows of sparse matrices: some as dense rows, several matrices side by side, all with short indices.


def written_out(matrix: sparse.csr_array, rows: Integers) -> Array:
    """(m, p) some rows of a matrix, dense; several times as fast for few rows as scipy's own indexing."""
    starts = matrix.indptr[rows]
    counts = matrix.indptr[rows + 1] - starts
    line = np.repeat(np.arange(len(rows)), counts)
    cell = np.arange(len(line)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    found = np.zeros((len(rows), matrix.shape[1]))
    found[line, matrix.indices[cell]] = matrix.data[cell]
    return found


def short(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same matrix with four-byte indices if these suffice: a third less memory."""
    if max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max:
        return matrix
    indices, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    found = sparse.csr_array((matrix.data, indices, starts), shape=matrix.shape)
    found.has_sorted_indices = matrix.has_sorted_indices
    return found


def side_by_side(parts: Sequence[tuple[Array | sparse.csr_array, Array | None]], rows: int) -> sparse.csr_array:
    """(rows, p) matrices one beside the other, sparse, with short indices in order.

    parts  matrices (rows, q), dense or sparse, each with factors (rows,) of its rows or None
    """
    # Written into the result part by part: `sparse.hstack` would hold all indices three times, in eight bytes.
    given: list[tuple[sparse.csr_array, Array | None]] = [(sparse.csr_array(part), by) for part, by in parts]
    counts = [np.diff(part.indptr) for part, _ in given]
    starts = np.concatenate([[0], np.cumsum(sum(counts, np.zeros(rows, dtype=np.int64)))])
    columns, width = int(starts[-1]), sum(part.shape[1] for part, _ in given)
    kind = np.dtype(np.int32 if max(columns, width, rows) <= np.iinfo(np.int32).max else np.int64)
    data, indices = np.empty(columns), np.empty(columns, dtype=kind)
    at, first = starts[:-1].copy(), 0
    for (part, factors), count in zip(given, counts, strict=True):
        if not part.has_sorted_indices:
            part = part.sorted_indices()
        cell = np.repeat(at - part.indptr[:-1], count)
        cell += np.arange(part.nnz)
        data[cell] = part.data if factors is None else part.data * np.repeat(factors, count)
        indices[cell] = part.indices.astype(kind) + first
        at += count
        first += part.shape[1]
    found = sparse.csr_array((data, indices, starts.astype(kind)), shape=(rows, width))
    found.has_sorted_indices = True
    return found


T = TypeVar("T")


class PerBlock(Sequence[T]):
    """A value of each block, by its number; values may be computed on access."""

    blocks: Sequence[Integers]

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[T]:
        return (self[block] for block in range(len(self)))


# Kernels of blocks, computed on access from a few numbers per value, so that no m x m matrix is stored.


@dataclass(frozen=True, eq=False)
class SameCode(PerBlock[Booleans]):
    """Kernel (m, m) of each block: 1 for two values with the same code. An unknown code equals only itself.

    blocks  for each block the places of its values (m,)
    code    (n,) below 0 where unknown
    among   (n,) mask of the values that take part, None for all; the others are 0 even with themselves
    """

    blocks: tuple[Integers, ...]
    code: Integers
    among: Booleans | None = None

    def __getitem__(self, block: int) -> Booleans:  # type: ignore[override]  # nobody slices blocks
        rows = self.blocks[block]
        code = self.code[rows]
        alike = np.equal(code[:, None], code)
        alike &= code >= 0
        alike.ravel()[:: len(rows) + 1] = True
        if self.among is not None:
            alike &= self.among[rows, None] & self.among[rows]
        return alike


@dataclass(frozen=True, eq=False)
class Cosines(PerBlock[Array]):
    """Kernel (m, m) of each block: cosines between the indicator rows of its values, 1 on the diagonal.

    blocks  for each block the places of its values (m,)
    found   (n, s) sparse indicators: 1 for each thing that a value has
    """

    blocks: tuple[Integers, ...]
    found: sparse.csr_array

    def __getitem__(self, block: int) -> Array:  # type: ignore[override]  # nobody slices blocks
        found = written_out(self.found, self.blocks[block])
        directions = found / np.sqrt(np.maximum(1, found.sum(axis=1, keepdims=True)))
        cosines = directions @ directions.T
        np.fill_diagonal(cosines, 1)
        return np.asarray(cosines)


ROOM = 2**29  # bytes: unchanged covariances are cached if they need no more than this in total


@dataclass(frozen=True, eq=False)
class Within(PerBlock[Array]):
    """For each block K_b (m, m), positive definite except in blocks that conditioning has changed.

    blocks     for each block the places of its unknowns (m,)
    make       computes the covariance of a block from its number
    variances  (n,) diagonals of the unchanged covariances
    changed    covariances of changed blocks, by number
    kept       cache of unchanged covariances; None if they are too large to keep
    """

    blocks: tuple[Integers, ...]
    make: Callable[[int], Array]
    variances: Array
    changed: Mapping[int, Array]
    kept: dict[int, Array] | None

    @classmethod
    def given(cls, blocks: Sequence[Integers], within: Sequence[Array], count: int) -> "Within":
        """Covariances of all blocks, given as matrices, for a total number of unknowns."""
        every = dict(enumerate(within))
        return cls(tuple(blocks), every.__getitem__, np.zeros(count), every, None)

    @classmethod
    def of(cls, blocks: tuple[Integers, ...], make: Callable[[int], Array], variances: Array) -> "Within":
        """Covariances of all blocks, none changed yet."""
        size = sum(len(rows) ** 2 for rows in blocks) * variances.itemsize
        return cls(blocks, make, variances, {}, {} if size <= ROOM else None)

    def __getitem__(self, block: int) -> Array:  # type: ignore[override]  # nobody slices blocks
        if block in self.changed:
            return self.changed[block]
        if self.kept is None:
            return self.make(block)
        if block not in self.kept:
            self.kept[block] = self.make(block)
        return self.kept[block]

    @property
    def diagonals(self) -> Array:
        """(n,) variances within blocks; computes no covariance for them."""
        found = self.variances.copy()
        for block, own in self.changed.items():
            found[self.blocks[block]] = np.diagonal(own)
        return found

    def between(self, some: tuple[Integers, Integers], others: tuple[Integers, Integers]) -> Array:
        """(m, k) covariance within blocks of some unknowns with others; 0 where their blocks differ.

        some, others  block of each, and its place there
        """
        found = np.zeros((len(some[0]), len(others[0])))
        for block in np.unique(some[0]).tolist():
            here, there = ((of == block).nonzero()[0] for of in (some[0], others[0]))
            found[here[:, None], there] = self[block][some[1][here, None], others[1][there]]
        return found

    def with_changed(self, parts: Mapping[int, Array]) -> "Within":
        """The covariances with others for some blocks."""
        return replace(self, changed={**self.changed, **parts}) if parts else self


@dataclass(frozen=True, eq=False)
class BlockPlaces(Sequence[Integers]):
    """Places of some unknowns, block by block; every place is in one block.

    places  for each block, the places of its unknowns (m,)
    unknowns  number of them

    Checked once, because distributions that are conditioned again and again share it.
    """

    places: Sequence[Integers]
    unknowns: int

    def __post_init__(self) -> None:
        check_blocks(self.places, self.unknowns)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, block: int) -> Integers:  # type: ignore[override]  # nobody slices blocks
        return self.places[block]

    @cached_property
    def of_each(self) -> tuple[Integers, Integers]:
        """(n,) block of each unknown, and (n,) its place within that block."""
        block, place = np.empty(self.unknowns, dtype=np.int64), np.empty(self.unknowns, dtype=np.int64)
        for code, rows in enumerate(self.places):
            block[rows], place[rows] = code, np.arange(len(rows))
        return block, place


def check_blocks(blocks: Sequence[Integers], count: int) -> None:
    """Refuse blocks that do not contain each of `count` places once."""
    places = np.concatenate([np.empty(0, dtype=np.int64), *blocks])
    if not np.array_equal(np.sort(places), np.arange(count)):
        raise InputError(f"blocks must hold each of {count} places once, got {len(places)} places")
