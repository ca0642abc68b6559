import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, root
from scipy.stats import logistic

from audiosim.errors import InputError
from audiosim.stats.ordinal import expectation, level_probabilities, thresholds_of, variance
from audiosim.stats.ordinal_match import matched_probabilities

FINE = np.arange(5.0, 100.0, 10.0)
UNEVEN = np.array([0.0, 1.0, 2.5, 7.0])

# Both are to be met to 1e-12 of the range, or its square; rounding may add to that.
CLOSE = 2e-12


def distribution(thresholds, shift, stretch):
    """P(R = l) by the definition, for one shift and stretch."""
    at_least = logistic.cdf((np.asarray(thresholds) + shift) / stretch)
    return -np.diff(np.concatenate([[1.0], at_least, [0.0]]))


def moments(probabilities, levels):
    """Mean and variance of each row, the variance as the mean square of what is left of the mean."""
    mean = probabilities @ levels
    return mean, np.sum(probabilities * (levels - mean[:, None]) ** 2, axis=1)


def bounds(mean, levels):
    """The least and the most variance that a distribution over the levels with this mean can have."""
    above = np.clip(np.searchsorted(levels, mean, side="right"), 1, len(levels) - 1)
    return (mean - levels[above - 1]) * (levels[above] - mean), (mean - levels[0]) * (levels[-1] - mean)


def drawn(rng, count, spread=1.5):
    return np.sort(rng.normal(0, spread, count))[::-1]


def by_nested_bisection(thresholds, levels, mean, wanted):
    """The distribution with these moments by scipy's root finder: of the shift within, of the stretch without."""

    def centred(stretch):
        reach = np.abs(thresholds).max() + 50 * stretch
        shift = brentq(
            lambda shift: distribution(thresholds, shift, stretch) @ levels - mean, -reach, reach, xtol=1e-14
        )
        return distribution(thresholds, shift, stretch)

    def excess(log_stretch):
        found = centred(np.exp(log_stretch))
        return found @ (levels - mean) ** 2 - wanted

    return centred(np.exp(brentq(excess, np.log(0.05), np.log(500), xtol=1e-14)))


@pytest.mark.parametrize("levels", [np.arange(3.0), UNEVEN, FINE, np.arange(101.0)])
def test_a_models_own_moments_give_its_own_level_probabilities(levels):
    thresholds = drawn(np.random.default_rng(1), len(levels) - 1)
    own = level_probabilities(thresholds, np.linspace(-4, 4, 50))
    again = matched_probabilities(thresholds, levels, expectation(own, levels), variance(own, levels))
    np.testing.assert_allclose(again, own, atol=1e-9)


@pytest.mark.parametrize("levels", [np.arange(3.0), UNEVEN, FINE, np.arange(101.0)])
def test_the_moments_of_a_shift_and_stretch_give_its_probabilities_back(levels):
    rng = np.random.default_rng(2)
    thresholds = drawn(rng, len(levels) - 1)
    pairs = zip(rng.normal(0, 2, 200), np.exp(rng.normal(0, 1, 200)), strict=True)
    made = np.array([distribution(thresholds, shift, stretch) for shift, stretch in pairs])
    np.testing.assert_allclose(matched_probabilities(thresholds, levels, *moments(made, levels)), made, atol=1e-7)


@pytest.mark.parametrize("levels", [UNEVEN, FINE])
def test_the_probabilities_are_those_that_nested_root_finding_gives(levels):
    rng = np.random.default_rng(3)
    thresholds = drawn(rng, len(levels) - 1)
    mean = rng.uniform(levels[0], levels[-1], 8)
    least, most = bounds(mean, levels)
    wanted = least + rng.uniform(0.1, 0.9, 8) * (most - least)
    expected = [by_nested_bisection(thresholds, levels, *row) for row in zip(mean, wanted, strict=True)]
    np.testing.assert_allclose(matched_probabilities(thresholds, levels, mean, wanted), expected, atol=1e-9)


