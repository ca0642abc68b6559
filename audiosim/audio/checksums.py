"""Checksums of an index, two per entry: a flipped bit is found when its row or line is first used.

    checks.u32   two CRC-32 per entry: one of its row, one of its line and its place in entries.u64

The checksums are written before their entries. If the file is missing, the next append creates it again.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from audiosim.arrays import Integers
from audiosim.errors import FormatError
from audiosim.stats.gaussians.gaussian import Singles

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
