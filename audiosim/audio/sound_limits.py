"""Limits on the decoded sound of a file, checked before and during decoding."""

from dataclasses import astuple, dataclass

from audiosim.errors import InputError


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
