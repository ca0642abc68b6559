"""Expected scores with correlated gains, compared with full matrices and draws from the field."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from scipy.stats import norm

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.joint.posterior import Belief, Marginals
from audiosim.measures.measure import parse_measure
from audiosim.ranking.linear import LinearScores
from audiosim.ranking.ratio import GRADE_DRAWS, RatioScores
from audiosim.ranking.sampled import SampledScores
from audiosim.stats.normal.block_normal import BlockNormal
from benchmarks.synthetic import Design, synthetic_collection

COLLECTION = synthetic_collection(np.random.default_rng(0), Design(5, 3, 6, 4, 9))
POOL = build_pool(COLLECTION)
N = len(POOL.pairs)


def known(mean, deviation, shares=(0.4, 0.3)):
    """A prediction with correlated pairs: an effect of the query, two common effects, and a residual for each pair.

    mean, deviation  (n,) of the gains, as shares of the highest
    shares           shares of the variance: that of the query, and that of effects across queries

    The level probabilities are those of the same normal distributions, on the Fine scale.
    """
    rng = np.random.default_rng(1)
    common = rng.normal(size=(N, 2))
    common *= (deviation * np.sqrt(shares[1]) / np.linalg.norm(common, axis=1))[:, None]
    blocks = tuple(np.flatnonzero(POOL.query == code) for code in range(len(POOL.queries)))
    within = tuple(
        np.outer(deviation[rows], deviation[rows]) * (shares[0] + (1 - sum(shares)) * np.eye(len(rows)))
        for rows in blocks
    )
    gains = BlockNormal(mean, blocks, within, tuple(common[rows] for rows in blocks), np.eye(2))
    reached = norm.cdf((np.arange(100) + 0.5) / 100, mean[:, None], np.sqrt(gains.variance)[:, None])
    probabilities = np.diff(reached, axis=1, prepend=0, append=1)
    model, nothing = np.zeros(N, dtype=np.int64), np.full(N, np.nan)
    alone = Marginals(np.array(POOL.scale.levels), probabilities, ("normal",), model, 100.0)
    return Belief(alone, gains, nothing)


def regraded(belief, index, grade):
    """The belief in which one pair has another grade; NaN: none."""
    grades = belief.grades.copy()
    grades[index] = grade
    return belief.revise(grades)


def independent(belief):
    """The same belief with independent pairs."""
    return Belief.independent(belief.levels, belief.probabilities, belief.grades, belief.maximum, belief.models)


def in_full(gains):
    return np.array([gains.column(place) for place in range(N)])


def test_two_pairs_that_go_together_move_exponential_gains_together(broad):
    """One pair correlated with one other, on a scale up to 4, on which a gain of .5 still counts in 2^grade."""
    gains, alone = broad.gains, replace(broad.alone, maximum=4.0, levels=broad.levels / 25)
    within = [np.diag(np.diagonal(part)) for part in gains.within]
    within[0][0, 1] = within[0][1, 0] = 0.5 * np.sqrt(within[0][0, 0] * within[0][1, 1])
    effects = tuple(np.zeros((len(rows), 0)) for rows in gains.blocks)
    before = Belief(alone, BlockNormal(gains.mean, gains.blocks, tuple(within), effects, np.eye(0)), broad.grades)
    place = int(gains.blocks[0][0])
    assert np.count_nonzero(before.gains.column(place)) == 2
    expected = LinearScores(parse_measure("CG(gain=exponential)@4"), POOL)
    after = regraded(before, place, 3.6)
    found, fresh = expected.after(expected.scores(before), before, after, place), expected.scores(after)
    np.testing.assert_allclose(found.mean, fresh.mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, fresh.covariance, rtol=0, atol=1e-14)


@pytest.fixture(scope="module")
def broad():
    """Gains of .3 to .7 with a standard deviation of .1."""
    rng = np.random.default_rng(2)
    return known(rng.uniform(0.3, 0.7, N), np.full(N, 0.1))


@pytest.fixture(scope="module")
def sharp():
    """Gains of .2 to .9 in even steps within each query, with a deviation of .012: their order hardly varies."""
    rng, mean = np.random.default_rng(3), np.empty(N)
    for code in range(len(POOL.queries)):
        rows = np.flatnonzero(POOL.query == code)
        mean[rows] = rng.permutation(np.linspace(0.2, 0.9, len(rows)))
    return known(mean, np.full(N, 0.012))


def judged(belief, count, seed=0):
    """The same after judgments of some pairs about as expected."""
    rng = np.random.default_rng(seed)
    for place in rng.permutation(N)[:count].tolist():
        gains = belief.gains
        drawn = gains.mean[place] + np.sqrt(gains.variance[place]) * rng.normal()
        belief = belief.condition(place, float(np.round(100 * drawn)))
    return belief


def weights(discount):
    """(s, n) the discount of each pair in each system's ranking over the number of queries, from the runs."""
    found = np.zeros((len(COLLECTION.runs), N))
    for row, run in zip(found, COLLECTION.runs, strict=True):
        for query, documents in run.rankings.items():
            for rank, document in enumerate(documents, start=1):
                row[POOL.positions[query, document]] = discount(rank) / len(POOL.queries)
    return found


