"""Structure of the covariance of many values: its components, without their standard deviations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.blocks import BlockPlaces, Cosines, SameCode, Within, check_blocks, side_by_side
from audiosim.stats.normal.conditioning import by_number
from audiosim.stats.normal.loadings import Loadings

REST = "rest"
Kernels = SameCode | Cosines | tuple[Array, ...] | tuple[Booleans, ...] | tuple[Array | Booleans, ...]


class Repeats(NamedTuple):
    """Several people's observations of the same unknowns.

    unknown  (n,) code of the unknown that each value observes: kernels are the same for values of one unknown
    person   (n,) code of the person
    within   name of the only other kernel: 1 between a person's values of a block
    """

    unknown: Integers
    person: Integers
    within: str


@dataclass(frozen=True, eq=False)
class Layout:
    """Structure of the covariance of n values, except for the standard deviations.

        Cov = s s' x (sum over kernels of size^2 K + size_rest^2 diag t^2)  +  sum over shared effects of size^2 S S'

    with x the product entry by entry, and the rows of S scaled by s.

    blocks   places of the values of each block; every place is in one block
    kernels  by name: for each block its correlation matrix K (m, m), 0 between values that share nothing
    shared   by name: S (n, p), weight of each of p effects of one kind in each value, sparse if most are 0; a component
             may have both a kernel and effects, if only some values share an effect with other blocks
    scale    (n,) s, above 0: factor on all deviations of a value
    trend    (n, f) design matrix X of f fixed coefficients; the scale as its only column if None
    times    (n,) t, factor on each value's own deviation `rest`; ones if None
    repeats  the unknowns that the values observe, if several observe the same
    """

    blocks: tuple[Integers, ...]
    kernels: Mapping[str, Kernels]
    shared: Mapping[str, Array | sparse.csr_array]
    scale: Array
    trend: Array | None = None
    times: Array | None = None
    repeats: Repeats | None = None

    def __post_init__(self) -> None:
        n = len(self.scale)
        if not np.all(self.scale > 0):
            raise InputError("scales must be above 0")
        if REST in self.names[:-1]:
            raise InputError(f"components must not be called {REST!r}, got {', '.join(self.names[:-1])}")
        check_blocks(self.blocks, n)
        shapes = [(len(rows),) * 2 for rows in self.blocks]
        for name, kernels in self.kernels.items():
            if _shapes(kernels) != shapes:
                raise InputError(f"kernels of {name} must have the shapes of the {len(shapes)} blocks")
        for name, columns in self.shared.items():
            if columns.shape[:1] != (n,) or columns.ndim != 2:
                raise InputError(f"effects of {name} must be ({n}, p) to match the scale, got {columns.shape}")
        if self.trend is not None and (self.trend.shape[:1] != (n,) or self.trend.ndim != 2):
            raise InputError(f"the trend must be ({n}, f) to match the scale, got {self.trend.shape}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components, in the order of their standard deviations; `rest`, the values' own part, is last."""
        return (*dict.fromkeys([*self.kernels, *self.shared]), REST)

    @property
    def fixed(self) -> Array:
        """(n, f) the trend, or the scale in its place."""
        return self.scale[:, None] if self.trend is None else self.trend

    @cached_property
    def independent(self) -> Array:
        """(n, r) columns of the trend that are not linear combinations of earlier ones."""
        # Dependent columns make X' C^-1 X singular. The earlier one is kept, so that the constant survives a
        # covariate that is constant in this collection.
        kept: list[int] = []
        for column in range(self.fixed.shape[1] if len(self.fixed) else 0):
            if np.linalg.matrix_rank(self.fixed[:, [*kept, column]]) > len(kept):
                kept.append(column)
        return self.fixed[:, kept]

    @cached_property
    def loadings(self) -> sparse.csr_array:
        """(n, p) rows of all shared effects side by side, scaled."""
        return side_by_side(self._scaled, len(self.scale))

    @cached_property
    def _with_fixed(self) -> sparse.csr_array:
        """(n, p + f) the same with the fixed columns, which all normals of the layout share."""
        # Computed from the effects again: cached `loadings` of a large pool would take as much memory again.
        return side_by_side([*self._scaled, (self.fixed, None)], len(self.scale))

    @property
    def _scaled(self) -> list[tuple[Array | sparse.csr_array, Array | None]]:
        return [(of, self.scale) for of in self.shared.values()]

    @cached_property
    def owner(self) -> Integers:
        """(p,) number of each effect's component, counting shared ones only."""
        counts = np.array([columns.shape[1] for columns in self.shared.values()], dtype=np.int64)
        return np.repeat(np.arange(len(counts)), counts)

    def within(self, standard_deviations: Mapping[str, float], block: int) -> Array:
        """(m, m) covariance of a block, without the shared effects."""
        scale = self.scale[self.blocks[block]]
        covariance = np.zeros((len(scale), len(scale)))
        for name, kernels in self.kernels.items():
            covariance += standard_deviations[name] ** 2 * kernels[block]
        times = 1.0 if self.times is None else self.times[self.blocks[block]] ** 2
        covariance[np.diag_indices_from(covariance)] += standard_deviations[REST] ** 2 * times
        return covariance * np.outer(scale, scale)

    def _variances(self, standard_deviations: Mapping[str, float]) -> Array:
        """(n,) diagonals of `within`."""
        found = np.zeros(len(self.scale))
        for name, kernels in self.kernels.items():
            found += standard_deviations[name] ** 2 * _diagonal(kernels, self.blocks, len(found))
        times = 1.0 if self.times is None else self.times**2
        return np.asarray((found + standard_deviations[REST] ** 2 * times) * (self.scale * self.scale))

    def effects(self, standard_deviations: Mapping[str, float]) -> Array:
        """(p,) variance of each shared effect."""
        return np.array([standard_deviations[name] ** 2 for name in self.shared])[self.owner]

    def normal(self, standard_deviations: Mapping[str, float], mean: Array, fixed: Array | None = None) -> BlockNormal:
        """Multivariate normal with these standard deviations.

        standard_deviations  standard deviations by name, above 0
        mean   (n,)
        fixed  (f, f) covariance of the coefficients of the fixed columns, as further effects; None: no such effects
        """
        # The diagonal is computed without the matrices: most blocks of a large pool are never needed in full.
        own = self._variances(standard_deviations)
        within = Within.of(self.blocks, partial(self.within, dict(standard_deviations)), own)
        effects = np.diag(self.effects(standard_deviations))
        if fixed is None:
            return BlockNormal(mean, self.blocks, within, Loadings(self.loadings, self.blocks, {}), effects)
        loadings = Loadings(self._with_fixed, self.blocks, {})
        return BlockNormal(mean, self.blocks, within, loadings, block_diag(effects, fixed))

    def part(self, places: Integers) -> "Layout":
        """Layout of the values at some places, in their order, without effects on which none of them loads.

        A place may be repeated, for several observations of a value: `rest` then belongs to each observation, and
        observations of one value share all other components.
        """
        block, at = (of[places] for of in BlockPlaces(self.blocks, len(self.scale)).of_each)
        inside = by_number(block)  # blocks without a value are left out: likelihoods invert every block
        rows = [(block[own[0]], at[own]) for own in inside]
        return Layout(
            tuple(inside),
            {
                name: tuple(kernels[code][own[:, None], own] for code, own in rows)
                for name, kernels in self.kernels.items()
            },
            {name: _used(columns, places) for name, columns in self.shared.items()},
            self.scale[places],
            None if self.trend is None else self.trend[places],
            None if self.times is None else self.times[places],
        )


def _shapes(kernels: Kernels) -> list[tuple[int, ...]]:
    """The shape of each block's kernel, without computing it."""
    if isinstance(kernels, SameCode | Cosines):
        return [(len(rows),) * 2 for rows in kernels.blocks]
    return [kernel.shape for kernel in kernels]


def _diagonal(kernels: Kernels, blocks: Sequence[Integers], count: int) -> Array:
    """(n,) diagonals of the kernels."""
    found = np.ones(count)
    if isinstance(kernels, SameCode):
        return found if kernels.among is None else kernels.among.astype(np.float64)
    if not isinstance(kernels, Cosines):
        for rows, kernel in zip(blocks, kernels, strict=True):
            found[rows] = np.diagonal(kernel)
    return found


def _used(columns: Array | sparse.csr_array, places: Integers) -> Array | sparse.csr_array:
    """Rows of some values, without columns that are 0 in all of them."""
    if isinstance(columns, np.ndarray):
        return columns[places][:, columns[places].any(axis=0)]
    rows = columns[places]
    return sparse.csr_array(rows[:, np.flatnonzero(np.diff(rows.tocsc().indptr))])
