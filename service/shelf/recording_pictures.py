"""Pictures of the sound files of a collection, drawn on request."""

from functools import lru_cache
from pathlib import Path

from audiosim.audio.decode import read
from audiosim.audio.picture import NEEDED, picture_of_signal
from audiosim.extras import need
from audiosim.service.shelf.sound_files import DECODING, LIMITS, RATE_HZ

KEPT_PICTURES = 256  # of some 20 kB each


def recording_picture(path: Path) -> bytes:
    """JPEG file of a recording's mel spectrogram; cached until the sound file changes."""
    need(*NEEDED)
    status = path.stat()
    return _drawn(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=KEPT_PICTURES)
def _drawn(path: Path, _changed: int, _size: int) -> bytes:
    with DECODING:
        signal = read(path, RATE_HZ, LIMITS)
    return picture_of_signal(signal)