LINEAR = {"CG@4": lambda rank: 1 / 4, "nDCG(ideal=user)@4": lambda rank: 1 / log2(rank + 1) / 2.561606}


@pytest.mark.parametrize("count", [0, 15])
@pytest.mark.parametrize("written", LINEAR)
def test_a_linear_measure_has_the_moments_of_weighted_sums_of_the_field(broad, written, count):
    belief = judged(broad, count)
    found = LinearScores(parse_measure(written), POOL).scores(belief)
    dense = weights(LINEAR[written])
    np.testing.assert_allclose(found.mean, dense @ belief.gains.mean, rtol=1e-6)
    expected = dense @ in_full(belief.gains) @ dense.T
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-6, atol=1e-12)
    assert np.all(found.variance > 1.2 * np.vecdot(dense**2, belief.gains.variance))


MEASURES = ["CG@4", "DCG@4", "DCG(gain=exponential)@4", "RBP(ideal=user)@4", "nDCG@4", "nDCG(ideal=user)@4"]


def expected_of(written, draws=100):
    measure = parse_measure(written)
    if written == "nDCG@4":
        return RatioScores(measure, POOL)
    return SampledScores(measure, POOL, draws) if written == "AP(min=50)@4" else LinearScores(measure, POOL)


@pytest.mark.parametrize("written", [*MEASURES, "AP(min=50)@4"])
def test_one_more_judgment_gives_the_moments_from_scratch(broad, written):
    if "exponential" in written:  # 2^100 takes all: on a scale up to 4 a gain of .5 still counts
        broad = replace(broad, alone=replace(broad.alone, maximum=4.0, levels=broad.levels / 25))
    expected, before = expected_of(written), broad
    scores = expected.scores(before)
    for place in np.random.default_rng(4).permutation(N)[:12].tolist():
        after = before.condition(place, broad.maximum * 0.58)
        scores, before = expected.after(scores, before, after, place), after
        fresh = expected.scores(after)
        np.testing.assert_allclose(scores.mean, fresh.mean, rtol=1e-10)
        np.testing.assert_allclose(scores.covariance, fresh.covariance, rtol=0, atol=1e-10 * fresh.covariance.max())


