"""Measures of the gain from a ranking: CG, DCG, nDCG, Q and RBP.

Throughout, gains are (..., n), best rank first; ranks past n gain 0, and ranks past the cutoff do not count. If a
measure is relative to the best possible value and that is 0, the score is 0.
"""

import numpy as np

from audiosim.measures.binary import AP, P
from audiosim.measures.definition import (
    BASE,
    BETA,
    FORM,
    GAIN,
    GAIN_BASE,
    IDEAL,
    PERSISTENCE,
    REL,
    Definition,
    Elsewhere,
    Measure,
    judged_ideal,
)
from audiosim.measures.lists import GradedLists, discounted, discounts, first_discounts, of_lists, persistence, share_of
from audiosim.stats.arrays import Array


@of_lists
def _cg(of: GradedLists) -> Array:
    """(...,) Cumulative gain.

        sum over i <= k of  g_i / (k highest)      (3.3), 0 to 1
        sum over i <= k of  g_i                    (2.8), in gain units, as first published

    Urbano (2013), chapters 3 and 5 alike, and chapter 2; Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418.
    """
    total = of.gains.sum(axis=-1)
    return total if of.original else share_of(total, of.cutoff * of.highest)


def _alike(measure: Measure) -> Array:
    """(cutoff,) 1 at every rank."""
    return np.ones(measure.cutoff)


@of_lists
def _dcg(of: GradedLists) -> Array:
    """(...,) Discounted cumulative gain.

        sum over i <= k of  g_i w_i / (highest sum over i <= k of w_i)      (3.4), 0 to 1
        sum over i <= k of  g_i w_i                                         (2.9), in gain units, as first published

    Urbano (2013), chapters 3 and 5 alike, and chapter 2; Järvelin & Kekäläinen (2002), Burges et al. (2005).
    """
    weights = _discounts(of.measure)
    total = discounted(of.gains, weights)
    return total if of.original else share_of(total, of.highest * weights.sum())


@of_lists
def _ndcg(of: GradedLists) -> Array:
    """(...,) Normalised discounted cumulative gain, 0 to 1.

        sum over i <= k of  g_i w_i / sum over i <= k of  ideal_i w_i      (2.10)

    The ideal ranking is of all judged documents of the query, best first, for chapters 2 and 5; k times the highest
    gain for chapter 3, where it equals DCG. Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418; with `discounts`
    and exponential gains Microsoft nDCG.
    """
    weights = _discounts(of.measure)
    return share_of(discounted(of.gains, weights), discounted(of.ideal, weights))


def _discounts(measure: Measure) -> Array:
    kind = first_discounts if measure.word("form") == "original" else discounts
    return kind(measure.cutoff, measure.number("base"))


@of_lists
def _q(of: GradedLists) -> Array:
    """(...,) Q-measure, 0 to 1.

        1/best  sum over i <= k of  1(g_i > 0) (n_i + beta G_i) / (i + beta I_i)

    where n_i counts the gains above 0 down to rank i, and G_i and I_i are the sums of the gains and of the ideal gains;
    best is the possible number of gains above 0: their number among the judged documents (2.11), that number or k if it
    is less (5.7), or k (3.5). With a beta of 0 this is average precision.

    Urbano (2013), with the ideal ranking in the denominator of 2.11, as in Sakai (2004).
    """
    gains, beta = of.gains, of.measure.number("beta")
    width = gains.shape[-1]
    relevant = gains > 0
    missing = max(0, width - of.ideal.shape[-1])
    ideal = np.pad(of.ideal[..., :width], [(0, 0)] * (of.ideal.ndim - 1) + [(0, missing)])
    blended = np.cumsum(relevant, axis=-1) + beta * np.cumsum(gains, axis=-1)
    ratio = blended / (np.arange(1, width + 1) + beta * np.cumsum(ideal, axis=-1))
    return share_of(np.sum(relevant * ratio, axis=-1), of.most_relevant)


@of_lists
def _rbp(of: GradedLists) -> Array:
    """(...,) Rank-biased precision.

        sum over i <= k of  g_i p^(i-1) / sum over i <= k of  ideal_i p^(i-1)      (3.6), (5.8), 0 to 1
        (1 - p) / highest  sum over i <= k of  g_i p^(i-1)      (2.12), 0 to 1 - p^k, as first published

    The ideal ranking is of all judged documents of the query, best first, for chapter 5; k times the highest gain for
    chapter 3. Urbano (2013), after Moffat & Zobel (2008), doi:10.1145/1416950.1416952, with graded gains.
    """
    weights = _persistence(of.measure)
    total = discounted(of.gains, weights)
    if of.original:
        return (1 - of.measure.number("p")) / of.highest * total
    return share_of(total, discounted(of.ideal, weights))


def _persistence(measure: Measure) -> Array:
    return persistence(measure.cutoff, measure.number("p"))


def _bounded(measure: Measure) -> bool:
    """True if RBP is relative to the ideal ranking, unlike RBP as first published."""
    return judged_ideal(measure) and not measure.original


CG = Definition(
    "CG",
    (GAIN, GAIN_BASE, FORM),
    _cg,
    _alike,
    two_levels=P,
    words="mean gain of the first {cutoff} results",
    first_words="mean gain of the first result",
)
DCG = Definition(
    "DCG",
    (GAIN, GAIN_BASE, BASE, FORM),
    _dcg,
    _discounts,
    words="gain of the first {cutoff} results, less for lower ranks",
    first_words="gain of the first result",
)
nDCG = Definition(  # noqa: N816, its name
    "nDCG",
    (GAIN, GAIN_BASE, BASE, IDEAL, FORM),
    _ndcg,
    _discounts,
    judged_ideal,
    words="gain of the first {cutoff} results, less for lower ranks, as a share of the best possible",
    first_words="gain of the first result, as a share of the best possible",
)
Q = Definition(
    "Q",
    (GAIN, GAIN_BASE, BETA, IDEAL, FORM),
    _q,
    two_levels=AP,
    words="precision and gain at the rank of each relevant result among the first {cutoff}, blended and averaged",
    first_words="precision and gain at the first rank, blended, 0 unless its result is relevant",
)
RBP = Definition(
    "RBP",
    (GAIN, GAIN_BASE, REL, PERSISTENCE, IDEAL, FORM),
    _rbp,
    _persistence,
    _bounded,
    words="gain of the first {cutoff} results for a listener who goes on after each with probability {p}",
    first_words="gain of the first result",
    elsewhere=Elsewhere(
        "is relative to the ideal ranking",
        "is the sum over relevant documents",
        (("rel", 1.0),),
    ),
)
