"""The files of an index: rows mapped into memory and entries in SQLite, both only appended to.

    index.json     {"version": 5, "parameters": {...}, "dimensions": [...], "sum": CRC-32 of the parameters, as JSON}
    gaussians.f32  one row per entry: mean, upper triangle of the covariance row by row, ln det; float32, little endian
    entries.db     the table `entries`, one line per row; see `TABLE`

A row is written before its entry is committed, and synced before its entry goes from SQLite's log to the database: a
kill at any moment leaves a whole index. A changed recording is appended again; a removed one gets an entry with a zero
row. Both name the entry that they supersede, so an open index does not change while others append to it. Rows and
entries have checksums, verified when they are read: a flipped bit is found, and so is a row that a power cut has lost.
The next append removes damaged entries, so that `extract` describes their recordings again.

Version 4 of the layout, of release 0.1.0, is read too, and becomes version 5 when it is appended to.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload
from zlib import crc32

import msgspec
import numpy as np

from audiosim.errors import FormatError, InputError, on_disk
from audiosim.results.value import cached_property
from audiosim.sound.gaussians import Singles, width
from audiosim.sound.parameters import Parameters
from audiosim.stats.arrays import Array, Booleans, Integers, numbered
from audiosim.tables.text import claim

HEAD, ROWS, ENTRIES = "index.json", "gaussians.f32", "entries.db"
VERSION, RELEASED = 5, 4
OLD_LINES, OLD_ENTRIES, OLD_SUMS = OLD_FILES = "recordings.jsonl", "entries.u64", "checks.u32"
OLD_REMOVES, OLD_SILENT, OLD_LIMITED = 1 << 63, 1 << 62, 1 << 61
SYNCED = 1000  # entries after which rows and entries are synced
FEW = 1000  # names that are looked up one by one; for more, all are read
TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    place INTEGER PRIMARY KEY,  -- of its row, from 0
    identifier TEXT, path TEXT, note TEXT,  -- UTF-8; a BLOB if the file's name is not text
    size_bytes INTEGER, mtime_ns INTEGER, seconds REAL, frames INTEGER, silent INTEGER, limit_hz REAL,
    replaces INTEGER,  -- place of the entry that this one supersedes
    removed INTEGER,   -- 1 if its recording is gone
    row_sum INTEGER,   -- CRC-32 of the row
    sum INTEGER        -- CRC-32 of the values before it, as an array in MessagePack
);
CREATE INDEX IF NOT EXISTS by_identifier ON entries (identifier);
"""
INSERT = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SCHEMA = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
PLACE, IDENTIFIER, SILENT, LIMIT_HZ, REPLACES, REMOVED, ROW_SUM = 0, 1, 8, 9, 10, 11, 12
CHANGED = "was changed after it was written; audiosim extract repairs the index"
Line = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """Entry of an index on a recording, beside its Gaussian.

    identifier  distinct from all others in the index
    path        path of the sound file, as given
    size_bytes  size of the file, and
    mtime_ns    time of its last change: the file is read again if either differs
    seconds     length of the decoded sound
    frames      number of frames that the Gaussian is fitted to
    note        caution, such as clipping; or empty
    silent      True if it is silent or nearly so, and so never a neighbour
    limit_hz    end of its band; None if it is not known to end
    """

    identifier: str
    path: str = ""
    size_bytes: int = 0
    mtime_ns: int = 0
    seconds: float = 0.0
    frames: int = 0
    note: str = ""
    silent: bool = False
    limit_hz: float | None = None

    @property
    def limited(self) -> bool:
        """True if its band is known to end."""
        return self.limit_hz is not None


def _line(place: int, one: Recording, row_sum: int, replaces: int | None = None, removed: bool = False) -> Line:
    limit_hz = None if one.limit_hz is None else float(one.limit_hz)
    numbers = one.size_bytes, one.mtime_ns, float(one.seconds), one.frames, int(one.silent), limit_hz
    values = (place, *map(_stored, (one.identifier, one.path, one.note)), *numbers, replaces, int(removed), row_sum)
    return (*values, _sum(values))


def _intact(line: Line) -> bool:
    return bool(_sum(line[:-1]) == line[-1])


def _recording(line: Line) -> Recording:
    _, *texts, size_bytes, mtime_ns, seconds, frames, silent, limit_hz = line[:REPLACES]
    identifier, path, note = map(_text, texts)
    return Recording(identifier, path, size_bytes, mtime_ns, seconds, frames, note, bool(silent), limit_hz)


