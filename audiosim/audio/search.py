"""The recordings nearest to some queries, by either divergence, with or without mutual proximity."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.stats.gaussians import jensen_shannon, kullback_leibler
from audiosim.stats.gaussians.gaussian import Singles
from audiosim.stats.gaussians.kullback_leibler import of_sides, packed_sides
from audiosim.stats.gaussians.nearest import NearestFound, SearchField, nearest
from audiosim.stats.gaussians.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds

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

    rows     (q, width) Gaussians
    groups   (q,) those of the field that a query must not find
    place    (q,) of the query itself in the field, -1 where it is not in it
    limited  (q,) whether its band is known to end
    """

    rows: Singles
    groups: Integers
    place: Integers
    limited: Booleans

    def part(self, chosen: slice) -> "Queries":
        """Some of them."""
        return Queries(self.rows[chosen], self.groups[chosen], self.place[chosen], self.limited[chosen])


def check_search(k: int, divergence: str) -> None:
    """An error where neighbours are not at least one, or by no divergence that is known."""
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    if divergence not in ("kl", "js"):
        raise InputError(f"divergence must be 'kl' or 'js', got {divergence!r}")


def search(
    field: SearchField, queries: Queries, k: int, divergence: Divergence, proximity: bool, limited: Booleans
) -> Iterator[Ranked]:
    """The k neighbours of each query, in their order.

    Kullback-Leibler without proximity ranks the whole field. The others do in a field of at most 1,000
    open recordings; in a larger one they rank the 100 nearest by Kullback-Leibler, or 4 k if that is more.
    Mutual proximity refers to 1,000 recordings drawn once from those that are open, or all; ranks that
    it leaves tied are by divergence. Where at least 20 of these have a limited band and 20 have not, proximities are
    taken among those of one kind, see `proximity_of_kinds`.

    limited  (n,) of the field, whether the band is known to end
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
            jensen_shannon.jensen_shannon_divergence(some, rows[references], d, len(rows) >= HUGE or None)
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
