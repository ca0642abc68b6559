"""Shards answer as the whole index does."""

import re
from dataclasses import replace

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.sound import proximity as proximity_module
from audiosim.sound import search
from audiosim.sound.descriptions import ByGaussians, Searched
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex, split
from audiosim.sound.neighbours import neighbours
from audiosim.sound.parameters import Parameters
from audiosim.sound.search import neighbours_by


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    rng = np.random.default_rng(1)
    roots = rng.standard_normal((50, 3, 8))
    found = {f"r{i}": Gaussian(rng.standard_normal(3), root @ root.T / 8) for i, root in enumerate(roots)}
    index = AudioIndex.of(found, Parameters(coefficients=3))
    index.save(tmp_path_factory.mktemp("whole") / "index")
    return AudioIndex.load(tmp_path_factory.getbasetemp() / "whole0/index")


def in_shards(folders, k, ids=None, artists=None, divergence="js", proximity=True, **how):
    searched = Searched.load(folders, **how)
    return neighbours_by(searched, [ByGaussians(searched, divergence)], ids, k, artists, proximity=proximity)


@pytest.mark.slow
@pytest.mark.parametrize("proximity", [True, False])
@pytest.mark.parametrize("divergence", ["kl", "js"])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_shards_answer_as_one_index_does(whole, tmp_path, divergence, proximity, count):
    shards = split(whole.folder, tmp_path, count)
    assert sum(len(AudioIndex.load(shard)) for shard in shards) == 50
    assert_same(
        in_shards(shards, 5, divergence=divergence, proximity=proximity),
        whole.neighbours(None, 5, divergence=divergence, proximity=proximity),
    )


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, near in expected.items():
        assert [one.identifier for one in found[name]] == [one.identifier for one in near]
        np.testing.assert_allclose([o.divergence for o in found[name]], [o.divergence for o in near], rtol=1e-6)
        assert [one.proximity for one in found[name]] == [one.proximity for one in near]


def test_many_in_shards_answer_as_one_index_too(tmp_path, monkeypatch):
    """With more recordings than references of mutual proximity, all shards draw the same references as one index."""
    monkeypatch.setattr(search, "SAMPLE", 30)
    monkeypatch.setattr(search, "SHORTLIST", 20)
    monkeypatch.setattr(proximity_module, "LEAST", 5)
    rng = np.random.default_rng(2)
    roots = rng.standard_normal((90, 3, 8))
    found = {f"r{i}": Gaussian(rng.standard_normal(3), root @ root.T / 8) for i, root in enumerate(roots)}
    index = AudioIndex.of(found, Parameters(coefficients=3))
    known = tuple(
        replace(one, silent=i % 9 == 4, limit_hz=5500.0 if i % 2 else None) for i, one in enumerate(index.recordings)
    )
    index = AudioIndex(known, index.rows, index.parameters)
    index.save(tmp_path / "index")
    artists = {f"r{i}": f"a{i % 20}" if i % 3 else None for i in range(90)}
    shards = split(tmp_path / "index", tmp_path / "shards", 4)
    asked = ["r70", "r4", "r11"]
    for options in ({"divergence": "js"}, {"divergence": "js", "proximity": False}, {"divergence": "kl"}):
        expected = index.neighbours(asked, 3, artists, **options)
        assert_same(in_shards(shards, 3, asked, artists, **options), expected)


def test_what_is_asked_for_is_in_one_shard(whole, tmp_path):
    shards = split(whole.folder, tmp_path, 2)
    assert Searched.load(shards).ids == whole.ids
    with pytest.raises(InputError, match=r"^no recording is called 'x' in these 2 shards of 50$"):
        in_shards(shards, 1, ["r1", "x"])
    with pytest.raises(InputError, match=r"^'r0' is in two shards, .*/0000\.index and .*index$"):
        in_shards([shards[0], whole.folder], 1, ["r1"])
    with pytest.raises(InputError, match=r"^there is no shard to search: expected at least one index$"):
        in_shards([], 1)
    with pytest.raises(InputError, match=r"^k must be at least 1, got 0$"):
        in_shards([whole.folder], 0)
    with pytest.raises(InputError, match=r"^there must be at least one shard, got 0$"):
        split(whole.folder, tmp_path, 0)


@pytest.mark.slow
def test_shards_are_searched_on_a_cluster(whole, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(search, "SAMPLE", 30)  # in more recordings than this, the shards are searched for shortlists
    monkeypatch.setattr(search, "SHORTLIST", 20)
    shards = split(whole.folder, tmp_path, 4)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0", protocol="tcp://"
    ) as cluster:
        there = neighbours(shards, 3, scheduler=cluster.scheduler_address)
    assert there.found == neighbours(shards, 3).found == whole.neighbours(None, 3)


@pytest.mark.slow
def test_the_command_searches_shards_as_one_index(run, whole, tmp_path):
    shards = split(whole.folder, tmp_path / "shards", 3)
    assert run("neighbours", *shards, "-k", "4") == run("neighbours", whole.folder, "-k", "4")
    (tmp_path / "queries.tsv").write_text("query\tdocument\nq1\tr41\nq2\tr3\n")
    asked = ("-k", "4", "--queries", tmp_path / "queries.tsv", "--format", "json")
    found, expected = (run("neighbours", *folders, *asked) for folders in (shards, [whole.folder]))
    assert found == expected
    assert '"q2"' in found[1]
    code, _, err = run("neighbours", *shards, "--queries", tmp_path / "queries.tsv", whole.folder)
    assert code == 1
    assert re.search(r"^audiosim: 'r0' is in two shards, .*/shards/0000\.index and .*/index$", err)


def test_names_with_spaces_are_told_how_to_become_a_run(run, tmp_path):
    index = AudioIndex.of({"a b": Gaussian(np.zeros(1), np.eye(1)), "ü": Gaussian(np.ones(1), np.eye(1))}, ONE)
    index.save(tmp_path / "index")
    code, _, err = run("neighbours", tmp_path / "index")
    assert (code, err) == (
        1,
        "audiosim: 'a b' has white space, which separates the columns of a run: audiosim init FOLDER gives recordings "
        "names that a run can hold; json and csv print any name\n",
    )
    assert '"document": "a b"' in run("neighbours", tmp_path / "index", "--format", "json")[1]


ONE = Parameters(coefficients=1)
