"""A recording as a picture."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.audio import decode
from audiosim.extras import need

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
    from audiosim.plots import new_axes

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
