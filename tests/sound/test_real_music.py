"""Real music: every clip is described, and divergences follow their definition."""

import numpy as np
import pytest
import soundfile
import soxr
from scipy.linalg import cho_factor, cho_solve

from audiosim.collection.kinds import read_documents
from audiosim.sound import decode
from audiosim.sound.index import AudioIndex, extract


@pytest.fixture(scope="module")
def index(real_index):
    return AudioIndex.load(real_index)


@pytest.mark.slow
def test_every_clip_is_described(index, real_clips):
    assert len(index.ids) == len(real_clips) == 96
    assert np.isfinite(index.rows).all()


@pytest.mark.slow
def test_divergences_of_real_music_match_a_pair_by_pair_cholesky_evaluation(index):
    means, covariances = index.means, index.covariances
    factors = [cho_factor(covariance) for covariance in covariances]
    divergence, single = index.divergence(precision="double"), index.divergence()
    for i, j in np.random.default_rng(4).integers(0, 96, (300, 2)):
        shift = means[i] - means[j]
        terms = [cho_solve(factors[i], covariances[j]), cho_solve(factors[j], covariances[i])]
        quadratic = shift @ cho_solve(factors[i], shift) + shift @ cho_solve(factors[j], shift)
        expected = (np.trace(terms[0]) + np.trace(terms[1]) + quadratic) / 2 - len(shift) if i != j else 0
        assert divergence[i, j] == pytest.approx(expected, rel=1e-9)
        assert single[i, j] == pytest.approx(expected, rel=1e-4)


@pytest.fixture(scope="module")
def limited(real_clips, tmp_path_factory):
    """A folder with the clips as from a source of 11 kHz, in steps of 16 bits."""
    folder = tmp_path_factory.mktemp("limited")
    for path in real_clips:
        samples = soxr.resample(soxr.resample(decode.read(path).samples, 22_050, 11_025), 11_025, 22_050)
        steps = np.clip(np.rint(samples * 2**15), -(2**15), 2**15 - 1).astype(np.int16)
        soundfile.write(folder / f"{path.stem}.wav", steps, 22_050)
    table = (real_clips[0].parent / "documents.tsv").read_text(encoding="utf-8")
    (folder / "documents.tsv").write_text(table.replace(".ogg", ".wav"), encoding="utf-8")
    return folder


def precision_at_5(folder):
    """Share of the five nearest from the query's game, without the same artist if a game has several."""
    index = extract(folder / "documents.tsv")
    documents = read_documents(folder / "documents.tsv")
    artists = {name: one.artist for name, one in documents.items() if one.artist != one.genre}
    near = index.neighbours(None, 5, artists)
    return np.mean([documents[q].genre == documents[o.identifier].genre for q, found in near.items() for o in found])


@pytest.mark.slow
def test_clips_that_are_all_band_limited_lose_little(limited):
    # 96 clips of eight games, so that .01 is five neighbours. The precision is .33 here, and about .37 for the whole
    # band; it is .23 where the empty bands are not filled, and .19 for plain MFCC.
    assert precision_at_5(limited) > 0.31
