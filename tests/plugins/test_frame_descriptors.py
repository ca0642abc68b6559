"""Descriptors of sound by name, and their contract."""

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.plugins import check_descriptor, find_frames, installed_frames
from audiosim.sound.parameters import PLAIN, STANDARD_FRAMES, Descriptor, Parameters


def loudness(y, sr):
    return np.abs(np.pad(y, (0, 512 - len(y) % 512))).reshape(-1, 512).mean(axis=1)


def test_frames_are_found_by_name():
    assert find_frames("standard") == STANDARD_FRAMES
    assert find_frames("mfcc") == PLAIN
    assert find_frames("bands, mfcc") == Parameters(descriptors=("bands", "mfcc"))


@pytest.mark.slow
def test_librosa_s_features_are_installed_with_audiosim():
    librosa = pytest.importorskip("librosa")
    found = find_frames("mfcc,chroma").descriptors[1]
    assert (found.name, found.size) == ("chroma", 12)
    samples = np.random.default_rng(0).standard_normal(30_000).astype(np.float32)
    assert np.array_equal(found.function(y=samples, sr=22_050), librosa.feature.chroma_stft(y=samples, sr=22_050))


def test_an_unknown_descriptor_is_told_the_others():
    known = "standard or mfcc alone, or some of mfcc, contrast, bands, chroma, onset, rolloff, tonnetz"
    with pytest.raises(InputError, match=f"^unknown descriptor 'timbre', expected {known}"):
        find_frames("mfcc,timbre")


def test_without_an_index_frames_are_the_standard_ones(tmp_path):
    assert installed_frames(tmp_path) == STANDARD_FRAMES


def test_a_descriptor_that_keeps_its_contract_passes():
    check_descriptor(Descriptor("loudness", 1, loudness))


def short(y, sr):
    return loudness(y, sr)[1:]


def of_silence(y, sr):
    return loudness(y, sr) / np.abs(y).max() if y.any() else np.full(59, np.nan)


def drawn(y, sr, rng=np.random.default_rng(0)):  # noqa: B008 - one that goes on is what is wrong with it
    return rng.random(1 + len(y) // 512)


def careless(y, sr):
    y *= 0
    return loudness(y, sr)


def broken(y, sr):
    raise ValueError("no")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (short, r"gives \(1, 58\), expected \(1, 59\)$"),
        (of_silence, r"30000 samples of silence gives numbers that are not finite$"),
        (drawn, "gives different numbers the second time$"),
        (careless, "changes the samples$"),
        (broken, "fails: ValueError: no$"),
        (None, "^descriptor x has no function$"),
    ],
)
def test_what_a_descriptor_does_wrong_is_said(function, said):
    with pytest.raises(InputError, match=said):
        check_descriptor(Descriptor("x", 1, function))
