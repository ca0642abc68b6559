"""This version reads the files of every release: see tests/released/make.py. Databases: test_schema."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import audiosim
from audiosim import AudioIndex, Collection
from audiosim.campaign import judgments_in
from audiosim.campaign.archive import restore, verify

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "fixtures" / "demo"
RELEASES = sorted(path for path in (ROOT / "tests" / "released").iterdir() if path.is_dir())


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request):
    """The folder with the files of a release."""
    return request.param


def test_the_first_release_is_kept():
    assert "0.1.0" in {path.name for path in RELEASES}


@pytest.mark.slow
def test_an_index_is_read_and_goes_on(release, tmp_path):
    shutil.copytree(release / "sounds.index", tmp_path / "index")
    index = AudioIndex.load(tmp_path / "index")
    assert list(index.ids) == ["d001", "d002", "d003"]
    divergence = index.divergence()
    assert np.abs(np.diag(divergence)).max() < 1e-3
    assert divergence[~np.eye(3, dtype=bool)].min() > 1  # nats: other pieces of music
    rows = (tmp_path / "index" / "gaussians.f32").read_bytes()
    grown = audiosim.extract(
        {"d004": DEMO / "sounds" / "d004.ogg"}, 1, into=tmp_path / "index", parameters=index.parameters
    )
    assert list(grown.ids) == ["d001", "d002", "d003", "d004"]
    assert (tmp_path / "index" / "gaussians.f32").read_bytes().startswith(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["output", "joint"])
def test_a_model_predicts_as_well_as_a_model_that_was_trained_there(release, name):
    judged = Collection.load(DEMO, DEMO / "truth.qrels")
    truth = {(one.query, one.document): one.grade for one in judged.judgments}
    found = audiosim.predict(DEMO, str(release / f"{name}.json")).to_frame()
    grades = [truth[pair] for pair in found.index]
    assert spearmanr(found["expectation"], grades).statistic > 0.5


@pytest.mark.slow
def test_a_backup_is_restored_and_says_what_was_judged(release, tmp_path):
    url = f"sqlite:///{tmp_path / 'restored.db'}"
    assert restore(release / "campaign.jsonl", url) == verify(url)
    demo = Collection.load(DEMO)
    assert sorted(one.grade for one in judgments_in(url, demo)) == [5, 15, 25, 35, 55]  # 45 was taken back
