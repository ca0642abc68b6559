"""Recordings on a line: divergences of Gaussians with variance 1 are squared differences of means, easy to count."""

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.evidence import Evidence
from audiosim.collection.kinds import read_documents
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BINARY, FINE, Run
from audiosim.ordinal import sound as audio
from audiosim.ordinal.features import columns
from audiosim.sound import closeness as neighbourhood
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters

UNKNOWN = np.nan
LINE = Parameters(coefficients=1)
PLACES = {"q1": 0, "a": 1, "b": 3, "c": 10, "d": -2, "e": 4, "x": 100}


def index_at(folder, places):
    index = AudioIndex.of({name: Gaussian(np.array([float(x)]), np.eye(1)) for name, x in places.items()}, LINE)
    index.save(folder)
    return folder


@pytest.fixture
def pool(tiny, tmp_path):
    return build_pool(replace(tiny, sounds=index_at(tmp_path / "sounds.index", PLACES)))


@pytest.fixture
def truth(pool, tiny_truth):
    return pool.spread({judgment.pair: judgment.grade for judgment in tiny_truth})


def one(pool, grades, name):
    return columns(pool, grades, [name])[name]


def one_query(tmp_path, places, documents):
    """A pool of one query q, one system, with recordings at some places."""
    sounds = index_at(tmp_path / "line.index", places)
    return build_pool(Collection("line", "line", FINE, 99, (Run("S", {"q": tuple(documents)}),), sounds=sounds))


def test_proximity_to_the_query_is_the_share_of_recordings_farther_from_both(pool, truth):
    # a is at 1 from q1: b c d e x are farther from both. b is at 9 from it: c and x are farther, e is at 1 from b. c:
    # only x. d is at 4 from q1: b c e x are farther from both, but not a. q2 and f have no recording.
    np.testing.assert_allclose(one(pool, truth, "qSIM"), [1, 2 / 5, UNKNOWN, UNKNOWN, 1 / 5, 4 / 5, UNKNOWN])


def test_proximity_is_unknown_in_an_index_of_two(tmp_path):
    pool = one_query(tmp_path, {"q": 0, "a": 1}, ["a", "b"])
    assert np.isnan(one(pool, np.full(2, np.nan), "qSIM")).all()


def test_a_query_is_as_close_to_itself_as_can_be(tmp_path):
    pool = one_query(tmp_path, {"q": 0, "a": 1, "b": 9}, ["q", "b", "a"])
    np.testing.assert_array_equal(one(pool, np.full(3, np.nan), "qSIM"), [1, 0, 1])


def divergence(one, other):
    """Symmetrised Kullback-Leibler divergence from the textbook formula, of means and covariances."""
    (m, s), (n, t) = one, other
    p, q, shift = np.linalg.inv(s), np.linalg.inv(t), m - n
    return (np.trace(p @ t) + np.trace(q @ s) - 2 * len(m) + shift @ (p + q) @ shift) / 2


@pytest.fixture(scope="session")
def distances(sounding):
    """Divergences between recordings, by their identifiers."""
    index = AudioIndex.load(sounding.sounds)
    known = dict(zip(index.ids, zip(index.means, index.covariances, strict=True), strict=True))
    return {(i, j): divergence(known[i], known[j]) if i != j else 0.0 for i in known for j in known}


def jensen_shannon(one, other):
    """From the definition, by numpy's determinants."""
    (m, s), (n, t) = one, other
    merged = (s + t) / 2 + np.outer(m - n, m - n) / 4
    first, second, both = (np.linalg.slogdet(matrix)[1] for matrix in (s, t, merged))
    return (both - (first + second) / 2) / 2


@pytest.mark.parametrize("held", [1, 100, 2_000_000])
def test_proximity_is_what_a_double_loop_counts_however_much_is_held_at_a_time(sounding, monkeypatch, held):
    monkeypatch.setattr(neighbourhood, "DIVERGENCES", held)
    index = AudioIndex.load(sounding.sounds)
    known = dict(zip(index.ids, zip(index.means, index.covariances, strict=True), strict=True))
    distances = {(i, j): jensen_shannon(known[i], known[j]) for i in known for j in known}
    expected = []
    for query, document in sounding.pairs:
        if {query, document} <= set(known):
            d = distances[document, query]
            others = set(known) - {query, document}
            expected.append(np.mean([distances[document, j] > d and distances[query, j] > d for j in others]))
        else:
            expected.append(np.nan)
    assert 0 < np.isnan(expected).sum() < len(expected)
    monkeypatch.setattr(neighbourhood, "_MEMORIES", OrderedDict())
    monkeypatch.setattr(audio, "neighbourhood_of", audio.neighbourhood_of.__wrapped__)
    np.testing.assert_allclose(audio.gaussian_proximity.__wrapped__(sounding), expected, rtol=1e-12)


