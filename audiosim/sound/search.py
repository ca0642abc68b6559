"""Search for the recordings nearest to some: a shortlist by each description, ranked by the mean of the proximities.

Mutual proximities of two recordings by different descriptions are comparable, because each is a share of the other
recordings. Where only one description counts, neighbours may also be ranked by its divergence.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from audiosim.errors import check_count
from audiosim.sound.descriptions import ByGaussians, Description, Searched
from audiosim.sound.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds, references_among
from audiosim.stats.arrays import Array, Booleans, Integers

SAMPLE = 1000  # references of mutual proximity; among no more recordings than this, everything is compared
SHORTLIST = 100  # nearest recordings by each description that are ranked among more
TOGETHER = 128  # queries with shortlists that are compared with the references together


class Neighbour(NamedTuple):
    """A recording near another: their divergence in nats, and their mutual proximity if requested."""

    identifier: str
    divergence: float
    proximity: float | None = None


def neighbours_by(
    searched: Searched,
    descriptions: Sequence[Description],
    ids: Iterable[str] | None,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    weights: Sequence[float] | None = None,
    *,
    proximity: bool = True,
) -> dict[str, tuple[Neighbour, ...]]:
    """The k nearest recordings of each of some, nearest first, without itself; fewer if there are no more.

    ids        recordings whose neighbours are searched; None: all, or the requested sounds if there are any
    k          number of neighbours, at least 1
    artists    identifier -> artist: recordings by the same artist are left out; unknown artists never match
    weights    weights of the descriptions, above 0; equal if None
    proximity  True to rank by mutual proximity, which reduces hubs; False, with one description: by its divergence

    `proximity` of a neighbour is the weighted mean of its mutual proximities by the descriptions that both have,
    `divergence` that of the first of these. Ties are broken by this divergence, then by the order of the recordings.
    Silent recordings are never neighbours, but have some. Among more than 1,000 audible recordings only the 100, or
    4 k, nearest by any of the descriptions are ranked, by Gaussians those nearest by Kullback-Leibler. The references
    of mutual proximity are 1,000 recordings drawn once, or all. If at least 20 references have a limited band, and at
    least 20 others do not, proximities are taken within each kind: see `proximity_of_kinds`.
    """
    check_count("k", k)
    weight = np.ones(len(descriptions)) if weights is None else np.asarray(weights, dtype=np.float64)
    wanted, names = searched.wanted(ids)
    groups, heard = searched.groups(artists), ~searched.silent[: len(searched)]
    count = int(np.count_nonzero(heard))
    shortest = not proximity and isinstance(descriptions[0], ByGaussians) and descriptions[0].kind == "kl"
    size = k if shortest else count if count <= SAMPLE else max(SHORTLIST, 4 * k)
    compared = [_Compared(one, heard, proximity) for one in descriptions]
    together = TOGETHER if proximity and count > SAMPLE else max(1, len(wanted))
    found: dict[str, tuple[Neighbour, ...]] = {}
    for start in range(0, len(wanted), together):
        block = wanted[start : start + together]
        lists = [one.shortlists(block, groups, size) for one in compared]
        possible = [np.unique(np.concatenate(places)) for places in zip(*lists, strict=True)]
        for one in compared:
            one.expect(block, np.unique(np.concatenate(possible)))
        best = [_ranked(compared, weight, int(query), some, k) for query, some in zip(block, possible, strict=True)]
        near = iter(searched.names(np.concatenate([places for places, _, _ in best])))
        for name, (_, divergences, close) in zip(names[start:], best, strict=False):
            said = close.tolist() if proximity else [None] * len(close)
            found[name] = tuple(Neighbour(next(near), *one) for one in zip(divergences.tolist(), said, strict=True))
    return found


def proximities_by(
    searched: Searched, descriptions: Sequence[Description], recording: str, others: Sequence[str]
) -> Array:
    """(d, m) mutual proximities of one recording and others by each description; NaN where either lacks it."""
    places, _ = searched.wanted((recording, *others))
    heard, found = ~searched.silent[: len(searched)], []
    for description in descriptions:
        one = _Compared(description, heard)
        one.expect(places[:1], np.unique(places[1:]))
        found.append(np.where(heard[places[0]] & heard[places[1:]], one.to(int(places[0]), places[1:])[1], np.nan))
    return np.array(found)


class _Compared:
    """Divergences and mutual proximities by one description.

    heard  (n,) True for searched recordings that are not silent
    """

    def __init__(self, description: Description, heard: Booleans, proximity: bool = True) -> None:
        self.description, self._proximity = description, proximity
        self.open = np.flatnonzero(description.known[: len(heard)] & heard)
        self.references = self.open[references_among(len(self.open), SAMPLE) if proximity else slice(0)]
        self._own = self._far = self.open[:0], np.empty((0, len(self.references)))

    def shortlists(self, queries: Integers, groups: Integers, size: int) -> list[Integers]:
        """The places of this many recordings nearest to each query, in rising order; none of the query's group."""
        one, few = self.description, len(self.open) <= size
        if isinstance(one, ByGaussians) and one.constant is None and not few:
            return one.searched.shortlists(queries, groups, size)
        return [self._nearest(query, groups, size) for query in queries.tolist()]

    def _nearest(self, query: int, groups: Integers, size: int) -> Integers:
        if not self.description.known[query]:
            return self.open[:0]
        others: Integers = self.open[groups[self.open] != groups[query]]
        if len(others) <= size:
            return others
        divergences = self.description.divergence(np.array([query]), others)[0]
        return np.sort(others[np.argpartition(divergences, size - 1)[:size]])

    def expect(self, queries: Integers, places: Integers) -> None:
        """Compute the divergences of queries, and of others, from the references; earlier ones are dropped."""
        if self._proximity:
            self._own, self._far = (self._from_references(some) for some in (np.unique(queries), places))

    def _from_references(self, places: Integers) -> tuple[Integers, Array]:
        known = places[self.description.known[places]]
        return known, self.description.divergence(known, self.references)

    def to(self, query: int, places: Integers) -> tuple[Array, Array]:
        """(m,) divergences of some recordings from one, and their mutual proximities; NaN where either has none."""
        divergences, close = np.full(len(places), np.nan), np.full(len(places), np.nan)
        some = np.flatnonzero(self.description.known[places])
        if not self.description.known[query] or not len(some):
            return divergences, close
        asked = places[some]
        divergences[some] = self.description.divergence(np.array([query]), asked)[0]
        if self._proximity:
            own, far = (
                table[np.searchsorted(known, one)] for (known, table), one in ((self._own, query), (self._far, asked))
            )
            counted = (self.references != asked[:, None]) & (self.references != query)
            given, limited = (divergences[some], own, far, counted), self.description.limited
            if limited is not None and has_two_kinds(limited[self.references]):
                kinds = bool(limited[query]), limited[asked], limited[self.references]
                close[some] = proximity_of_kinds(*given, *kinds)
            else:
                close[some] = mutual_proximity(*given)
        return divergences, close


def _ranked(
    compared: Sequence[_Compared], weights: Array, query: int, places: Integers, k: int
) -> tuple[Integers, Array, Array]:
    """The k places nearest to a query, their divergences and proximities, nearest first."""
    found = [one.to(query, places) for one in compared]
    close = np.array([proximity for _, proximity in found])
    weighed = np.where(np.isnan(close), 0.0, weights[:, None])
    total, mean = weighed.sum(axis=0), np.full(len(places), np.nan)
    np.divide((weighed * np.nan_to_num(close)).sum(axis=0), total, out=mean, where=total > 0)
    divergence = found[0][0]
    for one, _ in found[1:]:
        divergence = np.where(np.isnan(divergence), one, divergence)
    best = np.lexsort((places, divergence, -mean))[:k]
    return places[best], divergence[best], mean[best]
