"""Test with random queries and listeners, compared with an analysis of variance, the t-test, and simulation."""

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.stats.tests import crossed_test, paired_test


def drawn(rng, queries=12, listeners=6, spreads=(0.1, 0.1, 0.1)):
    """Scores (2, q, a) of two systems that are equally good for all queries and listeners in general."""
    of_query, of_listener, rest = spreads
    difference = of_query * rng.normal(size=(queries, 1)) + of_listener * rng.normal(size=listeners)
    difference = difference + rest * rng.normal(size=(queries, listeners))
    base = rng.normal(size=(queries, listeners))
    return np.array([base + difference, base])


def test_it_is_the_quasi_f_of_a_table_worked_out_by_hand():
    # Differences on 3 queries by 2 listeners, around their mean of 3; the means of queries and of listeners by hand.
    differences = np.array([[0.0, 4.0], [1.0, 5.0], [1.0, 7.0]])
    mean = differences.mean()
    total = ((differences - mean) ** 2).sum()
    queries = 2 * ((np.array([2.0, 3.0, 4.0]) - 3) ** 2).sum()
    listeners = 3 * ((np.array([2 / 3, 16 / 3]) - 3) ** 2).sum()
    squares = np.array([queries / 2, listeners / 1, (total - queries - listeners) / 2])
    found = crossed_test(np.array([differences, np.zeros((3, 2))]))
    variance = squares[0] + squares[1] - squares[2]
    freedom = variance**2 / (squares**2 / np.array([2, 1, 2])).sum()
    assert found.statistic[0] == pytest.approx(3 / np.sqrt(variance / 6))
    assert found.p_value[0] == pytest.approx(2 * stats.t.sf(found.statistic[0], freedom))
    reach = stats.t.ppf(0.975, freedom) * np.sqrt(variance / 6)
    assert (found.lower[0], found.upper[0]) == (pytest.approx(3 - reach), pytest.approx(3 + reach))


def test_where_listeners_do_not_differ_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.normal(size=(4, 9, 1)), 5, axis=2)
    found, paired = crossed_test(scores), paired_test(scores[:, :, 0], "t")
    for part in ("difference", "standardised", "lower", "upper", "statistic", "p_value"):
        np.testing.assert_allclose(getattr(found, part), getattr(paired, part), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("spreads", [(0.1, 0.1, 0.1), (0.0, 0.2, 0.1), (0.2, 0.0, 0.1), (0.0, 0.0, 0.1)])
def test_of_two_equal_systems_five_in_a_hundred_differ_and_more_by_the_test_that_knows_no_listeners(spreads):
    rng = np.random.default_rng(1)
    tables = [drawn(rng, spreads=spreads) for _ in range(1500)]
    wrong = np.mean([crossed_test(table).p_value[0] < 0.05 for table in tables])
    assert 0.0 <= wrong < 0.075  # .05 and a binomial error of .006, or less for cautious cases
    if spreads[1]:
        assert np.mean([paired_test(table.mean(axis=2), "t").p_value[0] < 0.05 for table in tables]) > 2 * wrong


def test_a_tie_differs_in_nothing_and_one_listener_is_no_sample():
    same = np.ones((2, 3, 2))
    assert crossed_test(same).p_value.tolist() == [1.0]
    with pytest.raises(InputError, match="^the test needs two queries and two listeners, got 3 and 1$"):
        crossed_test(same[:, :, :1])
