"""Rows of blocks padded to one size: the unknowns in them, and those that became known."""

from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.properties import cached_property
from audiosim.stats.normal.multivariate import Sparse


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
        row = np.full(count + 1, -1)
        row[place.ravel()] = np.arange(place.size)
        return cls(place, row[:count])

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


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Unknowns that became known since the start, in the rows that they take in each block, up to w of them.

        H = L^-1 K_known,  [z y] = L^-1 [Z_known, values - mean],  L L' = K_known,known

    places, values  (k,) all places and values; later ones take precedence
    open       (b, m) rows that are not certain
    count      (b,) number of rows of H in use
    precision  (p + 1, p + 1) sum of [z y]' [z y]: precision of the shared effects, and precision times their mean
    before     (b, w', m) H and (b, w', p + 1) [z y] before the newest rows
    newest     the latest rows; None if there are none
    """

    places: Integers
    values: Array
    open: Booleans
    count: Integers
    precision: Array
    before: tuple[Array, Array]
    newest: NewRows | None = None

    @classmethod
    def nothing(cls, start: WrittenOut) -> "KnownRows":
        blocks, size, effects = start.loadings.shape
        none = np.empty(0, dtype=np.int64)
        before = np.empty((blocks, 0, size)), np.empty((blocks, 0, effects + 1), start.loadings.dtype)
        count = np.zeros(blocks, dtype=np.int64)
        return cls(none, np.empty(0), start.variances > 0, count, np.zeros((effects + 1,) * 2), before)

    @cached_property
    def _together(self) -> tuple[Array, Array]:
        """H and [z y] with the newest rows, merged only on request: scores, as in a bisection, need neither."""
        if self.newest is None:
            return self.before
        block, there = np.broadcast_to(self.newest.blocks[:, None], self.newest.there.shape), self.newest.there
        width = int(self.count.max(initial=0))
        own, half = (_wider(of, width) for of in self.before)
        place = (self.count[block] - there.sum(axis=1, keepdims=True) + np.arange(there.shape[1]))[there]
        own[block[there], place], half[block[there], place] = self.newest.own[there], self.newest.half[there]
        return own, half

    @property
    def own(self) -> Array:
        """(b, w, m) H, 0 in rows not in use."""
        return self._together[0]

    @property
    def half(self) -> Array:
        """(b, w, p + 1) [z y], likewise."""
        return self._together[1]

    def and_more(self, places: Integers, values: Array, rows: Integers, seen: NewRows) -> "KnownRows":
        """The same with further unknowns; `rows` (k,), among all b m, are no longer open."""
        count = self.count.copy()
        count[seen.blocks] += seen.there.sum(axis=1)
        left = self.open.copy()
        left.ravel()[rows] = False
        # K and Z stay as at the start: writing them again would cost b m^2 numbers a step, and a copy per campaign.
        every = np.concatenate([self.places, places]), np.concatenate([self.values, values])
        more = seen.half[seen.there]
        return KnownRows(*every, left, count, self.precision + more.T @ more, self._together, seen)


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
