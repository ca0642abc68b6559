"""The recordings nearest to some queries, by either divergence, with or without mutual proximity."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from audiosim.errors import InputError
from audiosim.sound import jensen_shannon, kullback_leibler
from audiosim.sound.gaussians import Singles
from audiosim.sound.kullback_leibler import of_sides, packed_sides
from audiosim.sound.nearest import NearestFound, SearchField, nearest
from audiosim.sound.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds
from audiosim.stats.arrays import Array, Booleans, Integers

Divergence = Literal["kl", "js"]

SAMPLE = 1000  # references of mutual proximity; in an index with no more recordings than this, everything is compared
SHORTLIST = 100  # nearest recordings by Kullback-Leibler that are ranked again in a larger index
TOGETHER = 128  # queries with shortlists that are compared with the references together
SEED = 2012


class Ranked(NamedTuple):
    """The neighbours of a query, nearest first.

    place       (m,) places in the field
    divergence  (m,) divergences in nats
    proximity   (m,) mutual; None if not requested
    """

    place: Integers
    divergence: Array
    proximity: Array | None


class Queries(NamedTuple):
    """Queries of a search.

    rows     (q, width) Gaussians
    groups   (q,) groups of the field that must not be neighbours of the query
    place    (q,) place of the query itself in the field; -1 if it is not there
    limited  (q,) True if the query's band is known to end
    """

    rows: Singles
    groups: Integers
    place: Integers
    limited: Booleans

    def part(self, chosen: slice) -> "Queries":
        """Some of the queries."""
        return Queries(self.rows[chosen], self.groups[chosen], self.place[chosen], self.limited[chosen])


def check_search(k: int, divergence: str) -> None:
    """Raise an error unless at least one neighbour is wanted, by a known divergence."""
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    if divergence not in ("kl", "js"):
        raise InputError(f"divergence must be 'kl' or 'js', got {divergence!r}")


def search(
    field: SearchField, queries: Queries, k: int, divergence: Divergence, proximity: bool, limited: Booleans
) -> Iterator[Ranked]:
    """The k neighbours of each query, in their order.

    Kullback-Leibler without proximity ranks the whole field. The others do so up to 1,000 open recordings; in a larger
    field they rank the 100 nearest by Kullback-Leibler, or 4 k if that is more. The references of mutual proximity are
    1,000 recordings drawn once from the open ones, or all; ties are broken by divergence. If at least 20 references
    have a limited band, and at least 20 others do not, proximities are taken within each kind: see
    `proximity_of_kinds`.

    limited  (n,) True for recordings of the field whose band is known to end
    """
    count = int(np.count_nonzero(~field.closed))
    plain = divergence == "kl" and not proximity
    size = k if plain else max(1, count) if count <= SAMPLE else max(SHORTLIST, 4 * k)
    references = _references(field) if proximity else None
    together = TOGETHER if proximity and count > SAMPLE else max(1, len(queries.rows))
    for start in range(0, len(queries.rows), together):
        part = slice(start, start + together)
        block = queries.part(part)
        exact = packed_sides(block.rows, field.packed.whitener)
        found = nearest(field, exact, block.groups, size)
        divergences = found.divergence if divergence == "kl" else _js_divergences(field, block, found)
        if references is None:
            yield from (
                _best(field, found.place[part], divergences[part], None, k) for part in _parts(found, len(exact))
            )
            continue
        yield from _by_proximity(field, block, exact, found, divergences, references, divergence, k, limited)


def _references(field: SearchField) -> Integers:
    """References drawn once from the open recordings."""
    chosen = np.flatnonzero(~field.closed)
    return chosen[drawn_references(len(chosen))]


def drawn_references(count: int) -> Integers:
    """Places of the references of mutual proximity in a field of this size: always the same, in rising order."""
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
    limited: Booleans,
) -> Iterator[Ranked]:
    kinds = limited[references]
    rows, d = field.packed.rows, len(field.packed.whitener.shift)
    candidates, index = np.unique(found.place, return_inverse=True)
    if divergence == "kl":
        fine = field.packed.exact(references)
        from_queries = np.array([of_sides(query[None], fine) for query in exact])
        profiles = kullback_leibler.kullback_leibler_divergence(field.packed, candidates, references).astype(float)
    else:
        from_queries, profiles = (
            jensen_shannon.jensen_shannon_divergence(some, rows[references], d)
            for some in (block.rows, rows[candidates])
        )
    for query, part in enumerate(_parts(found, len(exact))):
        place = found.place[part]
        counted = (references != place[:, None]) & (references != block.place[query])
        given = divergences[part], from_queries[query], profiles[index[part]], counted
        if has_two_kinds(kinds):
            close = proximity_of_kinds(*given, bool(block.limited[query]), limited[place], kinds)
        else:
            close = mutual_proximity(*given)
        yield _best(field, place, divergences[part], close, k)


def _parts(found: NearestFound, queries: int) -> Iterator[slice]:
    bounds = np.searchsorted(found.query, np.arange(queries + 1))
    return (slice(start, end) for start, end in pairwise(bounds.tolist()))


def _best(field: SearchField, place: Integers, divergences: Array, proximity: Array | None, k: int) -> Ranked:
    keys = (field.order[place], divergences) if proximity is None else (field.order[place], divergences, -proximity)
    best = np.lexsort(keys)[:k]
    return Ranked(place[best], divergences[best], None if proximity is None else proximity[best])


def _js_divergences(field: SearchField, block: Queries, found: NearestFound) -> Array:
    """(m,) Jensen-Shannon divergences of the recordings found from their query."""
    rows, d = field.packed.rows, len(field.packed.whitener.shift)
    parts = [
        jensen_shannon.jensen_shannon_divergence(block.rows[query][None], rows[found.place[part]], d)[0]
        for query, part in enumerate(_parts(found, len(block.rows)))
    ]
    return np.concatenate(parts) if parts else np.empty(0)
