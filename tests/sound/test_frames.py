"""Frames of several descriptors, compared with librosa's on sound of many kinds."""

import json
from dataclasses import replace

import numpy as np
import pytest
import soxr

from audiosim.errors import InputError
from audiosim.sound.decode import Signal, read
from audiosim.sound.frames import band_descriptors, band_limit_hz, frames, octave_bins
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.parameters import PLAIN, STANDARD_FRAMES, Descriptor, Parameters, described_by

librosa = pytest.importorskip("librosa")
CONTRAST, BANDS = slice(20, 27), slice(27, 31)


def signal(samples):
    return Signal(np.asarray(samples, np.float32), 22_050)


def assert_contrast_is_librosa_s(samples):
    """Equal to 1e-3 if the softest bins are at most 90 dB below the loudest, the limit of single precision."""
    ours = frames(signal(samples)).values[:, CONTRAST]
    theirs = librosa.feature.spectral_contrast(y=samples, sr=22_050).T
    magnitude = np.abs(librosa.stft(samples)).T
    softest = np.stack([magnitude[:, bins].min(axis=1) for bins, _ in octave_bins(STANDARD_FRAMES)], axis=1)
    audible = softest > 10 ** (-90 / 20) * magnitude.max()
    assert audible.mean() > 0.5
    np.testing.assert_allclose(ours[audible], theirs[audible], rtol=0, atol=1e-3)
    np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), rtol=0, atol=0.1)


def whole(clips):
    """Some clips that fill their band, read; the others are described as mirrors."""
    signals = (read(path) for path in clips[::12])
    return [each.samples for each in signals if frames(each).limit_hz is None]


@pytest.mark.slow
def test_spectral_contrast_is_librosa_s(music):
    assert_contrast_is_librosa_s(music())


@pytest.mark.slow
def test_spectral_contrast_is_librosa_s_on_real_clips(real_clips):
    for samples in whole(real_clips):
        assert_contrast_is_librosa_s(samples)


def assert_bands_are_librosa_s(samples):
    mel = librosa.feature.melspectrogram(y=samples, sr=22_050)
    level = librosa.power_to_db(mel)
    power, order = 10 ** (level / 10), np.arange(128.0)
    expected = [
        10 * np.log10(librosa.feature.spectral_flatness(S=power, power=1.0, amin=1e-30)[0]),
        librosa.onset.onset_strength(S=level, center=False),
        librosa.feature.spectral_centroid(S=power, freq=order)[0],
        librosa.feature.spectral_centroid(S=np.sqrt(power), freq=order)[0],
    ]
    ours = frames(signal(samples)).values[:, BANDS]
    np.testing.assert_allclose(ours, np.array(expected).T, rtol=0, atol=1e-3)


def test_band_descriptors_are_librosa_s(music):
    assert_bands_are_librosa_s(music())


@pytest.mark.slow
def test_band_descriptors_are_librosa_s_on_real_clips(real_clips):
    for samples in whole(real_clips):
        assert_bands_are_librosa_s(samples)


def test_the_first_columns_are_plain_mfcc(music):
    both, plain = frames(signal(music())).values, frames(signal(music()), PLAIN).values
    np.testing.assert_array_equal(both[:, :20], plain)
    assert both.shape[1] == len(STANDARD_FRAMES.dimensions) == 31


def test_the_dimensions_have_names():
    assert STANDARD_FRAMES.dimensions[:2] == ("mfcc 0", "mfcc 1")
    assert STANDARD_FRAMES.dimensions[20:] == (
        *(f"contrast {octave}" for octave in range(7)),
        *("flatness", "onset flux", "centroid of power", "centroid of magnitude"),
    )
    assert Parameters(coefficients=2, first=False).dimensions == ("mfcc 1", "mfcc 2")
    assert str(STANDARD_FRAMES).endswith("128 bands, 20 coefficients, spectral contrast, band descriptors")


