"""Multivariate normal in blocks padded to one size, for simulations that condition on many unknowns at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers, numbered
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.multivariate import Moments, Sparse
from audiosim.stats.normal.projection import precision_of
from audiosim.stats.normal.roots import factor_of, half_times, inner_factor, known_root, lower_root, times_lower

# Rows of blocks padded to one size: the unknowns in them, and those that became known.


@dataclass(frozen=True, slots=True, eq=False)
class RowPacking:
    """Rows of the unknowns in b blocks of m rows each, the last of which may be empty.

    place  (b, m) the unknown in each row, n in an empty row
    row    (n,) row of each unknown among all b m; -1 for one that was certain when the blocks were packed
    """

    place: Integers
    row: Integers

    @classmethod
    def of(cls, blocks: list[Integers], count: int) -> "RowPacking":
        place = np.full((len(blocks), max(1, *map(len, blocks))), count)
        for rows, block in zip(place, blocks, strict=True):
            rows[: len(block)] = block
        return cls(place, numbered(place.ravel(), count + 1)[:count])

    def taken(self, numbers: Array) -> Array:
        """(b, m, ...) numbers (n, ...) of the unknowns; 0 in empty rows."""
        return np.concatenate([numbers, np.zeros_like(numbers[:1])])[self.place]

    def spread(self, numbers: Array) -> Array:
        """(n, ...) numbers (b, m, ...) by unknown; 0 for those without a row."""
        found = np.zeros((len(self.row) + 1, *numbers.shape[2:]), numbers.dtype)
        found[self.place] = numbers
        return found[:-1]


@dataclass(frozen=True, slots=True, eq=False)
class WrittenOut:
    """Distribution of n unknowns in padded blocks, before any of those in `KnownRows` is known.

    mean      (n,)
    within    (b, m, m) K, exactly 0 for certain unknowns and in empty rows
    loadings  (b, m, p) Z, likewise
    shared    (p, p) V
    root      (p, p) R, R R' = V
    """

    mean: Array
    packing: RowPacking
    within: Array
    loadings: Array
    shared: Array
    root: Array

    @property
    def variances(self) -> Array:
        """(b, m) diagonals of K."""
        return np.diagonal(self.within, axis1=1, axis2=2)


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Unknowns that became known in g blocks at once, up to w in each: rows of H and [z y]; see `KnownRows`.

    blocks  (g,)
    own     (g, w, m)
    half    (g, w, p + 1)
    there   (g, w) False for rows beyond the block's number
    """

    blocks: Integers
    own: Array
    half: Array
    there: Booleans


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """Unknowns that became known since the start, in the rows that they take in each block, up to w of them.

        H = L^-1 K_known,  [z y] = L^-1 [Z_known, values - mean],  L L' = K_known,known

    places, values  (k,) all places and values; later ones take precedence
    open       (b, m) rows that are not certain
    count      (b,) number of rows of H in use
    precision  (p + 1, p + 1) sum of [z y]' [z y]: precision of the shared effects, and precision times their mean
    own        (b, w, m) H, 0 in rows not in use
    half       (b, w, p + 1) [z y], likewise
    """

    places: Integers
    values: Array
    open: Booleans
    count: Integers
    precision: Array
    own: Array
    half: Array

    @classmethod
    def nothing(cls, start: WrittenOut) -> "KnownRows":
        blocks, size, effects = start.loadings.shape
        none = np.empty(0, dtype=np.int64)
        before = np.empty((blocks, 0, size)), np.empty((blocks, 0, effects + 1), start.loadings.dtype)
        count = np.zeros(blocks, dtype=np.int64)
        return cls(none, np.empty(0), start.variances > 0, count, np.zeros((effects + 1,) * 2), *before)

    def and_more(self, places: Integers, values: Array, rows: Integers, seen: NewRows) -> "KnownRows":
        """The same with further unknowns; `rows` (k,), among all b m, are no longer open."""
        count = self.count.copy()
        count[seen.blocks] += seen.there.sum(axis=1)
        left = self.open.copy()
        left.ravel()[rows] = False
        # K and Z stay as at the start: writing them again would cost b m^2 numbers a step, and a copy per campaign.
        every = np.concatenate([self.places, places]), np.concatenate([self.values, values])
        own, half = (_wider(of, int(count.max(initial=0))) for of in (self.own, self.half))
        block, step = np.nonzero(seen.there)
        place = self.count[seen.blocks[block]] + step
        own[seen.blocks[block], place], half[seen.blocks[block], place] = seen.own[seen.there], seen.half[seen.there]
        more = seen.half[seen.there]
        return KnownRows(*every, left, count, self.precision + more.T @ more, own, half)


