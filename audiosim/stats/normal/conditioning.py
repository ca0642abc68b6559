"""Conditioning of one block of a multivariate normal that shares effects with other blocks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dtrtrs

from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.loadings import Changed, MixedRows
from audiosim.stats.normal.roots import ROUNDING, known_root

WRITTEN_OUT = 2**14  # numbers; with a hundred people the rows of one query are more, and those of a state 40 MB
ROWS_AT_ONCE = 1_024  # known values with precisions that are added in one product


@dataclass(frozen=True, slots=True, eq=False)
class SeenValues:
    """k values that were observed in a block, and their information on the shared effects.

    factor     (k, k) lower Cholesky factor of their covariance, without the shared effects
    loadings   (k, p) their loadings on the shared effects; sparse if they are more than WRITTEN_OUT numbers
    distance   (k,) their distances from their means, divided by the factor
    """

    factor: Array
    loadings: Array | sparse.csr_array
    distance: Array

    @classmethod
    def of(cls, own: Array, loadings: Array, off: Array) -> "SeenValues":
        """Values by their covariance (k, k), noise included, loadings (k, p), and distances from their means (k,)."""
        factor = np.asarray(cholesky(own, lower=True))
        kept = loadings if loadings.size <= WRITTEN_OUT else sparse.csr_array(loadings)
        return cls(factor, kept, solve_triangular(factor, off, lower=True))

    @property
    def whitened(self) -> Array:
        """(k, p + 1) loadings and distances of the values, divided by the factor.

        Its square is the precision of the shared effects, and precision times mean.
        """
        # Not kept: divided loadings are no longer sparse, and with a hundred people those of a state take 40 MB.
        loadings = self.loadings if isinstance(self.loadings, np.ndarray) else self.loadings.toarray()
        return np.column_stack([solve_triangular(self.factor, loadings, lower=True), self.distance])

    @property
    def precision(self) -> Array:
        """(p, p + 1) precision of the shared effects, then one column: precision times mean."""
        whitened = self.whitened
        return np.asarray(whitened[:, :-1].T @ whitened)


@dataclass(frozen=True, slots=True, eq=False)
class ConditionedBlock:
    """Block conditioned on k values.

    within     (m, m) conditional K_b
    loadings   conditional rows of Z: (m, p), or as factors if that would be more than WRITTEN_OUT numbers
    shift      (m,) change of the means, given shared effects of 0
    seen       the values
    """

    within: Array
    loadings: Changed
    shift: Array
    seen: SeenValues


def condition_block(within: Array, loadings: Array, across: Array, seen: SeenValues) -> ConditionedBlock:
    """Condition a block of m unknowns on k values that are correlated with them, or are some of them.

    within    (m, m) K_b
    loadings  (m, p) rows of Z
    across    (k, m) covariance of the values with the unknowns, without the shared effects
    """
    # Everything is conditional on the shared effects, so no other block enters. With the precision this is exact:
    # p(unknowns | values) integrates p(unknowns | values, effects) over p(effects | values).
    half = solve_triangular(seen.factor, across, lower=True)
    gain = np.ascontiguousarray(solve_triangular(seen.factor, half, lower=True, trans="T").T)
    mixed = MixedRows(gain, seen.loadings, np.empty(0, dtype=np.int64))
    left = mixed if loadings.size > WRITTEN_OUT else mixed.of(loadings)
    return ConditionedBlock(within - half.T @ half, left, half.T @ seen.distance, seen)


def by_number(numbers: Integers) -> list[Integers]:
    """Places of equal numbers grouped together, by number."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


@dataclass(frozen=True, slots=True, eq=False)
class KnownPart:
    """Block in which k unknowns became known, and their information on the shared effects.

    within    (m, m) conditional K_b
    shift     (m,) change of the means, given shared effects of 0
    gain      (m, k) regression of the unknowns on the known ones
    whitened  (k, p + 1) loadings and distances from the mean, divided by the Cholesky factor of the known ones'
              covariance: its square is the precision of the shared effects, and precision times mean
    """

    within: Array
    shift: Array
    gain: Array
    whitened: Array


