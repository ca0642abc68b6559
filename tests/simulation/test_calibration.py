import numpy as np
import pytest
from scipy.stats import binned_statistic
from sklearn.metrics import brier_score_loss

from audiosim.simulation.calibration import Claims, jackknife_error, mean_and_error

# The bins of Urbano (2013), Tables 8.2 and 8.4, as printed.
PRINTED = [(0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.0)]


def claims_of(stated, right, rankings=1):
    parts = [np.array_split(np.asarray(values, dtype=float), rankings) for values in (stated, right)]
    return Claims(tuple(parts[0]), tuple(parts[1]), tuple(range(rankings)))


@pytest.fixture(params=range(5))
def drawn(request):
    """300 claims in three rankings; some at the edges of bins, some only half right."""
    rng = np.random.default_rng(request.param)
    stated = rng.choice([*rng.uniform(0.5, 1, 40), 0.5, 0.6, 0.7, 0.9, 0.95, 0.99, 1.0], 300)
    return stated, rng.choice([0.0, 0.5, 1.0], 300, p=[0.2, 0.1, 0.7])


def test_bins_are_those_that_the_thesis_prints_by_a_loop(drawn):
    stated, right = drawn
    found = claims_of(stated, right, 3).bins()
    assert [(row["low"], row["high"]) for row in found] == PRINTED
    for row, (low, high) in zip(found, PRINTED, strict=True):
        # The last bin, [.99, 1], includes its upper end; the others do not.
        inside = [(s, r) for s, r in zip(stated, right, strict=True) if low <= s < high or s == high == 1]
        assert (row["claims"], row["share"]) == (len(inside), len(inside) / 300)
        assert row["stated"] == pytest.approx(sum(s for s, _ in inside) / len(inside))
        assert row["accuracy"] == pytest.approx(sum(r for _, r in inside) / len(inside))


def test_bins_and_calibration_error_are_those_of_scipy_s_binned_means(drawn):
    stated, right = drawn
    claims = claims_of(stated, right, 2)
    edges = [low for low, _ in PRINTED] + [1.0]
    means = [binned_statistic(stated, values, "mean", edges).statistic for values in (stated, right)]
    counts = binned_statistic(stated, stated, "count", edges).statistic
    np.testing.assert_allclose([row["stated"] for row in claims.bins()], means[0])
    np.testing.assert_allclose([row["accuracy"] for row in claims.bins()], means[1])
    assert claims.calibration_error == pytest.approx((np.abs(means[0] - means[1]) * counts).sum() / 300)


def test_brier_score_is_that_of_scikit_learn_where_nothing_is_tied():
    rng = np.random.default_rng(3)
    stated, right = rng.uniform(0.5, 1, 200), rng.integers(0, 2, 200)
    assert claims_of(stated, right, 4).brier == pytest.approx(brier_score_loss(right, stated))


def test_a_claim_about_a_tie_is_half_right(drawn):
    stated, right = drawn
    expected = sum((s - r) ** 2 for s, r in zip(stated, right, strict=True)) / 300
    assert claims_of(stated, right).brier == pytest.approx(expected)
    even = claims_of([0.5, 0.5], [0.5, 0.5])
    assert (even.brier, even.calibration_error) == (0, 0)


def test_empty_bins_have_no_means_and_count_for_nothing():
    claims = claims_of([0.97, 0.97], [1, 0])
    empty = [row for row in claims.bins() if row["low"] != 0.95]
    assert len(empty) == 6
    assert all(row["claims"] == row["share"] == 0 for row in empty)
    assert all(row["stated"] is row["accuracy"] is None for row in empty)
    assert claims.calibration_error == pytest.approx(0.47)


