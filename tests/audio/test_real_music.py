"""Real music: every clip is described, and the divergences are what the definition says."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from audiosim.audio.index import AudioIndex, extract


@pytest.fixture(scope="module")
def index(real_clips, tmp_path_factory):
    folder = tmp_path_factory.mktemp("real") / "sounds.index"
    assert extract(real_clips[0].parent, n_jobs=-1, into=folder).failed == ()
    return AudioIndex.load(folder)


def test_every_clip_is_described(index, real_clips):
    assert len(index.ids) == len(real_clips) == 96
    assert np.isfinite(index.rows).all()


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
