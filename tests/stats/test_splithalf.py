import itertools

import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.stats.split_half import ALPHAS, split_half
from audiosim.stats.tests import TESTS

RNG = np.random.default_rng(12)
DRAWN = RNG.normal(size=(5, 21)) + np.linspace(0, 0.6, 5)[:, None]
NAMES = ("non_significance", "success", "lack_of_power", "minor_conflict", "major_conflict")


def counts(found):
    return np.array([getattr(found, name) for name in NAMES])


def against_zero(*differences):
    return np.array([differences, np.zeros(len(differences))], dtype=float)


def splits(differences, **expected):
    """Run many splits of four queries; each outcome must have its expected share of the six possible splits."""
    found = split_half(against_zero(*differences), "t", np.random.default_rng(0), trials=600, alphas=[0.001])
    for name in NAMES:
        share = expected.get(name, 0) / 6
        error = np.sqrt(share * (1 - share) / 600)
        assert getattr(found, name)[0] / 600 == pytest.approx(share, abs=5 * error)


# For the t-test, two queries with equal differences are certain (p = 0) and two with different ones are not.
@pytest.mark.slow
def test_equal_systems_are_never_significant():
    splits([0, 0, 0, 0], non_significance=6)


@pytest.mark.slow
def test_a_difference_that_never_varies_is_always_found_again():
    splits([1, 1, 1, 1], success=6)


@pytest.mark.slow
def test_significant_on_one_half_and_nothing_at_all_on_the_other_lacks_power():
    splits([1, 1, 0, 0], lack_of_power=1, non_significance=5)


@pytest.mark.slow
def test_significant_on_one_half_and_insignificant_with_the_same_sign_lacks_power():
    splits([1, 1, 3, 0], lack_of_power=1, non_significance=5)


@pytest.mark.slow
def test_significant_on_one_half_and_insignificant_the_other_way_is_a_minor_conflict():
    splits([1, 1, -3, 0], minor_conflict=1, non_significance=5)


@pytest.mark.slow
def test_significant_both_ways_is_a_major_conflict():
    splits([1, 1, -2, -2], major_conflict=2, non_significance=4)


def plain(test, scores, rng, trials, alphas):
    """The study in plain loops, with scipy's tests."""
    outcome = dict.fromkeys(itertools.product(NAMES, alphas), 0)
    half = scores.shape[1] // 2
    for _ in range(trials):
        order = rng.permutation(scores.shape[1])
        one, two = scores[:, order[:half]], scores[:, order[half : 2 * half]]
        for a, b in itertools.combinations(range(len(scores)), 2):
            p = [test(part[a] - part[b]) for part in (one, two)]
            opposite = np.mean(one[a] - one[b]) * np.mean(two[a] - two[b]) < 0
            for alpha in alphas:
                if p[0] > alpha:
                    kind = "non_significance"
                elif p[1] <= alpha:
                    kind = "major_conflict" if opposite else "success"
                else:
                    kind = "minor_conflict" if opposite else "lack_of_power"
                outcome[kind, alpha] += 1
    return np.array([[outcome[name, alpha] for alpha in alphas] for name in NAMES])