def _wider(of: Array, width: int) -> Array:
    """A copy of (b, w, ...) with more rows in place of w; the new ones are 0."""
    found = np.zeros((len(of), max(width, of.shape[1]), of.shape[2]), of.dtype)
    found[:, : of.shape[1]] = of
    return found


@dataclass(frozen=True, slots=True, eq=False)
class SumParts:
    """Parts of weighted sums that conditioning updates.

    weights   the sums; referenced here so that no other object can get their identity
    shares    (b, m, s) the weights W, written out
    covered   (b, m, s) K W' at the start
    within    (s, s) sum over the blocks of W K W'
    loadings  (s, p) W Z
    mean      (s,) if the shared effects are 0
    """

    weights: Sparse
    shares: Array
    covered: Array
    within: Array
    loadings: Array
    mean: Array

    def without(self, blocks: Integers, own: Array, half: Array) -> "SumParts":
        """The same after some unknowns became known; arguments as in `NewRows`."""
        # Only parts of newly known rows are subtracted: the cost depends on their number, not on n.
        shares = self.shares if len(blocks) == len(self.shares) else self.shares[blocks]
        moved = (own @ shares).reshape(-1, len(self.mean))
        both = moved.astype(half.dtype).T @ half.reshape(-1, half.shape[2])
        within, loadings = self.within - moved.T @ moved, self.loadings - both[:, :-1]
        return replace(self, within=within, loadings=loadings, mean=self.mean + both[:, -1])


ROOM = 2**28  # bytes that the loadings and the covariances within blocks may take, written out
WASTE = 2  # largest ratio of the padded size to the size of the blocks
REPACK = 0.75  # blocks are repacked when the largest has less than this share of its unknowns left
ROWS_AT_ONCE = 1_000  # rows whose loadings fit into the processor's cache


