"""Multivariate normal of many unknowns, correlated within blocks and, through a few shared effects, across blocks."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.blocks import BlockPlaces, Within
from audiosim.stats.normal.conditioning import (
    NO_FACTOR,
    ConditionedBlock,
    OrderedFactor,
    SeenValues,
    certain_now,
    cleared,
    summed_precision,
    with_known,
)
from audiosim.stats.normal.loadings import Changed, Loadings, MixedRows
from audiosim.stats.normal.multivariate import Moments, Sparse
from audiosim.stats.normal.projection import (
    EffectsGiven,
    Remembered,
    by_block,
    kept_product,
    may_be_kept,
    precision_of,
    reduced,
    reduced_by,
)
from audiosim.stats.normal.roots import ROUNDING, closer_root, effects_given, factor_of, known_root, symmetric_root
from audiosim.stats.threads import one_thread

HANDED_ON = 64  # largest number of new values for which cached results are updated; for more they are dropped
_Block = tuple[Array, Changed]  # K_b (m, m) and the rows of Z (m, p)


@dataclass(frozen=True, eq=False)
class BlockNormal:
    """Distribution of n unknowns, jointly normal; see `MultivariateNormal`.

        covariance = blocks K_b on the diagonal  +  Z V Z'

    mean      (n,)
    blocks    for each block the places of its unknowns (m,); every place is in one block
    within    for each block K_b (m, m), positive definite except for certain unknowns, whose rows and columns are 0
    loadings  for each block its rows of Z (m, p), 0 for certain unknowns; see `Loadings`
    shared    V (p, p) covariance of the shared effects
    remembered  cached results, taken over from the distribution that was conditioned

    Memory is linear in n as long as blocks and shared effects stay small. Conditioning on one unknown changes its own
    block, V and the mean; the other blocks are shared with the new distribution.
    """

    mean: Array
    blocks: Sequence[Integers]
    within: Sequence[Array]
    loadings: Sequence[Array]
    shared: Array
    remembered: Remembered = field(default_factory=Remembered, repr=False)

    correlated = True

    def __post_init__(self) -> None:
        # Blocks and covariances are checked once: as `BlockPlaces` and `Within` they are handed on by conditioning.
        if not isinstance(self.blocks, BlockPlaces):
            object.__setattr__(self, "blocks", BlockPlaces(self.blocks, len(self.mean)))
        p = len(self.shared)
        if not (np.isfinite(self.mean).all() and np.isfinite(self.shared).all()):
            raise InputError("means and covariances of shared effects must be finite")
        if self.shared.shape != (p, p):
            raise InputError(f"covariance of the shared effects must be square, got {self.shared.shape}")
        if not len(self.blocks) == len(self.within) == len(self.loadings):
            got = f"{len(self.within)} and {len(self.loadings)}"
            raise InputError(f"expected a covariance and loadings for each of the {len(self.blocks)} blocks, got {got}")
        if not isinstance(self.within, Within):  # positive definite, and computed only where needed
            self._check_covariances(p)
            object.__setattr__(self, "within", Within.given(self.blocks, self.within, len(self.mean)))

    def _check_covariances(self, p: int) -> None:
        for block, (size, within) in enumerate(zip(map(len, self.blocks), self.within, strict=True)):
            sparse = isinstance(self.loadings, Loadings)
            shape = (size, self.sparse_loadings.effects) if sparse else self.loadings[block].shape
            if within.shape != (size, size) or shape != (size, p):
                expected = f"({size}, {size}) and ({size}, {p})"
                raise InputError(f"a block must be {expected}, got {within.shape} and {shape}")
            certain = np.diagonal(within) <= 0
            if certain.any() and (within[certain].any() or self.loadings[block][certain].any()):
                raise InputError("an unknown without a variance of its own must have no covariance and no loadings")

    @cached_property
    def sparse_loadings(self) -> Loadings:
        """Loadings of all blocks together."""
        if isinstance(self.loadings, Loadings):
            return self.loadings
        return Loadings.dense(self.loadings, self.blocks, len(self.shared))

    @property
    def _place(self) -> tuple[Integers, Integers]:
        """(n,) block of each unknown, and (n,) its place within that block."""
        assert isinstance(self.blocks, BlockPlaces)
        return self.blocks.of_each

    @property
    def _own(self) -> Within:
        assert isinstance(self.within, Within)
        return self.within

    @property
    def block(self) -> Integers:
        return self._place[0]

    @cached_property
    def variance(self) -> Array:
        if self.remembered.variance is not None:
            return self.remembered.variance
        # Repeated conditioning can leave a variance at minus a rounding error; its square root would be NaN.
        return np.maximum(0, self.sparse_loadings.variances(self.shared) + self._own.diagonals)

    @cached_property
    def _last_in_order(self) -> list[OrderedFactor]:
        return [NO_FACTOR]

    @cached_property
    def _columns(self) -> dict[int, Array]:
        """Columns computed so far: an unknown's column is needed several times before it is conditioned on."""
        return {}

    def column(self, index: int) -> Array:
        if index not in self._columns:
            self._columns[index] = self._column(index)
        return self._columns[index]

    def _column(self, index: int) -> Array:
        block, place = (of[index] for of in self._place)
        column = self.sparse_loadings.times(self.shared @ self.loadings[block][place])
        column[self.blocks[block]] += self.within[block][:, place]
        return column

    def among(self, places: Integers) -> Array:
        return self._between(places, places)

    def _between(self, some: Integers, others: Integers) -> Array:
        """(m, k) covariance of some unknowns (m,) with others (k,)."""
        own, other = ((self._place[0][at], self._place[1][at]) for at in (some, others))
        loadings = self.sparse_loadings.of_unknowns(some, *own) @ self.shared
        return self._own.between(own, other) + loadings @ self.sparse_loadings.of_unknowns(others, *other).T

    def project(self, weights: Sparse) -> Moments:
        count, kept = weights.shape[0], self.remembered.parts(weights, self.blocks)
        covariance, loadings = np.zeros((count, count)), self._weighted(weights)
        split = by_block(weights, self.blocks) if kept is None else kept.split
        for block, (sums, some) in ((number, part) for number, part in enumerate(split) if len(part[0])):
            product = kept_product(None if kept is None else kept.products, block, self.within[block], some)
            # In many blocks every sum has a share; adding without an index is then several times faster.
            if len(sums) == count:
                covariance += product
            else:
                covariance[np.ix_(sums, sums)] += product
        covariance += loadings @ self.shared @ loadings.T
        # Products of matrices are symmetric only up to rounding, and `Moments` wants no variance below 0.
        covariance = (covariance + covariance.T) / 2
        np.fill_diagonal(covariance, np.maximum(0, np.diagonal(covariance)))
        return Moments(weights @ self.mean, covariance)

    def _weighted(self, weights: Sparse) -> Array:
        """(s, p) loadings of weighted sums."""
        changed, kept = self.sparse_loadings.changed, self.remembered.parts(weights, self.blocks)
        if kept is not None:
            return self.sparse_loadings.weighted(weights, [kept.split[block] for block in changed], kept.loadings)
        return self.sparse_loadings.weighted(weights, by_block(weights, [self.blocks[block] for block in changed]))

    def condition(self, index: int, value: float) -> "BlockNormal":
        """Distribution given the value of one unknown.

        With k the unknown's column of K_b, z its row of Z, c its covariance with every unknown, and k_i and
        c_i = k_i + z' V z the entries of k and c for the unknown itself,

            mean + c (value - mean_i) / c_i,   K_b - k k' / k_i,   Z_b - k z' / k_i,   V - V z z' V / c_i

        An unknown that is already certain only takes the new value.
        """
        # The block is conditioned as if the effects were known (division by k_i), the effects on the value itself
        # (by c_i). One update of the full covariance, by c c' / c_i, would couple all blocks and fill n x n numbers.
        block, place = (int(of[index]) for of in self._place)
        within, loadings = self.within[block], self.loadings[block]
        mean = self.mean.copy()
        if within[place, place] <= 0:
            mean[index] = value
            return self._after(mean, self.shared, {}, self.variance, self.remembered.acrosses)
        column, effects = self.column(index), self.shared @ loadings[place]
        mean += column * ((value - mean[index]) / column[index])
        mean[index] = value  # exactly, not up to rounding: 0 variance and this mean are how certainty is recognised
        variance = np.maximum(0, self.variance - column**2 / column[index])
        variance[index] = 0
        gain, new = within[:, place] / within[place, place], np.array([place])
        left = within - np.outer(gain, within[place])
        certain = certain_now(within, left, partial(self.sparse_loadings.some, block), new, gain[:, None])
        left = cleared(left, certain)
        rows = self.sparse_loadings.mixed(block, gain[:, None], loadings[place][None], certain)
        shared = self.shared - np.outer(effects, effects / column[index])
        acrosses = self.remembered.acrosses.items()
        updated = {key: (weights, reduced(across, column, index)) for key, (weights, across) in acrosses}
        return self._after(mean, shared, {block: (left, rows)}, variance, updated)

    @one_thread()  # on a busy machine, threads that wait for each other at small products took five times as long
    def condition_all(self, places: Integers, values: Array) -> "BlockNormal":
        """Distribution given the values of several unknowns.

        The values of all blocks add up to a precision P of the shared effects and to t, P times their mean. V becomes
        V' = V (I + P V)^-1, and the effects' mean moves by V' t.
        """
        # Given the effects, blocks are independent: each is conditioned on its own values and passes on information
        # about the effects. This costs k^3 per block instead of one Cholesky factor of all values together.
        if len(np.unique(places)) != len(places) or len(values) != len(places):
            raise InputError(f"places must differ and have a value each, got {len(places)} and {len(values)} values")
        known, off = np.zeros(len(self.mean), dtype=np.bool_), np.zeros(len(self.mean))
        known[places], off[places] = True, values - self.mean[places]
        mean = self.mean.copy()
        left, whitened = {}, list[Array]()
        for block in np.unique(self.block[places]).tolist():
            rows, within = self.blocks[block], self.within[block]
            # An unknown that was certain before carries no information on the others, and would make K_b singular.
            new = np.flatnonzero(known[rows] & (np.diagonal(within) > 0))
            if len(new):
                loadings = self.sparse_loadings.some(block, new)
                seen = with_known(within, new, loadings, off[rows[new]])
                certain = certain_now(within, seen.within, partial(self.sparse_loadings.some, block), new, seen.gain)
                mixed = self.sparse_loadings.mixed(block, seen.gain, loadings, certain)
                left[block] = cleared(seen.within, certain), mixed
                mean[rows] += seen.shift
                whitened.append(seen.whitened)
        precision = summed_precision(whitened, len(self.shared))
        shared = effects_given(self.shared, precision[:, :-1])
        mean += self._loadings_with(left).times(shared @ precision[:, -1])
        mean[places] = values
        handed_on = self.remembered.acrosses and len(places) <= HANDED_ON
        return self._after(mean, shared, left, *(self._handed_on(places) if handed_on else ()))

    def _handed_on(self, places: Integers) -> tuple[Array, dict[int, tuple[Sparse, Array]]]:
        """The cached variances v and covariances `across` A, updated for the conditioned distribution.

            v - diag(C S^-1 C'),  A - A_i S^-1 C'

        C (n, k) is the covariance of every unknown with the newly known ones, S that among these. For a few unknowns
        this is less work than computing v and A again, for instance in simulations that judge in batches.
        """
        new = places[self.variance[places] > 0]
        block, place = (of[new] for of in self._place)
        own = (self.sparse_loadings.some(b, np.array([p])) for b, p in zip(block.tolist(), place, strict=True))
        effects = np.concatenate([np.empty((0, len(self.shared))), *own])
        columns = self.sparse_loadings.times(self.shared @ effects.T)
        for number, (b, p) in enumerate(zip(block.tolist(), place.tolist(), strict=True)):
            columns[self.blocks[b], number] += self.within[b][:, p]
        # By S's factor L: diag(C S^-1 C') is then a sum of squares, so rounding cannot make a variance grow.
        root = known_root(columns[new].astype(np.float64), self.variance[new])
        halves = solve_triangular(root, columns.T, lower=True)
        variance = np.maximum(0, self.variance - np.einsum("kn,kn->n", halves, halves))
        variance[places] = 0
        return variance, {
            key: (weights, reduced_by(across, halves, root, new, places))
            for key, (weights, across) in self.remembered.acrosses.items()
        }

    def given(self, seen: Mapping[int, ConditionedBlock], last: list[EffectsGiven] | None = None) -> "BlockNormal":
        """Distribution given observations that are not among the unknowns, such as noisy judgments of them.

        seen  conditioned blocks, by number; see `condition_block`
        last  effects given earlier observations, replaced by those given these: a rank-one update if there is one more.
              Distributions with the same effects may share it

        An unknown left with less than ROUNDING of its variance counts as certain.
        """
        left: dict[int, _Block] = {}
        before = self._own.diagonals
        for block, one in seen.items():
            certain = np.flatnonzero(np.diagonal(one.within) <= ROUNDING * before[self.blocks[block]])
            left[block] = one.within, self._rows(block, one.loadings, certain)
            if len(certain):
                left[block] = cleared(one.within.copy(), certain), left[block][1]
        known = self._effects_given({block: one.seen for block, one in seen.items()}, [] if last is None else last)
        moved = known.shared @ known.precision[:, -1]
        shifts = self.sparse_loadings.times(moved)
        mean = self.mean + shifts
        for block, one in seen.items():
            # With the loadings before `cleared` sets some to 0: unknowns that become certain move with the effects.
            rows, own = self.blocks[block], one.loadings
            change = own.applied(shifts[rows], own.known @ moved) if isinstance(own, MixedRows) else own @ moved
            mean[rows] = self.mean[rows] + one.shift + change
        return self._after(mean, known.shared, left)

    def _rows(self, block: int, rows: Changed, certain: Integers) -> Changed:
        """Conditioned rows of a block, 0 at certain places (c,)."""
        if isinstance(rows, MixedRows):
            rows = replace(rows, certain=certain) if len(certain) else rows  # the same object finds kept results
            # Factors are those of the original rows.
            return rows.of(self.loadings[block]) if block in self.sparse_loadings.changed else rows
        if len(certain):
            rows = rows.copy()
            rows[certain] = 0
        return rows

    def _effects_given(self, seen: Mapping[int, SeenValues], last: list[EffectsGiven]) -> EffectsGiven:
        found = last[0].updated(seen) if last else None
        if found is None:
            precision = summed_precision((one.whitened for one in seen.values()), len(self.shared))
            found = EffectsGiven(seen, precision, effects_given(self.shared, precision[:, :-1]))
        last[:] = [found]
        return found

    def held_out(self, places: Integers, values: Array) -> tuple[Array, Array]:
        """(k,) mean and (k,) variance of several unknowns, each given the values of all the others among them.

            mean_i = value_i - (C^-1 (value - mean))_i / (C^-1)_ii,  variance_i = 1 / (C^-1)_ii

        C is their covariance; Rasmussen & Williams (2006), equation 5.12. One inverse serves all k cases; conditioning
        k times would cost k times as much.
        """
        off, order = np.full(len(self.mean), np.nan), np.empty(len(self.mean), dtype=np.int64)
        off[places], order[places] = values - self.mean[places], np.arange(len(places))
        own, residuals, sides = np.empty(len(places)), np.empty(len(places)), np.zeros((len(places), len(self.shared)))
        precision = np.zeros((len(self.shared), len(self.shared) + 1))
        for block, rows in enumerate(self.blocks):
            known = np.flatnonzero(~np.isnan(off[rows]))
            if len(known):
                inverse, loadings = np.linalg.inv(self.within[block][np.ix_(known, known)]), self.loadings[block][known]
                at, solved = order[rows[known]], inverse @ np.column_stack([loadings, off[rows[known]]])
                own[at], residuals[at], sides[at] = np.diagonal(inverse), solved[:, -1], solved[:, :-1]
                precision += loadings.T @ solved
        # C^-1 by Woodbury's identity; only its diagonal and one product are needed.
        shared = effects_given(self.shared, precision[:, :-1])
        inverse = own - np.vecdot(sides @ shared, sides)
        return values - (residuals - sides @ (shared @ precision[:, -1])) / inverse, 1 / inverse

    @one_thread()
    def one_by_one(self, places: Integers, values: Array) -> tuple[Array, Array]:
        self._last_in_order[0] = factor = self._last_in_order[0].followed(places, self._between)
        return factor.predictions(values, self.mean[places])

    def with_effects(self, loadings: Array, covariance: Array) -> "BlockNormal":
        """Distribution with q more shared effects of mean 0, independent of the present ones.

        loadings    (n, q) loadings of each unknown on each new effect; no unknown may be certain
        covariance  (q, q) covariance of the new effects
        """
        both = block_diag(self.shared, covariance)
        return BlockNormal(self.mean, self.blocks, self.within, self.sparse_loadings.beside(loadings), both)

    def moved(self, mean: Array) -> "BlockNormal":
        """The same distribution about other means (n,); nothing that was computed is lost."""
        other = copy(self)
        object.__setattr__(other, "mean", mean)
        return other

    def scaled(self, mean: Array, factors: Array) -> "BlockNormal":
        within = tuple(
            covariance * np.outer(factors[rows], factors[rows])
            for rows, covariance in zip(self.blocks, self.within, strict=True)
        )
        return BlockNormal(mean, self.blocks, within, self.sparse_loadings.scaled(factors), self.shared)

    def across(self, weights: Sparse) -> Array:
        """(s, n) covariance of weighted sums with each unknown; cached per weights, also through `condition`."""
        found = self.remembered.acrosses.get(id(weights))
        if found is None or found[0] is not weights:
            across = self._across(weights)
            if not may_be_kept(across):
                return across
            found = self.remembered.acrosses[id(weights)] = weights, across
        return found[1]

    def _across(self, weights: Sparse) -> Array:
        # Stored with a row per unknown: a block then reads and writes whole rows, several times as fast as columns.
        count = weights.shape[0]
        found = np.empty((len(self.mean), count), dtype=precision_of(count * len(self.mean)))
        self.sparse_loadings.rows_times((self._weighted(weights) @ self.shared).T, found)
        kept = self.remembered.parts(weights, self.blocks)
        split = by_block(weights, self.blocks) if kept is None else kept.split
        for (sums, some), rows, within in zip(split, self.blocks, self.within, strict=True):
            if len(sums) == count:
                found[rows] += within @ some.T
            else:
                found[np.ix_(rows, sums)] += within @ some.T
        return found.T

    def draw(self, rng: np.random.Generator, count: int, closer: float = 1.0) -> Iterator[tuple[Integers, Array]]:
        """Values drawn at random, block by block.

        closer  factor on the covariances at unchanged variances; lowered in blocks where it would not give a covariance
        """
        effects = rng.standard_normal((count, len(self.shared))) @ self._shared_root.T
        for block, (rows, loadings) in enumerate(zip(self.blocks, self.loadings, strict=True)):
            factor, times = self._roots.get((block, closer)) or self._root(block, closer)
            own = rng.standard_normal((count, len(rows))) @ factor.T
            yield rows, self.mean[rows] + own + np.sqrt(times) * (effects @ loadings.T)

    @cached_property
    def _shared_root(self) -> Array:
        return symmetric_root(self.shared)

    @cached_property
    def _roots(self) -> dict[tuple[int, float], tuple[Array, float]]:
        return {}

    def _root(self, block: int, closer: float) -> tuple[Array, float]:
        own, rows = self.within[block], self.blocks[block]
        found = closer_root(own, self.variance[rows], closer) if closer > 1 else (factor_of(own), 1.0)
        # If memory does not suffice for a second matrix per block, each is computed again.
        return self._roots.setdefault((block, closer), found) if self._own.kept is not None else found

    def _loadings_with(self, left: Mapping[int, _Block]) -> Loadings:
        return self.sparse_loadings.with_changed({block: rows for block, (_, rows) in left.items()})

    def _after(
        self,
        mean: Array,
        shared: Array,
        left: Mapping[int, _Block],
        variance: Array | None = None,
        acrosses: dict[int, tuple[Sparse, Array]] | None = None,
    ) -> "BlockNormal":
        """Distribution with a new mean, shared covariance and some new blocks.

        variance, acrosses  as in `Remembered`, if already computed
        """
        within = self._own.with_changed({block: own for block, (own, _) in left.items()})
        remembered = Remembered(variance, acrosses or {}, self.remembered.kept)
        loadings = self._loadings_with(left)
        return replace(self, mean=mean, within=within, loadings=loadings, shared=shared, remembered=remembered)
