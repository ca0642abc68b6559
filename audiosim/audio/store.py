"""The files of an index: opened by memory map, appended to without rewriting, whole after a kill at any moment.

    index.json        the version of this layout and the Parameters of all frames
    gaussians.f64     one row per recording: mean, upper triangle of the covariance row by row; float64, little endian
    recordings.jsonl  one line per row, in the same order

A row is written first, its line after it. What counts is as many rows as there are whole lines; what a
kill leaves beyond them is cut off by the next append. A recording that changed is appended again: the
last line of an identifier holds. A power cut may cost the rows since the last close.
"""

import json
import math
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from audiosim.arrays import Array
from audiosim.audio.mfcc import Parameters
from audiosim.errors import FormatError, InputError
from audiosim.stats.gaussian import width

if sys.platform != "win32":
    import fcntl

VERSION = 1
HEAD, ROWS, LINES = "index.json", "gaussians.f64", "recordings.jsonl"


@dataclass(frozen=True, slots=True)
class Recording:
    """What an index knows of a recording beside its Gaussian.

    identifier  unlike any other in the index
    path        of the sound file, as it was given
    size_bytes  of the file, and
    mtime_ns    when it was last changed: the file is read again when either differs
    seconds     of sound decoded
    frames      that the Gaussian is fitted to
    note        what a careful reader should know, such as clipping; empty if nothing
    """

    identifier: str
    path: str = ""
    size_bytes: int = 0
    mtime_ns: int = 0
    seconds: float = 0.0
    frames: int = 0
    note: str = ""


class Appender:
    """An index on disk, held open by this process alone to append to; made if there is none."""

    def __init__(self, folder: str | Path, parameters: Parameters) -> None:
        self.folder = Path(folder)
        self._columns = width(parameters.coefficients)
        _prepare(self.folder, parameters)
        self._rows, self._lines = (self.folder / ROWS).open("ab"), (self.folder / LINES).open("ab")
        try:
            self._lock()
            recordings, ends = _read_lines(self.folder, self._columns)
        except BaseException:
            self.close()
            raise
        self._rows.truncate(len(recordings) * self._columns * 8)
        self._lines.truncate(ends)
        self._recordings = {recording.identifier: recording for recording in recordings}

    def holds(self, recording: Recording) -> bool:
        """Whether the same file is there already, going by identifier, size and time of change."""
        known = self._recordings.get(recording.identifier)
        return known is not None and (known.size_bytes, known.mtime_ns) == (recording.size_bytes, recording.mtime_ns)

    def append(self, recording: Recording, row: Array) -> None:
        """Add a recording, or replace the one of the same identifier; a kill from here on does not lose it."""
        if row.shape != (self._columns,) or not np.isfinite(row).all():
            raise InputError(f"a row must be {self._columns} finite numbers, got {row.shape}")
        self._rows.write(row.astype("<f8").tobytes())
        self._rows.flush()
        self._lines.write((json.dumps(asdict(recording)) + "\n").encode())
        self._lines.flush()
        self._recordings[recording.identifier] = recording

    def close(self) -> None:
        """Hand everything to the disk, the rows before their lines."""
        for file in (self._rows, self._lines):
            file.flush()
            os.fsync(file.fileno())
            file.close()

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self.folder}: another process is writing to this index") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load(folder: str | Path) -> tuple[Parameters, tuple[Recording, ...], Array]:
    """The index in a folder: parameters, recordings, and their rows (n, width).

    The rows are a memory map, unless some were replaced: then those that hold are copied.
    A recording keeps the place where its identifier came first.
    """
    folder = Path(folder)
    parameters = _read_head(folder)
    columns = width(parameters.coefficients)
    recordings, _ = _read_lines(folder, columns)
    if not recordings:
        return parameters, (), np.empty((0, columns))
    rows: Array = np.memmap(folder / ROWS, "<f8", mode="r", shape=(len(recordings), columns))
    last = {recording.identifier: position for position, recording in enumerate(recordings)}
    if len(last) < len(recordings):
        rows = np.array(rows[list(last.values())])
    return parameters, tuple(recordings[position] for position in last.values()), rows


def _prepare(folder: Path, parameters: Parameters) -> None:
    """Make a new index, or see that the one in the folder has the same parameters."""
    if (folder / HEAD).exists():
        found = _read_head(folder)
        if found != parameters:
            raise InputError(f"{folder}: holds frames of other parameters ({found}), expected {parameters}")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.name != f"{HEAD}.new" for path in folder.iterdir()):
            raise InputError(f"{folder}: is not an index and not empty, expected an index or a new folder")
        new = folder / f"{HEAD}.new"
        new.write_text(json.dumps({"version": VERSION, "parameters": asdict(parameters)}) + "\n", encoding="utf-8")
        new.replace(folder / HEAD)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}), expected an index or a new folder") from None


def _read_head(folder: Path) -> Parameters:
    path = folder / HEAD
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        version, parameters = head["version"], Parameters(**head["parameters"])
    except OSError:
        raise InputError(f"{folder}: is not an index, expected a folder with {HEAD}") from None
    except (ValueError, KeyError, TypeError):
        raise FormatError(path, 1, "expected the version and the parameters of an index") from None
    if version != VERSION:
        raise FormatError(path, 1, f"expected an index of version {VERSION}, found {version!r}")
    return parameters


def _read_lines(folder: Path, columns: int) -> tuple[list[Recording], int]:
    """The recordings that have both their line and their row, and where the last of their lines ends."""
    path, rows = folder / LINES, folder / ROWS
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    del lines[(rows.stat().st_size if rows.exists() else 0) // (columns * 8) :]
    return [_parse(path, number, line) for number, line in enumerate(lines, start=1)], sum(map(len, lines))


def _parse(path: Path, number: int, line: bytes) -> Recording:
    try:
        recording = Recording(**json.loads(line))
        if isinstance(recording.identifier, str) and math.isfinite(recording.seconds):
            return recording
    except (ValueError, TypeError):
        pass
    raise FormatError(path, number, "expected a JSON object with the fields of a recording")