def _sum(values: Line) -> int:
    return crc32(msgspec.msgpack.encode(values))


def _stored(text: str) -> str | bytes:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _text(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def read_head(folder: Path) -> Parameters:
    """The parameters of the index in a folder."""
    return _head(folder)[1]


def _head(folder: Path) -> tuple[int, Parameters]:
    """Version of the layout, and parameters of the frames."""
    path = folder / HEAD
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        version = head["version"]
        parameters = Parameters.from_json(head["parameters"]) if version in (VERSION, RELEASED) else None
        dimensions = head["dimensions"] if parameters else []
        intact = version == RELEASED or head["sum"] == _sum_of(head["parameters"]) if parameters else True
    except OSError:
        raise InputError(f"{folder}: is not an index, expected a folder with {HEAD}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(path, 1, "expected the version and the parameters of an index") from None
    if parameters is None:
        raise FormatError(path, 1, f"expected an index of version {VERSION}, found {version!r}; extract it again")
    if not intact:
        raise FormatError(path, 1, "the parameters were changed after they were written; extract the index again")
    if dimensions != list(parameters.dimensions):
        raise FormatError(path, 1, f"expected the dimensions of its parameters, {', '.join(parameters.dimensions)}")
    return version, parameters


def _sum_of(parameters: object) -> int:
    return crc32(json.dumps(parameters).encode())


def _write_head(folder: Path, parameters: Parameters) -> None:
    said = parameters.to_json()
    head = {"version": VERSION, "parameters": said, "dimensions": parameters.dimensions, "sum": _sum_of(said)}
    new = folder / f"{HEAD}.new"
    new.write_text(json.dumps(head) + "\n", encoding="utf-8")
    new.replace(folder / HEAD)


def _prepare_head(folder: Path, parameters: Parameters) -> None:
    """Make a new index, or check that the one in the folder has the same parameters."""
    if (folder / HEAD).exists():
        found = read_head(folder)
        if found != parameters:
            raise InputError(f"{folder}: holds frames of other parameters ({found}), expected {parameters}")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.name != f"{HEAD}.new" for path in folder.iterdir()):
            raise InputError(f"{folder}: is not an index and not empty, expected an index or a new folder")
        _write_head(folder, parameters)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}), expected an index or a new folder") from None


