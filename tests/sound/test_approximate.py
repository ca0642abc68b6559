"""Approximate search, compared with a search that compares each query with all."""

import re
import shutil

import numpy as np
import pytest
from scipy.linalg import logm

from audiosim.errors import InputError, MissingPackageError
from audiosim.sound import approximate
from audiosim.sound.approximate import FACTS, LISTS, ApproximateSearch, coarse_index
from audiosim.sound.descriptions import Searched, descriptions_of, neighbours_by
from audiosim.sound.gaussians import from_rows, to_rows
from audiosim.sound.index import AudioIndex
from audiosim.sound.jensen_shannon import jensen_shannon_divergence
from audiosim.sound.kullback_leibler import Whitener
from audiosim.sound.log_euclidean import log_euclidean
from audiosim.sound.parameters import Parameters
from audiosim.sound.store import Appender, Recording
from audiosim.sound_search import neighbours

pytest.importorskip("faiss")
FRAMES = Parameters(coefficients=5)
N, SILENT = 1500, 3  # recordings, and one of them that is silent


def rows_of(n, seed=0):
    """Gaussians in groups, some wide and some narrow."""
    rng = np.random.default_rng(seed)
    frames = rng.standard_normal((n, 5, 12)) * np.exp(0.4 * rng.standard_normal((n, 5, 1)))
    return to_rows(rng.integers(0, 4, (n, 5)) + 0.3 * rng.standard_normal((n, 5)), frames @ np.swapaxes(frames, 1, 2))


def written(folder, rows, first=0):
    with Appender(folder, FRAMES) as index:
        named = [Recording(f"r{first + place}", silent=first + place == SILENT) for place in range(len(rows))]
        index.extend(named, rows)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("approximate") / "index", rows_of(N))


def ten_nearest(rows, query):
    """By all divergences, without the silent one."""
    divergences = jensen_shannon_divergence(rows[[query]], rows, 5)[0]
    divergences[[query, SILENT]] = np.inf
    return {f"r{place}" for place in np.argsort(divergences)[:10]}