def test_the_probabilities_are_those_that_scipys_solver_of_two_equations_gives():
    rng = np.random.default_rng(4)
    for _ in range(10):
        thresholds = drawn(rng, 9)
        wanted = np.array(moments(distribution(thresholds, rng.normal(), 1.3)[None], FINE)).ravel()

        def error(point, thresholds=thresholds, wanted=wanted):
            found = distribution(thresholds, point[0], np.exp(point[1]))
            return (np.array(moments(found[None], FINE)).ravel() - wanted) / [90, 90**2]

        solved = root(error, [0.0, 0.0], tol=1e-13)
        expected = distribution(thresholds, solved.x[0], np.exp(solved.x[1]))
        assert np.abs(error(solved.x)).max() < 1e-12
        [found] = matched_probabilities(thresholds, FINE, *wanted[:, None])
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("thresholds", [[1.0, -1.0], [4.0, 3.9], [0.0, -60.0]])
def test_three_levels_have_the_one_distribution_with_these_moments_whatever_the_thresholds(thresholds):
    # Three equations, sum p = 1, sum p l = mean, sum p l^2 = variance + mean^2, in three unknowns.
    levels, rng = np.array([0.0, 1.0, 3.0]), np.random.default_rng(5)
    mean = rng.uniform(0, 3, 100)
    least, most = bounds(mean, levels)
    wanted = least + rng.uniform(0, 1, 100) * (most - least)
    expected = np.linalg.solve(np.vander(levels, increasing=True).T, [np.ones(100), mean, wanted + mean**2]).T
    found = matched_probabilities(np.array(thresholds), levels, mean, wanted)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_with_two_levels_the_mean_alone_is_matched():
    mean, wanted = np.array([-1.0, 0.0, 5.0, 7.5, 20.0]), np.array([1.0, 50.0, 0.0, 18.75, 3.0])
    expected = [[1, 0], [1, 0], [0.5, 0.5], [0.25, 0.75], [0, 1]]
    assert matched_probabilities(np.array([0.3]), np.array([0.0, 10.0]), mean, wanted).tolist() == expected


@pytest.mark.parametrize(
    ("mean", "wanted", "expected"),
    [
        (2.0, 0.0, [0, 0.5, 0.5, 0]),  # below the least: the two levels around the mean
        (2.0, 1.0, [0, 0.5, 0.5, 0]),  # the least
        (3.0, 0.0, [0, 0, 1, 0]),  # a level for certain
        (0.0, 0.0, [1, 0, 0, 0]),
        (7.0, 0.0, [0, 0, 0, 1]),
        (2.0, 10.0, [5 / 7, 0, 0, 2 / 7]),  # the most: the end levels
        (3.0, 1e300, [4 / 7, 0, 0, 3 / 7]),  # above the most
        (-2.0, 3.0, [1, 0, 0, 0]),  # a mean below all levels
        (1e300, 3.0, [0, 0, 0, 1]),
        (7.0, 5.0, [0, 0, 0, 1]),  # at the end no variance is left
    ],
)
def test_moments_that_cannot_be_had_give_the_nearest_that_can(mean, wanted, expected):
    levels, thresholds = np.array([0.0, 1.0, 3.0, 7.0]), np.array([2.0, 0.0, -0.5])
    [found] = matched_probabilities(thresholds, levels, np.array([mean]), np.array([wanted]))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("mean", [2.0, 3.0, 6.999])
@pytest.mark.parametrize("limit", [0, 1])
def test_the_limits_are_reached_without_a_jump(mean, limit):
    levels, thresholds = np.array([0.0, 1.0, 3.0, 7.0]), np.array([2.0, 0.0, -0.5])
    least, most = bounds(mean, levels)
    share = np.concatenate([[0], np.logspace(-15, -7, 200)])
    wanted = least + np.abs(limit - share) * (most - least)
    found = matched_probabilities(thresholds, levels, np.full(201, mean), wanted)
    assert np.abs(np.diff(found, axis=0)).max() < 1e-7


