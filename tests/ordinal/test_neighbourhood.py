"""Everything cached from an index equals a new computation, whatever happens to the file."""

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Pair, Run
from audiosim.joint.estimators import estimator_of
from audiosim.joint.terms import prepare_closeness
from audiosim.ordinal.sound import closeness, keep_closeness, likeness, query_proximity
from audiosim.sound import closeness as neighbourhood
from audiosim.sound import jensen_shannon
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex, later_folder
from audiosim.sound.parameters import Parameters
from audiosim.sound.proximity import nearest_correlation

NAMES = tuple(f"d{number:02}" for number in range(30))
ALL = np.arange(20)


def gaussians(names, seed):
    rng = np.random.default_rng(seed)
    return {name: Gaussian(2 * rng.normal(size=3), np.diag(rng.uniform(0.5, 2, size=3))) for name in names}


@pytest.fixture
def collection(tmp_path):
    AudioIndex.of(gaussians(NAMES, 0), Parameters(coefficients=3)).save(tmp_path / "sounds.index")
    runs = (Run("S", {"d00": NAMES[5:15], "d01": NAMES[10:20]}),)
    return Collection("c", "c", FINE, 10, runs, sounds=tmp_path / "sounds.index")


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    monkeypatch.setattr(neighbourhood, "WORTH_KEEPING", 1)


def heard(collection, monkeypatch, *, anew=True):
    """Statements about a collection by a process without cached data."""
    if anew:
        monkeypatch.setattr(neighbourhood, "_MEMORIES", OrderedDict())
    pool = build_pool(collection)
    found = query_proximity(pool), likeness(pool, ALL)
    keep_closeness(pool)
    return found


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def counted(monkeypatch):
    """The numbers of computed divergences."""
    numbers, plain = [], jensen_shannon.jensen_shannon_divergence

    def count(first, second, dimension, many=None):
        numbers.append(len(first) * len(first if second is None else second))
        return plain(first, second, dimension, many)

    monkeypatch.setattr(jensen_shannon, "jensen_shannon_divergence", count)
    return numbers


def test_another_process_finds_what_was_computed_and_computes_nothing(collection, monkeypatch, counted):
    first = heard(collection, monkeypatch)
    assert sum(counted) > 0
    counted.clear()
    assert same(first, heard(collection, monkeypatch))
    assert counted == []