def test_silence_has_finite_frames():
    values = frames(signal(np.zeros(30_000))).values
    np.testing.assert_allclose(values[:, 20:], [[0] * 7 + [0, 0, 63.5, 63.5]] * 59, atol=1e-4)  # 63.5: the middle band


def limited(samples, rate_hz):
    """The sound as from a source with a lower rate, in 16 bits."""
    low = soxr.resample(soxr.resample(samples, 22_050, rate_hz), rate_hz, 22_050)
    return (np.rint(low * 2**15) / 2**15).astype(np.float32)


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000])
def test_the_end_of_a_band_is_found(music, rate_hz):
    assert frames(signal(music())).limit_hz is None
    found = frames(signal(limited(music(), rate_hz))).limit_hz
    assert 0.85 * rate_hz / 2 < found < 1.03 * rate_hz / 2


def test_plain_mfcc_are_librosa_s_of_limited_sound_too(music):
    samples = limited(music(), 11_025)
    expected = librosa.feature.mfcc(y=samples, sr=22_050, n_mfcc=20).T
    np.testing.assert_allclose(frames(signal(samples), PLAIN).values, expected, rtol=0, atol=1e-3)


def test_above_its_limit_a_limited_recording_is_described_as_a_mirror(music):
    samples = limited(music(), 11_025)
    found = frames(signal(samples))
    magnitude = np.abs(librosa.stft(samples))
    edge = int(0.9 * found.limit_hz * 2048 / 22_050)
    bins = np.arange(1025) % (2 * edge)
    mirrored = magnitude[np.where(bins < edge, bins, 2 * edge - 1 - bins)]
    levels = librosa.power_to_db(librosa.feature.melspectrogram(S=mirrored**2, sr=22_050))
    np.testing.assert_allclose(found.values[:, :20], librosa.feature.mfcc(S=levels, n_mfcc=20).T, rtol=0, atol=1e-3)
    np.testing.assert_allclose(
        found.values[:, CONTRAST], librosa.feature.spectral_contrast(S=mirrored, sr=22_050).T, rtol=0, atol=1e-2
    )


def test_a_dull_recording_is_not_taken_as_limited():
    time = np.arange(44_100) / 22_050
    levels = np.full((100, 128), -50.0, np.float32)
    levels[:, :20] = 30.0
    assert band_limit_hz(lambda: [levels], levels.max(), STANDARD_FRAMES) is None  # it ends at 600 Hz
    assert frames(signal(0.5 * np.sin(2 * np.pi * 440 * time))).limit_hz is None


def test_the_level_of_a_recording_moves_no_descriptor_of_bands(music):
    levels = 10 * np.random.default_rng(0).standard_normal((50, 128)).astype(np.float32)
    one, louder = band_descriptors(levels, levels.max()), band_descriptors(levels + 20, levels.max() + 20)
    np.testing.assert_allclose(one, louder, atol=1e-3)


# Descriptors from other packages.


def test_a_librosa_feature_is_a_descriptor_in_one_line(album):
    index = extract([album / "six.wav"], parameters=described_by("mfcc", librosa.feature.chroma_stft))
    samples = read(album / "six.wav").samples
    values = np.vstack(
        [librosa.feature.mfcc(y=samples, sr=22_050, n_mfcc=20), librosa.feature.chroma_stft(y=samples, sr=22_050)]
    )
    np.testing.assert_allclose(index.means[0], values.mean(axis=1), atol=1e-3)
    np.testing.assert_allclose(index.covariances[0], np.cov(values), atol=5e-2)
    assert index.parameters.dimensions[20:] == tuple(f"chroma_stft {number}" for number in range(12))


def rms(y, sr):
    return librosa.feature.rms(y=y)


