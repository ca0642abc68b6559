"""Conditioning of one block of a multivariate normal that shares effects with other blocks."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from audiosim.arrays import Array, Integers


@dataclass(frozen=True, slots=True, eq=False)
class ConditionedBlock:
    """Block conditioned on k values, and the information these hold on the shared effects.

    within     (m, m) conditional K_b
    loadings   (m, p) conditional rows of Z
    shift      (m,) change of the means, given shared effects of 0
    precision  (p, p + 1) precision of the shared effects, then one column: precision times mean
    gain       (m, k) regression of the unknowns on the values
    """

    within: Array
    loadings: Array
    shift: Array
    precision: Array
    gain: Array


def condition_block(
    within: Array, loadings: Array, across: Array, own: Array, seen_loadings: Array, off: Array
) -> ConditionedBlock:
    """Condition a block of m unknowns on k values that are correlated with them, or are some of them.

    within    (m, m) K_b
    loadings  (m, p) rows of Z
    across    (k, m) covariance of the values with the unknowns, without the shared effects
    own       (k, k) covariance of the values, noise included, without the shared effects
    seen_loadings  (k, p) loadings of the values on the shared effects
    off       (k,) values minus their means
    """
    # Everything is conditional on the shared effects, so no other block enters. With `precision` this is exact:
    # p(unknowns | values) integrates p(unknowns | values, effects) over p(effects | values).
    factor = cho_factor(own, lower=True)
    gain = cho_solve(factor, across).T
    covariance = within - gain @ across
    more = seen_loadings.T @ cho_solve(factor, np.column_stack([seen_loadings, off]))
    return ConditionedBlock((covariance + covariance.T) / 2, loadings - gain @ seen_loadings, gain @ off, more, gain)


def by_number(numbers: Integers) -> list[Integers]:
    """Places of equal numbers grouped together, by number."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []
