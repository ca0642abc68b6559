"""Recordings and their Gaussians, a row for each, in memory or on disk; and the Gaussians nearest to some, by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from audiosim.errors import InputError
from audiosim.results.value import cached_property
from audiosim.sound import packed as packing
from audiosim.sound.gaussians import RowTable, Singles, width
from audiosim.sound.kullback_leibler import Packed, pack, packed_sides
from audiosim.sound.nearest import SearchField, nearest
from audiosim.sound.parameters import STANDARD_FRAMES, Parameters
from audiosim.sound.store import ENTRIES, Recording, Recordings, RowsOnDisk
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.text import counted, repeated

OPEN = 16  # tables kept open by a process that searches them for another


@dataclass(frozen=True, eq=False)
class RecordingTable:
    """Recordings, each as the Gaussian of its frames.

    recordings  (n) entries with distinct identifiers
    table       (m, width) rows of Gaussians, single precision: mean, upper triangle of the covariance, ln det. Row i is
                that of recording i in memory, of entry i on disk
    parameters  parameters of the frames; d dimensions
    """

    recordings: Sequence[Recording]
    table: Singles
    parameters: Parameters = STANDARD_FRAMES

    def __post_init__(self) -> None:
        if self.stored is not None:
            return  # rows on disk were checked when written
        expected = (len(self.recordings), width(self.parameters.dimension))
        if self.table.shape != expected:
            raise InputError(f"rows must be {expected} to match the recordings and parameters, got {self.table.shape}")
        if (twice := repeated(self.ids)) is not None:
            raise InputError(f"two recordings are called {twice!r}")

    def __repr__(self) -> str:
        return counted(len(self.recordings), "recording")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The index in a folder, its rows mapped into memory and its entries not yet read."""
        stored = Recordings(folder)
        return cls(stored, stored.rows, stored.parameters)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A table on disk goes to another process as its folder."""
        if self.stored is None:
            return super().__reduce__()
        entries = self.stored.folder / ENTRIES
        return _opened, (type(self), str(self.stored.folder), entries.stat().st_mtime_ns if entries.exists() else 0)

    def __len__(self) -> int:
        return len(self.recordings)

    @property
    def stored(self) -> Recordings | None:
        """The entries on disk; None: the recordings are in memory."""
        return self.recordings if isinstance(self.recordings, Recordings) else None

    @property
    def folder(self) -> Path | None:
        """Folder of the index on disk; None: in memory only."""
        return None if self.stored is None else self.stored.folder

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The identifiers, in the order of the rows."""
        return self.stored.identifiers if self.stored else tuple(one.identifier for one in self.recordings)

    @cached_property
    def silent(self) -> Booleans:
        """(n,) True for recordings that are silent, or nearly so."""
        return self.stored.silent if self.stored else np.array([one.silent for one in self.recordings], dtype=bool)

    @cached_property
    def limited(self) -> Booleans:
        """(n,) True for recordings that are known to be band-limited."""
        return self.stored.limited if self.stored else np.array([one.limited for one in self.recordings], dtype=bool)

    @cached_property
    def rows(self) -> Singles:
        """(n, width) the rows of the recordings; a copy if some were replaced on disk."""
        if self.stored is None:
            return self.table
        places = self.stored.places
        return self.row_table[slice(None) if len(places) == len(self.table) else places]

    def rows_at(self, positions: Integers) -> Singles:
        """(m, width) copy of some rows; on disk, only these are read and checked."""
        return np.array(self.row_table[positions if self.stored is None else self.stored.places[positions]])

    @cached_property
    def row_table(self) -> RowTable:
        """(m, width) rows, as `table`; on disk, they are checked when first used."""
        return self.table if self.stored is None else RowsOnDisk(self.stored)

    def names(self, positions: Integers) -> list[str]:
        """The identifiers of some rows; on disk, only these are read."""
        if self.stored is None:
            return [self.ids[position] for position in positions.tolist()]
        return self.stored.names(positions)

    def find(self, names: Sequence[str]) -> Integers:
        """(k,) the rows of some identifiers; -1 for an unknown one."""
        if self.stored is not None:
            return self.stored.find(names)
        return np.array([self._positions.get(name, -1) for name in names], dtype=np.int64)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {identifier: position for position, identifier in enumerate(self.ids)}

    @cached_property
    def packed(self) -> Packed:
        """For a large index on disk all entries, including superseded ones; otherwise the recordings."""
        if self._is_large and self.folder is not None:
            return packing.packed_on_disk(self.folder, self.row_table, self.parameters.dimension)
        return pack(self.rows, self.parameters.dimension)

    def packed_places(self, positions: Integers) -> Integers:
        """Places of some recordings among the packed ones."""
        return self.stored.places[positions] if self.stored is not None and self._is_large else positions

    @property
    def _is_large(self) -> bool:
        return self.stored is not None and len(self.table) >= packing.LARGE

    def shortlists(self, rows: Singles, groups: Integers, own: Integers, size: int) -> tuple[Integers, Integers, Array]:
        """The recordings nearest to some Gaussians by Kullback-Leibler, never a silent one.

        rows    (q, width) the Gaussians
        groups  (q,) the group of each, whose recordings are left out
        own     (n,) group of each recording
        size    number for each

        Returns the number of the Gaussian, the position and the divergence of each pair, by number and divergence.
        """
        outside = np.arange(len(self)) if not (self.stored and self._is_large) else self.stored.numbers
        closed, known = np.append(self.silent, True)[outside], np.append(own, -1)[outside]
        field = SearchField(self.packed, known, closed, outside)
        found = nearest(field, packed_sides(rows, self.packed.whitener), groups, size)
        return found.query, outside[found.place], found.divergence


@lru_cache(OPEN)
def _opened(kind: type[RecordingTable], folder: str, changed_ns: int) -> RecordingTable:
    return kind.load(folder)