class Recordings(Sequence[Recording]):
    """The recordings of an index on disk as it was when it was opened; each is read when it is needed.

    folder      folder of the index
    parameters  parameters of the frames
    entries     m, their number, including those that were superseded
    rows        (m, width) rows of all entries, a memory map
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        version, self.parameters = _head(self.folder)
        columns = width(self.parameters.dimension)
        there = _check_complete(self.folder, version, columns)
        self._memory: sqlite3.Connection | None = None
        if version == RELEASED or not (self.folder / ENTRIES).exists():
            self._memory = sqlite3.connect(":memory:", check_same_thread=False)
            _fill(self._memory, self.folder, version, columns)
        if self._select(SCHEMA) != _schema():
            raise _damaged(self.folder, "other tables")
        ((last,),) = self._select("SELECT max(place) FROM entries")
        self.entries = min(there, 0 if last is None else last + 1)
        if self.entries < there:  # rows that a kill left, or entries that damage has hidden
            ((said,),) = self._select("PRAGMA integrity_check(1)")
            if said != "ok":
                raise _damaged(self.folder, said)
        self.rows = mapped_rows(self.folder, self.entries, columns)

    @overload
    def __getitem__(self, place: int) -> Recording: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Recording]: ...
    def __getitem__(self, place: int | slice) -> Recording | Sequence[Recording]:
        if isinstance(place, slice):
            return [_recording(line) for line in self.lines(self.places[place])]
        return _recording(self.lines(self.places[[place]])[0])

    def __iter__(self) -> Iterator[Recording]:
        return iter(self[:])

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def places(self) -> Integers:
        """(n,) the valid entries, in the order in which their identifiers first appeared."""
        return held_places(self.entries, self._special)

    @cached_property
    def numbers(self) -> Integers:
        """(m,) number of the recording of each entry; -1 if it is not valid."""
        return numbered(self.places, self.entries)

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """All identifiers."""
        return tuple(_text(line[IDENTIFIER]) for line in self.lines(self.places))

    @property
    def silent(self) -> Booleans:
        """Mask of the silent recordings, read without the other entries."""
        return self._mask(SILENT)

    @property
    def limited(self) -> Booleans:
        """Mask of the band-limited recordings, read without the other entries."""
        return self._mask(LIMIT_HZ)

    def find(self, identifiers: Sequence[str]) -> Integers:
        """(k,) numbers of some recordings; -1 for an identifier that is unknown."""
        if len(identifiers) > FEW:
            known = {name: number for number, name in enumerate(self.identifiers)}
            return np.array([known.get(name, -1) for name in identifiers], dtype=np.int64)
        last = "SELECT max(place) FROM entries WHERE identifier = ? AND place < ?"
        found = [self._select(last, _stored(name), self.entries)[0][0] for name in identifiers]
        self.lines(np.array([place for place in found if place is not None], dtype=np.int64))
        return np.array([-1 if place is None else self.numbers[place] for place in found], dtype=np.int64)

    def names(self, numbers: Integers) -> list[str]:
        """The identifiers of some recordings."""
        return [_text(line[IDENTIFIER]) for line in self.lines(self.places[numbers])]

    def lines(self, places: Integers) -> list[Line]:
        """Some lines of the table; a FormatError names one that was changed."""
        if not len(places):
            return []
        if 2 * len(places) > int(places.max()) - int(places.min()):
            found = self._select(
                "SELECT * FROM entries WHERE place BETWEEN ? AND ?", int(places.min()), int(places.max())
            )
        else:
            asked = json.dumps(np.unique(places).tolist())
            found = self._select("SELECT * FROM entries WHERE place IN (SELECT value FROM json_each(?))", asked)
        by_place = {line[PLACE]: line for line in found}
        lines = [by_place.get(place, ()) for place in places.tolist()]
        for place, line in zip(places.tolist(), lines, strict=True):
            if not line or not _intact(line):
                raise FormatError(self.folder / ENTRIES, place + 1, f"the entry {CHANGED}")
        return lines

    @cached_property
    def _special(self) -> list[Line]:
        """Entries that supersede others, or are silent or band-limited; in their order."""
        query = "SELECT place FROM entries WHERE place < ? AND (replaces NOTNULL OR silent OR limit_hz NOTNULL)"
        return self.lines(np.unique([place for (place,) in self._select(query, self.entries)]).astype(np.int64))

    def _mask(self, field: int) -> Booleans:
        mask = np.zeros(self.entries, dtype=bool)
        mask[[line[PLACE] for line in self._special if line[field]]] = True
        return mask[self.places]

    def _select(self, query: str, *values: Any) -> list[Line]:
        with _named(self.folder):
            if self._memory is not None:
                return self._memory.execute(query, values).fetchall()
            try:
                return self._read("ro", query, values)
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorname", "") != "SQLITE_READONLY_ROLLBACK":
                    raise
            # A writer was killed within a transaction, which only a connection that may write can undo.
            return self._read("rw", query, values)

    def _read(self, mode: str, query: str, values: Sequence[Any]) -> list[Line]:
        where = f"{(self.folder / ENTRIES).absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(where, uri=True)) as database:
            return database.execute(query, values).fetchall()


@cache
def _schema() -> list[Line]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(TABLE)
        return database.execute(SCHEMA).fetchall()


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line that names the index."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InputError(f"{folder}: cannot be read or written to: {error}") from None
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _damaged(folder, error) from None


def _damaged(folder: Path, why: object) -> FormatError:
    return FormatError(folder / ENTRIES, 1, f"is damaged ({why}), expected the entries of an index; extract it again")


def mapped_rows(folder: Path, count: int, columns: int) -> Singles:
    """(m, width) the first rows of an index, a memory map."""
    if not count:
        return np.empty((0, columns), np.float32)
    return np.memmap(folder / ROWS, "<f4", mode="r", shape=(count, columns))


def held_places(count: int, lines: Sequence[Line]) -> Integers:
    """(n,) places of the valid entries among the first, in the order in which their identifiers first appeared.

    lines  entries, in their order; those that supersede none may be missing
    """
    holds, first, changed = np.ones(count, dtype=bool), np.arange(count), False
    for line in lines:
        place, old = line[PLACE], line[REPLACES]
        if old is not None and 0 <= old < place:
            holds[old], first[place], changed = False, first[old], True
            holds[place] = not line[REMOVED]
    places = np.flatnonzero(holds)
    return places[np.argsort(first[places], kind="stable")] if changed else places


def damaged_rows(rows: Singles, lines: Sequence[Line]) -> list[int]:
    """Places of the entries whose row differs from the written one."""
    return [line[PLACE] for line in lines if crc32(rows[line[PLACE]].tobytes()) != line[ROW_SUM]]


class RowsOnDisk:
    """The rows of an index, each checked against its checksum when it is first read; see `RowTable`.

    recordings  the open index; entries that are not valid may be damaged
    """

    def __init__(self, recordings: Recordings) -> None:
        self._recordings, self._rows = recordings, recordings.rows
        self._checked = np.ones(len(self._rows), dtype=np.bool_)
        self._checked[recordings.places] = False

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, places: Integers | slice, /) -> Singles:
        every = np.arange(len(self._rows))[places] if isinstance(places, slice) else np.asarray(places)
        new = np.unique(every[~self._checked[every]])
        damaged = damaged_rows(self._rows, self._recordings.lines(new))
        if damaged:
            many = f"{len(damaged)} rows are damaged, the first" if len(damaged) > 1 else "the row is damaged: it"
            raise FormatError(self._recordings.folder / ROWS, damaged[0] + 1, f"{many} {CHANGED}")
        self._checked[new] = True
        return self._rows[places]


class Appender:
    """An index on disk, locked by this process for appending; created if missing."""

    def __init__(self, folder: str | Path, parameters: Parameters) -> None:
        self.folder = Path(folder)
        self._columns = width(parameters.dimension)
        _prepare_head(self.folder, parameters)
        _check_complete(self.folder, _head(self.folder)[0], self._columns)  # before a new file could replace a lost one
        self._rows = (self.folder / ROWS).open("ab")
        try:
            self._lock()
            with _named(self.folder):
                self._database = _database(self.folder, self._columns)
            self._open()
        except BaseException:
            self._rows.close()
            raise

    def _open(self) -> None:
        """Read the valid entries, and take out the damaged ones."""
        with _named(self.folder):
            lines = self._database.execute("SELECT * FROM entries ORDER BY place").fetchall()
        self._count = self._synced = lines[-1][PLACE] + 1 if lines else 0
        self._rows.truncate(self._count * self._columns * 4)  # or zeros in place of rows that a power cut lost
        rows = mapped_rows(self.folder, self._count, self._columns)
        by_place = {line[PLACE]: line for line in lines}
        held = [by_place[place] for place in held_places(self._count, lines).tolist() if place in by_place]
        good = {line[PLACE] for line in held if _intact(line)}.difference(damaged_rows(rows, held))
        known = [(line[PLACE], _recording(line)) for line in held if line[PLACE] in good]
        self._known = {one.identifier: (place, one) for place, one in known}
        gone = sorted({line[PLACE] for line in held}.difference(place for place, _ in self._known.values()))
        self._write(np.zeros((len(gone), self._columns)), [(Recording(""), place, True) for place in gone])

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The valid recordings."""
        return tuple(one for _, one in self._known.values())

    def holds(self, recording: Recording) -> bool:
        """True if the same file is in the index already, by identifier, size and time of change."""
        _, known = self._known.get(recording.identifier, (0, None))
        return known is not None and (known.size_bytes, known.mtime_ns) == (recording.size_bytes, recording.mtime_ns)

    def append(self, recording: Recording, row: Singles) -> None:
        """Add a recording, or replace the one with the same identifier; safe from a kill on return."""
        self.extend([recording], row[None])

    def extend(self, recordings: Sequence[Recording], rows: Singles) -> None:
        """Add many recordings at once, like `append`."""
        if rows.shape != (len(recordings), self._columns) or not np.isfinite(rows).all():
            raise InputError(f"a row must be {self._columns} finite numbers, got {rows.shape[1:]}")
        changes = []
        for place, one in enumerate(recordings, start=self._count):
            replaced, _ = self._known.get(one.identifier, (None, None))
            changes.append((one, replaced, False))
            self._known[one.identifier] = place, one
        self._write(rows, changes)

    def remove(self, identifier: str) -> None:
        """Remove a recording; it stays removed after a kill."""
        if identifier not in self._known:
            raise InputError(f"no recording is called {identifier!r} in this index of {len(self._known)}")
        place, _ = self._known.pop(identifier)
        self._write(np.zeros((1, self._columns)), [(Recording(identifier), place, True)])

    def close(self) -> None:
        """Sync to disk: the rows before their entries."""
        self._sync()
        with suppress(sqlite3.OperationalError):  # another process reads it; it then stays as it is
            self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()
        self._rows.close()

    def _write(self, rows: Singles | Array, changes: Sequence[tuple[Recording, int | None, bool]]) -> None:
        """Write rows and their entries, each a recording, the place that it supersedes, and whether it is gone."""
        written = rows.astype("<f4")
        lines = [
            _line(place, one, crc32(row.tobytes()), replaces, removed)
            for place, (row, (one, replaces, removed)) in enumerate(zip(written, changes, strict=True), self._count)
        ]
        with on_disk(self.folder, "cannot be written to"):
            self._rows.write(written.tobytes())
            self._rows.flush()
        with _named(self.folder), self._database:
            self._database.executemany(INSERT, lines)
        self._count += len(lines)
        if self._count >= self._synced + SYNCED:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._rows.fileno())
        self._database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._synced = self._count

    def _lock(self) -> None:
        if not claim(self._rows):
            raise InputError(f"{self.folder}: another process is writing to this index")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _database(folder: Path, columns: int) -> sqlite3.Connection:
    """The entries of a locked index, for appending; made or converted first if need be."""
    version, parameters = _head(folder)
    if version == RELEASED or not (folder / ENTRIES).exists():
        new = folder / f"{ENTRIES}.new"
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new)) as database:
            _fill(database, folder, version, columns)
        new.replace(folder / ENTRIES)
        _write_head(folder, parameters)
    for name in OLD_FILES:
        (folder / name).unlink(missing_ok=True)
    database = sqlite3.connect(folder / ENTRIES)
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")
    return database


