"""The divergences are compared with an evaluation by Cholesky factors, with closed forms and with scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

from audiosim.errors import InputError
from audiosim.sound import kullback_leibler
from audiosim.sound.gaussians import from_rows, to_rows
from audiosim.sound.kullback_leibler import kullback_leibler_divergence, pack, pairs


def all_pairs(rows, d):
    """KL(i || j) + KL(j || i) of all pairs, directly from the definition; the log determinants cancel."""
    means, covariances = from_rows(rows, d)
    n, found = len(means), []
    for mean, covariance in zip(means, covariances, strict=True):
        shift = means - mean
        solved = cho_solve(cho_factor(covariance), np.hstack([*covariances, shift.T]))
        traces = np.trace(solved[:, : n * d].reshape(d, n, d), axis1=0, axis2=2)
        found.append((traces + np.vecdot(shift, solved[:, n * d :].T) - d) / 2)
    return np.array(found) + np.transpose(found)


def packed_of(means, covariances):
    means, covariances = np.asarray(means, dtype=float), np.asarray(covariances, dtype=float)
    return pack(to_rows(means, covariances), means.shape[1])


# Both sides are rounded in float64; 1e-9 leaves a margin of four digits.
@pytest.mark.parametrize(("d", "decades", "spread"), [(1, 2, 5), (2, 1, 1), (20, 1, 3), (20, 2, 100), (40, 1, 0.1)])
def test_in_double_precision_they_match_an_evaluation_by_cholesky_factors(random_gaussians, d, decades, spread):
    rows = to_rows(*random_gaussians(np.random.default_rng(1), 12, d, decades, spread))
    expected, off_diagonal = all_pairs(rows, d), ~np.eye(12, dtype=bool)
    computed = kullback_leibler_divergence(pack(rows, d), precision="double")
    assert computed.dtype == np.float64
    np.testing.assert_allclose(computed[off_diagonal], expected[off_diagonal], rtol=1e-9)


def check_single(rows, d):
    """Check for a relative error of at most 1e-4 wherever the divergence is more than 1e-6."""
    expected = all_pairs(rows, d)
    packed = pack(rows, d)
    computed = kullback_leibler_divergence(packed)
    assert computed.dtype == np.float32
    large = expected > 1e-6
    np.testing.assert_allclose(computed[large], expected[large], rtol=1e-4)
    assert (computed[~large] < 2e-6).all()
    assert np.array_equal(computed, computed.T)
    assert not computed.diagonal().any()
    np.testing.assert_allclose(
        kullback_leibler_divergence(packed, np.arange(9), np.arange(20))[large[:9, :20]],
        expected[:9, :20][large[:9, :20]],
        rtol=1e-4,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("decades", "spread"), [(0.1, 0.1), (1, 3), (2, 100), (0.1, 300), (0.01, 0), (2.5, 0)])
def test_in_single_precision_they_are_right_to_four_digits(random_gaussians, decades, spread):
    check_single(to_rows(*random_gaussians(np.random.default_rng(20), 60, 20, decades, spread)), 20)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1e-3, 1e-2, 1e-1])
def test_near_duplicates_are_right_to_four_digits_in_single_precision(random_gaussians, step):
    # Clusters of ten whose divergences are about 40 step ** 2, among clusters far from each other.
    rng = np.random.default_rng(21)
    means, covariances = (np.repeat(part, 10, axis=0) for part in random_gaussians(rng, 6, 20, 1, 100))
    roots = np.linalg.cholesky(covariances)
    means = means + step * (roots @ rng.standard_normal((60, 20, 1)))[:, :, 0]
    covariances = covariances * (1 + step * rng.standard_normal((60, 1, 1)))
    check_single(to_rows(means, covariances), 20)


@pytest.mark.slow
def test_near_duplicates_of_ill_conditioned_and_of_huge_and_tiny_gaussians_are_right_too(random_gaussians):
    rng = np.random.default_rng(22)
    means, covariances = random_gaussians(rng, 30, 20, 2, 1)
    sizes = 10 ** rng.uniform(-4, 4, (30, 1, 1))
    means, covariances = means * np.sqrt(sizes[:, :, 0]), covariances * sizes
    near = means + 1e-2 * np.linalg.cholesky(covariances).sum(axis=2)
    check_single(to_rows(np.concatenate([means, near]), np.concatenate([covariances, 1.001 * covariances])), 20)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 24),
    st.floats(0, 2),
    st.floats(0, 1e3),
    st.sampled_from(["single", "double"]),
)
def test_they_are_symmetric_never_negative_and_zero_on_the_diagonal(
    random_gaussians, seed, d, decades, spread, precision
):
    rows = to_rows(*random_gaussians(np.random.default_rng(seed), 7, d, decades, spread))
    computed = kullback_leibler_divergence(pack(rows, d), precision=precision)
    assert np.array_equal(computed, computed.T)
    assert (computed >= 0).all()
    assert not computed.diagonal().any()


def test_the_univariate_case_matches_an_integral_of_the_densities():
    means, deviations = np.array([[0.25], [1.125]]), np.array([0.75, 1.5])

    def integrand(x):
        p, q = (norm.logpdf(x, means[i, 0], deviations[i]) for i in (0, 1))
        return (np.exp(p) - np.exp(q)) * (p - q)

    computed = kullback_leibler_divergence(packed_of(means, deviations[:, None, None] ** 2), precision="double")
    assert computed[0, 1] == pytest.approx(quad(integrand, -30, 30, epsabs=1e-12)[0], rel=1e-9)


def test_the_diagonal_case_matches_its_closed_form():
    # Each axis adds (v/w + w/v + (shift ** 2)(1/v + 1/w)) / 2 - 1.
    rng = np.random.default_rng(2)
    v, w, shift = (rng.uniform(0.1, 9, 20).astype(np.float32).astype(float) for _ in range(3))
    expected = np.sum((v / w + w / v + shift**2 * (1 / v + 1 / w)) / 2 - 1)
    packed = packed_of(np.stack([shift, 0 * shift]), np.stack([np.diag(v), np.diag(w)]))
    assert kullback_leibler_divergence(packed, precision="double")[0, 1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_an_exact_copy_is_at_exactly_zero(random_gaussians, precision):
    rows = to_rows(*random_gaussians(np.random.default_rng(3), 5, 20))
    twice = pack(np.concatenate([rows, rows]), 20)
    assert not kullback_leibler_divergence(twice, precision=precision)[:5, 5:].diagonal().any()
    assert not kullback_leibler_divergence(twice, np.arange(5), np.arange(5, 10), precision).diagonal().any()


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_size_of_the_blocks_does_not_matter(random_gaussians, monkeypatch, precision):
    packed = packed_of(*random_gaussians(np.random.default_rng(5), 23, 6, spread=0.2))
    whole = kullback_leibler_divergence(packed, precision=precision)
    monkeypatch.setattr(kullback_leibler, "BLOCK", 5)
    monkeypatch.setattr(kullback_leibler, "CHUNK", 3)
    tiled = kullback_leibler_divergence(packed, precision=precision)
    np.testing.assert_allclose(tiled, whole, rtol=1e-4 if precision == "single" else 1e-12)
    assert np.array_equal(tiled, tiled.T)
    assert not tiled.diagonal().any()


def test_rows_and_columns_choose_a_part_of_the_matrix(random_gaussians):
    packed = packed_of(*random_gaussians(np.random.default_rng(6), 9, 4))
    rows, columns = np.array([7, 0, 7]), np.array([3, 8])
    whole = kullback_leibler_divergence(packed, precision="double")
    np.testing.assert_allclose(
        kullback_leibler_divergence(packed, rows, columns, "double"), whole[np.ix_(rows, columns)], rtol=1e-12
    )
    np.testing.assert_allclose(kullback_leibler_divergence(packed, columns, None, "double"), whole[columns], rtol=1e-12)
    np.testing.assert_allclose(
        kullback_leibler_divergence(packed, None, columns, "double"), whole[:, columns], rtol=1e-12
    )
    assert kullback_leibler_divergence(packed, rows[:0]).shape == (0, 9)
    assert kullback_leibler_divergence(packed, None, rows[:0]).shape == (9, 0)


def test_chosen_pairs_are_those_of_the_matrix(random_gaussians):
    packed = packed_of(*random_gaussians(np.random.default_rng(7), 9, 4))
    i, j = np.array([7, 0, 3]), np.array([3, 8, 3])
    np.testing.assert_allclose(
        pairs(packed, i, j), kullback_leibler_divergence(packed, precision="double")[i, j], rtol=1e-12
    )


def test_no_gaussians_have_no_divergences():
    assert kullback_leibler_divergence(packed_of(np.empty((0, 3)), np.empty((0, 3, 3)))).shape == (0, 0)


@pytest.mark.parametrize("bad", [np.full((2, 2), np.nan), np.diag([1.0, -1.0]), np.zeros((2, 2))])
def test_a_covariance_without_an_inverse_is_named(bad):
    rows = to_rows(np.zeros((3, 2)), np.stack([np.eye(2)] * 3))
    rows[1, 2:-1] = bad[np.triu_indices(2)]
    with pytest.raises(InputError, match=r"^covariance 1 must be finite and positive definite$"):
        pack(rows, 2)


def test_means_that_are_not_finite_are_refused():
    rows = to_rows(np.zeros((2, 1)), np.ones((2, 1, 1)))
    rows[1, 0] = np.nan
    with pytest.raises(InputError, match=r"^means must be finite$"):
        pack(rows, 1)


def test_covariances_that_no_common_scale_can_hold_are_refused():
    # Beside 1e38 the other value is lost to rounding once both are scaled alike.
    wide, narrow = (np.array([[1.0, 0.999999], [0.999999, 1.0]]) * size for size in (1e38, 1e-38))
    rows = np.float32([[0, 0, *wide[np.triu_indices(2)], 0], [0, 0, *narrow[np.triu_indices(2)], 0]])
    with pytest.raises(InputError, match=r"^covariances are too far apart in size to be compared$"):
        pack(rows, 2)
