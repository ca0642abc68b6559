"""Beliefs about grades, compared with closed forms of the normal distribution."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from audiosim.collection.pool import build_pool
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.joint.estimators import estimator_of
from audiosim.joint.posterior import Belief, Marginals, moments_of
from audiosim.joint.predictions import prediction_rows
from audiosim.stats.normal.block_normal import BlockNormal

ODD = np.array([1.0, 2.0, 5.0])


def in_full(gains):
    return np.array([gains.column(place) for place in range(len(gains.mean))])


def of_two(correlation):
    """Two pairs with means .55 and .85 and deviation .2, on a scale up to 4; and the ordinal model's probabilities."""
    within = 0.04 * np.array([[1, correlation], [correlation, 1]])
    prior = BlockNormal(np.array([0.55, 0.85]), (np.arange(2),), (within,), (np.empty((2, 0)),), np.empty((0, 0)))
    marginals = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    model = np.zeros(2, dtype=np.int64)
    alone = Marginals(np.array([0.0, 2.0, 4.0]), marginals, ("made up",), model, 4.0)
    return Belief(alone, prior, np.full(2, np.nan))


def meeting(ends, mean):
    """Probabilities of the levels 0, 2 and 4 with boundaries at these deviations, shifted to have a mean grade."""

    def shifted(by):
        return np.diff([0, *norm.cdf(np.asarray(ends) + by), 1])

    return shifted(brentq(lambda by: shifted(by) @ [0, 2, 4] - mean, -20, 20, xtol=1e-14))


@pytest.fixture
def fine(correlated, jointly):
    """Eight pairs in two queries, on a scale of 101 levels, with a deviation of 6 levels."""
    return jointly(correlated(np.random.default_rng(0), 0.06), range(101), 100.0)


def test_a_judgment_shifts_and_stretches_the_probabilities_of_another_pair():
    # A grade of 4 is 1, 2.25 deviations above the mean: the other's mean moves by .8 of that, its deviation to .6.
    after = of_two(0.8).condition(0, 4.0)
    assert (after.gains.mean[0], after.gains.variance[0]) == (1, 0)
    assert after.gains.mean[1] == pytest.approx(0.85 + 0.8 * 0.45)
    assert after.gains.variance[1] == pytest.approx(0.04 * 0.36)
    # A mean beyond the scale is a fiftieth of it away from its end.
    expected = meeting((norm.ppf([0.1, 0.2]) - 0.8 * 2.25) / 0.6, 0.98 * 4)
    np.testing.assert_allclose(after.probabilities[1], expected, rtol=1e-9)
    assert after.expectation[1] == pytest.approx(0.98 * 4)
    assert after.variance[1] == pytest.approx(16 * 0.04 * 0.36)
    # The pair's own judgment is not used for its probabilities.
    np.testing.assert_allclose(after.probabilities[0], [0.2, 0.5, 0.3], rtol=1e-12)
    assert (after.expectation[0], after.variance[0]) == (4, 0)


def test_pairs_that_have_nothing_in_common_say_nothing_of_each_other():
    after = of_two(0.0).condition(0, 4.0)
    np.testing.assert_allclose(after.probabilities, of_two(0.0).probabilities, rtol=1e-12)


def test_a_level_that_the_ordinal_model_excludes_stays_excluded():
    before = of_two(0.8)
    before.marginals[1] = [0.0, 1.0, 0.0]
    for grade in (0.0, 2.0, 4.0):
        np.testing.assert_array_equal(before.condition(0, grade).probabilities[1], [0, 1, 0])


