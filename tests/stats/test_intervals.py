import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.stats.score_matrix import bounded_mean, mean_interval, prediction_interval

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "distributions.csv"


def of_moments(mean, deviation, n=100):
    """Scores with exactly this mean and sample deviation."""
    scores = np.random.default_rng(0).normal(size=n)
    return mean + deviation * (scores - scores.mean()) / scores.std(ddof=1)


def reference(quantity):
    with REFERENCE.open(encoding="utf-8") as file:
        return {row["at"]: float(row["value"]) for row in csv.DictReader(file) if row["quantity"] == quantity}


@pytest.mark.parametrize(
    ("mean", "deviation", "lower", "upper"), [(0.3526, 0.2187, 0.3092, 0.3960), (0.2525, 0.2557, 0.2018, 0.3033)]
)
def test_the_thesis_examples_come_out(mean, deviation, lower, upper):
    # Urbano (2013), section 4.1.3: CL1 in MIREX 2009, 100 queries. The thesis computed it from a mean and a
    # deviation with more digits than printed, hence 0.3032 or 0.3033.
    found = mean_interval(of_moments(mean, deviation))
    assert found.estimate == pytest.approx(mean)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1.0e-4)


@pytest.mark.parametrize(("interval", "quantity"), [(mean_interval, "t_interval"), (prediction_interval, "prediction")])
def test_intervals_are_those_of_r(interval, quantity):
    # t.test and predict.lm, from distributions.R.
    scores = list(reference("score").values())
    found, expected = interval(scores, 0.9), reference(quantity)
    assert found.lower == pytest.approx(expected["lower"], rel=1e-10)
    assert found.upper == pytest.approx(expected["upper"], rel=1e-10)
    assert found.confidence == 0.9


@pytest.mark.slow
def test_intervals_hold_what_they_are_about_as_often_as_they_say():
    # 4,000 samples of 12 normal scores; the standard error of a share of 0.9 is 0.005.
    rng = np.random.default_rng(5)
    held = np.zeros(2)
    for _ in range(4000):
        scores, new = rng.normal(0.5, 0.2, 12), rng.normal(0.5, 0.2)
        mean, prediction = mean_interval(scores, 0.9), prediction_interval(scores, 0.9)
        held += [mean.lower <= 0.5 <= mean.upper, prediction.lower <= new <= prediction.upper]
    np.testing.assert_allclose(held / 4000, 0.9, atol=0.02)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 40])
def test_bounded_means_have_the_beta_intervals_of_scipy(count, bounded_by_scipy):
    scores = np.random.default_rng(count).beta(0.5, 1, count)
    found = mean_interval(scores, bounded=True)
    assert (found.lower, found.upper) == pytest.approx(bounded_by_scipy(scores), rel=1e-9)
    mirrored = mean_interval(1 - scores, bounded=True)
    assert (1 - mirrored.upper, 1 - mirrored.lower) == pytest.approx((found.lower, found.upper), rel=1e-9)
    assert 0 <= found.lower <= scores.mean() <= found.upper <= 1
    mean, variance = scores.mean(), scores.var(ddof=1) if count > 1 else 0.0
    assert np.diff(bounded_mean(mean, variance, count, 0.01), axis=0) > found.upper - found.lower


@pytest.mark.parametrize("queries", [2, 5, 20])
def test_the_interval_of_a_share_contains_that_of_clopper_and_pearson(queries):
    for successes in range(queries + 1):
        found = mean_interval(np.arange(queries) < successes, bounded=True)
        exact = stats.binomtest(successes, queries).proportion_ci(0.95)
        assert found.lower <= exact.low + 1e-12
        assert exact.high - 1e-12 <= found.upper


def test_of_many_scores_the_bounded_interval_is_that_of_t():
    scores = np.random.default_rng(0).beta(2, 3, 100_000)
    found, expected = mean_interval(scores, bounded=True), mean_interval(scores)
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), abs=2e-5)


def test_one_score_leaves_the_intervals_of_t_open():
    for interval in (mean_interval, prediction_interval):
        found = interval([0.3])
        assert (found.estimate, found.lower, found.upper) == (0.3, -np.inf, np.inf)


@pytest.mark.parametrize("queries", [1, 2, 3, 5, 10, 20])
def test_bounded_intervals_hold_the_mean_of_any_three_scores_as_often_as_they_say(queries):
    # Exact coverage: all samples of random populations, often with an end of the scale among the scores.
    rng = np.random.default_rng(queries)
    samples = np.array([(a, b, queries - a - b) for a in range(queries + 1) for b in range(queries + 1 - a)])
    for place in range(300):
        values = np.sort(rng.random(3)) * [place % 2, 1, 1]
        values[2] = values[2] if place % 4 < 2 else 1.0
        shares = rng.dirichlet(np.full(3, rng.choice([0.2, 1.0, 3.0])))
        mean = samples @ values / queries
        variance = np.maximum(0, samples @ values**2 - queries * mean**2) / max(1, queries - 1)
        low, high = bounded_mean(mean, variance, queries)
        inside = (low <= shares @ values + 1e-12) & (shares @ values <= high + 1e-12)
        assert stats.multinomial.pmf(samples, queries, shares) @ inside >= 0.95


def test_scores_that_are_all_the_same_have_an_interval_without_width():
    for interval in (mean_interval, prediction_interval):
        found = interval(np.full(5, 0.5))
        assert (found.estimate, found.lower, found.upper) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("interval", [mean_interval, prediction_interval])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"scores must be \(n,\) with n at least 1, got \(0,\)"),
        (([0.5, np.inf],), "score 1 is inf, expected finite numbers"),
        (([0.5, 0.6], 95), "confidence must be between 0 and 1, got 95"),
    ],
)
def test_what_has_no_interval_is_refused(interval, arguments, message):
    with pytest.raises(InputError, match=message):
        interval(*arguments)


def test_an_impossible_confidence_is_refused():
    with pytest.raises(InputError, match="confidence must be between 0 and 1, got 0"):
        mean_interval([0.4, 0.5], 0.0)
