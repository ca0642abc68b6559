"""Sound without metadata: a recording as FLAC, with no tags, no pictures and no name."""

from pathlib import Path

import lazy_loader

from audiosim.audio.decode import read
from audiosim.audio.sound_limits import SoundLimits
from audiosim.errors import SoundError

soundfile = lazy_loader.load("soundfile")

FALLBACK_RATE_HZ = 44_100
FRAMES = 2**18  # frames written at a time


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
                for block in heard.blocks(FRAMES, dtype="float32"):
                    written.write(block)
    except soundfile.LibsndfileError:
        signal = read(source, FALLBACK_RATE_HZ, limits)
        try:
            soundfile.write(target, signal.samples, signal.rate_hz, "PCM_16", format="FLAC")
        except soundfile.LibsndfileError as error:  # its message does not mention a full disk
            raise OSError(f"{target.name} cannot be written: {error}") from error
