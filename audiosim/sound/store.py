"""The files of an index: memory-mapped, appended to without rewriting, intact after a kill at any moment.

    index.json        its head; see `audiosim.sound.store`
    gaussians.f32     one row per entry: mean, upper triangle of the covariance row by row, ln det; float32
    recordings.jsonl  one line per entry, in the same order
    entries.u64       two numbers per entry: the end of its line; its flags (see `entry_flags`)
    checks.u32        its checksums; see `audiosim.sound.store`

All little endian.

An entry is written as a row, then its line, then its place in entries.u64. Only entries with all three count; the next
append removes bytes beyond them, left by a kill. A changed recording is appended again; a removed one gets an entry
with a zero row. Both refer to the entry that they supersede, so that an index opens without reading any line. A power
cut may lose the entries since the last close. The next append removes damaged entries, so that `extract` describes
their recordings again.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, overload
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from audiosim.errors import FormatError, InputError
from audiosim.results.value import cached_property
from audiosim.sound.gaussians import Singles, width
from audiosim.sound.parameters import Parameters
from audiosim.stats.arrays import Booleans, Integers

# Checksums of an index, two per entry: a flipped bit is found when its row or line is first used.
#
# checks.u32   two CRC-32 per entry: one of its row, one of its line and its place in entries.u64
#
# The checksums are written before their entries. If the file is missing, the next append creates it again.


CHECKS = "checks.u32"
CHECK_BYTES = 8

Checks = NDArray[np.uint32]
Entries = NDArray[np.uint64]


def read_checks(folder: Path, count: int) -> Checks:
    """(k, 2) checksums of the first k of these entries; k is the number in the file."""
    path = folder / CHECKS
    found = np.fromfile(path, "<u4", count=2 * count) if path.exists() else np.empty(0, np.uint32)
    return found[: len(found) // 2 * 2].reshape(-1, 2)


def checks_of(rows: Singles, lines: Sequence[bytes], entries: Entries) -> Checks:
    """(n, 2) checksums of n entries.

    entries  (n, 2) numbers as in entries.u64
    """
    written, places = rows.astype("<f4"), entries.astype("<u8")
    pairs = [
        (crc32(row.tobytes()), crc32(place.tobytes(), crc32(line)))
        for row, line, place in zip(written, lines, places, strict=True)
    ]
    return np.array(pairs, dtype="<u4").reshape(-1, 2)


def lines_of(text: bytes, entries: Entries) -> list[bytes]:
    """The line of each entry, with its end.

    text  text of all lines
    """
    return [text[start:end] for start, end in pairwise([0, *entries[:, 0].tolist()])]


def damaged_rows(rows: Singles, checks: Checks, places: Iterable[int]) -> list[int]:
    """Entries with a row that differs from the written one; without checksums, entries that are not finite."""
    asked, count = np.fromiter(places, np.int64), len(checks)
    known = np.append(checks[:, 0], np.uint32(0))[np.minimum(asked, count)].tolist()  # not of all: an index is long
    return [
        place
        for place, sum_of_row in zip(asked.tolist(), known, strict=True)
        if not (crc32(rows[place].tobytes()) == sum_of_row if place < count else np.isfinite(rows[place]).all())
    ]


def damaged_lines(lines: Sequence[bytes], entries: Entries, checks: Checks, places: Iterable[int]) -> list[int]:
    """Entries with a line, or a place in entries.u64, that differs from the written one."""
    known: list[int] = checks[:, 1].tolist()
    return [
        place
        for place in places
        if place < len(known) and crc32(entries[place].tobytes(), crc32(lines[place])) != known[place]
    ]


def check_rows(folder: Path, rows: Singles, places: Integers, name: str) -> None:
    """Raise a FormatError if the row of a valid entry is damaged.

    name  file of the rows
    """
    _refuse_damaged(folder, name, damaged_rows(rows, read_checks(folder, len(rows)), places.tolist()))


def _refuse_damaged(folder: Path, name: str, damaged: Sequence[int]) -> None:
    if damaged:
        many = f"{len(damaged)} rows are damaged, the first" if len(damaged) > 1 else "the row is damaged: it"
        raise FormatError(
            folder / name,
            damaged[0] + 1,
            f"{many} was changed after it was written; audiosim extract repairs the index",
        )


class RowsOnDisk:
    """The rows of an index, each checked against its checksum when it is first read; see `RowTable`.

    folder  folder of the index
    rows    rows of all its entries, a memory map
    places  valid entries; others may be damaged
    name    file of the rows
    """

    def __init__(self, folder: Path, rows: Singles, places: Integers, name: str) -> None:
        self._folder, self._rows, self._name = folder, rows, name
        self._checks = read_checks(folder, len(rows))
        self._checked = np.ones(len(rows), dtype=np.bool_)
        self._checked[places] = False

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, places: Integers | slice, /) -> Singles:
        every = np.arange(len(self._rows))[places] if isinstance(places, slice) else np.asarray(places)
        new = np.unique(every[~self._checked[every]])
        _refuse_damaged(self._folder, self._name, damaged_rows(self._rows, self._checks, new.tolist()))
        self._checked[new] = True
        return self._rows[places]


def check_lines(path: Path, text: bytes, entries: Entries, places: Integers) -> None:
    """Raise a FormatError if the line of a valid entry is damaged.

    path  file of the text
    """
    checks = read_checks(path.parent, len(entries))
    damaged = damaged_lines(lines_of(text, entries), entries, checks, places.tolist())
    if damaged:
        raise FormatError(
            path, damaged[0] + 1, "the line was changed after it was written; audiosim extract repairs the index"
        )


# The second number of an index entry: flags; in its lower bits 0 for a new recording, or 1 + the replaced entry.


REMOVES, SILENT, LIMITED = np.uint64(1 << 63), np.uint64(1 << 62), np.uint64(1 << 61)
REPLACES = np.uint64((1 << 61) - 1)


def flags_of(silent: bool, limited: bool) -> np.uint64:
    """Flags of a recording: silent, and known to be band-limited."""
    return (SILENT if silent else np.uint64(0)) | (LIMITED if limited else np.uint64(0))


def held_entries(kinds: Entries) -> Integers:
    """The valid entries, each at the place of the first entry of its identifier."""
    changed = np.flatnonzero(kinds & (REMOVES | REPLACES))
    holds = np.ones(len(kinds), dtype=bool)
    first = np.arange(len(kinds))
    for entry in changed:
        old = int(kinds[entry] & REPLACES) - 1
        holds[old], first[entry] = False, first[old]
        holds[entry] = not kinds[entry] & REMOVES
    places = np.flatnonzero(holds)
    return places[np.argsort(first[places], kind="stable")] if len(changed) else places


# The head of an index: the version of its layout, the parameters of its frames, the names of their dimensions.
#
# {"version": 4, "parameters": {...}, "dimensions": [...]}


HEAD = "index.json"
VERSION = 4


def read_head(folder: Path) -> Parameters:
    """The parameters of the index in a folder."""
    path = folder / HEAD
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        version = head["version"]
        parameters = Parameters.from_json(head["parameters"]) if version == VERSION else None
        dimensions = head["dimensions"] if parameters else []
    except OSError:
        raise InputError(f"{folder}: is not an index, expected a folder with {HEAD}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(path, 1, "expected the version and the parameters of an index") from None
    if parameters is None:
        raise FormatError(path, 1, f"expected an index of version {VERSION}, found {version!r}; extract it again")
    if dimensions != list(parameters.dimensions):
        raise FormatError(path, 1, f"expected the dimensions of its parameters, {', '.join(parameters.dimensions)}")
    return parameters


def _write_head(folder: Path, parameters: Parameters) -> None:
    known = {"parameters": parameters.to_json(), "dimensions": parameters.dimensions}
    new = folder / f"{HEAD}.new"
    new.write_text(json.dumps({"version": VERSION} | known) + "\n", encoding="utf-8")
    new.replace(folder / HEAD)


def prepare_head(folder: Path, parameters: Parameters) -> None:
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


if sys.platform != "win32":
    import fcntl

ROWS, LINES, ENTRIES = "gaussians.f32", "recordings.jsonl", "entries.u64"

ENTRY_BYTES = 16


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


_FIELDS = [field.name for field in fields(Recording)]


class Recordings(Sequence[Recording]):
    """The recordings of an index on disk; their lines are parsed when the first recording is requested."""

    def __init__(self, folder: Path, entries: Entries, places: Integers) -> None:
        self.folder, self._entries, self._places = folder, entries, places

    @overload
    def __getitem__(self, place: int) -> Recording: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Recording]: ...
    def __getitem__(self, place: int | slice) -> Recording | Sequence[Recording]:
        return self._parsed[place]

    def __len__(self) -> int:
        return len(self._places)

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """Identifiers, read without parsing the rest of the lines, which takes longer."""
        lines = _parse(self.folder / LINES, self._entries, _NAMED, self._places)
        return tuple(lines[place].identifier for place in self._places)

    @property
    def silent(self) -> Booleans:
        """Mask of the silent recordings, read without their lines."""
        return self._flagged(SILENT)

    @property
    def limited(self) -> Booleans:
        """Mask of the band-limited recordings, read without their lines."""
        return self._flagged(LIMITED)

    def _flagged(self, flag: np.uint64) -> Booleans:
        flags: Booleans = (self._entries[self._places, 1] & flag) != 0
        return flags

    @cached_property
    def _parsed(self) -> list[Recording]:
        lines = _parse(self.folder / LINES, self._entries, _RECORDING, self._places)
        return [lines[place] for place in self._places]


class _Named(msgspec.Struct, gc=False):
    identifier: str


_RECORDING = msgspec.json.Decoder(Recording)
_NAMED = msgspec.json.Decoder(_Named)
Line = TypeVar("Line", Recording, _Named)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """An open index on disk.

    parameters  parameters of the frames
    rows        (m, width) rows of all entries, a memory map
    places      (n,) the valid entries, in the order in which their identifiers first appeared
    recordings  (n)
    """

    parameters: Parameters
    rows: Singles
    places: Integers
    recordings: Recordings


def load(folder: str | Path) -> Stored:
    """The index in a folder; the time depends on the number of recordings only through counting the valid entries."""
    folder = Path(folder)
    parameters = read_head(folder)
    columns = width(parameters.dimension)
    entries = _read_entries(folder, columns)
    places = held_entries(entries[:, 1])
    recordings = Recordings(folder, entries, places)
    if len(entries) == 0:
        return Stored(parameters, np.empty((0, columns), np.float32), places, recordings)
    rows: Singles = np.memmap(folder / ROWS, "<f4", mode="r", shape=(len(entries), columns))
    return Stored(parameters, rows, places, recordings)


class Appender:
    """An index on disk, locked by this process for appending; created if missing."""

    def __init__(self, folder: str | Path, parameters: Parameters) -> None:
        self.folder = Path(folder)
        self._columns = width(parameters.dimension)
        prepare_head(self.folder, parameters)
        _read_entries(self.folder, self._columns)  # raises an error before a new file could replace a lost one
        names = (ENTRIES, LINES, ROWS, CHECKS)
        self._entries, self._lines, self._rows, self._checks = ((self.folder / name).open("ab") for name in names)
        try:
            self._lock()
            entries = _read_entries(self.folder, self._columns)
            places, damaged = self._sorted_out(entries)
            recordings = _parse(self.folder / LINES, entries, _RECORDING, places)
        except BaseException:
            self.close()
            raise
        self._count, self._end = len(entries), int(entries[-1, 0]) if len(entries) else 0
        self._places = {recordings[place].identifier: int(place) for place in places}
        self._known = {identifier: recordings[place] for identifier, place in self._places.items()}
        self._take_out(damaged)

    def _sorted_out(self, entries: Entries) -> tuple[Integers, list[int]]:
        """The valid intact entries, and the damaged ones; all get a checksum."""
        count, holding = len(entries), held_entries(entries[:, 1])
        self._rows.truncate(count * self._columns * 4)
        self._lines.truncate(int(entries[-1, 0]) if count else 0)
        self._entries.truncate(count * ENTRY_BYTES)
        checks, lines = read_checks(self.folder, count), lines_of((self.folder / LINES).read_bytes(), entries)
        self._checks.truncate(len(checks) * CHECK_BYTES)
        rows = np.fromfile(self.folder / ROWS, "<f4").reshape(count, self._columns)
        damaged = {*damaged_rows(rows, checks, holding), *damaged_lines(lines, entries, checks, holding)}
        new = slice(len(checks), count)
        self._checks.write(checks_of(rows[new], lines[new], entries[new]).tobytes())
        return np.array([place for place in holding if place not in damaged], dtype=np.int64), sorted(damaged)

    def _take_out(self, damaged: Sequence[int]) -> None:
        """Mark damaged entries as invalid."""
        for place in damaged:
            line = json.dumps({"identifier": "", "removed": True})
            self._write(np.zeros((1, self._columns), np.float32), [line], [np.uint64(1 + int(place)) | REMOVES])

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The valid recordings."""
        return tuple(self._known.values())

    def holds(self, recording: Recording) -> bool:
        """True if the same file is in the index already, by identifier, size and time of change."""
        known = self._known.get(recording.identifier)
        return known is not None and (known.size_bytes, known.mtime_ns) == (recording.size_bytes, recording.mtime_ns)

    def append(self, recording: Recording, row: Singles) -> None:
        """Add a recording, or replace the one with the same identifier; safe from a kill on return."""
        self.extend([recording], row[None])

    def extend(self, recordings: Sequence[Recording], rows: Singles) -> None:
        """Add many recordings at once, like `append`."""
        if rows.shape != (len(recordings), self._columns) or not np.isfinite(rows).all():
            raise InputError(f"a row must be {self._columns} finite numbers, got {rows.shape[1:]}")
        kinds = []
        for recording in recordings:
            flags = flags_of(recording.silent, recording.limited)
            kinds.append(self._replaced(recording.identifier) | flags)
            self._places[recording.identifier] = self._count + len(kinds) - 1
            self._known[recording.identifier] = recording
        self._write(
            rows, [json.dumps({name: getattr(recording, name) for name in _FIELDS}) for recording in recordings], kinds
        )

    def remove(self, identifier: str) -> None:
        """Remove a recording; it stays removed after a kill."""
        if identifier not in self._places:
            raise InputError(f"no recording is called {identifier!r} in this index of {len(self._places)}")
        kind = self._replaced(identifier) | REMOVES
        del self._places[identifier], self._known[identifier]
        line = json.dumps({"identifier": identifier, "removed": True})
        self._write(np.zeros((1, self._columns), np.float32), [line], [kind])

    def close(self) -> None:
        """Sync to disk: the rows before their lines, and these before their entries."""
        for file in (self._rows, self._lines, self._checks, self._entries):
            file.flush()
            os.fsync(file.fileno())
            file.close()

    def _replaced(self, identifier: str) -> np.uint64:
        return np.uint64(1 + self._places[identifier] if identifier in self._places else 0)

    def _write(self, rows: Singles, lines: Sequence[str], kinds: Sequence[np.uint64]) -> None:
        encoded = [f"{line}\n".encode() for line in lines]
        ends = self._end + np.cumsum([len(line) for line in encoded], dtype=np.uint64)
        entries: Entries = np.column_stack([ends, kinds]).astype("<u8")
        for file, content in (
            (self._rows, rows.astype("<f4").tobytes()),
            (self._lines, b"".join(encoded)),
            (self._checks, checks_of(rows, encoded, entries).tobytes()),
            (self._entries, entries.tobytes()),
        ):
            try:
                file.write(content)
                file.flush()
            except OSError as error:
                raise InputError(f"{self.folder}: cannot be written to: {error.strerror}") from None
        self._count, self._end = self._count + len(lines), int(ends[-1]) if len(ends) else self._end

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._entries, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self.folder}: another process is writing to this index") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read_entries(folder: Path, columns: int) -> Entries:
    """(m, 2) the entries that have both their row and their line."""
    sizes = {name: path.stat().st_size for name in (ROWS, LINES, ENTRIES) if (path := folder / name).exists()}
    if ENTRIES not in sizes and any(sizes.values()):
        raise InputError(f"{folder}: has lost its {ENTRIES}, expected an index with all its files")
    count = min(sizes.get(ENTRIES, 0) // ENTRY_BYTES, sizes.get(ROWS, 0) // (columns * 4))
    if count == 0 or LINES not in sizes:
        return np.empty((0, 2), np.uint64)
    entries: Entries = np.memmap(folder / ENTRIES, "<u8", mode="r", shape=(count, 2))
    fits = entries[:, 0] <= np.uint64(sizes[LINES])
    whole = entries[: len(fits) if fits.all() else int(np.argmin(fits))]
    ends, replaced = whole[:, 0], whole[:, 1] & REPLACES
    # A kill or a power cut can leave entries without lines only at the end.
    lost = np.flatnonzero(fits[len(whole) :])[:1] + len(whole)
    rising = ends > np.concatenate([[np.uint64(0)], ends[:-1]])
    wrong = np.concatenate([np.flatnonzero(~rising | (replaced > np.arange(len(whole)))), lost])
    if len(wrong):
        where = f"entry {wrong[0] + 1} is damaged"
        raise FormatError(
            folder / ENTRIES, int(wrong[0]) + 1, f"{where}, expected lines in order; extract into a new folder"
        )
    return whole


def _parse(path: Path, entries: Entries, decoder: "msgspec.json.Decoder[Line]", places: Integers) -> list[Line]:
    """The lines of all entries; lines of superseded entries may hold anything.

    places  the valid entries
    """
    if len(entries) == 0:
        return []
    with path.open("rb") as file:
        text = file.read(int(entries[-1, 0]))
    check_lines(path, text, entries, places)
    try:
        lines = decoder.decode_lines(text)
    except msgspec.MsgspecError:
        # Names that are not text, or foreign lines: a parser that can read both takes them one by one.
        ends: list[int] = entries[:, 0].tolist()
        bounds, held = enumerate(pairwise([0, *ends]), start=1), set((places + 1).tolist())
        nothing = b'{"identifier": ""}'
        lines = [
            _parse_line(path, number, text[start:end] if number in held else nothing, decoder)
            for number, (start, end) in bounds
        ]
    if len(lines) != len(entries):
        raise FormatError(path, len(lines) + 1, f"expected a line for each of {len(entries)} entries")
    return lines


def _parse_line(path: Path, number: int, line: bytes, decoder: "msgspec.json.Decoder[Line]") -> Line:
    try:
        return msgspec.convert(json.loads(line, parse_constant=_refuse), decoder.type)
    except (ValueError, msgspec.ValidationError):
        raise FormatError(path, number, "expected a JSON object with the fields of a recording") from None


def _refuse(constant: str) -> float:
    raise ValueError(constant)
