"""Neighbours by several descriptions of the recordings of an index: its Gaussians, and vectors beside them.

Each description has a divergence of its own, and each pair of recordings by it a mutual proximity, which means the same
in all of them: a share of the other recordings. The mean of these, over the descriptions that have both, is what ranks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.audio.index import AudioIndex, Neighbour
from audiosim.audio.parameters import MFCC
from audiosim.audio.search import HUGE, SAMPLE, SHORTLIST, TOGETHER, drawn_references
from audiosim.corpus.evidence_files import Evidence, read_vectors
from audiosim.corpus.sound_vectors import GAUSSIANS, LEVELLED
from audiosim.errors import InputError, did_you_mean
from audiosim.stats.gaussian import Singles
from audiosim.stats.jensen_shannon import jensen_shannon_divergence
from audiosim.stats.proximity import mutual_proximity


class Description(Protocol):
    """A kind of description of the n recordings of an index.

    name   of it
    known  (n,) which of them have one
    """

    @property
    def name(self) -> str: ...

    @property
    def known(self) -> Booleans: ...

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        """(r, c) of some recordings from others, all known; 0 for one and itself."""
        ...


@dataclass(frozen=True, eq=False)
class ByGaussians:
    """Jensen-Shannon divergence of the Gaussians of an index.

    constant  dimension of which all recordings are taken to have the same mean; None: of none
    """

    index: AudioIndex
    known: Booleans
    name: str = GAUSSIANS
    constant: int | None = None

    @classmethod
    def levelled(cls, index: AudioIndex) -> "ByGaussians":
        """The divergence as if all recordings were equally loud.

        Gain adds a constant to the levels in dB of all bands, and so to the first cepstral coefficient of all frames:
        it moves the mean of that and nothing else, as floors are relative to the loudest.
        """
        if (first := f"{MFCC} 0") not in (names := index.parameters.dimensions):
            raise InputError(f"{LEVELLED} needs the first coefficient of MFCC, found frames from {names[0]} on")
        return cls(index, ~index.silent, LEVELLED, names.index(first))

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        d, many = self.index.parameters.dimension, len(self.index) >= HUGE or None
        return jensen_shannon_divergence(self._table(rows), self._table(columns), d, many)

    def _table(self, places: Integers) -> Singles:
        table = np.array(self.index.rows[places])
        if self.constant is not None:
            table[:, self.constant] = 0
        return table


@dataclass(frozen=True, eq=False)
class ByVectors:
    """1 - cosine of vectors.

    vectors  (n, d) of length 1, zeros where there is none
    """

    name: str
    vectors: Array
    known: Booleans

    @classmethod
    def of(cls, index: AudioIndex, piece: Evidence) -> "ByVectors":
        """The vectors of a piece of evidence, for the recordings of an index."""
        places = {str(key): place for place, key in enumerate(piece.keys)}
        rows = np.array([places.get(name, -1) for name in index.ids], dtype=np.int64)
        scaled = piece.values / np.abs(piece.values).max(axis=1, keepdims=True)  # squares neither over- nor underflow
        vectors = np.where(rows[:, None] >= 0, (scaled / np.linalg.norm(scaled, axis=1, keepdims=True))[rows], 0.0)
        return cls(piece.name, vectors, rows >= 0)

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        found: Array = np.maximum(0.0, 1 - self.vectors[rows] @ self.vectors[columns].T)
        found[rows[:, None] == columns] = 0.0
        return found


def descriptions_of(index: AudioIndex, names: Sequence[str] | None = None) -> tuple[Description, ...]:
    """Descriptions of the recordings of an index by name; all that it has where None.

    names  `gaussians`; `levelled`, which are the same at one loudness; or those of vectors beside the index
    """
    pieces = {piece.name: piece for piece in (read_vectors(index.folder) if index.folder else ())}
    known = [GAUSSIANS, LEVELLED, *pieces]
    for name in names or ():
        if name not in known:
            expected = f"one of {', '.join(known)}{did_you_mean(name, known)}"
            raise InputError(f"the index has no description {name!r}, expected {expected}")
    chosen = [GAUSSIANS, *pieces] if names is None else dict.fromkeys(names)
    return tuple(_description(index, name, pieces) for name in chosen)


def _description(index: AudioIndex, name: str, pieces: Mapping[str, Evidence]) -> Description:
    if name == LEVELLED:
        return ByGaussians.levelled(index)
    return ByGaussians(index, ~index.silent) if name == GAUSSIANS else ByVectors.of(index, pieces[name])


def neighbours_by(
    index: AudioIndex,
    descriptions: Sequence[Description],
    ids: Iterable[str] | None,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    weights: Sequence[float] | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The k recordings nearest to each of some by several descriptions; see `AudioIndex.neighbours` for the rest.

    weights  of the descriptions, above 0; equal where None

    `proximity` of a neighbour is the weighted mean of its mutual proximities, `divergence` that of the first
    description that both have. Silent recordings are nobody's neighbours. Among more than 1,000 recordings those are
    ranked that are among the 100, or 4 k, nearest by one of the descriptions.
    """
    wanted, weight = index.positions(ids), np.ones(len(descriptions)) if weights is None else np.asarray(weights)
    shares = [_Shares(one, ~index.silent) for one in descriptions]
    size = max(SHORTLIST, 4 * k) if len(index) > SAMPLE else len(index)
    found: dict[str, tuple[Neighbour, ...]] = {}
    for start in range(0, len(wanted), TOGETHER):
        block = wanted[start : start + TOGETHER]
        possible = [_possible(index, shares, int(query), size, artists) for query in block]
        for one in shares:
            one.expect(np.unique(np.concatenate([block, *possible])))
        for query, places in zip(block.tolist(), possible, strict=True):
            found[index.ids[query]] = tuple(_ranked(index, shares, weight, query, places))[:k]
    return found


