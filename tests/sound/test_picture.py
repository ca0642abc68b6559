"""A recording as a picture: it is bright at the frequencies of the sound."""

from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
import soundfile
from PIL import Image

import audiosim
from audiosim.errors import SoundError
from audiosim.sound.clips import mel_levels
from audiosim.sound.decode import Signal

RATE = 22_050
DRAWS = r"""
import sys
from audiosim.sound.clips import picture_of
begin()
assert picture_of(path).startswith(b"\xff\xd8\xff")
assert not {"librosa", "numba"} & {name for name in sys.modules if not name.startswith("_")}
"""


@pytest.mark.slow
def test_a_tone_is_bright_at_its_frequency_alone(tmp_path):
    time = np.arange(3 * RATE) / RATE
    soundfile.write(tmp_path / "tone.wav", 0.5 * np.sin(2 * np.pi * 1000 * time), RATE)
    chart = audiosim.plot_recording(tmp_path / "tone.wav").to_dict()
    (image,) = (row["image"] for layer in chart["layer"] for row in layer["data"]["values"] if "image" in row)
    decoded = Image.open(BytesIO(b64decode(image.removeprefix("data:image/png;base64,"))))
    levels = np.asarray(decoded.convert("L"), float)[::-1]
    # 1 kHz is mel 15 on Slaney's scale, which ends at half the rate; the 128 bands are evenly spaced.
    highest = 15 + 27 * np.log(RATE / 2 / 1000) / np.log(6.4)
    assert levels.mean(axis=1).argmax() == pytest.approx(15 / highest * 129 - 1, abs=1)
    assert len(levels) == 128
    assert chart["title"] == "tone.wav"


@pytest.mark.slow
@pytest.mark.parametrize("hop", [512, 5_000])  # frames that overlap, and those of a long recording, which do not
def test_levels_are_librosa_s(music, hop):
    librosa = pytest.importorskip("librosa")
    samples = music(7.3)
    power = librosa.feature.melspectrogram(y=samples, sr=RATE, hop_length=hop)
    expected = librosa.power_to_db(power, ref=np.max, top_db=80)
    np.testing.assert_allclose(mel_levels(Signal(samples, RATE), hop), expected, atol=1e-3)


@pytest.mark.slow
def test_a_picture_is_drawn_without_librosa_whose_import_takes_longer(together, tmp_path):
    soundfile.write(tmp_path / "tone.wav", np.sin(np.arange(RATE)), RATE)
    ((code, said),) = together(DRAWS, {"path": str(tmp_path / "tone.wav")})
    assert (code, said) == (0, "")


def test_what_is_no_sound_is_refused(tmp_path):
    (tmp_path / "notes.wav").write_text("no sound")
    with pytest.raises(SoundError, match=r"notes\.wav"):
        audiosim.plot_recording(tmp_path / "notes.wav")
