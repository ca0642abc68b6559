import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.ordinal.features import columns, design
from audiosim.stats.ordinal import Rows, UnidentifiedError, derivatives, fit_ordinal, level_probabilities, row_scores

# From R's ordinal::clm, sandwich::vcovCL and VGAM::vglm; ordinal.R in the same folder wrote both files.
REFERENCE = Path(__file__).resolve().parents[1] / "reference"
DRAWN = np.genfromtxt(REFERENCE / "ordinal_data.csv", delimiter=",", names=True)
FEATURES = np.column_stack([DRAWN[name] for name in ("small", "large", "yes", "share")])
LEVEL = DRAWN["level"].astype(int)


def reference():
    found = defaultdict(lambda: defaultdict(list))
    with (REFERENCE / "ordinal.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["data"]][row["quantity"].rpartition("_")[0]].append(float(row["value"]))
    return found


R = reference()


def deviations(covariance, count):
    return np.sqrt(np.diag(covariance))[-count:]


def assert_is_r_s(found, expected, tolerance=1e-8):
    assert found.log_likelihood == pytest.approx(expected["log"][0], rel=1e-12)
    np.testing.assert_allclose(found.thresholds, expected["threshold"], rtol=tolerance)
    np.testing.assert_allclose(found.coefficients, expected["coefficient"], rtol=tolerance)


def test_the_fit_is_that_of_clm():
    found = fit_ordinal(FEATURES, LEVEL, groups=DRAWN["group"])
    assert_is_r_s(found, R["drawn"])
    np.testing.assert_allclose(deviations(found.covariance, 4), R["drawn"]["standard_error"], rtol=1e-7)
    np.testing.assert_allclose(deviations(found.robust, 4), R["drawn"]["robust_standard_error"], rtol=1e-6)


def test_the_fit_is_that_of_vglm_as_far_as_that_converges():
    assert_is_r_s(fit_ordinal(FEATURES, LEVEL), R["vgam"], 1e-6)


def test_the_weighted_fit_is_that_of_clm():
    found = fit_ordinal(FEATURES, LEVEL, weights=DRAWN["weight"])
    assert_is_r_s(found, R["weighted"])
    np.testing.assert_allclose(deviations(found.covariance, 4), R["weighted"]["standard_error"], rtol=1e-7)


@pytest.mark.slow
def test_the_fit_to_mirex_2011_is_that_of_clm(mirex2011):
    terms = ["fSYS", "fART", "sGEN", "fGEN", "sGEN:fGEN"]
    pool = build_pool(mirex2011)
    grades = pool.spread(mirex2011.grades())
    x = design(columns(pool, grades, terms[:4]), terms)
    known = np.isfinite(x).all(axis=1)
    level = np.minimum(grades // 10, 9).astype(int)[known]
    found = fit_ordinal(x[known], level, groups=pool.query[known], names=terms)
    assert known.sum() == 6279
    assert_is_r_s(found, R["mirex2011"])
    np.testing.assert_allclose(deviations(found.robust, 5), R["mirex2011"]["robust_standard_error"], rtol=1e-6)
    for place, chi_squared in enumerate(R["mirex2011"]["chi_squared"]):
        without = fit_ordinal(np.delete(x[known], place, axis=1), level)
        assert 2 * (found.log_likelihood - without.log_likelihood) == pytest.approx(chi_squared, rel=1e-8)


def rows_of(features, level, weights=None):
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(level.max() + 2))
    weights = np.ones(len(level)) if weights is None else weights
    return Rows(features[order], weights[order], starts)


def some_rows(seed, n=60, levels=4):
    rng = np.random.default_rng(seed)
    level = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
    return rows_of(rng.normal(size=(n, 3)), level, rng.integers(1, 4, n).astype(float))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [2, 3, 6])
def test_the_log_likelihood_is_that_of_the_probabilities(seed, levels):
    rows = some_rows(seed, levels=levels)
    parameters = np.concatenate([np.linspace(1.5, -2, levels - 1), [0.7, -1.2, 0.1]])
    probabilities = level_probabilities(parameters[: levels - 1], rows.features @ parameters[levels - 1 :])
    level = np.repeat(np.arange(levels), np.diff(rows.starts))
    expected = rows.weights @ np.log(probabilities[np.arange(len(level)), level])
    assert derivatives(rows, parameters).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("levels", [2, 3, 6])
