"""From sound files to neighbours, with every possible accident."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from audiosim.collection.values import Run
from audiosim.errors import FormatError, InputError
from audiosim.sound import packed as packing
from audiosim.sound import search
from audiosim.sound.describe import Failure
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.neighbours import nearest_run
from audiosim.sound.parameters import Parameters
from audiosim.sound.proximity import SEED
from audiosim.sound.search import Neighbour
from audiosim.sound.store import Appender, Recording

LINE = Parameters(coefficients=1)
PLAIN = {"divergence": "kl", "proximity": False}


@pytest.fixture(scope="module")
def index(album):
    return extract(album)


@pytest.fixture(scope="module")
def line():
    """Unit Gaussians at places on a line: the divergence is the square of their distance."""
    places = {"a": 0.0, "b": 1.0, "c": 3.0, "d": -1.0, "e": 12.0}
    return AudioIndex.of({name: Gaussian(np.array([place]), np.eye(1)) for name, place in places.items()}, LINE)


@pytest.fixture
def mixed(tmp_path, album):
    """Four good files and two bad ones."""
    folder = tmp_path / "mixed"
    shutil.copytree(album, folder)
    (folder / "a/one.wav").write_bytes(b"no sound at all")
    (folder / "zero.wav").touch()
    return folder


def same(one, other):
    return tuple(one.recordings) == tuple(other.recordings) and np.array_equal(one.rows, other.rows)


def test_an_index_has_a_gaussian_for_each_recording(index):
    assert index.ids == ("a/one", "a/three", "a/two", "b/five", "b/four", "six")
    assert (index.means.shape, index.covariances.shape) == ((6, 31), (6, 31, 31))
    assert index.failed == ()
    for mean, covariance in zip(index.means, index.covariances, strict=True):
        Gaussian(mean, covariance)


def test_recordings_come_in_the_order_in_which_they_are_given(index, album):
    chosen = extract([album / "six.wav", album / "a/two.flac"])
    assert chosen.ids == ("six", "two")
    assert np.array_equal(chosen.rows, index.rows[[5, 2]])


def test_sources_can_be_named_by_the_caller(index, album):
    assert extract({"mine": album / "six.wav"}).ids == ("mine",)


@pytest.mark.slow
def test_bad_files_are_listed_and_the_rest_is_done_and_the_number_of_workers_changes_nothing(mixed, tmp_path):
    here, result = extract(mixed, into=tmp_path / "one"), extract(mixed, n_jobs=2, into=tmp_path / "two")
    for name in ("index.json", "gaussians.f32", "entries.db"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert result.ids == ("a/three", "a/two", "b/five", "b/four", "six")
    assert (
        here.failed
        == result.failed
        == (
            Failure(
                str(mixed / "a/one.wav"),
                "cannot be decoded (it is text, a table or a database), expected WAV, FLAC, Ogg, MP3 or AIFF",
            ),
            Failure(str(mixed / "zero.wav"), "is empty, expected a sound file"),
        )
    )


def test_nothing_but_bad_files_gives_an_empty_index(mixed, tmp_path):
    for into in (None, tmp_path / "index"):
        result = extract([mixed / "zero.wav"], into=into)
        assert (result.ids, len(result.failed), result.divergence().shape) == ((), 1, (0, 0))
        assert (result.means.shape, result.covariances.shape) == ((0, 31), (0, 31, 31))
        assert result.neighbours(None, 5) == {}


def test_an_index_on_disk_is_the_one_in_memory(index, album, tmp_path):
    on_disk = extract(album, into=tmp_path / "index")
    assert same(on_disk, index)
    assert isinstance(on_disk.rows, np.memmap)
    assert same(AudioIndex.load(tmp_path / "index"), index)


def test_what_is_saved_is_loaded(index, tmp_path):
    index.save(tmp_path / "index")
    assert same(AudioIndex.load(tmp_path / "index"), index)
    with pytest.raises(InputError, match=r"index: holds an index already, expected a new folder$"):
        index.save(tmp_path / "index")


def no_read(path):
    raise AssertionError(f"{path} is read again")


def test_files_that_have_not_changed_are_not_read_again(index, album, tmp_path):
    extract(album, into=tmp_path / "index")
    assert same(extract(album, into=tmp_path / "index", read=no_read), index)


def test_a_file_that_changed_replaces_its_row(mixed, music, tmp_path):
    before = extract(mixed, into=tmp_path / "index")
    soundfile.write(mixed / "six.wav", music(3, seed=99), 22_050)
    soundfile.write(mixed / "zero.wav", music(3, seed=98), 22_050)
    after = extract(mixed, into=tmp_path / "index")
    assert after.ids == (*before.ids, "zero")
    assert after.recordings[4].seconds == 3.0
    assert np.array_equal(after.rows[:4], before.rows[:4])
    assert np.array_equal(after.rows, extract([mixed]).rows)
    assert [failure.path for failure in after.failed] == [str(mixed / "a/one.wav")]


def test_an_index_grows_by_what_is_extracted_into_it(album, tmp_path):
    extract([album / "six.wav"], into=tmp_path / "index")
    assert extract([album / "a/one.wav"], into=tmp_path / "index").ids == ("six", "one")


def test_progress_counts_what_is_done_what_failed_and_all(mixed, tmp_path):
    seen = []
    extract(mixed, into=tmp_path / "index", progress=lambda *counts: seen.append(counts))
    assert seen == [(0, 0, 7), (0, 1, 7), (1, 1, 7), (2, 1, 7), (3, 1, 7), (4, 1, 7), (5, 1, 7), (5, 2, 7)]
    seen.clear()
    extract(mixed, into=tmp_path / "index", progress=lambda *counts: seen.append(counts))
    assert seen == [(5, 0, 7), (5, 1, 7), (5, 2, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interruption_keeps_what_is_done(index, album, tmp_path, n_jobs):
    def interrupt(done, failed, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(album, n_jobs, into=tmp_path / "index", progress=interrupt)
    assert AudioIndex.load(tmp_path / "index").ids == index.ids[:3]
    assert same(extract(album, into=tmp_path / "index"), index)


EXTRACT_FOR_EVER = """
import signal, sys
from audiosim.sound.index import extract
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell starts in the background
first = []
def shown(done, failed, total):
    first.append(done)
    if done == first[0] + int(sys.argv[4]): print("going", flush=True)
