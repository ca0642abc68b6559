"""Restricted log-likelihood of variance components, with its slopes and how it bends.

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
from audiosim.stats.block_covariances import BlockCovariances, BlockInverse
from audiosim.stats.layout import Layout


@dataclass(frozen=True, eq=False)
class RestrictedLikelihood:
    """That of some values by the components of a layout.

    layout  of the n values
    values  (n,)

    X is without columns that are combinations of others.
    """

    layout: Layout
    values: Array

    @property
    def informative(self) -> bool:
        """True if the values are more than the trend has coefficients: fewer are as likely under any variances."""
        return bool(len(self.values) > self.layout.independent.shape[1])

    @cached_property
    def _covariances(self) -> BlockCovariances:
        return BlockCovariances.of(self.layout)

    def at(self, variances: Array) -> "Bend":
        """The likelihood, and how it bends, at variances (k,) in the order of the layout's names."""
        trend = self.layout.independent
        inverse = self._covariances.inverse(variances)
        solved = inverse.solve(np.column_stack([trend, self.values]))
        normal, beside = trend.T @ solved[:, :-1], trend.T @ solved[:, -1]
        factor, coefficients = np.linalg.cholesky(normal), np.linalg.solve(normal, beside)
        left = float(self.values @ solved[:, -1] - beside @ coefficients) if self.informative else 0.0
        if left < 0:
            raise np.linalg.LinAlgError("rounding leaves the covariance no inverse")
        constant = (len(self.values) - len(normal)) * math.log(2 * math.pi)
        twice = constant + inverse.determinant + 2 * float(np.log(np.diagonal(factor)).sum()) + left
        mean = np.linalg.solve(factor, solved[:, :-1].T).T
        return Bend(-twice / 2, self._covariances, inverse, mean, solved[:, -1] - solved[:, :-1] @ coefficients)

    def trend(self, variances: Array) -> Array:
        """(f + 1, f + 1) [X y]' C^-1 [X y] of all columns of the trend: what its coefficients are told by."""
        sides = np.column_stack([self.layout.fixed, self.values])
        if len(self.values) == 0:
            return np.zeros((sides.shape[1],) * 2)
        return np.asarray(sides.T @ self._covariances.inverse(variances).solve(sides))


@dataclass(frozen=True, eq=False)
class Bend:
    """The likelihood at some variances; its derivatives by these are computed when they are looked at.

    value      of the logarithm
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
        """(k, n, f + 1) each K times P y and the mean."""
        return self.covariances.times(np.column_stack([self.projected, self.mean]))

    @cached_property
    def slopes(self) -> Array:
        """(k,) by each variance."""
        moved = self._moved
        traces = self.inverse.traces() - np.einsum("knf,nf->k", moved[:, :, 1:], self.mean)
        return np.asarray(moved[:, :, 0] @ self.projected - traces) / 2

    @cached_property
    def average_information(self) -> Array:
        """(k, k)"""
        vectors = self._moved[:, :, 0].T
        beside = self.mean.T @ vectors
        return np.asarray(vectors.T @ self.inverse.solve(vectors) - beside.T @ beside) / 2

    @cached_property
    def observed_information(self) -> Array:
        """(k, k)"""
        return np.asarray(2 * self.average_information - self.inverse.products(self.mean) / 2)
