"""Every value here is counted by hand from the tables in conftest's `tiny`."""

import numpy as np
import pytest

from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.features.table import columns, design

UNKNOWN = np.nan
PAIRS = [("q1", "a"), ("q1", "b"), ("q2", "b"), ("q2", "e"), ("q1", "c"), ("q1", "d"), ("q2", "f")]
BY_HAND = {
    "fSYS": [1, 1 / 3, 2 / 3, 1, 1 / 3, 1 / 3, 1 / 3],
    "fTEAM": [1, 1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 1 / 2],
    "OV": [7 / 12] * 7,
    "aRANK": [4 / 3, 2, 3 / 2, 4 / 3, 2, 1, 2],
    "sGEN": [1, 1, 0, UNKNOWN, 0, 0, UNKNOWN],
    "fGEN": [1 / 2, 1 / 2, 1, UNKNOWN, 1 / 2, 1 / 2, UNKNOWN],
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


@pytest.mark.parametrize("name", ["aSYS", "aART"])
def test_a_pair_s_own_judgment_never_moves_its_own_feature_but_moves_its_neighbours(pool, truth, name):
    (before,) = columns(pool, truth, [name]).values()
    planted = truth.copy()
    planted[0] = 5
    (after,) = columns(pool, planted, [name]).values()
    assert after[0] == before[0]
    assert after[4] != before[4]


def test_various_artists_is_no_artist_when_the_collection_says_so(tiny):
    from dataclasses import replace

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
        InputError, match="unknown feature 'fSUS', expected one of fSYS, fTEAM, OV, aRANK, sGEN, fGEN, fART, aSYS, aART"
    ):
        columns(pool, nothing_judged(pool), ["fSUS"])


def test_a_pair_outside_the_pool_is_refused_by_name(pool):
    with pytest.raises(InputError, match="no system retrieved document z for query q1 in its top 2"):
        pool.locate([("q1", "z")])
