"""A decoder for Sun audio files of 16 bits, with the suffix .sun."""

from pathlib import Path
from struct import error, unpack

import numpy as np

from audiosim.errors import SoundError
from audiosim.sound.channel import Decoded, Decoder, SoundLimits, decoded_whole

LINEAR_16 = 3


def decode(path: Path, size_bytes: int, limits: SoundLimits) -> Decoded:
    """The sound of a file: a head of six numbers, then frames of 16-bit samples, most significant byte first."""
    content = path.read_bytes()
    try:
        magic, start, _, encoding, rate_hz, channels = unpack(">4s5I", content[:24])
    except error:
        raise SoundError(f"{path}: is no Sun audio file, expected a head of 24 bytes") from None
    if magic != b".snd" or encoding != LINEAR_16 or not channels:
        raise SoundError(f"{path}: is no Sun audio file of 16 bits")
    frames = (len(content) - start) // (2 * channels)
    problem = limits.problem(frames, channels, rate_hz, size_bytes)
    if problem:
        raise SoundError(f"{path}: {problem}")
    samples = np.frombuffer(content, ">i2", frames * channels, start).reshape(frames, channels)
    return decoded_whole((samples / 2**15).astype(np.float32), rate_hz)


AU = Decoder("au", (".sun",), decode)
