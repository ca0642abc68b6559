"""Completeness of a sound file by its container, because the decoder reports a shortened file as a short one."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import unpack
from typing import BinaryIO, NamedTuple
from zlib import crc32

# Sizes from this on mean "not known when the header was written" (ffmpeg and sox writing to a pipe).
UNKNOWN_SIZE = 0x7FFF0000
SLACK_BYTES = 4096  # an MP3's number of bytes may include a tag that was replaced by a smaller one
MPEG = ("MP3", "MPEG")  # libsndfile's names of MP3
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))  # the bits of each byte
BOUNDS = {b"RIFF": ("little", b"data"), b"FORM": ("big", b"SSND")}


@dataclass(frozen=True, slots=True)
class Completeness:
    """Share of a recording that its file contains.

    present    share of the promised sound that is in the file; 1 if no length is promised
    doubt      reason to doubt that share; empty if it is known
    harm       sentence on the damage, for a share below 1
    scattered  True if parts are missing here and there, so that the rest represents the whole
    """

    present: float = 1.0
    doubt: str = ""
    harm: str = "truncated"
    scattered: bool = False


def completeness(path: Path, container: str) -> Completeness:
    """Completeness of a file, as its container states it.

    container  libsndfile's name of the container

    WAV and AIFF give the size of their sound in bytes. Ogg numbers its pages and marks the last: pages
    that are missing or whose checksum fails are counted as lost, but a missing end has no known length.
    MP3 gives its length in a Xing, Info or VBRI frame, if at all; FLAC in its header: those two are
    compared with the decoder's output. An MP3 with all its bytes is damaged, not cut. WAV of 2 GiB and over, and other
    containers, are taken as they are: truncation is not detected in these.
    """
    with path.open("rb") as file:
        if container in {"WAV", "WAVEX", "AIFF"}:
            return _chunks(file)
        if container == "OGG":
            return _pages(file)
        if container in MPEG:
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


class _Page(NamedTuple):
    """An Ogg page with a valid checksum.

    first, last  True if it begins or ends its stream
    granule      end of the sound that the page completes; -1 if it completes none
    stream       number of the stream in the file
    number       its place in that stream, counted from 0
    """

    first: bool
    last: bool
    granule: int
    stream: int
    number: int


def _pages(file: BinaryIO) -> Completeness:
    """Follow the pages of the first stream: gaps in their numbers are lost sound."""
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        pages = list(_good_pages(data))
    ours = [page for page in pages if page.stream == pages[0].stream]
    doubt = ""
    if any(page.first and not before.first for before, page in pairwise(pages)):
        doubt = "it is a chain of Ogg streams; only the first is decoded"
    elif not (ours and ours[-1].last):
        doubt = "its last Ogg page is cut or does not mark the end"
    return Completeness(1 - _lost(ours), doubt, "damaged", scattered=True)


def _lost(pages: list[_Page]) -> float:
    """Share of the sound on missing pages: of each jump in time, the share of its pages that are missing."""
    lost, missing, found, time = 0.0, 0, 0, 0
    for before, page in pairwise(pages):
        missing, found = missing + max(0, page.number - before.number - 1), found + 1
        if page.granule >= 0:
            lost += max(0, page.granule - time) * missing / (missing + found)
            missing, found, time = 0, 0, max(time, page.granule)
    return lost / time if time else 0.0


def _good_pages(data: mmap) -> Iterator[_Page]:
    start = data.find(b"OggS")
    while start >= 0:
        segments = data[start + 26] if start + 27 <= len(data) else 0
        end = start + 27 + segments + sum(data[start + 27 : start + 27 + segments])
        page = data[start:end]
        good = 27 <= len(page) == end - start and page[4] == 0 and _checksum(page) == page[22:26]
        if good:
            granule, stream, number = unpack("<qII", page[6:22])
            yield _Page(bool(page[5] & 2), bool(page[5] & 4), granule, stream, number)
        start = data.find(b"OggS", end if good else start + 1)


def _checksum(page: bytes) -> bytes:
    """Ogg's checksum: zlib's with the bits of every byte reversed, starting from 0 and not inverted at the end."""
    blank = page[:22] + bytes(4) + page[26:]
    return (crc32(blank.translate(REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF).to_bytes(4, "big").translate(REVERSED)


def _first_frame(file: BinaryIO) -> Completeness:
    """Find the frame with the length of an MP3, behind its ID3 tag, and compare its number of bytes with the file's.

    If all are there, what cannot be decoded is damaged here and there. Xing and Info have flags, the number of frames
    if flag 1 is set, and that of bytes if flag 2 is set; VBRI has that of bytes ten bytes behind its name.
    """
    head = file.read(10)
    start = 0
    if head[:3] == b"ID3":
        start = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
    file.seek(start)
    frame = file.read(2048)
    for tag in (b"Xing", b"Info", b"VBRI"):
        place = frame.find(tag)
        if place >= 0:
            flags = frame[place + 7] if len(frame) > place + 7 else 0
            at = place + 10 if tag == b"VBRI" else place + 8 + 4 * (flags & 1)
            stated = int.from_bytes(frame[at : at + 4], "big") if tag == b"VBRI" or flags & 2 else 0
            whole = 0 < stated <= file.seek(0, 2) - start + SLACK_BYTES
            return Completeness(harm="damaged", scattered=True) if whole else Completeness()
    return Completeness(doubt="this MP3 has no frame that gives its length", harm="damaged", scattered=True)
