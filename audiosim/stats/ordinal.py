"""Proportional odds: the probability of each level of an ordinal variable."""

import numpy as np
from scipy.special import expit, logit

from audiosim.arrays import Array
from audiosim.errors import InputError


def level_probabilities(thresholds: Array, predictor: Array) -> Array:
    """P(R = l) for each level of a proportional odds model.

        P(R >= l) = logistic(thresholds[l - 1] + predictor),  P(R = l) = P(R >= l) - P(R >= l + 1)

    thresholds  (levels - 1,) strictly falling, for the second level and up
    predictor   (n,) the sum of coefficients times features; NaN where a feature is unknown

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

    Taken about the middle of the levels, where the two terms cancel least.
    """
    centred = levels - levels.mean()
    return np.asarray(np.maximum(0, probabilities @ centred**2 - (probabilities @ centred) ** 2))
