"""Is a sound file all there? Read off its container, because the decoder reports a shortened file as a short one."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

# Sizes from here on stand for "not known when the header was written" (ffmpeg and sox writing to a pipe).
UNKNOWN_SIZE = 0x7FFF0000
PAGE = 65_307  # the largest Ogg page
BOUNDS = {b"RIFF": ("little", b"data"), b"FORM": ("big", b"SSND")}


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of a recording its file holds.

    present  share of the promised sound that is in the file; 1 where nothing is promised
    doubt    why that share may be wrong, empty if it is known
    """

    present: float = 1.0
    doubt: str = ""


def completeness(path: Path, container: str) -> Completeness:
    """What the container says.

    container  as libsndfile names it

    WAV and AIFF give the size of their sound in bytes. Ogg marks its last page but promises no length.
    MP3 gives its length in a Xing, Info or VBRI frame, if at all; FLAC in its header: those two are
    compared with what comes out of the decoder. WAV of 2 GiB and over, and other containers, are taken
    as they are: a cut there is not seen.
    """
    with path.open("rb") as file:
        if container in {"WAV", "WAVEX", "AIFF"}:
            return _chunks(file)
        if container == "OGG":
            return _pages(file)
        if container in {"MP3", "MPEG"}:
            return _first_frame(file)
    return Completeness()


def _chunks(file: BinaryIO) -> Completeness:
    """Walk the chunks of RIFF or AIFF up to the one that holds the sound."""
    end = file.seek(0, 2)
    file.seek(0)
    order, wanted = BOUNDS.get(file.read(12)[:4], ("little", b"data"))
    while len(head := file.read(8)) == 8:
        size = int.from_bytes(head[4:], "big" if order == "big" else "little")
        if head[:4] == wanted:
            here = end - file.tell()
            return Completeness(here / size) if here < size < UNKNOWN_SIZE else Completeness()
        file.seek(size + size % 2, 1)
    return Completeness()


def _pages(file: BinaryIO) -> Completeness:
    """Look at the last page: bit 2 of byte 5 marks the end of the stream."""
    file.seek(max(0, file.seek(0, 2) - 2 * PAGE))
    tail = file.read()
    page = tail[tail.rfind(b"OggS") :]
    segments = page[26] if page.startswith(b"OggS") and len(page) > 26 else PAGE
    if len(page) >= 27 + segments + sum(page[27 : 27 + segments]) and page[5] & 4:
        return Completeness()
    return Completeness(doubt="its last Ogg page is cut or does not mark the end")


def _first_frame(file: BinaryIO) -> Completeness:
    """Look for the frame that gives the length of an MP3, behind its ID3 tag."""
    head = file.read(10)
    start = 0
    if head[:3] == b"ID3":
        start = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
    file.seek(start)
    frame = file.read(2048)
    if any(tag in frame for tag in (b"Xing", b"Info", b"VBRI")):
        return Completeness()
    return Completeness(doubt="this MP3 has no frame that gives its length")
