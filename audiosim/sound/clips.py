"""A recording as a picture."""

import math
import struct
import zlib
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np

from audiosim.errors import SoundError
from audiosim.results.value import need
from audiosim.sound.channel import Samples, SoundLimits
from audiosim.sound.decode import Signal, read
from audiosim.sound.filters import filter_banks
from audiosim.sound.parameters import Parameters
from audiosim.sound.spectrum import RANGE_DB, FrameTransform, decibels_of, spectrum

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazy_loader.load("altair")


HOP = 512  # samples from one frame to the next
FRAMES = 1300  # most frames of a small picture: four for each of its columns, and all those of 30 s
TICKS_HZ = (0, 512, 1024, 2048, 4096, 8192, 16384)
# Red, green and blue from the faintest to the loudest level, evenly spaced.
COLOURS = ((0, 0, 4), (64, 15, 116), (136, 34, 106), (203, 65, 73), (249, 140, 10), (252, 255, 164))
NEEDED = ("plots", "a picture of a recording")


def picture_of(path: str | Path) -> bytes:
    """JPEG file with a recording's picture, small enough for a page with many."""
    return picture_of_signal(read(path))


def picture_of_signal(signal: Signal) -> bytes:
    """JPEG file with a picture of sound; a long recording is drawn by evenly spaced frames."""
    need(*NEEDED)
    import vl_convert

    chart = _drawn(signal, max(HOP, len(signal.samples) // FRAMES), 320, 131)
    return vl_convert.vegalite_to_jpeg(chart.to_dict(), quality=70)


def plot_recording(path: str | Path) -> "alt.LayerChart":
    """The mel spectrogram of a sound file, in dB below its loudest: frequency over time.

    path  a file that `extract` can read; otherwise a SoundError gives the reason
    """
    need(*NEEDED)
    return _drawn(read(path), HOP, 520, 260).properties(title=Path(path).name)


def _drawn(signal: Signal, hop: int, width: int, height: int) -> "alt.LayerChart":
    """The spectrogram as an image between axes; its bands are evenly spaced in mel."""
    levels = mel_levels(signal, hop)
    seconds, highest = len(signal.samples) / signal.rate_hz, _mel(signal.rate_hz / 2)
    ticks = {round(_mel(hz), 3): f"{hz:,}" for hz in TICKS_HZ if hz <= signal.rate_hz / 2}
    named = alt.Axis(
        values=list(ticks), labelExpr=f"{list(ticks.values())}[indexof({list(ticks)}, datum.value)]", grid=False,
        minExtent=36, maxExtent=36,  # so that every picture is as wide
    )  # fmt: skip
    data = alt.Data(values=[{"image": f"data:image/png;base64,{b64encode(_png(1 + levels / RANGE_DB)).decode()}"}])
    image = alt.Chart(data).mark_image(width=width, height=height, aspect=False, align="left", baseline="top")
    corners = alt.Chart(alt.Data(values=[{"time": 0.0, "mel": 0.0}, {"time": seconds, "mel": highest}]))
    axes = corners.mark_point(opacity=0).encode(
        x=alt.X("time:Q", title="time in the recording, s", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False)),
        y=alt.Y("mel:Q", title="frequency in Hz", scale=alt.Scale(nice=False), axis=named),
    )
    placed = image.encode(url="image:N", x=alt.value(0), y=alt.value(0))
    return alt.layer(axes, placed).properties(width=width, height=height)


def mel_levels(signal: Signal, hop: int) -> Samples:
    """Levels (bands, frames) of the mel bands of frames, a hop apart, in dB below the loudest, at least -80."""
    banks = filter_banks(Parameters(signal.rate_hz))
    levels = decibels_of(spectrum(signal.samples, FrameTransform(hop, banks.window, banks.mel, ()))[0]).T
    return np.asarray(np.maximum(levels - levels.max(), -RANGE_DB))


def _mel(hz: float) -> float:
    """A frequency on Slaney's scale, that of the bands: linear to 1 kHz, then 27 steps for a factor of 6.4."""
    return 3 * hz / 200 if hz < 1000 else 15 + 27 * math.log(hz / 1000, 6.4)


def _png(shares: Samples) -> bytes:
    """PNG file of values in [0, 1], (bands, frames), the lowest band at the bottom."""
    places = np.linspace(0, 1, len(COLOURS))
    colours = np.stack([np.interp(shares[::-1], places, channel) for channel in zip(*COLOURS, strict=True)], axis=-1)
    rows = np.pad(colours.astype(np.uint8).reshape(len(shares), -1), ((0, 0), (1, 0)))  # each after its filter, none
    parts = {b"IHDR": struct.pack(">2I5B", shares.shape[1], len(shares), 8, 2, 0, 0, 0)}
    parts |= {b"IDAT": zlib.compress(rows.tobytes(), 9), b"IEND": b""}
    chunks = [(len(content), name + content) for name, content in parts.items()]
    sealed = (struct.pack(">I", size) + chunk + struct.pack(">I", zlib.crc32(chunk)) for size, chunk in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(sealed)


# Sound without metadata: a recording as FLAC, with no tags, no pictures and no name.


soundfile = lazy_loader.load("soundfile")

FALLBACK_RATE_HZ = 44_100
FRAMES_OF_UNTAGGED = 2**18  # frames written at a time


def write_untagged(source: Path, target: Path, limits: SoundLimits) -> None:
    """Write the samples of a sound file as a 16-bit FLAC file, and nothing else from the file.

    Files that libsndfile does not read come from another decoder, as one channel at 44,100 Hz. Raises an OSError if the
    target cannot be written, as on a full disk.
    """
    try:
        with soundfile.SoundFile(source) as heard:
            if heard.frames > limits.seconds * heard.samplerate:
                raise SoundError(f"longer than {limits.seconds:g} s, the limit of a clip")
            with soundfile.SoundFile(target, "w", heard.samplerate, heard.channels, "PCM_16", format="FLAC") as written:
                for block in heard.blocks(FRAMES_OF_UNTAGGED, dtype="float32"):
                    written.write(block)
    except soundfile.LibsndfileError:
        signal = read(source, FALLBACK_RATE_HZ, limits)
        try:
            soundfile.write(target, signal.samples, signal.rate_hz, "PCM_16", format="FLAC")
        except soundfile.LibsndfileError as error:  # its message does not mention a full disk
            raise OSError(f"{target.name} cannot be written: {error}") from error