@pytest.mark.parametrize("written", [*MEASURES, "AP(min=50)@4"])
def test_a_judgment_taken_back_or_changed_moves_no_score_to_what_is_no_number(broad, written):
    expected, before = expected_of(written), judged(broad, 3)
    place = int(np.flatnonzero(before.judged)[0])
    for grade in (np.nan, 20.0):
        after = regraded(before, place, grade)
        found = expected.after(expected.scores(before), before, after, place)
        fresh = expected.scores(after)
        np.testing.assert_allclose(found.mean, fresh.mean, rtol=1e-10)
        np.testing.assert_allclose(found.covariance, fresh.covariance, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_with_everything_judged_the_scores_are_known(broad):
    grades = np.random.default_rng(5).integers(0, 101, N).astype(float)
    belief = broad
    for place, grade in enumerate(grades.tolist()):
        belief = belief.condition(place, grade)
    found = LinearScores(parse_measure("CG@4"), POOL).scores(belief)
    np.testing.assert_allclose(found.mean, weights(LINEAR["CG@4"]) @ grades / 100, rtol=1e-12)
    for written in ("CG@4", "nDCG@4", "AP(min=50)@4"):
        assert not expected_of(written).scores(belief).covariance.any()


def drawn_gains(belief, draws, seed):
    """(draws, n) gains drawn from the full field."""
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(belief.gains.mean, in_full(belief.gains), draws, method="eigh")


def ratio_by_definition(gains, discount):
    """(s, draws) nDCG or RBP of drawn gains (draws, n): over the best four of each query."""
    total = np.zeros((len(COLLECTION.runs), len(gains)))
    for query in POOL.queries:
        rows = [place for place, pair in enumerate(POOL.pairs) if pair.query == query]
        best = -np.sort(-gains[:, rows], axis=1)[:, :4] @ [discount(rank) for rank in range(1, 5)]
        for row, run in zip(total, COLLECTION.runs, strict=True):
            for rank, document in enumerate(run.rankings[query], start=1):
                row += discount(rank) * gains[:, POOL.positions[query, document]] / best
    return total / len(POOL.queries)


def assert_within_error(found, scores, bias=0.0, skew=0.0):
    """Compare moments with drawn scores (s, draws), within five standard errors and the error of a formula.

    bias  tolerated error of a mean
    skew  tolerated error of a covariance, as a share of the largest
    """
    draws, covariance = scores.shape[1], np.cov(scores)
    variance = np.diagonal(covariance)
    assert np.all(np.abs(found.mean - scores.mean(axis=1)) <= 5 * np.sqrt(variance / draws) + bias)
    allowed = 5 * np.sqrt((np.outer(variance, variance) + covariance**2) / draws) + skew * variance.max()
    assert np.all(np.abs(found.covariance - covariance) <= allowed)


RATIOS = {"nDCG@4": lambda rank: 1 / log2(rank + 1), "RBP@4": lambda rank: 0.8 ** (rank - 1)}


# The delta method leaves out terms of the order of the squared relative deviation of a sum, (.012 / .5)^2 = 6e-4.
@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 12])
@pytest.mark.parametrize("written", RATIOS)
def test_ratios_have_the_moments_of_draws_from_the_field(sharp, written, count):
    belief = judged(sharp, count)
    found = RatioScores(parse_measure(written), POOL).scores(belief)
    scores = ratio_by_definition(drawn_gains(belief, 20_000, 6), RATIOS[written])
    assert_within_error(found, scores, bias=6e-4, skew=0.02)
    lone = RatioScores(parse_measure(written), POOL).scores(independent(belief))
    with pytest.raises(AssertionError):
        assert_within_error(lone, scores, bias=6e-4, skew=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 12])
def test_simulated_cumulative_gain_is_that_of_the_field(broad, count):
    # Simulated and exact: grades in whole hundredths add 1 / 12 of a hundredth squared, less than .1 % of .01.
    belief, draws = judged(broad, count), 20_000
    exact = LinearScores(parse_measure("CG@4"), POOL).scores(belief)
    found = SampledScores(parse_measure("CG@4"), POOL, draws).scores(belief)
    assert np.all(np.abs(found.mean - exact.mean) <= 4 * np.sqrt(exact.variance / draws) + 1e-5)
    variance = exact.variance
    allowed = 5 * np.sqrt((np.outer(variance, variance) + exact.covariance**2) / draws) + 2e-3 * variance.max()
    assert np.all(np.abs(found.covariance - exact.covariance) <= allowed)


@pytest.mark.slow
def test_simulated_ratios_are_those_of_draws_from_the_field(sharp):
    belief = judged(sharp, 12)
    found = SampledScores(parse_measure("nDCG@4"), POOL, 20_000).scores(belief)
    # Grades are whole hundredths, which is coarse beside .012. Both are drawn: their errors add up.
    scores = ratio_by_definition(drawn_gains(belief, 20_000, 7).round(2), RATIOS["nDCG@4"])
    assert_within_error(found, scores, bias=5 * np.sqrt(found.variance.max() / 20_000), skew=0.04)


