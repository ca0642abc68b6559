"""Proportional odds: level probabilities, log-likelihood with gradient and Hessian.

P(R >= l | x) = logistic(alpha_l + beta.x); one threshold alpha for each level but the lowest, falling.
McCullagh (1980), doi:10.1111/j.2517-6161.1980.tb01109.x; Urbano (2013), equations 7.1 to 7.4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError

BLOCK = 8_192  # rows processed at a time, so that their data fit into the processor's cache


def level_probabilities(thresholds: Array, predictor: Array) -> Array:
    """P(R = l) for each level of a proportional odds model.

        P(R >= l) = logistic(thresholds[l - 1] + predictor),  P(R = l) = P(R >= l) - P(R >= l + 1)

    thresholds  (levels - 1,) strictly falling, for the second level and up
    predictor   (n,) sum of coefficients times features; NaN where a feature is unknown

    Returns (n, levels), rows sum to 1; a row of NaN where the predictor is NaN.
    Urbano (2013), equations 7.3 and 7.4.
    """
    if len(thresholds) < 1 or not np.all(np.diff(thresholds) < 0):
        raise InputError(f"thresholds must fall from level to level, got {np.asarray(thresholds).tolist()}")
    at_least = np.ones((len(predictor), len(thresholds) + 2))
    at_least[:, 1:-1] = expit(predictor[:, None] + thresholds)
    at_least[:, -1] = 0
    at_least[np.isnan(predictor)] = np.nan
    return at_least[:, :-1] - at_least[:, 1:]


def thresholds_of(probabilities: Array) -> Array:
    """The thresholds of the model without features that gives each level this probability.

    probabilities  (levels,) all above 0, summing to 1
    """
    if not np.all(probabilities > 0) or not np.isclose(probabilities.sum(), 1):
        raise InputError(f"probabilities must be above 0 and sum to 1, got {probabilities.tolist()}")
    return np.asarray(logit(np.cumsum(probabilities[::-1])[-2::-1]))


def expectation(probabilities: Array, levels: Array) -> Array:
    """(n,) E[R] = sum over levels of P(R = l) l; Urbano (2013), equation 7.1."""
    return np.asarray(probabilities @ levels)


def variance(probabilities: Array, levels: Array) -> Array:
    """(n,) Var[R] = sum over levels of P(R = l) l^2 - E[R]^2; Urbano (2013), equation 7.2.

    Computed about the middle of the levels, where the two terms cancel least.
    """
    centred = levels - levels.mean()
    return np.asarray(np.maximum(0, probabilities @ centred**2 - (probabilities @ centred) ** 2))


class Derivatives(NamedTuple):
    """Log-likelihood of a model at parameters (thresholds, then coefficients), with gradient and Hessian."""

    value: float
    gradient: Array
    hessian: Array


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a fit, sorted by level.

    features  (n, k)
    weights   (n,) multiplicity of each row
    starts    (levels + 1,) start of each level's rows, and n
    """

    features: Array
    weights: Array
    starts: Integers

    def blocks(self, level: int) -> Iterator[slice]:
        """The rows of a level, a block at a time."""
        first, last = self.starts[level : level + 2].tolist()
        return (slice(start, min(start + BLOCK, last)) for start in range(first, last, BLOCK))

    def every(self, step: int) -> "Rows":
        """Every step-th row of each level, always including its first."""
        ends = self.starts.tolist()
        kept = [np.arange(first, last, step) for first, last in pairwise(ends)]
        rows = np.concatenate(kept)
        return Rows(self.features[rows], self.weights[rows], np.cumsum([0, *map(len, kept)]))


def derivatives(rows: Rows, parameters: Array) -> Derivatives:
    """The log-likelihood, its gradient and its Hessian.

    With u = alpha_y + x.beta and v = alpha_(y+1) + x.beta for a row of level y,

        log P(y) = log F(u) + log(1 - F(v)) + log(1 - exp(alpha_(y+1) - alpha_y)),  F logistic,

    which does not cancel in the tails. The last term depends only on the level, so a row needs only F(u) and F(v). The
    lowest level has no u, the highest no v.

    parameters  (t + k,) falling thresholds, then coefficients
    """
    t = len(rows.starts) - 2
    thresholds, coefficients = parameters[:t], parameters[t:]
    value, gradient = 0.0, np.zeros(len(parameters))
    hessian = np.zeros((len(parameters), len(parameters)))
    for level in range(t + 1):
        ends = _ends(level, t)
        for block in rows.blocks(level):
            value += _add_block(rows, block, thresholds, coefficients, ends, gradient, hessian)
        if len(ends) == 2:
            count = float(rows.weights[rows.starts[level] : rows.starts[level + 1]].sum())
            value += _add_gap(thresholds, ends[0][0], count, gradient, hessian)
    return Derivatives(value, gradient, hessian)


def _ends(level: int, t: int) -> list[tuple[int, int]]:
    """The thresholds around a level: (place, 1 for the lower one, -1 for the upper one)."""
    return [(place, sign) for place, sign in ((level - 1, 1), (level, -1)) if 0 <= place < t]


def _add_block(
    rows: Rows,
    block: slice,
    thresholds: Array,
    coefficients: Array,
    ends: Sequence[tuple[int, int]],
    gradient: Array,
    hessian: Array,
) -> float:
    """Add the contribution of a block of rows of one level, without the term for the gap between its thresholds."""
    t, x, w = len(thresholds), rows.features[block], rows.weights[block]
    predictor = x @ coefficients
    value, slope, bend = 0.0, np.zeros(len(w)), np.zeros(len(w))
    for place, sign in ends:
        argument = sign * (predictor + thresholds[place])
        inside = expit(argument)
        value += float(w @ log_expit(argument))
        steep = sign * w * (1 - inside)
        curved = w * inside * (1 - inside)
        slope += steep
        bend += curved
        gradient[place] += steep.sum()
        hessian[place, place] -= curved.sum()
        across = curved @ x
        hessian[place, t:] -= across
        hessian[t:, place] -= across
    gradient[t:] += slope @ x
    hessian[t:, t:] -= (x * bend[:, None]).T @ x
    return value


def _add_gap(thresholds: Array, place: int, count: float, gradient: Array, hessian: Array) -> float:
    """Add count times log(1 - exp(-d)), where d is the distance of a threshold above the next."""
    gap = thresholds[place] - thresholds[place + 1]
    slope = count / np.expm1(gap)
    bend = slope * (1 + 1 / np.expm1(gap))
    both = [place, place + 1]
    gradient[both] += [slope, -slope]
    hessian[np.ix_(both, both)] += bend * np.array([[-1, 1], [1, -1]])
    return float(count * np.log(-np.expm1(-gap)))


def row_scores(rows: Rows, parameters: Array) -> Array:
    """(n, t + k) gradient of each row's share of the log-likelihood; they sum to that of `derivatives`."""
    t = len(rows.starts) - 2
    thresholds, predictor = parameters[:t], rows.features @ parameters[t:]
    scores = np.zeros((len(predictor), len(parameters)))
    slope = np.zeros(len(predictor))
    gaps = 1 / np.expm1(-np.diff(thresholds))
    for level in range(t + 1):
        own = slice(*rows.starts[level : level + 2].tolist())
        ends = _ends(level, t)
        for place, sign in ends:
            steep = sign * expit(-sign * (predictor[own] + thresholds[place]))
            slope[own] += steep
            scores[own, place] = steep + (sign * gaps[level - 1] if len(ends) == 2 else 0)
    scores[:, t:] = slope[:, None] * rows.features
    scores *= rows.weights[:, None]
    return scores
