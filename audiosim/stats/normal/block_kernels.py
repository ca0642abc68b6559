"""Kernels of blocks, computed on access from a few numbers per value, so that no m x m matrix is stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Booleans, Integers
from audiosim.stats.normal.sparse_rows import written_out


@dataclass(frozen=True, eq=False)
class SameCode(Sequence[Booleans]):
    """Kernel (m, m) of each block: 1 for two values with the same code. An unknown code equals only itself.

    blocks  for each block the places of its values (m,)
    code    (n,) below 0 where unknown
    among   (n,) mask of the values that take part, None for all; the others are 0 even with themselves
    """

    blocks: tuple[Integers, ...]
    code: Integers
    among: Booleans | None = None

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Booleans]:
        return (self[block] for block in range(len(self)))

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
class Cosines(Sequence[Array]):
    """Kernel (m, m) of each block: cosines between the indicator rows of its values, 1 on the diagonal.

    blocks  for each block the places of its values (m,)
    found   (n, s) sparse indicators: 1 for each thing that a value has
    """

    blocks: tuple[Integers, ...]
    found: sparse.csr_array

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Array]:
        return (self[block] for block in range(len(self)))

    def __getitem__(self, block: int) -> Array:  # type: ignore[override]  # nobody slices blocks
        found = written_out(self.found, self.blocks[block])
        directions = found / np.sqrt(np.maximum(1, found.sum(axis=1, keepdims=True)))
        cosines = directions @ directions.T
        np.fill_diagonal(cosines, 1)
        return np.asarray(cosines)
