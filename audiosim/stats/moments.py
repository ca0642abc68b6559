"""Mean and covariance of many unknowns: project them, or learn one of them."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from audiosim.arrays import Array
from audiosim.errors import InputError


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of n unknown numbers.

    mean        (n,)
    covariance  (n, n) symmetric; or (n,), the variances of unknowns that do not depend on each other
    """

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        n = len(self.mean)
        if self.covariance.shape not in {(n,), (n, n)}:
            raise InputError(f"covariance must be ({n},) or ({n}, {n}) to match the mean, got {self.covariance.shape}")
        if not np.all(np.isfinite(self.mean)) or np.any(self.variance < 0):
            raise InputError("means must be finite and variances 0 or more")

    @property
    def variance(self) -> Array:
        """(n,) the variance of each unknown."""
        return self.covariance if self.covariance.ndim == 1 else np.diagonal(self.covariance)

    def project(self, weights: sparse.csr_array) -> "Moments":
        """The moments of weighted sums: mean W mu, covariance W Sigma W'.

        weights  (s, n) sparse, one row per sum

        Returns the moments of the s sums, with their full covariance.
        """
        if self.covariance.ndim == 1:
            covariance = (weights.multiply(self.covariance).tocsr() @ weights.T).toarray()
        else:
            covariance = weights @ (weights @ self.covariance).T
        return Moments(weights @ self.mean, (covariance + covariance.T) / 2)

    def know(self, index: int, value: float) -> "Moments":
        """The moments after one unknown turned out to have this value.

            mean + Sigma[:, i] (value - mean[i]) / Sigma[i, i],  Sigma - Sigma[:, i] Sigma[i, :] / Sigma[i, i]

        Exact for jointly normal unknowns, and for independent ones. The value of an unknown that
        was certain already replaces the old one and says nothing of the others.
        """
        mean, covariance = self.mean.copy(), self.covariance.copy()
        if covariance.ndim == 2 and covariance[index, index] > 0:
            gain = covariance[:, index] / covariance[index, index]
            mean += gain * (value - mean[index])
            covariance -= np.outer(gain, self.covariance[index])
            covariance[index] = covariance[:, index] = 0
            np.fill_diagonal(covariance, np.maximum(0, np.diagonal(covariance)))
        elif covariance.ndim == 1:
            covariance[index] = 0
        mean[index] = value
        return Moments(mean, covariance)
