"""Several descriptions of a recording: neighbours compared with mutual proximities computed in full."""

import numpy as np
import pytest
import soundfile

from audiosim.collection.evidence import Evidence, read_vectors
from audiosim.errors import InputError
from audiosim.sound.descriptions import Searched, descriptions_of
from audiosim.sound.embedding import keep_vectors
from audiosim.sound.gaussians import Gaussian, to_rows
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.jensen_shannon import jensen_shannon_divergence
from audiosim.sound.neighbours import neighbours
from audiosim.sound.parameters import PLAIN, Parameters
from audiosim.sound.search import neighbours_by
from audiosim.sound.store import Recording

N, WITHOUT = 40, 7  # recordings, and how many of them have no vector


@pytest.fixture
def folder(tmp_path):
    """An index, and vectors of all its recordings but the last few."""
    rng = np.random.default_rng(0)
    gaussians = {}
    for place in range(N):
        spread = rng.normal(size=(PLAIN.dimension, PLAIN.dimension))
        gaussians[f"r{place}"] = Gaussian(rng.normal(size=PLAIN.dimension), spread @ spread.T + np.eye(PLAIN.dimension))
    AudioIndex.of(gaussians, PLAIN).save(tmp_path / "index")
    np.save(tmp_path / "net.npy", rng.normal(size=(N - WITHOUT, 8)))
    (tmp_path / "net.ids").write_text("".join(f"r{place}\n" for place in range(N - WITHOUT)))
    keep_vectors(tmp_path / "index", [tmp_path / "net.npy"], tuple(gaussians))
    return tmp_path / "index"


def proximity_in_full(divergences):
    """Schnitzer et al. (2012), section 3.2: the share of other recordings that are farther from both."""
    n = len(divergences)
    found = np.full((n, n), np.nan)
    for x in range(n):
        for y in range(n):
            others = [r for r in range(n) if r not in (x, y)]
            far = [divergences[x, r] > divergences[x, y] and divergences[y, r] > divergences[x, y] for r in others]
            found[x, y] = np.mean(far)
    return found


@pytest.mark.slow
def test_neighbours_go_by_the_mean_of_the_proximities_of_both_descriptions(folder):
    index, searched = AudioIndex.load(folder), Searched.load([folder])
    by_sound = proximity_in_full(jensen_shannon_divergence(index.rows, None, index.parameters.dimension))
    vectors = np.load(folder.parent / "net.npy")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    by_vector = np.full((N, N), np.nan)
    by_vector[: N - WITHOUT, : N - WITHOUT] = proximity_in_full(1 - unit @ unit.T)
    expected = np.nanmean([by_sound, by_vector], axis=0)
    found = neighbours_by(searched, descriptions_of(searched), None, 5)
    for place in range(N):
        close = np.delete(expected[place], place)
        np.testing.assert_allclose([one.proximity for one in found[f"r{place}"]], np.sort(close)[::-1][:5], atol=1e-12)
        for one in found[f"r{place}"]:
            assert one.proximity == pytest.approx(expected[place, int(one.identifier[1:])])


def test_a_description_alone_can_be_asked_for(folder):
    index, searched = AudioIndex.load(folder), Searched.load([folder])
    by_sound = neighbours_by(searched, descriptions_of(searched, ["gaussians"]), ["r0"], 5)["r0"]
    assert [one.identifier for one in by_sound] == [one.identifier for one in index.neighbours(["r0"], 5)["r0"]]
    (net,) = descriptions_of(searched, ["net"])
    assert net.divergence(np.array([0]), np.array([0, 1])).tolist()[0][0] == 0
    near = neighbours_by(searched, [net], ["r0", f"r{N - 1}"], N)
    assert {one.identifier for one in near["r0"]} == {f"r{place}" for place in range(1, N - WITHOUT)}
    assert near[f"r{N - 1}"] == (), "without a vector nothing is near"
    with pytest.raises(InputError, match=r"no description 'nut', expected one of gaussians, levelled, net"):
        descriptions_of(searched, ["nut"])


def test_a_weight_of_almost_nothing_leaves_the_other_description(folder):
    searched = Searched.load([folder])
    both = neighbours_by(searched, descriptions_of(searched), ["r3"], 5, weights=[1.0, 1e-9])["r3"]
    alone = neighbours_by(searched, descriptions_of(searched, ["gaussians"]), ["r3"], 5)["r3"]
    np.testing.assert_allclose([one.proximity for one in both], [one.proximity for one in alone], atol=1e-8)