# Pairs of nearly equal thresholds far apart from each other: the variance stands still for a while as the
# stretch rises, so that Newton's method gets lost and bounds are needed.
PAIRED = -np.cumsum(np.resize([30.0, 1e-7, 3.0, 1e-4], 40))


@pytest.mark.parametrize("thresholds", [PAIRED, 1e-6 * PAIRED, np.linspace(900, -900, 40)])
def test_thresholds_in_clusters_are_matched_as_well(thresholds):
    rng = np.random.default_rng(6)
    levels = np.arange(41.0)
    mean = np.concatenate([rng.uniform(0, 40, 100), rng.integers(1, 40, 100), rng.integers(1, 40, 100) + 1e-9])
    least, most = bounds(mean, levels)
    wanted = least + logistic.cdf(rng.uniform(-20, 20, 300)) * (most - least)
    found = moments(matched_probabilities(thresholds, levels, mean, wanted), levels)
    np.testing.assert_allclose(found[0], mean, atol=CLOSE * 40)
    np.testing.assert_allclose(found[1], wanted, atol=CLOSE * 40**2)


def test_a_scale_of_which_some_levels_are_rarely_given_is_matched():
    # Assessors favour multiples of 10: the thresholds of the others nearly coincide.
    levels = np.arange(101.0)
    thresholds = thresholds_of(np.where(levels % 10 == 0, 1000.0, 0.1) / (11 * 1000 + 90 * 0.1))
    rng = np.random.default_rng(7)
    mean = rng.uniform(0, 100, 400)
    least, most = bounds(mean, levels)
    wanted = least + rng.beta(1, 5, 400) * (most - least)
    found = moments(matched_probabilities(thresholds, levels, mean, wanted), levels)
    np.testing.assert_allclose(found[0], mean, atol=CLOSE * 100)
    np.testing.assert_allclose(found[1], wanted, atol=CLOSE * 100**2)


def test_many_rows_around_one_mean_are_those_of_each_alone():
    rng = np.random.default_rng(8)
    thresholds = drawn(rng, 9)
    mean, wanted = rng.uniform(35, 45, 9_000), rng.uniform(30, 900, 9_000)
    together = matched_probabilities(thresholds, FINE, mean, wanted)
    for row in (0, 4_000, 8_999):
        [alone] = matched_probabilities(thresholds, FINE, mean[[row]], wanted[[row]])
        np.testing.assert_allclose(together[row], alone, atol=1e-9)


def test_no_rows_give_no_rows():
    assert matched_probabilities(np.array([1.0, 0.0]), np.arange(3.0), np.empty(0), np.empty(0)).shape == (0, 3)


@st.composite
def problems(draw):
    """Thresholds, levels, and means and variances, possible and impossible ones."""
    gap = st.floats(-6, 2).map(lambda power: 10**power)
    gaps = draw(st.lists(st.tuples(gap, st.floats(0.1, 10)), min_size=1, max_size=12))
    thresholds = draw(st.floats(-5, 5)) - np.cumsum([gap for gap, _ in gaps])
    levels = draw(st.floats(-10, 10)) + np.cumsum([0.0, *(gap for _, gap in gaps)])
    share, spare = levels[-1] - levels[0], st.floats(-0.2, 1.2)
    rows = draw(st.lists(st.tuples(st.one_of(spare, st.sampled_from(levels.tolist())), spare), min_size=1, max_size=5))
    mean = np.array([at if at in levels else levels[0] + at * share for at, _ in rows])
    least, most = bounds(np.clip(mean, levels[0], levels[-1]), levels)
    return thresholds, levels, mean, np.maximum(0, least + np.array([way for _, way in rows]) * (most - least))