def _check_complete(folder: Path, version: int, columns: int) -> int:
    """The number of rows of an index, none of whose files may be missing."""
    names = (ROWS, OLD_ENTRIES, OLD_LINES) if version == RELEASED else (ROWS, ENTRIES)
    sizes = {name: (folder / name).stat().st_size if (folder / name).exists() else None for name in names}
    lost = next((name for name, size in sizes.items() if size is None), None)
    if lost and any(sizes.values()):
        raise InputError(f"{folder}: has lost its {lost}, expected an index with all its files")
    return (sizes[ROWS] or 0) // (4 * columns)


def _fill(database: sqlite3.Connection, folder: Path, version: int, columns: int) -> None:
    """Make the table; with the entries of version 4, if the folder has them."""
    database.executescript(TABLE)
    if version == RELEASED and (folder / OLD_ENTRIES).exists():
        with database:
            database.executemany(INSERT, _old_lines(folder, columns))


def _old_lines(folder: Path, columns: int) -> Iterator[Line]:
    """The entries of version 4, as far as they are whole; a damaged one has a wrong checksum.

    recordings.jsonl  one line per entry
    entries.u64       two numbers per entry: the end of its line; its flags, and 1 + the place that it supersedes, or 0
    checks.u32        two CRC-32 per entry: of its row; of its line and its numbers
    """
    entries = np.fromfile(folder / OLD_ENTRIES, "<u8")[: (folder / OLD_ENTRIES).stat().st_size // 16 * 2].reshape(-1, 2)
    text, sums = (folder / OLD_LINES).read_bytes(), np.empty((0, 2), "<u4")
    if (folder / OLD_SUMS).exists():
        sums = np.fromfile(folder / OLD_SUMS, "<u4")
        sums = sums[: len(sums) // 2 * 2].reshape(-1, 2)
    count = min(len(entries), (folder / ROWS).stat().st_size // (4 * columns))
    rows = mapped_rows(folder, count, columns)
    for place, (start, end) in enumerate(pairwise([0, *entries[:count, 0].tolist()])):
        line, flags = text[start:end], int(entries[place, 1])
        intact, row_sum = start < end <= len(text), crc32(rows[place].tobytes())
        if place < len(sums):
            row_sum, line_sum = sums[place].tolist()
            intact = intact and crc32(entries[place].tobytes(), crc32(line)) == line_sum
        try:
            one = msgspec.convert(json.loads(line) | {"silent": bool(flags & OLD_SILENT)}, Recording)
        except (ValueError, TypeError, msgspec.ValidationError):
            one, intact = Recording(""), False
        replaces = flags % OLD_SILENT % OLD_LIMITED - 1
        entry = _line(place, one, row_sum, replaces if 0 <= replaces < place else None, bool(flags & OLD_REMOVES))
        yield entry if intact else (*entry[:-1], entry[-1] ^ 1)