def test_recordings_by_the_artist_are_left_out(folder):
    searched = Searched.load([folder])
    artists = {"r0": "A", **{f"r{place}": "A" for place in range(20)}}
    near = neighbours_by(searched, descriptions_of(searched), ["r0", "r39"], N, artists)
    assert {int(one.identifier[1:]) for one in near["r0"]} == set(range(20, N))
    assert len(near["r39"]) == N - 1


@pytest.mark.slow
def test_the_command_takes_all_that_the_index_has(folder, run):
    code, out, _ = run("neighbours", folder, "-k", 3)
    near = neighbours(folder, 3)
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()[:3]] == [one.identifier for one in near.found["r0"]]
    _, alone, _ = run("neighbours", folder, "-k", 3, "--by", "gaussians")
    assert alone != out
    code, _, err = run("neighbours", folder, "--by", "net", "--divergence", "kl")
    assert code == 1
    assert "several descriptions are compared in this process, by Jensen-Shannon" in err


def test_vectors_that_fit_no_recording_are_refused(folder, tmp_path):
    np.save(tmp_path / "other.npy", np.ones((1, 3)))
    (tmp_path / "other.ids").write_text("x\n")
    with pytest.raises(InputError, match="none of its 1 recordings is in the index, such as x"):
        keep_vectors(folder, [tmp_path / "other.npy"], ["r0"])
    (tmp_path / "numbers.csv").write_text("document,year\nr0,1999\n")
    with pytest.raises(InputError, match="numbers has a number for each document, expected a vector"):
        keep_vectors(folder, [tmp_path / "numbers.csv"], ["r0"])
    assert [piece.name for piece in read_vectors(folder)] == ["net"]


@pytest.mark.slow
def test_how_loud_a_recording_is_does_not_matter_where_it_is_levelled(tmp_path, music):
    for name, samples in (("soft", 0.1 * music(5)), ("loud", music(5)), ("other", music(5, seed=1))):
        soundfile.write(tmp_path / f"{name}.wav", samples, 22_050, subtype="FLOAT")
    extract(tmp_path, into=tmp_path / "index")
    index, searched = AudioIndex.load(tmp_path / "index"), Searched.load([tmp_path / "index"])
    soft, loud, other = index.find(["soft", "loud", "other"])
    plain, levelled = descriptions_of(searched, ["gaussians", "levelled"])
    assert plain.divergence(np.array([soft]), np.array([loud]))[0, 0] > 0.1
    assert levelled.divergence(np.array([soft]), np.array([loud]))[0, 0] < 1e-5
    assert levelled.divergence(np.array([soft]), np.array([other]))[0, 0] > 0.1
    without = extract(tmp_path, parameters=Parameters(first=False))
    with pytest.raises(InputError, match="levelled needs the first coefficient of MFCC, found frames from mfcc 1 on"):
        descriptions_of(Searched((without,)), ["levelled"])


def test_vectors_of_an_index_are_evidence_of_sound(folder):
    (piece,) = read_vectors(folder)
    assert piece.of_sound
    with pytest.raises(InputError, match="expected vectors, as it describes how documents sound"):
        Evidence("year", "document", ("r0",), np.ones(1), of_sound=True)


@pytest.mark.slow
def test_a_recording_of_a_limited_band_finds_the_same_in_the_whole_band(tmp_path):
    # Of 40 recordings each, the limited ones are all moved far to one side: the nearest is of the same kind, but among
    # the distances to the other kind, that to the same recording is the least.
    rng, d = np.random.default_rng(4), PLAIN.dimension
    means = rng.normal(size=(40, d)) * (np.arange(d) > 0)
    moved = np.concatenate([means, means + 20.0 * np.eye(d)[0]])
    rows = to_rows(moved, np.tile(np.eye(d), (80, 1, 1)))
    known = tuple(Recording(f"r{n}", limit_hz=5500.0 if n >= 40 else None) for n in range(80))
    AudioIndex(known, rows, PLAIN).save(tmp_path / "index")
    index = AudioIndex.load(tmp_path / "index")
    assert index.counts() == {"band_limited": 40, "silent": 0}
    searched = Searched((index,))
    for near in (index.neighbours(None, 2), neighbours_by(searched, descriptions_of(searched), None, 2)):
        # Two of the same kind may be each other's nearest as well, and then come first.
        found = {name: {one.identifier for one in two if one.proximity == 1} for name, two in near.items()}
        assert all(f"r{(n + 40) % 80}" in found[f"r{n}"] for n in range(80))
    alone = AudioIndex(tuple(Recording(f"r{n}") for n in range(80)), rows, PLAIN).neighbours(None, 2)
    assert all((int(name[1:]) < 40) == (int(one.identifier[1:]) < 40) for name, two in alone.items() for one in two)
