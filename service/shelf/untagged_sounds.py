"""Copies of sound files without tags, made when first played."""

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock

from audiosim.audio.untagged import write_untagged
from audiosim.service.shelf.sound_files import DECODING, LIMITS

EPOCH = (0, 0)  # access and change time of every copy, so that headers reveal no date
MOST_COPIED_BYTES = 2 * 10**9  # of one process

_opening = Lock()  # without it, two simultaneous first calls would make two folders, and lose the files in one


class UntaggedSounds:
    """Copies in a folder of limited size, which keeps the most recently played.

    folder  folder for these copies alone
    most    its size in bytes; one copy is kept, even if larger
    """

    def __init__(self, folder: Path, most: int = MOST_COPIED_BYTES) -> None:
        self._folder, self._most = folder, most
        self._bytes: dict[Path, int] = {}  # size of each copy, last played last
        self._turn = Lock()

    def known(self, path: Path) -> Path | None:
        """The copy of a sound file in its present state; None if there is none yet."""
        copy = self._name(path)
        return copy if self._heard(copy) else None

    def copy_of(self, path: Path) -> Path:
        """The copy of a sound file; made anew once the file has changed."""
        copy = self._name(path)
        if self._heard(copy):
            return copy
        with DECODING:
            if not self._heard(copy):
                unfinished = copy.with_suffix(".part")
                try:
                    write_untagged(path, unfinished, LIMITS)
                except BaseException:
                    unfinished.unlink(missing_ok=True)  # frees the room on a full disk
                    raise
                os.utime(unfinished, EPOCH)
                unfinished.replace(copy)
                self._keep(copy)
        return copy

    def _name(self, path: Path) -> Path:
        status = path.stat()
        about = f"{path}\0{status.st_mtime_ns}\0{status.st_size}".encode(errors="surrogateescape")
        return self._folder / f"{hashlib.blake2b(about, digest_size=16).hexdigest()}.flac"

    def _heard(self, copy: Path) -> bool:
        """True if a copy exists; it then counts as just played."""
        with self._turn:
            if copy not in self._bytes or not copy.exists():
                return False
            self._bytes[copy] = self._bytes.pop(copy)
            return True

    def _keep(self, copy: Path) -> None:
        with self._turn:
            self._bytes.pop(copy, None)
            self._bytes[copy] = copy.stat().st_size
            while len(self._bytes) > 1 and sum(self._bytes.values()) > self._most:
                oldest = next(iter(self._bytes))
                del self._bytes[oldest]
                oldest.unlink(missing_ok=True)  # transfers in progress can still read it to the end


@cache
def _copies() -> "tuple[UntaggedSounds, tempfile.TemporaryDirectory[str]]":
    """The copies of this process, in a folder removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="audiosim-sounds-", ignore_cleanup_errors=True)
    return UntaggedSounds(Path(folder.name)), folder


def untagged_sounds() -> UntaggedSounds:
    """The copies of this process."""
    with _opening:
        return _copies()[0]