def test_of_a_large_index_proximity_refers_to_some_recordings_drawn_once(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbourhood, "REFERENCES", 40)
    places = {f"d{i}": x for i, x in enumerate(np.random.default_rng(0).normal(size=400))}
    pool = one_query(tmp_path, {"q": 0.0} | places, list(places)[:50])
    near = one(pool, np.full(50, np.nan), "qSIM")
    x, every = np.abs([places[name] for name in list(places)[:50]]), np.array(list(places.values()))
    for name, d, found in zip(places, x, near, strict=False):
        share = np.mean((np.abs(every) > d) & (np.abs(every - places[name]) > d))
        assert found == pytest.approx(share, abs=0.25)  # 40 drawn: three standard errors
    assert np.array_equal(near, one(one_query(tmp_path / "b", {"q": 0.0} | places, list(places)[:50]), near, "qSIM"))


def test_the_grade_of_the_nearest_is_counted_by_hand(pool, truth):
    # Nearest judged: of a b (at 2), of b a (2), of c b (7), of d a (3); b and e have only each other in q2.
    np.testing.assert_array_equal(one(pool, truth, "aSIM"), [60, 90, 70, 30, 60, 90, UNKNOWN])


def test_of_grades_equally_near_the_lowest_counts(tmp_path):
    pool = one_query(tmp_path, {"a": 0, "b": 3, "c": -3, "d": 30}, "abcd")
    assert one(pool, np.array([0.0, 60, 10, 50]), "aSIM")[0] == 10


def test_judged_recordings_weigh_by_their_closeness(pool, truth):
    # Fewer than seven others: bandwidths are the largest divergences, 81 for a, 49 for b, 144 for c and d.
    values = one(pool, truth, "kSIM")
    weights = np.exp([-4 / (9 * 7), -81 / (9 * 12), -9 / (9 * 12)])
    assert values[0] == pytest.approx(weights @ [60, 20, 10] / weights.sum())
    np.testing.assert_array_equal(values[[2, 3, 6]], [70, 30, UNKNOWN])


def test_weighted_grades_are_what_a_double_loop_gives(sounding, distances):
    grades = np.random.default_rng(3).integers(0, 101, len(sounding.pairs)).astype(float)
    grades[::3] = np.nan
    values = one(sounding, grades, "kSIM")
    heard = {name for name, _ in distances}
    for i, (query, document) in enumerate(sounding.pairs):
        others = [d for q, d in sounding.pairs if q == query and d in heard]
        if document not in heard:
            assert np.isnan(values[i])
            continue
        bandwidth = {d: sorted(distances[d, e] for e in others if e != d)[:7][-1] for d in others}
        total = weight = 0.0
        for j, (other_query, other) in enumerate(sounding.pairs):
            if other_query == query and other in heard and j != i and not np.isnan(grades[j]):
                w = np.exp(-distances[document, other] / np.sqrt(bandwidth[document] * bandwidth[other]))
                total, weight = total + w * grades[j], weight + w
        assert values[i] == pytest.approx(total / weight, rel=1e-9)


def test_far_documents_still_have_a_weighted_mean(tmp_path):
    places = {name: 0.1 * i for i, name in enumerate("abcdefgh")} | {"z": 1e6}
    pool = one_query(tmp_path, places, places)
    grades = np.array([80.0] + [np.nan] * 8)
    np.testing.assert_allclose(one(pool, grades, "kSIM"), [UNKNOWN] + [80] * 8)


def test_a_bandwidth_of_nothing_leaves_only_recordings_that_are_the_same(tmp_path):
    places = dict.fromkeys("abcdefgh", 5) | {"z": 6}
    pool = one_query(tmp_path, places, places)
    grades = np.array([80.0, 20] + [np.nan] * 6 + [50])
    np.testing.assert_allclose(one(pool, grades, "kSIM"), [20, 80] + [50] * 6 + [UNKNOWN])


