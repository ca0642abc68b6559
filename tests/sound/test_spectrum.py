"""Spectra, compared frame by frame with numpy's transforms in double precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audiosim.sound import spectrum as module
from audiosim.sound.filters import filter_banks
from audiosim.sound.frames import frame_transform, octave_bins
from audiosim.sound.parameters import BANDS, CONTRAST, MFCC, PLAIN, STANDARD_FRAMES, Parameters

OTHERS = [
    Parameters(22_050, 512, 128, 40, 13, descriptors=(MFCC, CONTRAST, BANDS)),
    Parameters(44_100, 8192, 2048, 64, descriptors=(CONTRAST,)),
    Parameters(22_050, 2000, 700, descriptors=(CONTRAST,)),
    Parameters(25_600, 2048, 512, descriptors=(CONTRAST,)),  # octaves end on bins, so that they share some
]


def spectrum(samples, parameters, source=None):
    return module.spectrum(samples, frame_transform(parameters), source)


def spectrum_in_double_precision(samples, parameters, source=None):
    """The definition: each frame is transformed separately, its bins are weighted, and sorted octave by octave."""
    frame, hop = parameters.frame, parameters.hop
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)
    padded = np.pad(samples.astype(float), frame // 2)
    starts = range(0, len(samples) + 1, hop)
    powers = np.array([np.abs(np.fft.rfft(padded[start : start + frame] * taper)) ** 2 for start in starts])
    powers = powers if source is None else powers[:, source]
    ordered = [np.sort(np.sqrt(powers[:, bins]), axis=1) for bins, _ in octave_bins(parameters)]
    counts = [count for _, count in octave_bins(parameters)]
    loudest = [found[:, -count:].mean(axis=1) for found, count in zip(ordered, counts, strict=True)]
    softest = [found[:, :count].mean(axis=1) for found, count in zip(ordered, counts, strict=True)]
    return powers @ filter_banks(parameters).mel.T.astype(float), np.stack(loudest + softest, axis=1)


def assert_spectra_agree(found, expected):
    """Equal up to single precision, relative to the loudest part of a recording."""
    power, magnitudes = found
    np.testing.assert_allclose(power, expected[0], rtol=1e-5, atol=1e-6 * expected[0].max())
    np.testing.assert_allclose(magnitudes, expected[1], rtol=1e-5, atol=2e-6 * expected[1].max())


def noise(n, seed=0):
    return (0.1 * np.random.default_rng(seed).standard_normal(n)).astype(np.float32)


@pytest.mark.parametrize("parameters", [STANDARD_FRAMES, *OTHERS])
def test_spectra_are_those_of_the_definition(parameters):
    samples = noise(100_000)
    assert_spectra_agree(spectrum(samples, parameters), spectrum_in_double_precision(samples, parameters))


def test_spectra_of_tones_that_fade_are_those_of_the_definition():
    time = np.arange(100_000) / 22_050
    tones = (np.sin(2 * np.pi * 220 * time) * np.exp(-time) + 0.01 * noise(len(time))).astype(np.float32)
    assert_spectra_agree(spectrum(tones, STANDARD_FRAMES), spectrum_in_double_precision(tones, STANDARD_FRAMES))


def test_bins_may_have_the_power_of_others():
    source = np.random.default_rng(0).integers(0, 1025, 1025)
    assert_spectra_agree(
        spectrum(noise(50_000), STANDARD_FRAMES, source),
        spectrum_in_double_precision(noise(50_000), STANDARD_FRAMES, source),
    )


# A block is 128 frames of 512 samples, and reads 2,048 around the middle of each.
@pytest.mark.parametrize("n", [1, 511, 512, 1023, 1024, 1025, 2047, 65_023, 65_024, 65_025, 65_536, 66_560])
def test_the_ends_of_a_recording_are_zeros_whatever_its_length(n):
    found = spectrum(noise(n), STANDARD_FRAMES)
    assert len(found[0]) == len(found[1]) == 1 + n // 512
    assert_spectra_agree(found, spectrum_in_double_precision(noise(n), STANDARD_FRAMES))


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 40_000), st.integers(0, 1000))
def test_spectra_of_any_length_are_those_of_the_definition(n, seed):
    found = spectrum(noise(n, seed), STANDARD_FRAMES)
    assert_spectra_agree(found, spectrum_in_double_precision(noise(n, seed), STANDARD_FRAMES))


def test_a_frame_does_not_depend_on_those_beside_it():
    samples, part = noise(60_000), noise(60_000)[16 * 512 :]
    whole, later = (spectrum(some, STANDARD_FRAMES)[0] for some in (samples, part))
    np.testing.assert_allclose(whole[16 + 2 :], later[2:], rtol=1e-5)


def test_no_octaves_are_found_where_contrast_is_not_asked_for():
    power, extremes = spectrum(noise(30_000), PLAIN)
    np.testing.assert_array_equal(power, spectrum(noise(30_000), STANDARD_FRAMES)[0])
    assert extremes.shape == (59, 0)


def test_samples_are_read_where_they_lie_and_left_as_they_are():
    samples = noise(30_000)
    kept = samples.copy()
    spectrum(samples, STANDARD_FRAMES)
    np.testing.assert_array_equal(samples, kept)


def test_samples_need_not_lie_side_by_side():
    stereo = np.stack([noise(30_000), noise(30_000, seed=1)], axis=1)
    found, expected = (spectrum(one, STANDARD_FRAMES)[0] for one in (stereo[:, 1], noise(30_000, seed=1)))
    np.testing.assert_array_equal(found, expected)
