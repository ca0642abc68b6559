"""Contract of decoders, as checks that name violations in words.

A decoder refuses a file of noise, under each of its suffixes, with a SoundError that names the file; it is never given
an empty file. For a sound file it always returns the same mean of the channels, as float32 at the file's own rate, and
the peak level; it refuses a file beyond the limits.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from audiosim.errors import InputError, SoundError
from audiosim.sound.channel import STANDARD_LIMITS, Decoded, Decoder, SoundLimits
from audiosim.text import one_line

NOISE_BYTES = 5000


def check_decoder(decoder: Decoder, sound: Path | None, rng: np.random.Generator) -> None:
    """Check a decoder against its contract; an InputError names the violation.

    decoder  the installed decoder
    sound    file that it opens, at least a second long; None: check only its answers to files without sound
    rng      generator for a file of noise
    """
    with TemporaryDirectory() as folder:
        for suffix in decoder.suffixes:
            path = Path(folder) / f"noise{suffix}"
            path.write_bytes(rng.bytes(NOISE_BYTES))
            _check_refuses(decoder, path)
    if sound is None:
        return
    if not decoder.opens(sound):
        raise InputError(f"decoder {decoder.name} opens {', '.join(decoder.suffixes)}, got {sound.name}")
    first, second = (_check_decoded(decoder, sound) for _ in range(2))
    if not np.array_equal(first.samples, second.samples) or first.rate_hz != second.rate_hz:
        raise InputError(f"decoder {decoder.name}: the same file gives different samples the second time")
    _check_refuses(decoder, sound, replace(STANDARD_LIMITS, seconds=len(first.samples) / first.rate_hz / 2))


def _check_refuses(decoder: Decoder, path: Path, limits: SoundLimits = STANDARD_LIMITS) -> None:
    what = path.stem if limits == STANDARD_LIMITS else "a file beyond the limits"
    try:
        decoder.decode(path, path.stat().st_size, limits)
    except SoundError as error:
        if str(path) not in str(error):
            raise InputError(f"decoder {decoder.name}: its SoundError must name the file, got {error}") from None
    except Exception as error:
        raise InputError(f"decoder {decoder.name}: {what} must be a SoundError, raises {one_line(error)}") from error
    else:
        raise InputError(f"decoder {decoder.name}: {what} must be refused with a SoundError")


def _check_decoded(decoder: Decoder, path: Path) -> Decoded:
    try:
        found: object = decoder.decode(path, path.stat().st_size, STANDARD_LIMITS)
    except Exception as error:
        raise InputError(f"decoder {decoder.name}: {path} raises {one_line(error)}") from error
    if not isinstance(found, Decoded):
        raise InputError(f"decoder {decoder.name}: decode must return a Decoded, got {type(found).__name__}")
    samples: object = found.samples
    if not isinstance(samples, np.ndarray) or samples.dtype != np.float32 or samples.ndim != 1 or not len(samples):
        raise InputError(f"decoder {decoder.name}: samples must be a row of float32, the mean of the channels")
    if not isinstance(found.rate_hz, int) or found.rate_hz < 1:
        raise InputError(f"decoder {decoder.name}: rate_hz must be a whole number above 0, got {found.rate_hz!r}")
    if not found.peak >= float(np.abs(samples).max()) * (1 - 1e-6):
        raise InputError(f"decoder {decoder.name}: the peak of the channels is below that of their mean")
    return found