@given(problems())
def test_rows_sum_to_one_and_have_the_nearest_possible_moments(problem):
    _, levels, mean, wanted = problem
    probabilities = matched_probabilities(*problem)
    assert np.all(probabilities >= 0)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    found, spread = moments(probabilities, levels)
    reach = levels[-1] - levels[0]
    possible = np.clip(mean, levels[0], levels[-1])
    np.testing.assert_allclose(found, possible, atol=CLOSE * reach + 1e-14)
    np.testing.assert_allclose(spread, np.clip(wanted, *bounds(possible, levels)), atol=CLOSE * reach**2 + 1e-13)


@given(problems(), st.floats(-3, 3), st.floats(0.1, 10))
def test_thresholds_that_are_moved_and_stretched_give_the_same_probabilities(problem, shift, stretch):
    thresholds, *rest = problem
    probabilities = matched_probabilities(thresholds, *rest)
    np.testing.assert_allclose(matched_probabilities(shift + stretch * thresholds, *rest), probabilities, atol=1e-5)


@given(problems())
def test_turning_the_scale_around_turns_the_probabilities_around(problem):
    thresholds, levels, mean, wanted = problem
    turned = matched_probabilities(-thresholds[::-1], -levels[::-1], -mean, wanted)
    np.testing.assert_allclose(turned[:, ::-1], matched_probabilities(*problem), atol=1e-5)


@given(st.integers(0, 10_000), st.floats(0.02, 0.98))
def test_at_the_same_mean_the_variance_rises_with_the_stretch_so_that_no_other_distribution_matches(seed, share):
    rng = np.random.default_rng(seed)
    levels = np.cumsum(rng.uniform(0.1, 3, rng.integers(3, 9)))
    thresholds = drawn(rng, len(levels) - 1)
    mean = levels[0] + share * (levels[-1] - levels[0])
    spread = []
    for stretch in (0.3, 0.5, 1.0, 2.0, 5.0):
        shift = brentq(lambda by, s=stretch: distribution(thresholds, by, s) @ levels - mean, -200, 200, xtol=1e-14)
        spread.append(distribution(thresholds, shift, stretch) @ (levels - mean) ** 2)
    assert np.all(np.diff(spread) > 0)


@pytest.mark.parametrize("levels", [[1.0], [0.0, 2.0, 2.0], [1.0, 0.0], [0.0, np.nan], [0.0, np.inf]])
def test_levels_that_do_not_rise_are_refused(levels):
    with pytest.raises(InputError, match="levels must be two or more that rise, got"):
        matched_probabilities(np.zeros(len(levels) - 1), np.array(levels), np.zeros(1), np.zeros(1))


def test_thresholds_that_are_not_one_fewer_than_the_levels_are_refused():
    with pytest.raises(InputError, match="3 levels need 2 thresholds, got 1"):
        matched_probabilities(np.zeros(1), np.arange(3.0), np.zeros(1), np.zeros(1))


@pytest.mark.parametrize("thresholds", [[0.0, 0.0], [0.0, 1.0], [np.nan, 0.0], [np.inf, 0.0]])
def test_thresholds_that_do_not_fall_are_refused(thresholds):
    with pytest.raises(InputError, match="thresholds must be finite and fall from level to level, got"):
        matched_probabilities(np.array(thresholds), np.arange(3.0), np.zeros(1), np.zeros(1))


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((2, 1), (2, 1))])
def test_means_and_variances_that_are_not_one_of_each_per_row_are_refused(shapes):
    mean, wanted = map(np.zeros, shapes)
    with pytest.raises(InputError, match=r"expected one mean and one variance per row, got shapes \(2.* and \("):
        matched_probabilities(np.array([1.0, 0.0]), np.arange(3.0), mean, wanted)


@pytest.mark.parametrize(("mean", "wanted"), [(np.nan, 1.0), (np.inf, 1.0), (1.0, np.nan), (1.0, np.inf), (1.0, -0.1)])
def test_moments_that_are_none_are_refused(mean, wanted):
    with pytest.raises(InputError, match=r"finite and variances finite and 0 or more, got .* and .* in row 1"):
        matched_probabilities(np.array([1.0, 0.0]), np.arange(3.0), np.array([1.0, mean]), np.array([0.5, wanted]))