def test_a_confidence_a_rounding_error_below_a_half_is_in_the_first_bin():
    assert claims_of([0.5 - 1e-16], [1]).bins()[0]["claims"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_claims_that_are_true_as_often_as_they_say_have_no_calibration_error(seed):
    # By construction; sampling leaves a normal deviation of sqrt(mean p (1 - p) / n) in each bin.
    rng = np.random.default_rng(seed)
    stated = rng.uniform(0.5, 1, 20_000)
    right = rng.random(20_000) < stated
    claims = claims_of(stated, right, 20)
    counts = [row["claims"] for row in claims.bins()]
    inside = [stated[(stated >= low) & (stated < high)] for low, high in PRINTED]
    noise = [np.sqrt((p * (1 - p)).mean() / len(p)) for p in inside]
    assert claims.calibration_error < 2 * np.average(noise, weights=counts)
    # The mean of p (1 - p) for p uniform in [1/2, 1] is 1/6.
    assert claims.brier == pytest.approx(1 / 6, abs=0.006)
    for row, error in zip(claims.bins(), noise, strict=True):
        assert abs(row["stated"] - row["accuracy"]) < 4.5 * error


def test_claims_that_are_too_bold_are_shown_to_be():
    rng = np.random.default_rng(1)
    stated = rng.uniform(0.7, 1, 20_000)
    claims = claims_of(stated, rng.random(20_000) < stated - 0.2, 10)
    assert claims.calibration_error == pytest.approx(0.2, abs=0.015)
    assert claims.to_dict()["excess"] == pytest.approx(0.2, abs=0.015)


def test_plain_values_hold_means_over_the_rankings_and_their_standard_errors():
    claims = Claims(
        (np.array([0.6, 0.8]), np.array([0.9, 0.9]), np.array([1.0, 0.8])),
        (np.array([1.0, 0.0]), np.array([1.0, 1.0]), np.array([1.0, 0.5])),
        (10, 20, 60),
    )
    said = claims.to_dict()
    stated, accuracy = [0.7, 0.9, 0.9], [0.5, 1.0, 0.75]
    for name, values in {
        "judged": [10, 20, 60],
        "stated": stated,
        "accuracy": accuracy,
        "excess": [0.2, -0.1, 0.15],
    }.items():
        assert said[name] == pytest.approx(np.mean(values))
        assert said[f"{name}_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert list(said)[-4:] == ["calibration_error", "calibration_error_error", "brier", "bins"]
    assert said["bins"] == claims.bins()


def test_a_single_ranking_has_no_standard_error():
    said = claims_of([0.6, 0.8], [1, 0]).to_dict()
    assert [value for name, value in said.items() if name.endswith("_error") and name != "calibration_error"] == [
        None
    ] * 5


def without(claims, left_out):
    """The claims of all rankings except one."""
    kept = [place for place in range(len(claims.stated)) if place != left_out]
    return Claims(*(tuple(values[place] for place in kept) for values in (claims.stated, claims.right, claims.judged)))


def test_the_error_of_the_calibration_error_is_that_of_leaving_out_each_ranking_in_turn(drawn):
    stated, right = drawn
    pieces = [np.split(values, [30, 100, 180, 190]) for values in (stated, right)]  # rankings of different sizes
    claims = Claims(tuple(pieces[0]), tuple(pieces[1]), (0,) * 5)
    left = [without(claims, place).calibration_error for place in range(5)]
    expected = np.sqrt(4 / 5 * sum((value - np.mean(left)) ** 2 for value in left))
    assert claims.calibration_error_error == pytest.approx(expected)
    assert claims.to_dict()["calibration_error_error"] == pytest.approx(expected)


@pytest.mark.slow
def test_the_error_of_the_calibration_error_is_how_much_it_varies_from_sample_to_sample():
    # 30 rankings of 50 claims, 300 times, with claims too bold by .2, so that no bin's gap changes its sign.
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        stated = rng.uniform(0.7, 1, 1500)
        found.append(claims_of(stated, rng.random(1500) < stated - 0.2, 30))
    spread = np.std([claims.calibration_error for claims in found], ddof=1)
    # The standard deviation of 300 normal numbers is known to 1 / sqrt(600), 4 %.
    assert np.mean([claims.calibration_error_error for claims in found]) == pytest.approx(spread, rel=0.16)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_the_jackknife_gives_the_textbook_error_of_a_mean(count):
    values = np.random.default_rng(count).normal(size=count)
    left = np.array([np.delete(values, place).mean() for place in range(count)])
    assert jackknife_error(left) == pytest.approx(np.std(values, ddof=1) / np.sqrt(count))


def test_no_value_has_neither_mean_nor_error():
    assert mean_and_error("judged", []) == {"judged": None, "judged_error": None}
    assert mean_and_error("judged", [3]) == {"judged": 3, "judged_error": None}
