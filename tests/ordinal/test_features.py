"""Features, compared with values counted by hand from the tables in conftest's `tiny`."""

from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Document, Run
from audiosim.errors import InputError
from audiosim.ordinal.features import FEATURES, columns, design, needs_judgments

UNKNOWN = np.nan
PAIRS = [("q1", "a"), ("q1", "b"), ("q2", "b"), ("q2", "e"), ("q1", "c"), ("q1", "d"), ("q2", "f")]
BY_HAND = {
    "fSYS": [1, 1 / 3, 2 / 3, 1, 1 / 3, 1 / 3, 1 / 3],
    "fTEAM": [1, 1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 1 / 2],
    "OV": [7 / 12] * 7,
    "aRANK": [4 / 3, 2, 3 / 2, 4 / 3, 2, 1, 2],
    "sGEN": [1, 1, 0, UNKNOWN, 0, 0, UNKNOWN],
    "fGEN": [1 / 2, 1 / 2, 1, UNKNOWN, 1 / 2, 1 / 2, UNKNOWN],
    "fPOOL": [4 / 6, 4 / 6, 3 / 6, 3 / 6, 4 / 6, 4 / 6, 3 / 6],
    # q1 has two rock and two jazz, of q2 only one genre is known; q1 has X Y X Z, q2 Y and Z.
    "cGEN": [1 / 3, 1 / 3, UNKNOWN, UNKNOWN, 1 / 3, 1 / 3, UNKNOWN],
    "cART": [1 / 6, 1 / 6, 0, 0, 1 / 6, 1 / 6, 0],
    # Mean fSYS of the systems on q2: A and B 5/6, C 2/3; on q1 2/3 each.
    "cSYS": [7 / 9, 5 / 6, 2 / 3, 2 / 3, 5 / 6, 2 / 3, 2 / 3],
    "fHUB": [0, 1, 1, 0, 0, 0, 0],
    "fART": [1 / 2, 1 / 4, 1 / 2, 1 / 2, 1 / 2, 1 / 4, UNKNOWN],
}


@pytest.fixture
def pool(tiny):
    return build_pool(tiny)


@pytest.fixture
def truth(pool, tiny_truth):
    return pool.spread({judgment.pair: judgment.grade for judgment in tiny_truth})


def nothing_judged(pool):
    return np.full(len(pool.pairs), np.nan)


def test_the_pool_names_each_pair_once_in_the_order_of_the_runs(pool):
    assert list(pool.pairs) == PAIRS


@pytest.mark.parametrize("name", BY_HAND)
def test_output_features_are_as_counted_by_hand(pool, name):
    (column,) = columns(pool, nothing_judged(pool), [name]).values()
    np.testing.assert_allclose(column, BY_HAND[name], rtol=1e-14)


def test_judgment_features_are_unknown_before_anything_is_judged(pool):
    table = columns(pool, nothing_judged(pool), ["aSYS", "aART"])
    assert np.all(np.isnan([*table.values()]))


def test_the_mean_grade_of_an_artist_leaves_the_pair_itself_out(pool, truth):
    # Only a and c share query and artist: each sees the other's grade.
    (column,) = columns(pool, truth, ["aART"]).values()
    np.testing.assert_array_equal(column, [20, UNKNOWN, UNKNOWN, UNKNOWN, 90, UNKNOWN, UNKNOWN])


def test_the_mean_grade_of_systems_is_over_their_other_judged_documents(pool, truth):
    # A retrieved 90 60 30 70, B 90 20 30 70, C 90 10 70 0; each document's own grade is taken from each of its systems.
    by_hand = [
        (60 + 30 + 70 + 20 + 30 + 70 + 10 + 70 + 0) / 9,  # q1 a: A B C
        (90 + 30 + 70) / 3,  # q1 b: A
        (90 + 60 + 70 + 90 + 20 + 70) / 6,  # q2 b: A B
        (90 + 60 + 30 + 90 + 20 + 30 + 90 + 10 + 0) / 9,  # q2 e: A B C
        (90 + 30 + 70) / 3,  # q1 c: B
        (90 + 70 + 0) / 3,  # q1 d: C
        (90 + 10 + 70) / 3,  # q2 f: C
    ]
    (column,) = columns(pool, truth, ["aSYS"]).values()
    np.testing.assert_allclose(column, by_hand, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("aDOC", [30, 40, 35, 15, 160 / 3, 170 / 3, 50]),
        ("aGEN", [60, 90, UNKNOWN, UNKNOWN, 10, 20, UNKNOWN]),
        # Systems on q2: A 30 70, B 30 70, C 70 0; on q1: A 90 60, B 90 20, C 10 90.
        ("oSYS", [(50 + 50 + 35) / 3, 50, (75 + 55) / 2, (75 + 55 + 50) / 3, 50, 35, 50]),
        # q1 is rock, q2 jazz: no two pairs of different queries are of the same two genres.
        ("oGEN", [UNKNOWN] * 7),
    ],
)
def test_judgment_features_are_as_counted_by_hand(pool, truth, name, by_hand):
    (column,) = columns(pool, truth, [name]).values()
    np.testing.assert_allclose(column, by_hand, rtol=1e-14)


