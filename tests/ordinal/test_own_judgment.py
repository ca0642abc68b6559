"""A judgment moves features of other pairs, of queries that the feature reads, and never those of its own pair."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.ordinal.features import FEATURES, columns

LEARNED = [name for name, feature in FEATURES.items() if feature.reads != "nothing"]


def drawn_grades(pool, seed=0, share=0.6):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(pool.pairs)) < share, rng.integers(0, 101, len(pool.pairs)), np.nan)


@pytest.mark.parametrize("name", LEARNED)
def test_a_pair_s_own_judgment_never_moves_its_own_row_but_moves_its_neighbours(sounding, name):
    grades, moved = drawn_grades(sounding), 0
    for index in range(len(grades)):
        low, high = grades.copy(), grades.copy()
        low[index], high[index] = 1 / 3, 99.7
        before, after = (columns(sounding, planted, [name])[name] for planted in (low, high))
        np.testing.assert_array_equal(after[index], before[index])
        moved += np.sum(after[~np.isnan(after)] != before[~np.isnan(after)])
    assert moved > len(grades)


@pytest.mark.parametrize("name", LEARNED)
def test_a_judgment_moves_only_rows_of_queries_that_the_feature_reads(sounding, name):
    grades, moved = drawn_grades(sounding), 0
    for index in range(len(grades)):
        low, none = grades.copy(), grades.copy()
        low[index], none[index] = 33.5, np.nan
        before, after = (columns(sounding, planted, [name])[name] for planted in (low, none))
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        of_own_query = {"own query": {True}, "other queries": {False}}.get(FEATURES[name].reads, {True, False})
        assert same[index]
        assert set((sounding.query[~same] == sounding.query[index]).tolist()) <= of_own_query
        moved += int(np.sum(~same))
    assert moved


# In tiny, c is judged for q1: B retrieved a, c, and for q2 e, b; c and a are X's; c and d are jazz.
MOVED_BY_HAND = {
    "aSYS": [0, 2, 3],
    "aDOC": [0, 1, 5],
    "aGEN": [5],
    "aART": [0],
    "oSYS": [2, 3],
    "oGEN": [],
    "aSIM": [],
    "kSIM": [],
}


@pytest.mark.parametrize("name", LEARNED)
def test_the_rows_that_the_only_judgment_moves_are_as_counted_by_hand(tiny, name):
    grades = np.full(7, np.nan)
    grades[4] = 20
    assert np.flatnonzero(~np.isnan(columns(build_pool(tiny), grades, [name])[name])).tolist() == MOVED_BY_HAND[name]


def test_a_judgment_of_an_unknown_genre_or_artist_moves_nobody_by_it(tiny):
    grades = np.full(7, np.nan)
    grades[6] = 20
    found = columns(build_pool(tiny), grades, ["aGEN", "aART", "oGEN"])
    assert np.isnan([*found.values()]).all()


@pytest.mark.slow
def test_what_is_kept_for_a_pool_goes_with_it(tiny):
    pool = build_pool(replace(tiny))
    columns(pool, np.arange(7.0), [*FEATURES])
    gone = weakref.ref(pool)
    del pool
    gc.collect()
    assert gone() is None
