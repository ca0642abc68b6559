"""Alternatives to a collection, compared with many draws of their queries and assessors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment, Run, Scale
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking import Selection
from audiosim.simulation.alternatives import (
    TWICE,
    after_queries,
    after_second_opinions,
    found_different,
    mean_differences,
    noise_of,
    scores_of,
    taste,
)
from audiosim.simulation.plan import plan
from benchmarks.synthetic import Design, synthetic_collection


@pytest.fixture(scope="module")
def made():
    return synthetic_collection(np.random.default_rng(3), Design(6, 3, 20, 5, 40))


def test_found_different_is_the_paired_t_test_of_scipy():
    scores = np.random.default_rng(0).normal(np.arange(4)[:, None] / 4, 1, (4, 30))
    found = found_different(*mean_differences(scores), 30)
    expected = [
        stats.ttest_rel(scores[a], scores[b]).pvalue < 0.05 for a, b in zip(*np.triu_indices(4, 1), strict=True)
    ]
    assert 0 < sum(expected) < 6
    assert found.tolist() == [float(one) for one in expected]


@pytest.mark.parametrize("times", [2, 4])
@pytest.mark.parametrize("effect", [0.05, 0.3])
def test_more_queries_find_what_they_find_in_simulation(times, effect):
    # Worlds in which the first n queries agree, the difference having a flat prior: by brute force.
    rng, queries, worlds = np.random.default_rng(1), 40, 20_000
    error = 1 / np.sqrt(queries)
    truth = rng.normal(effect, error, worlds)
    more = (times - 1) * queries
    mean = (queries * effect + more * rng.normal(truth, 1 / np.sqrt(more))) / (times * queries)
    expected = np.mean(np.abs(mean) * np.sqrt(times * queries) > stats.t.ppf(0.975, times * queries - 1))
    (found,) = after_queries(np.array([effect]), np.array([error]), queries, times)
    assert found == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(worlds))


def test_second_opinions_find_what_they_find_in_simulation():
    # The mean of two grades is the first one plus half the difference of two independent tastes.
    rng, queries, mean, noise = np.random.default_rng(2), 50, 0.02, 1e-4
    error = np.sqrt(1.2e-4)
    moved = mean + rng.normal(0, np.sqrt(noise / 2), 200_000)
    expected = np.mean(np.abs(moved) > stats.t.ppf(0.975, queries - 1) * np.sqrt(error**2 - noise / 2))
    (found,) = after_second_opinions(np.array([mean]), np.array([error]), np.array([noise]), queries)
    assert found == pytest.approx(expected, abs=0.005)
    (without,) = after_second_opinions(np.array([mean]), np.array([error]), np.zeros(1), queries)
    assert without == found_different(np.array([mean]), np.array([error]), queries)[0]


def test_taste_is_the_variance_within_pairs_of_an_analysis_of_variance(made):
    rng = np.random.default_rng(5)
    pairs = [judgment.pair for judgment in made.judgments[: 3 * TWICE]]
    grades = rng.integers(0, 101, (len(pairs), 2)).astype(float)
    judged = tuple(
        Judgment(*pair, grade, assessor)
        for pair, two in zip(pairs, grades.tolist(), strict=True)
        for assessor, grade in zip(("ann", "ben"), two, strict=True)
    )
    expected = np.mean(grades.var(axis=1, ddof=1)) / 100**2
    assert taste(replace(made, judgments=judged)) == pytest.approx(expected)
    assert taste(replace(made, judgments=judged[: 2 * TWICE - 2])) is None
    assert taste(made) is None


@pytest.mark.slow
def test_noise_is_the_variance_of_differences_whose_grades_are_drawn_anew(made):
    pool = build_pool(made)
    selection = Selection.start(pool, parse_measure("CG@5"), make_estimator(pool, "uniform"))
    slopes = selection.expected.slopes(selection.belief).toarray()
    drawn = slopes @ np.random.default_rng(0).normal(0, 0.1, (len(pool.pairs), 40_000))
    first, second = np.triu_indices(len(slopes), 1)
    expected = (drawn[first] - drawn[second]).var(axis=1)
    assert noise_of(selection, selection.belief, 0.01) == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_a_plan_says_what_more_queries_deeper_runs_and_second_opinions_would_tell_apart(made):
    some = [*made.judgments[:40]]
    twice = [replace(judgment, assessor="ben", grade=max(0.0, judgment.grade - 10)) for judgment in some]
    shallow = replace(made, cutoff=3, judgments=(*some, *twice))
    found = {one.what: one for one in plan(shallow, None, "CG@3", stopping_rule="judgments=60", campaigns=4).otherwise}
    assert list(found) == ["as it is", "2 times the queries", "4 times the queries", "cutoff 5", "second opinions"]
    assert (
        found["2 times the queries"].judgments == 2 * found["as it is"].judgments == 2 * len(build_pool(shallow).pairs)
    )
    assert found["cutoff 5"].judgments == len(build_pool(shallow, 5).pairs)
    assert found["as it is"].separated <= found["4 times the queries"].separated <= 15
    runs = tuple(Run(run.system, {q: top[:3] for q, top in run.rankings.items()}) for run in made.runs)
    bare = plan(
        replace(shallow, runs=runs, judgments=()), None, "CG@3", stopping_rule="judgments=1", campaigns=2
    ).otherwise
    assert [one.what for one in bare] == ["as it is", "2 times the queries", "4 times the queries"]


@pytest.mark.parametrize("measure", ["CG@3", "nDCG@3"])
def test_scores_of_one_set_of_grades_after_the_other_are_those_worked_out_by_hand(measure):
    # Two queries in another order than the pool's pairs, a short ranking, and a system without one of the queries.
    runs = (Run("a", {"r": ("x", "y"), "q": ("z",)}), Run("b", {"q": ("y", "z", "x")}))
    collection = Collection("hand", "hand", Scale("three", (0, 1, 2)), 3, runs)
    pool = build_pool(collection, 3)
    first = {"rx": 2.0, "ry": 1.0, "qx": 0.0, "qy": 2.0, "qz": 1.0}
    for given in (first, dict.fromkeys(first, 1.0)):
        grades = np.array([given[pair.query + pair.document] for pair in pool.pairs])
        lists = {"r": [["x", "y"], []], "q": [["z"], ["y", "z", "x"]]}
        found = scores_of(pool, parse_measure(measure), grades)
        for column, query in enumerate(("r", "q")):
            best = sorted((grade for name, grade in given.items() if name[0] == query), reverse=True)[:3]
            for row, documents in enumerate(lists[query]):
                gains = [given[query + document] for document in documents]
                expected = sum(gains) / 3 / 2 if measure == "CG@3" else discounted(gains) / discounted(best)
                assert found[row, column] == pytest.approx(expected)


def discounted(gains):
    """Sum of gain / log2(1 + rank): Burges et al. (2005)."""
    return sum(gain / np.log2(1 + rank) for rank, gain in enumerate(gains, start=1))
