"""Shards answer as the whole index does."""

import numpy as np
import pytest

from audiosim.audio.index import AudioIndex
from audiosim.audio.parameters import Parameters
from audiosim.audio.shards import search_shards, split
from audiosim.errors import InputError
from audiosim.stats.gaussian import Gaussian


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    rng = np.random.default_rng(1)
    roots = rng.standard_normal((50, 3, 8))
    found = {f"r{i}": Gaussian(rng.standard_normal(3), root @ root.T / 8) for i, root in enumerate(roots)}
    index = AudioIndex.of(found, Parameters(coefficients=3))
    index.save(tmp_path_factory.mktemp("whole") / "index")
    return AudioIndex.load(tmp_path_factory.getbasetemp() / "whole0/index")


@pytest.mark.parametrize("divergence", ["kl", "js"])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_shards_answer_as_one_index_does(whole, tmp_path, divergence, count):
    shards = split(whole.folder, tmp_path, count)
    assert sum(len(AudioIndex.load(shard)) for shard in shards) == 50
    expected = whole.neighbours(None, 5, divergence=divergence, proximity=False)
    found = search_shards(shards, whole, 5, divergence=divergence)
    for name, near in expected.items():
        assert [one.identifier for one in found[name]] == [one.identifier for one in near]
        np.testing.assert_allclose([o.divergence for o in found[name]], [o.divergence for o in near], rtol=1e-6)


def test_shards_are_searched_on_a_cluster(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    shards = split(whole.folder, tmp_path, 4)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        assert search_shards(shards, whole, 3, scheduler=cluster.scheduler_address) == search_shards(shards, whole, 3)


def test_no_shard_and_no_count_are_refused(whole, tmp_path):
    with pytest.raises(InputError, match=r"^there is no shard to search, expected one index at least$"):
        search_shards([], whole, 1)
    with pytest.raises(InputError, match=r"^there must be at least one shard, got 0$"):
        split(whole.folder, tmp_path, 0)
