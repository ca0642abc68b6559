from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import logistic

from audiosim.errors import InputError
from audiosim.stats.ordinal import expectation, level_probabilities, thresholds_of, variance


def test_level_probabilities_are_those_of_a_cut_logistic_variable():
    # R >= l exactly when a standard logistic variable exceeds -(threshold + predictor).
    thresholds, predictor = np.array([2.0, 0.5, -1.0]), np.array([-3.0, 0.0, 1.5])
    edges = np.concatenate([[np.inf], thresholds, [-np.inf]])
    expected = [[logistic.cdf(-low - x) - logistic.cdf(-high - x) for high, low in pairwise(edges)] for x in predictor]
    np.testing.assert_allclose(level_probabilities(thresholds, predictor), expected, rtol=1e-13)


def test_an_unknown_predictor_gives_unknown_probabilities_in_its_row_only():
    probabilities = level_probabilities(np.array([0.0]), np.array([np.nan, 0.0]))
    assert np.all(np.isnan(probabilities[0]))
    assert probabilities[1].tolist() == [0.5, 0.5]


@pytest.mark.slow
@given(
    st.lists(st.floats(-20, 20), min_size=1, max_size=12, unique_by=lambda x: round(x, 3)),
    st.lists(st.floats(-800, 800), min_size=1, max_size=5),
)
def test_probabilities_are_never_negative_and_sum_to_one(thresholds, predictor):
    probabilities = level_probabilities(np.sort(thresholds)[::-1], np.array(predictor))
    assert np.all(probabilities >= 0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.slow
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=101))
def test_thresholds_give_back_the_probabilities_they_came_from(weights):
    probabilities = np.array(weights) / np.sum(weights)
    again = level_probabilities(thresholds_of(probabilities), np.zeros(1))[0]
    np.testing.assert_allclose(again, probabilities, rtol=1e-9, atol=1e-13)


def test_the_uniform_distribution_has_the_moments_that_the_thesis_prints():
    # Urbano (2013), section 7.2.1: 1 and 2/3 for Broad, 50 and 850 for Fine.
    for levels, mean, spread in ((np.arange(3.0), 1, 2 / 3), (np.arange(101.0), 50, 850)):
        uniform = np.full((1, len(levels)), 1 / len(levels))
        assert expectation(uniform, levels) == pytest.approx([mean], rel=1e-12)
        assert variance(uniform, levels) == pytest.approx([spread], rel=1e-12)


def test_a_certain_level_has_no_variance():
    certain = np.eye(10)
    assert np.all(variance(certain, np.arange(5.0, 100.0, 10.0)) < 1e-12)


@pytest.mark.parametrize("thresholds", [[], [0.0, 0.0], [0.0, 1.0], [np.nan, 0.0]])
def test_thresholds_that_do_not_fall_are_refused(thresholds):
    with pytest.raises(InputError, match="thresholds must fall from level to level, got"):
        level_probabilities(np.array(thresholds), np.zeros(1))


@pytest.mark.parametrize("probabilities", [[0.5, 0.6], [0.0, 1.0]])
def test_probabilities_that_are_none_are_refused(probabilities):
    with pytest.raises(InputError, match="probabilities must be above 0 and sum to 1, got"):
        thresholds_of(np.array(probabilities))
