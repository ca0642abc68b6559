import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from audiosim.errors import InputError
from audiosim.stats.normal.block_normal import BlockNormal
from audiosim.stats.normal.multivariate import IndependentNormal, Moments

RNG = np.random.default_rng(7)


def one_block(n):
    """A single block without shared effects, which can have any covariance."""
    factor = RNG.normal(size=(n, n))
    return of_covariance(RNG.normal(size=n), factor @ factor.T)


def of_covariance(mean, covariance):
    n = len(mean)
    return BlockNormal(mean, (np.arange(n),), (covariance,), (np.empty((n, 0)),), np.empty((0, 0)))


def independent(n):
    return IndependentNormal(RNG.normal(size=n), RNG.uniform(0.1, 2, n))


def in_full(normal):
    return np.array([normal.column(place) for place in range(len(normal.mean))])


BOTH = pytest.mark.parametrize("normal", [one_block(6), independent(6)])


@BOTH
def test_a_projection_is_w_mu_and_w_sigma_w(normal):
    weights = sparse.random_array((3, 6), density=0.6, rng=RNG, format="csr")
    dense, sigma = weights.toarray(), in_full(normal)
    np.testing.assert_allclose(np.diagonal(sigma), normal.variance, rtol=1e-12)
    projected, across = normal.project(weights), normal.across(weights)
    np.testing.assert_allclose(projected.mean, dense @ normal.mean, rtol=1e-12)
    np.testing.assert_allclose(projected.covariance, dense @ sigma @ dense.T, rtol=1e-12, atol=1e-14)
    across = across if isinstance(across, np.ndarray) else across.toarray()
    np.testing.assert_allclose(across, dense @ sigma, rtol=1e-12, atol=1e-14)


@BOTH
def test_conditioning_is_the_closed_form_one_by_one_and_at_once(normal):
    # mu_1 + S_12 S_22^-1 (x - mu_2), S_11 - S_12 S_22^-1 S_21.
    s, mu, known, rest, values = in_full(normal), normal.mean, [1, 4], [0, 2, 3, 5], np.array([0.3, -2.0])
    slope = s[np.ix_(rest, known)] @ np.linalg.inv(s[np.ix_(known, known)])
    covariance = s[np.ix_(rest, rest)] - slope @ s[np.ix_(known, rest)]
    for after in (normal.condition(1, 0.3).condition(4, -2.0), normal.condition_all(np.array(known), values)):
        np.testing.assert_allclose(after.mean[rest], mu[rest] + slope @ (values - mu[known]), rtol=1e-10)
        np.testing.assert_allclose(in_full(after)[np.ix_(rest, rest)], covariance, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(after.mean[known], values)
        assert not in_full(after)[known].any()


@BOTH
def test_held_out_is_conditioning_on_all_others_that_are_known(normal):
    places, values = np.array([3, 0, 5]), np.array([0.4, -1.0, 2.0])
    means, variances = normal.held_out(places, values)
    for k, place in enumerate(places):
        after = normal.condition_all(np.delete(places, k), np.delete(values, k))
        np.testing.assert_allclose([means[k], variances[k]], [after.mean[place], after.variance[place]], rtol=1e-10)


@BOTH
def test_one_by_one_is_conditioning_on_those_before(normal):
    places, values = np.array([3, 0, 5]), np.array([0.4, -1.0, 2.0])
    means, deviations = normal.one_by_one(places, values)
    for k, place in enumerate(places):
        after = normal.condition_all(places[:k], values[:k])
        expected = [after.mean[place], np.sqrt(after.variance[place])]
        np.testing.assert_allclose([means[k], deviations[k]], expected, rtol=1e-10)


@BOTH
def test_scaled_unknowns_have_other_means_and_covariances_times_both_factors(normal):
    mean, factors = RNG.normal(size=6), RNG.exponential(size=6)
    after = normal.scaled(mean, factors)
    np.testing.assert_array_equal(after.mean, mean)
    np.testing.assert_allclose(in_full(after), np.outer(factors, factors) * in_full(normal), rtol=1e-12)


@BOTH
def test_draws_have_the_mean_and_the_covariance(normal):
    # Five standard errors of 21 covariances from a seed.
    draws, values = 40_000, np.empty((40_000, 6))
    after = normal.condition(2, 0.5)
    for rows, own in after.draw(np.random.default_rng(1), draws):
        values[:, rows] = own
    sigma = in_full(after)
    spread = np.diagonal(sigma)
    assert np.all(np.abs(values.mean(axis=0) - after.mean) <= 5 * np.sqrt(spread / draws))
    error = np.sqrt((np.outer(spread, spread) + sigma**2) / draws)
    assert np.all(np.abs(np.cov(values.T) - sigma) <= 5 * error + 1e-12)


# Few sums share an unknown, many do, and all share one in a table processed in several pieces.
@pytest.mark.parametrize(
    ("sums", "unknowns", "density"), [(100, 30_000, 0.001), (300, 8_000, 0.2), (3, 7, 1), (4, 0, 0)]
)
def test_a_projection_of_many_independent_unknowns_is_w_sigma_w(sums, unknowns, density):
    rng = np.random.default_rng(9)
    weights = sparse.random_array((sums, unknowns), density=density, rng=rng, format="csr")
    moments = IndependentNormal(rng.normal(size=unknowns), rng.uniform(0, 2, unknowns))
    dense, projected = weights.toarray(), moments.project(weights)
    np.testing.assert_allclose(projected.mean, dense @ moments.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(projected.covariance, (dense * moments.variance) @ dense.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(projected.covariance, projected.covariance.T)


@BOTH
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_weights_that_stand_twice_in_one_place_add_up(normal, kind):
    twice = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [2, 2, 5])), shape=(2, 6))
    repeated = getattr(sparse, f"{kind}_array")((np.array([1.0, 2, 4]), *at(kind)), shape=(2, 6))
    np.testing.assert_array_equal(repeated.toarray(), twice.toarray())
    dense, sigma = twice.toarray(), in_full(normal)
    np.testing.assert_allclose(normal.project(repeated).covariance, dense @ sigma @ dense.T, rtol=1e-12)