SCIPY = {
    "t": lambda d: stats.ttest_1samp(d, 0).pvalue,
    "wilcoxon": lambda d: stats.wilcoxon(d, method="exact").pvalue,
    "sign": lambda d: stats.binomtest(int(np.sum(d > 0)), len(d)).pvalue,
    "permutation": lambda d: np.mean(
        np.abs(np.array(list(itertools.product([1, -1], repeat=len(d)))) @ d) >= abs(d.sum()) - 1e-12
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("test", SCIPY)
def test_the_study_is_that_of_a_plain_loop(test):
    trials = 8 if test == "permutation" else 30
    alphas = (0.01, 0.05, 0.2, 0.5)
    found = split_half(DRAWN, test, np.random.default_rng(3), trials=trials, alphas=alphas)
    expected = plain(SCIPY[test], DRAWN, np.random.default_rng(3), trials, alphas)
    np.testing.assert_array_equal(counts(found), expected)
    assert (expected.sum(axis=1) > 0).sum() >= 4  # major conflicts may be absent
    assert found.comparisons == 10 * trials


@pytest.mark.parametrize("test", TESTS)
def test_outcomes_add_up_and_levels_are_nested(test):
    found = split_half(DRAWN, test, np.random.default_rng(3), trials=10, samples=99)
    assert found.alphas.tolist() == list(ALPHAS)
    assert len(ALPHAS) == 32
    assert (counts(found).sum(axis=0) == found.comparisons).all()
    assert (np.diff(found.non_significance) <= 0).all()
    assert (np.diff(found.major_conflict) >= 0).all()


def test_the_table_has_the_rates_of_the_thesis_and_nan_where_nothing_is_significant():
    found = split_half(DRAWN, "t", np.random.default_rng(3), trials=20, alphas=[1e-12, 0.1])
    frame = found.to_frame()
    assert frame["non_significance"][0] == 1
    assert (
        frame.loc[0, ["success", "lack_of_power", "minor_conflict", "major_conflict", "global_conflict"]].isna().all()
    )
    significant = found.comparisons - found.non_significance[1]
    assert frame["success"][1] == found.success[1] / significant
    shares = frame.loc[1, ["success", "lack_of_power", "minor_conflict", "major_conflict"]]
    assert shares.sum() == pytest.approx(1)
    assert frame["global_conflict"][1] == pytest.approx(shares["minor_conflict"] + shares["major_conflict"])


@pytest.mark.slow
def test_a_uniform_p_value_is_not_significant_as_often_as_it_says():
    # Equal systems: 1 - alpha of the comparisons; half of the significant ones meet the opposite sign.
    scores = np.random.default_rng(4).normal(size=(40, 400))
    found = split_half(scores, "t", np.random.default_rng(5), trials=20, alphas=[0.1])
    assert found.non_significance[0] / found.comparisons == pytest.approx(0.9, abs=0.02)


def test_the_same_seed_gives_the_same_study():
    one, two = (split_half(DRAWN, "bootstrap", np.random.default_rng(1), trials=3, samples=50) for _ in range(2))
    np.testing.assert_array_equal(counts(one), counts(two))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": np.ones((2, 3))}, "expected at least 4 queries to split, got 3"),
        ({"scores": np.ones((1, 8))}, "expected at least 2 systems to compare, got 1"),
        ({"test": "z"}, "test must be one of t, wilcoxon, sign, bootstrap, permutation, got 'z'"),
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"alphas": [0.05, 5]}, "significance levels must be between 0 and 1, got 5"),
    ],
)
def test_what_cannot_be_studied_is_refused(arguments, message):
    whole = {"scores": DRAWN, "test": "t", "rng": RNG} | arguments
    with pytest.raises(InputError, match=message):
        split_half(**whole)


# Urbano (2013), Table 5.5: p-values of one half against those of the other, in bins of the first; scipy's t-test.
@pytest.mark.slow
def test_agreement_of_a_test_with_itself_is_the_rmse_of_its_p_values_by_bin():
    found = split_half(DRAWN, "t", np.random.default_rng(3), trials=20)
    rng, pairs = np.random.default_rng(3), []
    half = DRAWN.shape[1] // 2
    for _ in range(20):
        order = rng.permutation(DRAWN.shape[1])
        one, two = DRAWN[:, order[:half]], DRAWN[:, order[half : 2 * half]]
        for a, b in itertools.combinations(range(len(DRAWN)), 2):
            pairs.append([stats.ttest_rel(part[a], part[b]).pvalue for part in (one, two)])
    low = 0.0
    for row, high in zip(found.agreement_rows(), [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5], strict=True):
        inside = [(p, q) for p, q in pairs if low < p <= high]
        assert (row["above"], row["up_to"], row["comparisons"]) == (low, high, len(inside))
        rmse = np.sqrt(np.mean([(p - q) ** 2 for p, q in inside])) if inside else None
        assert row["rmse"] == (None if rmse is None else pytest.approx(rmse, rel=1e-9))
        low = high


# Section 5.5: the relative root mean square error across levels between conflict rates and the nominal level.
def test_relative_error_is_that_of_the_conflict_rate_over_the_levels():
    found = split_half(DRAWN, "t", np.random.default_rng(3), trials=20, alphas=[0.05, 0.1, 0.5])
    table = found.to_frame()
    errors = [(rate - alpha) / alpha for rate, alpha in zip(table["global_conflict"], table["alpha"], strict=True)]
    assert found.relative_error == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-12)
    assert found.to_dict()["relative_error"] == found.relative_error
    equal = split_half(np.ones((3, 8)) * np.arange(8), "t", np.random.default_rng(0), trials=3)
    assert equal.relative_error is None
