"""The sound files of a collection, by document, and the data for their waveforms."""

import hashlib
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock

import numpy as np
from msgspec import Struct

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import prompt_of
from audiosim.collection.layouts import is_file
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.sound.channel import Samples, SoundLimits
from audiosim.sound.clips import write_untagged
from audiosim.sound.decode import STANDARD_READER, read

PEAKS = 800
LOUDEST = 127
RATE_HZ = 22_050
ROUNDED_S = 0.05  # by which pages round the seconds that they report
LIMITS = SoundLimits(seconds=1200.0, samples=60_000_000)  # per clip: 10 minutes of a compact disc
KEPT = 1024
DECODING = (
    Lock()
)  # one sound at a time is decoded; two threads must not load the library at the same time, which happens on first use
_sound: dict[Path, tuple[int, int]] = {}  # files that were found to be sounds, and their states then
ALLOW = "allow its folder by the setting sounds, or `sounds` in collection.toml"


class Peaks(Struct, frozen=True):
    """Waveform peaks of a recording, and its loudness.

    low, high   lowest and highest sample of each of up to 800 stretches of equal length; full scale is 127
    duration_s  in seconds
    loudness_db integrated loudness of the mean of the channels, in LUFS: ITU-R BS.1770; None if silent
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    duration_s: float
    loudness_db: float | None


class Sounds:
    """Sound files of a collection's documents.

    Files are looked up once, at construction. A file counts only if it is, after following links, inside the
    collection's folder or a folder named by its collection.toml or the organiser, under all of its names. Whether it
    is a sound is seen when it is played, see `check_sound`.
    """

    def __init__(
        self,
        collection: Collection,
        folder: str | Path | None,
        roots: Sequence[str | Path] = (),
        database: Path | None = None,
    ) -> None:
        """Look up the files.

        roots     further folders of recordings
        database  the service's, if it is a file: never opened as a sound, which would end this process's locks on it
        """
        ends = "", "-wal", "-shm", "-journal"
        self._databases = () if database is None else tuple(database.with_name(f"{database.name}{end}") for end in ends)
        self._paths: dict[str, Path] = {}
        self._collection = collection
        named = {one.identifier: one.path for one in collection.documents.values() if one.path}
        self._lost: dict[str, str] = {}  # reasons why documents with a named file have no sound
        if folder is not None:
            own = () if collection.sound_folder is None else (collection.sound_folder,)
            allowed = [Path(root).resolve() for root in (folder, *own, *roots)]
            for document, name in named.items():
                path = _resolved(Path(folder).resolve() / name)
                if path is None or not is_file(path):
                    self._lost[document] = f"{name} is not a file"
                elif self._is_database(path):
                    self._lost[document] = f"{name} is not a sound"
                elif not any(path.is_relative_to(root) for root in allowed):
                    self._lost[document] = f"{name} is outside {allowed[0]}: {ALLOW}"
                else:
                    self._paths[document] = path
            for document in _linked_elsewhere(self._paths, allowed):
                del self._paths[document]
                self._lost[document] = f"{named[document]} is a hard link out of {allowed[0]}: {ALLOW}"

    def mute(self, pairs: Iterable[Pair]) -> frozenset[Pair]:
        """The pairs of which one side cannot be played; none in a silent campaign, whose documents name no files."""
        if not self._paths and not self._lost:
            return frozenset()
        return frozenset(pair for pair in pairs if not all(document in self for document in self._sides(*pair)))

    def coverage(self, pairs: Iterable[Pair]) -> str:
        """Number of playable documents of some pairs, and why others are not; empty if all or none are playable."""
        if not self._paths and not self._lost:
            return ""
        documents = list(dict.fromkeys(document for pair in pairs for document in self._sides(*pair)))
        missing = [document for document in documents if document not in self]
        if not missing:
            return ""
        reason = self._lost.get(missing[0], "documents.tsv names no file for it")
        heard = len(documents) - len(missing)
        first, many = f"{missing[0]} ({reason})", len(missing) > 1
        lacking = f"{len(missing)} have no sound, such as {first}" if many else f"1 has no sound, {first}"
        why = f"{lacking}; {'their' if many else 'its'} pairs are not handed out"
        return f"{heard} of {len(documents)} documents can be played; {why}"

    def reads(self, query: str) -> bool:
        """True if a query is read instead of heard: a prompt in text, without sound."""
        document = self._collection.query_document(query)
        return document not in self and bool(prompt_of(self._collection.documents, document))

    def heard(self, query: str, documents: Sequence[str], seconds: Sequence[float | None], listen_s: float) -> bool:
        """True if each clip was heard for `listen_s`, or for the whole seconds of a clip that is shorter.

        seconds  heard of the query's clip, then of each document's; None if unknown. The query's is ignored if the
                 query is read
        """
        clips = self._sides(query, *documents)
        heard = seconds[len(seconds) - len(clips) :]
        return all(self._enough(clip, said or 0.0, listen_s) for clip, said in zip(clips, heard, strict=True))

    def _enough(self, document: str, seconds: float, listen_s: float) -> bool:
        if seconds >= listen_s - ROUNDED_S:
            return True
        path = self.path(document)
        if path is None:
            return False
        try:
            length = peaks(path).duration_s
        except InputError:  # a file that cannot be read has no length
            return False
        return seconds >= (math.floor(length) or length) - ROUNDED_S

    def _sides(self, query: str, *documents: str) -> tuple[str, ...]:
        """The documents to be heard: the query's, unless it is read, and these."""
        own = () if self.reads(query) else (self._collection.query_document(query),)
        return *own, *documents

    def path(self, document: str) -> Path | None:
        """The sound file of a document; None if it has none, or has it no longer."""
        path = self._paths.get(document)
        # A file that was regular at the start may have become a link.
        if path is None or not path.is_file() or path.resolve() != path or self._is_database(path):
            return None
        return path

    def _is_database(self, path: Path) -> bool:
        """True for a file of the service's database, also under another name."""
        return any(own.exists() and own.samefile(path) for own in self._databases)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def __contains__(self, document: str) -> bool:
        return document in self._paths


