"""Search for the Gaussians nearest to given ones, among a million, in one pass of matrix products."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audiosim.sound.gaussians import Singles
from audiosim.sound.kullback_leibler import PACKED, PADDING, Packed, doubt, of_sides
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.threads import spread_on_threads

QUERIES = 512  # Gaussians compared at a time
TILE = 1_000_000  # divergences held at a time by a thread
SPAN = 65_536  # number of Gaussians worth a separate thread
SPANS = 4
SINGLE = np.dtype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class SearchField:
    """Gaussians to search.

    packed  (n) the Gaussians
    groups  (n,) group codes: a query does not find Gaussians of its own group
    closed  (n,) True for Gaussians that no query finds
    order   (n,) breaks ties: the lowest comes first
    """

    packed: Packed
    groups: Integers
    closed: Booleans
    order: Integers


@dataclass(frozen=True, slots=True, eq=False)
class NearestFound:
    """Neighbours of all queries in one list, nearest first within each query.

    query       (m,) number of the query, rising
    place       (m,) place of the neighbour in the field
    divergence  (m,) divergence in nats, in double precision
    """

    query: Integers
    place: Integers
    divergence: Array


def nearest(field: SearchField, queries: Array, groups: Integers, k: int) -> NearestFound:
    """The k Gaussians of smallest symmetrised Kullback-Leibler divergence from each query; fewer if there are fewer.

    queries  (q, 2 w + 2) sides of the queries by the field's whitener, see `Packed`
    groups   (q,) groups of the queries
    k        number of neighbours, at least 1

    Single-precision products give a lower and an upper bound of each divergence. Candidates for the k are then
    evaluated in double precision, so the answer equals that of a full sort.
    """
    blocks = [slice(start, start + QUERIES) for start in range(0, len(queries), QUERIES)]
    parts = [_nearest(field, queries[block], groups[block], min(k, len(field.groups))) for block in blocks]
    if not parts:
        return NearestFound(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return NearestFound(
        np.concatenate([part.query + block.start for part, block in zip(parts, blocks, strict=True)]),
        np.concatenate([part.place for part in parts]),
        np.concatenate([part.divergence for part in parts]),
    )


def _nearest(field: SearchField, queries: Array, groups: Integers, k: int) -> NearestFound:
    n = len(field.groups)
    count = min(SPANS, max(1, n // SPAN))
    spans = [slice(n * part // count, n * (part + 1) // count) for part in range(count)]
    scans = spread_on_threads(lambda span: _scan(field, queries, groups, k, span), spans)
    limit = np.sort(np.concatenate([upper for *_, upper in scans], axis=1), axis=1)[:, k - 1]
    query, place, lower = (np.concatenate([scan[part] for scan in scans]) for part in range(3))
    possible = lower <= limit[query]
    return _ranked(field, queries, query[possible], place[possible], k)


def _ranked(field: SearchField, queries: Array, query: Integers, place: Integers, k: int) -> NearestFound:
    """The k best candidates of each query, by divergences in double precision."""
    starts = range(0, len(query), PACKED)
    parts = [slice(start, start + PACKED) for start in starts]
    exact = spread_on_threads(lambda part: of_sides(queries[query[part]], field.packed.exact(place[part])), parts)
    divergence = np.concatenate(exact) if exact else np.empty(0)
    order = np.lexsort((field.order[place], divergence, query))
    first = order[_kept(query[order], k)]
    return NearestFound(query[first], place[first], divergence[first])


def _kept(query: Integers, k: int) -> Booleans:
    """Mask of the entries that are among the first k of their query."""
    return np.arange(len(query)) - np.searchsorted(query, query) < k


def _scan(
    field: SearchField, queries: Array, groups: Integers, k: int, span: slice
) -> tuple[Integers, Integers, Array, Array]:
    """Candidates within a span, as query, place and lower bound; and each query's k smallest upper bounds (q, k)."""
    asked, best = _asked(queries), np.full((len(queries), k), np.inf)
    found: list[tuple[Integers, Integers, Array]] = []
    new: list[tuple[Integers, Array]] = []
    parts = list(_parts(span, len(queries)))
    memory = np.empty((max(part.stop - part.start for part in parts), len(queries) + PADDING), np.float32)
    for part in parts:
        limit = np.nextafter(best[:, -1].astype(np.float32), np.float32(np.inf))
        lower = np.matmul(field.packed.sides[part], asked, out=memory[: part.stop - part.start, : len(queries)])
        place, query = _true(lower <= limit)
        low, place = lower[place, query].astype(float), place + part.start
        fair = ~field.closed[place] & (field.groups[place] != groups[query])
        query, place, low = query[fair], place[fair], low[fair]
        found.append((query, place, low))
        new.append((query, low + 2 * _bounds(field, queries, query, place)))
        if sum(len(some) for some, _ in new) >= best.size // 2:
            best, new = _merged(best, new), []
    best = _merged(best, new)
    query, place, low = (np.concatenate([entry[part] for entry in found]) for part in range(3))
    near = low <= best[query, -1]
    return query[near], place[near], low[near], best


def _asked(queries: Array) -> Singles:
    """Factors that give lower bounds as products with the sides, a column per query: B, A and -error times length."""
    w = queries.shape[1] // 2 - 1
    doubted = -doubt(SINGLE) * queries[:, :-3:-1]
    asked = np.concatenate([queries[:, w : 2 * w], queries[:, :w], doubted], axis=1)
    return np.ascontiguousarray(asked.T, dtype=np.float32)


def _parts(span: slice, queries: int) -> Iterator[slice]:
    """Parts of the field, small ones first, so that the larger ones already have a bound."""
    start, size, most = span.start, 256, max(256, TILE // queries)
    while start < span.stop:
        yield slice(start, min(span.stop, start + size))
        start, size = start + size, min(most, 4 * size)


def _true(chosen: Booleans) -> tuple[Integers, Integers]:
    flat = np.flatnonzero(chosen)
    return flat // chosen.shape[1], flat % chosen.shape[1]


def _bounds(field: SearchField, queries: Array, query: Integers, place: Integers) -> Array:
    lengths = queries[query, :-3:-1] * field.packed.sides[place, -2:]
    return np.asarray(doubt(SINGLE) * lengths.sum(axis=1))


def _merged(best: Array, new: list[tuple[Integers, Array]]) -> Array:
    """The k smallest values of each row among known and new ones."""
    if not new:
        return best
    rows, k = best.shape
    row = np.concatenate([np.repeat(np.arange(rows), k), *(query for query, _ in new)])
    value = np.concatenate([best.ravel(), *(upper for _, upper in new)])
    order = np.lexsort((value, row))
    return value[order][_kept(row[order], k)].reshape(rows, k)
