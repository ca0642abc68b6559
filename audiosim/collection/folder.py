"""Stamps of a collection's folder: equal ones mean that reading it again gives the same collection."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from audiosim.collection.arrivals import SOUND_FILES, Stamp
from audiosim.collection.facts import SOUND_SUFFIXES

DEEPEST = 2  # depth of folders that are entered, such as arrivals/runs
DESCRIBED = ".index"  # suffix of folders with an index; each change renames a file in them


def folder_stamp(folder: str | Path, database: Path | None = None) -> Stamp:
    """Paths, sizes and times of the visible files in a collection's folder, except recordings.

    database  an SQLite file, which changes with each judgment and is not part of the collection
    """
    excluded = "" if database is None else str(database.absolute())
    found = _stamps(str(Path(folder).absolute()), "", 0)
    return tuple(sorted(one for path, one in found if not excluded or not path.startswith(excluded)))


def file_stamp(path: str | Path | None) -> str:
    """Path, size and time of a file named in options; only the path if there is no such file."""
    if path is None or not Path(path).exists():
        return f"{path}"
    of = Path(path).stat()
    return f"{Path(path).absolute()} {of.st_size} {of.st_mtime_ns}"


def _stamps(place: str, inside: str, depth: int) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Path and stamp of each file, or of the folder itself if it is not entered."""
    with os.scandir(place) as entries:
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.name.startswith(".") or entry.name.lower().endswith(SOUND_SUFFIXES):
                continue
            if entry.is_dir() and entry.name != SOUND_FILES and depth < DEEPEST and not name.endswith(DESCRIBED):
                yield from _stamps(entry.path, f"{name}/", depth + 1)
            else:
                with suppress(FileNotFoundError):  # a broken link, or a file that was just removed
                    of = entry.stat()
                    yield entry.path, (name, of.st_size, of.st_mtime_ns)
