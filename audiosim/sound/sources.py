"""Sound files by identifier, from files, folders, URLs and documents.tsv."""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

from audiosim.errors import InputError, SoundError
from audiosim.sound import formats as more_formats
from audiosim.sound.channel import SUFFIXES

# Sound at a URL: a listing, and a local copy to decode. Any scheme of fsspec: s3, gs, https, sftp, ...
#
# A path that begins with a scheme and `://` is a URL. Nothing else goes through fsspec.


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
LARGEST = 2**31  # largest size in bytes of a file to copy
BLOCK = 2**20  # bytes copied at a time


def is_url(path: str | Path) -> bool:
    """True for a path that is opened through fsspec."""
    return isinstance(path, str) and URL.match(path) is not None


def remote_status(url: str) -> tuple[int, int]:
    """Size in bytes and time of change in nanoseconds; 0 for a value that the storage does not report."""
    try:
        system, place = _system(url)
        size = system.size(place) or 0
    except Exception:
        return 0, 0  # opening the file will report the reason
    try:
        changed = system.modified(place)
    except Exception:
        return size, 0
    return size, round(changed.timestamp() * 1e9) if isinstance(changed, datetime) else 0


@contextmanager
def local_copy(url: str, largest: int = LARGEST) -> Iterator[Path]:
    """Temporary local copy of the file at a URL.

    largest  size limit in bytes; a larger file is rejected as soon as it exceeds this
    """
    with TemporaryDirectory(prefix="audiosim-") as folder:
        copy = Path(folder, "sound" + PurePosixPath(url).suffix)
        try:
            system, place = _system(url)
            with system.open(place, "rb") as there, copy.open("wb") as here:
                whole = _copied(there, here, largest)
        except Exception as error:  # every kind of storage has its own
            raise SoundError(f"{url}: cannot be read ({_reason(error)}), expected a sound file") from None
        if not whole:
            raise SoundError(f"{url}: is larger than {largest:,} bytes, the limit at a URL")
        yield copy


def _copied(there: BinaryIO, here: BinaryIO, largest: int) -> bool:
    while block := there.read(BLOCK):
        if here.tell() + len(block) > largest:
            return False
        here.write(block)
    return True


def _system(url: str) -> tuple[Any, str]:
    """The storage of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(f"{url}: needs fsspec, which audiosim[scale] brings: pip install 'audiosim[scale]'") from None
    system, place = url_to_fs(url)
    return system, place


def _reason(error: Exception) -> str:
    """A storage's error in one line."""
    said = getattr(error, "strerror", None) or " ".join(str(error).split())
    return said or type(error).__name__


UNWRITABLE = {"Cc", "Cs", "Zl", "Zp"}  # Unicode's control characters, bytes that are not text, line and paragraph ends


class LeftOut(NamedTuple):
    """Entry that was found but is not opened, and the reason."""

    path: str
    reason: str


SoundSource = str | Path | LeftOut  # str for a URL


