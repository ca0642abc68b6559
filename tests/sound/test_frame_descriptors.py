"""Descriptors of sound by name."""

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.sound.describe import find_frames, frames_of_index
from audiosim.sound.parameters import PLAIN, STANDARD_FRAMES, Parameters


def test_frames_are_found_by_name():
    assert find_frames("standard") == STANDARD_FRAMES
    assert find_frames("mfcc") == PLAIN
    assert find_frames("bands, mfcc") == Parameters(descriptors=("bands", "mfcc"))


@pytest.mark.slow
def test_librosa_s_features_have_names():
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
    assert frames_of_index(tmp_path) == STANDARD_FRAMES