@pytest.mark.slow
def test_simulation_sees_that_queries_are_correlated(broad):
    # The effects across queries are .3 of the variance of a pair, and more of that of the mean over six queries.
    measure = parse_measure("P(min=50)@4")
    joint = SampledScores(measure, POOL, 4000).scores(broad)
    lone = SampledScores(measure, POOL, 4000).scores(independent(broad))
    np.testing.assert_allclose(joint.mean, lone.mean, atol=0.03)
    assert np.all(joint.variance > 1.3 * lone.variance)
    # Of binary grades P is linear: its covariance is that of pairs of orthants, drawn here from the full field.
    top = drawn_gains(broad, 20_000, 8) >= 0.495
    assert_within_error(
        joint, weights(LINEAR["CG@4"]) @ top.T, bias=4 * np.sqrt(joint.variance.max() / 4000), skew=0.12
    )


def test_the_same_seed_gives_the_same_scores_and_another_one_others(broad):
    measure = parse_measure("AP(min=50)@4")
    first, again, other = (SampledScores(measure, POOL, 200, seed).scores(broad) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.covariance, again.covariance)
    assert np.any(first.mean != other.mean)


def test_slopes_of_a_ratio_are_differences_of_the_scores_where_nothing_is_in_doubt(sharp):
    # The gain of one document raised by a hundredth, all others certain: the ideal ranking moves with it.
    grades = np.round(100 * sharp.gains.mean)
    expected = RatioScores(parse_measure("nDCG@4"), POOL)
    certain = sharp.certain(grades)
    slopes = expected.slopes(certain).toarray()
    for place in range(0, N, 5):
        up, down = grades.copy(), grades.copy()
        up[place], down[place] = grades[place] + 0.01, grades[place] - 0.01
        gains = np.stack([up, down]) / 100
        scores = ratio_by_definition(gains, RATIOS["nDCG@4"])
        np.testing.assert_allclose(slopes[:, place], (scores[:, 0] - scores[:, 1]) / 2e-4, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("name", ["nDCG@2", "nDCG(gain=exponential)@1", "nDCG(gain=exponential)@2"])
def test_ratios_are_near_those_of_many_draws_even_where_an_ideal_is_near_0(name):
    # By exponential gains a grade of 50 is worth 2^-50 of the highest: the derivative of a ratio is as large.
    measure = parse_measure(name)
    pool = build_pool(replace(COLLECTION, judgments=()), measure.cutoff)
    low = pool.query == 0
    grades = np.where(low & (np.arange(len(pool.pairs)) % 3 > 0), 0.0, np.nan)
    belief = estimator_of(pool, "joint").predict(grades)
    discounts, gain = 1 / np.log2(np.arange(measure.cutoff) + 2), measure.word("gain") == "exponential"
    ranks, drawn, count = pool.ranks.toarray(), np.zeros((4000, len(pool.pairs))), len(pool.queries)
    for rows, some in belief.draw(np.random.default_rng(5), 4000):
        drawn[:, rows] = 2.0**some - 1 if gain else some
    scores = np.zeros((len(pool.systems), 4000))
    for code in range(count):
        own = np.flatnonzero(pool.query == code)
        ideal = -np.sort(-drawn[:, own], axis=1)[:, : measure.cutoff] @ discounts[: len(own)]
        got = np.where(ranks[:, own] > 0, discounts[ranks[:, own] - 1], 0) @ drawn[:, own].T
        scores += np.divide(got, ideal, out=np.zeros(got.shape), where=ideal > 0) / count
    found = RatioScores(measure, pool).scores(belief)
    error = 4 * scores.std(axis=1) / np.sqrt(GRADE_DRAWS)
    assert np.all(np.abs(found.mean - scores.mean(axis=1)) < error)
    assert np.all(np.sqrt(found.variance) < 3 * scores.std(axis=1))
