"""The number of teams as a covariate, compared with the runs themselves, pair by pair."""

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Run
from audiosim.joint.terms import bands, covariates, log_teams


def pool_of(lists, teams=None, cutoff=3):
    runs = tuple(Run(name, {query: tuple(found) for query, found in of.items()}) for name, of in lists.items())
    return build_pool(Collection("c", "c", FINE, cutoff, runs, teams=teams or {}))


def test_system_agreement_and_consensus_are_those_written_out():
    # Teams: AB, C, D. For q, A and B find a and b, C finds a, D finds c: a has two teams, b and c one.
    pool = pool_of({"A": {"q": "ab"}, "B": {"q": "ab"}, "C": {"q": "a"}, "D": {"q": "c"}}, {"A": "AB", "B": "AB"})
    two = np.log(2)
    np.testing.assert_allclose(log_teams(pool), [two, 0, 0])
    # ln teams less their mean: 2/3, -1/3, -1/3 of ln 2. Systems' means: A, B 1/6, C 2/3, D -1/3; of mean 1/6.
    spread = np.std([1 / 6, 1 / 6, 2 / 3, -1 / 3])
    agreement, consensus, repetition = covariates(pool)
    np.testing.assert_allclose(agreement, [np.mean([0, 0, 1 / 2]) / spread, 0, -1 / 2 / spread], atol=1e-12)
    np.testing.assert_allclose(consensus, np.array([2 / 3 - 1 / 3, -1 / 3 - 1 / 6, 0]) * two, atol=1e-12)
    # Systems for each team: 3 / 2, 2, 1, of logarithms y, two and 0. A and B have (y + two) / 2 in the mean, C y, D 0.
    y, both = np.log(1.5), (np.log(1.5) + two) / 2
    np.testing.assert_allclose(repetition, [y - (both + both + y) / 3, two - both, 0], atol=1e-12)


def test_they_are_those_of_the_runs_pair_by_pair(some_hundreds, in_common):
    found = np.column_stack(covariates(build_pool(some_hundreds)))
    np.testing.assert_allclose(found, in_common(some_hundreds).covariates(), atol=1e-12)


@pytest.mark.parametrize("lists", [{"A": {"q": "abc"}}, {"A": {"q": "ab"}, "B": {"q": "cd"}}])
def test_where_no_system_agrees_more_than_another_both_covariates_are_0(lists):
    for column in covariates(pool_of(lists)):
        np.testing.assert_array_equal(column, 0)


def test_a_system_that_found_nothing_stands_nowhere():
    lists = {"A": {"q": "ab"}, "B": {"q": "ac"}, "C": {"q": "d"}}
    with_none = pool_of({**lists, "N": {"q": ""}})
    np.testing.assert_allclose(covariates(with_none), covariates(pool_of(lists)))


def test_bands_are_those_of_the_quantiles_and_each_pair_is_in_one(some_hundreds, in_common):
    pool, reference = build_pool(some_hundreds), in_common(some_hundreds)
    found = bands(pool)
    np.testing.assert_array_equal(found.sum(axis=1), 1)
    assert found.any(axis=0).all()
    of = np.array([reference.band(pair) for pair in pool.pairs])
    assert len({tuple(cell) for cell in zip(found.argmax(axis=1).tolist(), of.tolist(), strict=True)}) == found.shape[1]
