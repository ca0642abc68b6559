"""Covariances within blocks: those changed by conditioning are stored, the others are computed on access."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError

ROOM = 2**29  # bytes: unchanged covariances are cached if all of them together need no more


@dataclass(frozen=True, eq=False)
class Within(Sequence[Array]):
    """For each block K_b (m, m), positive definite but for those that conditioning has changed.

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

    def with_changed(self, parts: Mapping[int, Array]) -> "Within":
        """The same with other covariances of some blocks."""
        return replace(self, changed={**self.changed, **parts}) if parts else self


def with_parts(within: Sequence[Array], parts: Mapping[int, Array]) -> Sequence[Array]:
    """Covariances within blocks with others of some blocks."""
    if isinstance(within, Within):
        return within.with_changed(parts)
    return tuple(parts.get(block, own) for block, own in enumerate(within))


def diagonals(within: Sequence[Array], blocks: Sequence[Integers], count: int) -> Array:
    """(n,) variances within blocks, without making a covariance for it."""
    found = within.variances.copy() if isinstance(within, Within) else np.empty(count)
    some = within.changed.items() if isinstance(within, Within) else enumerate(within)
    for block, own in some:
        found[blocks[block]] = np.diagonal(own)
    return found


def check_blocks(blocks: Sequence[Integers], count: int) -> None:
    """Refuse blocks that do not hold each of `count` places once."""
    places = np.concatenate([np.empty(0, dtype=np.int64), *blocks])
    if not np.array_equal(np.sort(places), np.arange(count)):
        raise InputError(f"blocks must hold each of {count} places once, got {len(places)} places")
