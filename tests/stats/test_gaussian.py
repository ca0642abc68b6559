"""The divergences are compared with a pair-by-pair evaluation by Cholesky factors, with closed forms and with scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

from audiosim.errors import InputError
from audiosim.stats import gaussian
from audiosim.stats.gaussian import Gaussian, divergence, fit, from_triangles, pack, triangles, width


def random_gaussians(rng, n, d, decades=1.0, spread=3.0):
    """Means and covariances whose eigenvalues lie within 10 ** +-decades."""
    turns = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    scales = 10 ** rng.uniform(-decades, decades, (n, 1, d))
    return spread * rng.standard_normal((n, d)), (turns * scales) @ np.swapaxes(turns, 1, 2)


def by_cholesky(m1, s1, m2, s2):
    """KL(1 || 2) + KL(2 || 1), straight from the definition; the log determinants cancel."""
    f1, f2, shift = cho_factor(s1), cho_factor(s2), m1 - m2
    traces = np.trace(cho_solve(f2, s1)) + np.trace(cho_solve(f1, s2))
    return (traces + shift @ cho_solve(f1, shift) + shift @ cho_solve(f2, shift)) / 2 - len(m1)


def all_pairs(means, covariances):
    n = range(len(means))
    return np.array([[by_cholesky(means[i], covariances[i], means[j], covariances[j]) for j in n] for i in n])


# Both sides are rounded in float64; 1e-9 leaves them four digits of room.
@pytest.mark.parametrize(("d", "decades", "spread"), [(1, 2, 5), (2, 1, 1), (20, 1, 3), (20, 2, 100), (40, 1, 0.1)])
def test_divergences_match_a_pair_by_pair_cholesky_evaluation(d, decades, spread):
    means, covariances = random_gaussians(np.random.default_rng(1), 12, d, decades, spread)
    expected = all_pairs(means, covariances)
    apart = ~np.eye(12, dtype=bool)
    np.testing.assert_allclose(divergence(pack(means, covariances))[apart], expected[apart], rtol=1e-9)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 24), st.floats(0, 2), st.floats(0, 1e3))
def test_divergences_are_symmetric_never_negative_and_zero_on_the_diagonal(seed, d, decades, spread):
    computed = divergence(pack(*random_gaussians(np.random.default_rng(seed), 7, d, decades, spread)))
    assert np.array_equal(computed, computed.T)
    assert (computed >= 0).all()
    assert not computed.diagonal().any()


def test_the_univariate_case_matches_an_integral_of_the_densities():
    means, deviations = np.array([[0.3], [1.1]]), np.array([0.8, 1.7])

    def integrand(x):
        p, q = (norm.logpdf(x, means[i, 0], deviations[i]) for i in (0, 1))
        return (np.exp(p) - np.exp(q)) * (p - q)

    computed = divergence(pack(means, deviations[:, None, None] ** 2))
    assert computed[0, 1] == pytest.approx(quad(integrand, -30, 30, epsabs=1e-12)[0], rel=1e-9)


def test_the_diagonal_case_matches_its_closed_form():
    # Each axis adds (v/w + w/v + (shift ** 2)(1/v + 1/w)) / 2 - 1.
    rng = np.random.default_rng(2)
    v, w, shift = rng.uniform(0.1, 9, 20), rng.uniform(0.1, 9, 20), rng.standard_normal(20)
    expected = np.sum((v / w + w / v + shift**2 * (1 / v + 1 / w)) / 2 - 1)
    computed = divergence(pack(np.stack([shift, 0 * shift]), np.stack([np.diag(v), np.diag(w)])))
    assert computed[0, 1] == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-7, 1e-1), st.integers(0, 10_000), st.floats(0, 10))
def test_a_near_duplicate_keeps_its_digits(epsilon, seed, spread):
    # S and (1 + e) S with means e L 1 apart (S = L L'): d e^2 / (2 (1 + e)) + d e^2 (1 + 1 / (1 + e)) / 2.
    # Rounding S alone moves e by about 1e-16 times the condition number (1e2), hence the tolerance.
    d = 20
    means, covariances = random_gaussians(np.random.default_rng(seed), 6, d, 1, spread)
    one = 1.0 + epsilon
    means[1] = means[0] + epsilon * np.linalg.cholesky(covariances[0]).sum(axis=1)
    covariances[1] = one * covariances[0]
    expected = d * epsilon**2 * (1 / one + 1 + 1 / one) / 2
    # The shift of the means is itself rounded at the size of the means.
    tolerance = 1e-9 + 1e-13 * (1 + spread) / epsilon
    assert divergence(pack(means, covariances))[0, 1] == pytest.approx(expected, rel=tolerance)


def test_an_exact_copy_is_at_exactly_zero():
    means, covariances = random_gaussians(np.random.default_rng(3), 5, 20)
    twice = pack(np.concatenate([means, means]), np.concatenate([covariances, covariances]))
    assert not divergence(twice)[:5, 5:].diagonal().any()


def test_divergences_do_not_change_when_all_is_moved_and_stretched_alike():
    rng = np.random.default_rng(4)
    means, covariances = random_gaussians(rng, 8, 10)
    stretch = rng.standard_normal((10, 10)) + 4 * np.eye(10)
    moved = pack(means @ stretch.T + 500, stretch @ covariances @ stretch.T)
    np.testing.assert_allclose(divergence(moved), divergence(pack(means, covariances)), rtol=1e-9)


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    means, covariances = random_gaussians(np.random.default_rng(5), 23, 6, spread=0.2)
    whole = divergence(pack(means, covariances))
    monkeypatch.setattr(gaussian, "BLOCK", 5)
    monkeypatch.setattr(gaussian, "CHUNK", 3)
    tiled = divergence(pack(means, covariances))
    np.testing.assert_allclose(tiled, whole, rtol=1e-12)
    assert np.array_equal(tiled, tiled.T)
    assert not tiled.diagonal().any()


def test_rows_and_columns_choose_a_part_of_the_matrix():
    packed = pack(*random_gaussians(np.random.default_rng(6), 9, 4))
    rows, columns = np.array([7, 0, 7]), np.array([3, 8])
    np.testing.assert_allclose(divergence(packed, rows, columns), divergence(packed)[np.ix_(rows, columns)], rtol=1e-12)
    assert divergence(packed, rows[:0]).shape == (0, 9)


def test_no_gaussians_have_no_divergences():
    assert divergence(pack(np.empty((0, 3)), np.empty((0, 3, 3)))).shape == (0, 0)


def test_a_fit_is_the_mean_and_the_covariance_over_n_minus_1():
    frames = np.random.default_rng(7).standard_normal((300, 20)).astype(np.float32)
    fitted = fit(frames)
    np.testing.assert_allclose(fitted.mean, frames.astype(float).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fitted.covariance, np.cov(frames.astype(float).T), rtol=1e-9, atol=1e-12)


def test_a_fit_finds_the_gaussian_that_its_frames_come_from():
    rng = np.random.default_rng(8)
    means, covariances = random_gaussians(rng, 1, 5)
    fitted = fit(rng.multivariate_normal(means[0], covariances[0], 200_000))
    # An efficient fit of p parameters is at p / n nats on average: 20 / 200,000.
    packed = pack(np.stack([means[0], fitted.mean]), np.stack([covariances[0], fitted.covariance]))
    assert divergence(packed)[0, 1] < 5 * 20 / 200_000


def test_triangles_and_matrices_turn_into_each_other():
    matrices = random_gaussians(np.random.default_rng(9), 3, 4)[1]
    matrices = matrices + np.swapaxes(matrices, 1, 2)
    assert triangles(matrices).shape == (3, width(4) - 4)
    assert np.array_equal(from_triangles(triangles(matrices), 4), matrices)


def test_a_covariance_of_the_wrong_shape_is_refused():
    with pytest.raises(InputError, match=r"^covariance must be \(2, 2\) to match the mean, got \(3, 3\)$"):
        Gaussian(np.zeros(2), np.eye(3))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_mean_that_is_not_finite_is_refused(bad):
    with pytest.raises(InputError, match=r"^mean must be finite$"):
        Gaussian(np.array([0.0, bad]), np.eye(2))


@pytest.mark.parametrize(
    "covariance", [np.array([[1, 0.5], [0.2, 1]]), np.full((2, 2), np.nan), np.full((2, 2), np.inf)]
)
def test_a_covariance_that_is_not_symmetric_and_finite_is_refused(covariance):
    with pytest.raises(InputError, match=r"^covariance must be symmetric and finite$"):
        Gaussian(np.zeros(2), covariance)


@pytest.mark.parametrize("covariance", [np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, -1.0])])
def test_a_covariance_that_is_not_positive_definite_is_refused(covariance):
    with pytest.raises(
        InputError, match=r"^covariance must be positive definite; 2 coefficients need well over 2 frames$"
    ):
        Gaussian(np.zeros(2), covariance)


def test_too_few_frames_are_refused():
    with pytest.raises(
        InputError, match=r"^covariance must be positive definite; 20 coefficients need well over 20 frame"
    ):
        fit(np.random.default_rng(10).standard_normal((20, 20)))
    with pytest.raises(InputError, match=r"^frames must be \(n, d\) with at least 2 rows, got \(1, 20\)$"):
        fit(np.zeros((1, 20)))


def test_covariances_that_do_not_match_the_means_are_refused():
    with pytest.raises(InputError, match=r"^covariances must be \(3, 2, 2\) to match the means, got \(2, 2, 2\)$"):
        pack(np.zeros((3, 2)), np.stack([np.eye(2)] * 2))


@pytest.mark.parametrize("bad", [np.full((2, 2), np.nan), np.diag([1.0, -1.0]), np.zeros((2, 2))])
def test_a_covariance_without_an_inverse_is_named(bad):
    with pytest.raises(InputError, match=r"^covariance 1 must be finite and positive definite$"):
        pack(np.zeros((3, 2)), np.stack([np.eye(2), bad, np.eye(2)]))


def test_means_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match=r"^means must be finite$"):
        pack(np.array([[0.0], [np.nan]]), np.ones((2, 1, 1)))


def test_covariances_that_no_common_scale_can_hold_are_refused():
    # Next to 1e300 the other turns into rounding once both are stretched alike.
    wide, narrow = 1e300 * np.array([[1.0, 0.5], [0.5, 1.0]]), 1e-30 * np.array([[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(InputError, match=r"^covariances are too far apart in size to be compared$"):
        pack(np.zeros((2, 2)), np.stack([wide, narrow]))