extract({str(n): sys.argv[1] for n in range(100_000)}, int(sys.argv[3]), into=sys.argv[2], progress=shown)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_an_extraction_that_is_killed_keeps_what_is_done(index, album, tmp_path, by):
    folder = tmp_path / "index"
    command = [sys.executable, "-c", EXTRACT_FOR_EVER, album / "six.wav", folder, "1", "40"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout.readline() == b"going\n"
    running.send_signal(by)
    running.communicate(timeout=180)  # ends when the last of its workers closes the pipe
    assert running.returncode == -by
    result = AudioIndex.load(folder)
    assert 40 <= len(result.ids) < 100_000
    assert (result.rows == index.rows[5]).all()
    assert extract({"last": album / "a/one.wav"}, into=folder).ids == (*result.ids, "last")


def test_other_parameters_are_refused_by_an_index_on_disk(album, tmp_path):
    extract([album / "six.wav"], into=tmp_path / "index")
    with pytest.raises(
        InputError, match=r"index: holds frames of other parameters \(.*\), expected .* 13 coefficients$"
    ):
        extract([album / "a/one.wav"], into=tmp_path / "index", parameters=Parameters(coefficients=13))


def test_two_indexes_are_joined_to_be_compared(line):
    joined = line.joined(AudioIndex.of({"f": Gaussian(np.array([5.0]), np.eye(1))}, LINE))
    np.testing.assert_allclose(joined.divergence(["f"], ["a", "e", "f"]), [[25, 49, 0]])


def test_indexes_of_other_parameters_are_not_compared(line, index):
    message = r"^cannot compare frames of other parameters \(.* 20 coefficients, .*\), expected .* 1 coefficients$"
    with pytest.raises(InputError, match=message):
        line.joined(index)


def test_divergences_are_between_the_recordings_asked_for(line):
    np.testing.assert_allclose(line.divergence(["c", "a"], ["b", "c"]), [[4, 0], [1, 9]])
    np.testing.assert_allclose(line.divergence(["a"]), [[0, 1, 9, 1, 144]])
    assert np.array_equal(line.divergence(), line.divergence().T)
    assert not line.divergence().diagonal().any()


def test_neighbours_are_nearest_first_and_never_the_recording_itself(line):
    nearest = line.neighbours(["c", "a"], 2, **PLAIN)
    assert list(nearest) == ["c", "a"]
    assert [near.identifier for near in nearest["c"]] == ["b", "a"]
    assert [near.divergence for near in nearest["c"]] == pytest.approx([4, 9])
    assert nearest["a"] == (Neighbour("b", pytest.approx(1)), Neighbour("d", pytest.approx(1)))


def test_neighbours_are_those_of_a_full_sort(index):
    divergence = index.divergence(precision="double")
    for query, near in index.neighbours(None, 3, **PLAIN).items():
        row = divergence[index.ids.index(query)]
        order = [index.ids[j] for j in np.argsort(row) if index.ids[j] != query]
        assert [neighbour.identifier for neighbour in near] == order[:3]


def test_there_are_fewer_neighbours_where_there_are_no_more(line):
    assert [len(near) for near in line.neighbours(None, 100).values()] == [4] * 5


def test_an_exact_copy_is_the_nearest_neighbour(album, index, tmp_path):
    shutil.copy(album / "six.wav", tmp_path / "copy.wav")
    joined = index.joined(extract(tmp_path))
    for options in (PLAIN, {}, {"divergence": "kl"}, {"proximity": False}):
        (near,) = joined.neighbours(["copy"], 1, **options)["copy"]
        assert (near.identifier, near.divergence) == ("six", 0.0)
        assert near.proximity == (1.0 if options.get("proximity", True) else None)


def test_the_same_artist_is_left_out_and_an_unknown_one_leaves_nothing_out(line):
    artists = {"a": "X", "b": "X", "c": "Y", "d": None, "e": "", "gone": "X"}
    names = {
        query: [near.identifier for near in found]
        for query, found in line.neighbours(None, 9, artists, **PLAIN).items()
    }
    assert names["a"] == ["d", "c", "e"]
    assert names["b"] == ["c", "d", "e"]
    assert names["d"] == ["a", "b", "c", "e"]
    assert names["e"] == ["c", "b", "a", "d"]


def test_a_run_retrieves_the_neighbours_in_their_order(line):
    artists = {"c": "X", "b": "X"}
    near = line.neighbours(["c", "e"], 2, artists)
    rankings = {query: tuple(one.identifier for one in near[own]) for query, own in (("c", "c"), ("last", "e"))}
    assert "b" not in rankings["c"]
    assert nearest_run(line, "nearest", {"c": "c", "last": "e"}, 2, artists) == Run("nearest", rankings)


def test_an_unknown_recording_is_named(line):
    message = r"^no recording is called 'nobody' in this index of 5$"
    with pytest.raises(InputError, match=message):
        line.neighbours(["nobody"], 1)
    with pytest.raises(InputError, match=message):
        line.divergence(["a"], ["nobody"])


def test_no_neighbours_cannot_be_asked_for(line):
    with pytest.raises(InputError, match=r"^k must be at least 1, got 0$"):
        line.neighbours(["a"], 0)
    with pytest.raises(InputError, match=r"^k must be at least 1, got -2$"):
        line.neighbours_of(line, -2)


def test_an_unknown_divergence_cannot_be_asked_for(line):
    with pytest.raises(InputError, match=r"^divergence must be 'kl' or 'js', got 'cosine'$"):
        line.neighbours(["a"], 1, divergence="cosine")


def brute(index, kind):
    """All divergences from numpy's determinants and inverses, one pair at a time."""
    known = list(zip(index.means, index.covariances, strict=True))
    both = np.zeros((len(known), len(known)))
    for i, (m, s) in enumerate(known):
        for j, (n, t) in enumerate(known):
            if kind == "js":
                merged = (s + t) / 2 + np.outer(m - n, m - n) / 4
                both[i, j] = np.linalg.slogdet(merged)[1] / 2
                both[i, j] -= (np.linalg.slogdet(s)[1] + np.linalg.slogdet(t)[1]) / 4
            else:
                p, q, shift = np.linalg.inv(s), np.linalg.inv(t), m - n
                both[i, j] = (np.trace(p @ t) + np.trace(q @ s) - 2 * len(m) + shift @ (p + q) @ shift) / 2
    np.fill_diagonal(both, 0)
    return both


def ranked(divergences, query, proximity, references):
    """The others in order, by a double loop."""
    others = [j for j in range(len(divergences)) if j != query]
    close = {
        j: np.mean(
            [
                divergences[query, r] > divergences[query, j] and divergences[j, r] > divergences[query, j]
                for r in references
                if r not in {query, j}
            ]
        )
        for j in others
    }
    return sorted(others, key=lambda j: (-close[j] if proximity else 0, divergences[query, j])), close


def drawn(n, seed=1, d=3):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n, d, 8))
    found = {
        f"r{i}": Gaussian(rng.standard_normal(d), root @ root.T / 8 + 0.1 * np.eye(d)) for i, root in enumerate(roots)
    }
    return AudioIndex.of(found, Parameters(coefficients=d))


