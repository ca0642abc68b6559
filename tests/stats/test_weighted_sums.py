"""Covariances of weighted sums after an unknown becomes known, compared with the full conditional covariance."""

import numpy as np
import pytest

from audiosim.stats.normal.projection import reduced


@pytest.mark.parametrize(
    ("order", "kind", "close"), [("F", np.float32, 1e-5), ("F", np.float64, 1e-12), ("C", np.float32, 1e-5)]
)
def test_covariances_of_sums_are_those_of_the_conditional_distribution(order, kind, close):
    rng = np.random.default_rng(0)
    root, weights = rng.normal(size=(300, 400)), rng.normal(size=(7, 300))
    covariance = root @ root.T / 400
    across = np.asarray(weights @ covariance, dtype=kind, order=order)
    before = across.copy()
    left = reduced(across, covariance[:, 5], 5)
    conditional = covariance - np.outer(covariance[:, 5], covariance[5]) / covariance[5, 5]
    expected = weights @ conditional
    np.testing.assert_allclose(left, expected, atol=close * np.abs(expected).max())
    assert not left[:, 5].any()
    assert left.dtype == kind
    np.testing.assert_array_equal(across, before)  # the belief before the judgment is unchanged
