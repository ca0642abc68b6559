"""Drawn grades, compared with their probabilities and with scipy's bivariate normal distribution."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from audiosim.joint.levels import (
    FREEDOM,
    REACH,
    Levels,
    centred,
    shape_errors,
    shape_of,
    shown_by_levels,
    t_below,
    t_density,
)
from audiosim.joint.posterior import Belief
from audiosim.simulation.remaining import drawn_grades

DRAWS = 20_000


def test_students_t_is_that_of_scipy_from_end_to_end():
    deviations = np.concatenate([np.linspace(-30, 30, 2001), [0.0, 1e-9, 1e5, -1e5, np.inf, -np.inf]])
    np.testing.assert_allclose(t_below(deviations), stats.t(FREEDOM).cdf(deviations), atol=1e-15)
    np.testing.assert_allclose(t_density(deviations), stats.t(FREEDOM).pdf(deviations), rtol=1e-12, atol=1e-60)


@pytest.mark.slow
def test_the_shape_of_one_end_is_the_root_that_scipy_finds_or_as_far_as_an_end_may_be_off():
    rng = np.random.default_rng(3)
    ends, ratio, values = rng.normal(0, 2, (40, 1)), rng.uniform(0.5, 2, (40, 1)), np.array([0.0, 3.0])

    def reached(middle):
        return stats.t(FREEDOM).cdf(ends + ratio * middle).mean()

    for wanted in (1e-6, 0.02, 0.3, 0.7, 0.99, 1 - 1e-9):
        low, high = reached(-REACH), reached(REACH)
        middle = float(np.clip(wanted, low, high))
        root = brentq(lambda at, aim=middle: reached(at) - aim, -REACH - 1, REACH + 1, xtol=1e-13)
        assert shape_of(ends, ratio, np.array([wanted])) == pytest.approx([root], abs=1e-7)
        found = centred(np.zeros(1), ends, ratio, values, 3 * (1 - wanted))
        assert found == pytest.approx([root], abs=1e-7)


def test_a_chance_falls_on_the_level_whose_share_of_the_unit_interval_it_is_in():
    probabilities = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.6, 0.4, 0.0]])
    grades = np.array([np.nan, np.nan, 2.0])
    belief = Belief.independent(np.array([0.0, 1.0, 2.0]), probabilities, grades, 2.0, ("made up",))
    chance = np.array([[0.1, 0.01, 0.3], [0.3, 0.5, 0.9], [0.6, 1.0, 0.0]])
    every = np.arange(3)
    assert belief.grades_at(every, chance).tolist() == [[0, 1, 2], [1, 1, 2], [2, 1, 2]]
    assert belief.grades_at(np.array([2, 0]), chance[:1, :2]).tolist() == [[2, 0]]


def drawn(belief, rng, draws=DRAWS):
    grades = np.empty((draws, len(belief.grades)))
    for rows, own in belief.draw(rng, draws):
        grades[:, rows] = own
    return grades


def test_each_grade_follows_its_own_normal_distribution_and_judged_ones_stay(correlated, jointly):
    rng = np.random.default_rng(0)
    belief = jointly(correlated(rng, 0.3), [0.0, 1.0, 2.0], 2.0).condition(2, 2.0).condition(6, 0.0)
    grades = drawn(belief, rng)
    assert set(grades[:, 2]) == {2.0}
    assert set(grades[:, 6]) == {0.0}
    for place in (0, 1, 3, 4, 5, 7):
        counts = [np.sum(grades[:, place] == level) for level in (0, 1, 2)]
        assert stats.chisquare(counts, DRAWS * belief.probabilities[place]).pvalue > 0.001  # six seeded tests


def test_two_grades_are_high_together_as_often_as_two_normal_variables_are(correlated, jointly):
    # P(both at the top) of two levels is an orthant of the bivariate normal distribution; four standard errors.
    rng = np.random.default_rng(1)
    belief = jointly(correlated(rng, 0.3), [0.0, 2.0], 2.0).condition(3, 2.0)
    field, top = belief.gains, drawn(belief, rng) == 2
    chance = belief.probabilities[:, 1]
    for i, j in [(0, 1), (0, 4), (1, 5), (2, 7), (4, 6), (5, 7)]:
        correlation = field.column(i)[j] / np.sqrt(field.variance[i] * field.variance[j])
        both = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(
            stats.norm.ppf(chance[[i, j]])
        )
        assert abs(np.mean(top[:, i] & top[:, j]) - both) <= 4 * np.sqrt(both * (1 - both) / DRAWS)
    assert max(abs(field.column(0)[[1, 4, 6]]) / field.variance[0]) > 0.1


@pytest.mark.slow
def test_once_levels_were_learned_pairs_of_a_query_are_extreme_together_as_multivariate_t_variables_are(
    correlated, jointly
):
    # P(both at the top) far out, where tails that pairs share count; of pairs of two queries, whose deviations are
    # drawn apart, it is less. Two levels show the correlation of normal variables less by density^2 / (P (1 - P)).
    # Four standard errors.
    rng, draws = np.random.default_rng(7), 60_000
    field = correlated(rng, 0.3)
    belief = jointly(field, [0.0, 2.0], 2.0).using(Levels(shape=np.array([0.9])))
    top, far = drawn(belief, rng, draws) == 2, -stats.t(FREEDOM).ppf(belief.probabilities[:, 1])
    np.testing.assert_allclose(top.mean(axis=0), belief.probabilities[:, 1], atol=4 / 2 / np.sqrt(draws))
    shown = stats.norm.pdf(far) ** 2 / (stats.norm.cdf(far) * stats.norm.sf(far))
    for own, within in zip(field.blocks, field.within, strict=True):
        deviation = np.sqrt(field.variance[own])
        least = np.linalg.eigvalsh(within / np.outer(deviation, deviation))[0]
        times = min(1 / shown.mean(), 1 / (1 - least))  # beyond that no such distribution exists
        for i, j in [own[:2], own[1:3], own[2:4]]:
            correlation = field.column(i)[j] / np.sqrt(field.variance[i] * field.variance[j])
            correlation *= times
            shape = [[1, correlation], [correlation, 1]]
            both = stats.multivariate_t([0, 0], shape, df=FREEDOM).cdf(-far[[i, j]], maxpts=100_000, random_state=0)
            assert abs(np.mean(top[:, i] & top[:, j]) - both) <= 4 * np.sqrt(both * (1 - both) / draws) + 1e-4


@pytest.mark.slow
def test_once_levels_were_learned_grades_of_two_queries_correlate_as_gains_do(correlated, jointly):
    # Standard errors (1 - r^2) / sqrt(draws), five of them, for 16 correlations; to first order in the correlation.
    rng, draws = np.random.default_rng(9), 100_000
    field = correlated(rng, 0.3)
    belief = jointly(field, [0.0, 1.0, 2.0], 2.0).using(Levels(shape=np.array([0.2, 0.4])))
    found, (first, second) = np.corrcoef(drawn(belief, rng, draws).T), field.blocks[:2]
    covariance = np.array([field.column(place) for place in range(8)])
    expected = covariance / np.sqrt(np.outer(field.variance, field.variance))
    between = np.ix_(first, second)
    assert np.abs(expected[between]).max() > 0.05
    assert np.all(np.abs(found - expected)[between] <= 5 / np.sqrt(draws) + 0.06 * np.abs(expected[between]))


def test_levels_show_as_much_of_a_correlation_as_the_grades_of_normal_variables_have_with_them():
    # corr(z, grade)^2 of 400,000 draws: standard error 2 r (1 - r^2) / sqrt(draws), four of them.
    rng, draws, grades = np.random.default_rng(10), 400_000, np.array([0.0, 10.0, 70.0, 100.0])
    ends = np.array([[-1.0, 0.2, 0.9], [0.1, 1.4, 2.2]])
    values = rng.standard_normal(draws)
    found = [np.corrcoef(values, grades[np.searchsorted(of, values)])[0, 1] ** 2 for of in ends]
    assert shown_by_levels(ends, grades) == pytest.approx(np.mean(found), abs=4 * 2 / np.sqrt(draws))
    assert shown_by_levels(np.zeros((3, 1)), np.array([0.0, 1.0])) == pytest.approx(2 / np.pi, rel=1e-12)
    assert shown_by_levels(np.full((2, 1), np.inf), np.array([0.0, 1.0])) == 1
    assert shown_by_levels(np.zeros((0, 3)), grades) == 1


@pytest.mark.slow
def test_errors_of_a_shape_are_those_of_shapes_fitted_to_shares_drawn_from_a_dirichlet_distribution():
    rng, weight, values = np.random.default_rng(8), 10.0, np.array([0.0, 20.0, 50.0, 70.0, 100.0])
    ends = np.sort(rng.normal(0, 0.8, (60, 1)) + np.array([-1.2, -0.3, 0.4, 1.3]), axis=1)
    ratio = rng.uniform(0.8, 1.6, (60, 1))
    chances = np.diff(stats.t(FREEDOM).cdf(ends), axis=1, prepend=0, append=1).mean(axis=0)
    shares = np.cumsum(rng.dirichlet((weight + len(ends)) * chances, 400), axis=1)[:, :-1]
    wanted = float(chances @ values)
    shapes = [centred(shape_of(ends, ratio, share), ends, ratio, values, wanted) for share in shares]
    root = shape_errors(ends, ratio, np.diff(values), weight)
    # To first order; the standard error of a variance of 400 draws is 7 %.
    expected = np.cov(np.array(shapes).T)
    np.testing.assert_allclose(root @ root.T, expected, atol=0.15 * expected.diagonal().max())
    np.testing.assert_allclose(np.diagonal(root @ root.T), expected.diagonal(), rtol=0.25)
    assert not shape_errors(ends[:0], ratio[:0], np.diff(values), weight).any()
    np.testing.assert_allclose(t_density(ends), stats.t(FREEDOM).pdf(ends), rtol=1e-12)


def test_the_same_seed_draws_the_same_and_where_all_is_judged_there_is_nothing_to_draw(correlated, jointly):
    belief = jointly(correlated(np.random.default_rng(2), 0.1), range(101), 100.0)
    first, again, other = (drawn(belief, np.random.default_rng(seed), 50) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    for place in range(8):
        belief = belief.condition(place, 10.0 * place)
    assert drawn(belief, np.random.default_rng(5), 3).tolist() == [[10.0 * place for place in range(8)]] * 3


@pytest.mark.slow
def test_grades_drawn_for_a_campaign_are_correlated_as_in_the_field(correlated, jointly):
    # The standard error of a correlation is (1 - r^2) / sqrt(draws); five of them, for 28 correlations.
    rng, draws = np.random.default_rng(6), 1500
    belief = jointly(correlated(rng, 0.1), range(101), 100.0).condition(1, 60.0)
    for seed in range(3):
        campaign, alone = (
            drawn_grades(belief, np.random.default_rng(seed)),
            drawn(belief, np.random.default_rng(seed), 1),
        )
        np.testing.assert_array_equal(campaign, alone[0])
    grades = drawn(belief, rng, draws)
    assert set(grades[:, 1]) == {60.0}
    others = np.array([0, 2, 3, 4, 5, 6, 7])
    covariance = np.array([belief.gains.column(place)[others] for place in others])
    expected = covariance / np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
    found = np.corrcoef(grades[:, others].T)
    assert np.all(np.abs(found - expected) <= 5 * (1 - expected**2) / np.sqrt(draws) + 0.005)
    assert np.abs(expected - np.eye(7)).max() > 0.3
    independent = Belief.independent(belief.levels, belief.probabilities, belief.grades, 100.0, ("lone",))
    lone = np.corrcoef(drawn(independent, rng, draws)[:, others].T)
    assert np.abs(lone - np.eye(7)).max() <= 5 / np.sqrt(draws)
