"""Sound at a URL: a listing, and a local copy to decode. Any scheme of fsspec: s3, gs, https, sftp, ...

A path that begins with a scheme and `://` is a URL. Nothing else goes through fsspec.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from audiosim.errors import InputError, SoundError

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
LARGEST = 2**31  # largest size in bytes of a file to copy
BLOCK = 2**20  # bytes copied at a time


def is_url(path: str | Path) -> bool:
    """True for a path that is opened through fsspec."""
    return isinstance(path, str) and URL.match(path) is not None


def find_remote(url: str) -> Iterator[tuple[PurePosixPath, str]]:
    """The files at a URL, sorted, each with its path below it: all of a folder, or the one file under its name."""
    try:
        system, place = _system(url)
        if not system.isdir(place):
            yield PurePosixPath(PurePosixPath(place).name), url
            return
        root = place.rstrip("/") + "/"
        below = sorted(PurePosixPath(path.removeprefix(root)) for path in system.find(place))
    except InputError:
        raise
    except Exception as error:  # every kind of storage has its own
        raise InputError(f"{url}: cannot be listed ({_reason(error)}), expected a file or a folder") from None
    yield from ((path, f"{url.rstrip('/')}/{path}") for path in below)


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
