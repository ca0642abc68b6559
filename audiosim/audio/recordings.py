"""Recordings to search by several descriptions: those of an index or of shards, and sounds outside them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.audio.index import AudioIndex
from audiosim.audio.parameters import Parameters
from audiosim.corpus.evidence_files import Evidence, read_vectors
from audiosim.errors import InputError
from audiosim.properties import cached_property
from audiosim.stats.gaussians.gaussian import Singles


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
