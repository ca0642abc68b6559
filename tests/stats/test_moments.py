import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from audiosim.errors import InputError
from audiosim.stats.moments import Moments

RNG = np.random.default_rng(7)


def dependent(n):
    factor = RNG.normal(size=(n, n))
    return Moments(RNG.normal(size=n), factor @ factor.T)


def independent(n):
    return Moments(RNG.normal(size=n), RNG.uniform(0.1, 2, n))


@pytest.mark.parametrize("moments", [dependent(6), independent(6)])
def test_a_projection_is_w_mu_and_w_sigma_w(moments):
    weights = sparse.random_array((3, 6), density=0.6, rng=RNG, format="csr")
    dense = weights.toarray()
    sigma = np.diag(moments.covariance) if moments.covariance.ndim == 1 else moments.covariance
    projected = moments.project(weights)
    np.testing.assert_allclose(projected.mean, dense @ moments.mean, rtol=1e-12)
    np.testing.assert_allclose(projected.covariance, dense @ sigma @ dense.T, rtol=1e-12, atol=1e-14)


# Few sums share an unknown, many do, and all of them in a table that is taken in several pieces.
@pytest.mark.parametrize(
    ("sums", "unknowns", "density"), [(100, 30_000, 0.001), (300, 8_000, 0.2), (3, 7, 1), (4, 0, 0)]
)
def test_a_projection_of_many_independent_unknowns_is_w_sigma_w(sums, unknowns, density):
    rng = np.random.default_rng(9)
    weights = sparse.random_array((sums, unknowns), density=density, rng=rng, format="csr")
    moments = Moments(rng.normal(size=unknowns), rng.uniform(0, 2, unknowns))
    dense, projected = weights.toarray(), moments.project(weights)
    np.testing.assert_allclose(projected.mean, dense @ moments.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(projected.covariance, (dense * moments.variance) @ dense.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(projected.covariance, projected.covariance.T)


def test_knowing_one_unknown_after_another_equals_conditioning_on_both_at_once():
    # Closed form of the conditional normal: mu_1 + S_12 S_22^-1 (x - mu_2), S_11 - S_12 S_22^-1 S_21.
    moments, known, values = dependent(6), [1, 4], np.array([0.3, -2.0])
    rest = [0, 2, 3, 5]
    s, mu = moments.covariance, moments.mean
    slope = s[np.ix_(rest, known)] @ np.linalg.inv(s[np.ix_(known, known)])
    mean = mu[rest] + slope @ (values - mu[known])
    covariance = s[np.ix_(rest, rest)] - slope @ s[np.ix_(known, rest)]
    after = moments.know(1, 0.3).know(4, -2.0)
    np.testing.assert_allclose(after.mean[rest], mean, rtol=1e-10)
    np.testing.assert_allclose(after.covariance[np.ix_(rest, rest)], covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(after.mean[known], values)
    assert not after.covariance[known].any()


def test_knowing_one_of_independent_unknowns_leaves_the_others_alone():
    moments = independent(4)
    after = moments.know(2, 9.0)
    assert after.mean.tolist() == [*moments.mean[:2], 9.0, moments.mean[3]]
    assert after.covariance.tolist() == [*moments.covariance[:2], 0.0, moments.covariance[3]]


def test_the_moments_before_still_stand():
    moments = dependent(3)
    mean, covariance = moments.mean.copy(), moments.covariance.copy()
    moments.know(0, 5.0)
    np.testing.assert_array_equal(moments.mean, mean)
    np.testing.assert_array_equal(moments.covariance, covariance)


@given(st.permutations(range(5)))
def test_the_order_of_learning_does_not_matter(order):
    moments = Moments(np.arange(5.0), np.full((5, 5), 0.5) + np.diag(np.arange(1.0, 6.0)))
    values = [3.0, -1.0, 0.5]
    forward, reordered = moments, moments
    for index in range(3):
        forward = forward.know(index, values[index])
    for index in (i for i in order if i < 3):
        reordered = reordered.know(index, values[index])
    np.testing.assert_allclose(forward.mean, reordered.mean, rtol=1e-9)
    np.testing.assert_allclose(forward.covariance, reordered.covariance, atol=1e-10)


def test_a_covariance_of_the_wrong_shape_is_refused():
    with pytest.raises(InputError, match=r"covariance must be \(2,\) or \(2, 2\) to match the mean, got \(3,\)"):
        Moments(np.zeros(2), np.ones(3))


@pytest.mark.parametrize(("mean", "covariance"), [([np.nan], [1.0]), ([0.0], [-1.0])])
def test_unknown_means_and_negative_variances_are_refused(mean, covariance):
    with pytest.raises(InputError, match="means must be finite and variances 0 or more"):
        Moments(np.array(mean), np.array(covariance))