@pytest.mark.parametrize("kind", ["kl", "js"])
@pytest.mark.parametrize("proximity", [False, True])
def test_neighbours_are_those_of_a_double_loop_whichever_way(kind, proximity):
    index = drawn(30)
    divergences = brute(index, kind)
    for query, near in index.neighbours(None, 7, divergence=kind, proximity=proximity).items():
        order, close = ranked(divergences, int(query[1:]), proximity, range(30))
        assert [int(other.identifier[1:]) for other in near] == order[:7]
        np.testing.assert_allclose(
            [other.divergence for other in near], divergences[int(query[1:]), order[:7]], rtol=1e-4
        )
        if proximity:
            assert [other.proximity for other in near] == pytest.approx([close[j] for j in order[:7]])


def test_by_default_neighbours_are_by_jensen_shannon_and_mutual_proximity(line):
    # With variance 1 and distance x, they are ln(1 + x^2 / 4) / 2 apart. For c at 3, e at 12: a, b and d are nearer to
    # c.
    near = line.neighbours(["c"], 4)["c"]
    assert [other.identifier for other in near] == ["b", "a", "d", "e"]
    assert [other.divergence for other in near] == pytest.approx([np.log(1 + x * x / 4) / 2 for x in (2, 3, 4, 9)])
    # From b, at 1, only e is farther than 2 (a and d are at 1 and 2), and it is farther from c; so of a, d, e one
    # counts.
    assert near[0].proximity == pytest.approx(1 / 3)