def test_probabilities_are_those_of_the_normal_distribution_where_the_ordinal_model_has_them_so(fine):
    # Cut at half levels, with the mean and variance after conditioning: the field and the probabilities agree.
    after = fine.condition(2, 71.0).condition(5, 40.0)
    unjudged = np.flatnonzero(np.isnan(after.grades))
    ends = np.arange(0.5, 100) / 100
    deviation = np.sqrt(after.gains.variance)
    for place in unjudged:
        expected = np.diff([0, *norm(after.gains.mean[place], deviation[place]).cdf(ends), 1])
        np.testing.assert_allclose(after.probabilities[place], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(after.expectation[unjudged] / 100, after.gains.mean[unjudged], rtol=0, atol=1e-3)


def test_what_is_learned_one_by_one_is_what_is_learned_at_once(fine):
    places, grades = np.array([6, 1, 3]), np.array([80.0, 20.0, 50.0])
    after = fine
    for place, grade in zip(places.tolist(), grades.tolist(), strict=True):
        after = after.condition(place, grade)
    expected = fine.prior.condition_all(places, grades / 100)
    np.testing.assert_allclose(after.gains.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(in_full(after.gains), in_full(expected), rtol=0, atol=1e-15)
    assert after.prior is fine.prior
    np.testing.assert_array_equal(np.isnan(fine.grades), np.full(8, fill_value=True))
    np.testing.assert_array_equal(after.grades[places], grades)


def test_joint_predictions_turn_into_rows():
    pairs = [Pair("q", "a"), Pair("q", "b")]
    (row,) = prediction_rows(of_two(0.8), pairs, [1])
    assert row == {
        "query": "q",
        "document": "b",
        "expectation": pytest.approx(3.4),
        "variance": pytest.approx(16 * 0.04),
        "probabilities": pytest.approx([0.1, 0.1, 0.8]),
        "gain": pytest.approx(0.85),
        "model": "made up",
        "evidence": None,
    }


def test_gains_are_the_prior_in_which_judged_pairs_are_certain(fine):
    assert fine.gains is fine.prior
    after = fine.condition(4, 90.0)
    assert (after.gains.mean[4], after.gains.variance[4], after.judged.tolist().count(True)) == (0.9, 0, 1)
    expected = fine.prior.condition(4, 0.9)
    np.testing.assert_allclose(after.gains.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(in_full(after.gains), in_full(expected), atol=1e-16)
    assert fine.gains is fine.prior


@pytest.mark.slow
def test_conditioning_is_predicting_anew(some_hundreds, joined):
    pool, rng = build_pool(some_hundreds), np.random.default_rng(1)
    truth, grades = pool.spread(some_hundreds.grades()), np.full(len(pool.pairs), np.nan)
    grades[:40] = truth[:40]
    now = estimator_of(pool, joined()).predict(grades)
    for place in rng.permutation(np.arange(40, len(truth)))[:5]:
        now = now.condition(int(place), truth[place])
    anew = estimator_of(pool, joined()).predict(now.grades)
    np.testing.assert_allclose(now.gains.mean, anew.gains.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(in_full(now.gains), in_full(anew.gains), rtol=0, atol=1e-12)
    np.testing.assert_allclose(now.probabilities, anew.probabilities, rtol=0, atol=1e-10)


def test_a_judgment_taken_back_or_changed_is_as_if_it_had_been_so_from_the_start(fine):
    judged = fine.condition(4, 90.0).condition(1, 20.0)
    for grade in (np.nan, 10.0):
        grades = judged.grades.copy()
        grades[4] = grade
        changed, expected = judged.revise(grades), fine.condition(1, 20.0)
        expected = expected if np.isnan(grade) else expected.condition(4, grade)
        np.testing.assert_array_equal(changed.grades[4], grade)
        np.testing.assert_allclose(in_full(changed.gains), in_full(expected.gains), atol=1e-15)
        np.testing.assert_allclose(changed.probabilities, expected.probabilities, atol=1e-12)
    with pytest.raises(InputError, match="^row 4 is judged already: a change of its judgment needs revise$"):
        judged.condition(4, 10.0)


def test_a_belief_resumed_from_an_earlier_one_is_the_same(fine):
    earlier, grades = fine.condition(3, 50.0), np.full(8, np.nan)
    grades[[3, 5, 0]] = 50, 70, 10
    asked = fine.revise(grades)
    resumed = asked.resumed(earlier)
    assert resumed is not asked
    np.testing.assert_array_equal(resumed.grades, grades)
    np.testing.assert_allclose(in_full(resumed.gains), in_full(asked.gains), rtol=0, atol=1e-15)
    grades[3] = 51
    changed, other = (
        fine.revise(grades),
        replace(fine, grades=grades, prior=fine.prior.scaled(fine.prior.mean, np.ones(8))),
    )
    assert changed.resumed(earlier) is changed
    assert other.resumed(fine) is other


def parts(**changes):
    """Parts of a belief about three pairs, with changes."""
    right = {
        "levels": np.array([0.0, 1.0, 2.0]),
        "probabilities": np.full((3, 3), 1 / 3),
        "grades": np.array([np.nan, 2.0, np.nan]),
        "maximum": 2.0,
        "models": ("one", "other"),
        "model": np.array([0, 1, 0]),
    }
    return right | changes


def row(*values):
    return np.array([[1 / 3] * 3, values, [1 / 3] * 3])


SUMS = "^each row of probabilities must be 0 or more and sum to 1, row 1 has least "


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probabilities": row(2.0, 2.0, 2.0)}, SUMS + "2 and sum 6$"),
        ({"probabilities": row(1.5, -0.5, 0.0)}, SUMS + "-0.5 and sum 1$"),
        ({"probabilities": row(0.5, 0.5, np.nan)}, SUMS + "nan and sum nan$"),
        (
            {"probabilities": np.full((3, 2), 0.5)},
            r"^probabilities must be \(n, 3\) to match the levels, got \(3, 2\)$",
        ),
        ({"probabilities": np.full(3, 1 / 3)}, r"^probabilities must be \(n, 3\) to match the levels, got \(3,\)$"),
        ({"levels": np.array([0.0, 1.0, 1.0])}, r"^levels must rise within the scale, got \[0.0, 1.0, 1.0\]$"),
        ({"levels": np.array([0.0, 1.0, 3.0])}, r"^levels must rise within the scale, got \[0.0, 1.0, 3.0\]$"),
        ({"models": ()}, r"^models must be a tuple of names, got \(\)$"),
        ({"model": np.array([0, 2, 0])}, "^each of 3 pairs must name one of the models one, other$"),
        ({"model": np.array([0, 1])}, "^each of 3 pairs must name one of the models one, other$"),
        ({"grades": np.array([np.nan, 3.0, 0.0])}, r"^row 1: a grade must be in \[0, 2\], got 3$"),
        ({"grades": np.array([np.nan, np.inf, 0.0])}, r"^row 1: a grade must be in \[0, 2\], got inf$"),
        ({"grades": np.array([np.nan])}, r"^grades must be \(3,\) to match the probabilities, got \(1,\)$"),
        ({"grades": [0.0, 0.0, 0.0]}, "^grades must be an array of float64, got list$"),
    ],
)
def test_a_belief_that_is_not_well_formed_is_refused(changes, message):
    assert Belief.independent(**parts()).gains.mean.tolist() == pytest.approx([0.5, 1, 0.5])
    with pytest.raises(InputError, match=message):
        Belief.independent(**parts(**changes))


def test_a_prior_of_other_pairs_or_of_certain_ones_is_refused(fine):
    with pytest.raises(InputError, match=r"^gains must be \(8,\) to match the probabilities, got \(2,\)$"):
        replace(fine, prior=of_two(0.5).prior)
    with pytest.raises(
        InputError, match="^row 3 of correlated gains must have a variance above 0 before it is judged$"
    ):
        replace(fine, prior=fine.prior.condition(3, 0.5))


def test_nobody_can_write_into_the_grades_of_a_belief(fine):
    grades = np.full(8, 50.0)
    belief = fine.revise(grades)
    grades[0] = 0
    assert belief.grades[0] == 50
    with pytest.raises(ValueError, match="read-only"):
        belief.grades[0] = 0


def test_certain_pairs_have_their_grades_and_nothing_to_do_with_each_other(fine):
    grades = np.arange(8) * 10.0
    certain = fine.condition(2, 71.0).certain(grades)
    for gains in (certain.gains, certain.gains_as(lambda grade: grade)):
        assert not gains.correlated
        np.testing.assert_allclose(gains.mean, grades / 100, rtol=1e-14)
        assert not gains.variance.any()


@pytest.mark.parametrize("gain", [lambda grade: grade, lambda grade: 2**grade - 1, lambda grade: grade**0.5])
def test_other_gains_have_the_moments_of_the_levels_and_the_correlations_of_the_field(correlated, jointly, gain):
    field = correlated(np.random.default_rng(2), 0.3)
    belief = jointly(field, ODD, 6.0).condition(3, 6.0).condition(0, 2.0)
    found = belief.gains_as(gain)
    values, unjudged = gain(ODD) / gain(6.0), np.array([1, 2, 4, 5, 6, 7])
    mean = belief.probabilities @ values
    spread = belief.probabilities @ values**2 - mean**2
    np.testing.assert_allclose(found.mean[unjudged], mean[unjudged], rtol=1e-12)
    np.testing.assert_allclose(found.mean[[3, 0]], [1, gain(2.0) / gain(6.0)], rtol=1e-14)
    covariance, deviation = in_full(belief.gains), np.sqrt(belief.gains.variance)
    of = np.ix_(unjudged, unjudged)
    correlation = covariance[of] / np.outer(deviation[unjudged], deviation[unjudged])
    expected = correlation * np.sqrt(np.outer(spread[unjudged], spread[unjudged]))
    np.testing.assert_allclose(in_full(found)[of], expected, rtol=1e-9, atol=1e-15)
    assert not in_full(found)[[0, 3]].any()


def test_exponential_gains_of_normal_grades_are_log_normal_where_they_vary_little(correlated, jointly):
    # 2^G of a normal G: mean exp(m log 2 + v log^2 2 / 2), covariance of two their means' product times
    # exp(c log^2 2) - 1. Grades vary by .04 of 4: of the covariance that is to first order within 2 %.
    field = correlated(np.random.default_rng(3), 0.04)
    belief = jointly(field, np.linspace(0, 4, 801), 4.0).condition(1, 2.5)
    found = belief.gains_as(lambda grade: 2**grade - 1)
    mean, covariance = 4 * belief.gains.mean, 16 * in_full(belief.gains)
    two = [exp(m * log(2) + v * log(2) ** 2 / 2) for m, v in zip(mean, np.diagonal(covariance), strict=True)]
    np.testing.assert_allclose(found.mean, (np.array(two) - 1) / 15, rtol=3e-3)
    expected = np.outer(two, two) * np.expm1(covariance * log(2) ** 2) / 15**2
    deviation = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose(in_full(found), expected, rtol=0, atol=0.02 * np.max(np.outer(deviation, deviation)))
    drawn = dict(enumerate(np.random.default_rng(4).multivariate_normal(mean, covariance, 40_000, method="eigh").T))
    for i, j in ((0, 2), (4, 5), (3, 7)):
        simulated = np.cov(2 ** drawn[i], 2 ** drawn[j])[0, 1] / 15**2
        error = sqrt((expected[i, i] * expected[j, j] + expected[i, j] ** 2) / 40_000)
        assert abs(in_full(found)[i, j] - simulated) <= 4 * error + 0.02 * deviation[i] * deviation[j]


def test_moments_of_a_gain_are_those_of_numerical_integration():
    mean, deviation = np.array([0.4, 0.6]), np.array([0.05, 0.1])
    found, spread = moments_of(lambda of: 2**of - 1, mean, deviation)
    for place in range(2):
        normal = norm(mean[place], deviation[place])
        first, second = (normal.expect(lambda of, power=power: (2**of - 1) ** power) for power in (1, 2))
        assert found[place] == pytest.approx(first, abs=1e-5)
        assert spread[place] == pytest.approx(second - first**2, rel=1e-3)
