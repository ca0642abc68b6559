"""Closeness of recordings by sound: mutual proximity among the references of an index, computed once.

    P(x, y) = share of the references r with  D(x, r) > D(x, y)  and  D(y, r) > D(x, y)

D is the Jensen-Shannon divergence of the recordings' Gaussians. Closeness does not
depend on the pool, so it is cached in the process and in closeness.npz beside the index. The key is a digest of the
recordings' rows, so the cache is never stale; if the file is damaged or cannot be written, only time is lost.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import BadZipFile

import numpy as np

from audiosim.errors import InputError
from audiosim.sound import jensen_shannon
from audiosim.sound.gaussians import Singles
from audiosim.sound.proximity import mutual_proximity, nearest_correlation, references_among
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.threads import one_thread
from audiosim.tables.arrays import npz_bytes
from audiosim.tables.text import write_texts

DIVERGENCES = 2_000_000  # divergences held at a time: 16 MB
REFERENCES = 250  # references of mutual proximity: with more of them, its standard error of .03 hardly falls
SHAPE = 8  # power of the proximity: 4 or 16 work equally well; 1 is too wide, the divergence itself too narrow
FILE = "closeness.npz"
MOST_BYTES = 2**26  # divergences cached for one index
WORTH_KEEPING = 20_000  # number of new divergences worth saving: they take a tenth of a second
KEPT = 4  # indexes cached in the process
DIGEST_BYTES = 16
KEY = f"V{DIGEST_BYTES}"  # numpy's type of digests

Digest = bytes


class ClosenessMemory:
    """Divergences from some references, and results computed from them; safe to share between threads.

    rows       (r, width) rows of the references
    dimension  dimension of the Gaussians
    folder     folder for the file; None: memory only
    """

    def __init__(self, rows: Singles, dimension: int, folder: Path | None) -> None:
        self.dimension, self._rows = dimension, np.array(rows)
        self._file = None if folder is None else folder / FILE
        self._found: dict[Digest, Array] = {}  # closeness, by the digest of its data
        self._far: dict[Digest, Singles] = {}  # divergences from the references, by row
        self._held = self._new = 0
        self._lock = Lock()
        self._recall()

    def missing(self, keys: list[Digest]) -> int:
        """Number of missing divergences of some recordings from the references."""
        return len({key for key in keys if key not in self._far}) * len(self._rows)

    def far(self, keys: list[Digest], rows: Callable[[list[int]], Singles], many: bool | None = None) -> Singles:
        """(m, r) divergences of some recordings from the references, in single precision.

        keys  digests of the recordings' rows
        rows  function that gives some of these rows
        many  True to use compiled loops; see `jensen_shannon_divergence`
        """
        missing = list({key: place for place, key in enumerate(keys) if key not in self._far}.values())
        block, fresh = max(1, DIVERGENCES // max(1, len(self._rows))), dict[Digest, Singles]()
        for start in range(0, len(missing), block):
            some = missing[start : start + block]
            divergences = jensen_shannon.jensen_shannon_divergence(rows(some), self._rows, self.dimension, many)
            fresh.update(zip((keys[place] for place in some), divergences.astype(np.float32), strict=True))
        known = self._far
        with self._lock:
            if self._takes(len(fresh) * len(self._rows) * 4, len(fresh) * len(self._rows)):
                self._far = known = {**self._far, **fresh}
        return np.array([fresh[key] if key in fresh else known[key] for key in keys]).reshape(-1, len(self._rows))

    def remembered(self, key: Digest, cost: int, compute: Callable[[], Array]) -> Array:
        """The array of a key; computed if unknown.

        cost  number of divergences needed to compute it
        """
        known = self._found.get(key)
        if known is None:
            known = compute()
            with self._lock:
                if self._takes(known.nbytes, cost):
                    self._found[key] = known
        return known

    def _takes(self, size: int, cost: int) -> bool:
        """True if this many more bytes fit into the cache; they are then counted."""
        takes = self._held + size <= MOST_BYTES
        if takes:
            self._held, self._new = self._held + size, self._new + cost
        return takes

    def keep(self) -> None:
        """Write the cache beside the index if enough of it is new; in a read-only folder, do nothing."""
        with self._lock:
            if self._file is None or self._new < WORTH_KEEPING:
                return
            self._new, found, far = 0, dict(self._found), self._far
        with suppress(InputError):
            write_texts({self._file: npz_bytes(self._packed(found, far))})

    def _packed(self, found: dict[Digest, Array], far: dict[Digest, Singles]) -> dict[str, Any]:
        arrays = list(found.values())
        return {
            "references": np.array([_digest(self._rows)], KEY),
            "recordings": np.array(list(far), KEY),
            "far": np.array(list(far.values()), np.float32).reshape(len(far), -1),
            "keys": np.array(list(found), KEY),
            "shapes": np.array([(len(one), one.ndim) for one in arrays], np.int64).reshape(-1, 2),
            "values": np.concatenate([np.empty(0), *(one.ravel() for one in arrays)]),
        }

    def _recall(self) -> None:
        """Load the saved results for these references."""
        if self._file is None:
            return
        with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
            with self._file.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                parts = {name: kept[name] for name in kept.files}
            if parts["references"].tolist() != [_digest(self._rows)]:
                return
            sizes = [length**order for length, order in parts["shapes"].tolist()]
            flat = np.split(parts["values"], np.cumsum(sizes)[:-1])
            shapes = [(length,) * order for length, order in parts["shapes"].tolist()]
            arrays = [one.reshape(shape) for one, shape in zip(flat, shapes, strict=False)]
            found = dict(zip(parts["keys"].tolist(), arrays, strict=True))
            self._far = dict(zip(parts["recordings"].tolist(), parts["far"], strict=True))
            self._found, self._held = found, parts["far"].nbytes + parts["values"].nbytes


def _pairs(places: Integers) -> int:
    return len(places) * (len(places) - 1) // 2


def _digest(rows: Singles) -> Digest:
    return blake2b(rows.tobytes(), digest_size=DIGEST_BYTES).digest()


_MEMORIES: OrderedDict[tuple[Digest, Path | None], ClosenessMemory] = OrderedDict()
_OPENING = Lock()


def memory_of(rows: Singles, dimension: int, folder: Path | None) -> ClosenessMemory:
    """Cache for these references, shared within the process."""
    key = (_digest(rows), folder)
    with _OPENING:
        found = _MEMORIES.pop(key, None) or ClosenessMemory(rows, dimension, folder)
        _MEMORIES[key] = found
        while len(_MEMORIES) > KEPT:
            _MEMORIES.popitem(last=False)
    return found


class Neighbourhood:
    """Recordings among the references of their index.

    table      (n, width) rows of Gaussians, read a few at a time
    dimension  dimension of the Gaussians
    settled    number of recordings, from the first, among which the references are drawn
    folder     folder of the index; None: the index is only in memory
    """

    def __init__(self, table: Singles, dimension: int, settled: int, folder: Path | None) -> None:
        self.table, self.references = table, references_among(settled, REFERENCES)
        self.memory = memory_of(np.asarray(table[self.references]), dimension, folder)
        self._known: dict[int, Digest] = {}  # digests of rows, by place
        self._many: bool | None = None

    def expect(self, places: Integers) -> None:
        """Announce all recordings that will be requested: if many are new, compiled loops pay."""
        self._many = self.memory.missing(self._digests(places)) >= jensen_shannon.MANY or None

    def proximity(self, one: int, others: Integers) -> Array:
        """(m,) mutual proximity of one place and others; 1 for identical recordings.

        NaN if there is no reference other than the two. See `stats.proximity`.
        """
        places = np.concatenate([[one], others])

        def compute() -> Array:
            far = self._far(places)
            return self._mutual(self._divergences(places[:1], others)[0], far[0], far[1:], one, others)

        return self.memory.remembered(self._key(b"query", places), len(others), compute)

    def closeness(self, places: Integers, settled: int = 0) -> Array:
        """(m, m) mutual proximity of some recordings to the power of SHAPE; 1 on the diagonal.

        settled  number of first recordings that are requested repeatedly, with changing others after them
        """
        if not 1 < settled < len(places):
            return self.memory.remembered(self._key(b"near", places), _pairs(places), lambda: self._among(places, 0))
        return self._among(places, settled)

    def likeness(self, places: Integers, settled: int = 0) -> Array:
        """(m, m) the same as a correlation; see `stats.proximity.nearest_correlation`."""

        def compute() -> Array:
            near = self.closeness(places, settled)
            with one_thread():
                return nearest_correlation(near)

        return self.memory.remembered(self._key(b"alike", places), _pairs(places), compute)

    def _among(self, places: Integers, settled: int) -> Array:
        """`closeness`, with the block of the first recordings taken from memory."""
        far, near = self._far(places), np.eye(len(places))
        if settled:
            near[:settled, :settled] = self.closeness(places[:settled])
        divergences = self._divergences(places[settled:], places) if settled else self._divergences(places, None)
        for row in range(settled, len(places)):
            earlier = slice(None, row)
            found = self._mutual(
                divergences[row - settled, earlier], far[row], far[earlier], int(places[row]), places[earlier]
            )
            near[row, earlier] = near[earlier, row] = np.nan_to_num(found) ** SHAPE
        return near

    def _far(self, places: Integers) -> Singles:
        return self.memory.far(self._digests(places), lambda some: np.asarray(self.table[places[some]]), self._many)

    def _digests(self, places: Integers) -> list[Digest]:
        for place in places.tolist():
            if place not in self._known:
                self._known[place] = _digest(self.table[place])
        return [self._known[place] for place in places.tolist()]

    def _divergences(self, rows: Integers, columns: Integers | None) -> Singles:
        others = None if columns is None else np.asarray(self.table[columns])
        table, d = np.asarray(self.table[rows]), self.memory.dimension
        return jensen_shannon.jensen_shannon_divergence(table, others, d, self._many).astype(np.float32)

    def _mutual(
        self, divergences: Singles, from_one: Singles, from_others: Singles, one: int, others: Integers
    ) -> Array:
        counted = (self.references != others[:, None]) & (self.references != one)
        near = mutual_proximity(divergences, from_one, from_others, counted)
        near[divergences == 0] = 1.0
        return near

    def _key(self, what: bytes, places: Integers) -> Digest:
        """Digest of the data behind closeness: the rows, and a mask of the references."""
        inside = np.where(np.isin(places, self.references), np.searchsorted(self.references, places), -1)
        content = b"".join([what, *self._digests(places), inside.astype("<i8").tobytes()])
        return blake2b(content, digest_size=DIGEST_BYTES).digest()
