"""Sizes of components are compared with statsmodels, closed forms, the full likelihood, and known sizes."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import null_space
from scipy.stats import multivariate_normal, norm

from audiosim.errors import InputError
from audiosim.stats.normal.block_covariances import LARGE
from audiosim.stats.normal.blocks import SameCode
from audiosim.stats.normal.layout import REST, Layout, Repeats
from audiosim.stats.normal.variance_components import SMALLEST, RestrictedLikelihood, estimate_components


@pytest.fixture(scope="module")
def sm():
    """The library statsmodels, which takes a second to load."""
    import statsmodels.api

    return statsmodels.api


def drawn(rng, standard_deviations, scaled=True):
    """A layout of blocks in shuffled places, with two kernels and two kinds of shared effects of 4 and 3."""
    n = sum(standard_deviations)
    blocks = tuple(np.split(rng.permutation(n), np.cumsum(standard_deviations)[:-1]))
    groups = [rng.integers(0, 2, m) for m in standard_deviations]
    kernels = {
        "block": tuple(np.ones((m, m)) for m in standard_deviations),
        "group": tuple((group[:, None] == group).astype(float) for group in groups),
    }
    shared = {"maker": np.eye(4)[rng.integers(0, 4, n)], "place": rng.normal(size=(n, 3))}
    return Layout(blocks, kernels, shared, rng.uniform(0.5, 2, n) if scaled else np.ones(n))


STANDARD_DEVIATIONS = {"block": 0.5, "group": 0.7, "maker": 0.3, "place": 0.4, REST: 0.9}


def in_full(layout, standard_deviations):
    """The covariance (n, n) by its definition."""
    n = len(layout.scale)
    times = np.ones(n) if layout.times is None else layout.times
    covariance = standard_deviations[REST] ** 2 * np.diag(times**2)
    for name, kernels in layout.kernels.items():
        for rows, kernel in zip(layout.blocks, kernels, strict=True):
            covariance[np.ix_(rows, rows)] += standard_deviations[name] ** 2 * kernel
    for name, effects in layout.shared.items():
        covariance += standard_deviations[name] ** 2 * effects @ effects.T
    return covariance * np.outer(layout.scale, layout.scale)


def density(layout, values, standard_deviations):
    """The restricted log-likelihood by its definition (Patterson & Thompson 1971), for the mean x b, x the scale."""
    covariance, x = in_full(layout, standard_deviations), layout.scale
    xx, xy = x @ np.linalg.solve(covariance, x), x @ np.linalg.solve(covariance, values)
    rest = values - x * xy / xx
    squares = rest @ np.linalg.solve(covariance, rest)
    constant = (len(x) - 1) * np.log(2 * np.pi)
    return -(constant + np.linalg.slogdet(covariance)[1] + np.log(xx) + squares) / 2


def by_logarithms(layout, values, standard_deviations):
    """The restricted log-likelihood, and its slopes by the logarithms of the standard deviations."""
    variances = np.array([standard_deviations[name] for name in layout.names]) ** 2
    found = RestrictedLikelihood(layout, values).at(variances)
    return found.value, 2 * variances * found.slopes


def simulated(rng, layout, standard_deviations, mean=0.0):
    """Values of components of these sizes, each drawn by its own definition."""
    total = standard_deviations[REST] * rng.normal(size=len(layout.scale))
    for name, kernels in layout.kernels.items():
        for rows, kernel in zip(layout.blocks, kernels, strict=True):
            total[rows] += standard_deviations[name] * rng.multivariate_normal(
                np.zeros(len(rows)), kernel, method="eigh"
            )
    for name, effects in layout.shared.items():
        total += standard_deviations[name] * effects @ rng.normal(size=effects.shape[1])
    return layout.scale * (mean + total)


def one_way(count, size):
    """Groups of values: the group of each, and the layout by blocks and by effects shared between blocks of one."""
    group = np.repeat(np.arange(count), size)
    blocks = tuple(np.flatnonzero(group == code) for code in range(count))
    alone = tuple(np.array([place]) for place in range(count * size))
    by_blocks = Layout(blocks, {"group": (np.ones((size, size)),) * count}, {}, np.ones(count * size))
    return group, [by_blocks, Layout(alone, {}, {"group": np.eye(count)[group]}, np.ones(count * size))]


@pytest.mark.slow
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.booleans(), st.integers(0, 2**32))
def test_the_field_of_a_layout_has_the_covariance_of_its_components(blocks, scaled, seed):
    rng = np.random.default_rng(seed)
    layout = drawn(rng, blocks, scaled)
    mean, expected = rng.normal(size=sum(blocks)), in_full(layout, STANDARD_DEVIATIONS)
    normal = layout.normal(STANDARD_DEVIATIONS, mean)
    np.testing.assert_array_equal(normal.mean, mean)
    np.testing.assert_allclose([normal.column(index) for index in range(sum(blocks))], expected, atol=1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(0, 2**32))
def test_the_likelihood_is_its_definition_and_its_slopes_are_finite_differences(blocks, seed):
    rng = np.random.default_rng(seed)
    layout = (drawn, drawn, repeated)[seed % 3](rng, blocks)
    layout = replace(layout, times=rng.uniform(0.5, 2, len(layout.scale))) if seed % 3 else layout
    values = layout.scale * (1 + rng.normal(size=len(layout.scale)))
    logarithms = rng.normal(-0.5, 0.7, len(layout.names))

    def at(logarithms):
        return density(layout, values, dict(zip(layout.names, np.exp(logarithms), strict=True)))

    standard_deviations = dict(zip(layout.names, np.exp(logarithms), strict=True))
    value, slopes = by_logarithms(layout, values, standard_deviations)
    assert value == pytest.approx(at(logarithms), rel=1e-9, abs=1e-9)
    steps = 1e-5 * np.eye(len(layout.names))
    expected = [(at(logarithms + step) - at(logarithms - step)) / 2e-5 for step in steps]
    # A difference of two values has their rounding errors, over the step: more where the likelihood is steep.
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-5 + 1e-7 * np.abs(slopes).max())


def in_both(rng, blocks):
    """A layout in which the groups of the first two blocks are separate effects, and those of others a kernel."""
    layout = drawn(rng, blocks)
    early = np.isin(np.arange(sum(blocks)), np.concatenate(layout.blocks[:2]))
    columns = np.eye(3)[rng.integers(0, 3, sum(blocks))] * early[:, None]
    kernels = tuple(
        kernel * np.outer(~early[rows], ~early[rows])
        for rows, kernel in zip(layout.blocks, layout.kernels["group"], strict=True)
    )
    shared = {**layout.shared, "group": columns}
    return replace(layout, kernels={**layout.kernels, "group": kernels}, shared=shared)


def repeated(rng, blocks):
    """A layout in which some people observe few unknowns of each block, two to four times each on average."""
    unknowns = drawn(rng, blocks)
    place = rng.permutation(np.repeat(np.arange(sum(blocks)), rng.integers(2, 5, sum(blocks))))
    person = rng.integers(0, 3, len(place))
    layout = unknowns.part(place)
    itself, together = SameCode(layout.blocks, place), SameCode(layout.blocks, person)
    shared = {**layout.shared, "person": sparse.csr_array(np.eye(3)[person] * rng.uniform(0.5, 2, (len(place), 1)))}
    kernels = {**layout.kernels, "itself": itself, "together": together}
    times = rng.uniform(0.5, 2, len(place))
    return replace(layout, kernels=kernels, shared=shared, times=times, repeats=Repeats(place, person, "together"))


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=5),
    st.sampled_from([drawn, in_both, repeated]),
    st.integers(0, 2**32),
)
@example([LARGE, 1, LARGE + 3], drawn, 1)  # blocks inverted one by one
@example([LARGE, LARGE], in_both, 2)
@example([LARGE, 1, LARGE + 3], repeated, 3)
def test_average_and_observed_information_are_their_definitions(blocks, form, seed):
    # Gilmour, Thompson & Cullis (1995): y'PK_iPK_jPy / 2, and the second derivatives with the opposite sign.
    rng = np.random.default_rng(seed)
    layout = form(rng, [*blocks, 3])
    layout = replace(layout, trend=rng.normal(size=(len(layout.scale), 2)))
    values, names = rng.normal(size=len(layout.scale)), layout.names
    variances = rng.uniform(0.1, 1.5, len(names)) ** 2
    likelihood = RestrictedLikelihood(layout, values)
    found = likelihood.at(variances)
    each = [in_full(layout, {**dict.fromkeys(names, 0.0), name: 1.0}) for name in names]
    inverse, x = np.linalg.inv(np.tensordot(variances, each, 1)), layout.trend
    projector = inverse - inverse @ x @ np.linalg.solve(x.T @ inverse @ x, x.T @ inverse)
    np.testing.assert_allclose(found.own, np.diagonal(projector), rtol=1e-6, atol=1e-9)
    products = [projector @ one for one in each]
    average = [[values @ one @ other @ projector @ values / 2 for other in products] for one in products]
    traces = [[np.trace(one @ other) for other in products] for one in products]
    # A Gram matrix: its entries, and their rounding errors, are as large as the roots of its diagonal.
    norms = np.sqrt(np.diagonal(average))
    scale = np.outer(norms, norms)
    np.testing.assert_allclose(found.average_information / scale, average / scale, rtol=1e-9, atol=1e-10)
    observed = 2 * np.array(average) - np.array(traces) / 2
    np.testing.assert_allclose(found.observed_information, observed, rtol=1e-9, atol=1e-8)
    steps = 1e-5 * np.diag(variances)
    slopes = [[likelihood.at(variances + way * step).slopes for way in (1, -1)] for step in steps]
    bend = [(up - down) / (2 * step.max()) for (up, down), step in zip(slopes, steps, strict=True)]
    np.testing.assert_allclose(-found.observed_information, bend, rtol=1e-5, atol=1e-5 * np.abs(observed).max())


@pytest.mark.parametrize("form", [0, 1])
def test_a_balanced_one_way_layout_has_the_estimates_of_the_analysis_of_variance(form):
    # Closed form: rest^2 = MS within, group^2 = (MS between - MS within) / 8, where that is above 0.
    group, layouts = one_way(12, 8)
    rng = np.random.default_rng(0)
    values = 5 + 0.7 * rng.normal(size=12)[group] + rng.normal(size=96)
    table = values.reshape(12, 8)
    between, inside = 8 * table.mean(axis=1).var(ddof=1), table.var(axis=1, ddof=1).mean()
    found = estimate_components([layouts[form]], [values], {"group": 1.0, REST: 1.0})
    assert found.standard_deviations["group"] == pytest.approx(((between - inside) / 8) ** 0.5, rel=1e-5)
    assert found.standard_deviations[REST] == pytest.approx(inside**0.5, rel=1e-5)
    # MS within is rest^2 chi2(84) / 84 and MS between (rest^2 + 8 group^2) chi2(11) / 11: variance 2 / degrees.
    of_squares = np.array([(2 * between**2 / 11 + 2 * inside**2 / 84) / 64, 2 * inside**2 / 84]) ** 0.5
    errors = of_squares / (2 * np.array([found.standard_deviations["group"], found.standard_deviations[REST]]))
    assert [found.errors["group"], found.errors[REST]] == pytest.approx(errors, rel=1e-3)


@pytest.mark.parametrize("form", [0, 1])
def test_a_size_may_exceed_every_value_and_be_far_from_where_it_began(form):
    # The closed form again: two groups around 100 and -100, whose deviation with one degree of freedom is 141.
    layouts = one_way(2, 5)[1]
    values = np.concatenate([100 + np.arange(-2.0, 3.0), -100 + np.arange(-2.0, 3.0)])
    found = estimate_components([layouts[form]], [values], {"group": 0.01, REST: 0.01})
    assert found.standard_deviations["group"] == pytest.approx((20_000 - 2.5 / 5) ** 0.5, rel=1e-4)
    assert found.standard_deviations[REST] == pytest.approx(2.5**0.5, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("form", [0, 1])
def test_an_unbalanced_layout_has_the_estimates_and_the_likelihood_of_statsmodels(form, sm):
    rng = np.random.default_rng(1)
    group, layouts = one_way(15, 6)
    kept = np.sort(rng.permutation(90)[:60])
    values = 2 + rng.normal(size=15)[group] * 0.8 + rng.normal(size=90)
    found = estimate_components([layouts[form].part(kept)], [values[kept]], {"group": 0.1, REST: 3.0})
    fitted = sm.MixedLM(values[kept], np.ones(60), group[kept]).fit(reml=True)
    # The search stops at a small gradient, which leaves about 1e-4 of a size.
    assert found.standard_deviations["group"] ** 2 == pytest.approx(fitted.cov_re[0, 0], rel=1e-3)
    assert found.standard_deviations[REST] ** 2 == pytest.approx(fitted.scale, rel=1e-3)
    # With only a constant as regressor, the constants agree too: -(n - 1) / 2 log 2 pi.
    assert found.likelihood == pytest.approx(fitted.llf, abs=1e-4)


def test_crossed_effects_have_the_estimates_of_statsmodels(sm):
    from statsmodels.regression.mixed_linear_model import VCSpec

    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 8, 120), rng.integers(0, 6, 120)
    values = rng.normal(size=8)[first] + 0.6 * rng.normal(size=6)[second] + 0.7 * rng.normal(size=120)
    shared = {"first": np.eye(8)[first], "second": np.eye(6)[second]}
    layout = Layout(tuple(np.split(np.arange(120), 40)), {}, shared, np.ones(120))
    found = estimate_components([layout], [values], {"first": 1.0, "second": 1.0, REST: 1.0})
    spec = VCSpec(
        ["first", "second"],
        [[[f"{code}" for code in range(8)]], [[f"{code}" for code in range(6)]]],
        [[shared["first"]], [shared["second"]]],
    )
    fitted = sm.MixedLM(values, np.ones(120), np.ones(120), exog_vc=spec).fit(reml=True)
    assert [found.standard_deviations["first"] ** 2, found.standard_deviations["second"] ** 2] == pytest.approx(
        fitted.vcomp, rel=2e-3
    )
    assert found.standard_deviations[REST] ** 2 == pytest.approx(fitted.scale, rel=2e-3)
    assert found.likelihood == pytest.approx(fitted.llf, abs=1e-4)


def test_fixed_columns_add_their_own_covariance_to_a_normal():
    rng = np.random.default_rng(3)
    layout = replace(drawn(rng, [4, 3, 5]), trend=rng.normal(size=(12, 2)))
    root, weights = rng.normal(size=(2, 2)), rng.normal(size=(6, 12))
    found = layout.normal(STANDARD_DEVIATIONS, rng.normal(size=12), root @ root.T)
    expected = in_full(layout, STANDARD_DEVIATIONS) + layout.trend @ root @ root.T @ layout.trend.T
    project = found.project(sparse.csc_array(weights)).covariance
    np.testing.assert_allclose(project, weights @ expected @ weights.T, rtol=1e-12, atol=1e-12)


def many_makers(rng, blocks, makers):
    """A layout with enough data to estimate all of its sizes."""
    n = sum(blocks)
    layout = drawn(rng, blocks)
    shared = {"maker": np.eye(makers)[rng.integers(0, makers, n)], "place": rng.normal(size=(n, makers)) / 3}
    groups = [rng.integers(0, 4, m) for m in blocks]
    kernels = {**layout.kernels, "group": tuple((group[:, None] == group).astype(float) for group in groups)}
    return replace(layout, kernels=kernels, shared=shared)


@pytest.mark.slow
def test_known_sizes_are_recovered_within_their_standard_errors():
    # 30 simulated sets: the standardised errors of the logarithms have mean 0 +- .18 and deviation 1 +- .13, and 90 %
    # intervals contain 27 of 30 +- 1.6 of the sizes, for each of five components; the limit is four standard errors.
    off = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        layout = many_makers(rng, [10] * 30, 25)
        found = estimate_components(
            [layout], [simulated(rng, layout, STANDARD_DEVIATIONS, 3.0)], dict.fromkeys(layout.names, 0.5)
        )
        relative = [found.errors[name] / found.standard_deviations[name] for name in STANDARD_DEVIATIONS]
        off.append(
            [np.log(found.standard_deviations[name] / STANDARD_DEVIATIONS[name]) for name in STANDARD_DEVIATIONS]
            / np.array(relative)
        )
    off = np.array(off)
    assert np.all(np.isfinite(off))
    assert np.all(np.abs(off.mean(axis=0)) < 4 * 0.18)
    assert np.all(np.abs(off.std(axis=0) - 1) < 4 * 0.13)
    covered = np.sum(np.abs(off) < norm.ppf(0.95), axis=0)
    assert np.all(np.abs(covered - 27) <= 4 * 1.6)
    # In total, 135 +- 3.7 of 150 intervals contain the size.
    assert abs(covered.sum() - 135) <= 4 * 3.7


def density_with_trend(layout, values, standard_deviations):
    """The restricted log-likelihood by its definition, for the mean X b, X the trend: scipy's times |X'X|^1/2.

    Harville (1974), doi:10.1093/biomet/61.2.383: up to a factor, the density of the errors of any n - f independent
    contrasts; here of orthonormal ones.
    """
    x = layout.trend
    contrasts = null_space(x.T)
    found = multivariate_normal(
        np.zeros(contrasts.shape[1]), contrasts.T @ in_full(layout, standard_deviations) @ contrasts
    )
    return found.logpdf(contrasts.T @ values) - np.linalg.slogdet(x.T @ x)[1] / 2


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(1, 3), st.integers(0, 2**32))
def test_with_a_trend_the_likelihood_is_that_of_contrasts_free_of_it(blocks, count, seed):
    rng = np.random.default_rng(seed)
    layout = drawn(rng, [*blocks, 4])
    layout = replace(layout, trend=rng.normal(size=(len(layout.scale), count)))
    values = simulated(rng, layout, STANDARD_DEVIATIONS) + layout.trend @ rng.normal(size=count)
    logarithms = rng.normal(-0.5, 0.7, 5)

    def at(logarithms):
        return density_with_trend(layout, values, dict(zip(layout.names, np.exp(logarithms), strict=True)))

    standard_deviations = dict(zip(layout.names, np.exp(logarithms).tolist(), strict=True))
    value, slopes = by_logarithms(layout, values, standard_deviations)
    assert value == pytest.approx(at(logarithms), rel=1e-8, abs=1e-8)
    expected = [(at(logarithms + step) - at(logarithms - step)) / 2e-5 for step in 1e-5 * np.eye(5)]
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", [0, 1])
def test_a_regression_within_groups_has_the_estimates_of_statsmodels(form, sm):
    rng = np.random.default_rng(13)
    group, layouts = one_way(15, 6)
    kept = np.sort(rng.permutation(90)[:60])
    trend = np.column_stack([np.ones(90), rng.normal(size=90) + rng.normal(size=15)[group]])
    values = trend @ [2.0, -0.5] + rng.normal(size=15)[group] * 0.8 + rng.normal(size=90)
    layout = replace(layouts[form], trend=trend).part(kept)
    found = estimate_components([layout], [values[kept]], {"group": 0.1, REST: 3.0})
    fitted = sm.MixedLM(values[kept], trend[kept], group[kept]).fit(reml=True)
    assert found.standard_deviations["group"] ** 2 == pytest.approx(fitted.cov_re[0, 0], rel=1e-3)
    assert found.standard_deviations[REST] ** 2 == pytest.approx(fitted.scale, rel=1e-3)
    np.testing.assert_allclose(found.trend, fitted.fe_params, rtol=1e-3)
    # Its standard errors allow for the errors of the sizes; with known sizes they equal generalised least squares.
    covariance = in_full(layout, found.standard_deviations)
    least_squares = sm.GLS(values[kept], trend[kept], covariance).fit()
    np.testing.assert_allclose(found.trend, least_squares.params, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, least_squares.normalized_cov_params, rtol=1e-6)


@pytest.mark.slow
def test_the_trend_of_several_sets_is_generalised_least_squares_of_all_of_them():
    rng = np.random.default_rng(14)
    layouts = [
        replace(one, trend=rng.normal(size=(len(one.scale), 2))) for one in (drawn(rng, [9] * k) for k in (5, 8))
    ]
    values = [simulated(rng, one, STANDARD_DEVIATIONS) + one.trend @ [1.5, -0.7] for one in layouts]
    found = estimate_components(layouts, values, STANDARD_DEVIATIONS)
    information, beside = np.zeros((2, 2)), np.zeros(2)
    for one, value in zip(layouts, values, strict=True):
        solved = np.linalg.solve(in_full(one, found.standard_deviations), one.trend)
        information, beside = information + one.trend.T @ solved, beside + solved.T @ value
    np.testing.assert_allclose(found.trend, np.linalg.solve(information, beside), rtol=1e-8)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(information), rtol=1e-8)
    assert np.all(np.abs(found.trend - [1.5, -0.7]) < 4 * np.sqrt(np.diagonal(found.covariance)))


def test_without_a_trend_it_is_the_scale():
    rng = np.random.default_rng(15)
    layout = drawn(rng, [8] * 6)
    values = simulated(rng, layout, STANDARD_DEVIATIONS, 2.0)
    information = replace(layout, trend=layout.scale[:, None])
    found, same = (estimate_components([one], [values], STANDARD_DEVIATIONS) for one in (layout, information))
    assert same.standard_deviations == pytest.approx(found.standard_deviations)
    assert (same.trend, same.likelihood) == (pytest.approx(found.trend), pytest.approx(found.likelihood))


@pytest.mark.slow
def test_what_the_trend_has_twice_counts_once_and_its_coefficients_are_not_told():
    # A column of zeros, as for equally good systems, says nothing about itself; neither do two columns of which one is
    # twice the other.
    rng = np.random.default_rng(16)
    layout = drawn(rng, [8] * 6)
    ones, other = np.ones(48), rng.normal(size=48)
    values = simulated(rng, layout, STANDARD_DEVIATIONS, 2.0)
    for plain, more in [([ones], [0 * ones]), ([ones, other], [2 * other]), ([ones, other], [ones - other])]:
        found = estimate_components([replace(layout, trend=np.column_stack(plain))], [values], STANDARD_DEVIATIONS)
        again = estimate_components(
            [replace(layout, trend=np.column_stack(plain + more))], [values], STANDARD_DEVIATIONS
        )
        assert again.standard_deviations == pytest.approx(found.standard_deviations, rel=1e-6)
        assert again.likelihood == pytest.approx(found.likelihood, rel=1e-9)
        zeros = 0 if more[0].any() else len(plain)
        np.testing.assert_allclose(again.trend, [*found.trend[:zeros], *[0] * (len(again.trend) - zeros)], rtol=1e-6)
        errors = [*np.diagonal(found.covariance)[:zeros], *[np.inf] * (len(again.trend) - zeros)]
        np.testing.assert_allclose(np.diagonal(again.covariance), errors, rtol=1e-6)


@pytest.mark.slow
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(0, 2**32))
def test_a_component_with_a_kernel_and_effects_has_one_size_in_covariance_likelihood_and_slopes(blocks, seed):
    rng = np.random.default_rng(seed)
    layout = in_both(rng, blocks)
    assert layout.names == ("block", "group", "maker", "place", REST)
    n, logarithms = sum(blocks), rng.normal(-0.5, 0.7, 5)
    standard_deviations = dict(zip(layout.names, np.exp(logarithms).tolist(), strict=True))
    normal = layout.normal(standard_deviations, np.zeros(n))
    np.testing.assert_allclose(
        [normal.column(place) for place in range(n)], in_full(layout, standard_deviations), atol=1e-10
    )
    kept = rng.permutation(n)[: rng.integers(n) + 1]
    expected = in_full(layout, standard_deviations)[np.ix_(kept, kept)]
    np.testing.assert_allclose(in_full(layout.part(kept), standard_deviations), expected, atol=1e-10)

    def at(logarithms):
        return density(layout, values, dict(zip(layout.names, np.exp(logarithms), strict=True)))

    values = simulated(rng, layout, STANDARD_DEVIATIONS, 1.0)
    value, slopes = by_logarithms(layout, values, standard_deviations)
    assert value == pytest.approx(at(logarithms), rel=1e-9, abs=1e-9)
    expected = [(at(logarithms + step) - at(logarithms - step)) / 2e-5 for step in 1e-5 * np.eye(5)]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-5)


def test_groups_within_blocks_and_groups_of_effects_are_one_component_of_one_size():
    # The closed form of the balanced one-way layout, for either form of the groups: five of twelve by effects.
    group, (by_blocks, _) = one_way(12, 8)
    rng = np.random.default_rng(12)
    values = 0.7 * rng.normal(size=12)[group] + rng.normal(size=96)
    effects, information = np.eye(12)[group][:, :5], group < 5
    kernels = tuple(
        kernel * np.outer(~information[rows], ~information[rows])
        for rows, kernel in zip(by_blocks.blocks, by_blocks.kernels["group"], strict=True)
    )
    mixed = replace(by_blocks, kernels={"group": kernels}, shared={"group": effects})
    once, both = (estimate_components([of], [values], {"group": 1.0, REST: 1.0}) for of in (by_blocks, mixed))
    table = values.reshape(12, 8)
    between, inside = 8 * table.mean(axis=1).var(ddof=1), table.var(axis=1, ddof=1).mean()
    assert both.standard_deviations["group"] == pytest.approx(((between - inside) / 8) ** 0.5, rel=1e-5)
    assert both.standard_deviations[REST] == pytest.approx(inside**0.5, rel=1e-5)
    assert both.errors == pytest.approx(once.errors, rel=1e-4)
    assert both.likelihood == pytest.approx(once.likelihood, abs=1e-8)


@pytest.mark.slow
def test_independent_sets_add_up():
    rng = np.random.default_rng(3)
    layouts = [drawn(rng, blocks) for blocks in ([4, 6, 5], [7, 3])]
    values = [
        simulated(rng, layout, STANDARD_DEVIATIONS, mean) for layout, mean in zip(layouts, [1.0, -2.0], strict=True)
    ]
    found = estimate_components(layouts, values, STANDARD_DEVIATIONS)
    expected = sum(
        density(layout, value, found.standard_deviations) for layout, value in zip(layouts, values, strict=True)
    )
    assert found.likelihood == pytest.approx(expected, rel=1e-9)
    for name in found.standard_deviations:
        for factor in (0.9, 1.1):
            nearby = {**found.standard_deviations, name: found.standard_deviations[name] * factor}
            assert sum(map(density, layouts, values, [nearby] * 2)) < expected + 1e-6


@pytest.mark.slow
def test_the_same_set_twice_has_the_same_sizes_and_errors_smaller_by_root_2():
    rng = np.random.default_rng(4)
    layout = many_makers(rng, [8] * 12, 12)
    values = simulated(rng, layout, STANDARD_DEVIATIONS)
    once, twice = (estimate_components([layout] * k, [values] * k, STANDARD_DEVIATIONS) for k in (1, 2))
    for name in STANDARD_DEVIATIONS:
        assert twice.standard_deviations[name] == pytest.approx(once.standard_deviations[name], rel=1e-3)
        assert twice.errors[name] == pytest.approx(once.errors[name] / 2**0.5, rel=1e-2)


@pytest.mark.slow
def test_values_twice_as_large_have_sizes_twice_as_large():
    rng = np.random.default_rng(5)
    layout = many_makers(rng, [8] * 12, 12)
    values = simulated(rng, layout, STANDARD_DEVIATIONS)
    once, larger = (estimate_components([layout], [factor * values], STANDARD_DEVIATIONS) for factor in (1, 2))
    for name in STANDARD_DEVIATIONS:
        assert larger.standard_deviations[name] == pytest.approx(2 * once.standard_deviations[name], rel=1e-3)
    # The density belongs to n - 1 values on a scale with units half as large.
    assert larger.likelihood == pytest.approx(once.likelihood - 95 * np.log(2), abs=1e-5)


@pytest.mark.slow
def test_the_constant_that_all_values_share_does_not_matter():
    rng = np.random.default_rng(6)
    layout = many_makers(rng, [8] * 12, 12)
    values = simulated(rng, layout, STANDARD_DEVIATIONS)
    found, moved = (
        estimate_components([layout], [values + shift * layout.scale], STANDARD_DEVIATIONS) for shift in (0, 7)
    )
    for name in STANDARD_DEVIATIONS:
        assert moved.standard_deviations[name] == pytest.approx(found.standard_deviations[name], rel=1e-3)


def test_a_tight_prior_gives_the_start_and_a_wide_one_the_maximum():
    group, (layout, _) = one_way(12, 8)
    rng = np.random.default_rng(7)
    values = 0.7 * rng.normal(size=12)[group] + rng.normal(size=96)
    start = {"group": 0.3, REST: 2.0}
    free = estimate_components([layout], [values], start)
    found = [estimate_components([layout], [values], start, dict.fromkeys(start, wide)) for wide in (1e-4, 0.3, 1e3)]
    for name in start:
        standard_deviations = [of.standard_deviations[name] for of in found]
        assert standard_deviations[0] == pytest.approx(start[name], rel=1e-4)
        assert standard_deviations[2] == pytest.approx(free.standard_deviations[name], rel=1e-4)
        assert (
            min(standard_deviations[0], standard_deviations[2])
            < standard_deviations[1]
            < max(standard_deviations[0], standard_deviations[2])
        )
        assert found[0].errors[name] == pytest.approx(1e-4 * start[name], rel=1e-2)
        assert found[1].errors[name] < 0.3 * standard_deviations[1]
    assert found[1].likelihood == pytest.approx(density(layout, values, found[1].standard_deviations), rel=1e-9)
    assert found[1].likelihood < free.likelihood


def test_the_middle_of_prior_and_data_is_where_their_slopes_cancel():
    # One component: rest^2 ~ s^2, s^2 = sum of squares / (n - 1); d/d log size is (n - 1)(s^2 / size^2 - 1).
    values = np.random.default_rng(8).normal(size=21)
    layout = Layout(tuple(np.array([place]) for place in range(21)), {}, {}, np.ones(21))
    size = estimate_components([layout], [values], {REST: 0.5}, {REST: 0.2}).standard_deviations[REST]
    assert 20 * (values.var(ddof=1) / size**2 - 1) == pytest.approx(np.log(size / 0.5) / 0.04, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [0.05, 1.0, 30.0])
def test_a_component_that_is_not_there_goes_to_the_boundary_and_its_error_is_infinite(unit):
    # Groups that differ less than by chance have equal means.
    layouts = one_way(10, 5)[1]
    values = unit * np.tile([-2.0, -1.0, 0.0, 1.0, 2.5], 10)
    for layout in layouts:
        found = estimate_components([layout], [values], {"group": unit, REST: unit})
        assert found.standard_deviations["group"] == pytest.approx(SMALLEST, rel=1e-3)
        assert found.errors["group"] == np.inf
        assert found.standard_deviations[REST] == pytest.approx(values.std(ddof=1), rel=1e-4)
        # The standard error of a standard deviation of n normal values.
        assert found.errors[REST] == pytest.approx(found.standard_deviations[REST] / 98**0.5, rel=1e-3)


def test_what_the_data_does_not_tell_stays_and_its_error_is_infinite():
    values = np.random.default_rng(9).normal(size=20)
    alone = tuple(np.array([place]) for place in range(20))
    # An effect without values, and one with a separate level for each value, which cannot be told from the rest.
    nobody = Layout(alone, {}, {"maker": np.zeros((20, 0))}, np.ones(20))
    found = estimate_components([nobody], [values], {"maker": 0.4, REST: 1.0})
    assert (found.standard_deviations["maker"], found.errors["maker"]) == (pytest.approx(0.4), np.inf)
    assert found.standard_deviations[REST] == pytest.approx(values.std(ddof=1), rel=1e-4)
    double = Layout(alone, {"own": (np.eye(1),) * 20}, {}, np.ones(20))
    found = estimate_components([double], [values], {"own": 0.5, REST: 0.5})
    assert list(found.errors.values()) == [np.inf, np.inf]
    assert np.hypot(*found.standard_deviations.values()) == pytest.approx(values.std(ddof=1), rel=1e-4)


def test_the_information_of_many_small_blocks_takes_no_matrix_of_effects_for_each():
    rng, blocks, effects = np.random.default_rng(0), 150, 200
    layout = replace(drawn(rng, [3] * blocks), shared={"maker": np.eye(effects)[rng.integers(0, effects, 3 * blocks)]})
    bend = RestrictedLikelihood(layout, rng.normal(size=3 * blocks)).at(np.ones(len(layout.names)))
    tracemalloc.start()
    try:
        assert np.isfinite(bend.observed_information).all()
        assert tracemalloc.get_traced_memory()[1] < blocks * effects**2 * np.dtype(float).itemsize / 2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [0, 1])
def test_no_values_and_a_single_one_tell_nothing(count):
    layout = drawn(np.random.default_rng(10), [3, 2]).part(np.arange(count))
    found = estimate_components([layout], [np.full(count, 0.4)], STANDARD_DEVIATIONS)
    assert found.standard_deviations == pytest.approx(STANDARD_DEVIATIONS)
    assert set(found.errors.values()) == {np.inf}
    with_prior = estimate_components(
        [layout], [np.full(count, 0.4)], STANDARD_DEVIATIONS, dict.fromkeys(STANDARD_DEVIATIONS, 0.3)
    )
    assert with_prior.standard_deviations == pytest.approx(STANDARD_DEVIATIONS)
    assert with_prior.errors == pytest.approx({name: 0.3 * size for name, size in STANDARD_DEVIATIONS.items()})


@pytest.mark.slow
@given(st.permutations(range(9)), st.integers(0, 9))
def test_the_part_of_a_layout_has_the_covariance_of_that_part(order, count):
    layout = replace(drawn(np.random.default_rng(11), [4, 1, 4]), times=np.linspace(0.5, 2, 9))
    places = np.array(order[:count], dtype=np.int64)
    part = layout.part(places)
    assert part.names == layout.names
    np.testing.assert_allclose(
        in_full(part, STANDARD_DEVIATIONS), in_full(layout, STANDARD_DEVIATIONS)[np.ix_(places, places)], atol=1e-12
    )
    normal = part.normal(STANDARD_DEVIATIONS, np.zeros(count))
    np.testing.assert_allclose(normal.variance, np.diagonal(in_full(part, STANDARD_DEVIATIONS)), atol=1e-12)
    assert all(columns.any(axis=0).all() for columns in part.shared.values())


BLOCKS = (np.array([0, 2]), np.array([1]))
RIGHT = {
    "blocks": BLOCKS,
    "kernels": {"query": (np.ones((2, 2)), np.ones((1, 1)))},
    "shared": {"team": np.ones((3, 2))},
    "scale": np.ones(3),
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scale": np.array([1.0, 0.0, 1.0])}, "scales must be above 0"),
        ({"scale": np.array([1.0, np.nan, 1.0])}, "scales must be above 0"),
        ({"scale": np.ones(2)}, "blocks must hold each of 2 places once, got 3 places"),
        ({"blocks": (BLOCKS[0], np.array([2]))}, "blocks must hold each of 3 places once, got 3 places"),
        ({"kernels": {"query": (np.ones((2, 2)),)}}, "kernels of query must have the shapes of the 2 blocks"),
        ({"kernels": {"query": (np.ones((2, 2)),) * 2}}, "kernels of query must have the shapes of the 2 blocks"),
        ({"shared": {"team": np.ones((2, 2))}}, r"effects of team must be \(3, p\) to match the scale, got \(2, 2\)"),
        ({"shared": {"team": np.ones(3)}}, r"effects of team must be \(3, p\) to match the scale, got \(3,\)"),
        ({"shared": {"rest": np.ones((3, 2))}}, "components must not be called 'rest', got query, rest"),
        ({"trend": np.ones((2, 2))}, r"the trend must be \(3, f\) to match the scale, got \(2, 2\)"),
        ({"trend": np.ones(3)}, r"the trend must be \(3, f\) to match the scale, got \(3,\)"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(changed, message):
    assert Layout(**RIGHT).names == ("query", "team", "rest")
    both = Layout(**(RIGHT | {"shared": {"query": np.ones((3, 2)), "team": np.ones((3, 2))}}))
    assert both.names == ("query", "team", "rest")
    with pytest.raises(InputError, match=f"^{message}$"):
        Layout(**(RIGHT | changed))


START = {"query": 1.0, "team": 1.0, "rest": 1.0}


@pytest.mark.parametrize(
    ("layouts", "values", "start", "spread", "message"),
    [
        ([], [], START, None, "layouts must be at least one, with values each, got 0 and 0"),
        ([RIGHT], [], START, None, "layouts must be at least one, with values each, got 1 and 0"),
        (
            [RIGHT, RIGHT | {"shared": {}}],
            [np.ones(3)] * 2,
            START,
            None,
            r"layouts must have the same components, got query, team, rest and query, rest",
        ),
        ([RIGHT], [np.ones(2)], START, None, r"values must be finite and \(3,\) to match the layout, got \(2,\)"),
        (
            [RIGHT],
            [np.array([1.0, np.inf, 0.0])],
            START,
            None,
            r"values must be finite and \(3,\) to match the layout, got \(3,\)",
        ),
        ([RIGHT], [np.ones(3)], {"query": 1.0}, None, "start must have a number above 0 for each of query, team, rest"),
        (
            [RIGHT],
            [np.ones(3)],
            START | {"rest": 0.0},
            None,
            "start must have a number above 0 for each of query, team, rest",
        ),
        (
            [RIGHT],
            [np.ones(3)],
            START,
            {"query": 1.0, "team": -1.0, "rest": 1.0},
            "spread must have a number above 0 for each of query, team, rest",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(layouts, values, start, spread, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        estimate_components([Layout(**parts) for parts in layouts], values, start, spread)


@pytest.mark.slow
def test_as_many_values_as_the_trend_has_coefficients_are_as_likely_under_any_variances():
    rng = np.random.default_rng(0)
    for _ in range(50):  # rounding moves their remainder to either side of zero
        layout = replace(drawn(rng, (1,)), scale=rng.uniform(0.1, 3, 1))
        likely = [
            RestrictedLikelihood(layout, rng.normal(size=1)).at(rng.uniform(0.01, 1, len(layout.names))).value
            for _ in range(2)
        ]
        assert likely[0] == pytest.approx(likely[1], abs=1e-12)