@pytest.mark.slow
def test_a_large_index_ranks_a_shortlist_against_a_sample(monkeypatch, tmp_path):
    for module, name, size in ((search, "SAMPLE", 40), (search, "SHORTLIST", 12), (search, "TOGETHER", 5)):
        monkeypatch.setattr(module, name, size)
    index = drawn(90)
    references = np.sort(np.random.default_rng(SEED).choice(90, 40, replace=False)).tolist()
    kl, js = brute(index, "kl"), brute(index, "js")
    for query, near in index.neighbours(None, 3).items():
        q = int(query[1:])
        shortlist = [j for j in np.argsort(kl[q]) if j != q][:12]
        order = [j for j in ranked(js, q, True, references)[0] if j in shortlist]
        assert [int(other.identifier[1:]) for other in near] == order[:3]


def test_a_new_clip_has_the_neighbours_it_would_have_inside():
    index = drawn(30)
    clip = AudioIndex(index.recordings[4:5], index.rows[4:5], index.parameters)
    rest = AudioIndex(
        (*index.recordings[:4], *index.recordings[5:]), np.delete(index.rows, 4, axis=0), index.parameters
    )
    for kind in ("kl", "js"):
        for proximity in (False, True):
            options = {"divergence": kind, "proximity": proximity}
            (found,), (expected,) = (
                known.values()
                for known in (rest.neighbours_of(clip, 6, **options), index.neighbours(["r4"], 6, **options))
            )
            assert [(n.identifier, n.proximity) for n in found] == [(n.identifier, n.proximity) for n in expected]
            np.testing.assert_allclose([n.divergence for n in found], [n.divergence for n in expected], rtol=1e-9)


