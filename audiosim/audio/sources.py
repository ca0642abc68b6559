"""Files, folders and documents.tsv -> which recordings there are: identifier -> sound file."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from audiosim.corpus.formats import read_documents
from audiosim.errors import InputError

SUFFIXES = (".aif", ".aiff", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".wav")


def find_sounds(paths: str | Path | Iterable[str | Path]) -> dict[str, Path]:
    """The sound files that a person means by some paths, in the order found.

    paths  each a folder: all below it whose name ends as a sound file's does, sorted, hidden ones left out;
           a documents.tsv, by its suffix: the documents that have a path, which is relative to it;
           any other file: itself

    A recording is called by its document, or else by its path below the folder without suffix, or its stem.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    found: dict[str, Path] = {}
    for identifier, path in (sound for start in paths for sound in _sounds(Path(start))):
        if found.setdefault(identifier, path) != path:
            raise InputError(f"two files would be called {identifier!r}: {found[identifier]} and {path}")
    if not found:
        where = ", ".join(str(path) for path in paths) or "no path"
        raise InputError(f"no sound found in {where}, expected files that end in {', '.join(SUFFIXES)}")
    return found


def _sounds(start: Path) -> Iterator[tuple[str, Path]]:
    if start.is_dir():
        for path in sorted(_walk(start)):
            yield path.relative_to(start).with_suffix("").as_posix(), path
    elif start.name.lower().endswith((".tsv", ".tsv.gz")):
        yield from _documents(start)
    else:
        yield start.stem, start


def _walk(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield Path(where, name)


def _documents(table: Path) -> Iterator[tuple[str, Path]]:
    for identifier, document in read_documents(table).items():
        if document.path:
            yield identifier, table.parent / document.path
