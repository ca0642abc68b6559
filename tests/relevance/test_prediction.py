"""What is made of a field of grades, against closed forms of the normal distribution."""

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import norm, t

from audiosim.corpus.model import Pair
from audiosim.corpus.pool import build_pool
from audiosim.relevance.estimators import Relevance, estimator_of, relevance
from audiosim.relevance.prediction import FREEDOM, JointPrediction, Prediction
from audiosim.stats.field import Field
from audiosim.stats.moments import Moments

ODD = np.array([1.0, 2.0, 5.0])


def in_full(field):
    return np.array([field.column(place) for place in range(len(field.mean))])


def of_two(correlation):
    """Two pairs of mean .55 and .85 and deviation .2, on a scale up to 4; the ordinal model's probabilities."""
    within = 0.04 * np.array([[1, correlation], [correlation, 1]])
    field = Field(np.array([0.55, 0.85]), (np.arange(2),), (within,), (np.empty((2, 0)),), np.empty((0, 0)))
    probabilities = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    prior = Prediction(np.array([0.0, 2.0, 4.0]), probabilities, ("made up",), np.zeros(2, dtype=np.int64))
    return JointPrediction(prior, field, field, np.full(2, np.nan), 4.0)


def with_tails(probabilities):
    """The probabilities, by t with ten degrees of freedom, of levels that end where a normal distribution has them."""
    return np.diff([0, *t(10).cdf(norm.ppf(np.cumsum(probabilities)[:-1])), 1])


@pytest.fixture
def fine(correlated, jointly):
    """Eight pairs in two queries, on a scale of 101 levels, of a deviation of 6 levels."""
    return jointly(correlated(np.random.default_rng(0), 0.06), range(101), 100.0)


def test_a_judgment_shifts_and_stretches_the_probabilities_of_another_pair():
    # A grade of 4 is 1, 2.25 deviations above the mean: the other's mean moves by .8 of that, its deviation to .6.
    after = of_two(0.8).know(0, 4.0)
    assert (after.field.mean[0], after.field.variance[0]) == (1, 0)
    assert after.field.mean[1] == pytest.approx(0.85 + 0.8 * 0.45)
    assert after.field.variance[1] == pytest.approx(0.04 * 0.36)
    ends = norm.ppf([0.1, 0.2])
    expected = np.diff([0, *t(FREEDOM).cdf((ends - 0.8 * 2.25) / 0.6), 1])
    np.testing.assert_allclose(after.probabilities[1], expected, rtol=1e-12)
    # The pair's own judgment is not used for it.
    low, middle, high = with_tails([0.2, 0.5, 0.3])
    np.testing.assert_allclose(after.probabilities[0], [low, middle, high], rtol=1e-12)
    mean = 2 * middle + 4 * high
    assert after.expectation[0] == pytest.approx(mean)
    assert after.variance[0] == pytest.approx(4 * middle + 16 * high - mean**2)


def test_pairs_that_have_nothing_in_common_say_nothing_of_each_other():
    after = of_two(0.0).know(0, 4.0)
    np.testing.assert_allclose(after.probabilities, of_two(0.0).probabilities, rtol=1e-12)


def test_a_level_that_the_ordinal_model_excludes_stays_excluded():
    before = of_two(0.8)
    before.prior.probabilities[1] = [0.0, 1.0, 0.0]
    for grade in (0.0, 2.0, 4.0):
        np.testing.assert_array_equal(before.know(0, grade).probabilities[1], [0, 1, 0])