@dataclass(frozen=True, eq=False)
class EvenBlocks:
    """The distribution of a `BlockNormal`, as fast to condition on a thousand unknowns as on ten.

        K_b' = K_b - H' H,  Z_b' = Z_b - H' [z]

    All blocks have the same number of rows, so that each step is a few products of stacked matrices instead of a few
    calls per block. Conditioning adds rows to H and [z]; K and Z are never rewritten, and all distributions from one
    start share them. Moments of sums, which decide whether a simulated campaign is over, need no pass through all
    unknowns. Methods that such campaigns do not use go through `whole`.

    blocks  for each block the places of its unknowns
    """

    blocks: Sequence[Integers]
    _start: WrittenOut
    _known: KnownRows
    _sums: dict[int, SumParts]
    _about: Array | None = None  # means to state instead

    correlated = True

    @classmethod
    def of(cls, normal: "BlockNormal | EvenBlocks") -> "EvenBlocks | None":
        """The same distribution; None if padding would take too much memory."""
        if isinstance(normal, EvenBlocks):
            return normal.packed
        size, effects = max(map(len, normal.blocks), default=0), len(normal.shared)
        rows = size * len(normal.blocks)
        if rows * (size + effects) * 8 > ROOM or rows > WASTE * len(normal.mean):
            return None
        packing = RowPacking.of(list(normal.blocks), len(normal.mean))
        within = np.zeros((*packing.place.shape, size))
        loadings = np.zeros((*packing.place.shape, effects), precision_of(rows * effects))
        for block, (own, parts) in enumerate(zip(normal.within, normal.sparse_loadings, strict=True)):
            within[block, : len(own), : len(own)] = own
            loadings[block, : len(own)] = parts
        start = WrittenOut(normal.mean, packing, within, loadings, normal.shared, factor_of(normal.shared))
        return cls(normal.blocks, start, KnownRows.nothing(start), {})

    @property
    def _size(self) -> int:
        return int(self._start.packing.place.shape[1])

    @cached_property
    def _inner(self) -> Array:
        """(p, p) factor of the precision of the shared effects, in units of their root at the start."""
        # As H' H, from a root of V, the covariance cannot become indefinite; V (I + P V)^-1 can, by rounding.
        return inner_factor(self._start.root, self._known.precision[:-1, :-1])

    @cached_property
    def _half(self) -> Array:
        """(p, p) H, with H' H the covariance of the shared effects."""
        return half_times(self._inner, self._start.root.T)

    @cached_property
    def _moved(self) -> Array:
        """(p,) change of the mean of the shared effects."""
        root, inner = self._start.root, self._inner
        half = half_times(inner, root.T @ self._known.precision[:-1, -1])
        return np.asarray(root @ solve_triangular(inner, half, lower=True, trans=1, check_finite=False))

    @cached_property
    def shared(self) -> Array:
        """(p, p) V."""
        return np.asarray(self._half.T @ self._half) if len(self._known.places) else self._start.shared

    @cached_property
    def mean(self) -> Array:
        if self._about is not None:
            return self._about
        start, known, moved = self._start, self._known, self._moved
        change = (start.loadings @ moved.astype(start.loadings.dtype)).astype(np.float64)
        left = known.half[:, :, -1] - known.half[:, :, :-1] @ moved.astype(known.half.dtype)
        change += np.matvec(known.own.transpose(0, 2, 1), left)
        mean: Array = start.mean + start.packing.spread(change)
        mean[known.places] = known.values
        return mean

    def _parts(self, block: int, rows: Integers) -> tuple[Array, Array]:
        """(k, k) K and (k, p) Z for some rows of a block; exactly 0 for certain unknowns."""
        own, known = self._known.own[block][:, rows], self._known
        within = self._start.within[block][np.ix_(rows, rows)] - own.T @ own
        loadings = self._start.loadings[block][rows] - own.T @ known.half[block, :, :-1]
        # The difference above leaves rounding errors; certainty is recognised by exact zeros.
        gone = ~known.open[block][rows]
        within[gone] = within[:, gone] = loadings[gone] = 0
        return within, loadings

    @cached_property
    def whole(self) -> BlockNormal:
        """The same distribution as a `BlockNormal`."""
        inside, own, effects = np.empty(len(self.mean), dtype=np.int64), list[Array](), list[Array]()
        for number, (rows, place) in enumerate(zip(self.blocks, self._start.packing.place, strict=True)):
            inside[rows] = np.arange(len(rows))
            here = np.flatnonzero(place < len(self.mean))
            at = inside[place[here]]
            own.append(np.zeros((len(rows), len(rows))))
            effects.append(np.zeros((len(rows), len(self.shared))))
            own[-1][np.ix_(at, at)], effects[-1][at] = self._parts(number, here)
        return BlockNormal(self.mean, self.blocks, tuple(own), tuple(effects), self.shared)

    @cached_property
    def packed(self) -> "EvenBlocks":
        """The same distribution without the rows of certain unknowns, if that makes the blocks much smaller."""
        start, left = self._start, self._known.open
        most = int(left.sum(axis=1).max(initial=0))
        # Every step pays for the largest block, known rows included; packing costs a pass through all of K and Z.
        if most >= REPACK * self._size:
            return self
        place = start.packing.place
        packing = RowPacking.of([rows[own] for rows, own in zip(place, left, strict=True)], len(self.mean))
        row = np.concatenate([start.packing.row, [-1]])[packing.place]  # rows in the previous packing
        block, row = np.arange(len(place))[:, None], np.where(row < 0, 0, row % self._size)
        there = packing.place < len(self.mean)
        own = np.take_along_axis(self._known.own, row[:, None, :], axis=2)
        within = start.within[block[:, :, None], row[:, :, None], row[:, None, :]] - own.transpose(0, 2, 1) @ own
        within *= there[:, :, None] & there[:, None, :]
        kind = start.loadings.dtype
        known = own.transpose(0, 2, 1).astype(kind) @ self._known.half[:, :, :-1]
        loadings = (start.loadings[block, row] - known) * there[:, :, None]
        begun = WrittenOut(self.mean, packing, within, loadings, self.shared, self._half.T)
        sums = {
            key: replace(
                one,
                shares=(shares := one.shares[block, row] * there[:, :, None]),
                covered=(within @ shares).astype(kind),
                mean=one.mean + one.loadings @ self._moved,
            )
            for key, one in self._sums.items()
        }
        return EvenBlocks(self.blocks, begun, KnownRows.nothing(begun), sums)

    @property
    def block(self) -> Integers:
        return self.whole.block

    @cached_property
    def variance(self) -> Array:
        start, known = self._start, self._known
        found = start.variances - np.einsum("bwm,bwm->bm", known.own, known.own)
        # z' V z as the squared length of L' z: half the work of a full product, and never below 0.
        root = lower_root(self._half).astype(start.loadings.dtype)
        for some, loadings in self._strips():
            effects = times_lower(loadings.reshape(-1, len(root)), root)
            found[some] += np.vecdot(effects, effects).reshape(-1, self._size)
        return np.maximum(0, start.packing.spread(np.where(known.open, found, 0)))

    def _strips(self) -> Iterator[tuple[slice, Array]]:
        """Z of a few blocks at a time, small enough for the processor's cache."""
        start, known, kind = self._start, self._known, self._start.loadings.dtype
        own, half = known.own.transpose(0, 2, 1).astype(kind), known.half[:, :, :-1]
        step = max(1, ROWS_AT_ONCE // self._size)
        for first in range(0, len(own), step):
            some = slice(first, first + step)
            loadings = start.loadings[some]
            yield some, loadings - own[some] @ half[some] if own.shape[2] else loadings

    def across(self, weights: Sparse) -> Array:
        """(s, n) covariance of weighted sums with each unknown."""
        start, known, kept, kind = self._start, self._known, self._kept(weights), self._start.loadings.dtype
        effects, shape = self.shared @ kept.loadings.T, kept.shares.shape
        every = np.empty((shape[0] * shape[1] + 1, shape[2]), kind)
        flat, found = every[:-1], every[:-1].reshape(shape)
        np.matmul(start.loadings.reshape(len(flat), -1), effects.astype(kind), out=flat)
        found += kept.covered
        if known.own.shape[1]:
            own = known.own.astype(kind)
            more = own @ kept.shares.astype(kind) + known.half[:, :, :-1] @ effects.astype(kind)
            found -= own.transpose(0, 2, 1) @ more
        found[~known.open] = 0
        every[-1] = 0  # value for unknowns without a row
        return every.take(start.packing.row, axis=0).T

    def project(self, weights: Sparse) -> Moments:
        """Moments of weighted sums; see `MultivariateNormal`."""
        kept = self._kept(weights)
        loaded = half_times(self._inner, self._start.root.T @ kept.loadings.T)
        covariance = kept.within + loaded.T @ loaded
        covariance = (covariance + covariance.T) / 2
        np.fill_diagonal(covariance, np.maximum(0, np.diagonal(covariance)))
        mean = kept.mean + kept.loadings @ self._moved if self._about is None else weights @ self._about
        return Moments(mean, covariance)

    def _kept(self, weights: Sparse) -> SumParts:
        found = self._sums.get(id(weights))
        if found is None or found.weights is not weights:  # identities of objects differ between processes
            start, known = self._start, self._known
            shares = start.packing.taken(weights.toarray().T)
            covered = start.within @ shares
            own = np.tensordot(shares, covered, ((0, 1), (0, 1)))
            effects = np.tensordot(shares, start.loadings, ((0, 1), (0, 1)))
            covered = covered.astype(start.loadings.dtype)
            begun = SumParts(weights, shares, covered, own, effects, weights @ start.mean)
            every = np.arange(len(known.own))
            found = self._sums[id(weights)] = begun.without(every, known.own, known.half)
        return found

    def condition_all(self, places: Integers, values: Array) -> "EvenBlocks":
        """Distribution given the values of several unknowns; see `BlockNormal.condition_all`."""
        if len(np.unique(places)) != len(places) or len(values) != len(places):
            raise InputError(f"places must differ and have a value each, got {len(places)} and {len(values)} values")
        row = self._start.packing.row[places]
        # An unknown that was certain before carries no information on the others, and would make K_b singular.
        new = np.where(row < 0, False, self._known.open.ravel()[row])
        # By row, so that the rows of a block are adjacent and all blocks are conditioned in one stacked solve.
        order = np.flatnonzero(new)[np.argsort(row[new], kind="stable")]
        seen = self._seen_in(row[order], (values - self._start.mean[places])[order])
        known = self._known.and_more(places, values, row[order], seen)
        sums = {key: one.without(seen.blocks, seen.own, seen.half) for key, one in self._sums.items()}
        # A certain unknown takes its new value without informing others, so only the sums that contain it move.
        if not new.all():
            set_, moved = places[~new], (values - self.mean[places])[~new]
            sums = {key: replace(one, mean=one.mean + one.weights[:, set_] @ moved) for key, one in sums.items()}
        return EvenBlocks(self.blocks, self._start, known, sums)

    def _seen_in(self, rows: Integers, off: Array) -> NewRows:
        """Rows that become known, (k,) rising among all b m, and (k,) their values less the means at the start."""
        start, known = self._start, self._known
        number, row = np.divmod(rows, self._size)
        blocks, first, count = np.unique(number, return_index=True, return_counts=True)
        step = np.arange(count.max(initial=0))
        there = step < count[:, None]
        at = np.where(there, first[:, None] + step, 0)
        row, off = np.where(there, row[at], 0), np.where(there, off[at], 0)
        across, kind = start.within[blocks[:, None], row], start.loadings.dtype
        seen = np.concatenate([start.loadings[blocks[:, None], row], off[:, :, None].astype(kind)], axis=2)
        if known.own.shape[1]:
            every = len(blocks) == len(known.own)
            own, half = (of if every else of[blocks] for of in (known.own, known.half))
            before = np.take_along_axis(own, row[:, None, :], axis=2).transpose(0, 2, 1)
            across -= before @ own
            seen -= before.astype(kind) @ half
        across *= there[:, :, None]
        seen *= there[:, :, None]
        among = np.take_along_axis(across, row[:, None, :], axis=2) * there[:, None, :]
        among[:, step, step] += ~there  # unused rows pass through the factor without effect
        variance = np.where(there, start.variances[blocks[:, None], row], 1)
        root = np.linalg.inv(known_root(among, variance))
        return NewRows(blocks, root @ across, root.astype(kind) @ seen, there)

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

    def moved(self, mean: Array) -> "EvenBlocks":
        return replace(self, _about=mean)

    def scaled(self, mean: Array, factors: Array) -> BlockNormal:
        return self.whole.scaled(mean, factors)

    def draw(self, rng: np.random.Generator, count: int, closer: float = 1.0) -> Iterator[tuple[Integers, Array]]:
        return self.whole.draw(rng, count, closer)