def test_many_are_computed_by_compiled_loops_to_the_same_end(collection, monkeypatch):
    slowly = heard(collection, monkeypatch)
    (collection.sounds / neighbourhood.FILE).unlink()
    asked, plain = [], jensen_shannon._by_loops
    monkeypatch.setattr(jensen_shannon, "_by_loops", lambda: asked.append(1) or plain())
    monkeypatch.setattr(jensen_shannon, "MANY", 400)
    fast = heard(collection, monkeypatch)
    assert asked
    for one, other in zip(slowly, fast, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    asked.clear()  # neither cached data nor one more recording is a reason for compiled loops
    pool = build_pool(collection, also=[Pair("d00", "d25")])
    closeness(pool, np.flatnonzero(pool.query == 0))
    assert not asked


def test_what_the_first_ranking_needs_may_be_computed_before_it(collection, monkeypatch, tmp_path, counted):
    replace(collection, sounds=None).save(tmp_path)
    prepare_closeness(tmp_path)
    assert sum(counted) > 0
    counted.clear()
    monkeypatch.setattr(neighbourhood, "_MEMORIES", OrderedDict())
    for cutoff in (5, 10):  # by default of the measure, and of the collection
        estimator_of(build_pool(Collection.load(tmp_path), cutoff), "joint")
    assert counted == []


def test_what_is_no_collection_is_nothing_to_prepare(collection, tmp_path):
    prepare_closeness(tmp_path)  # an index without runs
    replace(collection, sounds=None).save(tmp_path)
    (tmp_path / "documents.tsv").write_text("no table\n")
    prepare_closeness(tmp_path)
    assert not (collection.sounds / neighbourhood.FILE).exists()


@pytest.mark.parametrize("left", [0, 10, 400, -1])
def test_a_damaged_file_costs_time_alone(collection, monkeypatch, left):
    first = heard(collection, monkeypatch)
    file = collection.sounds / neighbourhood.FILE
    file.write_bytes(file.read_bytes()[:left])
    assert same(first, heard(collection, monkeypatch))


def test_where_nothing_can_be_written_the_answers_are_the_same(collection, monkeypatch):
    found = heard(collection, monkeypatch)
    (collection.sounds / neighbourhood.FILE).unlink()
    (collection.sounds / neighbourhood.FILE).mkdir()
    assert same(found, heard(collection, monkeypatch))
    assert not [path.name for path in collection.sounds.iterdir() if path.name.startswith(".")]


def test_a_recording_that_changed_is_looked_at_anew(collection, monkeypatch, tmp_path):
    before = heard(collection, monkeypatch)
    other = gaussians(NAMES, 0) | gaussians(("d07",), 9)
    AudioIndex.of(other, Parameters(coefficients=3)).save(tmp_path / "other.index")
    (tmp_path / "other.index" / neighbourhood.FILE).write_bytes((collection.sounds / neighbourhood.FILE).read_bytes())
    changed = heard(replace(collection, sounds=tmp_path / "other.index"), monkeypatch)
    (tmp_path / "other.index" / neighbourhood.FILE).unlink()
    assert same(changed, heard(replace(collection, sounds=tmp_path / "other.index"), monkeypatch))
    assert not np.array_equal(before[1], changed[1])


def test_likeness_is_the_correlation_nearest_to_closeness(collection):
    pool = build_pool(collection)
    np.testing.assert_allclose(likeness(pool, ALL), nearest_correlation(closeness(pool, ALL)), atol=1e-12)


def test_others_asked_for_beside_change_nothing_and_cost_only_themselves(collection, monkeypatch, counted):
    heard(collection, monkeypatch)
    closeness(build_pool(collection), np.arange(10))
    pool = build_pool(collection, also=[Pair("d00", "d25"), Pair("d00", "d26")])
    rows = np.flatnonzero(pool.query == 0)
    counted.clear()
    near = closeness(pool, rows)
    assert sum(counted) == 2 * 12 + 2 * len(NAMES)  # both, from the query's documents and from the references
    alone = build_pool(replace(collection, runs=(Run("S", {"d00": (*NAMES[5:15], "d25", "d26")}),)), 12)
    np.testing.assert_array_equal(near, closeness(alone, np.arange(12)))


def test_beyond_what_may_be_remembered_the_answers_are_the_same(collection, monkeypatch):
    found = heard(collection, monkeypatch)
    monkeypatch.setattr(neighbourhood, "MOST_BYTES", 0)
    (collection.sounds / neighbourhood.FILE).unlink()
    assert same(found, heard(collection, monkeypatch))
    assert not (collection.sounds / neighbourhood.FILE).exists()


def test_recordings_that_come_later_change_nothing_of_the_others_and_are_held_against_the_same(
    collection, monkeypatch, tmp_path
):
    before = heard(collection, monkeypatch)
    late = gaussians(("new",), 3)
    AudioIndex.of(late, Parameters(coefficients=3)).save(later_folder(collection.sounds))
    assert same(before, heard(collection, monkeypatch))
    pool = build_pool(collection, also=[Pair("d00", "new")])
    every = AudioIndex.load(collection.sounds)
    rows, d = np.vstack([AudioIndex.load(later_folder(collection.sounds)).rows, every.rows]), 3
    distances = jensen_shannon.jensen_shannon_divergence(rows, None, d)
    # The new one is place 0, d00 place 1; references are the thirty recordings of the index without d00.
    share = np.mean((distances[0, 2:] > distances[0, 1]) & (distances[1, 2:] > distances[0, 1]))
    assert query_proximity(pool)[-1] == pytest.approx(share)


def test_a_recording_that_the_index_has_by_now_is_the_index_s_own(collection, monkeypatch):
    before = heard(collection, monkeypatch)
    AudioIndex.of(gaussians(("d07",), 5), Parameters(coefficients=3)).save(later_folder(collection.sounds))
    assert same(before, heard(collection, monkeypatch))
