"""Rows are compared with their sources."""

import numpy as np
import pytest

from audiosim.errors import InputError
from audiosim.sound.gaussians import Gaussian, from_rows, from_triangles, to_rows, triangles, width


def test_triangles_and_matrices_turn_into_each_other(random_gaussians):
    matrices = random_gaussians(np.random.default_rng(9), 3, 4)[1]
    matrices = matrices + np.swapaxes(matrices, 1, 2)
    assert np.array_equal(triangles(matrices)[1], matrices[1][np.triu_indices(4)])
    assert np.array_equal(from_triangles(triangles(matrices), 4), matrices)


def test_a_row_is_the_mean_the_triangle_and_the_logarithm_of_the_determinant(random_gaussians):
    means, covariances = random_gaussians(np.random.default_rng(11), 5, 20)
    rows = to_rows(means, covariances)
    assert (rows.dtype, rows.shape, width(20)) == (np.float32, (5, 231), 231)
    np.testing.assert_allclose(from_rows(rows, 20)[0], means, rtol=1e-7)
    np.testing.assert_allclose(from_rows(rows, 20)[1], covariances, rtol=1e-7)
    np.testing.assert_allclose(rows[:, -1], np.linalg.slogdet(covariances)[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_row_keeps_its_inverse_whatever_rounding_does(smallest):
    # Eigenvalues from 1e4 to far below the resolution of single precision.
    rng = np.random.default_rng(12)
    turns = np.linalg.qr(rng.standard_normal((50, 20, 20)))[0]
    covariances = (turns * np.geomspace(smallest, 1e4, 20)) @ np.swapaxes(turns, 1, 2)
    covariances = (covariances + np.swapaxes(covariances, 1, 2)) / 2
    rows = to_rows(np.zeros((50, 20)), covariances)
    kept = from_rows(rows, 20)[1]
    eigenvalues = np.linalg.eigvalsh(kept)
    assert (eigenvalues[:, 0] > 1e-6 * eigenvalues[:, -1] / 2).all()
    np.testing.assert_allclose(kept, covariances, atol=0.1)  # relative to 1e4: 1e-5
    np.testing.assert_allclose(rows[:, -1], np.linalg.slogdet(kept)[1], rtol=1e-5)


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
