import numpy as np
import pytest
from scipy import stats

from audiosim.errors import InputError
from audiosim.stats.ranks import friedman_test, tukey_test

DATA = ["untied", "ties", "fifty", "many_ties", "many"]
DRAWN = np.random.default_rng(9).normal(size=(6, 40)) + np.linspace(0, 0.8, 6)[:, None]


@pytest.mark.parametrize("data", DATA)
def test_friedman_s_test_is_that_of_r_and_of_scipy_ties_among_them(data, score_matrices, r):
    found = friedman_test(score_matrices[data])
    assert found.statistic == pytest.approx(r[data, "friedman"]["all"], rel=1e-10)
    assert found.p_value == pytest.approx(r[data, "friedman_p"]["all"], rel=1e-9)
    if len(score_matrices[data]) > 2:
        theirs = stats.friedmanchisquare(*np.round(1e6 * score_matrices[data]))
        assert found.statistic == pytest.approx(theirs.statistic, rel=1e-10)


def test_ranks_and_their_variance_are_those_of_the_definition(score_matrices):
    for data in DATA:
        whole = np.round(1e6 * score_matrices[data])
        ranks = stats.rankdata(whole, axis=0)
        found = friedman_test(score_matrices[data])
        np.testing.assert_allclose(found.mean_ranks, ranks.mean(axis=1), rtol=1e-12)
        assert found.variance == pytest.approx(ranks.var(axis=0, ddof=1).mean(), rel=1e-12)
    assert friedman_test(DRAWN).variance == pytest.approx(6 * 7 / 12, rel=1e-12)


def test_the_studentised_range_of_scipy_is_r_s(r):
    for systems in (2, 3, 18, 50):
        found = stats.studentized_range.sf([0.5, 2, 4, 6, 9], systems, np.inf)
        # R's integral is accurate to about 1e-6 for many systems, its quantile to 1e-4.
        np.testing.assert_allclose(found, list(r["studentised", str(systems)].values()), rtol=1e-6, atol=1e-6)
    for systems in (2, 18, 50):
        quantile = stats.studentized_range.ppf(0.95, systems, np.inf)
        assert quantile == pytest.approx(r["critical", str(systems)]["0.95"], rel=1e-4)


def test_tukey_s_p_values_and_intervals_are_those_of_the_formula():
    friedman = friedman_test(DRAWN)
    found = tukey_test(friedman, 0.9)
    error = np.sqrt(6 * 7 / 12 / 40)
    differences = friedman.mean_ranks[found.first] - friedman.mean_ranks[found.second]
    np.testing.assert_allclose(found.difference, differences, rtol=1e-12)
    expected = stats.studentized_range.sf(np.abs(differences) / error, 6, np.inf)
    np.testing.assert_allclose(found.p_value, expected, atol=1e-10)
    reach = stats.studentized_range.ppf(0.9, 6, np.inf) * error
    np.testing.assert_allclose(found.upper - found.difference, reach, rtol=1e-6)
    np.testing.assert_allclose(found.difference - found.lower, reach, rtol=1e-6)
    np.testing.assert_array_equal((found.lower > 0) | (found.upper < 0), found.p_value < 0.1)


@pytest.mark.slow
def test_any_pair_of_equal_systems_is_told_apart_in_at_most_one_study_of_twenty():
    rng = np.random.default_rng(6)
    wrong = sum((tukey_test(friedman_test(rng.normal(size=(5, 50)))).p_value <= 0.05).any() for _ in range(400))
    assert wrong / 400 == pytest.approx(0.05, abs=0.033)  # three standard errors


def test_systems_that_always_tie_have_p_1_even_where_rounding_sets_them_apart():
    scores = np.array([[0.3, 0.6, 0.9], [0.1 + 0.2, 0.2 + 0.4, 0.2 + 0.7]])
    assert not np.array_equal(scores[0], scores[1])
    friedman = friedman_test(scores)
    assert (friedman.statistic, friedman.p_value, friedman.variance) == (0, 1, 0)
    found = tukey_test(friedman)
    assert (found.p_value[0], found.lower[0], found.upper[0]) == (1, 0, 0)


def test_the_better_system_has_the_higher_rank_and_the_table_says_which():
    scores = np.arange(3)[:, None] + np.zeros((3, 20))
    friedman = friedman_test(scores)
    np.testing.assert_array_equal(friedman.mean_ranks, [1, 2, 3])
    assert friedman.statistic == pytest.approx(40)  # q (s - 1), its maximum
    frame = tukey_test(friedman).to_frame(["a", "b", "c"])
    assert frame["first"].tolist() == ["a", "a", "b"]
    assert frame["difference"].tolist() == [-1, -2, -1]
    assert frame["significant"].all()
    assert tukey_test(friedman).to_frame()["second"].tolist() == [1, 2, 2]


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(InputError, match=r"scores must be \(systems, queries\), got \(2,\)"):
        friedman_test(np.ones(2))
    friedman = friedman_test(DRAWN)
    with pytest.raises(InputError, match="confidence must be between 0 and 1, got 1"):
        tukey_test(friedman, 1.0)
    with pytest.raises(InputError, match="expected the names of 6 systems, got 1"):
        tukey_test(friedman).to_frame(["a"])
