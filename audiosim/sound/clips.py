"""A recording as a picture."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import lazy_loader

from audiosim.errors import SoundError
from audiosim.results.value import need
from audiosim.sound import decode
from audiosim.sound.channel import SoundLimits
from audiosim.sound.decode import read

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RANGE_DB = 80.0  # dB below the loudest; fainter levels are drawn alike, as in the descriptions
HOP = 512  # samples from one frame to the next
FRAMES = 1300  # most frames of a small picture: four for each of its columns, and all those of 30 s
NEEDED = ("plots,sound", "a picture of a recording")


def picture_of(path: str | Path) -> bytes:
    """JPEG file with a recording's picture, small enough for a page with many."""
    need(*NEEDED)
    return picture_of_signal(decode.read(path))


def picture_of_signal(signal: decode.Signal) -> bytes:
    """JPEG file with a picture of sound; a long recording is drawn by evenly spaced frames."""
    need(*NEEDED)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 2.2), dpi=80, layout="constrained")
    axes = figure.subplots()
    _draw(signal, axes, max(HOP, len(signal.samples) // FRAMES))
    axes.locator_params(axis="x", nbins=5)  # labels of times in minutes are wide
    file = BytesIO()
    figure.savefig(file, format="jpg", pil_kwargs={"quality": 70})
    return file.getvalue()


def plot_recording(path: str | Path, axes: "Axes | None" = None) -> "Axes":
    """The mel spectrogram of a sound file, in dB below its loudest: frequency over time, drawn by librosa.display.

    path  a file that `extract` can read; otherwise a SoundError gives the reason
    axes  axes to draw on; None: new ones
    """
    need(*NEEDED)
    from audiosim.results.plots import new_axes

    axes = new_axes() if axes is None else axes
    _draw(decode.read(path), axes, HOP)
    axes.set_title(Path(path).name)
    return axes


def _draw(signal: decode.Signal, axes: "Axes", hop: int) -> None:
    import librosa

    power = librosa.feature.melspectrogram(y=signal.samples, sr=signal.rate_hz, hop_length=hop)
    levels = librosa.power_to_db(power, ref=power.max(), top_db=RANGE_DB)
    image = librosa.display.specshow(levels, sr=signal.rate_hz, hop_length=hop, x_axis="time", y_axis="mel", ax=axes)
    axes.figure.colorbar(image, ax=axes, format="%+.0f dB")
    axes.set(xlabel="time in the recording", ylabel="frequency in Hz")


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
