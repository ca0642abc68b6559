"""Machine code for spectra, compared frame by frame with numpy's transforms in double precision."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audiosim.kernels import spectrum_code
from audiosim.kernels.framing import has_code
from audiosim.kernels.spectrum import spectrum_by_arrays
from audiosim.kernels.spectrum_code import spectrum_by_code
from audiosim.sound.filters import filter_banks
from audiosim.sound.frames import frame_transform, octave_bins
from audiosim.sound.parameters import BANDS, CONTRAST, MFCC, PLAIN, STANDARD_FRAMES, Parameters

OTHERS = [  # other numbers of stages, and other bins of octaves
    Parameters(22_050, 512, 128, 40, 13, descriptors=(MFCC, CONTRAST, BANDS)),
    Parameters(44_100, 8192, 2048, 64, descriptors=(CONTRAST,)),
]


def by_code(samples, parameters, source=None):
    return spectrum_by_code(samples, frame_transform(parameters), source)


def by_arrays(samples, parameters):
    return spectrum_by_arrays(samples, frame_transform(parameters))


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
    assert has_code(parameters.frame, parameters.hop)
    assert_spectra_agree(by_code(samples, parameters), spectrum_in_double_precision(samples, parameters))


def test_spectra_of_tones_that_fade_are_those_of_the_definition():
    time = np.arange(100_000) / 22_050
    tones = (np.sin(2 * np.pi * 220 * time) * np.exp(-time) + 0.01 * noise(len(time))).astype(np.float32)
    assert_spectra_agree(by_code(tones, STANDARD_FRAMES), spectrum_in_double_precision(tones, STANDARD_FRAMES))


def test_bins_may_have_the_power_of_others():
    source = np.random.default_rng(0).integers(0, 1025, 1025)
    assert_spectra_agree(
        by_code(noise(50_000), STANDARD_FRAMES, source),
        spectrum_in_double_precision(noise(50_000), STANDARD_FRAMES, source),
    )


# A group is 16 frames of 512 samples, and reads 19 x 512 from 1,024 before its first frame's middle.
@pytest.mark.parametrize("n", [1, 511, 512, 8191, 8192, 8193, 8703, 8704, 8705, 16_895, 16_896, 16_897, 65_536])
def test_the_ends_of_a_recording_are_zeros_whatever_its_length(n):
    found = by_code(noise(n), STANDARD_FRAMES)
    assert len(found[0]) == len(found[1]) == 1 + n // 512
    assert_spectra_agree(found, spectrum_in_double_precision(noise(n), STANDARD_FRAMES))


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 40_000), st.integers(0, 1000))
def test_code_and_arrays_agree(n, seed):
    found, expected = (of(noise(n, seed), STANDARD_FRAMES) for of in (by_code, by_arrays))
    assert_spectra_agree(found, expected)


def test_a_frame_does_not_depend_on_those_beside_it():
    samples, part = noise(60_000), noise(60_000)[16 * 512 :]
    whole, later = (by_code(some, STANDARD_FRAMES)[0] for some in (samples, part))
    np.testing.assert_array_equal(whole[16 + 2 :], later[2:])


def test_no_octaves_are_found_where_contrast_is_not_asked_for():
    power, extremes = by_code(noise(30_000), PLAIN)
    np.testing.assert_array_equal(power, by_code(noise(30_000), STANDARD_FRAMES)[0])
    assert extremes.shape == (59, 0)


def test_samples_are_read_where_they_lie_and_left_as_they_are():
    samples = noise(30_000)
    kept = samples.copy()
    by_code(samples, STANDARD_FRAMES)
    np.testing.assert_array_equal(samples, kept)


def test_samples_need_not_lie_side_by_side():
    stereo = np.stack([noise(30_000), noise(30_000, seed=1)], axis=1)
    found, expected = (by_code(one, STANDARD_FRAMES)[0] for one in (stereo[:, 1], noise(30_000, seed=1)))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("frame", "hop", "there"),
    [(2048, 512, True), (512, 128, True), (2048, 1024, False), (1024, 256, False), (2000, 500, False), (8, 2, False)],
)
def test_code_is_for_frames_of_twice_a_power_of_four_that_overlap_by_three_quarters(frame, hop, there):
    assert has_code(frame, hop) == there


@pytest.mark.slow
def test_threads_may_make_and_use_code_at_once():
    samples = [noise(40_000, seed) for seed in range(16)]
    expected = [by_code(one, STANDARD_FRAMES)[0] for one in samples]
    for _ in range(3):
        spectrum_code._code.cache_clear()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda one: by_code(one, STANDARD_FRAMES)[0], samples))
        np.testing.assert_array_equal(found, expected)
