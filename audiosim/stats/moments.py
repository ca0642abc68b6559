"""Mean and covariance of many unknowns: project them, or learn one of them."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError

AT_ONCE = 2_000_000  # numbers of a dense block: 16 MB
DENSE_IS_FASTER = 100  # times, for a multiplication in a dense product than in a sparse one


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
            covariance = _of_independent(weights, self.covariance)
        else:
            covariance = weights @ (weights @ self.covariance).T
        return Moments(weights @ self.mean, (covariance + covariance.T) / 2)

    def across(self, weights: sparse.csr_array) -> sparse.csr_array | Array:
        """(s, n) the covariance of weighted sums with each unknown: W Sigma; sparse where unknowns are independent.

        weights  (s, n) sparse, one row per sum
        """
        if self.covariance.ndim == 1:
            return sparse.csr_array(weights.multiply(self.covariance))
        return np.asarray(weights @ self.covariance)

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


def _of_independent(weights: sparse.csr_array, variances: Array) -> Array:
    """(s, s) W diag(v) W', by sparse products where few sums share an unknown, by dense blocks where many do."""
    sums, unknowns = weights.shape
    if weights.nnz**2 * DENSE_IS_FASTER < (sums * unknowns) ** 2:
        return np.asarray((weights.multiply(variances).tocsr() @ weights.T).toarray())
    covariance, columns = np.zeros((sums, sums)), weights.tocsc()
    step = max(1, AT_ONCE // max(1, sums))
    for start in range(0, unknowns, step):
        block = columns[:, start : start + step].toarray()
        covariance += (block * variances[start : start + step]) @ block.T
    return covariance


class Sums:
    """Weighted sums of unknowns, made ready to be projected on many times.

    weights  (s, n) sparse, one row per sum, as in `Moments.project`, whose answer it gives
    """

    def __init__(self, weights: sparse.csr_array) -> None:
        self.weights = weights
        columns = weights.tocsc()
        sizes = np.diff(columns.indptr)
        self._products = None
        if int((sizes**2).sum()) <= AT_ONCE:
            self._products = _products(columns, sizes)

    def project(self, moments: Moments) -> Moments:
        """The moments of the sums, with their full covariance."""
        if moments.covariance.ndim == 2 or self._products is None:
            return moments.project(self.weights)
        place, product, column = self._products
        count = self.weights.shape[0]
        covariance = np.bincount(place, product * moments.covariance[column], count**2).reshape(count, count)
        return Moments(self.weights @ moments.mean, np.asarray(covariance, dtype=np.float64))


def _products(columns: sparse.csc_array, sizes: Integers) -> tuple[Integers, Array, Integers]:
    """For every two sums that share an unknown: their place in a covariance, the product of weights, the unknown."""
    column = np.repeat(np.arange(len(sizes)), sizes)
    first = np.repeat(np.arange(columns.nnz), sizes[column])
    within = np.arange(len(first)) - np.repeat(np.cumsum(sizes[column]) - sizes[column], sizes[column])
    second = columns.indptr[column[first]] + within
    place = columns.indices[first].astype(np.int64) * columns.shape[0] + columns.indices[second]
    return place, columns.data[first] * columns.data[second], column[first]