def test_a_new_clip_of_other_parameters_is_refused(line, index):
    message = r"^cannot compare frames of other parameters \(.* 20 coefficients, .*\), expected .* 1 coefficients$"
    with pytest.raises(InputError, match=message):
        line.neighbours_of(index, 1)


def test_silent_recordings_are_nobody_s_neighbours_and_have_some():
    index = drawn(20)
    quiet = {3, 7, 8}
    recordings = [replace(recording, silent=i in quiet) for i, recording in enumerate(index.recordings)]
    some = AudioIndex(recordings, index.rows, index.parameters)
    for kind in ("kl", "js"):
        for proximity in (False, True):
            found = some.neighbours(None, 30, divergence=kind, proximity=proximity)
            for query, near in found.items():
                names = {int(other.identifier[1:]) for other in near}
                assert names == set(range(20)) - quiet - {int(query[1:])}
                assert np.isfinite([other.divergence for other in near]).all()


def test_an_index_of_nothing_but_silence_has_no_neighbours():
    index = drawn(3)
    silent = [replace(recording, silent=True) for recording in index.recordings]
    assert AudioIndex(silent, index.rows, index.parameters).neighbours(None, 2) == {"r0": (), "r1": (), "r2": ()}


def test_two_recordings_are_neighbours_though_nothing_is_left_to_refer_to():
    (near,) = drawn(2).neighbours(["r0"], 1)["r0"]
    assert near.identifier == "r1"
    assert np.isnan(near.proximity)


@pytest.fixture
def large(monkeypatch, tmp_path):
    """An index packed on disk, with some rows replaced and some removed; and the same in memory."""
    monkeypatch.setattr(packing, "LARGE", 10)
    index, other = drawn(60), drawn(60, seed=2)
    index.save(tmp_path / "index")
    with Appender(tmp_path / "index", index.parameters) as appender:
        for place in (5, 17):
            appender.append(replace(index.recordings[place], silent=place == 17), other.rows[place])
        appender.remove("r30")
    places = [place for place in range(60) if place != 30]
    rows = np.array(index.rows)
    rows[[5, 17]] = other.rows[[5, 17]]
    recordings = [replace(index.recordings[place], silent=place == 17) for place in places]
    return tmp_path / "index", AudioIndex(recordings, rows[places], index.parameters)


def alike(one, other):
    for kind in ("kl", "js"):
        for proximity in (False, True):
            options = {"divergence": kind, "proximity": proximity}
            found, expected = one.neighbours(None, 5, **options), other.neighbours(None, 5, **options)
            assert list(found) == list(expected)
            for name, near in found.items():
                assert [n.identifier for n in near] == [n.identifier for n in expected[name]]
                np.testing.assert_allclose(
                    [n.divergence for n in near], [n.divergence for n in expected[name]], rtol=1e-9
                )


