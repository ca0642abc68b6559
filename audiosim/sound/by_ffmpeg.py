"""Formats that libsndfile does not read, decoded by the machine's ffmpeg command through audioread, as in librosa."""

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np
from numpy.typing import NDArray

from audiosim.sound import formats as more_formats
from audiosim.sound.channel import Conveyed, Gathering, S
from audiosim.sound.completeness import Completeness

SUFFIXES = (
    *more_formats.SUFFIXES,
    ".oga",
    ".ogg",
)  # other contents named .mp3 or .wav are refused, even if ffmpeg reads them
READ = 2**20  # bytes read at a time
TENTH = 0.1  # seconds: audioread knows lengths no better
LISTS = (b"#EXTM3U", b"ffconcat", b"[playlist]", b"<?xml", b"<MPD")  # playlists, which name other files or addresses


def ffmpeg_installed() -> bool:
    """True if this machine has the ffmpeg command and the package audioread, which calls it."""
    return which("ffmpeg") is not None and find_spec("audioread") is not None


def decode_by_ffmpeg(
    path: Path, check: Callable[[int, int, int], None], start: Callable[[int], S], known: bool = False
) -> Conveyed[S] | str:
    """Everything that can be decoded of a file's first audio stream, in 16 bits, or the reason why nothing can.

    Arguments as for `more_formats.decode_other`.
    """
    if not known and not path.name.lower().endswith((*SUFFIXES, ".opus")):
        return "ffmpeg is not used"
    with path.open("rb") as file:
        if file.read(64).lstrip(b"\xef\xbb\xbf \r\n\t").startswith(LISTS):
            return "it is a list of other files"
    from audioread import ffdec

    try:
        with ffdec.FFmpegAudioFile(str(path.resolve()), READ) as opened:
            rate_hz, channels, promised = opened.samplerate, opened.channels, round(opened.duration * opened.samplerate)
            check(promised, channels, rate_hz)
            gathering = Gathering(start(rate_hz), rate_hz, lambda frames: check(frames, channels, rate_hz), 2.0**-15)
            for block in _whole_frames(opened, channels):
                gathering.add(block)
    except (ffdec.FFmpegError, OSError) as error:
        return f"ffmpeg: {error}" if str(error) else "ffmpeg finds no sound in it"
    return gathering.result(False, _completeness(gathering.frames, promised, rate_hz))


def _whole_frames(blocks: Iterable[bytes], channels: int) -> Iterator[NDArray[np.int16]]:
    """The whole frames, (n, channels), of bytes that may end within a frame."""
    rest, each = b"", 2 * channels
    for block in blocks:
        data = rest + block
        whole = len(data) // each * each
        rest = data[whole:]
        if whole:
            yield np.frombuffer(data[:whole], "<i2").reshape(-1, channels)


def _completeness(frames: int, promised: int, rate_hz: int) -> Completeness:
    if not promised:
        return Completeness(doubt="its container does not give its length")
    missing = max(0.0, promised - frames - TENTH * rate_hz)
    return Completeness(1 - missing / promised, harm="truncated or damaged")
