"""A large index prepared for search: a file beside it, computed once, that may be deleted at any time.

    packed.f32   per entry of the index, its sides in single precision; see `stats.kullback_leibler.Packed`
    packed.u64   for each part written at once, the number of entries up to its end, and its CRC-32
    packed.json  the whitener of all entries, fixed when the file is made, and its CRC-32

It grows with the index: only new entries are packed. Superseded entries keep their rows, and entries that remove a
recording have zeros. The first use checks every part against its checksum; a damaged part, and everything after it, is
computed again.
"""

import json
import os
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np

from audiosim.sound.gaussians import RowTable, Singles
from audiosim.sound.kullback_leibler import PACKED, Packed, Whitener, packed_sides
from audiosim.stats.threads import spread_on_threads
from audiosim.tables.text import claim

SIDES, SUMS, WHITENER = "packed.f32", "packed.u64", "packed.json"
LARGE = 20_000  # fewest entries for a file; fewer are packed in memory each time, which takes less than a second
SAMPLE = 5000  # evenly spread entries that determine the whitener
WRITTEN = 32 * PACKED  # entries packed between writes
SUM_BYTES = 16


def packed_on_disk(folder: Path, rows: RowTable, dimension: int) -> Packed:
    """Packed entries of an index, as a memory map; missing ones are computed and written first.

    If the folder is read-only, they are packed in memory.
    """
    try:
        whitener = _whitener(folder, rows, dimension)
        _complete(folder, rows, whitener)
    except OSError:
        whitener = _made_whitener(rows, dimension)
        parts = (_sides(rows[start : start + WRITTEN], whitener) for start in range(0, len(rows), WRITTEN))
        return Packed(rows, whitener, np.concatenate(list(parts)))
    shape = len(rows), _columns(dimension)
    return Packed(rows, whitener, np.memmap(folder / SIDES, "<f4", mode="r", shape=shape))


def _whitener(folder: Path, rows: RowTable, dimension: int) -> Whitener:
    """Whitener of the folder; if none can be read, a new one, and the file starts again."""
    try:
        known = json.loads((folder / WHITENER).read_text(encoding="utf-8"))
        whole = known.pop("crc") == _crc(known)
        whitener = Whitener(np.array(known["shift"]), np.array(known["stretch"]), float(known["scale"]))
        if whole and whitener.stretch.shape == (dimension, dimension):
            return whitener
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    whitener = _made_whitener(rows, dimension)
    (folder / SIDES).unlink(missing_ok=True)
    known = {"shift": whitener.shift.tolist(), "stretch": whitener.stretch.tolist(), "scale": whitener.scale}
    new = folder / f"{WHITENER}.{os.getpid()}"
    new.write_text(json.dumps(known | {"crc": _crc(known)}) + "\n", encoding="utf-8")
    new.replace(folder / WHITENER)
    return whitener


def _crc(known: object) -> int:
    return crc32(json.dumps(known).encode())


def _made_whitener(rows: RowTable, dimension: int) -> Whitener:
    held = np.asarray(rows[:: max(1, len(rows) // SAMPLE)])
    return Whitener.of(held[held[:, dimension] > 0], dimension)


def _complete(folder: Path, rows: RowTable, whitener: Whitener) -> None:
    """Write the sides that the file lacks or has damaged; one process does this, others wait for it."""
    row_bytes = 4 * _columns(len(whitener.shift))
    if _good_parts(folder, row_bytes)[1] >= len(rows):
        return
    with (folder / SUMS).open("ab") as sums:
        claim(sums, wait=True)
        parts, done = _good_parts(folder, row_bytes)
        sums.truncate(parts * SUM_BYTES)
        (folder / SIDES).touch()
        with (folder / SIDES).open("r+b") as file:  # never truncated: another process may have mapped it
            file.seek(done * row_bytes)
            for start in range(done, len(rows), WRITTEN):
                content = _sides(rows[start : start + WRITTEN], whitener).tobytes()
                file.write(content)
                file.flush()
                sums.write(np.array([min(start + WRITTEN, len(rows)), crc32(content)], "<u8").tobytes())
                sums.flush()


def _good_parts(folder: Path, row_bytes: int) -> tuple[int, int]:
    """Number of intact parts before the first damaged one, and of the entries in them."""
    if not ((folder / SIDES).exists() and (folder / SUMS).exists()):
        return 0, 0
    sums = np.fromfile(folder / SUMS, "<u8")
    ends, size = sums[: len(sums) // 2 * 2].reshape(-1, 2).tolist(), (folder / SIDES).stat().st_size
    bounds = list(pairwise([0, *(end for end, _ in ends)]))
    if not size:
        return 0, 0
    sides = np.memmap(folder / SIDES, np.uint8, mode="r")

    def whole(part: int) -> bool:
        start, end = bounds[part]
        if not start < end <= size // row_bytes:
            return False
        return crc32(sides[start * row_bytes : end * row_bytes].data) == int(ends[part][1])

    good = spread_on_threads(whole, range(len(ends)))
    count = good.index(False) if False in good else len(good)
    return count, bounds[count - 1][1] if count else 0


def _sides(rows: Singles, whitener: Whitener) -> Singles:
    """Single-precision sides of some rows; zeros for zero rows."""
    d = len(whitener.shift)
    result = np.zeros((len(rows), _columns(d)), np.float32)
    held = np.flatnonzero(rows[:, d] > 0)

    def fill(start: int) -> None:
        chosen = held[start : start + PACKED]
        result[chosen] = packed_sides(rows[chosen], whitener)

    spread_on_threads(fill, range(0, len(held), PACKED))
    return result


def _columns(dimension: int) -> int:
    return dimension * (dimension + 1) + 2 * dimension + 4
