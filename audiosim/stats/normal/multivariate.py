"""Multivariate normal distributions: their protocol, and the one with independent unknowns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyrk

from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers

AT_ONCE = 200_000  # numbers of a dense block: 1.6 MB fit into the processor's cache
DENSE_IS_FASTER = 100  # factor by which one multiplication of a dense product is faster than of a sparse one
Sparse = sparse.csr_array | sparse.csc_array


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of a few unknowns, such as the scores of systems.

    mean        (s,)
    covariance  (s, s) symmetric
    """

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        s = len(self.mean)
        if self.covariance.shape != (s, s):
            raise InputError(f"covariance must be ({s}, {s}) to match the mean, got {self.covariance.shape}")
        _check_finite(self.mean, self.variance)

    def __repr__(self) -> str:
        return f"Moments of {len(self.mean)} unknowns"

    @property
    def variance(self) -> Array:
        """(s,) the variance of each unknown."""
        return np.diagonal(self.covariance)


def variance_of_differences(covariance: Array, first: Integers | int, second: Integers | int) -> Array:
    """(p,) variance of the difference of two unknowns, for p pairs of them."""
    variance = np.diagonal(covariance)
    return np.asarray(variance[first] + variance[second] - 2 * covariance[first, second])


class MultivariateNormal(Protocol):
    """Joint normal distribution of n unknowns; immutable: conditioning returns a new one.

    An unknown of variance 0 is certain. Implemented by `IndependentNormal`, `BlockNormal` and `EvenBlocks`.
    """

    @property
    def mean(self) -> Array:
        """(n,) mean of each unknown."""
        ...

    @property
    def variance(self) -> Array:
        """(n,) variance of each unknown, 0 or more."""
        ...

    @property
    def correlated(self) -> bool:
        """True if one unknown may be correlated with another."""
        ...

    @property
    def block(self) -> Integers:
        """(n,) block number of each unknown; unknowns of one block have correlations beyond the shared effects."""
        ...

    def column(self, index: int) -> Array:
        """(n,) covariance of one unknown with each; not to be written to."""
        ...

    def among(self, places: Integers) -> Array:
        """(m, m) covariance of some unknowns.

        places  (m,) different
        """
        ...

    def project(self, weights: Sparse) -> Moments:
        """Moments of weighted sums: mean W mu, covariance W Sigma W'.

        weights  (s, n) sparse, one row per sum; by columns (CSC) it is fastest
        """
        ...

    def across(self, weights: Sparse) -> sparse.csc_array | Array:
        """(s, n) covariance of weighted sums with each unknown: W Sigma; not to be written to.

        weights  (s, n) sparse, one row per sum
        """
        ...

    def condition(self, index: int, value: float) -> "MultivariateNormal":
        """Distribution given the value of one unknown.

            mean + Sigma[:, i] (value - mean[i]) / Sigma[i, i],  Sigma - Sigma[:, i] Sigma[i, :] / Sigma[i, i]

        For a certain unknown the new value replaces the old one and leaves the others as they are.
        """
        ...

    def condition_all(self, places: Integers, values: Array) -> "MultivariateNormal":
        """Distribution given the values of several unknowns, the same as conditioning on them one by one.

        places  (k,) different
        values  (k,)
        """
        ...

    def held_out(self, places: Integers, values: Array) -> tuple[Array, Array]:
        """(k,) mean and (k,) variance of several unknowns, each given the values of all the others among them.

        places  (k,) different, none of them certain
        values  (k,)
        """
        ...

    def one_by_one(self, places: Integers, values: Array) -> tuple[Array, Array]:
        """(k,) mean and (k,) standard deviation of several unknowns, each given the values of those before it.

        places  (k,) different
        values  (k,)
        """
        ...

    def moved(self, mean: Array) -> "MultivariateNormal":
        """Distribution with other means (n,), to be read: conditioning may start from the means before."""
        ...

    def scaled(self, mean: Array, factors: Array) -> "MultivariateNormal":
        """Distribution with other means and with each deviation multiplied by a factor.

        To first order, this is the distribution of a function of each unknown.

        mean     (n,) new means
        factors  (n,) 0 or more
        """
        ...

    def draw(self, rng: np.random.Generator, count: int, closer: float = 1.0) -> Iterator[tuple[Integers, Array]]:
        """Values drawn at random, in parts: the places of some unknowns (m,), and their values (count, m).

        closer  factor on the covariances, at unchanged variances
        """
        ...


