"""Decoders: ways to open further kinds of sound files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from audiosim.audio.channel import FULL_SCALE, Decoded, Samples
from audiosim.audio.completeness import Completeness
from audiosim.audio.sound_limits import SoundLimits
from audiosim.errors import InputError

SUFFIXES = (".aif", ".aiff", ".au", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".w64", ".wav")


@dataclass(frozen=True, slots=True)
class Decoder:
    """A way to open some kinds of sound file.

    Entry-point group `audiosim.decoders`: each entry is a decoder, under its own name. Contract:
    `audiosim.plugins.check_decoder`. Workers are other processes: `decode` must be a function of a module.

    name      letters and digits
    suffixes  endings of file names, with the dot, in lower case
    decode    returns the sound of a file of a given size in bytes, within limits (see `decoded_whole`); raises a
              SoundError that names the file if it holds more or cannot be decoded
    """

    name: str
    suffixes: tuple[str, ...]
    decode: Callable[[Path, int, SoundLimits], Decoded]

    def __post_init__(self) -> None:
        if not self.name.isalnum():
            raise InputError(f"the name of a decoder must be letters and digits, got {self.name!r}")
        wrong = [suffix for suffix in self.suffixes if not suffix.startswith(".") or suffix != suffix.lower()]
        if wrong or not self.suffixes:
            raise InputError(f"the suffixes of decoder {self.name} must look like .wav, got {self.suffixes}")

    def opens(self, path: PurePath) -> bool:
        """True if the decoder opens files of this name."""
        return path.name.lower().endswith(self.suffixes)


def decoded_whole(channels: Samples, rate_hz: int) -> Decoded:
    """Sound of a file that was decoded to its end.

    channels  (n, channels) samples in full scales
    """
    size = np.abs(channels)
    mean = channels.mean(axis=1, dtype=np.float32)
    share = float((size >= FULL_SCALE).mean()) if size.size else 0.0
    return Decoded(mean, rate_hz, float(size.max(initial=0)), share, False, Completeness())