def test_gradient_and_hessian_are_those_of_finite_differences(levels):
    rows = some_rows(1, levels=levels)
    parameters = np.concatenate([np.linspace(1.5, -2, levels - 1), [0.7, -1.2, 0.1]])
    at = derivatives(rows, parameters)
    gradient = approx_fprime(parameters, lambda p: derivatives(rows, p).value, 1e-7)
    np.testing.assert_allclose(at.gradient, gradient, rtol=1e-4, atol=1e-4)
    hessian = approx_fprime(parameters, lambda p: derivatives(rows, p).gradient, 1e-7)
    np.testing.assert_allclose(at.hessian, hessian, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(row_scores(rows, parameters).sum(axis=0), at.gradient, rtol=1e-10, atol=1e-10)


def test_far_in_the_tails_the_log_likelihood_still_has_its_digits():
    # P(level 1) = F(u) - F(v) with u = 400, v = 399: exp(-399) - exp(-400) to first order.
    rows = rows_of(np.array([[400.0]]), np.array([1]))
    rows = Rows(rows.features, rows.weights, np.array([0, 0, 1, 1]))
    assert derivatives(rows, np.array([0.0, -1.0, 1.0])).value == pytest.approx(-399 + np.log1p(-np.exp(-1)), rel=1e-14)


def test_no_other_parameters_are_more_likely_to_a_general_optimiser():
    found = fit_ordinal(FEATURES[:, 2:], LEVEL)
    order = np.argsort(LEVEL, kind="stable")
    rows = Rows(FEATURES[order, 2:], np.ones(400), np.searchsorted(LEVEL[order], np.arange(6)))
    start = np.concatenate([np.linspace(2, -2, 4), np.zeros(2)])
    other = minimize(lambda p: -derivatives(rows, p).value, start, jac=lambda p: -derivatives(rows, p).gradient)
    assert found.log_likelihood == pytest.approx(-other.fun, rel=1e-9)


def test_a_large_sample_is_fitted_in_blocks_and_from_a_part_of_it_to_the_same_result():
    times = 250
    found = fit_ordinal(np.tile(FEATURES, (times, 1)), np.tile(LEVEL, times))
    np.testing.assert_allclose(found.coefficients, R["drawn"]["coefficient"], rtol=1e-8)
    assert found.log_likelihood == pytest.approx(times * R["drawn"]["log"][0], rel=1e-12)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from([1e-8, 1e-3, 1.0, 1e8]), min_size=4, max_size=4), st.sampled_from([0.0, 1e3, -1e6]))
def test_units_and_offsets_change_nothing_but_the_coefficients_units(scales, offset):
    plain = fit_ordinal(FEATURES, LEVEL)
    unit = FEATURES.std(axis=0)
    moved = fit_ordinal((FEATURES / unit + offset) * scales, LEVEL)
    assert moved.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(moved.coefficients * scales, plain.coefficients * unit, rtol=1e-6)
    np.testing.assert_allclose(
        deviations(moved.covariance, 4) * scales, deviations(plain.covariance, 4) * unit, rtol=1e-6
    )


def test_whole_weights_are_repeated_rows():
    weights = DRAWN["weight"].astype(int)
    weighted, repeated = (
        fit_ordinal(FEATURES, LEVEL, weights=weights),
        fit_ordinal(np.repeat(FEATURES, weights, 0), np.repeat(LEVEL, weights)),
    )
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-9)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-6, atol=1e-12)


def test_without_features_the_thresholds_are_the_logits_of_the_shares():
    found = fit_ordinal(np.empty((400, 0)), LEVEL)
    at_least = np.array([(level <= LEVEL).mean() for level in range(1, 5)])
    np.testing.assert_allclose(found.thresholds, np.log(at_least / (1 - at_least)), rtol=1e-12)


def test_a_ridge_draws_the_coefficients_towards_zero_and_makes_a_maximum_where_there_was_none():
    free, drawn = fit_ordinal(FEATURES, LEVEL).coefficients, fit_ordinal(FEATURES, LEVEL, ridge=100.0).coefficients
    assert np.all(np.abs(drawn[:3]) < np.abs(free[:3]))
    separated = fit_ordinal(np.arange(20.0)[:, None], np.repeat([0, 1], 10), ridge=1.0)
    assert 0 < separated.coefficients[0] < 10