def find_sounds(paths: str | Path | Iterable[str | Path], *, keep_suffixes: bool = False) -> dict[str, SoundSource]:
    """The sound files that some paths refer to, in the order found.

    paths          a folder gives all files below it with a suffix of sound, including formats that need
                   audiosim[formats], sorted, without hidden ones;
                   a documents.tsv, recognised by its suffix, gives the documents with a path, relative to its folder;
                   any other file gives itself; a URL, with `://`, gives the file or folder that fsspec finds there
    keep_suffixes  True to keep the suffix of a file with the same name as an earlier one; if False, it is left out

    A recording is named after its document, or else by its path below the folder without suffix, or its stem. Below a
    folder, a link to a file inside it counts as a file. A LeftOut is returned for a link to a file outside, a link to a
    folder, a folder that cannot be listed, and a name that cannot be an identifier because it has a tab, a line end,
    another control character, or bytes that are not text.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    found: dict[str, SoundSource] = {}
    for identifier, source in (sound for start in paths for sound in _sounds(start)):
        if keep_suffixes and found.get(identifier, source) != source:
            identifier += PurePath(_place(source)).suffix
        if (other := found.setdefault(identifier, source)) != source:
            reason = f"would be called {identifier!r}, as {_place(other)}; expected one file of each name"
            found[f"{_place(source)}/"] = LeftOut(_place(source), reason)
    if not found:
        where = ", ".join(str(path) for path in paths) or "no path"
        raise InputError(f"no sound found in {where}, expected files that end in {', '.join(SUFFIXES)}")
    return found


def _sounds(start: str | Path) -> Iterator[tuple[str, SoundSource]]:
    if is_url(start):
        yield from _remote(str(start))
        return
    start = Path(start)
    if start.is_dir():
        for path, source in _walk(start):
            yield _named(path.relative_to(start), source)
    elif start.name.lower().endswith((".tsv", ".tsv.gz")):
        yield from _documents(start)
    else:
        yield _named(Path(start.name), start)


def _named(place: PurePath, source: SoundSource) -> tuple[str, SoundSource]:
    """A sound under its identifier; a sound left out under its path and a slash, which no identifier contains."""
    identifier = place.with_suffix("").as_posix()
    # Into lines and columns of UTF-8 text.
    writable = identifier.strip() and UNWRITABLE.isdisjoint(map(unicodedata.category, identifier))
    if not isinstance(source, LeftOut) and not writable:
        expected = "expected a name in the encoding of this system, without control characters"
        source = LeftOut(str(source), f"its name cannot be an identifier, {expected}")
    return f"{place.as_posix()}/" if isinstance(source, LeftOut) else identifier, source


def _walk(folder: Path) -> Iterator[tuple[Path, SoundSource]]:
    """The sound files below a folder, in the order of their names."""
    root, waiting = os.path.realpath(folder), _entries(folder)
    while waiting:
        entry = waiting.pop()
        path = Path(entry.path)
        if isinstance(entry, LeftOut):
            yield path, entry
        elif entry.is_dir(follow_symlinks=False):
            waiting += _entries(path)
        elif entry.is_symlink() and (reason := _reason_not_to_follow(path, root)):
            yield path, LeftOut(str(path), reason)
        elif _is_sound(path):
            yield path, path


def _entries(folder: Path) -> list["os.DirEntry[str] | LeftOut"]:
    """Entries of a folder, the last name first, or a note that it cannot be listed."""
    try:
        with os.scandir(folder) as listing:
            seen = sorted(listing, key=lambda entry: entry.name, reverse=True)
    except OSError as error:
        return [LeftOut(str(folder), f"cannot be listed ({error.strerror}), expected a folder")]
    return [entry for entry in seen if not entry.name.startswith(".")]


def _reason_not_to_follow(link: Path, root: str) -> str:
    """Reason to leave out a link below a folder; empty if it leads to a file inside, or is irrelevant."""
    if link.is_dir():
        return "is a link to a folder and is not followed; name that folder itself"
    if _is_sound(link) and os.path.commonpath([root, os.path.realpath(link)]) != root:
        return "is a link out of the folder and is not followed; name that file itself"
    return ""


def _is_sound(path: PurePath) -> bool:
    return path.name.lower().endswith((*SUFFIXES, *more_formats.SUFFIXES))


def _remote(url: str) -> Iterator[tuple[str, SoundSource]]:
    """The sound files below a URL, sorted, or the one file under its name."""
    try:
        system, place = _system(url)
        below = system.find(place) if system.isdir(place) else None
    except InputError:
        raise
    except Exception as error:  # every kind of storage has its own
        raise InputError(f"{url}: cannot be listed ({_reason(error)}), expected a file or a folder") from None
    if below is None:
        yield _named(PurePosixPath(PurePosixPath(place).name), url)
        return
    for path in sorted(PurePosixPath(one.removeprefix(place.rstrip("/") + "/")) for one in below):
        if _is_sound(path) and not any(part.startswith(".") for part in path.parts):
            yield _named(path, f"{url.rstrip('/')}/{path}")


def _documents(table: Path) -> Iterator[tuple[str, SoundSource]]:
    from audiosim.collection.kinds import read_documents

    for identifier, document in read_documents(table).items():
        if document.path:
            yield identifier, document.path if is_url(document.path) else table.parent / document.path


def _place(source: SoundSource) -> str:
    return source.path if isinstance(source, LeftOut) else str(source)