def test_distances_of_coordinates_are_those_of_matrix_logarithms():
    rows = rows_of(20)
    whitener = Whitener.of(rows, 5)
    found = log_euclidean(rows, whitener)
    means, covariances = from_rows(rows, 5)
    roots = [logm(whitener.stretch @ one @ whitener.stretch.T).real for one in covariances]
    moved = means @ whitener.stretch.T
    for i, j in ((0, 1), (3, 12), (19, 7)):
        expected = np.sum((moved[i] - moved[j]) ** 2) + np.sum((roots[i] - roots[j]) ** 2)
        assert np.sum((found[i] - found[j]) ** 2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_nearly_all_neighbours_are_found_and_the_recall_says_how_many(folder):
    rows, queries = rows_of(N), list(range(0, N, 50))
    searched = Searched.load([folder])
    search = ApproximateSearch(searched)
    shares = []
    for query in queries:
        names = {searched.ids[place] for place in search.near(query)}
        assert len(names) <= 201
        shares.append(len(names & ten_nearest(rows, query)) / 10)
    assert np.mean(shares) > 0.9
    assert search.recall == pytest.approx(np.mean(shares), abs=0.08)  # measured on as many other recordings
    kinds = descriptions_of(searched)
    names = [f"r{query}" for query in queries]
    found, exact = (neighbours_by(searched, kinds, names, 5, shortlists=one) for one in (search, None))
    same = [len({one.identifier for one in found[name]} & {one.identifier for one in exact[name]}) for name in names]
    assert np.mean(same) > 4.5
    for name in names:  # distances found by both are equal to the last bit
        proximities = {one.identifier: one for one in exact[name]}
        assert all(proximities.get(one.identifier, one) == one for one in found[name])
        assert f"r{SILENT}" not in {one.identifier for one in found[name]}


def test_lists_are_made_once_and_grow_with_the_index(tmp_path, monkeypatch):
    index = written(tmp_path / "index", rows_of(400))
    first = coarse_index(AudioIndex.load(index))
    made = []
    monkeypatch.setattr(approximate, "_made", lambda one, plain=approximate._made: made.append(1) or plain(one))
    assert coarse_index(AudioIndex.load(index)).recall == first.recall
    copy = rows_of(400)[7:8]
    written(index, copy, first=400)
    with Appender(index, FRAMES) as appender:
        appender.remove("r9")
    searched = Searched.load([index])
    near = {searched.ids[place] for place in ApproximateSearch(searched).near(searched.ids.index("r7"))}
    assert "r400" in near
    assert "r9" not in near
    assert made == []
    written(index, rows_of(600, seed=1), first=401)
    coarse_index(AudioIndex.load(index))
    assert made == [1]


def test_lists_of_another_index_in_the_same_folder_are_not_used(tmp_path):
    index, kept = written(tmp_path / "index", rows_of(300)), tmp_path / "kept"
    coarse_index(AudioIndex.load(index))
    kept.mkdir()
    for name in (LISTS, FACTS):
        (index / name).rename(kept / name)
    shutil.rmtree(index)
    written(index, rows_of(300, seed=9))
    for name in (LISTS, FACTS):
        (kept / name).rename(index / name)
    rows = rows_of(300, seed=9)[10:40]
    assert coarse_index(AudioIndex.load(index)).near(rows, 1)[:, 0].tolist() == list(range(10, 40))


@pytest.mark.slow
def test_as_many_are_found_as_are_wanted(folder):
    searched = Searched.load([folder])
    kinds, search = descriptions_of(searched), ApproximateSearch(searched)
    found = neighbours_by(searched, kinds, ["r5", "r8"], 1400, shortlists=search)
    assert [len(near) for near in found.values()] == [1400, 1400]
    close = {searched.ids[place] for place in search.near(5, 800)}
    artists = dict.fromkeys(close, "the same")
    near, exact = (neighbours_by(searched, kinds, ["r5"], 20, artists, shortlists=one)["r5"] for one in (search, None))
    assert near == exact
    assert len(near) == 20
    assert not close & {one.identifier for one in near}


@pytest.mark.parametrize("file", [LISTS, FACTS])
def test_damaged_lists_are_made_again(folder, file):
    before = coarse_index(AudioIndex.load(folder))
    content = bytearray((folder / file).read_bytes())
    content[len(content) // 2] ^= 255
    (folder / file).write_bytes(content)
    after = coarse_index(AudioIndex.load(folder))
    rows = rows_of(N)[:20]
    np.testing.assert_array_equal(np.sort(before.near(rows)), np.sort(after.near(rows)))


def test_shards_are_searched_together(folder, tmp_path):
    other = written(tmp_path / "other", rows_of(N)[5:6], first=N)  # a copy of r5
    searched = Searched.load([folder, other])
    names = ["r5", f"r{N}"]
    near = neighbours_by(searched, descriptions_of(searched), names, 1, shortlists=ApproximateSearch(searched))
    assert [near[name][0].identifier for name in names] == [f"r{N}", "r5"]


def test_the_command_says_how_much_is_found(run, folder, tmp_path):
    (tmp_path / "queries.tsv").write_text("query\tdocument\nq\tr5\n", encoding="utf-8")
    code, out, err = run("neighbours", folder, "--approximate", "--queries", tmp_path / "queries.tsv")
    assert (code, len(out.splitlines())) == (0, 5)
    share = re.fullmatch(r"audiosim: approximate search: recall ([01]\.\d{3}) of the ten nearest\n", err)
    assert share is not None
    assert float(share[1]) > 0.9


def test_only_a_search_by_all_defaults_can_be_approximate(folder):
    with pytest.raises(InputError, match="an approximate search is by Jensen-Shannon and mutual proximity, in this"):
        neighbours(folder, divergence="kl", approximate=True)
    with pytest.raises(InputError, match="is by gaussians, among others or alone; got levelled$"):
        neighbours(folder, by="levelled", approximate=True)
    with pytest.raises(InputError, match="an approximate search needs an index on disk, got one in memory"):
        coarse_index(AudioIndex.of({}, FRAMES))


def test_faiss_is_asked_for_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setattr("audiosim.results.value.has_package", lambda name: name != "faiss")
    with pytest.raises(MissingPackageError, match=r"needs faiss-cpu: pip install 'audiosim\[approximate\]'"):
        neighbours(folder, approximate=True)