@pytest.mark.slow
def test_coefficients_of_a_known_model_are_recovered_within_their_standard_errors():
    # 200 samples from one model: the z scores of each coefficient should have mean 0 and deviation 1.
    rng = np.random.default_rng(11)
    truth, scores = np.array([0.8, -0.4, 0.0]), []
    for _ in range(200):
        x = rng.normal(size=(300, 3))
        level = np.searchsorted([-1.0, 0.5, 1.5], x @ truth + rng.logistic(size=300))
        found = fit_ordinal(x, level)
        scores.append((found.coefficients - truth) / deviations(found.covariance, 3))
    np.testing.assert_allclose(np.mean(scores, axis=0), 0, atol=0.25)  # 3.5 standard errors of a mean of 200
    np.testing.assert_allclose(np.std(scores, axis=0), 1, atol=0.18)


BINARY = np.repeat([0, 1], 10)


@pytest.mark.parametrize(
    ("features", "level", "message"),
    [
        (np.arange(20.0)[:, None], BINARY, "the levels are separated perfectly by column 0: no finite coefficient"),
        (
            np.column_stack([np.tile([0.0, 1.0], 10), np.r_[np.zeros(15), np.ones(5)]]),
            BINARY,
            r"separated in part \(quasi-separation\) by column 1: .*; leave the column out, or give a ridge",
        ),
        (
            np.column_stack([np.ones(20), np.arange(20.0)]),
            BINARY,
            "column 0 is 1 everywhere: it carries no information on the level",
        ),
        (
            np.column_stack([np.sin(np.arange(20.0)), np.sin(np.arange(20.0))]),
            BINARY,
            "column 1 is a combination of column 0: leave one of them out",
        ),
        (
            np.column_stack(
                [np.sin(np.arange(20)), np.cos(np.arange(20)), 2 * np.sin(np.arange(20)) - np.cos(np.arange(20)) + 7]
            ),
            BINARY,
            "column 2 is a combination of column 0, column 1: leave one of them out",
        ),
        (
            np.random.default_rng(0).normal(size=(20, 25)),
            BINARY,
            "20 rows are too few for 26 parameters, the thresholds among them",
        ),
    ],
)
def test_features_without_a_single_best_fit_are_refused_by_name(features, level, message):
    with pytest.raises((UnidentifiedError, InputError), match=message):
        fit_ordinal(features, level)


def poisoned(value):
    features = FEATURES.copy()
    features[7, 2] = value
    return features


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": poisoned(np.nan)}, r"yes is nan in row 7, expected finite numbers"),
        ({"features": poisoned(np.inf)}, r"yes is inf in row 7, expected finite numbers"),
        ({"level": np.where(LEVEL == 2, 3, LEVEL)}, "level 2 has no rows: leave it out or join it with its neighbour"),
        ({"labels": ["a", "b", "c"]}, "level 4 is beyond the 3 levels"),
        ({"labels": [5, 15, 25, 35, 45, 55]}, "level 55 has no rows"),
        ({"level": np.zeros(400, dtype=int)}, r"expected at least two levels, got the single level \(class\) 0"),
        ({"level": LEVEL - 1}, "levels must be whole numbers from 0"),
        ({"level": LEVEL + 0.5}, "levels must be whole numbers from 0"),
        ({"level": LEVEL[1:]}, r"expected features \(n, k\) and a level for each row, got \(400, 4\) and \(399,\)"),
        ({"weights": np.full(400, -1)}, "weights must be finite and 0 or more, got -1 in row 0"),
        ({"weights": np.full(400, np.nan)}, "weights must be finite and 0 or more, got nan in row 0"),
        ({"weights": np.ones(3)}, r"expected a weight for each of 400 rows, got \(3,\)"),
        ({"weights": np.zeros(400)}, "there are no rows to fit to"),
        ({"groups": np.zeros(400)}, "robust standard errors need at least two groups"),
        ({"groups": np.zeros(3)}, "expected a group for each of 400 rows, got 3"),
    ],
)
def test_what_cannot_be_fitted_is_refused_by_name(arguments, message):
    whole = {"features": FEATURES, "level": LEVEL, "names": ["small", "large", "yes", "share"]} | arguments
    with pytest.raises(InputError, match=message):
        fit_ordinal(**whole)


def test_weights_that_are_not_whole_numbers_are_flagged():
    with pytest.warns(
        UserWarning, match="weights are not whole numbers, but standard errors treat them as counts of rows"
    ):
        halves = fit_ordinal(FEATURES, LEVEL, weights=np.full(400, 0.5))
    np.testing.assert_allclose(halves.coefficients, R["drawn"]["coefficient"], rtol=1e-7)
