"""Measures by simulation, compared with all possible grades."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Run, Scale
from audiosim.errors import InputError
from audiosim.joint.estimators import make_estimator, uniform
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Definition, Measure, parse_measure
from audiosim.ranking.sampled import DRAWS, SampledScores

MEASURES = [
    "P@2",
    "P(min=2)@2",
    "AP(min=2)@2",
    "AP(min=2,form=original)@2",
    "RR(min=2)@2",
    "CG@2",
    "nDCG@2",
    "nDCG(gain=exponential)@2",
    "Q@2",
    "RBP@2",
    "ERR@2",
    "EDCG@2",
    "GAP@2",
    "ADR@2",
    "ADR(ideal=user)@2",
]


# Four standard errors: of a mean sqrt(Var / n), of a variance sqrt((m4 - Var^2) / n), m4 the fourth central moment,
# which for scores between 0 and 1 is at most Var. A mean over two queries is that of the two means.
@pytest.mark.slow
@pytest.mark.parametrize("written", MEASURES)
def test_mean_and_variance_are_those_over_every_possible_assignment_of_grades(doubt, definitions, written):
    measure, draws = parse_measure(written), 20_000
    mean, covariance = doubt.moments(definitions[measure.name], measure)
    variance = np.diagonal(covariance)
    found = SampledScores(measure, doubt.pool, draws).scores(doubt.belief)
    assert np.all(np.abs(found.mean - mean) <= 4 * np.sqrt(variance / draws) + 1e-12)
    allowed = 4 * np.sqrt((variance - variance**2) / draws)
    assert np.all(np.abs(found.variance - variance) <= allowed + 1e-12)
    between = 4 * np.sqrt(np.sqrt(np.outer(variance, variance)) / draws)
    assert np.all(np.abs(found.covariance - covariance) <= between + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("written", ["AP(min=2)@2", "nDCG@2", "ERR@2"])
def test_the_stated_error_is_that_of_repeated_simulation(doubt, definitions, written):
    # 300 seeds of 200 draws: errors in units of the stated one have a variance of 1 with a standard error of
    # sqrt(2 / 300) = .08, and 95 % of them are within 1.96, with one of .013; four of each.
    measure = parse_measure(written)
    mean, _ = doubt.moments(definitions[measure.name], measure)
    errors = []
    for seed in range(300):
        found = SampledScores(measure, doubt.pool, 200, seed).scores(doubt.belief)
        stated = np.sqrt(found.variance / 200)
        errors.append(np.divide(found.mean - mean, stated, out=np.zeros(4), where=stated > 0)[:3])
    assert np.mean(np.square(errors), axis=0) == pytest.approx(1, abs=0.33)
    assert np.mean(np.abs(errors) < 1.96, axis=0) == pytest.approx(0.95, abs=0.053)


@pytest.mark.parametrize("written", MEASURES)
def test_with_everything_judged_the_scores_are_known(doubt, definitions, written):
    measure = parse_measure(written)
    grades = [doubt.pool.scale.maximum, 1.0, 2.0, 2.0, 1.0, 1.0, doubt.pool.scale.levels[0]]
    doubt = doubt.judged(dict(enumerate(grades)))
    mean, _ = doubt.moments(definitions[measure.name], measure)
    found = SampledScores(measure, doubt.pool, 2).scores(doubt.belief)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, 0, atol=1e-30)


def test_judged_pairs_keep_their_grades_in_every_draw(doubt):
    # C is fully judged, so its score is certain. For B, c and b are not judged.
    pool = doubt.pool
    retrieved = [("q1", "d"), ("q1", "a"), ("q2", "e"), ("q2", "f")]
    judged = doubt.judged({pool.positions[pair]: 2.0 for pair in retrieved})
    found = SampledScores(parse_measure("P(min=2)@2"), pool).scores(judged.belief)
    assert (found.mean[2], found.variance[2]) == (1, 0)
    assert found.variance[1] > 0


def test_the_same_seed_gives_the_same_scores_and_another_one_others(doubt):
    measure = parse_measure("AP(min=2)@2")
    first, again, other = (SampledScores(measure, doubt.pool, 500, s).scores(doubt.belief) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.mean, again.mean)
    np.testing.assert_array_equal(first.covariance, again.covariance)
    assert np.any(first.mean != other.mean)


def regraded(belief, index, grade):
    """The belief in which one pair has another grade; NaN: none."""
    grades = belief.grades.copy()
    grades[index] = grade
    return belief.revise(grades)


@pytest.mark.parametrize("written", ["AP(min=2)@2", "Q@2", "GAP@2"])
def test_one_more_judgment_or_one_less_gives_the_moments_from_scratch(doubt, written):
    expected = SampledScores(parse_measure(written), doubt.pool, 100)
    before, scores = doubt.belief, expected.scores(doubt.belief)
    for index, grade in [(0, 1.0), (4, 1.0), (0, 2.0), (4, np.nan), (6, 2.0), (0, np.nan), (6, np.nan)]:
        after = regraded(before, index, grade)
        scores, before = expected.after(scores, before, after, index), after
        fresh = expected.scores(after)
        np.testing.assert_allclose(scores.mean, fresh.mean, rtol=1e-12)
        np.testing.assert_allclose(scores.covariance, fresh.covariance, rtol=0, atol=1e-14)


def test_slopes_and_discounts_are_those_of_cumulative_gain(doubt):
    # 1 where a system retrieved a pair, from the runs themselves.
    expected = SampledScores(parse_measure("AP@2"), doubt.pool)
    retrieved = [
        [int(pair.document in run.rankings.get(pair.query, ())) for pair in doubt.pool.pairs] for run in doubt.runs
    ]
    np.testing.assert_array_equal(expected.discounted(doubt.belief).toarray(), retrieved)
    np.testing.assert_array_equal(expected.slopes(doubt.belief).toarray(), np.array(retrieved) / 2)


def test_variances_are_those_of_the_linear_gains_and_0_where_judged(doubt):
    judged = doubt.judged({3: 2.0})
    levels = np.array(doubt.pool.scale.levels)
    by_hand = [p @ (levels - p @ levels) ** 2 / levels[-1] ** 2 for p in doubt.belief.probabilities]
    by_hand[3] = 0.0
    found = SampledScores(parse_measure("AP@2"), doubt.pool).gains(judged.belief).variance
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)


def both_at_the_top(measure, scale, grades, judged):
    return np.asarray((grades >= scale.maximum).sum(axis=-1) == 2, dtype=float)


def test_a_measure_of_one_s_own_is_simulated(doubt):
    # Both documents at the highest grade: the product of the two probabilities, averaged over the queries.
    measure = Measure(Definition("Both", score=both_at_the_top), 2)
    p = dict(zip(doubt.pool.pairs, doubt.belief.probabilities[:, -1], strict=True))
    exact = [
        sum(np.prod([p[q, d] for d in ds]) * (len(ds) == 2) for q, ds in run.rankings.items()) / 2 for run in doubt.runs
    ]
    found = SampledScores(measure, doubt.pool, 20_000).scores(doubt.belief)
    assert np.all(np.abs(found.mean - exact) <= 4 * np.sqrt(found.variance / 20_000))


def test_a_single_system_and_a_query_without_documents_are_simulated(tiny):
    run = tiny.runs[0]
    expected = []
    for rankings in (run.rankings, {**run.rankings, "q3": ()}):
        pool = build_pool(replace(tiny, runs=(Run("A", rankings),)))
        known = uniform(pool).predict(np.full(len(pool.pairs), np.nan))
        expected.append(SampledScores(parse_measure("ERR@2"), pool).scores(known))
    np.testing.assert_allclose(expected[1].mean, expected[0].mean * 2 / 3, rtol=1e-12)
    np.testing.assert_allclose(expected[1].covariance, expected[0].covariance * 4 / 9, rtol=1e-12)


def test_a_number_of_draws_that_says_nothing_of_their_spread_is_refused(tiny):
    assert DRAWS >= 2
    with pytest.raises(InputError, match="the number of draws must be a whole number of at least 2, got 1"):
        SampledScores(parse_measure("AP@2"), build_pool(tiny), 1)


def test_a_measure_needs_the_pool_of_its_own_cutoff(tiny):
    with pytest.raises(InputError, match="a measure at 3 needs the pool of the top 3, this one is of the top 2"):
        SampledScores(parse_measure("AP@3"), build_pool(tiny))


def relevant_by_hand(pool, belief, least, draws=200_000):
    """Sets of relevant pairs with their shares, from numpy's normal gains, cut at the quantiles of scipy's t.

    least  the lowest level that is relevant
    """
    count = len(pool.pairs)
    covariance = np.array([belief.gains.column(i) for i in range(count)])
    below = belief.probabilities[:, belief.levels < least].sum(axis=1)
    cuts = stats.t(10).ppf(below) * np.sqrt(np.diagonal(covariance))
    drawn = np.random.default_rng(99).multivariate_normal(np.zeros(count), covariance, draws) > cuts
    outcomes, times = np.unique(drawn, axis=0, return_counts=True)
    return list(zip(outcomes.tolist(), times / draws, strict=True))


def means_by_hand(runs, pool, outcomes, definition, measure):
    """Mean scores by loops over ranks, from `relevant_by_hand`."""
    mean = np.zeros(len(runs))
    for relevant, share in outcomes:
        grades = {pair: 95.0 if good else 5.0 for pair, good in zip(pool.pairs, relevant, strict=True)}
        for place, run in enumerate(runs):
            for query, documents in run.rankings.items():
                listed = [grades[query, document] for document in documents[: measure.cutoff]]
                every = [grade for pair, grade in grades.items() if pair.query == query]
                mean[place] += share * definition(measure, pool.scale, listed, every) / len(pool.queries)
    return mean


@pytest.mark.slow
@pytest.mark.parametrize("least", [40, 75])
def test_correlated_grades_are_relevant_together_as_often_as_normal_variables(tiny, definitions, least):
    pool = build_pool(tiny)
    belief = make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan))
    outcomes = relevant_by_hand(pool, belief, least)
    for name in ("P", "AP", "RR"):
        measure = parse_measure(f"{name}(min={least})@2")
        mean = means_by_hand(tiny.runs, pool, outcomes, definitions[name], measure)
        assert np.all((mean > 0.05) & (mean < 0.999))
        found = SampledScores(measure, pool).scores(belief)
        assert np.all(np.abs(found.mean - mean) <= 4 * np.sqrt(found.variance * (1 / DRAWS + 1 / 200_000)))


@pytest.mark.parametrize("name", ["P", "AP", "RR"])
def test_a_measure_to_which_every_level_of_a_model_is_relevant_asks_for_a_minimum(tiny, name):
    pool = build_pool(tiny)
    belief = make_estimator(pool, "joint").predict(np.full(len(pool.pairs), np.nan))
    assert (pool.scale.levels[0], belief.levels[0]) == (0, 5)
    for written in (f"{name}@2", f"{name}(min=5)@2"):
        message = (
            f"{written} calls every unjudged result relevant, as the lowest grade predicted is 5; "
            f"expected a higher min, such as {name}(min=40)@2"
        )
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            SampledScores(parse_measure(written), pool).scores(belief)
    # A min that is a level of the scale, and one that is not: 40 is no grade on the scale of four.
    few = replace(tiny, scale=Scale("few", (0.0, 1.0, 2.0, 3.0)))
    high = Belief.independent(np.array([1.0, 2.0, 3.0]), np.full((7, 3), 1 / 3), np.full(7, np.nan), 3.0, ("high",))
    with pytest.raises(
        InputError, match=rf"as the lowest grade predicted is 1; expected a higher min, such as {name}\(min=2\)@2$"
    ):
        SampledScores(parse_measure(f"{name}(min=1)@2"), build_pool(few)).scores(high)
    # If everything is judged, no level is predicted and no min is needed.
    everything = belief.revise(np.linspace(0, 90, len(pool.pairs)))
    assert not SampledScores(parse_measure(f"{name}@2"), pool).scores(everything).covariance.any()
    # With a min at the second level or above, one level is not relevant, and some pairs are uncertain.
    assert np.all(SampledScores(parse_measure(f"{name}(min=6)@2"), pool).scores(belief).variance > 0)
