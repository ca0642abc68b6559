"""Symmetrised Kullback-Leibler divergence of many Gaussians by matrix products: all pairs, or the nearest."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError
from audiosim.sound.gaussians import RowTable, Singles, from_rows, triangles, upper_triangle
from audiosim.stats.arrays import Array, Booleans, Integers, Precision
from audiosim.stats.threads import spread_on_threads

Reals = NDArray[np.float32 | np.float64]
FloatKind = np.dtype[np.float32 | np.float64]

BLOCK = 640  # rows and columns of a tile: large enough for the product, small enough for the cache
PADDING = 16
CHUNK = 256  # pairs evaluated from differences together
PACKED = 1024  # Gaussians packed together
ROUNDING = 16  # largest error of an inner product, in roundings of the product of the two lengths
ACCURACY = 1e-4  # relative error above which an entry is evaluated again
FAR = 1e15  # length of a side with products near the limit of single precision
TOO_DIFFERENT = "covariances are too far apart in size to be compared"


@dataclass(frozen=True, slots=True, eq=False)
class Whitener:
    """Affine map of all Gaussians, which leaves their divergences unchanged.

    shift    (d,) point that goes to 0
    stretch  (d, d) W, with W C W' = I for an average covariance C
    scale    t, a power of 2: about the root of the length of S + m m' after that
    """

    shift: Array
    stretch: Array
    scale: float

    @classmethod
    def of(cls, rows: Singles, dimension: int) -> Self:
        """Whitener by the mean of the means and the mean of the covariances."""
        means, covariances = from_rows(rows, dimension)
        check_definite(means, covariances)
        stretch = np.linalg.inv(np.linalg.cholesky(covariances.mean(axis=0)))
        lengths = np.sum(((means - means.mean(axis=0)) @ stretch.T) ** 2, axis=1) + np.sqrt(dimension)
        return cls(means.mean(axis=0), stretch, float(2 ** np.round(np.log2(np.median(lengths)) / 2)))


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Gaussians laid out so that their divergences are inner products.

    rows      (n, width)  the Gaussians themselves
    whitener  applied first, which keeps the inner products small
    sides     (n, 2 w + 2), w = d(d+1)/2 + d + 1, single precision: A, B and their lengths |A|, |B|
    precise   the same in double precision; None if there are too many to hold it

        A = (P t, -2 P m, (m'P m - d) / t) / 2    P the inverse of the covariance S, m the mean
        B = ((S + m m') / t, m, t)

    A symmetric matrix is stored as its upper triangle; in A, entries off the diagonal count twice. The scale t makes
    the three parts similar in size, so that |A| |B| is nearly minimal, and cancels:
    A_i . B_j = (tr(P_i S_j) + (m_j - m_i)'P_i (m_j - m_i) - d) / 2  and  A_i . B_i = 0.
    """

    rows: RowTable
    whitener: Whitener
    sides: Singles
    precise: Array | None = None

    def __len__(self) -> int:
        return len(self.sides)

    def exact(self, places: Integers | slice) -> Array:
        """Some of the sides in double precision."""
        if self.precise is not None:
            return self.precise[places]
        return packed_sides(self.rows[places], self.whitener)

    def exact_pairs(self, i: Integers, j: Integers) -> tuple[Array, Array]:
        """The sides of some pairs in double precision, each Gaussian packed once."""
        if self.precise is not None:
            return self.precise[i], self.precise[j]
        items, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        fine = self.exact(items)
        return fine[place[: len(i)]], fine[place[len(i) :]]


def pack(rows: Singles, dimension: int) -> Packed:
    """Gaussians packed in memory, in single and double precision."""
    if len(rows) == 0:
        empty = np.empty((0, dimension * (dimension + 1) + 2 * dimension + 4))
        return Packed(rows, Whitener(np.zeros(dimension), np.eye(dimension), 1.0), empty.astype(np.float32), empty)
    whitener = Whitener.of(rows, dimension)
    starts = range(0, len(rows), PACKED)
    precise = np.concatenate(
        spread_on_threads(lambda start: packed_sides(rows[start : start + PACKED], whitener), starts)
    )
    return Packed(rows, whitener, precise.astype(np.float32), precise)


