"""The covariance of a pool's grades, compared pair by pair with the effects that pairs share."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Run
from audiosim.joint import terms as random_effects
from audiosim.joint.terms import layout_of, sound_kernels
from audiosim.ordinal.model import ALWAYS, METADATA, SOUND
from audiosim.ordinal.sound import closeness
from audiosim.sound.gaussians import Gaussian
from audiosim.sound.index import AudioIndex
from audiosim.sound.parameters import Parameters
from audiosim.sound.proximity import nearest_correlation
from audiosim.stats.normal.layout import REST

NAMES = ("query", "retrievers", "query_genre", "query_artist", "genres", "artist", "consensus", "team", "system", REST)
STANDARD_DEVIATIONS = dict(zip(NAMES, [0.5, 0.35, 0.45, 0.3, 0.4, 0.25, 0.2, 0.15, 0.1, 0.65], strict=True))


FOUND = ("retrievers", "consensus", "team", "system")  # effects shared through the systems that found a pair


@pytest.fixture(scope="module")
def small():
    """Four systems of three teams, four queries, cutoff 3; with every kind of known and unknown value.

    query  A          B        C        D        genre of the query
    q1     a b e      b a c    c f b    a g f    rock
    q2     c a t (h)  d c u    e d b    c h f    jazz
    q3     a c e      c e a    b h a    f e b    unknown
    q4     b g a      a b d    g a f    d b a    rock

    Artists X (a, c), Y (b) and Z (d, e) are in several queries, so is W (g); T (t, u) and folk for jazz are in q2
    alone. The genre of e, the artist of h, and both of f are unknown.
    """
    documents = [
        Document("a", "X", "rock"),
        Document("b", "Y", "rock"),
        Document("c", "X", "jazz"),
        Document("d", "Z", "jazz"),
        Document("e", "Z"),
        Document("g", "W", "rock"),
        Document("h", None, "jazz"),
        Document("t", "T", "folk"),
        Document("u", "T", "folk"),
        Document("q1", "Q", "rock"),
        Document("q2", "Q", "jazz"),
        Document("q4", "Q", "rock"),
    ]
    runs = (
        Run("A", {"q1": ("a", "b", "e"), "q2": ("c", "a", "t", "h"), "q3": ("a", "c", "e"), "q4": ("b", "g", "a")}),
        Run("B", {"q1": ("b", "a", "c"), "q2": ("d", "c", "u"), "q3": ("c", "e", "a"), "q4": ("a", "b", "d")}),
        Run("C", {"q1": ("c", "f", "b"), "q2": ("e", "d", "b"), "q3": ("b", "h", "a"), "q4": ("g", "a", "f")}),
        Run("D", {"q1": ("a", "g", "f"), "q2": ("c", "h", "f"), "q3": ("f", "e", "b"), "q4": ("d", "b", "a")}),
    )
    by_name = {document.identifier: document for document in documents}
    return Collection("small", "small", FINE, 3, runs, by_name, teams={"A": "one", "B": "one", "C": "two"})


def in_full(found, standard_deviations):
    normal = found.normal(standard_deviations, np.zeros(len(found.scale)))
    return np.array([normal.column(place) for place in range(len(found.scale))])


def test_the_covariance_is_that_of_what_the_pairs_have_in_common(small, in_common):
    pool = build_pool(small)
    scale = np.random.default_rng(0).uniform(0.5, 2, len(pool.pairs))
    found = layout_of(pool, scale)
    assert found.names == NAMES
    assert set(NAMES) == {*ALWAYS, *METADATA, REST}
    np.testing.assert_allclose(
        in_full(found, STANDARD_DEVIATIONS), in_common(small).covariance(STANDARD_DEVIATIONS, scale), atol=1e-14
    )


@pytest.mark.parametrize("kind", NAMES[:-1])
def test_each_component_alone_is_what_its_definition_says(small, in_common, kind):
    pool = build_pool(small)
    ones, alone = np.ones(len(pool.pairs)), {kind: 1.0, REST: 2.0}
    found = layout_of(pool, ones)
    expected = in_common(small).covariance(alone, ones)
    np.testing.assert_allclose(in_full(found, dict.fromkeys(STANDARD_DEVIATIONS, 0.0) | alone), expected, atol=1e-14)


def test_some_entries_by_hand(small):
    # a and b for q1: query, genre, and rock for rock. a and c for q1: query and artist, both within it and at large.
    pool = build_pool(small)
    covariance = in_full(layout_of(pool, np.ones(len(pool.pairs))), STANDARD_DEVIATIONS | dict.fromkeys(FOUND, 0.0))

    def between(*pairs):
        return covariance[tuple(pool.positions[pair] for pair in pairs)]

    assert between(("q1", "a"), ("q1", "b")) == pytest.approx(0.5**2 + 0.45**2 + 0.4**2)
    assert between(("q1", "a"), ("q1", "c")) == pytest.approx(0.5**2 + 0.3**2 + 0.25**2)
    # X in two queries; rock for rock in two queries; an unknown genre of the query, and of a document, share nothing.
    assert between(("q1", "a"), ("q2", "c")) == pytest.approx(0.25**2)
    assert between(("q1", "b"), ("q4", "g")) == pytest.approx(0.4**2)
    assert between(("q3", "b"), ("q4", "g")) == 0
    assert between(("q1", "e"), ("q2", "d")) == pytest.approx(0.25**2)
    # T and folk for jazz are in q2 alone.
    assert between(("q2", "t"), ("q2", "u")) == pytest.approx(0.5**2 + 0.45**2 + 0.3**2 + 0.4**2 + 0.25**2)
    # Nothing is known about f; it is retrieved for q1 and q2.
    assert between(("q1", "f"), ("q2", "f")) == 0
    assert between(("q1", "f"), ("q1", "c")) == pytest.approx(0.5**2)


def test_a_pair_s_variance_does_not_depend_on_what_is_known_of_it(small):
    pool = build_pool(small)
    ones, standard_deviations = np.ones(len(pool.pairs)), STANDARD_DEVIATIONS | dict.fromkeys(FOUND, 0.0)
    for collection in (small, replace(small, documents={})):
        variance = np.diagonal(in_full(layout_of(build_pool(collection), ones), standard_deviations))
        np.testing.assert_allclose(variance, sum(size**2 for size in standard_deviations.values()), rtol=1e-14)


def by_lot(seed):
    """A collection with randomly unknown values; artists are letters, some of them rare."""
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(40)]
    letters = [*"AAAAABBBBCCCDDEFGHIJ", *[None] * 4]
    documents = {
        name: Document(name, letters[rng.integers(24)], [*"rjf", None][rng.integers(4)]) for name in [*names, *"uvwx"]
    }
    rankings = [
        {query: tuple(map(str, rng.permutation(names)[:4])) for query in rng.permutation([*"uvwxyz"])} for _ in range(5)
    ]
    runs = tuple(Run(f"s{code}", ranking) for code, ranking in enumerate(rankings))
    return Collection("lot", "lot", FINE, 3, runs, documents, teams={"s0": "t", "s3": "t"})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("most", [0, 1, 3, 256])
def test_where_effects_are_too_many_the_rarest_are_shared_within_queries_only(in_common, monkeypatch, seed, most):
    monkeypatch.setattr(random_effects, "EFFECTS", most)
    collection = by_lot(seed)
    pool, reference = build_pool(collection), in_common(collection, most)
    scale = np.random.default_rng(seed).uniform(0.5, 2, len(pool.pairs))
    found = layout_of(pool, scale)
    # Either of two equally frequent effects may be kept; the columns show which.
    for kind, key in (("genres", reference.genres), ("artist", reference.artist)):
        counts = {value: sum(key(pair) == value for pair in pool.pairs) for value in map(key, pool.pairs)}
        columns = [np.flatnonzero(column) for column in found.shared[kind].toarray().T]
        kept = {key(pool.pairs[rows[0]]) for rows in columns}
        assert len(kept) == len(columns) == len(reference.kept[kind]) <= most
        assert sorted(map(counts.get, kept)) == sorted(map(counts.get, reference.kept[kind]))
        reference.kept[kind] = kept
    np.testing.assert_allclose(
        in_full(found, STANDARD_DEVIATIONS), reference.covariance(STANDARD_DEVIATIONS, scale), atol=1e-14
    )


def test_a_query_for_which_nothing_was_retrieved_does_no_harm(small, in_common):
    nothing = replace(small, runs=(Run("N", {"q0": (), **dict.fromkeys(small.runs[0].rankings, ())}), *small.runs))
    pool = build_pool(nothing)
    ones = np.ones(len(pool.pairs))
    found = layout_of(pool, ones, sound=True)
    assert len(found.blocks[0]) == 0
    expected = in_common(nothing).covariance(STANDARD_DEVIATIONS, ones) + 0.2**2 * np.eye(len(ones))
    np.testing.assert_allclose(in_full(found, STANDARD_DEVIATIONS | {SOUND: 0.2}), expected, atol=1e-14)


def test_systems_without_a_team_are_each_a_team_of_their_own(small, in_common):
    alone = replace(small, teams={})
    pool = build_pool(alone)
    found = layout_of(pool, np.ones(len(pool.pairs)))
    np.testing.assert_array_equal(found.shared["team"].toarray(), found.shared["system"].toarray())
    np.testing.assert_allclose(found.shared["team"].sum(axis=1), 1)


def test_what_the_same_systems_found_is_as_alike_as_the_cosine_of_the_two_sets(small):
    # For q1 A and B found a and b, A alone e, B alone c with C: sets {A B D}, {A B C}, {A}.
    pool = build_pool(small)
    found = layout_of(pool, np.ones(len(pool.pairs)))
    (place,) = [at for at, rows in enumerate(found.blocks) if pool.pairs[rows[0]].query == "q1"]
    names = [pool.pairs[row].document for row in found.blocks[place]]
    kernel = found.kernels["retrievers"][place]

    def alike(one, other):
        return kernel[names.index(one), names.index(other)]

    assert alike("a", "b") == pytest.approx(2 / 3)
    assert alike("a", "e") == pytest.approx(1 / np.sqrt(3))
    assert (alike("e", "e"), alike("e", "c")) == (1, 0)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12


def test_without_metadata_nothing_is_shared_by_genre_or_artist(small, in_common):
    pool = build_pool(small)
    ones = np.ones(len(pool.pairs))
    found = layout_of(pool, ones, metadata=False)
    assert set(found.names) == {*ALWAYS, REST}
    expected = in_common(small).covariance({name: STANDARD_DEVIATIONS[name] for name in found.names}, ones)
    np.testing.assert_allclose(in_full(found, STANDARD_DEVIATIONS), expected, atol=1e-14)


def sounding(collection, folder, places):
    """The pool of a collection with recordings at points of a plane: of variance 1, they are D = |x - y|^2 apart."""
    gaussians = {name: Gaussian(np.array(at, dtype=float), np.eye(2)) for name, at in places.items()}
    AudioIndex.of(gaussians, Parameters(coefficients=2)).save(folder)
    return build_pool(replace(collection, sounds=folder))


def one_query(documents):
    return Collection("one", "one", FINE, len(documents), (Run("S", {"q": tuple(documents)}),))


def test_alike_is_the_share_of_recordings_farther_from_both_to_a_power(tmp_path):
    # On a line at 0, 1, 3 and 12, so that divergences order as distances do. Of 0 and 1 both others are farther from
    # both; of 0 and 3, and of 1 and 3, only 12 is: 1 is nearer to 0, and 0 to 1; of 12 and any other none is.
    pool = sounding(one_query("abcd"), tmp_path / "i", {"a": (0, 0), "b": (1, 0), "c": (3, 0), "d": (12, 0)})
    half = 0.5**8
    expected = [[1, 1, half, 0], [1, 1, half, 0], [half, half, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(closeness(pool, np.arange(4)), expected)
    (kernel,) = sound_kernels(pool, (np.arange(4),))
    np.testing.assert_allclose(kernel, expected, atol=1e-12)


def test_alike_is_what_a_double_loop_over_numpy_s_determinants_gives(tmp_path):
    rng = np.random.default_rng(1)
    names = [f"d{i:02}" for i in range(12)]
    places = {name: rng.normal(size=2) for name in names} | {f"other{i}": rng.normal(size=2) for i in range(20)}
    pool = sounding(one_query(names), tmp_path / "i", places)
    distances = {
        (x, y): np.linalg.slogdet(np.eye(2) + np.outer(places[x] - places[y], places[x] - places[y]) / 4)[1] / 2
        for x in places
        for y in places
    }
    found = closeness(pool, np.arange(12))
    for i, x in enumerate(names):
        for j, y in enumerate(names):
            others = [z for z in places if z not in (x, y)]
            share = np.mean([distances[x, z] > distances[x, y] and distances[y, z] > distances[x, y] for z in others])
            assert found[i, j] == pytest.approx(1 if i == j else share**8)


def test_what_is_alike_is_a_correlation_and_pairs_without_a_recording_are_like_themselves_only(small, tmp_path):
    rng = np.random.default_rng(3)
    pool = sounding(small, tmp_path / "i", {name: rng.normal(size=2) for name in "abcdeguq"})
    found = layout_of(pool, np.ones(len(pool.pairs)), sound=True)
    assert found.names == (*NAMES[:6], SOUND, *NAMES[6:])
    for rows, kernel in zip(found.blocks, found.kernels[SOUND], strict=True):
        np.testing.assert_allclose(kernel, kernel.T, atol=1e-15)
        np.testing.assert_allclose(np.diagonal(kernel), 1, rtol=1e-12)
        assert np.linalg.eigvalsh(kernel).min() > -1e-12
        for place, row in enumerate(rows):
            if pool.pairs[row].document in "fht":
                np.testing.assert_array_equal(kernel[place], np.eye(len(rows))[place])
        heard = [place for place, row in enumerate(rows) if pool.pairs[row].document not in "fht"]
        assert np.all(kernel[np.ix_(heard, heard)] > -1e-12)


@pytest.mark.parametrize("copies", [2, 5, 12])
def test_identical_recordings_sound_alike_whole_and_as_like_others_as_each_other(tmp_path, copies):
    rng = np.random.default_rng(copies)
    places = {f"x{i}": (0.3, -0.2) for i in range(copies)} | {f"d{i}": rng.normal(size=2) for i in range(6)}
    pool = sounding(one_query(list(places)), tmp_path / "i", places)
    (kernel,) = sound_kernels(pool, (np.arange(len(places)),))
    np.testing.assert_allclose(kernel[:copies, :copies], 1, atol=1e-9)
    np.testing.assert_allclose(kernel[:copies], kernel[[0] * copies], atol=1e-9)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12


def test_what_is_no_correlation_becomes_one():
    # 0 and 2 have nothing in common, though 1 is like both.
    alike = np.array([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]])
    kernel = nearest_correlation(alike)
    assert np.linalg.eigvalsh(alike).min() < -0.1
    assert np.linalg.eigvalsh(kernel).min() > -1e-12
    np.testing.assert_allclose(np.diagonal(kernel), 1, rtol=1e-12)
    assert kernel[0, 1] == pytest.approx(kernel[1, 2])
    assert kernel[0, 1] > kernel[0, 2] > 0


def test_without_an_index_or_with_one_recording_pairs_sound_like_themselves_only(small, tmp_path):
    pool = build_pool(small)
    one = sounding(small, tmp_path / "i", {"a": (0, 0)})
    for found in (layout_of(pool, np.ones(len(pool.pairs)), True), layout_of(one, np.ones(len(pool.pairs)), True)):
        for rows, kernel in zip(found.blocks, found.kernels[SOUND], strict=True):
            np.testing.assert_array_equal(kernel, np.eye(len(rows)))
