"""Formats that libsndfile does not read, by PyAV: AAC, ALAC, WMA, WebM, Matroska, WavPack, TTA, Speex, ..."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np

from audiosim.audio.completeness import Completeness
from audiosim.audio.gathering import Decoded, Gathering, Samples

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

av = lazy_loader.load("av")

# Names that sound of such formats has; what is in a file its content says.
SUFFIXES = (
    ".3gp", ".aac", ".ac3", ".amr", ".ape", ".asf", ".caf", ".dsf", ".m4a", ".m4b", ".mka", ".mp2", ".mp4", ".mpc",
    ".spx", ".tak", ".tta", ".webm", ".wma", ".wv",
)  # fmt: skip
# Nothing that names other files or addresses, as playlists do, and nothing that libsndfile has refused already.
CONTAINERS = "aac,ac3,amr,ape,asf,caf,dsf,eac3,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mpc,mpc8,ogg,tak,tta,wv"
SLACK = 0.02  # of a length, which containers round and coders pad


def installed() -> bool:
    """True if PyAV is installed, which audiosim[formats] brings."""
    return find_spec("av") is not None


def decode_other(path: Path, check: Callable[[int, int, int], None]) -> Decoded | str:
    """All that can be decoded of the first stream of sound in a file, or why nothing can.

    check  hears frames, channels and rate in Hz as they are known, and may put an end to it
    """
    try:
        with av.open(str(path), options={"protocol_whitelist": "file", "format_whitelist": CONTAINERS}) as container:
            if not container.streams.audio:
                return "it has no stream of sound"
            return _decoded(container, container.streams.audio[0], check)
    except av.error.FFmpegError as error:
        return str(getattr(error, "strerror", None) or error)


def _decoded(container: "InputContainer", stream: "AudioStream", check: Callable[[int, int, int], None]) -> Decoded:
    rate_hz, channels = int(stream.rate or 0), len(stream.layout.channels)
    promised = _promised(container, stream)
    check(promised or 0, channels, rate_hz)
    gathering, gave_up = Gathering(promised or 2**20, lambda frames: check(frames, channels, rate_hz)), False
    try:
        for block in _blocks(container, stream):
            gathering.add(block)
    except av.error.FFmpegError:
        gave_up = True
    decoded = gathering.result(rate_hz, gave_up)
    return replace(decoded, known=_completeness(gathering.frames, promised, gave_up))


def _blocks(container: "InputContainer", stream: "AudioStream") -> Iterator[Samples]:
    """The frames, (n, channels), at the rate they have."""
    resampler = av.AudioResampler(format="fltp", layout=stream.layout, rate=stream.rate)
    for frame in container.decode(stream):
        yield from _arrays(resampler.resample(frame))
    yield from _arrays(resampler.resample(None))


def _arrays(frames: list[Any]) -> Iterator[Samples]:
    for frame in frames:
        yield np.ascontiguousarray(frame.to_ndarray().T, np.float32)


def _promised(container: "InputContainer", stream: "AudioStream") -> int | None:
    """Number of frames that the container declares."""
    if stream.duration and stream.time_base:
        return round(float(stream.duration * stream.time_base) * int(stream.rate or 0))
    return round(container.duration / av.time_base * int(stream.rate or 0)) if container.duration else None


def _completeness(frames: int, promised: int | None, gave_up: bool) -> Completeness:
    if not promised:
        return Completeness(doubt="its container does not give its length")
    present = min(1.0, frames / promised)
    return Completeness(1.0 if present > 1 - SLACK and not gave_up else present, harm="truncated or damaged")