def packed_sides(rows: Singles, whitener: Whitener) -> Array:
    """A, B and their lengths for some rows: (n, 2 w + 2); see `Packed`.

    Each depends on its own row alone, to the last bit: equal rows have equal sides.
    """
    d, stretch, t = len(whitener.shift), whitener.stretch, whitener.scale
    means, covariances = from_rows(rows, d)
    s = stretch @ covariances @ stretch.T
    try:
        roots = np.linalg.inv(np.linalg.cholesky(s))
    except np.linalg.LinAlgError:
        check_definite(means, covariances)
        raise InputError(TOO_DIFFERENT) from None
    m = (stretch @ (means - whitener.shift)[:, :, None])[:, :, 0]
    rm = (roots @ m[:, :, None])[:, :, 0]
    pm = (np.swapaxes(roots, 1, 2) @ rm[:, :, None])[:, :, 0]
    twice = np.where(np.equal(*upper_triangle(d)), 0.5, 1.0)
    p = triangles(np.swapaxes(roots, 1, 2) @ roots)
    a = np.column_stack([p * twice * t, -pm, (np.sum(rm * rm, axis=1) - d) / (2 * t)])
    b = np.column_stack([triangles(s + m[:, :, None] * m[:, None, :]) / t, m, np.full(len(m), t)])
    lengths = np.sqrt(np.column_stack([np.sum(a * a, axis=1), np.sum(b * b, axis=1)]))
    if not (lengths < FAR).all():
        raise InputError(TOO_DIFFERENT)
    return np.column_stack([a, b, lengths])


def check_definite(means: Array, covariances: Array) -> None:
    """Refuse invalid Gaussians; the message names the worst one by its place."""
    if not np.isfinite(means).all():
        raise InputError("means must be finite")
    try:
        np.linalg.cholesky(covariances)
        definite = bool(np.isfinite(covariances).all())
    except np.linalg.LinAlgError:
        definite = False
    if not definite:
        finite: Booleans = np.isfinite(covariances.sum(axis=(1, 2)))
        smallest = np.linalg.eigvalsh(np.where(finite[:, None, None], covariances, 0.0))[:, 0]
        worst = int(np.argmin(np.where(finite, smallest, -np.inf)))
        raise InputError(f"covariance {worst} must be finite and positive definite")


def kullback_leibler_divergence(
    packed: Packed, rows: Integers | None = None, columns: Integers | None = None, precision: Precision = "single"
) -> Reals:
    """Symmetrised Kullback-Leibler divergence of Gaussians, in nats.

        KL(i || j) + KL(j || i)  =  A_i . B_j + A_j . B_i  =  -(A_i - A_j) . (B_i - B_j)

    packed     the Gaussians
    rows       (r,) places among them; None: all
    columns    (c,) likewise
    precision  precision of the products and of the result

    (r, c), never negative, 0 for a Gaussian and itself, exactly symmetric where rows and columns are the
    same. The middle form is one matrix product, but cancels where a divergence is small against the
    lengths |A_i| |B_j| + |B_i| |A_j|; where that could cost more than a relative 1e-4, the last form is
    evaluated in double precision. Beyond the result it holds a few tiles in memory.
    Kullback & Leibler (1951), doi:10.1214/aoms/1177729694, where it is J(1, 2).
    """
    if len(_places(packed, rows)) < len(_places(packed, columns)):
        return kullback_leibler_divergence(packed, columns, rows, precision).T  # the longer side is read without a copy
    symmetric = _same(rows, columns)
    i, j = _places(packed, rows), _places(packed, columns)
    result: Reals = np.empty((len(i), len(j)), np.float32 if precision == "single" else np.float64)

    def fill(left: int) -> None:
        _fill(packed, i, j, slice(left, min(len(j), left + BLOCK)), symmetric, result)

    spread_on_threads(fill, range(0, len(j), BLOCK)[::-1])  # longest first: threads end together
    return result


