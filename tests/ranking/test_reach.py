"""Intervals within reach, compared with the scores over all possible grades of the unjudged pairs."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, Judgment, Run
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.measures.scores import scores
from audiosim.ranking.expected import estimate, expected_scores, rank_belief, rankings_by_query
from audiosim.ranking.reach import reach_by_query
from audiosim.ranking.two_systems import TwoSystems

WITHOUT_IDEAL = ("CG@3", "DCG(gain=exponential)@3", "P(min=2)@3", "RR(min=1)@3", "RBP(ideal=user)@3")
WITH_IDEAL = ("nDCG@3", "AP(min=1)@3", "Q@3")


def drawn_collection(seed, unjudged):
    """Two systems with up to three results on each of two queries; some pairs are unjudged."""
    rng = np.random.default_rng(seed)
    runs = tuple(
        Run(s, {q: tuple(rng.permutation(list("abcde"))[: rng.integers(1, 4)]) for q in "qr"}) for s in ("A", "B")
    )
    empty = Collection("c", "c", BROAD, 3, runs)
    pairs = build_pool(empty, 3).pairs
    judged = rng.permutation(len(pairs))[unjudged:]
    return replace(empty, judgments=tuple(Judgment(*pairs[i], float(rng.integers(3))) for i in judged))


def worlds(collection, measure):
    """(w, s, q) the scores for every assignment of grades to the unjudged pairs."""
    judged = {one.pair for one in collection.judgments}
    holes = [pair for pair in build_pool(collection, 3).pairs if pair not in judged]
    drawn = (
        tuple(Judgment(*pair, grade) for pair, grade in zip(holes, grades, strict=True))
        for grades in product(BROAD.levels, repeat=len(holes))
    )
    return np.array(
        [scores(replace(collection, judgments=collection.judgments + more), measure).values for more in drawn]
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("measure", WITHOUT_IDEAL + WITH_IDEAL)
def test_intervals_of_scores_and_differences_stay_where_grades_can_bring_them(measure, seed):
    collection = drawn_collection(seed, unjudged=seed)
    possible = worlds(collection, measure)
    pool = build_pool(collection, 3)
    belief = make_estimator(pool, "uniform").predict(pool.spread(collection.grades()))
    low, high = reach_by_query(parse_measure(measure), pool, belief)
    assert np.all(low <= possible.min(axis=0) + 1e-12)
    assert np.all(possible.max(axis=0) <= high + 1e-12)
    if measure in WITHOUT_IDEAL:
        np.testing.assert_allclose(low, possible.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(high, possible.max(axis=0), atol=1e-12)
    ranking = estimate(collection, "uniform", measure)
    least, most = ranking.scores.interval(0.999)
    assert np.all(low.mean(axis=1) - 1e-12 <= least)
    assert np.all(most <= high.mean(axis=1) + 1e-12)
    assert np.all((least <= ranking.scores.mean) & (ranking.scores.mean <= most))
    if measure in WITHOUT_IDEAL:
        ends = TwoSystems(ranking, "A", "B").interval
        apart = possible.mean(axis=2) @ [1, -1]
        reach = low.mean(axis=1), high.mean(axis=1)
        assert reach[0][0] - reach[1][1] - 1e-12 <= ends[0] <= ends[1] <= reach[1][0] - reach[0][1] + 1e-12
        assert ends[0] <= apart.max() + 1e-12
        assert apart.min() - 1e-12 <= ends[1]


def test_a_system_with_one_result_of_five_has_at_most_a_fifth(demo):
    short = tuple(replace(run, rankings={q: found[:1] for q, found in run.rankings.items()}) for run in demo.runs)
    collection = replace(demo, runs=(short[0], *demo.runs[1:3]), judgments=())
    _, high = estimate(collection, measure="CG@5").scores.interval()
    assert high[0] <= 0.2 < high[1:].min()
    pool = build_pool(collection, 5)
    expected, estimator = expected_scores(parse_measure("CG@5"), pool), make_estimator(pool, None)
    belief = estimator.predict(pool.spread({}))
    for _, alone in rankings_by_query(expected, belief, rank_belief(expected, estimator, belief), pool.systems):
        assert alone.scores.interval()[1][0] <= 0.2


def test_where_no_reach_is_known_the_bounds_of_the_measure_hold():
    collection = drawn_collection(1, unjudged=2)
    for measure, most in (("ADR@3", 1.0), ("EDCG@3", 1.0), ("EDCG(form=original)@3", np.inf)):
        low, high = reach_by_query(parse_measure(measure), build_pool(collection, 3))
        assert np.all(low == 0)
        assert np.all(high == most)
