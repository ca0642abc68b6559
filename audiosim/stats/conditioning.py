"""Conditioning of one block of a multivariate normal, whose unknowns share effects with other blocks."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from audiosim.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class ConditionedBlock:
    """Remainder of a block given k values, and what these say of the shared effects.

    within     (m, m) K_b that is left
    loadings   (m, p) rows of Z that are left
    shift      (m,) by how much the means move, the shared effects aside
    precision  (p, p + 1) of the shared effects, and beside it the precision times a mean
    gain       (m, k) of the unknowns by the values
    """

    within: Array
    loadings: Array
    shift: Array
    precision: Array
    gain: Array


def condition_block(
    within: Array, loadings: Array, across: Array, own: Array, seen_loadings: Array, off: Array
) -> ConditionedBlock:
    """Remainder of a block given k values that are correlated with its m unknowns, or are some of these.

    within    (m, m) K_b
    loadings  (m, p) rows of Z
    across    (k, m) covariance of the values with the unknowns, the shared effects aside
    own       (k, k) their own, noise and all
    seen_loadings  (k, p) their loadings on the shared effects
    off       (k,) how far they are from their means
    """
    factor = cho_factor(own, lower=True)
    gain = cho_solve(factor, across).T
    covariance = within - gain @ across
    more = seen_loadings.T @ cho_solve(factor, np.column_stack([seen_loadings, off]))
    return ConditionedBlock((covariance + covariance.T) / 2, loadings - gain @ seen_loadings, gain @ off, more, gain)