class _Shares:
    """Mutual proximities by one description, among references drawn once from the recordings that have it.

    heard  (n,) which recordings are not silent
    """

    def __init__(self, description: Description, heard: Booleans) -> None:
        self.description = description
        self.open = description.known & heard
        chosen = np.flatnonzero(self.open)
        self.references = chosen[drawn_references(len(chosen))]
        self._places = np.empty(0, np.int64)
        self._far = np.empty((0, len(self.references)))

    def expect(self, places: Integers) -> None:
        """Compute the divergences of some recordings from the references; those before are forgotten."""
        self._places = places[self.description.known[places]]
        self._far = self.description.divergence(self._places, self.references)

    def nearest(self, query: int, size: int) -> Integers:
        """The places of so many that are nearest to one."""
        if not self.description.known[query]:
            return np.empty(0, np.int64)
        others = np.flatnonzero(self.open)
        if len(others) <= size:
            return others
        divergences = self.description.divergence(np.array([query]), others)[0]
        return others[np.argpartition(divergences, size)[: size + 1]]

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
        close[some] = mutual_proximity(divergences[some], own, far, counted)
        return divergences, close


def _possible(
    index: AudioIndex,
    shares: Sequence[_Shares],
    query: int,
    size: int,
    artists: Mapping[str, str | None] | None,
) -> Integers:
    """Places of the recordings that may be among the neighbours of one: not itself, and not by its artist."""
    places = np.unique(np.concatenate([one.nearest(query, size) for one in shares]))
    artist = artists.get(index.ids[query]) if artists else None
    allowed = [
        place != query and not (artist and artists and artists.get(index.ids[place]) == artist) for place in places
    ]
    kept: Integers = places[np.array(allowed, dtype=bool)]
    return kept


def _ranked(
    index: AudioIndex, shares: Sequence[_Shares], weights: Array, query: int, places: Integers
) -> Iterator[Neighbour]:
    """The recordings at some places, nearest to a query first; equals by the first divergence, then by place."""
    found = [one.to(query, places) for one in shares]
    close = np.array([proximity for _, proximity in found]).reshape(len(shares), -1)
    weighed = np.where(np.isnan(close), 0.0, weights[:, None])
    total = weighed.sum(axis=0)
    mean = np.divide((weighed * np.nan_to_num(close)).sum(axis=0), total, out=np.zeros(len(places)), where=total > 0)
    divergence = np.full(len(places), np.nan)
    for one, _ in found:
        divergence = np.where(np.isnan(divergence), one, divergence)
    for place in np.lexsort((places, divergence, -mean)):
        yield Neighbour(index.ids[places[place]], float(divergence[place]), float(mean[place]))
