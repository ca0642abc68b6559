"""Recordings to search, in one index or several, and what they are compared by: Gaussians, and vectors beside them.

Each description has its own divergence; see `audiosim.sound.search`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from audiosim.collection.evidence import Evidence, read_vectors
from audiosim.errors import ArgumentError, InputError
from audiosim.results.value import cached_property
from audiosim.sound.embedding import GAUSSIANS, LEVELLED
from audiosim.sound.gaussians import Singles
from audiosim.sound.jensen_shannon import jensen_shannon_divergence
from audiosim.sound.kullback_leibler import Packed, kullback_leibler_divergence, packed_sides
from audiosim.sound.parameters import MFCC, Parameters
from audiosim.sound.recordings import RecordingTable
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.text import choices

Divergence = Literal["kl", "js"]
Spread = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class Searched:
    """Recordings by place: those of the indexes one after the other, then the sounds to search by.

    shards         indexes with the same parameters, no recording in two of them
    asked          sounds to search by that are in no index; None: no such sounds
    asked_vectors  (a, d) vectors of these sounds, by name; zeros for sounds without one
    spread         `map`, or the same on several machines, for the search of each shard
    """

    shards: tuple[RecordingTable, ...]
    asked: RecordingTable | None = None
    asked_vectors: Mapping[str, Array] = field(default_factory=dict)
    spread: Spread = map

    def __post_init__(self) -> None:
        if not self.shards:
            raise InputError("there is no shard to search: expected at least one index")
        for one in self._all[1:]:
            self.parameters.check_comparable(one.parameters)
        first: dict[str, RecordingTable] = {}
        for shard in self.shards if len(self.shards) > 1 else ():
            for name in shard.ids:
                if (other := first.setdefault(name, shard)) is not shard:
                    raise InputError(f"{name!r} is in two shards, {other.folder} and {shard.folder}")

    @classmethod
    def load(cls, folders: Iterable[str | Path], spread: Spread = map) -> "Searched":
        """The indexes in some folders."""
        return cls(tuple(RecordingTable.load(folder) for folder in folders), spread=spread)

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
        found = np.empty((len(places), self.shards[0].table.shape[1]), np.float32)
        for shard, inside, positions in self._by_shard(places):
            found[inside] = shard.rows_at(positions)
        return found

    def names(self, places: Integers) -> list[str]:
        """The identifiers at some places."""
        found = np.empty(len(places), dtype=object)
        for shard, inside, positions in self._by_shard(places):
            found[inside] = shard.names(positions)
        return found.tolist()

    def vectors(self, name: str) -> Array:
        """(n + a, d) vectors of this name; zeros for recordings without one."""
        pieces = self.pieces[name]
        d = next(piece.values.shape[1] for piece in pieces if piece is not None)
        found = np.zeros((len(self.silent), d))
        for start, shard, piece in zip(self._starts, self.shards, pieces, strict=False):
            if piece is not None:
                rows = shard.find([str(key) for key in piece.keys])
                found[start + rows[rows >= 0]] = piece.values[rows >= 0]
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
        names = tuple(ids)
        places: Integers = np.full(len(names), -1)
        for start, shard in zip(self._starts, self.shards, strict=False):
            found = shard.find(names)
            places[found >= 0] = start + found[found >= 0]
        if (places < 0).any():
            where = "this index" if len(self.shards) == 1 else f"these {len(self.shards)} shards"
            missing = names[int(np.argmin(places))]
            raise InputError(f"no recording is called {missing!r} in {where} of {len(self)}")
        return places, names

    def groups(self, artists: Mapping[str, str | None] | None) -> Integers:
        """(n + a,) a group for each, whose recordings are not its neighbours: of its artist, or else itself alone."""
        groups = np.append(np.arange(len(self)), np.full(len(self.silent) - len(self), -1))
        if artists:
            codes = {artist: len(self) + number for number, artist in enumerate(dict.fromkeys(artists.values()))}
            for place, name in enumerate(self.ids):
                if artist := artists.get(name):
                    groups[place] = codes[artist]
        return groups

    def shortlists(self, queries: Integers, groups: Integers, size: int) -> list[Integers]:
        """For each query, the places of this many recordings nearest by Kullback-Leibler, in rising order."""
        rows, own = self.rows(queries), groups[queries]
        tasks = [
            (shard, rows, own, groups[start : start + len(shard)], size)
            for start, shard in zip(self._starts, self.shards, strict=False)
        ]
        parts = list(self.spread(_shortlists, tasks))
        query = np.concatenate([query for query, _, _ in parts])
        place = np.concatenate([start + place for start, (_, place, _) in zip(self._starts, parts, strict=False)])
        order = np.lexsort((place, np.concatenate([divergence for *_, divergence in parts]), query))
        ends = np.searchsorted(query[order], np.arange(len(queries) + 1)).tolist()
        return [np.sort(place[order[start : min(start + size, end)]]) for start, end in pairwise(ends)]

    @property
    def _all(self) -> tuple[RecordingTable, ...]:
        return self.shards if self.asked is None else (*self.shards, self.asked)

    @cached_property
    def _starts(self) -> list[int]:
        """The place of the first recording of each index."""
        return [0, *accumulate(map(len, self._all))]

    def _by_shard(self, places: Integers) -> Iterable[tuple[RecordingTable, Booleans, Integers]]:
        """Each index with some of the places: a mask of them, and their positions in it."""
        for start, shard in zip(self._starts, self._all, strict=False):
            inside = (places >= start) & (places < start + len(shard))
            if inside.any():
                yield shard, inside, places[inside] - start


def _shortlists(task: tuple[RecordingTable, Singles, Integers, Integers, int]) -> tuple[Integers, Integers, Array]:
    return RecordingTable.shortlists(*task)


@dataclass(frozen=True, eq=False)
class ByGaussians:
    """Divergence of the Gaussians of indexes.

    name      name of the description
    kind      "kl", symmetrised Kullback-Leibler, or "js", Jensen-Shannon
    constant  dimension whose mean is treated as equal in all recordings; None: no dimension
    """

    searched: Searched
    kind: Divergence = "js"
    name: str = GAUSSIANS
    constant: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("kl", "js"):
            raise InputError(f"divergence must be 'kl' or 'js', got {self.kind!r}")

    @classmethod
    def levelled(cls, searched: Searched) -> "ByGaussians":
        """The divergence as if all recordings were equally loud.

        Gain adds a constant to the levels in dB of all bands, and so to the first cepstral coefficient of all frames.
        It moves only the mean of this coefficient, because floors are relative to the loudest level.
        """
        if (first := f"{MFCC} 0") not in (names := searched.parameters.dimensions):
            raise InputError(f"{LEVELLED} needs the first coefficient of MFCC, found frames from {names[0]} on")
        return cls(searched, "js", LEVELLED, names.index(first))

    @property
    def known(self) -> Booleans:
        """(n,) True for all recordings, and the recordings to search by after them."""
        return np.ones(len(self.searched.silent), dtype=np.bool_)

    @property
    def limited(self) -> Booleans | None:
        """(n,) True for recordings with a limited band, which are nearer to each other."""
        return self.searched.limited

    def divergence(self, rows: Integers, columns: Integers) -> Array:
        """(r, c) of some recordings from others; 0 for one and itself."""
        if self.kind == "js":
            return jensen_shannon_divergence(
                self._table(rows), self._table(columns), self.searched.parameters.dimension
            )
        whitener = self.searched.shards[0].packed.whitener
        table = self.searched.rows(np.concatenate([rows, columns]))
        sides, count = packed_sides(table, whitener), len(rows)
        packed, places = Packed(table, whitener, sides.astype(np.float32), sides), np.arange(len(table))
        return kullback_leibler_divergence(packed, places[:count], places[count:], "double").astype(float)

    def _table(self, places: Integers) -> Singles:
        table = self.searched.rows(places)
        if self.constant is not None:
            table[:, self.constant] = 0
        return table


@dataclass(frozen=True, eq=False)
class ByVectors:
    """1 - cosine of vectors.

    vectors  (n, d) vectors of length 1; zeros for recordings without one
    known    (n,) True for recordings that have one
    limited  None: whether a band is limited does not matter here
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
        """(r, c) of some recordings from others, all known; 0 for one and itself."""
        found: Array = np.maximum(0.0, 1 - self.vectors[rows] @ self.vectors[columns].T)
        found[rows[:, None] == columns] = 0.0
        return found


# One kind of description of the n searched recordings, followed by the recordings to search by.
Description = ByGaussians | ByVectors


def descriptions_of(
    searched: Searched, names: Iterable[str] | None = None, argument: str = "by"
) -> tuple[Description, ...]:
    """Descriptions of recordings by name; all available ones if None.

    names     `gaussians`; `levelled`, Gaussians without loudness; or names of vectors beside the indexes
    argument  parameter in which they were given
    """
    known = [GAUSSIANS, LEVELLED, *searched.pieces]
    chosen = [GAUSSIANS, *searched.common] if names is None else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            missing = f"the index has no description {name!r}, expected one of {choices(name, known)}"
            raise ArgumentError(argument, missing)
        if name in searched.pieces and name not in searched.common:
            raise InputError(
                f"the sounds to query by cannot be described by {name}: the embedding that made it is not installed"
            )
    own = {GAUSSIANS: ByGaussians, LEVELLED: ByGaussians.levelled}
    return tuple(own.get(name, partial(ByVectors.of, name=name))(searched) for name in chosen)
