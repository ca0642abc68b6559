import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from audiosim.errors import InputError
from audiosim.stats.agreement import alpha, mean_absolute, root_mean_square, weighted_kappa

BROAD = [0.0, 1.0, 2.0]

# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, sections C and D: four observers, twelve units,
# here 0 for a missing value; printed for nominal, ordinal and interval data to three decimals.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ],
    dtype=float,
)
PRINTED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}


@pytest.mark.parametrize("metric", PRINTED)
def test_alpha_is_that_of_the_printed_example(metric):
    ratings = np.where(OBSERVERS == 0, np.nan, OBSERVERS)
    assert alpha(ratings, metric) == pytest.approx(PRINTED[metric], abs=0.0005)


# Krippendorff (2011), section A: two observers, ten units, two values.
def test_alpha_of_two_observers_of_two_values_is_that_of_the_printed_example():
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert alpha(np.array([first, second], dtype=float), "nominal") == pytest.approx(0.095, abs=0.0005)


def alpha_by_pairs(ratings, metric):
    """Alpha from its definition: observed over expected mean distance of two ratings, pair by pair."""
    things = [[value for value in column if not math.isnan(value)] for column in ratings.T]
    things = [thing for thing in things if len(thing) > 1]
    every = [value for thing in things for value in thing]

    def distance(one, other):
        if metric == "interval":
            return (one - other) ** 2
        low, high = min(one, other), max(one, other)
        between = sum(low <= value <= high for value in every)
        return (between - (every.count(low) + every.count(high)) / 2) ** 2 if low < high else 0

    observed = sum(distance(*two) / (len(thing) - 1) for thing in things for two in permutations(thing, 2)) / len(every)
    expected = sum(distance(*two) for two in permutations(every, 2)) / (len(every) * (len(every) - 1))
    return 1 - observed / expected if expected else math.nan


@pytest.mark.parametrize("metric", ["ordinal", "interval"])
def test_alpha_is_what_its_definition_says_pair_by_pair(metric):
    rng = np.random.default_rng(1)
    for _ in range(5):
        ratings = rng.choice([0.0, 1.0, 5.0, 20.0, np.nan], (4, 9))
        assert alpha(ratings, metric) == pytest.approx(alpha_by_pairs(ratings, metric), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
@given(said=st.lists(st.tuples(st.sampled_from(BROAD), st.sampled_from(BROAD)), min_size=1, max_size=30))
def test_kappa_is_that_of_sklearn(weights, said):
    first, second = np.array(said).T
    if len(set(first) | set(second)) == 1:
        assert math.isnan(weighted_kappa(first, second, BROAD, weights))
        return
    expected = cohen_kappa_score(first.astype(int), second.astype(int), labels=[0, 1, 2], weights=weights)
    assert weighted_kappa(first, second, BROAD, weights) == pytest.approx(expected, abs=1e-12)


def test_kappa_of_a_table_worked_out_by_hand():
    # Counts [[4, 1], [1, 4]] of ten: observed distance 2/10, expected 1/2 * 1/2 * 2 = 1/2, so 1 - .2 / .5 = .6.
    first = np.repeat([0.0, 0.0, 1.0, 1.0], [4, 1, 1, 4])
    second = np.repeat([0.0, 1.0, 0.0, 1.0], [4, 1, 1, 4])
    assert weighted_kappa(first, second, [0, 1]) == pytest.approx(0.6)


def test_kappa_counts_places_on_the_scale_and_not_its_numbers():
    first, second = np.array([0.0, 1, 5, 20, 20]), np.array([1.0, 1, 20, 5, 20])
    places = [[0, 1, 2, 3, 3], [1, 1, 3, 2, 3]]
    expected = cohen_kappa_score(*places, labels=[0, 1, 2, 3], weights="linear")
    assert weighted_kappa(first, second, [0, 1, 5, 20], "linear") == pytest.approx(expected)


def test_what_is_undefined_is_not_a_number():
    nothing = np.empty(0)
    assert math.isnan(weighted_kappa(nothing, nothing, BROAD))
    assert math.isnan(root_mean_square(nothing, nothing))
    assert math.isnan(mean_absolute(nothing, nothing))
    for ratings in (np.empty((2, 0)), np.full((2, 3), 1.0), np.array([[1.0, np.nan], [np.nan, 2.0]])):
        assert math.isnan(alpha(ratings))


def test_errors_are_those_of_numbers_worked_out_by_hand():
    assert root_mean_square(np.array([0.0, 3]), np.array([4.0, 3])) == pytest.approx(math.sqrt(8))
    assert mean_absolute(np.array([0.0, 3]), np.array([4.0, 3])) == 2


def test_agreement_does_not_depend_on_the_order_of_the_raters():
    rng = np.random.default_rng(0)
    ratings = rng.choice(BROAD, (3, 20))
    assert alpha(ratings) == pytest.approx(alpha(ratings[::-1]), abs=1e-12)
    for first, second in combinations(ratings, 2):
        assert weighted_kappa(first, second, BROAD) == pytest.approx(weighted_kappa(second, first, BROAD), abs=1e-12)


def test_ratings_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="rating 3 is not among the 3 levels"):
        weighted_kappa(np.array([3.0]), np.array([1.0]), BROAD)
    with pytest.raises(InputError, match="rating 0.5 is not among the 3 levels"):
        weighted_kappa(np.array([1.0]), np.array([0.5]), BROAD)
    with pytest.raises(InputError, match="metric must be nominal, ordinal or interval, got 'ratio'"):
        alpha(np.ones((2, 2)), "ratio")
