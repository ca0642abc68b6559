"""Drawn grades, against the chances they are drawn with and the bivariate normal distribution of scipy."""

from dataclasses import replace

import numpy as np
from scipy import stats

from audiosim.relevance.draws import grades_at, joint_grades
from audiosim.relevance.estimators import Relevance
from audiosim.relevance.prediction import Prediction
from audiosim.simulate.remaining import drawn_grades

DRAWS = 20_000


def known(prediction):
    return Relevance(prediction, prediction.grades, prediction.maximum)


def test_a_chance_falls_on_the_level_whose_share_of_the_unit_interval_it_is_in():
    probabilities = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.6, 0.4, 0.0]])
    prediction = Prediction(np.array([0.0, 1.0, 2.0]), probabilities, ("made up",), np.zeros(3, dtype=np.int64))
    relevance = Relevance(prediction, np.array([np.nan, np.nan, 2.0]), 2.0)
    chance = np.array([[0.1, 0.01, 0.3], [0.3, 0.5, 0.9], [0.6, 1.0, 0.0]])
    every = np.arange(3)
    assert grades_at(relevance, every, chance).tolist() == [[0, 1, 2], [1, 1, 2], [2, 1, 2]]
    assert grades_at(relevance, np.array([2, 0]), chance[:1, :2]).tolist() == [[2, 0]]


def drawn(relevance, rng, draws=DRAWS):
    grades = np.empty((draws, len(relevance.grades)))
    for rows, own in joint_grades(relevance, relevance.prediction.field, rng, draws):
        grades[:, rows] = own
    return grades


def test_each_grade_follows_its_own_normal_distribution_and_judged_ones_stay(correlated, jointly):
    rng = np.random.default_rng(0)
    prediction = jointly(correlated(rng, 0.3), [0.0, 1.0, 2.0], 2.0).know(2, 2.0).know(6, 0.0)
    grades = drawn(known(prediction), rng)
    assert set(grades[:, 2]) == {2.0}
    assert set(grades[:, 6]) == {0.0}
    for place in (0, 1, 3, 4, 5, 7):
        counts = [np.sum(grades[:, place] == level) for level in (0, 1, 2)]
        # The probabilities have the tails of t with ten degrees of freedom; draws have the field's. Six seeded tests.
        ends = stats.t(10).ppf(np.cumsum(prediction.probabilities[place])[:-1])
        expected = np.diff([0, *stats.norm.cdf(ends), 1])
        assert stats.chisquare(counts, DRAWS * expected).pvalue > 0.001


def test_two_grades_are_high_together_as_often_as_two_normal_variables_are(correlated, jointly):
    # P(both at the top) of two levels is an orthant of the bivariate normal distribution; four standard errors.
    rng = np.random.default_rng(1)
    prediction = jointly(correlated(rng, 0.3), [0.0, 2.0], 2.0).know(3, 2.0)
    field, top = prediction.field, drawn(known(prediction), rng) == 2
    chance = prediction.probabilities[:, 1]
    for i, j in [(0, 1), (0, 4), (1, 5), (2, 7), (4, 6), (5, 7)]:
        correlation = field.column(i)[j] / np.sqrt(field.variance[i] * field.variance[j])
        both = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(
            stats.norm.ppf(chance[[i, j]])
        )
        assert abs(np.mean(top[:, i] & top[:, j]) - both) <= 4 * np.sqrt(both * (1 - both) / DRAWS)
    assert max(abs(field.column(0)[[1, 4, 6]]) / field.variance[0]) > 0.1


def test_the_same_seed_draws_the_same_and_where_all_is_judged_there_is_nothing_to_draw(correlated, jointly):
    prediction = jointly(correlated(np.random.default_rng(2), 0.1), range(101), 100.0)
    relevance = known(prediction)
    first, again, other = (drawn(relevance, np.random.default_rng(seed), 50) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    for place in range(8):
        relevance = relevance.know(place, 10.0 * place)
    assert drawn(relevance, np.random.default_rng(5), 3).tolist() == [[10.0 * place for place in range(8)]] * 3


def test_grades_drawn_for_a_campaign_hang_together_as_in_the_field(correlated, jointly):
    # The standard error of a correlation is (1 - r^2) / sqrt(draws); five of them, of 28 correlations.
    rng, draws = np.random.default_rng(6), 1500
    prediction = jointly(correlated(rng, 0.1), range(101), 100.0).know(1, 60.0)
    relevance = known(prediction)
    grades = np.array([drawn_grades(relevance, rng) for _ in range(draws)])
    assert set(grades[:, 1]) == {60.0}
    others = np.array([0, 2, 3, 4, 5, 6, 7])
    covariance = np.array([prediction.field.column(place)[others] for place in others])
    expected = covariance / np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
    found = np.corrcoef(grades[:, others].T)
    assert np.all(np.abs(found - expected) <= 5 * (1 - expected**2) / np.sqrt(draws) + 0.005)
    assert np.abs(expected - np.eye(7)).max() > 0.3
    apart = replace(relevance, prediction=prediction.apart())
    lone = np.corrcoef(np.array([drawn_grades(apart, rng) for _ in range(draws)])[:, others].T)
    assert np.abs(lone - np.eye(7)).max() <= 5 / np.sqrt(draws)