def test_probabilities_are_those_of_the_normal_distribution_where_the_ordinal_model_has_them_so(fine):
    # Cut at half levels, of the mean and variance that conditioning gives: the field and the probabilities agree.
    after = fine.know(2, 71.0).know(5, 40.0)
    unjudged = np.flatnonzero(np.isnan(after.grades))
    ends = np.arange(0.5, 100) / 100
    deviation = np.sqrt(after.field.variance)
    for place in unjudged:
        expected = np.diff([0, *t(FREEDOM, after.field.mean[place], deviation[place]).cdf(ends), 1])
        np.testing.assert_allclose(after.probabilities[place], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(after.expectation[unjudged] / 100, after.field.mean[unjudged], rtol=0, atol=1e-3)


def test_what_is_learned_one_by_one_is_what_is_learned_at_once(fine):
    places, grades = np.array([6, 1, 3]), np.array([80.0, 20.0, 50.0])
    after = fine
    for place, grade in zip(places.tolist(), grades.tolist(), strict=True):
        after = after.know(place, grade)
    expected = fine.field.know_all(places, grades / 100)
    np.testing.assert_allclose(after.field.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(in_full(after.field), in_full(expected), rtol=0, atol=1e-15)
    assert after.start is fine.start
    np.testing.assert_array_equal(np.isnan(fine.grades), np.full(8, fill_value=True))
    np.testing.assert_array_equal(after.grades[places], grades)


def test_apart_pairs_keep_their_probabilities_and_know_of_no_other(fine):
    joint = fine.know(2, 71.0)
    apart = joint.apart()
    assert (joint.field is not None, apart.field) == (True, None)
    np.testing.assert_array_equal(apart.probabilities, joint.probabilities)
    assert (apart.models, apart.model.tolist()) == (joint.models, joint.model.tolist())
    np.testing.assert_array_equal(apart.levels, joint.levels)
    assert apart.know(0, 3.0) is apart
    assert apart.apart() is apart


def test_joint_predictions_turn_into_rows():
    pairs = [Pair("q", "a"), Pair("q", "b")]
    (row,) = of_two(0.8).rows(pairs, [1])
    low, middle, high = with_tails([0.1, 0.1, 0.8])
    mean = 2 * middle + 4 * high
    assert row == {
        "query": "q",
        "document": "b",
        "expectation": pytest.approx(mean),
        "variance": pytest.approx(4 * middle + 16 * high - mean**2),
        "probabilities": pytest.approx([low, middle, high]),
        "model": "made up",
    }


def known(prediction):
    return Relevance(prediction, prediction.grades, prediction.maximum)


def test_gains_are_the_field_in_which_judged_pairs_are_certain(fine):
    before = known(fine)
    assert before.gains is fine.field
    after = before.know(4, 90.0)
    assert isinstance(after.gains, Field)
    assert (after.gains.mean[4], after.gains.variance[4], after.judged.tolist().count(True)) == (0.9, 0, 1)
    expected = fine.field.know(4, 0.9)
    np.testing.assert_allclose(after.gains.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(in_full(after.gains), in_full(expected), atol=1e-16)
    assert before.gains is fine.field


def test_to_know_a_pair_is_to_predict_anew_at_once(some_hundreds, joined):
    pool, rng = build_pool(some_hundreds), np.random.default_rng(1)
    truth, grades = pool.spread(some_hundreds.grades()), np.full(len(pool.pairs), np.nan)
    grades[:40] = truth[:40]
    now = relevance(pool, estimator_of(pool, joined()), grades)
    for place in rng.permutation(np.arange(40, len(truth)))[:5]:
        now = now.know(int(place), truth[place])
    anew = relevance(pool, estimator_of(pool, joined()), now.grades)
    np.testing.assert_allclose(now.gains.mean, anew.gains.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(in_full(now.gains), in_full(anew.gains), rtol=0, atol=1e-12)
    np.testing.assert_allclose(now.prediction.probabilities, anew.prediction.probabilities, rtol=0, atol=1e-10)


def test_taking_a_judgment_back_or_changing_it_waits_for_the_next_prediction(fine):
    judged = known(fine).know(4, 90.0)
    for grade in (np.nan, 10.0):
        changed = judged.know(4, grade)
        assert changed.prediction is judged.prediction
        np.testing.assert_array_equal(changed.grades[4], grade)


def test_certain_pairs_have_their_grades_and_nothing_to_do_with_each_other(fine):
    grades = np.arange(8) * 10.0
    certain = known(fine).know(2, 71.0).certain(grades)
    for gains in (certain.gains, certain.gains_as(lambda grade: grade)):
        assert isinstance(gains, Moments)
        np.testing.assert_allclose(gains.mean, grades / 100, rtol=1e-14)
        assert not gains.variance.any()


@pytest.mark.parametrize("gain", [lambda grade: grade, lambda grade: 2**grade - 1, lambda grade: grade**0.5])
def test_other_gains_have_the_moments_of_the_levels_and_the_correlations_of_the_field(correlated, jointly, gain):
    field = correlated(np.random.default_rng(2), 0.3)
    prediction = jointly(field, ODD, 6.0).know(3, 6.0).know(0, 2.0)
    found = known(prediction).gains_as(gain)
    values, unjudged = gain(ODD) / gain(6.0), np.array([1, 2, 4, 5, 6, 7])
    mean = prediction.probabilities @ values
    spread = prediction.probabilities @ values**2 - mean**2
    np.testing.assert_allclose(found.mean[unjudged], mean[unjudged], rtol=1e-12)
    np.testing.assert_allclose(found.mean[[3, 0]], [1, gain(2.0) / gain(6.0)], rtol=1e-14)
    covariance, deviation = in_full(prediction.field), np.sqrt(prediction.field.variance)
    of = np.ix_(unjudged, unjudged)
    correlation = covariance[of] / np.outer(deviation[unjudged], deviation[unjudged])
    # Without what the heavier tails add to the variance of a single grade: 10 / 8 of a normal one's.
    expected = 0.8 * correlation * np.sqrt(np.outer(spread[unjudged], spread[unjudged]))
    np.testing.assert_allclose(in_full(found)[of], expected, rtol=1e-9, atol=1e-15)
    assert not in_full(found)[[0, 3]].any()


def test_exponential_gains_of_normal_grades_are_log_normal_where_they_vary_little(correlated, jointly):
    # 2^G of a normal G: mean exp(m log 2 + v log^2 2 / 2), covariance of two their means' product times
    # exp(c log^2 2) - 1. Grades vary by .04 of 4: of the covariance that is to first order within 2 %.
    field = correlated(np.random.default_rng(3), 0.04)
    prediction = jointly(field, np.linspace(0, 4, 801), 4.0).know(1, 2.5)
    found = known(prediction).gains_as(lambda grade: 2**grade - 1)
    mean, covariance = 4 * prediction.field.mean, 16 * in_full(prediction.field)
    two = [exp(m * log(2) + v * log(2) ** 2 / 2) for m, v in zip(mean, np.diagonal(covariance), strict=True)]
    # The level probabilities' heavier tails lift the mean by a quarter of the variance's share.
    np.testing.assert_allclose(found.mean, (np.array(two) - 1) / 15, rtol=3e-3)
    expected = np.outer(two, two) * np.expm1(covariance * log(2) ** 2) / 15**2
    deviation = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose(in_full(found), expected, rtol=0, atol=0.02 * np.max(np.outer(deviation, deviation)))
    drawn = dict(enumerate(np.random.default_rng(4).multivariate_normal(mean, covariance, 40_000, method="eigh").T))
    for i, j in ((0, 2), (4, 5), (3, 7)):
        simulated = np.cov(2 ** drawn[i], 2 ** drawn[j])[0, 1] / 15**2
        error = sqrt((expected[i, i] * expected[j, j] + expected[i, j] ** 2) / 40_000)
        assert abs(in_full(found)[i, j] - simulated) <= 4 * error + 0.02 * deviation[i] * deviation[j]
