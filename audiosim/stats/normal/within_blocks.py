"""Covariances within blocks: those changed by conditioning are stored, the others are computed on access."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError
from audiosim.properties import cached_property

ROOM = 2**29  # bytes: unchanged covariances are cached if they need no more than this in total


@dataclass(frozen=True, eq=False)
class Within(Sequence[Array]):
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

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Array]:
        return (self[block] for block in range(len(self)))

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
            here, there = (np.flatnonzero(of == block) for of in (some[0], others[0]))
            found[np.ix_(here, there)] = self[block][np.ix_(some[1][here], others[1][there])]
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
