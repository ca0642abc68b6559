"""Frames of MFCC, compared with librosa's on sound of many kinds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audiosim.errors import InputError
from audiosim.sound import frames as described
from audiosim.sound.decode import Signal, read
from audiosim.sound.parameters import PLAIN, Parameters
from audiosim.sound.spectrum import powers

librosa = pytest.importorskip("librosa")

TIME = np.arange(3 * 22_050) / 22_050
RNG = np.random.default_rng(0)
SOUNDS = {
    "noise": 0.1 * RNG.standard_normal(len(TIME)),
    "tone": 0.5 * np.sin(2 * np.pi * 440 * TIME),
    "square": 0.5 * np.sign(np.sin(2 * np.pi * 220 * TIME)),
    "sweep": 0.5 * np.sin(2 * np.pi * (100 * TIME + 900 * TIME**2)),
    "sweep over faint noise": 0.9 * np.sin(2 * np.pi * (100 * TIME + 900 * TIME**2))
    + 1e-3 * RNG.standard_normal(len(TIME)),
    "clicks": (np.arange(len(TIME)) % 5000 == 0).astype(float),
    "one step of 16 bits": RNG.integers(-1, 2, len(TIME)) / 2**15,
    "below the floor": 1e-8 * RNG.standard_normal(len(TIME)),
    "silence, then sound": np.where(TIME > 2, 0.5 * RNG.standard_normal(len(TIME)), 0),
    "silence": np.zeros(len(TIME)),
    "a constant": np.full(len(TIME), 0.25),
    "a hundred times full scale": 100 * RNG.standard_normal(len(TIME)),
}


def frames(signal, parameters=PLAIN):
    return described.frames(signal, parameters).values


def by_librosa(samples):
    return librosa.feature.mfcc(y=samples, sr=22_050, n_mfcc=20).T


# audiosim computes in single precision, librosa transforms in double: 80 dB below the peak the error is 1e-3.
@pytest.mark.parametrize("name", SOUNDS)
def test_frames_are_librosa_s_on_made_sound(name):
    samples = SOUNDS[name].astype(np.float32)
    np.testing.assert_allclose(frames(Signal(samples, 22_050)), by_librosa(samples), rtol=0, atol=1e-3)


def test_frames_are_librosa_s_on_music(music):
    np.testing.assert_allclose(frames(Signal(music(), 22_050)), by_librosa(music()), rtol=0, atol=1e-3)


@pytest.mark.slow
def test_frames_are_librosa_s_on_real_clips(real_clips):
    for path in real_clips[::6]:
        signal = read(path)
        np.testing.assert_allclose(frames(signal), by_librosa(signal.samples), rtol=0, atol=1e-3, err_msg=path.name)


@pytest.mark.slow
def test_the_gaussian_of_real_clips_is_that_of_frames_in_double_precision(real_clips):
    # librosa in double precision throughout, its covariance by numpy; differences in units of standard deviations.
    for path in real_clips[::12]:
        signal = read(path)
        exact, ours = by_librosa(signal.samples.astype(float)), frames(signal)
        scale = exact.std(axis=0)
        np.testing.assert_allclose((ours.mean(axis=0) - exact.mean(axis=0)) / scale, 0, atol=1e-5)
        np.testing.assert_allclose((np.cov(ours.T) - np.cov(exact.T)) / np.outer(scale, scale), 0, atol=1e-5)


@pytest.mark.parametrize(("frame", "hop", "n"), [(2048, 512, 100_000), (2048, 512, 1), (64, 64, 5000), (6, 4, 1000)])
def test_the_powers_are_those_of_the_transform_in_double_precision(frame, hop, n):
    rng = np.random.default_rng(0)
    samples, taper = rng.standard_normal(n).astype(np.float32), rng.random(frame).astype(np.float32)
    padded = np.pad(samples.astype(float), frame // 2)
    for some, block in powers(samples, taper, hop):
        for row, t in zip(block, range(some.start, some.stop), strict=True):
            expected = np.abs(np.fft.rfft(padded[t * hop : t * hop + frame] * taper)) ** 2
            np.testing.assert_allclose(row, expected, atol=1e-5 * frame)
    assert some.stop == 1 + n // hop


@settings(deadline=None, max_examples=30)
@given(st.integers(1025, 100_000), st.integers(0, 100))
def test_there_is_a_frame_at_the_start_and_one_more_per_hop(n, seed):
    signal = Signal(np.random.default_rng(seed).standard_normal(n).astype(np.float32), 22_050)
    assert frames(signal).shape == (1 + n // 512, 20)
    assert np.isfinite(frames(signal)).all()


def test_louder_sound_moves_the_first_coefficient_only(music):
    # Tenfold is 20 dB in each of 128 bands, and the first row of the transform is 1 / sqrt(128).
    quiet, loud = frames(Signal(music() / 10, 22_050)), frames(Signal(music(), 22_050))
    np.testing.assert_allclose(loud - quiet, [[20 * np.sqrt(128)] + [0] * 19] * len(loud), atol=1e-3)


def test_other_parameters_are_librosa_s_too(music):
    computed = frames(Signal(music(), 22_050), Parameters(22_050, 1024, 256, 40, 13))
    expected = librosa.feature.mfcc(y=music(), sr=22_050, n_mfcc=13, n_fft=1024, hop_length=256, n_mels=40).T
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("value", [0, 0.25, 1])
def test_silence_has_the_frames_of_the_floor(value):
    computed = frames(Signal(np.full(30_000, value, np.float32), 22_050))
    assert np.isfinite(computed).all()
    if not value:
        # 128 bands at 10 log10 1e-10 = -100 dB; the transform of a constant has only a first coefficient.
        np.testing.assert_allclose(computed, [[-100 * np.sqrt(128)] + [0] * 19] * 59, atol=1e-3)


def test_the_first_coefficient_can_be_left_out(music):
    signal = Signal(music(), 22_050)
    expected = librosa.feature.mfcc(y=music(), sr=22_050, n_mfcc=21).T[:, 1:]
    np.testing.assert_allclose(frames(signal, Parameters(first=False)), expected, rtol=0, atol=1e-3)


def test_parameters_say_that_the_first_coefficient_is_left_out():
    assert str(Parameters()) == "22050 Hz, frame 2048, hop 512, 128 bands, 20 coefficients"
    assert str(Parameters(first=False)) == f"{Parameters()} without the first"


def test_a_signal_of_another_rate_is_refused():
    with pytest.raises(InputError, match=r"^the rate must be the 22050 Hz of the parameters, got 8000 Hz$"):
        frames(Signal(np.zeros(8_000, np.float32), 8_000))


@pytest.mark.parametrize("wrong", [{"hop": 0}, {"rate_hz": -1}, {"bands": 12.5}, {"frame": "2048"}, {"hop": True}])
def test_parameters_are_whole_and_positive(wrong):
    with pytest.raises(
        InputError, match=r"^the parameters of frames must be whole numbers from 1, got .*coefficients$"
    ):
        Parameters(**wrong)


def test_parameters_fit_each_other():
    with pytest.raises(InputError, match=r"^coefficients must be at most the 13 bands, got 20$"):
        Parameters(bands=13)
    with pytest.raises(InputError, match=r"^coefficients must be at most the 19 beyond the first of 20 bands, got 20$"):
        Parameters(bands=20, first=False)
    with pytest.raises(InputError, match=r"^whether the first coefficient is kept must be true or false, got 1$"):
        Parameters(first=1)
    with pytest.raises(
        InputError, match=r"^a frame must have an even number of samples, at least the hop of 4096, got 2048$"
    ):
        Parameters(hop=4096)
    with pytest.raises(
        InputError, match=r"^a frame must have an even number of samples, at least the hop of 512, got 1023$"
    ):
        Parameters(frame=1023)
