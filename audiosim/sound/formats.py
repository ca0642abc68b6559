"""Sound that libsndfile plays slowly or not at all, by PyAV: AAC, ALAC, WMA, WebM, Matroska, WavPack, damaged FLAC, ...

Packets that a decoder refuses are skipped, as by ffmpeg: damage loses the damaged packets, not the rest.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np
from numpy.typing import NDArray

from audiosim.sound.channel import Conveyed, Gathering, S, Samples
from audiosim.sound.completeness import Completeness

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet

av = lazy_loader.load("av")

# Usual suffixes of such formats; the content of a file decides.
SUFFIXES = (
    ".3gp", ".aac", ".ac3", ".amr", ".ape", ".asf", ".caf", ".dsf", ".m4a", ".m4b", ".mka", ".mp2", ".mp4", ".mpc",
    ".spx", ".tak", ".tta", ".webm", ".wma", ".wv",
)  # fmt: skip
# Formats that name other files or addresses, such as playlists, are excluded.
CONTAINERS = (
    "aac,ac3,aiff,amr,ape,asf,caf,dsf,eac3,flac,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,ogg,tak,tta,w64,"
    "wav,wv"
)
FILE_ALONE = {"protocol_whitelist": "file", "format_whitelist": CONTAINERS}
SLACK = 0.02  # tolerance of a length, which containers round and coders pad
TOGETHER = 2**17  # frames of sound handed on at a time: packets hold a thousand or so
MOST_BAD = 10_000  # bad packets in a row: far more than in any file worth describing
BY_ALL = 0.9  # share of the length: sound that goes on beyond it was damaged, not cut off


def installed() -> bool:
    """True if PyAV is installed; audiosim[formats] brings it."""
    return find_spec("av") is not None


def decode_other(
    path: Path, check: Callable[[int, int, int], None], start: Callable[[int], S], known: bool = False
) -> Conveyed[S] | str:
    """Everything that can be decoded of a file's first audio stream, or the reason why nothing can.

    check  gets frames, channels and rate in Hz as they become known, and may stop decoding
    start  makes a sink for sound of a given rate
    known  True if libsndfile recognises the file as one of its own formats, whose lengths are exact
    """
    try:
        with av.open(str(path), options=FILE_ALONE) as container:
            if not container.streams.audio:
                return "it has no stream of sound"
            stream = container.streams.audio[0]
            if stream.codec_context is None or stream.codec_context.format is None or not stream.rate:
                return "the coding of its sound is unknown"
            return _heard(container, stream, check, start, 0.0 if known else SLACK)
    except av.error.FFmpegError as error:
        return str(getattr(error, "strerror", None) or error)


def _heard(
    container: "InputContainer",
    stream: "AudioStream",
    check: Callable[[int, int, int], None],
    start: Callable[[int], S],
    slack: float,
) -> Conveyed[S]:
    rate_hz, channels = int(stream.rate or 0), len(stream.layout.channels)
    promised = _promised(container, stream)
    check(promised or 0, channels, rate_hz)
    stream.codec_context.options = {"err_detect": "crccheck+explode"}  # a damaged frame is lost, not noise
    gathering = Gathering(start(rate_hz), rate_hz, lambda frames: check(frames, channels, rate_hz))
    packets = _Packets(container, stream)
    for block in _blocks(stream, packets):
        gathering.add(block)
    return gathering.result(False, _completeness(gathering.frames, promised, packets, slack, rate_hz))


class _Packets:
    """Content of a stream's packets, one after the other; those that cannot be decoded are counted.

    bad    number of packets, or stretches between them, that hold nothing decodable
    end_s  time at which their last sound ends, if known
    """

    def __init__(self, container: "InputContainer", stream: "AudioStream") -> None:
        self._container, self._stream = container, stream
        self.bad, self.end_s = 0, 0.0

    def frames(self) -> Iterator[Any]:
        """Decoded sound of a thousand samples or so."""
        in_a_row, last = 0, None
        for packet in self._found():
            try:
                decoded = [] if packet is None else packet.decode()
            except av.error.FFmpegError:
                packet, decoded = None, []
            in_a_row = in_a_row + 1 if packet is None else 0
            self.bad += packet is None
            if in_a_row > MOST_BAD:
                break
            yield from decoded
            last = decoded[-1] if decoded else last
        if last is not None and last.pts is not None and last.time_base is not None:
            self.end_s = float(last.pts * last.time_base) + last.samples / last.sample_rate

    def _found(self) -> Iterator["Packet[AudioStream] | None"]:
        """The packets; None in place of bytes that are no packet: the container continues after them."""
        while True:
            try:
                yield from self._container.demux(self._stream)
            except av.error.EOFError:
                return
            except av.error.FFmpegError:
                yield None
            else:
                return


def _blocks(stream: "AudioStream", packets: _Packets) -> Iterator[Samples]:
    """The frames, (n, channels), at the rate they have."""
    # Reading PyAV's properties of a frame takes as long as decoding it. They are read once; a new array shape shows a
    # change.
    rate_hz, layout, planar = stream.rate, stream.layout, stream.format.is_planar  # the stream's follow the frames'
    channels = len(layout.channels)
    waiting: list[Samples] = []
    resamplers: dict[tuple[str, str, int], Any] = {}  # one takes frames of one form alone
    held = 0
    for frame in packets.frames():
        array, n = frame.to_ndarray(), frame.samples
        if frame.sample_rate == rate_hz and array.shape == ((channels, n) if planar else (1, n * channels)):
            pieces = [_planes(array, channels)]
        else:  # a change within the stream, which damage may also imitate
            form = frame.format.name, frame.layout.name, frame.sample_rate
            if form not in resamplers:
                resamplers[form] = av.AudioResampler(format="fltp", layout=layout, rate=rate_hz)
            pieces = [_planes(one.to_ndarray(), channels) for one in resamplers[form].resample(frame)]
        waiting += pieces
        held += sum(piece.shape[1] for piece in pieces)
        if held >= TOGETHER:
            yield np.concatenate(waiting, axis=1).T
            waiting, held = [], 0
    if waiting:
        yield np.concatenate(waiting, axis=1).T


def _planes(array: NDArray[Any], channels: int) -> Samples:
    """(channels, n) in full scales, from an array (channels, n), or (1, n channels) with interleaved channels."""
    if len(array) != channels:
        array = array.reshape(-1, channels).T
    if array.dtype == np.float32:
        return array
    if array.dtype.kind == "u":  # 8-bit samples: the only unsigned ones
        array = array.astype(np.int16) - 128
        return np.multiply(array, np.float32(2.0**-7), dtype=np.float32)
    unit = np.float32(1.0 if array.dtype.kind == "f" else 2.0 ** (1 - 8 * array.dtype.itemsize))
    return np.asarray(np.multiply(array, unit, dtype=np.float32))


def _promised(container: "InputContainer", stream: "AudioStream") -> int | None:
    """Number of frames that the container declares."""
    if stream.duration and stream.time_base:
        return round(float(stream.duration * stream.time_base) * int(stream.rate or 0))
    return round(container.duration / av.time_base * int(stream.rate or 0)) if container.duration else None


def _completeness(frames: int, promised: int | None, packets: _Packets, slack: float, rate_hz: int) -> Completeness:
    if not promised:
        return Completeness(doubt="its container does not give its length")
    present = min(1.0, frames / promised)
    if present >= 1 - slack and not packets.bad:
        return Completeness()
    if packets.end_s > BY_ALL * promised / rate_hz:
        return Completeness(present, harm="damaged", scattered=True)
    return Completeness(present, harm="truncated or damaged")
