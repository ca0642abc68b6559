"""Neighbours by several descriptions of the recordings of an index: its Gaussians, and vectors beside them.

Each description has its own divergence. Mutual proximities of two recordings by different descriptions are comparable,
because each is a share of the other recordings. Neighbours are ranked by the mean over the descriptions that both
recordings have.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from audiosim.collection.evidence import Evidence, read_vectors
from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.sound import jensen_shannon, kullback_leibler
from audiosim.sound.embedding import GAUSSIANS, LEVELLED
from audiosim.sound.gaussians import Singles
from audiosim.sound.index import AudioIndex, Neighbour
from audiosim.sound.jensen_shannon import jensen_shannon_divergence
from audiosim.sound.parameters import MFCC, Parameters
from audiosim.sound.proximity import has_two_kinds, mutual_proximity, proximity_of_kinds
from audiosim.sound.search import SAMPLE, SHORTLIST, TOGETHER, Divergence, drawn_references
from audiosim.sound.store import ENTRIES
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.text import did_you_mean
from audiosim.workers import Workers

# Recordings to search by several descriptions: those of an index or of shards, and sounds outside them.


@dataclass(frozen=True, eq=False)
class Searched:
    """Recordings by place: those of the indexes one after the other, then the sounds to search by.

    shards         indexes with the same parameters, no recording in two of them
    asked          sounds to search by that are in no index; None: no such sounds
    asked_vectors  (a, d) vectors of these sounds, by name; zeros for sounds without one
    """

    shards: tuple[AudioIndex, ...]
    asked: AudioIndex | None = None
    asked_vectors: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.shards:
            raise InputError("there is no shard to search: expected at least one index")
        for one in (*self.shards[1:], *((self.asked,) if self.asked else ())):
            if one.parameters != self.parameters:
                raise InputError(
                    f"cannot compare frames of other parameters ({one.parameters}), expected {self.parameters}"
                )
        first: dict[str, AudioIndex] = {}
        for shard in self.shards if len(self.shards) > 1 else ():
            for name in shard.ids:
                if (other := first.setdefault(name, shard)) is not shard:
                    raise InputError(f"{name!r} is in two shards, {other.folder} and {shard.folder}")

    @classmethod
    def load(cls, folders: Iterable[str | Path]) -> "Searched":
        """The indexes in some folders."""
        return cls(tuple(AudioIndex.load(folder) for folder in folders))

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def parameters(self) -> Parameters:
        """Parameters of all frames."""
        return self.shards[0].parameters

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The identifiers of the searched recordings."""
        return self.shards[0].ids if len(self.shards) == 1 else tuple(name for one in self.shards for name in one.ids)

    @cached_property
    def silent(self) -> Booleans:
        """(n + a,) True for silent recordings."""
        return np.concatenate([one.silent for one in self._all])

    @cached_property
    def limited(self) -> Booleans:
        """(n + a,) True for recordings that are known to be band-limited."""
        return np.concatenate([one.limited for one in self._all])

    @cached_property
    def pieces(self) -> dict[str, tuple[Evidence | None, ...]]:
        """Vectors by name, one array per shard; None if a shard has no vectors of that name."""
        found: dict[str, list[Evidence | None]] = {}
        for number, shard in enumerate(self.shards):
            for piece in read_vectors(shard.folder) if shard.folder else ():
                found.setdefault(piece.name, [None] * len(self.shards))[number] = piece
        for name, pieces in found.items():
            lengths = sorted({piece.values.shape[1] for piece in pieces if piece is not None})
            if len(lengths) > 1:
                raise InputError(f"vectors {name} of the shards have {lengths[0]} and {lengths[1]} numbers")
        return {name: tuple(pieces) for name, pieces in sorted(found.items())}

    @property
    def common(self) -> tuple[str, ...]:
        """Names of the vectors that can be compared: all available ones, or those of the requested sounds."""
        return tuple(name for name in self.pieces if self.asked is None or name in self.asked_vectors)

    def rows(self, places: Integers) -> Singles:
        """(m, width) copy of the Gaussians at some places."""
        if len(self._all) == 1:
            return self._all[0].rows_at(places)
        found = np.empty((len(places), self.shards[0].table.shape[1]), np.float32)
        for shard, start, end in self._spans:
            inside = (places >= start) & (places < end)
            if inside.any():
                found[inside] = shard.rows_at(places[inside] - start)
        return found

    def vectors(self, name: str) -> Array:
        """(n + a, d) vectors of this name; zeros for recordings without one."""
        pieces = self.pieces[name]
        d = next(piece.values.shape[1] for piece in pieces if piece is not None)
        found = np.zeros((len(self.silent), d))
        for (shard, start, _), piece in zip(self._spans, pieces, strict=False):
            places = {identifier: start + place for place, identifier in enumerate(shard.ids)}
            rows = np.array([places.get(str(key), -1) for key in (piece.keys if piece else ())], dtype=np.int64)
            if piece is not None:
                found[rows[rows >= 0]] = piece.values[rows >= 0]
        if self.asked is not None and (vectors := self.asked_vectors[name]).any():
            if vectors.shape[1] != d:
                raise InputError(
                    f"embedding {name} gives {vectors.shape[1]} numbers, the index has {d}: extract it again"
                )
            found[len(self) :] = vectors
        return found

    def wanted(self, ids: Iterable[str] | None) -> tuple[Integers, tuple[str, ...]]:
        """Places and names of the recordings to find neighbours of: requested sounds, some others, or all."""
        if self.asked is not None:
            return np.arange(len(self), len(self) + len(self.asked)), self.asked.ids
        if ids is None:
            return np.arange(len(self)), self.ids
        names, positions = tuple(ids), self._positions
        missing = next((name for name in names if name not in positions), None)
        if missing is not None:
            where = "this index" if len(self.shards) == 1 else f"these {len(self.shards)} shards"
            raise InputError(f"no recording is called {missing!r} in {where} of {len(self)}")
        return np.array([positions[name] for name in names], dtype=np.int64), names

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    @property
    def _all(self) -> tuple[AudioIndex, ...]:
        return self.shards if self.asked is None else (*self.shards, self.asked)

    @cached_property
    def _spans(self) -> list[tuple[AudioIndex, int, int]]:
        """Each index, with its first place and the place after its last."""
        ends = np.cumsum([0, *map(len, self._all)]).tolist()
        return [(one, start, end) for one, start, end in zip(self._all, ends, ends[1:], strict=False)]


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
        return jensen_shannon_divergence(self._table(rows), self._table(columns), self.searched.parameters.dimension)

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
) -> dict[str, tuple[Neighbour, ...]]:
    """The k nearest recordings of each of some by several descriptions; see `AudioIndex.neighbours` for the rest.

    ids      recordings whose neighbours are searched; None: all, or the requested sounds if there are any
    weights  weights of the descriptions, above 0; equal if None

    `proximity` of a neighbour is the weighted mean of its mutual proximities, `divergence` that of the first
    description that both have. Silent recordings are never neighbours. Among more than 1,000 recordings only the
    100, or 4 k, nearest by any of the descriptions are ranked.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    weight = np.ones(len(descriptions)) if weights is None else np.asarray(weights, dtype=np.float64)
    wanted, names = searched.wanted(ids)
    count = len(searched)
    shares = [_Shares(one, ~searched.silent[:count]) for one in descriptions]
    size = max(SHORTLIST, 4 * k) if count > SAMPLE else count
    barred = _Barred(searched.ids, artists)
    found: dict[str, tuple[Neighbour, ...]] = {}
    for start in range(0, len(wanted), TOGETHER):
        block = wanted[start : start + TOGETHER]
        possible = [
            np.unique(np.concatenate([one.nearest(query, size, barred.by(query)) for one in shares]))
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

    heard  (n,) True for searched recordings that are not silent
    """

    def __init__(self, description: Description, heard: Booleans) -> None:
        self.description = description
        self.open = description.known[: len(heard)] & heard
        chosen = np.flatnonzero(self.open)
        self.references = chosen[drawn_references(len(chosen))]
        self._places = np.empty(0, np.int64)
        self._far = np.empty((0, len(self.references)))

    def expect(self, places: Integers) -> None:
        """Compute the divergences of some recordings from the references; earlier ones are dropped."""
        self._places = places[self.description.known[places]]
        self._far = self.description.divergence(self._places, self.references)

    def nearest(self, query: int, size: int, barred: Integers) -> Integers:
        """The places of this many recordings nearest to one.

        barred  places to leave out
        """
        if not self.description.known[query]:
            return np.empty(0, np.int64)
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


