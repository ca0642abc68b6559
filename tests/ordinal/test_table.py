"""After one more judgment, only the affected rows are computed, and they equal a new computation."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.pool import build_pool
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.features import FEATURES, MANY, Table
from audiosim.ordinal.judgment import MeanOfGroup, queries

LEARNED = [name for name, feature in FEATURES.items() if feature.reads != "nothing"]


def table_of(pool, grades, names=tuple(FEATURES)):
    return Table.of(pool, grades, [FEATURES[name] for name in names])


def drawn_grades(pool, seed=0, share=0.6):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(pool.pairs)) < share, rng.integers(0, 101, len(pool.pairs)), np.nan)


@pytest.mark.parametrize("name", LEARNED)
def test_a_pair_s_own_judgment_never_moves_its_own_row_but_moves_its_neighbours(sounding, name):
    grades, moved = drawn_grades(sounding), 0
    for index in range(len(grades)):
        low, high = grades.copy(), grades.copy()
        low[index], high[index] = 1 / 3, 99.7
        before, after = (table_of(sounding, planted, [name]).columns[name] for planted in (low, high))
        np.testing.assert_array_equal(after[index], before[index])
        moved += np.sum(after[~np.isnan(after)] != before[~np.isnan(after)])
    assert moved > len(grades)


@pytest.mark.parametrize("name", LEARNED)
def test_a_judgment_moves_only_rows_that_it_is_said_to_touch_of_queries_that_the_feature_reads_and_never_its_own(
    sounding, name
):
    grades, learned = drawn_grades(sounding), FEATURES[name].values
    reached = Counter()
    for index in range(len(grades)):
        touched = learned.touched(sounding, index)
        low, none = grades.copy(), grades.copy()
        low[index], none[index] = 33.5, np.nan
        before, after = (table_of(sounding, planted, [name]).columns[name] for planted in (low, none))
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        assert index not in touched
        of_own_query = {"own query": {True}, "other queries": {False}}.get(FEATURES[name].reads, {True, False})
        assert set((sounding.query[~same] == sounding.query[index]).tolist()) <= of_own_query
        assert set(np.flatnonzero(~same)) <= set(touched.tolist())
        assert np.all(np.diff(touched) > 0)
        reached.update(touched=len(touched), moved=int(np.sum(~same)))
    assert reached["moved"] > reached["touched"] / 9


# In tiny, c is judged for q1: B retrieved a, c, and for q2 e, b; c and a are X's; c and d are jazz.
TOUCHED_BY_HAND = {
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
def test_the_rows_that_a_judgment_touches_are_as_counted_by_hand(tiny, name):
    pool = build_pool(tiny)
    assert FEATURES[name].values.touched(pool, 4).tolist() == TOUCHED_BY_HAND[name]


def test_a_judgment_of_an_unknown_genre_or_artist_touches_nobody_by_it(tiny):
    pool = build_pool(tiny)
    assert [len(FEATURES[name].values.touched(pool, 6)) for name in ("aGEN", "aART", "oGEN")] == [0, 0, 0]


def test_only_the_rows_that_are_touched_are_computed_again(tiny, counted):
    pool = build_pool(tiny)
    counter = counted(MeanOfGroup(queries))
    grades = np.full(7, np.nan)
    table = Table.of(pool, grades, [FEATURES["fSYS"], Feature("mine", "judgment", "own query", 1, "counted", counter)])
    grades[4] = 20
    table = table.after(grades)
    assert table.computed.tolist() == [0, 1, 5]
    grades[[4, 6]] = 30, 0
    table = table.after(grades)
    assert table.computed.tolist() == [0, 1, 2, 3, 5]
    assert len(table.after(grades).computed) == 0
    assert counter.rows == [list(range(7)), [0, 1, 5], [0, 1, 2, 3, 5]]


def test_a_table_of_output_features_follows_no_judgment(sounding):
    table = table_of(sounding, np.full(len(sounding.pairs), np.nan), ["fSYS", "qSIM"])
    assert len(table.after(drawn_grades(sounding)).computed) == 0


def test_many_judgments_at_once_are_computed_from_nothing(sounding):
    grades = drawn_grades(sounding, share=1)
    assert len(grades) > MANY
    table = table_of(sounding, np.full(len(grades), np.nan))
    for name, column in table_of(sounding, grades).columns.items():
        np.testing.assert_array_equal(table.after(grades).columns[name], column)


def test_a_table_stays_what_it_was_when_the_next_one_is_made(tiny):
    pool = build_pool(tiny)
    grades = np.array([90, 60, np.nan, 70, np.nan, 10, 0])
    table = table_of(pool, grades, LEARNED)
    before = {name: column.copy() for name, column in table.columns.items()}
    grades[2] = 30
    table.after(grades)
    for name, column in before.items():
        np.testing.assert_array_equal(table.columns[name], column)


# Thirds arise if three assessors judge a pair.
GRADES = st.one_of(st.none(), st.integers(0, 300).map(lambda thirds: thirds / 3))


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(st.integers(0, 10**6), GRADES), min_size=1, max_size=4), max_size=6))
def test_step_by_step_is_bit_for_bit_what_it_is_from_nothing(sounding, steps):
    grades = np.full(len(sounding.pairs), np.nan)
    table = table_of(sounding, grades, LEARNED)
    for step in steps:
        for number, grade in step:
            grades[number % len(grades)] = np.nan if grade is None else grade
        table = table.after(grades)
    for name, column in table_of(sounding, grades, LEARNED).columns.items():
        np.testing.assert_array_equal(table.columns[name], column)


@pytest.mark.slow
def test_what_is_kept_for_a_pool_goes_with_it(tiny):
    import gc
    import weakref

    pool = build_pool(replace(tiny))
    table_of(pool, np.arange(7.0))
    gone = weakref.ref(pool)
    del pool
    gc.collect()
    assert gone() is None