@pytest.mark.slow
def test_workers_compute_descriptors_too_whatever_kind_of_function(album):
    def peaks(y, sr):
        return np.abs(np.pad(y, (0, 512 - len(y) % 512))).reshape(-1, 512).max(axis=1)

    here = extract(album, parameters=described_by(peaks))
    assert here.means.shape == (6, 1)
    there = extract(album, n_jobs=2, parameters=described_by(Descriptor.of(lambda y, sr: peaks(y, sr), "peaks")))
    assert np.array_equal(there.rows, here.rows)


@pytest.mark.slow
def test_an_index_knows_its_descriptors_by_name(album, tmp_path):
    chosen = described_by("mfcc", rms)
    extract([album / "six.wav"], into=tmp_path / "index", parameters=chosen)
    loaded = AudioIndex.load(tmp_path / "index")
    assert loaded.parameters == chosen
    assert json.loads((tmp_path / "index/index.json").read_text())["dimensions"][-2:] == ["mfcc 19", "rms 0"]
    with pytest.raises(InputError, match=r"index: holds frames of descriptor rms, which must be among the parameters$"):
        extract(album, into=tmp_path / "index")
    assert len(extract(album, into=tmp_path / "index", parameters=chosen)) == 6


def test_a_descriptor_of_other_frames_costs_the_file(album):
    def every_second(y, sr):
        return librosa.feature.rms(y=y, hop_length=1024)

    (failure,) = extract([album / "six.wav"], parameters=described_by(every_second)).failed
    assert failure.error == "descriptor every_second gave (1, 44), expected (1, 87), d and frames"


def test_a_descriptor_that_fails_is_said_before_anything_is_read():
    def broken(y, sr):
        raise ValueError("no")

    with pytest.raises(InputError, match=r"^descriptor broken fails on a second of noise \(ValueError: no\)$"):
        described_by(broken)
    with pytest.raises(InputError, match=r"^descriptor nan must give finite numbers \(d, frames\), got \(1, 3\)$"):
        Descriptor.of(lambda y, sr: np.full((1, 3), np.nan), "nan")
    with pytest.raises(InputError, match=r"^only the name of descriptor rms is known, expected the function that"):
        frames(signal(np.ones(30_000)), Parameters(descriptors=(Descriptor("rms", 1),)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"descriptors": ()}, r"^descriptors must be one or more, each once, got none$"),
        ({"descriptors": ("mfcc", "mfcc")}, r"^descriptors must be one or more, each once, got mfcc, mfcc$"),
        (
            {"descriptors": ("chroma",)},
            r"^unknown descriptor 'chroma', expected mfcc, contrast, bands or a Descriptor$",
        ),
        (
            {"descriptors": ("contrast",), "rate_hz": 8_000},
            r"^spectral contrast needs a rate above 12800 Hz and a frame of at least 0\.01 s, got 8000 Hz and 2048",
        ),
    ],
)
def test_descriptors_fit_the_parameters(wrong, said):
    with pytest.raises(InputError, match=said):
        Parameters(**wrong)


def test_a_descriptor_has_a_name_and_a_size():
    with pytest.raises(InputError, match=r"^a descriptor must have a unique, printable name, got 'mfcc'$"):
        Descriptor("mfcc", 1)
    with pytest.raises(InputError, match=r"^descriptor x must have 1 to 4096 dimensions, got 0$"):
        Descriptor("x", 0)


def test_a_head_with_other_dimensions_is_refused(album, tmp_path):
    extract([album / "six.wav"], into=tmp_path / "index")
    path = tmp_path / "index/index.json"
    path.write_text(path.read_text().replace("mfcc 7", "mfcc seven"))
    with pytest.raises(InputError, match=r"index\.json:1: expected the dimensions of its parameters, mfcc 0, mfcc 1"):
        AudioIndex.load(tmp_path / "index")


def test_parameters_survive_being_written():
    for parameters in (PLAIN, STANDARD_FRAMES, replace(STANDARD_FRAMES, coefficients=13), described_by("bands", rms)):
        assert Parameters.from_json(json.loads(json.dumps(parameters.to_json()))) == parameters