@pytest.mark.slow
def test_an_index_packed_on_disk_answers_as_one_in_memory(large):
    folder, expected = large
    index = AudioIndex.load(folder)
    assert len(index) == len(expected) == 59
    assert same(index, expected)
    assert isinstance(index.rows, np.ndarray)
    alike(index, expected)
    assert (folder / packing.SIDES).stat().st_size == 63 * 4 * 22  # d = 3: A and B of ten numbers, two lengths
    np.testing.assert_allclose(index.divergence(), expected.divergence(), rtol=1e-4)
    np.testing.assert_allclose(
        index.divergence(["r5", "r31"], None, "double"), expected.divergence(["r5", "r31"], None, "double"), rtol=1e-9
    )


@pytest.mark.slow
def test_the_packed_file_grows_with_the_index_and_is_made_again_where_it_is_bad(large):
    folder, expected = large
    assert AudioIndex.load(folder).divergence(["r1"], ["r2"]).shape == (1, 1)
    before = (folder / packing.SIDES).read_bytes()
    with Appender(folder, expected.parameters) as appender:
        appender.append(Recording("new"), drawn(1, seed=3).rows[0])
    grown = expected.joined(AudioIndex((Recording("new"),), drawn(1, seed=3).rows, expected.parameters))
    alike(AudioIndex.load(folder), grown)
    near = AudioIndex.load(folder).neighbours(None, 5, divergence="kl")  # reads all that is packed
    whole = (folder / packing.SIDES).read_bytes()
    assert whole.startswith(before)
    flipped = bytearray(whole)
    flipped[1234] ^= 4
    for content in (whole[:100], whole[:-3], b"", bytes(flipped), bytes(flipped[:2000])):
        (folder / packing.SIDES).write_bytes(content)
        assert AudioIndex.load(folder).neighbours(None, 5, divergence="kl") == near
        assert (folder / packing.SIDES).read_bytes() == whole
    sums = (folder / packing.SUMS).read_bytes()
    for content in (sums[:16], sums[:20], b"", bytes([*sums[:9], sums[9] ^ 1, *sums[10:]])):
        (folder / packing.SUMS).write_bytes(content)
        assert AudioIndex.load(folder).neighbours(None, 5, divergence="kl") == near
        assert (folder / packing.SIDES).read_bytes() == whole
    (folder / packing.SIDES).unlink()
    (folder / packing.WHITENER).write_text("{")
    alike(AudioIndex.load(folder), grown)
    text = (folder / packing.WHITENER).read_text()
    (folder / packing.WHITENER).write_text(text.replace("1", "2", 1))
    alike(AudioIndex.load(folder), grown)
    assert (folder / packing.WHITENER).read_text() == text


@pytest.mark.slow
def test_of_a_large_index_the_rows_that_a_search_reads_are_checked_and_no_others(monkeypatch, tmp_path):
    monkeypatch.setattr(packing, "LARGE", 10)
    monkeypatch.setattr(search, "SAMPLE", 20)  # references, and the size up to which all recordings are ranked
    monkeypatch.setattr(search, "SHORTLIST", 8)
    whole = drawn(100)
    whole.save(tmp_path / "index")
    expected = AudioIndex.load(tmp_path / "index").neighbours(["r0"], 2)  # packs the index, which reads every row
    rows = tmp_path / "index" / "gaussians.f32"
    intact, row_bytes = rows.read_bytes(), 4 * whole.rows.shape[1]
    refused = []
    for place in range(100):
        damaged = bytearray(intact)
        damaged[place * row_bytes + 2] ^= 1
        rows.write_bytes(bytes(damaged))
        try:
            assert AudioIndex.load(tmp_path / "index").neighbours(["r0"], 2) == expected
        except FormatError as error:
            assert f"gaussians.f32:{place + 1}: the row is damaged" in str(error)  # noqa: PT017 - it need not be raised
            refused.append(place)
    named = {f"r{place}" for place in refused}
    assert {"r0", *(one.identifier for one in expected["r0"])} <= named
    assert len(refused) <= 1 + 8 + 20 + 2  # the query, its shortlist with ties, and the references


