"""Measures of a listener who stops at the first satisfying document: ERR and EDCG.

In both, gains are (..., n), best rank first; ranks past n gain 0. The listener stops at rank i with probability

    P_i = p_i (1 - p_1) ... (1 - p_(i-1)),  p = gain / (highest gain + 1)      (2.15)

which for exponential gains is (2.13) of Chapelle et al. (2009), doi:10.1145/1645953.1646033.
"""

import numpy as np

from audiosim.measures.definition import FORM, GAIN, GAIN_BASE, IDEAL, Definition, Elsewhere
from audiosim.measures.lists import GradedLists, discounted, of_lists, share_of
from audiosim.stats.arrays import Array


@of_lists
def _err(of: GradedLists) -> Array:
    """(...,) Expected reciprocal rank, 0 to 1.

        E = sum over i <= k of  P_i / i           (2.14), down to the cutoff, as first published
        E of the ranking / E of the ideal one     (3.7)

    The ideal ranking is k times the highest gain for chapter 3, else all judged documents of the query, best first, for
    a score relative to the best possible ranking, which Urbano (2013) defines for RBP (5.8) but not for ERR.
    Chapelle et al. (2009), doi:10.1145/1645953.1646033; Urbano (2013). An ideal ranking without gains gives 0.
    """
    reciprocals = 1 / np.arange(1.0, of.cutoff + 1)
    found = discounted(_stops(of, of.gains), reciprocals)
    return found if of.original else share_of(found, discounted(_stops(of, of.ideal), reciprocals))


@of_lists
def _edcg(of: GradedLists) -> Array:
    """(...,) Expected discounted cumulative gain, 0 to 1; in gain units as first published.

        E = sum over i <= k of  g_i P_i           chapter 2, in words after (2.14)
        E of the ranking / E of the ideal one     (3.10)

    Urbano (2013), with the ideal ranking of ERR. An ideal ranking without gains gives 0.
    """
    found = _expected_gain(of, of.gains)
    return found if of.original else share_of(found, _expected_gain(of, of.ideal))


def _expected_gain(of: GradedLists, gains: Array) -> Array:
    return np.asarray(np.sum(gains[..., : of.cutoff] * _stops(of, gains), axis=-1))


def _stops(of: GradedLists, gains: Array) -> Array:
    """(..., n) probability P_i that the listener stops at each rank, down to the cutoff."""
    stops = np.asarray(gains[..., : of.cutoff] / (of.highest + 1))
    goes_on = np.cumprod(1 - stops[..., :-1], axis=-1)
    stops[..., 1:] *= goes_on
    return stops


ERR = Definition(
    "ERR",
    (GAIN, GAIN_BASE, IDEAL, FORM),
    _err,
    words="one divided by the rank among the first {cutoff} where a listener finds enough, on average",
    first_words="chance that a listener finds enough in the first result",
    elsewhere=Elsewhere(
        "is relative to the ideal ranking",
        "is the sum, with exponential gains on a scale up to 4",
        (("gain", "exponential"), ("form", "original")),
    ),
)
EDCG = Definition(
    "EDCG",
    (GAIN, GAIN_BASE, IDEAL, FORM),
    _edcg,
    words="gain of the result among the first {cutoff} where a listener finds enough, on average",
    first_words="gain of the first result if a listener finds enough in it, on average",
)
