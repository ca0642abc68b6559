"""Copies of sound files that tell nothing but their sound, made when they are first heard."""

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock

from audiosim.audio.untagged import write_untagged
from audiosim.service.shelf.sound_files import DECODING, LIMITS

EPOCH = (0, 0)  # time of access and of change of every copy, so that headers tell no date

_opening = Lock()  # two first calls at once would make two folders, of which one is removed with its files


@cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder of this process, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="audiosim-sounds-", ignore_cleanup_errors=True)


def untagged_copy(path: Path) -> Path:
    """The copy of a sound file; made anew once the file has changed."""
    status = path.stat()
    about = f"{path}\0{status.st_mtime_ns}\0{status.st_size}".encode(errors="surrogateescape")
    with _opening:
        folder = Path(_folder().name)
    copy = folder / f"{hashlib.blake2b(about, digest_size=16).hexdigest()}.flac"
    if copy.exists():
        return copy
    with DECODING:
        if not copy.exists():
            unfinished = copy.with_suffix(".part")
            write_untagged(path, unfinished, LIMITS)
            os.utime(unfinished, EPOCH)
            unfinished.replace(copy)
    return copy