@pytest.mark.slow
def test_an_index_that_cannot_be_written_to_is_packed_in_memory(large):
    folder, expected = large
    (folder / packing.SIDES).mkdir()  # prevents writing, even for root
    alike(AudioIndex.load(folder), expected)
    assert (folder / packing.SIDES).is_dir()


def test_what_has_no_file_any_more_is_removed_on_request(album, tmp_path):
    shutil.copytree(album, tmp_path / "album")
    before = extract(tmp_path / "album", into=tmp_path / "index")
    (tmp_path / "album/a/two.flac").unlink()
    (tmp_path / "album/six.wav").unlink()
    kept = extract(tmp_path / "album", into=tmp_path / "index")
    assert kept.ids == before.ids
    pruned = extract(tmp_path / "album", into=tmp_path / "index", prune=True, read=no_read)
    assert pruned.ids == ("a/one", "a/three", "b/five", "b/four")
    assert np.array_equal(pruned.rows, before.rows[[0, 1, 3, 4]])


def test_an_index_that_does_not_fit_itself_is_refused():
    with pytest.raises(
        InputError, match=r"^rows must be \(1, 3\) to match the recordings and parameters, got \(1, 2\)$"
    ):
        AudioIndex((Recording("a"),), np.zeros((1, 2), np.float32), LINE)
    with pytest.raises(InputError, match=r"^two recordings are called 'a'$"):
        AudioIndex((Recording("a"), Recording("a")), np.ones((2, 3), np.float32), LINE)


def test_a_row_that_is_no_gaussian_is_never_compared():
    rows = np.array([[0, 1, 0], [0, np.nan, 0]], np.float32)
    broken = AudioIndex((Recording("a"), Recording("b")), rows, LINE)
    with pytest.raises(InputError, match=r"^covariance 1 must be finite and positive definite$"):
        broken.divergence()


@pytest.mark.slow
def test_importing_the_index_loads_nothing_heavy():
    heavy = "[name for name in ('librosa', 'joblib', 'sklearn', 'pandas', 'numba') if name in sys.modules]"
    command = f"import sys, audiosim.sound.index; print({heavy})"
    assert subprocess.check_output([sys.executable, "-c", command]).strip() == b"[]"


@pytest.mark.slow
def test_real_clips_of_one_game_are_nearer_than_chance_would_have_it(real_clips, real_index):
    # 96 clips of 8 games, twelve of each: eleven of the 95 others are of the same game.
    index = AudioIndex.load(real_index)
    assert (len(index.ids), index.failed) == (96, ())
    table = (real_clips[0].parent / "documents.tsv").read_text().splitlines()
    genre = {line.split("\t")[0]: line.split("\t")[2] for line in table}
    hits = [genre[q] == genre[near.identifier] for q, found in index.neighbours(None, 5).items() for near in found]
    assert np.mean(hits) > 2.5 * 11 / 95


@pytest.mark.slow
def test_the_command_ranks_as_it_is_asked_to(run, tmp_path):
    index = drawn(20)
    index.save(tmp_path / "index")
    for kind in ("kl", "js"):
        for flag, proximity in (("--mutual-proximity", True), ("--no-mutual-proximity", False)):
            code, out, _ = run(
                "neighbours", tmp_path / "index", "-k", "3", "--divergence", kind, flag, "--format", "json"
            )
            assert code == 0
            expected = index.neighbours(None, 3, divergence=kind, proximity=proximity)
            rows = [row for row in json.loads(out) if row["query"] == "r4"]
            assert [row["document"] for row in rows] == [near.identifier for near in expected["r4"]]
            assert [row["divergence"] for row in rows] == pytest.approx([near.divergence for near in expected["r4"]])
            assert ["proximity" in row for row in rows] == [proximity] * 3
            lines = run("neighbours", tmp_path / "index", "-k", "3", "--divergence", kind, flag)[1].splitlines()
            assert [line.split()[2] for line in lines if line.split()[0] == "r4"] == [row["document"] for row in rows]
