"""Restricted log-likelihood of variance components, with its first and second derivatives.

    -1/2 ((n - f) log 2 pi + log |C| + log |X' C^-1 X| + y' P y),   X the trend, y the values
    slope by a variance        1/2 (y' P K P y - tr P K),   P = C^-1 - C^-1 X (X' C^-1 X)^-1 X' C^-1
    average information        1/2 y' P K_i P K_j P y
    expected information       1/2 tr P K_i P K_j

The observed information is twice the average less the expected one. The average one needs no more than products of
matrices with a few vectors. Patterson & Thompson (1971), doi:10.1093/biomet/58.3.545; Gilmour, Thompson & Cullis
(1995), doi:10.2307/2533274.
"""

import math
from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array
from audiosim.properties import cached_property
from audiosim.stats.normal.block_covariances import BlockCovariances, BlockInverse
from audiosim.stats.normal.layout import Layout


@dataclass(frozen=True, eq=False)
class RestrictedLikelihood:
    """Restricted likelihood of n values under the components of a layout.

    layout  structure of the covariance
    values  (n,)

    X leaves out columns that are linear combinations of others.
    """

    layout: Layout
    values: Array

    @property
    def informative(self) -> bool:
        """True if there are more values than trend coefficients; otherwise all variances are equally likely."""
        return bool(len(self.values) > self.layout.independent.shape[1])

    @cached_property
    def _covariances(self) -> BlockCovariances:
        return BlockCovariances.of(self.layout)

    def at(self, variances: Array) -> "Bend":
        """Likelihood and its derivatives at variances (k,), in the order of the layout's names."""
        trend = self.layout.independent
        inverse = self._covariances.inverse(variances)
        solved = inverse.solve(np.column_stack([trend, self.values]))
        normal, beside = trend.T @ solved[:, :-1], trend.T @ solved[:, -1]
        factor, coefficients = np.linalg.cholesky(normal), np.linalg.solve(normal, beside)
        # y' P y, a sum of squares: below 0 only if rounding has made C indefinite, and the search must turn back.
        left = float(self.values @ solved[:, -1] - beside @ coefficients) if self.informative else 0.0
        if left < 0:
            raise np.linalg.LinAlgError("rounding leaves the covariance no inverse")
        constant = (len(self.values) - len(normal)) * math.log(2 * math.pi)
        twice = constant + inverse.determinant + 2 * float(np.log(np.diagonal(factor)).sum()) + left
        # C^-1 X F'^-1 with F F' = X' C^-1 X: P is then C^-1 less a product, and its trace a sum of squares.
        mean = np.linalg.solve(factor, solved[:, :-1].T).T
        return Bend(-twice / 2, self._covariances, inverse, mean, solved[:, -1] - solved[:, :-1] @ coefficients)

    def trend(self, variances: Array) -> Array:
        """(f + 1, f + 1) [X y]' C^-1 [X y] with all columns of the trend: the normal equations of its coefficients."""
        sides = np.column_stack([self.layout.fixed, self.values])
        if len(self.values) == 0:
            return np.zeros((sides.shape[1],) * 2)
        return np.asarray(sides.T @ self._covariances.inverse(variances).solve(sides))


@dataclass(frozen=True, eq=False)
class Bend:
    """Log-likelihood at some variances; its derivatives by the variances are computed on first access.

    value      log-likelihood
    mean       (n, f): P is C^-1 less its product with itself
    projected  (n,) P y
    """

    value: float
    covariances: BlockCovariances
    inverse: BlockInverse
    mean: Array
    projected: Array

    @cached_property
    def own(self) -> Array:
        """(n,) diagonal of P."""
        return np.asarray(self.inverse.diagonal() - np.vecdot(self.mean, self.mean))

    @cached_property
    def _moved(self) -> Array:
        """(k, n, f + 1) product of each K with P y and with `mean`."""
        return self.covariances.times(np.column_stack([self.projected, self.mean]))

    @cached_property
    def slopes(self) -> Array:
        """(k,) derivatives by the variances."""
        moved = self._moved
        traces = self.inverse.traces() - np.einsum("knf,nf->k", moved[:, :, 1:], self.mean)
        return np.asarray(moved[:, :, 0] @ self.projected - traces) / 2

    @cached_property
    def average_information(self) -> Array:
        """(k, k) average information 1/2 y' P K_i P K_j P y."""
        # Gilmour, Thompson & Cullis (1995): the traces of observed and expected information cancel, so k solves do.
        vectors = self._moved[:, :, 0].T
        beside = self.mean.T @ vectors
        return np.asarray(vectors.T @ self.inverse.solve(vectors) - beside.T @ beside) / 2

    @cached_property
    def observed_information(self) -> Array:
        """(k, k) observed information: twice the average less the expected one. It needs traces of products."""
        return np.asarray(2 * self.average_information - self.inverse.products(self.mean) / 2)