def by_two_descriptions(places, vectors):
    """Mean of both divergences, each in units of its median over common recordings; infinite if one is missing."""
    names = sorted({*places, *vectors})
    pairs = [(i, j) for i in names for j in names if i != j]
    squared = {(i, j): (places[i] - places[j]) ** 2 for i, j in pairs if i in places and j in places}
    angles = {
        (i, j): 1 - np.dot(vectors[i], vectors[j]) / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j])
        for i, j in pairs
        if i in vectors and j in vectors
    }
    units = [(one, np.median(list(one.values()))) for one in (squared, angles) if one]
    both = {pair: [one[pair] / unit for one, unit in units if pair in one] for pair in pairs}
    return {pair: np.mean(known) if known else np.inf for pair, known in both.items()}


@pytest.mark.parametrize("alone", [False, True])
def test_vectors_of_sound_count_beside_gaussians_in_features_of_judgments(tmp_path, alone):
    # g has no vector, h no recording; or there are only vectors.
    rng = np.random.default_rng(8)
    places = {} if alone else {name: float(x) for name, x in zip("abcdefg", rng.normal(size=7), strict=True)}
    vectors = {name: rng.normal(size=3) for name in "abcdefh"}
    piece = Evidence("net", "document", tuple(vectors), np.array([*vectors.values()]), of_sound=True)
    sounds = index_at(tmp_path / "line.index", places) if places else None
    runs = (Run("S", {"q": tuple("abcdefgh")}),)
    pool = build_pool(Collection("line", "line", FINE, 99, runs, sounds=sounds, evidence=(piece,)))
    grades = np.array([10.0, np.nan, 30, 70, np.nan, 90, 50, 20])
    apart, names = by_two_descriptions(places, vectors), [pair.document for pair in pool.pairs]
    grade = dict(zip("abcdefgh", grades, strict=True))
    nearest, mean = (one(pool, np.array([grade[name] for name in names]), what) for what in ("aSIM", "kSIM"))
    for i, name in enumerate(names):
        near = {d: apart[name, d] for d in grade if d != name and (name, d) in apart}
        judged = {d: x for d, x in near.items() if not np.isnan(grade[d]) and np.isfinite(x)}
        if not judged:
            assert np.isnan([nearest[i], mean[i]]).all()
            continue
        assert nearest[i] == grade[min(judged, key=judged.get)]

        def bandwidth(d):
            finite = sorted(apart[d, e] for e in grade if (d, e) in apart and np.isfinite(apart[d, e]))
            return np.sqrt(finite[:7][-1])

        weights = np.exp([-x / (bandwidth(name) * bandwidth(d)) for d, x in judged.items()])
        assert mean[i] == pytest.approx(
            weights @ [grade[d] for d in judged] / weights.sum(), rel=1e-6
        )  # an index is in single precision


@pytest.mark.parametrize("name", ["aSIM", "kSIM"])
def test_audio_features_of_judgments_are_unknown_before_anything_is_judged(pool, name):
    assert np.isnan(one(pool, np.full(len(pool.pairs), np.nan), name)).all()


@pytest.mark.parametrize("name", ["qSIM", "aSIM", "kSIM"])
def test_without_an_index_every_audio_feature_is_unknown(tiny, truth, name):
    assert np.isnan(one(build_pool(tiny), truth, name)).all()


def test_no_index_is_opened_while_no_audio_feature_is_asked_for(tiny, truth, tmp_path):
    # A folder that is no index would be refused.
    from audiosim.errors import InputError

    pool = build_pool(replace(tiny, sounds=tmp_path))
    columns(pool, truth, ["fSYS", "aSYS"])
    with pytest.raises(InputError, match="is not an index, expected a folder with index.json"):
        columns(pool, truth, ["qSIM"])


@pytest.mark.slow
def test_proximity_finds_real_clips_of_the_same_game_far_above_chance(real_games):
    pool, same = real_games
    near = one(pool, np.full(len(pool.pairs), np.nan), "qSIM")
    found = [same[rows[np.argsort(-near[rows], kind="stable")[:5]]].mean() for rows in rows_of_queries(pool)]
    chance = same.mean()
    assert chance == pytest.approx(11 / 95)
    assert np.mean(found) > 2.5 * chance


def rows_of_queries(pool):
    return [np.flatnonzero(pool.query == code) for code in range(len(pool.queries))]


@pytest.fixture(scope="module")
def real_games(real_sounds, real_index):
    """Every real clip as a query, with all others as its documents; and the pairs from the same game."""
    documents = read_documents(real_sounds)
    run = Run("all", {query: tuple(d for d in documents if d != query) for query in documents})
    pool = build_pool(Collection("games", "games", BINARY, 95, (run,), sounds=real_index))
    game = {name: document.genre for name, document in documents.items()}
    return pool, np.array([game[query] == game[document] for query, document in pool.pairs])
