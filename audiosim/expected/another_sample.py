"""Order of systems on another sample of queries, including the chance variation of that sample.

A difference that stands out among many is partly luck and will be smaller on the next sample: regression to the mean.
Differences therefore have a prior, estimated from all pairs of systems. It is in units of a pair's variation between
queries, since systems that retrieve similar lists have both small differences and small variation (the g-prior of
Zellner 1986, with g by its moments). The confidence about queries of this kind has no such prior: with everything
judged it is the paired t-test.
"""

import numpy as np
from scipy.special import ndtr, stdtr

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.expected.ranking import Ranking


def on_another_sample(ranking: Ranking) -> Array:
    """(p,) probability that the better of each pair of systems is better on another sample of as many queries.

        k = g / (1 + g),  g = mean of (E^2 + V) / S over the pairs, less 1, at least 0
        F_t(k E / sqrt(k^2 V + k S + S)), with (queries - 1) degrees of freedom

    E and V are the moments of the difference on these queries given the judgments; S is the expected sample variance
    of the queries' differences, divided by their number. The difference on queries of this kind then has expectation
    k E and variance k^2 V + k S; the last S is the variation of the other sample. Systems known to be equal give 1/2.

    ranking  about queries of this kind
    """
    if ranking.sampling is None:
        raise InputError(
            f"another sample is one of queries of this kind, and this ranking is about {ranking.about.words}"
        )
    expectation, known = ranking.of_these.differences
    better, worse = ranking.pairs
    chance = np.diagonal(ranking.sampling)[better] + np.diagonal(ranking.sampling)[worse]
    chance = np.maximum(0, chance - 2 * ranking.sampling[better, worse])
    shrunken = _carried(ranking, expectation, known, chance)
    variance = shrunken**2 * known + shrunken * chance + chance
    deviation = np.sqrt(np.where(variance > 0, variance, 1))
    standard = shrunken * expectation / deviation
    below = ndtr(standard) if ranking.distribution == "normal" else stdtr(ranking.freedom, standard)
    return np.where(variance > 0, below, np.where(expectation == 0, 0.5, expectation > 0))


def _carried(ranking: Ranking, expectation: Array, known: Array, chance: Array) -> float:
    """Share k of a difference that is expected to remain on other queries."""
    open_ = chance > 0
    if not open_.any():
        return 1.0
    ratios = (expectation[open_] ** 2 + known[open_]) / chance[open_]
    # The sample variance is in the denominator, and the mean of an inverse chi-square is too large by this factor.
    bias = (ranking.freedom - 2) / ranking.freedom if ranking.freedom > 2 else 1.0
    g = max(0.0, float(ratios.mean()) * bias - 1)
    return g / (1 + g)