@dataclass(frozen=True, eq=False)
class IndependentNormal:
    """Joint normal distribution of independent unknowns; see `MultivariateNormal`.

    mean      (n,)
    variance  (n,) 0 or more
    """

    mean: Array
    variance: Array

    correlated = False

    def __post_init__(self) -> None:
        if self.variance.shape != self.mean.shape:
            raise InputError(f"variances must be {self.mean.shape} to match the mean, got {self.variance.shape}")
        _check_finite(self.mean, self.variance)

    @property
    def block(self) -> Integers:
        return np.arange(len(self.mean))

    def column(self, index: int) -> Array:
        column = np.zeros(len(self.mean))
        column[index] = self.variance[index]
        return column

    def among(self, places: Integers) -> Array:
        return np.diag(self.variance[places])

    def project(self, weights: Sparse) -> Moments:
        columns = weights.tocsc()
        columns.sum_duplicates()
        return Moments(weights @ self.mean, _projected(columns, self.variance))

    def across(self, weights: Sparse) -> sparse.csc_array:
        return _scaled(weights.tocsc(), self.variance)

    def condition(self, index: int, value: float) -> "IndependentNormal":
        return self.condition_all(np.array([index]), np.array([value]))

    def condition_all(self, places: Integers, values: Array) -> "IndependentNormal":
        mean, variance = self.mean.copy(), self.variance.copy()
        mean[places], variance[places] = values, 0
        return IndependentNormal(mean, variance)

    def held_out(self, places: Integers, values: Array) -> tuple[Array, Array]:
        return self.mean[places], self.variance[places]

    def one_by_one(self, places: Integers, values: Array) -> tuple[Array, Array]:
        return self.mean[places], np.sqrt(self.variance[places])

    def moved(self, mean: Array) -> "IndependentNormal":
        return IndependentNormal(mean, self.variance)

    def scaled(self, mean: Array, factors: Array) -> "IndependentNormal":
        return IndependentNormal(mean, self.variance * factors**2)

    def draw(self, rng: np.random.Generator, count: int, closer: float = 1.0) -> Iterator[tuple[Integers, Array]]:
        n = len(self.mean)
        yield np.arange(n), self.mean + np.sqrt(self.variance) * rng.standard_normal((count, n))


def _check_finite(mean: Array, variance: Array) -> None:
    if not np.all(np.isfinite(mean)) or not np.all(variance >= 0):
        raise InputError("means must be finite and variances 0 or more")


def _scaled(weights: sparse.csc_array, factors: Array) -> sparse.csc_array:
    """(s, n) W diag(f)."""
    data = weights.data * np.repeat(factors, np.diff(weights.indptr))
    return sparse.csc_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _projected(weights: sparse.csc_array, variances: Array) -> Array:
    """(s, s) W diag(v) W', by sparse products where few sums share an unknown, by dense blocks where many do."""
    sums, unknowns = weights.shape
    if weights.nnz**2 * DENSE_IS_FASTER < (sums * unknowns) ** 2:
        covariance = np.asarray((_scaled(weights, variances) @ weights.T).toarray())
        return np.asarray((covariance + covariance.T) / 2)
    root, upper = _scaled(weights, np.sqrt(variances)), np.zeros((sums, sums), order="F")
    step = max(1, AT_ONCE // max(1, sums))
    for start in range(0, unknowns, step):
        upper = dsyrk(1, _dense(root, start, min(start + step, unknowns)), 1, upper, overwrite_c=1)
    return np.asarray(upper + np.triu(upper, 1).T)


def _dense(weights: sparse.csc_array, start: int, stop: int) -> Array:
    """(s, stop - start) some columns, in Fortran's order; several times as fast as a slice of a sparse array."""
    ends = weights.indptr[start : stop + 1]
    filled, column = slice(ends[0], ends[-1]), np.repeat(np.arange(stop - start), np.diff(ends))
    dense = np.zeros((weights.shape[0], stop - start), order="F")
    dense[weights.indices[filled], column] = weights.data[filled]
    return dense
