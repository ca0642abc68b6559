"""Sequential test of a belief: do judgments come out as it predicted them, each given those before it?"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri, stdtr

from audiosim.arrays import Array, Integers
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.level_chances import FREEDOM
from audiosim.stats.ordinal import expectation

LEAST = 50  # judgments that a verdict needs
ALARM = 20.0  # an e-value that a true model reaches once in so many campaigns at most
MOST = 1000  # judgments that are looked at, the first ones: a covariance of as many rows
IMPOSSIBLE = 1e-6  # a chance counts as no less: a single grade that was held impossible decides nothing
SHIFTS = (-0.9, -0.6, -0.3, 0.3, 0.6, 0.9)
SPREADS = (-0.8, -0.4, 0.4, 0.8, 1.6)


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """Verdict on a model from the judgments of a campaign, valid at any moment at which one looks.

    chances  (k,) where each judgment fell in its predictive distribution given those before it, in [0, 1], in the
             order in which they were made; uniform and independent if the model is right. Empty where a model cannot
             be checked so.

    The probability integral transform of Dawid (1984), doi:10.2307/2981683, randomised within a level. Against it stand
    densities 1 + a (2 u - 1), off to one side, and 1 + b (6 u^2 - 6 u + 1), too sure or too unsure. The mean over
    these of their likelihood ratios is a test martingale: a right model ever exceeds ALARM with a probability of at
    most 1 / ALARM (Ville 1939; Vovk & Wang 2021, doi:10.1214/20-AOS2020).
    """

    chances: Array

    @cached_property
    def e_values(self) -> Array:
        """(k,) evidence against the model after each judgment: 1 is none."""
        u = self.chances[:, None]
        shifted = 1 + np.array(SHIFTS) * (2 * u - 1)
        spread = 1 + np.array(SPREADS) * (6 * u**2 - 6 * u + 1)
        return np.asarray(np.exp(np.cumsum(np.log(np.hstack([shifted, spread])), axis=0)).mean(axis=1))

    @property
    def verdict(self) -> str:
        """FAIL once the evidence has ever reached ALARM, PASS otherwise from LEAST judgments on, or NOT CHECKED."""
        if self.e_values.max(initial=0) >= ALARM:
            return "FAIL"
        return "PASS" if len(self.chances) >= LEAST else "NOT CHECKED"

    @property
    def factor(self) -> float:
        """Widening of intervals, at least 1: root mean square of the normal quantiles of the chances.

        1 unless the verdict is FAIL.
        """
        if self.verdict != "FAIL":
            return 1.0
        inside = np.clip(self.chances, IMPOSSIBLE, 1 - IMPOSSIBLE)
        return max(1.0, math.sqrt(float(np.mean(ndtri(inside) ** 2))))

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        count = len(self.chances)
        if self.verdict == "NOT CHECKED":
            return f"The model is not checked yet: {count} of {LEAST} judgments that it takes."
        if self.verdict == "PASS":
            return f"The model fits: {count} judgments came out as it predicted them."
        at = 1 + int(np.argmax(self.e_values >= ALARM))
        return (
            f"The model does not fit: after {at} judgments they came out otherwise than it predicted; intervals are "
            f"{self.factor:.2f} times as wide for it."
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, ready for JSON."""
        return {"fit": self.verdict, "fit_evidence": float(self.e_values.max(initial=1.0)), "widened": self.factor}


NOT_CHECKED = ModelCheck(np.empty(0))


def check_model(
    estimator: RelevanceEstimator, grades: Array, order: Integers, rng: np.random.Generator | None = None
) -> ModelCheck:
    """Check of an estimator by the judgments made so far.

    grades  (n,) NaN where unjudged
    order   (k,) places of the judged pairs, in the order in which they were judged
    rng     of the places within a level; seeded with 0 where None

    An estimator whose marginals read the judgments cannot be checked so: they would have read later ones. What the
    estimator has learned from these judgments, such as variance components, it knows throughout.
    """
    belief = estimator.predict(grades)
    before = belief if not len(order) else estimator.predict(np.full(len(grades), np.nan))
    if not np.array_equal(before.marginals, belief.marginals):
        return NOT_CHECKED
    return ModelCheck(_chances(belief, order[:MOST], np.random.default_rng(0) if rng is None else rng))


def _chances(belief: Belief, order: Integers, rng: np.random.Generator) -> Array:
    """(k,) the randomised transform of each judgment given those before it."""
    middles = (belief.levels[1:] + belief.levels[:-1]) / 2
    level = np.searchsorted(middles, belief.grades[order], side="right")
    reached = np.column_stack([np.zeros(len(order)), _reached(belief, order)])
    low, high = np.take_along_axis(reached, np.stack([level, level + 1], axis=1), axis=1).T
    return np.asarray(low + rng.random(len(order)) * (high - low))


def _reached(belief: Belief, order: Integers) -> Array:
    """(k, l) P(grade <= level) of each judged pair given the judgments before it.

    As in `Belief.probabilities`, but for a width of 1 and without what the judgments taught of levels: wider levels
    forgive a field that is wrong about which pairs are alike.
    """
    below = np.clip(np.cumsum(belief.marginals[order], axis=1)[:, :-1], 0, 1)
    if belief.prior.correlated and len(order):
        k, n = len(order), len(belief.grades)
        some = sparse.csr_array((np.ones(k), order, np.arange(k + 1)), shape=(k, n))
        moments = belief.prior.project(some)
        root = cholesky(moments.covariance, lower=True)
        gains = belief.grades[order] / belief.maximum
        innovation = solve_triangular(root, gains - moments.mean, lower=True)
        deviation = np.diagonal(root)
        mean = gains - deviation * innovation
        own = expectation(belief.marginals[order], belief.levels) / belief.maximum
        ends = own[:, None] + np.sqrt(moments.variance)[:, None] * ndtri(below)
        below = stdtr(FREEDOM, (ends - mean[:, None]) / deviation[:, None])
    return np.column_stack([below, np.ones(len(order))])