def with_known(within: Array, new: Integers, loadings: Array, off: Array) -> KnownPart:
    """Condition a block of m unknowns on k of them.

    within    (m, m) K_b
    new       (k,) places of the known ones, none of them certain before
    loadings  (k, p) their loadings on the shared effects
    off       (k,) their values minus their means

    The result equals that of `condition_block`, which also takes noisy values. This needs one solve: with many small
    blocks, most time goes into calls.
    """
    across, size = within[new], len(within)
    root = known_root(across[:, new], np.diagonal(within)[new])
    halves, _ = dtrtrs(root, np.column_stack([across, loadings, off]), lower=1)
    own = np.ascontiguousarray(halves[:, :size])
    gain, _ = dtrtrs(root, own, lower=1, trans=1)
    # A product of a matrix with itself is symmetric to the last digit.
    return KnownPart(within - own.T @ own, own.T @ halves[:, -1], gain.T, halves[:, size:])


def certain_now(
    before: Array, after: Array, loadings_of: Callable[[Integers], Array], new: Integers, gain: Array
) -> Integers:
    """(c,) places of a block that are certain: the k known ones, and unknowns perfectly correlated with them.

    before, after  (m, m) K_b without and with the known ones
    loadings_of    function that gives rows of Z (c, p), before, at some places
    gain           (m, k) regression of the unknowns on the known ones
    """
    # Both parts must vanish: a block part near 0 with loadings left over is still uncertain through the shared effects.
    was = np.diagonal(before)
    close = (was > 0) & (np.diagonal(after) <= ROUNDING * was)
    close[new] = False
    near = np.flatnonzero(close)
    if not len(near):
        return new
    own = loadings_of(near)
    left = own - gain[near] @ loadings_of(new)
    gone = np.vecdot(left, left) <= ROUNDING * np.vecdot(own, own)
    return np.concatenate([new, near[gone]])


def cleared(within: Array, places: Integers) -> Array:
    """K_b with the rows and columns of certain unknowns set to 0, in place."""
    within[places] = within[:, places] = 0
    return within


def summed_precision(parts: Iterable[Array], effects: int) -> Array:
    """(p, p + 1) precision of the shared effects, then precision times mean, from `whitened` rows of known parts."""
    found = np.zeros((effects + 1, effects + 1))
    # Several parts per product: one product for each block is mostly overhead, one for all copies every row.
    left = iter(parts)
    while some := list(_rows_of(left, ROWS_AT_ONCE)):
        rows = np.concatenate(some)
        found += rows.T @ rows  # a product with itself takes half the time
    return found[:-1]


def _rows_of(parts: Iterator[Array], count: int) -> Iterator[Array]:
    """The next parts, until they have so many rows."""
    for part in parts:
        yield part
        if (count := count - len(part)) <= 0:
            return


# Cholesky factor of the covariance of unknowns in an order, which grows as unknowns are added at the end.


STEP = 32  # unknowns added at once


@dataclass(frozen=True, slots=True, eq=False)
class OrderedFactor:
    """Cholesky factor of the covariance of unknowns in an order.

    A campaign needs it after each judgment, for the same unknowns and one more.

    places  (k,) places of the unknowns
    root    (k, k) lower triangular; the first i rows and columns are the factor of the first i unknowns
    """

    places: Integers
    root: Array

    def followed(self, places: Integers, between: Callable[[Integers, Integers], Array]) -> "OrderedFactor":
        """The factor of these unknowns, computed from the steps of this factor that share the same first unknowns.

        places   (k,) different
        between  covariance (m, k) of some unknowns (m,) with others (k,)
        """
        # Steps start at fixed places, and only whole ones are reused: so the result has the same digits whether the
        # unknowns were added one by one or at once.
        length = min(len(self.places), len(places))
        other = np.flatnonzero(self.places[:length] != places[:length])
        same = int(other[0] if len(other) else length) // STEP * STEP
        root = np.zeros((len(places), len(places)))
        root[:same, :same] = self.root[:same, :same]
        for start in range(same, len(places), STEP):
            stop = min(start + STEP, len(places))
            covariance = between(places[start:stop], places[:stop])
            root[start:stop, :start] = solve_triangular(root[:start, :start], covariance[:, :start].T, lower=True).T
            left = covariance[:, start:] - root[start:stop, :start] @ root[start:stop, :start].T
            root[start:stop, start:stop] = cholesky(left, lower=True)
        return OrderedFactor(places, root)

    def predictions(self, values: Array, mean: Array) -> tuple[Array, Array]:
        """(k,) mean and (k,) standard deviation of each unknown given the values (k,) of those before it.

        mean  (k,) mean of each unknown before any value is known
        """
        deviation = np.diagonal(self.root)
        innovation = solve_triangular(self.root, values - mean, lower=True)
        return np.asarray(values - deviation * innovation), np.asarray(deviation)


NO_FACTOR = OrderedFactor(np.empty(0, dtype=np.int64), np.empty((0, 0)))