def _fill(packed: Packed, i: Integers, j: Integers, strip: slice, symmetric: bool, result: Reals) -> None:
    """Fill some columns of the result; if it is symmetric, down to their own rows, and the same rows."""
    across = _across(_chosen(packed, j[strip], result.dtype))
    width, end = across.shape[1], strip.start if symmetric else len(i)
    height = max(BLOCK, BLOCK * BLOCK // width)
    # The memory of a tile stays in cache; a few more columns keep its rows from sharing cache lines.
    memory = np.empty((max(width, min(height, end)), width + PADDING), result.dtype)[:, :width]
    for top in range(0, end, height):
        rows = slice(top, min(end, top + height))
        tile = np.matmul(
            _chosen(packed, i[rows], result.dtype)[:, : len(across)], across, out=memory[: rows.stop - top]
        )
        _refine(packed, tile, i[rows], j[strip])
        result[rows, strip] = tile
        if symmetric:
            result[strip, rows] = tile.T
    if symmetric:
        result[strip, strip] = _own_tile(packed, j[strip], memory[:width])


def pairs(packed: Packed, i: Integers, j: Integers) -> Array:
    """(n,) divergences of some pairs in double precision, without cancellation."""
    result = np.empty(len(i))
    for start in range(0, len(i), CHUNK):
        chunk = slice(start, start + CHUNK)
        result[chunk] = of_sides(*packed.exact_pairs(i[chunk], j[chunk]))
    return result


def of_sides(first: Array, second: Array) -> Array:
    """(n,) divergences of paired sides, one by one."""
    w = first.shape[1] // 2 - 1
    difference = first[:, : 2 * w] - second[:, : 2 * w]
    divergences: Array = np.maximum(0.0, -np.einsum("nk,nk->n", difference[:, :w], difference[:, w:]))
    return np.abs(divergences)  # turns -0.0 into 0.0


def doubt(kind: FloatKind) -> float:
    """Upper bound of the error of an inner product A . B, relative to |A| |B|."""
    return ROUNDING * float(np.finfo(kind).eps) / 2


def _same(rows: Integers | None, columns: Integers | None) -> bool:
    if rows is None or columns is None:
        return rows is columns
    return rows is columns or np.array_equal(rows, columns)


def _places(packed: Packed, chosen: Integers | None) -> Integers:
    return np.arange(len(packed)) if chosen is None else chosen


def _chosen(packed: Packed, places: Integers, kind: FloatKind) -> Reals:
    """Some sides; a view if they are adjacent."""
    run = slice(places[0], places[-1] + 1)
    if len(places) == run.stop - run.start and (np.diff(places) == 1).all():
        return packed.sides[run] if kind == np.float32 else packed.exact(run)
    return packed.sides[places] if kind == np.float32 else packed.exact(places)


def _across(block: Reals) -> Reals:
    """B and A of some sides, as columns: (2 w, n), to be multiplied with A and B of others."""
    w = block.shape[1] // 2 - 1
    return np.ascontiguousarray(np.concatenate([block[:, w : 2 * w], block[:, :w]], axis=1).T)


def _own_tile(packed: Packed, places: Integers, memory: Reals) -> Reals:
    """A B' + (A B')' of a block with itself, at half the work."""
    block = _chosen(packed, places, memory.dtype)
    w = block.shape[1] // 2 - 1
    np.matmul(block[:, :w], block[:, w : 2 * w].T, out=memory)
    tile = memory + memory.T
    np.fill_diagonal(tile, np.inf)
    _refine(packed, tile, places, places)
    np.fill_diagonal(tile, 0)
    return tile


def _refine(packed: Packed, tile: Reals, i: Integers, j: Integers) -> None:
    """Recompute entries of a tile that rounding may have spoilt."""
    bound = np.float32(doubt(tile.dtype) / ACCURACY)
    own, across = bound * packed.sides[i, -2:], packed.sides[j, :-3:-1]
    suspects = np.flatnonzero(tile.min(axis=1) < own @ across.max(axis=0))
    if len(suspects):
        near = np.flatnonzero(tile[suspects] < own[suspects] @ across.T)
        r, c = suspects[near // len(j)], near % len(j)
        tile[r, c] = pairs(packed, i[r], j[c])
