"""A recording as a picture."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from audiosim.audio import decode
from audiosim.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANGE_DB = 80.0  # below the loudest that is told apart, as in the descriptions


def picture_of(path: str | Path) -> bytes:
    """JPEG file of a recording's picture, small enough for a page that has many."""
    need("plots,sound", "a picture of a recording")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 2.2), dpi=80, layout="constrained")
    axes = plot_recording(path, figure.subplots())
    axes.set_title("")
    file = BytesIO()
    figure.savefig(file, format="jpg", pil_kwargs={"quality": 70})
    return file.getvalue()


def plot_recording(path: str | Path, axes: "Axes | None" = None) -> "Axes":
    """The mel spectrogram of a sound file, in dB below its loudest: frequency over time, drawn by librosa.display.

    path  of a file that `extract` can read; a SoundError says why one cannot be
    axes  to draw on; new ones where None
    """
    need("plots,sound", "a picture of a recording")
    import librosa

    from audiosim.plots import new_axes

    axes = new_axes() if axes is None else axes
    signal = decode.read(path)
    power = librosa.feature.melspectrogram(y=signal.samples, sr=signal.rate_hz)
    levels = librosa.power_to_db(power, ref=power.max(), top_db=RANGE_DB)
    image = librosa.display.specshow(levels, sr=signal.rate_hz, x_axis="time", y_axis="mel", ax=axes)
    axes.figure.colorbar(image, ax=axes, format="%+.0f dB")
    axes.set(title=Path(path).name, xlabel="time in the recording", ylabel="frequency in Hz")
    return axes
