"""Multivariate normal in blocks written out to one size, for simulations that learn of many unknowns at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.properties import cached_property
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.covariance_roots import effects_given
from audiosim.stats.normal.multivariate import Moments, Sparse
from audiosim.stats.normal.reused_arrays import ReusedArrays
from audiosim.stats.normal.weighted_sums import precision_of

ROOM = 2**28  # bytes that the loadings and the covariances within blocks may take, written out
WASTE = 2  # times as many numbers as the blocks have
REPACK = 0.75  # blocks are packed anew when the largest has less than this share of its unknowns left


@dataclass(frozen=True, slots=True, eq=False)
class _Packing:
    """Rows of the unknowns in b blocks of m rows each, of which the last ones may be empty.

    place  (b, m) the unknown in each row, n in an empty row
    row    (n,) row of each unknown among all b m; -1 for one that was certain when the blocks were packed
    """

    place: Integers
    row: Integers

    @classmethod
    def of(cls, blocks: list[Integers], count: int) -> "_Packing":
        place = np.full((len(blocks), max(1, *map(len, blocks))), count)
        for rows, block in zip(place, blocks, strict=True):
            rows[: len(block)] = block
        row = np.full(count + 1, -1)
        row[place.ravel()] = np.arange(place.size)
        return cls(place, row[:count])

    def taken(self, numbers: Array) -> Array:
        """(b, m, ...) numbers (n, ...) of the unknowns, 0 in empty rows."""
        return np.concatenate([numbers, np.zeros_like(numbers[:1])])[self.place]

    def spread(self, numbers: Array) -> Array:
        """(n, ...) numbers (b, m, ...) by unknown, 0 for those without a row."""
        found = np.zeros((len(self.row) + 1, *numbers.shape[2:]), numbers.dtype)
        found[self.place] = numbers
        return found[:-1]


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Unknowns that became known in g blocks, up to w in each; see `KnownPart`.

    blocks  (g,)
    own     (g, w, m) covariance with the block's unknowns, divided by the Cholesky factor of the known ones'
    half    (g, w, p + 1) loadings and distances from the mean, divided by it
    """

    blocks: Integers
    own: Array
    half: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Parts of weighted sums that conditioning updates.

    weights   the sums; referenced here so that no other object can get their identity
    shares    (b, m, s) the weights W, written out
    within    (s, s) sum over the blocks of W K W'
    loadings  (s, p) W Z
    """

    weights: Sparse
    shares: Array
    within: Array
    loadings: Array


@dataclass(frozen=True, eq=False)
class EvenBlocks:
    """The distribution of a `BlockNormal`, as fast to condition on a thousand unknowns as on ten; see `EvenBlocks.of`.

        K_b' = K_b - H' H,  Z_b' = Z_b - H' [z],  H = L^-1 K_known,  [z] = L^-1 Z_known,  L L' = K_known,known

    All blocks have as many rows, so that each step is a few products of stacked matrices and not a few calls a block.
    Covariances are made from those before when they are asked for: moments of sums, which tell if a simulated campaign
    is over, need none of them. Methods that such campaigns do not use go through `whole`.

    mean    (n,)
    blocks  for each block the places of its unknowns
    shared  (p, p) V
    """

    mean: Array
    blocks: Sequence[Integers]
    shared: Array
    _packing: _Packing
    _before: tuple[Array, Array]
    _seen: tuple[_Seen, ...]
    _known: Integers
    _sums: dict[int, _Sums]
    _space: ReusedArrays

    correlated = True

    @classmethod
    def of(cls, normal: BlockNormal) -> "EvenBlocks | None":
        """The same distribution, or None where written out it would take too much memory."""
        size = max(map(len, normal.blocks), default=0)
        rows = size * len(normal.blocks)
        if rows * (size + len(normal.shared)) * 8 > ROOM or rows > WASTE * len(normal.mean):
            return None
        packing = _Packing.of(list(normal.blocks), len(normal.mean))
        within = np.zeros((*packing.place.shape, size))
        effects = len(normal.shared)
        loadings = np.zeros((*packing.place.shape, effects), precision_of(rows * effects))
        for block, (own, parts) in enumerate(zip(normal.within, normal.sparse_loadings, strict=True)):
            within[block, : len(own), : len(own)] = own
            loadings[block, : len(own)] = parts
        none = np.empty(0, dtype=np.int64)
        return cls(normal.mean, normal.blocks, normal.shared, packing, (within, loadings), (), none, {}, ReusedArrays())

    @cached_property
    def _parts(self) -> tuple[Array, Array]:
        """(b, m, m) K and (b, m, p) Z; exactly 0 for certain unknowns."""
        within, loadings = self._before
        if not self._seen:
            return within, loadings
        own, effects = (self._space.empty(of.shape, of.dtype) for of in (within, loadings))
        same = np.ones(len(within), dtype=np.bool_)
        for seen in self._seen:
            half = seen.half[:, :, :-1].astype(loadings.dtype, copy=False)
            # Block by block: stacked, the products are arrays of tens of MB, made and read again.
            for block, rows, more in zip(seen.blocks.tolist(), seen.own, half, strict=True):
                np.subtract(within[block], rows.T @ rows, out=own[block])
                np.subtract(loadings[block], rows.T.astype(loadings.dtype, copy=False) @ more, out=effects[block])
            same[seen.blocks] = False
        own[same], effects[same] = within[same], loadings[same]
        block, row = np.divmod(self._known, self._packing.place.shape[1])
        own[block, row] = own[block, :, row] = effects[block, row] = 0
        return own, effects

    @cached_property
    def _own(self) -> Array:
        """(b, m) variance within the block of each row."""
        return np.diagonal(self._parts[0], axis1=1, axis2=2)

    @cached_property
    def whole(self) -> BlockNormal:
        """The same as a `BlockNormal`."""
        within, loadings = self._parts
        inside, own, effects = np.empty(len(self.mean), dtype=np.int64), list[Array](), list[Array]()
        for number, (rows, place) in enumerate(zip(self.blocks, self._packing.place, strict=True)):
            inside[rows] = np.arange(len(rows))
            here = np.flatnonzero(place < len(self.mean))
            at = inside[place[here]]
            own.append(np.zeros((len(rows), len(rows))))
            effects.append(np.zeros((len(rows), len(self.shared))))
            own[-1][np.ix_(at, at)] = within[number][np.ix_(here, here)]
            effects[-1][at] = loadings[number][here]
        return BlockNormal(self.mean, self.blocks, tuple(own), tuple(effects), self.shared)

    @cached_property
    def _packed(self) -> "EvenBlocks | None":
        """The same without the rows of certain unknowns; None where that would not make the blocks much smaller."""
        left, place = self._own > 0, self._packing.place
        most, size = int(left.sum(axis=1).max(initial=0)), place.shape[1]
        if most >= REPACK * size:
            return None
        packing = _Packing.of([rows[own] for rows, own in zip(place, left, strict=True)], len(self.mean))
        row = np.concatenate([self._packing.row, [-1]])[packing.place]  # of the places before, from which all is taken
        block, row = np.arange(len(place))[:, None], np.where(row < 0, 0, row % size)
        there = packing.place < len(self.mean)
        within, loadings = self._parts
        within = within[block[:, :, None], row[:, :, None], row[:, None, :]]
        within *= there[:, :, None] & there[:, None, :]
        loadings = loadings[block, row] * there[:, :, None]
        sums = {key: replace(one, shares=one.shares[block, row] * there[:, :, None]) for key, one in self._sums.items()}
        none = np.empty(0, dtype=np.int64)
        return EvenBlocks(self.mean, self.blocks, self.shared, packing, (within, loadings), (), none, sums, self._space)

    @property
    def block(self) -> Integers:
        return self.whole.block

    @cached_property
    def _loaded(self) -> Array:
        """(b, m, p) Z V."""
        loadings = self._parts[1]
        loaded = self._space.empty(loadings.shape, loadings.dtype)
        flat, covariance = (-1, len(self.shared)), self.shared.astype(loadings.dtype)
        np.matmul(loadings.reshape(flat), covariance, out=loaded.reshape(flat))
        return loaded

    @cached_property
    def variance(self) -> Array:
        shared = np.vecdot(self._loaded, self._parts[1])
        return np.maximum(0, self._packing.spread(self._own + shared))

    def across(self, weights: Sparse) -> Array:
        """(s, n) covariance of weighted sums with each unknown."""
        kept = self._kept(weights)
        kind, (blocks, size) = self._loaded.dtype, self._packing.place.shape
        found = self._space.empty((blocks, size, weights.shape[0]), kind)
        np.matmul(
            self._loaded.reshape(blocks * size, -1), kept.loadings.T.astype(kind), out=found.reshape(blocks * size, -1)
        )
        for block, (within, shares) in enumerate(zip(self._parts[0], kept.shares, strict=True)):
            found[block] += within @ shares
        return self._packing.spread(found).T

    def project(self, weights: Sparse) -> Moments:
        """Moments of weighted sums; see `MultivariateNormal`."""
        kept = self._kept(weights)
        covariance = kept.within + kept.loadings @ self.shared @ kept.loadings.T
        covariance = (covariance + covariance.T) / 2
        np.fill_diagonal(covariance, np.maximum(0, np.diagonal(covariance)))
        return Moments(weights @ self.mean, covariance)

    def _kept(self, weights: Sparse) -> _Sums:
        found = self._sums.get(id(weights))
        if found is None or found.weights is not weights:  # in another process identities are others
            shares = self._packing.taken(weights.toarray().T)
            within, loadings = self._parts
            own = np.tensordot(shares, within @ shares, ((0, 1), (0, 1)))
            effects = np.tensordot(shares, loadings, ((0, 1), (0, 1)))
            found = self._sums[id(weights)] = _Sums(weights, shares, own, effects)
        return found

    def condition_all(self, places: Integers, values: Array) -> "EvenBlocks":
        """Distribution given the values of several unknowns; see `BlockNormal.condition_all`."""
        if len(np.unique(places)) != len(places) or len(values) != len(places):
            raise InputError(f"places must differ and have a value each, got {len(places)} and {len(values)} values")
        return (self._packed or self)._given(places, values)

    def _given(self, places: Integers, values: Array) -> "EvenBlocks":
        size, effects = self._packing.place.shape[1], len(self.shared)
        row, off = self._packing.row[places], values - self.mean[places]
        # An unknown that was certain before carries no information on the others, and would make K_b singular.
        new = np.flatnonzero(np.where(row < 0, 0, self._own.ravel()[row]) > 0)
        order = new[np.argsort(row[new], kind="stable")]
        known, off = row[order], off[order]
        seen = [self._seen_in(*some) for some in _in_step(*np.divmod(known, size), off)]
        halves = np.concatenate([np.empty((0, effects + 1)), *(one.half.reshape(-1, effects + 1) for one in seen)])
        precision = halves[:, :-1].T @ halves
        shared = effects_given(self.shared, precision[:, :-1])
        moved = shared @ precision[:, -1]
        change = (self._parts[1] @ moved.astype(self._parts[1].dtype)).astype(np.float64)
        for one in seen:
            left = one.half[:, :, -1] - one.half[:, :, :-1] @ moved
            change[one.blocks] += np.matvec(one.own.transpose(0, 2, 1), left)
        mean = self.mean + self._packing.spread(change)
        mean[places] = values
        sums = {key: _without(one, seen) for key, one in self._sums.items()}
        return EvenBlocks(mean, self.blocks, shared, self._packing, self._parts, tuple(seen), known, sums, self._space)

    def _seen_in(self, blocks: Integers, rows: Integers, off: Array, there: Booleans) -> _Seen:
        """Unknowns that become known in g blocks.

        rows   (g, w) of the block
        off    (g, w) their values minus their means
        there  (g, w) False where a block has fewer
        """
        within, loadings = self._parts
        across = within[blocks[:, None], rows] * there[:, :, None]
        own = np.take_along_axis(across, rows[:, None, :], axis=2) * there[:, None, :]
        width = np.arange(rows.shape[1])
        own[:, width, width] += ~there  # rows that do not count pass through the factor unseen
        root = np.linalg.inv(np.linalg.cholesky(own))
        seen = loadings[blocks[:, None], rows] * there[:, :, None]
        return _Seen(blocks, root @ across, root @ np.concatenate([seen, (off * there)[:, :, None]], axis=2))

    def column(self, index: int) -> Array:
        return self.whole.column(index)

    def among(self, places: Integers) -> Array:
        return self.whole.among(places)

    def condition(self, index: int, value: float) -> BlockNormal:
        return self.whole.condition(index, value)

    def held_out(self, places: Integers, values: Array) -> tuple[Array, Array]:
        return self.whole.held_out(places, values)

    def one_by_one(self, places: Integers, values: Array) -> tuple[Array, Array]:
        return self.whole.one_by_one(places, values)

    def scaled(self, mean: Array, factors: Array) -> BlockNormal:
        return self.whole.scaled(mean, factors)

    def draw(self, rng: np.random.Generator, count: int, closer: float = 1.0) -> Iterator[tuple[Integers, Array]]:
        return self.whole.draw(rng, count, closer)


def _in_step(block: Integers, row: Integers, off: Array) -> Iterator[tuple[Integers, Integers, Array, Booleans]]:
    """Known unknowns by block, blocks with about as many together: their numbers, rows, values, and which are there.

    block  (k,) rising
    """
    blocks, start, count = np.unique(block, return_index=True, return_counts=True)
    classes = np.ceil(np.log2(count)).astype(np.int64)  # of 1, 2, 4, 8, ...: at most half of what is computed is empty
    for width in np.unique(classes).tolist():
        some = np.flatnonzero(classes == width)
        step = np.arange(count[some].max())
        there = step < count[some][:, None]
        at = np.where(there, start[some][:, None] + step, 0)
        yield blocks[some], np.where(there, row[at], 0), off[at], there


def _without(sums: _Sums, seen: list[_Seen]) -> _Sums:
    """Weighted sums after some unknowns became known."""
    within, loadings = sums.within, sums.loadings
    for one in seen:
        moved = (one.own @ sums.shares[one.blocks]).reshape(-1, len(within))
        within = within - moved.T @ moved
        loadings = loadings - moved.T @ one.half[:, :, :-1].reshape(len(moved), -1)
    return replace(sums, within=within, loadings=loadings)