def at(kind):
    """Places and ends of rows or columns of three entries, of which the first two share a place."""
    return ([2, 2, 5], [0, 2, 3]) if kind == "csr" else ([0, 0, 1], [0, 0, 0, 2, 2, 2, 3])


def test_conditioning_on_one_of_independent_unknowns_leaves_the_others_alone():
    normal = independent(4)
    after = normal.condition(2, 9.0)
    assert after.mean.tolist() == [*normal.mean[:2], 9.0, normal.mean[3]]
    assert after.variance.tolist() == [*normal.variance[:2], 0.0, normal.variance[3]]


@BOTH
def test_the_distribution_before_still_stands(normal):
    mean, covariance = normal.mean.copy(), in_full(normal)
    normal.condition(0, 5.0)
    np.testing.assert_array_equal(normal.mean, mean)
    np.testing.assert_array_equal(in_full(normal), covariance)


@pytest.mark.slow
@given(st.permutations(range(5)))
def test_the_order_of_learning_does_not_matter(order):
    normal = of_covariance(np.arange(5.0), np.full((5, 5), 0.5) + np.diag(np.arange(1.0, 6.0)))
    values = [3.0, -1.0, 0.5]
    forward, reordered = normal, normal
    for index in range(3):
        forward = forward.condition(index, values[index])
    for index in (i for i in order if i < 3):
        reordered = reordered.condition(index, values[index])
    np.testing.assert_allclose(forward.mean, reordered.mean, rtol=1e-9)
    np.testing.assert_allclose(in_full(forward), in_full(reordered), atol=1e-10)


def test_parts_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"^covariance must be \(2, 2\) to match the mean, got \(3,\)$"):
        Moments(np.zeros(2), np.ones(3))
    with pytest.raises(InputError, match=r"^variances must be \(2,\) to match the mean, got \(3,\)$"):
        IndependentNormal(np.zeros(2), np.ones(3))


@pytest.mark.parametrize(("mean", "variance"), [(np.nan, 1.0), (0.0, -1.0), (0.0, np.nan)])
def test_unknown_means_and_negative_variances_are_refused(mean, variance):
    for make in (
        lambda: Moments(np.array([mean]), np.array([[variance]])),
        lambda: IndependentNormal(*np.array([[mean], [variance]])),
    ):
        with pytest.raises(InputError, match="means must be finite and variances 0 or more"):
            make()
