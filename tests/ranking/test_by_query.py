"""Scores query by query, compared with all possible grades, and with drawn grades."""

from functools import cache

import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking.expected import expected_scores, rank_belief, rankings_by_query
from audiosim.ranking.sampled import SampledScores


def outcomes_by_query(doubt, definition, measure):
    """Mean and covariance of the systems' scores for each query, summed over every assignment of grades."""
    pairs = {query: [pair for pair in doubt.pool.pairs if pair.query == query] for query in doubt.pool.queries}
    score = cache(lambda *lists: definition(measure, doubt.pool.scale, *map(list, lists)))
    scores, chances = [], []
    for grades, chance in doubt.outcomes():
        lists = [{q: ds[: measure.cutoff] for q, ds in run.rankings.items()} for run in doubt.runs]
        scores.append(
            [
                [
                    score(tuple(grades[q, d] for d in ds[q]), tuple(grades[pair] for pair in pairs[q]))
                    if q in ds
                    else 0.0
                    for ds in lists
                ]
                for q in pairs
            ]
        )
        chances.append(chance)
    scores, chances = np.array(scores), np.array(chances)
    mean = np.einsum("o,oqs->qs", chances, scores)
    return dict(
        zip(
            pairs,
            zip(mean, np.einsum("o,oqs,oqt->qst", chances, scores - mean, scores - mean), strict=True),
            strict=True,
        )
    )


@pytest.mark.parametrize("written", ["CG@2", "DCG(gain=exponential)@2", "P(min=2)@2"])
@pytest.mark.parametrize("judged", [{}, {0: 1.0, 5: 2.0}], ids=["none judged", "two judged"])
def test_moments_for_each_query_are_those_over_all_outcomes(doubt, definitions, written, judged):
    doubt, measure = doubt.judged(judged), parse_measure(written)
    expected = expected_scores(measure, doubt.pool, draws=4000)
    true = outcomes_by_query(doubt, definitions[measure.name], measure)
    found = {doubt.pool.queries[code]: moments for code, moments in expected.by_query(doubt.belief)}
    assert found.keys() == true.keys()
    near = 0.05 if isinstance(expected, SampledScores) else 1e-9
    for query, (mean, covariance) in true.items():
        np.testing.assert_allclose(found[query].mean, mean, rtol=0, atol=near)
        np.testing.assert_allclose(found[query].covariance, covariance, rtol=0, atol=near * max(covariance.max(), 1e-6))


def demo_belief(demo, measure, model):
    """Pool, estimator and belief with 60 pairs of the demo collection judged."""
    pool = build_pool(demo, measure.cutoff)
    grades = pool.spread(demo.grades())
    grades[np.random.default_rng(1).permutation(len(grades))[60:]] = np.nan
    estimator = make_estimator(pool, model)
    return pool, estimator, estimator.predict(grades)


@pytest.mark.slow
def test_moments_of_correlated_gains_are_those_of_drawn_ones(demo):
    measure = parse_measure("CG@5")
    pool, _, belief = demo_belief(demo, measure, "joint")
    weights = np.where(pool.ranks.toarray() > 0, 1 / 5, 0)
    gains = np.zeros((len(pool.pairs), 20_000))
    for rows, drawn in belief.gains.draw(np.random.default_rng(0), 20_000):
        gains[rows] = drawn.T
    for code, moments in expected_scores(measure, pool).by_query(belief):
        scores = weights[:, pool.query == code] @ gains[pool.query == code]
        np.testing.assert_allclose(moments.mean, scores.mean(axis=1), rtol=0, atol=0.01)
        np.testing.assert_allclose(moments.covariance, np.cov(scores), rtol=0, atol=0.05 * moments.variance.max())


# Ratios are expanded to first order, or their ideals drawn 40 times: hence the tolerance.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "model", "ideal"),
    [
        ("CG@5", "joint", "ordered"),
        ("nDCG@5", "uniform", "ordered"),
        ("nDCG@5", "joint", "ordered"),
        ("nDCG@5", "joint", "correlated"),
        ("AP(min=40)@5", "joint", "ordered"),
    ],
)
def test_the_scores_of_queries_add_up_to_the_ranking(demo, written, model, ideal):
    measure = parse_measure(written)
    pool, estimator, belief = demo_belief(demo, measure, model)
    expected = expected_scores(measure, pool, ideal)
    ranking = rank_belief(expected, estimator, belief)
    found = dict(rankings_by_query(expected, belief, ranking, pool.systems))
    assert list(found) == list(pool.queries)
    mean = np.mean([one.scores.mean for one in found.values()], axis=0)
    np.testing.assert_allclose(mean, ranking.scores.mean, rtol=1e-9)
    if measure.relative and ideal == "ordered":
        drawn = {pool.queries[code]: one for code, one in SampledScores(measure, pool, 2000, seed=5).by_query(belief)}
        deviations = np.array([np.sqrt(found[query].scores.variance) for query in found]) / ranking.check.factor
        true = np.array([np.sqrt(drawn[query].variance) for query in found])
        assert np.abs(np.array([found[q].scores.mean - drawn[q].mean for q in found])).max() < 0.1
        np.testing.assert_allclose(deviations.mean(), true.mean(), rtol=0.15)


def test_a_failed_check_widens_the_intervals_of_each_query_too(demo):
    measure = parse_measure("CG@5")
    pool = build_pool(demo, 5)
    grades = np.full(len(pool.pairs), np.nan)
    grades[:200] = 100.0
    estimator = make_estimator(pool, "uniform")
    expected, belief = expected_scores(measure, pool), estimator.predict(grades)
    ranking = rank_belief(expected, estimator, belief)
    assert ranking.check.verdict == "FAIL"
    assert ranking.check.factor > 1.2
    open_ = pool.retrieved[[2]].toarray()[0].astype(bool) & np.isnan(grades)
    variance = np.var(pool.scale.levels) / 100**2 / 5**2  # of a gain, over the squared cutoff
    for query, found in rankings_by_query(expected, belief, ranking, pool.systems[2:3]):
        unjudged = (open_ & (pool.query == pool.queries.index(query))).sum()
        assert found.scores.variance[0] == pytest.approx(unjudged * variance * ranking.check.factor**2)
