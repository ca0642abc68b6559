"""Mix a decoder's blocks down to one channel, pass them on as they arrive, and collect facts about the whole."""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from audiosim.errors import InputError
from audiosim.sound.completeness import Completeness

Samples = NDArray[np.float32]
Block = NDArray[np.float32] | NDArray[np.int16]

FULL_SCALE = 1 - 2.0**-15  # the highest sample of 16 bits; lower depths reach it on the negative side
# Endings of the names of sound files that libsndfile opens.
SUFFIXES = (".aif", ".aiff", ".au", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".w64", ".wav")
LOUDEST = 1e6  # in full scales; with much more, the power of a frame exceeds float32


class Sink(Protocol):
    """Receiver of a recording's samples: one channel, in order."""

    def take(self, samples: Samples) -> None:
        """Take the next samples, which are never written to again."""
        ...

    def end(self) -> None:
        """Note that no more samples come."""
        ...


S = TypeVar("S", bound=Sink)


def fed(sink: S, samples: Samples) -> S:
    """A sink after a whole recording."""
    sink.take(samples)
    sink.end()
    return sink


@dataclass(frozen=True, slots=True, eq=False)
class Conveyed(Generic[S]):
    """Facts about a file after its sound went to a sink.

    sink     receiver of the sound
    frames   number of samples of one channel
    peak     largest absolute value over all channels; NaN if any sample is NaN
    lowest, highest  extremes of the mean of the channels
    at_full_scale    share of samples at full scale, over all channels
    gave_up  True if the decoder stopped before the end
    known    share of the promised sound that was decoded, once the container has been asked
    """

    sink: S
    frames: int
    rate_hz: int
    peak: float
    lowest: float
    highest: float
    at_full_scale: float
    gave_up: bool
    known: Completeness


class Gathering(Generic[S]):
    """Blocks of samples, mixed down and handed on as they arrive.

    sink     receiver of the blocks; it gets no more after a sample that is not finite or is beyond any scale
    rate_hz  rate of the samples
    check    called with the number of frames before they are passed on; it may raise an error
    unit     unit of the numbers in the blocks, in full scales
    """

    def __init__(self, sink: S, rate_hz: int, check: Callable[[int], None], unit: float = 1.0) -> None:
        self._sink, self._rate_hz, self._check, self._unit = sink, rate_hz, check, unit
        self.frames = self._full = self._numbers = 0
        self._peak = 0.0
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, block: Block) -> None:
        """Pass on the next frames, (n, channels)."""
        if not len(block):
            return
        unit = self._unit
        self._check(self.frames + len(block))
        self.frames, self._numbers = self.frames + len(block), self._numbers + block.size
        peak = unit * max(float(block.max()), -float(block.min()))
        self._peak = float(np.maximum(self._peak, peak))  # NaN stays
        if peak >= FULL_SCALE:
            self._full += int(np.count_nonzero((block >= FULL_SCALE / unit) | (block <= -FULL_SCALE / unit)))
        if self._peak <= LOUDEST:
            mean = _mixed(block, unit)
            self._lowest, self._highest = min(self._lowest, float(mean.min())), max(self._highest, float(mean.max()))
            self._sink.take(mean)

    def result(self, gave_up: bool, known: Completeness | None = None) -> Conveyed[S]:
        """Facts about the whole, after the last block."""
        self._sink.end()
        share = self._full / max(1, self._numbers)
        ends = self._lowest, self._highest
        known = known or Completeness()
        return Conveyed(self._sink, self.frames, self._rate_hz, self._peak, *ends, share, gave_up, known)


def _mixed(block: Block, unit: float) -> Samples:
    """The mean of the channels; summed one by one, as numpy takes 30 times as long for a mean over a short axis."""
    mean, scale = np.empty(len(block), np.float32), np.float32(unit / block.shape[1])
    if block.shape[1] == 1:
        return np.multiply(block[:, 0], scale, out=mean)
    np.add(block[:, 0], block[:, 1], out=mean, dtype=np.float32)
    for channel in block.T[2:]:
        np.add(mean, channel, out=mean)
    return np.multiply(mean, scale, out=mean)


# Limits on the decoded sound of a file, checked before and during decoding.


@dataclass(frozen=True, slots=True)
class SoundLimits:
    """Limits on decoding; a longer file is refused, not cut.

    seconds    longest sound
    frames     most samples of one channel: 2 ** 28 are 1 GiB once mixed down, 101 minutes at 44.1 kHz
    channels   most channels
    lowest_hz  lowest sampling rate
    highest_hz highest sampling rate
    samples    most samples of all channels: 250 million are a gigabyte in single precision, or 47 minutes of a compact
               disc. A file may hold more if it has a byte per 100 samples: tighter packing means silence, or a file
               made to fill memory (music takes 1 to 10 samples per byte, speech at 6 kbit/s 64)
    """

    seconds: float = 7200.0
    frames: int = 2**28
    channels: int = 32
    lowest_hz: int = 1_000
    highest_hz: int = 768_000
    samples: int = 250_000_000

    def __post_init__(self) -> None:
        if not all(value > 0 for value in astuple(self)):
            raise InputError(f"limits must be above 0, got {self}")

    def problem(self, frames: int, channels: int, rate_hz: int, size_bytes: int) -> str:
        """Reason to refuse this much sound from a file of this size; empty if there is none."""
        if not self.lowest_hz <= rate_hz <= self.highest_hz:
            return f"has a rate of {rate_hz} Hz, expected {self.lowest_hz} to {self.highest_hz} Hz"
        if channels > self.channels:
            return f"has {channels} channels, expected at most {self.channels}"
        if frames > self.seconds * rate_hz:
            return f"lasts {frames / rate_hz:.0f} s or more, expected at most {self.seconds:.0f} s"
        if frames > self.frames:
            return f"holds {frames} frames or more, expected at most {self.frames}"
        if frames * channels > max(self.samples, DENSEST * size_bytes):
            unpacked = f"unpacks to {frames * channels} samples or more from {size_bytes} bytes"
            return f"{unpacked}, expected at most {self.samples}, or {DENSEST} per byte"
        return ""


DENSEST = 100  # samples per byte
STANDARD_LIMITS = SoundLimits()