def _linked_elsewhere(paths: Mapping[str, Path], roots: Iterable[Path]) -> list[str]:
    """The documents whose files have further names, which are hard links, outside some folders."""
    found = {document: path.stat() for document, path in paths.items()}
    linked = {document: status for document, status in found.items() if status.st_nlink > 1}
    if not linked:
        return []
    names: dict[tuple[int, int], set[Path]] = {(status.st_dev, status.st_ino): set() for status in linked.values()}
    for place, _, files in chain.from_iterable(os.walk(root) for root in roots):
        for name in (Path(place, file) for file in files):
            with suppress(OSError):
                status = name.lstat()
                names.get((status.st_dev, status.st_ino), set()).add(name)
    return [one for one, status in linked.items() if len(names[status.st_dev, status.st_ino]) < status.st_nlink]


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL in the name
        return None


def known_sound(path: Path) -> bool:
    """True if a file, in its present state, was found to be a sound."""
    return _sound.get(path) == _state(path)


def check_sound(path: Path) -> None:
    """Raise a SoundError unless a file is a sound that `extract` takes, which its content decides."""
    state = _state(path)
    with DECODING:
        STANDARD_READER.check(path)
    _sound[path] = state


def peaks(path: Path) -> Peaks:
    """Waveform peaks of a sound file; cached until the file changes."""
    return _peaks(path, *_state(path))


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=KEPT)
def _peaks(path: Path, _changed: int, _size: int) -> Peaks:
    with DECODING:
        signal = read(path, RATE_HZ, LIMITS)
    low, high = extremes(signal.samples, PEAKS)
    return Peaks(_whole(low), _whole(high), signal.duration_s, loudness_db(signal.samples, RATE_HZ))


def extremes(samples: Samples, count: int) -> tuple[Samples, Samples]:
    """The lowest and the highest sample of each of `count` stretches; of one per sample if there are fewer samples."""
    starts = np.unique(np.linspace(0, len(samples), count, endpoint=False).astype(np.int64))
    return np.minimum.reduceat(samples, starts), np.maximum.reduceat(samples, starts)


def loudness_db(samples: Samples, rate_hz: int) -> float | None:
    """Integrated loudness in LUFS by ITU-R BS.1770-4: frequency-weighted, without pauses; None if silent.

    samples  (n,) one channel, at least 0.4 s
    """
    from pyloudnorm import Meter  # imported late, as it slows down the start and is rarely needed

    found = float(Meter(rate_hz).integrated_loudness(samples.astype(np.float64)))
    return found if np.isfinite(found) else None


def _whole(values: Samples) -> tuple[int, ...]:
    return tuple(np.clip(np.rint(values * LOUDEST), -LOUDEST, LOUDEST).astype(int).tolist())


# Copies of sound files without tags, made when first played.


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
