"""A large index made ready to be searched: a file beside it that is computed once, and may be deleted at any time.

    packed.f32   per entry of the index its sides in single precision; see `stats.kullback_leibler.Packed`
    packed.json  the whitener of all of them, fixed when the file is made

It grows with the index: only entries that are new are packed. Entries that no longer hold keep theirs, and
those that remove a recording have zeros.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

from audiosim.stats.gaussian import Singles
from audiosim.stats.kullback_leibler import PACKED, Packed, Whitener, packed_sides
from audiosim.stats.threads import spread_on_threads

if sys.platform != "win32":
    import fcntl

SIDES, WHITENER = "packed.f32", "packed.json"
LARGE = 20_000  # entries; fewer are packed in memory each time, which takes less than a second
SAMPLE = 5000  # entries, evenly spread, that the whitener is fixed by
WRITTEN = 32 * PACKED  # entries packed between writes


def packed_on_disk(folder: Path, rows: Singles, dimension: int) -> Packed:
    """The entries of an index packed, as a memory map; what is missing of the file is computed and written first.

    Where the folder cannot be written to, they are packed in memory.
    """
    try:
        whitener = _whitener(folder, rows, dimension)
        _complete(folder / SIDES, rows, whitener)
    except OSError:
        whitener = _made_whitener(rows, dimension)
        parts = (_sides(rows[start : start + WRITTEN], whitener) for start in range(0, len(rows), WRITTEN))
        return Packed(rows, whitener, np.concatenate(list(parts)))
    shape = len(rows), _columns(dimension)
    return Packed(rows, whitener, np.memmap(folder / SIDES, "<f4", mode="r", shape=shape))


def _whitener(folder: Path, rows: Singles, dimension: int) -> Whitener:
    """The one in the folder; where there is none that can be read, a new one, and the file starts again."""
    try:
        known = json.loads((folder / WHITENER).read_text(encoding="utf-8"))
        whitener = Whitener(np.array(known["shift"]), np.array(known["stretch"]), float(known["scale"]))
        if whitener.stretch.shape == (dimension, dimension):
            return whitener
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    whitener = _made_whitener(rows, dimension)
    (folder / SIDES).unlink(missing_ok=True)
    known = {"shift": whitener.shift.tolist(), "stretch": whitener.stretch.tolist(), "scale": whitener.scale}
    new = folder / f"{WHITENER}.{os.getpid()}"
    new.write_text(json.dumps(known) + "\n", encoding="utf-8")
    new.replace(folder / WHITENER)
    return whitener


def _made_whitener(rows: Singles, dimension: int) -> Whitener:
    held = np.asarray(rows[:: max(1, len(rows) // SAMPLE)])
    return Whitener.of(held[held[:, dimension] > 0], dimension)


def _complete(path: Path, rows: Singles, whitener: Whitener) -> None:
    """Append the sides of the rows that the file does not have yet; one process does, others wait for it."""
    row_bytes = 4 * _columns(len(whitener.shift))
    if path.exists() and path.stat().st_size >= len(rows) * row_bytes:
        return
    with path.open("ab") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        done = path.stat().st_size // row_bytes
        file.truncate(done * row_bytes)
        for start in range(done, len(rows), WRITTEN):
            file.write(_sides(rows[start : start + WRITTEN], whitener).tobytes())


def _sides(rows: Singles, whitener: Whitener) -> Singles:
    """Single precision sides of some rows, zeros for those of zeros."""
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