def test_the_grade_of_a_pair_of_genres_is_learned_on_other_queries(tiny, tiny_truth):
    # With both queries rock: a and b see the 30 that rock b got for q2, which sees their 90 and 60.
    pool = build_pool(replace(tiny, documents={**tiny.documents, "q2": Document("q2", "Q", "rock")}))
    truth = pool.spread({judgment.pair: judgment.grade for judgment in tiny_truth})
    (column,) = columns(pool, truth, ["oGEN"]).values()
    np.testing.assert_array_equal(column, [30, 30, 75, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN])


def test_features_of_other_queries_are_unknown_where_there_is_one_query(tiny):
    pool = build_pool(replace(tiny, runs=(Run("A", {"q1": ("a", "b")}),)))
    table = columns(pool, np.array([90.0, 60.0]), ["cSYS", "fHUB", "oSYS", "oGEN"])
    assert np.all(np.isnan([*table.values()]))


def test_the_share_of_the_pool_averages_to_the_overlap(pool):
    table = columns(pool, nothing_judged(pool), ["fPOOL", "OV"])
    one_per_query = [table["fPOOL"][list(pool.query).index(code)] for code in (0, 1)]
    assert np.mean(one_per_query) == pytest.approx(table["OV"][0])


def test_various_artists_is_no_artist_when_the_collection_says_so(tiny):
    (column,) = columns(
        pool := build_pool(replace(tiny, not_artists=frozenset({"X"}))), nothing_judged(pool), ["fART"]
    ).values()
    np.testing.assert_allclose(column, [UNKNOWN, 1 / 2, 1 / 2, 1 / 2, UNKNOWN, 1 / 2, UNKNOWN])


def test_a_pool_of_the_top_one_knows_nothing_of_the_second_rank(tiny):
    assert list(build_pool(tiny, 1).pairs) == [("q1", "a"), ("q2", "b"), ("q2", "e"), ("q1", "d")]


def test_a_term_with_a_colon_is_a_product():
    table = {"sGEN": np.array([0.0, 1.0, np.nan]), "fGEN": np.array([0.2, 0.4, 0.6])}
    np.testing.assert_array_equal(design(table, ["fGEN", "sGEN:fGEN"]), [[0.2, 0.0], [0.4, 0.4], [0.6, np.nan]])


def test_an_unknown_feature_is_refused_by_name(pool):
    with pytest.raises(
        InputError,
        match="unknown feature 'fSUS', expected one of fSYS, fTEAM, OV, aRANK, sGEN, fGEN, fART, fPOOL, cGEN, cART, "
        "cSYS, fHUB, aSYS, aDOC, aGEN, aART, oSYS, oGEN, qSIM, aSIM, kSIM",
    ):
        columns(pool, nothing_judged(pool), ["fSUS"])


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_is_registered_under_its_name_with_one_line_of_meaning(name):
    feature = FEATURES[name]
    assert (feature.name, feature.version) == (name, 2 if name == "qSIM" else 1)  # qSIM once used Kullback-Leibler
    assert 0 < len(feature.meaning.splitlines()[0]) == len(feature.meaning) < 80


@pytest.mark.parametrize(
    ("terms", "needed"), [(["fSYS", "fSYS:OV"], False), (["qSIM"], False), (["fSYS:oSYS"], True), (["kSIM"], True)]
)
def test_terms_need_judgments_where_one_of_their_features_reads_them(terms, needed):
    assert needs_judgments(terms) == needed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "f:SYS"}, "the name of a feature must be letters and digits, got 'f:SYS'"),
        ({"version": 0}, "the version of feature fSYS must be at least 1, got 0"),
    ],
)
def test_a_feature_that_breaks_its_rules_is_refused(fields, message):
    with pytest.raises(InputError, match=message):
        replace(FEATURES["fSYS"], **fields)


def test_a_pair_outside_the_pool_is_refused_by_name(pool):
    with pytest.raises(InputError, match="no system retrieved document z for query q1 in its top 2"):
        pool.locate([("q1", "z")])
