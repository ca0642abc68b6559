"""The recordings nearest to some queries, by either divergence, with or without mutual proximity."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.stats.gaussians import jensen_shannon, kullback_leibler
from audiosim.stats.gaussians.gaussian import Singles
from audiosim.stats.gaussians.kullback_leibler import of_sides, packed_sides
from audiosim.stats.gaussians.nearest import NearestFound, SearchField, nearest
from audiosim.stats.gaussians.proximity import mutual_proximity

Divergence = Literal["kl", "js"]

SAMPLE = 1000  # recordings that mutual proximity refers to; in an index of no more everything is compared
SHORTLIST = 100  # nearest by Kullback-Leibler that are ranked again in a larger one
HUGE = 200_000  # recordings of which a search takes longer than to make machine code for divergences
TOGETHER = 128  # queries whose shortlists are compared with the references together
SEED = 2012


class Ranked(NamedTuple):
    """The neighbours of a query, nearest first.

    place       (m,) in the field
    divergence  (m,) in nats
    proximity   (m,) mutual, None where it was not asked for
    """

    place: Integers
    divergence: Array
    proximity: Array | None


class Queries(NamedTuple):
    """Queries of a search.

    rows    (q, width) Gaussians
    groups  (q,) those of the field that a query must not find
    place   (q,) of the query itself in the field, -1 where it is not in it
    """

    rows: Singles
    groups: Integers
    place: Integers


def search(field: SearchField, queries: Queries, k: int, divergence: Divergence, proximity: bool) -> Iterator[Ranked]:
    """The k neighbours of each query, in their order.

    Kullback-Leibler without proximity ranks the whole field. The others do in a field of at most 1,000
    open recordings; in a larger one they rank the 100 nearest by Kullback-Leibler, or 4 k if that is more.
    Mutual proximity refers to 1,000 recordings drawn once from those that are open, or all; ranks that
    it leaves tied are by divergence.
    """
    count = int(np.count_nonzero(~field.closed))
    plain = divergence == "kl" and not proximity
    size = k if plain else max(1, count) if count <= SAMPLE else max(SHORTLIST, 4 * k)
    references = _references(field) if proximity else None
    together = TOGETHER if proximity and count > SAMPLE else max(1, len(queries.rows))
    for start in range(0, len(queries.rows), together):
        part = slice(start, start + together)
        block = Queries(queries.rows[part], queries.groups[part], queries.place[part])
        exact = packed_sides(block.rows, field.packed.whitener)
        found = nearest(field, exact, block.groups, size)
        divergences = found.divergence if divergence == "kl" else _js_divergences(field, block, found)
        if references is None:
            yield from (
                _best(field, found.place[part], divergences[part], None, k) for part in _parts(found, len(exact))
            )
            continue
        yield from _by_proximity(field, block, exact, found, divergences, references, divergence, k)


def _references(field: SearchField) -> Integers:
    """Drawn once and for all from the recordings that are open."""
    chosen = np.flatnonzero(~field.closed)
    return chosen[drawn_references(len(chosen))]


def drawn_references(count: int) -> Integers:
    """Numbers of the references of mutual proximity among this many recordings: always the same, rising."""
    if count <= SAMPLE:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, SAMPLE, replace=False))


def _by_proximity(
    field: SearchField,
    block: Queries,
    exact: Array,
    found: NearestFound,
    divergences: Array,
    references: Integers,
    divergence: Divergence,
    k: int,
) -> Iterator[Ranked]:
    rows, d = field.packed.rows, len(field.packed.whitener.shift)
    candidates, index = np.unique(found.place, return_inverse=True)
    if divergence == "kl":
        fine = field.packed.exact(references)
        from_queries = np.array([of_sides(query[None], fine) for query in exact])
        profiles = kullback_leibler.kullback_leibler_divergence(field.packed, candidates, references).astype(float)
    else:
        from_queries, profiles = (
            jensen_shannon.jensen_shannon_divergence(some, rows[references], d, len(rows) >= HUGE or None)
            for some in (block.rows, rows[candidates])
        )
    for query, part in enumerate(_parts(found, len(exact))):
        place = found.place[part]
        counted = (references != place[:, None]) & (references != block.place[query])
        close = mutual_proximity(divergences[part], from_queries[query], profiles[index[part]], counted)
        yield _best(field, place, divergences[part], close, k)


def _parts(found: NearestFound, queries: int) -> Iterator[slice]:
    bounds = np.searchsorted(found.query, np.arange(queries + 1))
    return (slice(start, end) for start, end in pairwise(bounds.tolist()))


def _best(field: SearchField, place: Integers, divergences: Array, proximity: Array | None, k: int) -> Ranked:
    keys = (field.order[place], divergences) if proximity is None else (field.order[place], divergences, -proximity)
    best = np.lexsort(keys)[:k]
    return Ranked(place[best], divergences[best], None if proximity is None else proximity[best])


def _js_divergences(field: SearchField, block: Queries, found: NearestFound) -> Array:
    """(m,) Jensen-Shannon divergences of what was found from its query."""
    rows, d = field.packed.rows, len(field.packed.whitener.shift)
    parts = [
        jensen_shannon.jensen_shannon_divergence(block.rows[query][None], rows[found.place[part]], d)[0]
        for query, part in enumerate(_parts(found, len(block.rows)))
    ]
    return np.concatenate(parts) if parts else np.empty(0)
