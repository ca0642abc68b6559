"""A recording as a picture: it is bright at the frequencies of the sound."""

import numpy as np
import pytest
import soundfile

import audiosim
from audiosim.errors import SoundError
from audiosim.results.plots import page_axes

RATE = 22_050


@pytest.mark.slow
def test_a_tone_is_bright_at_its_frequency_alone(tmp_path):
    time = np.arange(3 * RATE) / RATE
    soundfile.write(tmp_path / "tone.wav", 0.5 * np.sin(2 * np.pi * 1000 * time), RATE)
    axes = audiosim.plot_recording(tmp_path / "tone.wav", page_axes())
    levels = np.asarray(axes.collections[0].get_array()).reshape(128, -1)
    # 1 kHz is mel 15 on Slaney's scale, which ends at half the rate; the 128 bands are evenly spaced.
    highest = 15 + 27 * np.log(RATE / 2 / 1000) / np.log(6.4)
    assert levels.mean(axis=1).argmax() == pytest.approx(15 / highest * 129 - 1, abs=1)
    assert levels.max() == 0
    assert levels.min() >= -80
    assert axes.get_title() == "tone.wav"


def test_what_is_no_sound_is_refused(tmp_path):
    (tmp_path / "notes.wav").write_text("no sound")
    with pytest.raises(SoundError, match=r"notes\.wav"):
        audiosim.plot_recording(tmp_path / "notes.wav", page_axes())
