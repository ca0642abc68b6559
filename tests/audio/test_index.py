"""From sound files to neighbours, with every accident on the way."""

import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from audiosim.audio.describe import Failure
from audiosim.audio.index import AudioIndex, Neighbour, extract, nearest_run
from audiosim.audio.mfcc import Parameters
from audiosim.audio.store import Recording
from audiosim.corpus.model import Run
from audiosim.errors import InputError
from audiosim.stats.gaussian import Gaussian

LINE = Parameters(coefficients=1)


@pytest.fixture(scope="module")
def index(album):
    return extract(album)


@pytest.fixture(scope="module")
def line():
    """Unit Gaussians at places on a line: the divergence is the square of how far apart they are."""
    places = {"a": 0.0, "b": 1.0, "c": 3.0, "d": -1.0, "e": 10.0}
    return AudioIndex.of({name: Gaussian(np.array([place]), np.eye(1)) for name, place in places.items()}, LINE)


@pytest.fixture
def mixed(tmp_path, album):
    """Four files that are all right and two that are not."""
    folder = tmp_path / "mixed"
    shutil.copytree(album, folder)
    (folder / "a/one.wav").write_bytes(b"no sound at all")
    (folder / "zero.wav").touch()
    return folder


def same(one, other):
    return one.recordings == other.recordings and np.array_equal(one.rows, other.rows)


def test_an_index_has_a_gaussian_for_each_recording(index):
    assert index.ids == ("a/one", "a/three", "a/two", "b/five", "b/four", "six")
    assert (index.means.shape, index.covariances.shape) == ((6, 20), (6, 20, 20))
    assert index.failed == ()
    for mean, covariance in zip(index.means, index.covariances, strict=True):
        Gaussian(mean, covariance)


def test_recordings_come_in_the_order_in_which_they_are_given(index, album):
    chosen = extract([album / "six.wav", album / "a/two.flac"])
    assert chosen.ids == ("six", "two")
    assert np.array_equal(chosen.rows, index.rows[[5, 2]])


def test_sources_can_be_named_by_the_caller(index, album):
    assert extract({"mine": album / "six.wav"}).ids == ("mine",)


