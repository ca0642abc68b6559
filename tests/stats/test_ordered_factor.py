"""A Cholesky factor that grows with its unknowns, compared with the factor of all of them."""

import numpy as np
import pytest

from audiosim.stats.normal.conditioning import NO_FACTOR, STEP

COUNT = 2 * STEP + 7


@pytest.fixture(scope="module")
def covariance():
    rows = np.random.default_rng(0).normal(size=(COUNT, COUNT))
    return rows @ rows.T + np.eye(COUNT)


@pytest.fixture
def between(covariance):
    """Covariances of some unknowns with others; records the numbers of requested unknowns."""

    def of(some, others):
        of.asked.append(len(some))
        return covariance[np.ix_(some, others)]

    of.asked = []
    return of


@pytest.fixture(scope="module")
def places():
    return np.random.default_rng(1).permutation(COUNT)


def test_a_factor_that_grew_one_by_one_is_to_the_last_digit_that_of_all_at_once(covariance, between, places):
    factor = NO_FACTOR
    for count in range(COUNT + 1):
        factor = factor.followed(places[:count], between)
        at_once = NO_FACTOR.followed(places[:count], between)
        np.testing.assert_array_equal(factor.root, at_once.root)
    np.testing.assert_allclose(factor.root, np.linalg.cholesky(covariance[np.ix_(places, places)]), rtol=0, atol=1e-10)


def test_one_more_unknown_costs_no_more_than_a_step(between, places):
    factor = NO_FACTOR.followed(places[:-1], between)
    between.asked.clear()
    factor.followed(places, between)
    assert between.asked == [COUNT - 2 * STEP]


@pytest.mark.parametrize("changed", [0, STEP - 1, STEP, COUNT - 1])
def test_another_order_has_a_factor_of_its_own(covariance, between, places, changed):
    other = np.concatenate([places[:changed], places[changed:][::-1]])
    root = NO_FACTOR.followed(places, between).followed(other, between).root
    np.testing.assert_allclose(root @ root.T, covariance[np.ix_(other, other)], rtol=0, atol=1e-9)


def test_a_prediction_is_the_regression_on_the_values_before(covariance, between, places):
    values, mean = np.random.default_rng(2).normal(size=(2, COUNT))
    found, deviation = NO_FACTOR.followed(places, between).predictions(values, mean)
    ordered = covariance[np.ix_(places, places)]
    for place in (0, 1, STEP, COUNT - 1):
        slopes = np.linalg.solve(ordered[:place, :place], ordered[:place, place])
        assert found[place] == pytest.approx(mean[place] + slopes @ (values - mean)[:place])
        assert deviation[place] ** 2 == pytest.approx(ordered[place, place] - slopes @ ordered[:place, place])