# A large index in several folders, its shards, searched one by one or in parallel on a Dask cluster.


OPEN = 16  # shards kept open by a process: each identifier takes 0.1 kB of memory, mapped files none
Spread = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


class Found(NamedTuple):
    """Recordings of shards: their identifiers, their rows (n, width), and which have a limited band (n,)."""

    names: tuple[str, ...]
    rows: Singles
    limited: Booleans


class Shortlist(NamedTuple):
    """Recordings nearest to a query by Kullback-Leibler, nearest first, and their divergences (n,)."""

    names: tuple[str, ...]
    rows: Singles
    limited: Booleans
    divergence: Array


def search_shards(
    shards: Iterable[str | Path],
    queries: AudioIndex,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The k recordings of all shards nearest to each query, nearest first, never one with the query's own identifier.

    shards      folders of indexes with the same parameters, no recording in two of them
    queries     index of the recordings searched for, such as a new clip's or one from `gather`
    k           number of neighbours, at least 1
    artists     identifier -> artist: recordings by the query's artist are left out
    divergence  "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon
    proximity   True to rank by mutual proximity, with 1,000 recordings of all shards as references
    scheduler   address of a Dask cluster, whose machines find the folders under the same paths; None: in this process,
                one shard after the other

    The answer equals that of one index with the recordings of all shards in their order; see `AudioIndex.neighbours`.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    folders = [str(shard) for shard in shards]
    if not folders:
        raise InputError("there is no shard to search: expected at least one index")
    spread: Spread = map if scheduler is None else Workers(scheduler=scheduler).map
    open_in = list(spread(_count_open, folders))
    count, plain = sum(open_in), divergence == "kl" and not proximity
    size = k if plain else max(1, count) if count <= SAMPLE else max(SHORTLIST, 4 * k)
    references = _references(folders, open_in, spread) if proximity else None
    best: dict[str, tuple[Neighbour, ...]] = {}
    for start in range(0, len(queries), TOGETHER):
        part = slice(start, start + TOGETHER)
        asked = AudioIndex(tuple(queries.recordings[part]), np.asarray(queries.rows[part]), queries.parameters)
        lists = list(spread(_shortlists, [(folder, asked, size, artists) for folder in folders]))
        for place, name in enumerate(asked.ids):
            near = _merged([found[place] for found in lists], size)
            own = Found((name,), asked.rows[place : place + 1], asked.limited[place : place + 1])
            best[name] = _shards_ranked(own, near, references, divergence, asked.parameters.dimension)[:k]
    return best


def neighbours_in(
    indexes: Sequence[str | Path],
    identifiers: Iterable[str] | None,
    k: int,
    artists: Mapping[str, str | None] | None = None,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The neighbours of some recordings of an index (None: of all), which is in one folder or in shards.

    indexes    its folders
    scheduler  address of a cluster that searches the shards; see `search_shards`, and `AudioIndex.neighbours` for the
               rest
    """
    if len(indexes) == 1 and scheduler is None:
        index, wanted = AudioIndex.load(indexes[0]), None if identifiers is None else dict.fromkeys(identifiers)
        return index.neighbours(wanted, k, artists, divergence=divergence, proximity=proximity)
    asked = gather(indexes, identifiers)
    return search_shards(indexes, asked, k, artists, divergence=divergence, proximity=proximity, scheduler=scheduler)


def neighbours_like(
    indexes: Sequence[str | Path],
    sounds: AudioIndex,
    k: int,
    *,
    divergence: Divergence = "js",
    proximity: bool = True,
    scheduler: str | None = None,
) -> dict[str, tuple[Neighbour, ...]]:
    """The recordings of an index, in one folder or in shards, nearest to sounds that are not in it.

    sounds  described with the parameters of the index; an identifier that occurs in both means another recording

    See `AudioIndex.neighbours_of` and `search_shards` for the rest.
    """
    if len(indexes) == 1 and scheduler is None:
        return AudioIndex.load(indexes[0]).neighbours_of(sounds, k, divergence=divergence, proximity=proximity)
    # A search of shards leaves out the query's own identifier. An impossible file name keeps a recording of the same
    # name in.
    asked = AudioIndex(
        tuple(replace(one, identifier=f"{one.identifier}\0") for one in sounds.recordings),
        sounds.rows,
        sounds.parameters,
    )
    near = search_shards(indexes, asked, k, divergence=divergence, proximity=proximity, scheduler=scheduler)
    return dict(zip(sounds.ids, near.values(), strict=True))


def gather(shards: Iterable[str | Path], identifiers: Iterable[str] | None) -> AudioIndex:
    """Some recordings of shards (None: all), as an index in memory."""
    indexes = [AudioIndex.load(shard) for shard in shards]
    if not indexes:
        raise InputError("there is no shard to search: expected at least one index")
    where: dict[str, int] = {}
    for number, index in enumerate(indexes):
        for name in index.ids:
            if where.setdefault(name, number) != number:
                raise InputError(f"{name!r} is in two shards, {indexes[where[name]].folder} and {index.folder}")
    wanted = list(where if identifiers is None else dict.fromkeys(identifiers))
    missing = next((name for name in wanted if name not in where), None)
    if missing is not None:
        raise InputError(f"no recording is called {missing!r} in these {len(indexes)} shards of {len(where)}")
    parts = [_chosen(index, [name for name in wanted if where[name] == n]) for n, index in enumerate(indexes)]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.joined(part)
    return whole


def _chosen(index: AudioIndex, names: Sequence[str]) -> AudioIndex:
    places = index.positions(names)
    return AudioIndex(tuple(index.recordings[place] for place in places), index.rows_at(places), index.parameters)


def _opened(folder: str) -> AudioIndex:
    """An open shard, kept by the process for its next search."""
    entries = Path(folder) / ENTRIES
    return _opened_at(folder, entries.stat().st_mtime_ns if entries.exists() else 0)


@lru_cache(OPEN)
def _opened_at(folder: str, changed_ns: int) -> AudioIndex:
    return AudioIndex.load(folder)


def _count_open(folder: str) -> int:
    return int(np.count_nonzero(~_opened(folder).silent))


def _references(folders: Sequence[str], open_in: Sequence[int], spread: Spread) -> Found:
    """References drawn once from the open recordings of all shards, as `search` draws them from one index."""
    drawn, ends = drawn_references(sum(open_in)), np.cumsum(open_in)
    tasks = [
        (folder, drawn[(drawn >= end - size) & (drawn < end)] - (end - size))
        for folder, size, end in zip(folders, open_in, ends, strict=True)
    ]
    return _together(list(spread(_some_open, tasks)))


def _some_open(task: tuple[str, Any]) -> Found:
    """The open recordings of a shard with the given numbers."""
    folder, numbers = task
    index = _opened(folder)
    places = np.flatnonzero(~index.silent)[numbers]
    return Found(tuple(index.ids[place] for place in places), index.rows_at(places), index.limited[places])


def _together(parts: Sequence[Found]) -> Found:
    names = tuple(name for part in parts for name in part.names)
    rows, limited = ([getattr(part, what) for part in parts] for what in ("rows", "limited"))
    return Found(names, np.concatenate(rows), np.concatenate(limited))


def _shortlists(task: tuple[str, AudioIndex, int, Mapping[str, str | None] | None]) -> list[Shortlist]:
    """Nearest recordings of one shard for each query, without the query itself and recordings by its artist."""
    folder, queries, size, artists = task
    index, known = _opened(folder), artists or {}
    works = Counter(known.get(name) for name in index.ids) if known else Counter()
    spare = 1 + max((works[artist] for name in queries.ids if (artist := known.get(name))), default=0)
    near = index.neighbours_of(queries, size + spare, divergence="kl", proximity=False)
    result = []
    for name, found in near.items():
        artist = known.get(name)
        kept = [
            one for one in found if one.identifier != name and not (artist and known.get(one.identifier) == artist)
        ][:size]
        names = tuple(one.identifier for one in kept)
        places = index.positions(names)
        distances = np.array([one.divergence for one in kept])
        result.append(Shortlist(names, index.rows_at(places), index.limited[places], distances))
    return result


def _merged(lists: Sequence[Shortlist], size: int) -> Shortlist:
    """The nearest of all shards; of equally near ones, the earlier shard's come first."""
    divergence = np.concatenate([one.divergence for one in lists])
    order = np.argsort(divergence, kind="stable")[:size]
    found = _together([Found(one.names, one.rows, one.limited) for one in lists])
    names = tuple(found.names[place] for place in order)
    return Shortlist(names, found.rows[order], found.limited[order], divergence[order])


def _shards_ranked(
    own: Found, near: Shortlist, references: Found | None, divergence: Divergence, d: int
) -> tuple[Neighbour, ...]:
    divergences = near.divergence if divergence == "kl" else _divergences(own.rows, near.rows, divergence, d)[0]
    if references is None:
        order, close = np.argsort(divergences, kind="stable"), [None] * len(divergences)
    else:
        names = np.array(references.names, dtype=object)
        counted = (names != np.array(near.names, dtype=object)[:, None]) & (names != own.names[0])
        from_own, from_others = (_divergences(rows, references.rows, divergence, d) for rows in (own.rows, near.rows))
        given = divergences, from_own[0], from_others, counted
        if has_two_kinds(references.limited):
            proximity = proximity_of_kinds(*given, bool(own.limited[0]), near.limited, references.limited)
        else:
            proximity = mutual_proximity(*given)
        order, close = np.lexsort((divergences, -proximity)), proximity.tolist()
    return tuple(Neighbour(near.names[place], float(divergences[place]), close[place]) for place in order)


def _divergences(rows: Singles, others: Singles, divergence: Divergence, d: int) -> Array:
    """(r, c) divergences of some rows from others."""
    if divergence == "js":
        return jensen_shannon.jensen_shannon_divergence(rows, others, d)
    packed = kullback_leibler.pack(np.concatenate([rows, others]), d)
    places = np.arange(len(packed))
    return kullback_leibler.kullback_leibler_divergence(
        packed, places[: len(rows)], places[len(rows) :], "double"
    ).astype(float)


def split(folder: str | Path, into: str | Path, count: int) -> tuple[Path, ...]:
    """Write an index as shards of about equal size, in folders numbered from 0; return the folders.

    count  number of shards, at least 1
    """
    if count < 1:
        raise InputError(f"there must be at least one shard, got {count}")
    index, made = AudioIndex.load(folder), []
    for number in range(count):
        part = slice(len(index) * number // count, len(index) * (number + 1) // count)
        shard = AudioIndex(tuple(index.recordings[part]), index.rows[part], index.parameters)
        made.append(Path(into) / f"{number:04}.index")
        shard.save(made[-1])
    return tuple(made)