def test_the_number_of_workers_changes_nothing(index, album, tmp_path):
    assert same(extract(album, n_jobs=2), index)
    extract(album, into=tmp_path / "one")
    extract(album, n_jobs=2, into=tmp_path / "two")
    for name in ("index.json", "gaussians.f64", "recordings.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_bad_files_are_listed_and_the_rest_is_done(mixed):
    result = extract(mixed, n_jobs=2)
    assert result.ids == ("a/three", "a/two", "b/five", "b/four", "six")
    assert result.failed == (
        Failure(
            str(mixed / "a/one.wav"),
            "cannot be decoded (Format not recognised), expected WAV, FLAC, Ogg, MP3 or AIFF",
        ),
        Failure(str(mixed / "zero.wav"), "is empty, expected a sound file"),
    )


def test_nothing_but_bad_files_gives_an_empty_index(mixed, tmp_path):
    for into in (None, tmp_path / "index"):
        result = extract([mixed / "zero.wav"], into=into)
        assert (result.ids, len(result.failed), result.divergence().shape) == ((), 1, (0, 0))
        assert (result.means.shape, result.covariances.shape) == ((0, 20), (0, 20, 20))
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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_keeps_what_is_done(index, album, tmp_path, n_jobs):
    def interrupt(done, failed, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(album, n_jobs, into=tmp_path / "index", progress=interrupt)
    assert AudioIndex.load(tmp_path / "index").ids == index.ids[:3]
    assert same(extract(album, n_jobs, into=tmp_path / "index"), index)


EXTRACT_FOR_EVER = """
import sys
from audiosim.audio.index import extract
def shown(done, failed, total):
    if done == 40: print("going", flush=True)
extract({str(n): sys.argv[1] for n in range(100_000)}, int(sys.argv[3]), into=sys.argv[2], progress=shown)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_an_extraction_that_is_killed_keeps_what_is_done(index, album, tmp_path, by):
    folder = tmp_path / "index"
    command = [sys.executable, "-c", EXTRACT_FOR_EVER, album / "six.wav", folder, "2"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout.readline() == b"going\n"
    running.send_signal(by)
    running.communicate(timeout=30)  # ends when the last of its workers has let go of the pipe
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
    np.testing.assert_allclose(joined.divergence(["f"], ["a", "e", "f"]), [[25, 25, 0]])


def test_indexes_of_other_parameters_are_not_compared(line, index):
    message = r"^cannot compare frames of other parameters \(.* 20 coefficients\), expected .* 1 coefficients$"
    with pytest.raises(InputError, match=message):
        line.joined(index)


def test_divergences_are_between_the_recordings_asked_for(line):
    np.testing.assert_allclose(line.divergence(["c", "a"], ["b", "c"]), [[4, 0], [1, 9]])
    np.testing.assert_allclose(line.divergence(["a"]), [[0, 1, 9, 1, 100]])
    assert np.array_equal(line.divergence(), line.divergence().T)
    assert not line.divergence().diagonal().any()


def test_neighbours_are_nearest_first_and_never_the_recording_itself(line):
    nearest = line.neighbours(["c", "a"], 2)
    assert list(nearest) == ["c", "a"]
    assert [near.identifier for near in nearest["c"]] == ["b", "a"]
    assert [near.divergence for near in nearest["c"]] == pytest.approx([4, 9])
    assert nearest["a"] == (Neighbour("b", pytest.approx(1)), Neighbour("d", pytest.approx(1)))


def test_neighbours_are_those_of_a_full_sort(index):
    divergence = index.divergence()
    for query, near in index.neighbours(None, 3).items():
        row = divergence[index.ids.index(query)]
        order = [index.ids[j] for j in np.argsort(row) if index.ids[j] != query]
        assert [neighbour.identifier for neighbour in near] == order[:3]


def test_there_are_fewer_neighbours_where_there_are_no_more(line):
    assert [len(near) for near in line.neighbours(None, 100).values()] == [4] * 5


def test_an_exact_copy_is_the_nearest_neighbour(album, index, tmp_path):
    shutil.copy(album / "six.wav", tmp_path / "copy.wav")
    joined = index.joined(extract(tmp_path))
    assert joined.neighbours(["copy"], 1) == {"copy": (Neighbour("six", 0.0),)}


def test_the_same_artist_is_left_out_and_an_unknown_one_leaves_nothing_out(line):
    artists = {"a": "X", "b": "X", "c": "Y", "d": None, "e": "", "gone": "X"}
    names = {query: [near.identifier for near in found] for query, found in line.neighbours(None, 9, artists).items()}
    assert names["a"] == ["d", "c", "e"]
    assert names["b"] == ["c", "d", "e"]
    assert names["d"] == ["a", "b", "c", "e"]
    assert names["e"] == ["c", "b", "a", "d"]


def test_a_run_retrieves_the_neighbours_in_their_order(line):
    run = nearest_run(line, "nearest", {"c": "c", "last": "e"}, 2, {"c": "X", "b": "X"})
    assert run == Run("nearest", {"c": ("a", "d"), "last": ("c", "b")})


def test_an_unknown_recording_is_named(line):
    message = r"^no recording is called 'nobody' in this index of 5$"
    with pytest.raises(InputError, match=message):
        line.neighbours(["nobody"], 1)
    with pytest.raises(InputError, match=message):
        line.divergence(["a"], ["nobody"])


def test_no_neighbours_cannot_be_asked_for(line):
    with pytest.raises(InputError, match=r"^k must be at least 1, got 0$"):
        line.neighbours(["a"], 0)


def test_an_index_that_does_not_fit_itself_is_refused():
    with pytest.raises(
        InputError, match=r"^rows must be \(1, 2\) to match the recordings and parameters, got \(1, 3\)$"
    ):
        AudioIndex((Recording("a"),), np.zeros((1, 3)), LINE)
    with pytest.raises(InputError, match=r"^two recordings are called 'a'$"):
        AudioIndex((Recording("a"), Recording("a")), np.ones((2, 2)), LINE)


def test_a_row_that_is_no_gaussian_is_never_compared():
    broken = AudioIndex((Recording("a"), Recording("b")), np.array([[0.0, 1.0], [0.0, np.nan]]), LINE)
    with pytest.raises(InputError, match=r"^covariance 1 must be finite and positive definite$"):
        broken.divergence()


def test_importing_the_index_loads_nothing_heavy():
    heavy = "[name for name in ('librosa', 'joblib', 'sklearn', 'pandas', 'numba') if name in sys.modules]"
    command = f"import sys, audiosim.audio.index; print({heavy})"
    assert subprocess.check_output([sys.executable, "-c", command]).strip() == b"[]"


def test_real_clips_of_one_game_are_nearer_than_chance_would_have_it(real_clips):
    # 96 clips of 8 games, twelve of each: eleven of the 95 others are of the same game.
    index = extract(real_clips[0].parent / "documents.tsv", n_jobs=2)
    assert (len(index.ids), index.failed) == (96, ())
    table = (real_clips[0].parent / "documents.tsv").read_text().splitlines()
    genre = {line.split("\t")[0]: line.split("\t")[2] for line in table}
    hits = [genre[q] == genre[near.identifier] for q, found in index.neighbours(None, 5).items() for near in found]
    assert np.mean(hits) > 2.5 * 11 / 95
