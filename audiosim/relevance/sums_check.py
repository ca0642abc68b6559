"""Evidence against a model from sums of judged gains, standardised by the deviations it stated beforehand.

Statements about systems are sums over their results, so the check is on sums. Errors of single grades are not normal,
as grades are few and bounded; those of their sums nearly are. A sum of errors, each of a judgment given those before
it, is a martingale with a variance known from the model. The alternative is a drift of the sum, normal, with DRIFT of
the variance that the sum has by the last judgment:

    E = sqrt(r / (V + r)) exp(S^2 / (2 (V + r))),   S = sum of w error,  V = sum of (w deviation)^2,  r = DRIFT V_last

the mixture of Robbins (1970), doi:10.1214/aoms/1177696786; see Howard et al. (2021), doi:10.1214/20-AOS1991. It grows
only where sums err by more than stated: an underconfident model never fails. If a rival model expects a sum to rise,
the drift is half-normal: E is twice as large, times the normal probability of S / sqrt(V + r).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from audiosim.arrays import Array, Integers
from audiosim.corpus.pool import Pool

DRIFT = 0.1  # variance of the drift as a share of the sum's by the last judgment: .03 and .3 have nearly the same power
LARGEST = 700.0  # logarithm of the largest evidence represented; exp of more overflows
MOST_PAIRS = 2000  # most pairs of systems used
FURTHER = 3.0  # alternative variance of the first judgments, in stated variances
FARTHEST = 4.0  # deviations at which a single error is capped


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """Evidence of one kind against a model.

    said        its meaning, in words
    weight      share of all the evidence
    logarithms  (k,) logarithm of its e-value after each judgment; the e-value of a right model has mean 1
    """

    said: str
    weight: float
    logarithms: Array

    @property
    def values(self) -> Array:
        """(k,) weighted e-values."""
        return self.weight * np.exp(np.minimum(self.logarithms, LARGEST))


def of_sums(weights: Array, error: Array, deviation: Array, rising: bool = False) -> Array:
    """(k,) logarithm of the mean of the e-values of several sums; 0 without any.

    weights    (d, k) weights of each judgment in each sum, known before it is made
    error      (k,) gain less its prediction from the judgments before
    deviation  (k,) deviation of that prediction
    rising     True if only rising sums are evidence
    """
    sums, variances = np.cumsum(weights * error, axis=1), np.cumsum((weights * deviation) ** 2, axis=1)
    there = variances[:, -1] > 0
    if not there.any():
        return np.zeros(len(error))
    sums, variances = sums[there], variances[there]
    drift = DRIFT * variances[:, -1:]
    both = variances + drift
    logarithms = np.log(drift / both) / 2 + sums**2 / (2 * both)
    if rising:
        logarithms += np.log(2) + log_ndtr(sums / np.sqrt(both))
    return np.asarray(np.logaddexp.reduce(logarithms, axis=0) - np.log(len(logarithms)))


def of_spread(standardised: Array, count: int) -> Array:
    """(count,) logarithm of the likelihood ratio that deviations are sqrt(FURTHER) times as large as stated.

        sum of  -ln(FURTHER) / 2 + z^2 (1 - 1 / FURTHER) / 2

    standardised  errors z of the first judgments, in stated deviations; later ones add nothing
    """
    z = np.minimum(np.abs(standardised[:count]), FARTHEST)
    ratios = np.cumsum(-np.log(FURTHER) / 2 + z**2 * (1 - 1 / FURTHER) / 2)
    return np.pad(ratios, (0, count - len(ratios)), "edge") if len(ratios) else np.zeros(count)


def of_systems(pool: Pool, order: Integers) -> Array:
    """(s, k) 1 where a system retrieved a judged pair: the weights of sums over systems."""
    return np.asarray(pool.retrieved[:, order].toarray(), dtype=np.float64)


def of_pairs(systems: Array) -> Array:
    """(p, k) weights of the differences between pairs of systems: all pairs, or MOST_PAIRS of many.

    systems  (s, k)
    """
    count = len(systems)
    lags = range(1, min(count // 2, max(1, MOST_PAIRS // count)) + 1)
    return np.concatenate([systems[:0], *(systems - np.roll(systems, lag, axis=0) for lag in lags)])


def further_off(weights: Iterable[Array], error: Array, deviation: Array) -> float:
    """Root mean square of sums of errors, in their stated deviations; 1 if these are right.

    weights  (d, k) weights of several kinds of sums
    """
    squares = []
    for some in weights:
        variance = (some * deviation) ** 2 @ np.ones(len(deviation))
        there = variance > 0
        squares.append((some @ error)[there] ** 2 / variance[there])
    every = np.concatenate([np.empty(0), *squares])
    return float(np.sqrt(every.mean())) if len(every) else 1.0
