"""Neighbours by several descriptions of the recordings of an index: its Gaussians, and vectors beside them.

Each description has its own divergence. Mutual proximities of two recordings by different descriptions are comparable,
because each is a share of the other recordings. Neighbours are ranked by the mean over the descriptions that both
recordings have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.audio.index import Neighbour
from audiosim.audio.parameters import MFCC
from audiosim.audio.recordings import Searched
from audiosim.audio.search import HUGE, SAMPLE, SHORTLIST, TOGETHER, drawn_references
from audiosim.corpus.sound_vectors import GAUSSIANS, LEVELLED
from audiosim.errors import InputError
from audiosim.messages import did_you_mean
from audiosim.stats.gaussians.gaussian import Singles
from audiosim.stats.gaussians.jensen_shannon import jensen_shannon_divergence
from audiosim.stats.gaussians.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds


class Shortlists(Protocol):
    """Recordings that may be nearest to one by its Gaussian, found without comparing all recordings."""

    def near(self, query: int, count: int) -> Integers:
        """Places of about this many recordings."""
        ...


class Description(Protocol):
    """One kind of description of the n searched recordings, followed by the recordings to search by.

    name     its name
    known    (n,) True for recordings that have one
    limited  (n,) True for recordings with a limited band, which are nearer to each other; None: irrelevant here
    """

    @property
    def name(self) -> str: ...

    @property
    def known(self) -> Booleans: ...

    @property
    def limited(self) -> Booleans | None: ...

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        """(r, c) of some recordings from others, all known; 0 for one and itself."""
        ...


@dataclass(frozen=True, eq=False)
class ByGaussians:
    """Jensen-Shannon divergence of the Gaussians of indexes.

    constant  dimension whose mean is treated as equal in all recordings; None: no dimension
    """

    searched: Searched
    known: Booleans
    name: str = GAUSSIANS
    constant: int | None = None

    @classmethod
    def levelled(cls, searched: Searched) -> "ByGaussians":
        """The divergence as if all recordings were equally loud.

        Gain adds a constant to the levels in dB of all bands, and so to the first cepstral coefficient of all frames.
        It moves only the mean of this coefficient, because floors are relative to the loudest level.
        """
        if (first := f"{MFCC} 0") not in (names := searched.parameters.dimensions):
            raise InputError(f"{LEVELLED} needs the first coefficient of MFCC, found frames from {names[0]} on")
        return cls(searched, ~searched.silent, LEVELLED, names.index(first))

    @property
    def limited(self) -> Booleans | None:
        """See `Description`."""
        return self.searched.limited

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        d, many = self.searched.parameters.dimension, len(self.searched) >= HUGE or None
        return jensen_shannon_divergence(self._table(rows), self._table(columns), d, many)

    def _table(self, places: Integers) -> Singles:
        table = self.searched.rows(places)
        if self.constant is not None:
            table[:, self.constant] = 0
        return table


@dataclass(frozen=True, eq=False)
class ByVectors:
    """1 - cosine of vectors.

    vectors  (n, d) vectors of length 1; zeros for recordings without one
    """

    name: str
    vectors: Array
    known: Booleans
    limited: Booleans | None = None

    @classmethod
    def of(cls, searched: Searched, name: str) -> "ByVectors":
        """The vectors of this name beside the indexes, and those of the requested sounds."""
        vectors = searched.vectors(name)
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        known = largest[:, 0] > 0
        np.divide(vectors, largest, out=vectors, where=known[:, None])  # keeps squares from overflow and underflow
        np.divide(vectors, np.linalg.norm(vectors, axis=1, keepdims=True), out=vectors, where=known[:, None])
        return cls(name, vectors, known)

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        found: Array = np.maximum(0.0, 1 - self.vectors[rows] @ self.vectors[columns].T)
        found[rows[:, None] == columns] = 0.0
        return found


def descriptions_of(searched: Searched, names: Iterable[str] | None = None) -> tuple[Description, ...]:
    """Descriptions of recordings by name; all available ones if None.

    names  `gaussians`; `levelled`, Gaussians without loudness; or names of vectors beside the indexes
    """
    known = [GAUSSIANS, LEVELLED, *searched.pieces]
    chosen = [GAUSSIANS, *searched.common] if names is None else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            expected = f"one of {', '.join(known)}{did_you_mean(name, known)}"
            raise InputError(f"the index has no description {name!r}, expected {expected}")
        if name in searched.pieces and name not in searched.common:
            raise InputError(
                f"the sounds to query by cannot be described by {name}: the embedding that made it is not installed"
            )
    return tuple(_description(searched, name) for name in chosen)


def _description(searched: Searched, name: str) -> Description:
    if name == LEVELLED:
        return ByGaussians.levelled(searched)
    return ByGaussians(searched, ~searched.silent) if name == GAUSSIANS else ByVectors.of(searched, name)


def neighbours_by(
    searched: Searched,
    descriptions: Sequence[Description],
    ids: Iterable[str] | None,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    weights: Sequence[float] | None = None,
    shortlists: Shortlists | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The k nearest recordings of each of some by several descriptions; see `AudioIndex.neighbours` for the rest.

    ids         recordings whose neighbours are searched; None: all, or the requested sounds if there are any
    weights     weights of the descriptions, above 0; equal if None
    shortlists  for an approximate search: only these recordings may be nearest by their Gaussians, unless they are
                fewer than k; None: all

    `proximity` of a neighbour is the weighted mean of its mutual proximities, `divergence` that of the first
    description that both have. Silent recordings are never neighbours. Among more than 1,000 recordings only the
    100, or 4 k, nearest by any of the descriptions are ranked.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    weight = np.ones(len(descriptions)) if weights is None else np.asarray(weights, dtype=np.float64)
    wanted, names = searched.wanted(ids)
    count = len(searched)
    shares = [
        _Shares(one, ~searched.silent[:count], shortlists if one.name == GAUSSIANS else None) for one in descriptions
    ]
    size = max(SHORTLIST, 4 * k) if count > SAMPLE else count
    barred = _Barred(searched.ids, artists)
    found: dict[str, tuple[Neighbour, ...]] = {}
    for start in range(0, len(wanted), TOGETHER):
        block = wanted[start : start + TOGETHER]
        possible = [
            np.unique(np.concatenate([one.nearest(query, size, k, barred.by(query)) for one in shares]))
            for query in block.tolist()
        ]
        for one in shares:
            one.expect(np.unique(np.concatenate([block, *possible])))
        for number, (query, places) in enumerate(zip(block.tolist(), possible, strict=True), start):
            found[names[number]] = tuple(_ranked(searched, shares, weight, query, places))[:k]
    return found


def proximities_by(
    searched: Searched, descriptions: Sequence[Description], recording: str, others: Sequence[str]
) -> Array:
    """(d, m) mutual proximities of one recording and others by each description; NaN where either lacks it."""
    places, _ = searched.wanted((recording, *others))
    found = []
    for description in descriptions:
        one = _Shares(description, ~searched.silent[: len(searched)])
        one.expect(np.unique(places))
        found.append(one.to(int(places[0]), places[1:])[1])
    return np.array(found)


class _Shares:
    """Mutual proximities by one description, with references drawn once from the recordings that have it.

    heard       (n,) True for searched recordings that are not silent
    shortlists  the only recordings that may be nearest; None: all
    """

    def __init__(self, description: Description, heard: Booleans, shortlists: Shortlists | None = None) -> None:
        self.description, self._shortlists = description, shortlists
        self.open = description.known[: len(heard)] & heard
        chosen = np.flatnonzero(self.open)
        self.references = chosen[drawn_references(len(chosen))]
        self._places = np.empty(0, np.int64)
        self._far = np.empty((0, len(self.references)))

    def expect(self, places: Integers) -> None:
        """Compute the divergences of some recordings from the references; earlier ones are dropped."""
        self._places = places[self.description.known[places]]
        self._far = self.description.divergence(self._places, self.references)

    def nearest(self, query: int, size: int, k: int, barred: Integers) -> Integers:
        """The places of this many recordings nearest to one.

        k       if a shortlist has fewer, it is ignored and all recordings are compared
        barred  places to leave out
        """
        if not self.description.known[query]:
            return np.empty(0, np.int64)
        others = np.empty(0, np.int64)
        if self._shortlists is not None:
            near = self._shortlists.near(query, 4 * k)
            others = np.setdiff1d(near[self.open[near]], barred)
        if len(others) < k:
            others = np.setdiff1d(np.flatnonzero(self.open), barred, assume_unique=True)
        if len(others) <= size:
            return others
        divergences = self.description.divergence(np.array([query]), others)[0]
        return others[np.argpartition(divergences, size - 1)[:size]]

    def to(self, query: int, places: Integers) -> tuple[Array, Array]:
        """(m,) divergences of some recordings from one, and their mutual proximities; NaN where either has none."""
        divergences, close = np.full(len(places), np.nan), np.full(len(places), np.nan)
        some = np.flatnonzero(self.description.known[places])
        if not self.description.known[query] or not len(some):
            return divergences, close
        asked = places[some]
        divergences[some] = self.description.divergence(np.array([query]), asked)[0]
        counted = (self.references != asked[:, None]) & (self.references != query)
        far = self._far[np.searchsorted(self._places, asked)]
        own = self._far[np.searchsorted(self._places, query)]
        limited = self.description.limited
        if limited is not None and has_two_kinds(limited[self.references]):
            kinds = bool(limited[query]), limited[asked], limited[self.references]
            close[some] = proximity_of_kinds(divergences[some], own, far, counted, *kinds)
        else:
            close[some] = mutual_proximity(divergences[some], own, far, counted)
        return divergences, close


class _Barred:
    """Recordings that must not be neighbours of one: itself, and those by its artist."""

    def __init__(self, ids: Sequence[str], artists: Mapping[str, str | None] | None) -> None:
        self._artists = [artists.get(name) for name in ids] if artists else []
        self._places: dict[str, list[int]] = {}
        for place, artist in enumerate(self._artists):
            if artist:
                self._places.setdefault(artist, []).append(place)

    def by(self, query: int) -> Integers:
        """Places of the recordings barred for one."""
        artist = self._artists[query] if query < len(self._artists) else None
        return np.array(self._places[artist] if artist else [query], dtype=np.int64)


def _ranked(
    searched: Searched, shares: Sequence[_Shares], weights: Array, query: int, places: Integers
) -> Iterator[Neighbour]:
    """Recordings at some places, nearest to a query first; ties are broken by the first divergence, then by place."""
    found = [one.to(query, places) for one in shares]
    close = np.array([proximity for _, proximity in found]).reshape(len(shares), -1)
    weighed = np.where(np.isnan(close), 0.0, weights[:, None])
    total = weighed.sum(axis=0)
    mean = np.divide((weighed * np.nan_to_num(close)).sum(axis=0), total, out=np.zeros(len(places)), where=total > 0)
    divergence = np.full(len(places), np.nan)
    for one, _ in found:
        divergence = np.where(np.isnan(divergence), one, divergence)
    for place in np.lexsort((places, divergence, -mean)):
        yield Neighbour(searched.ids[places[place]], float(divergence[place]), float(mean[place]))
