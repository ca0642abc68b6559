"""Order of systems on another sample of queries: what is known of their kind, and the chance of that sample, too.

A difference that stands out among many is partly luck, of which the next sample has less: regression to the mean. So
differences have a prior here, whose size all pairs of systems tell: in units of how much a pair varies from query to
query, since systems alike in what they retrieve differ little in both (the g-prior of Zellner 1986, with g by its
moments). The confidence about queries of this kind has no such prior: with everything judged it is the paired t-test.
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

    E and V are moments of the difference on these queries given the judgments, S the expected sample variance of the
    queries' differences over their number. Of the kind's difference k E is then the expectation and k^2 V + k S the
    variance; the last S is the chance of the other sample. A pair that is known to be equal gives 1/2.

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
    return np.where(variance > 0, below, (1 + np.sign(expectation)) / 2)


def _carried(ranking: Ranking, expectation: Array, known: Array, chance: Array) -> float:
    """Share k of a difference that is expected on other queries."""
    open_ = chance > 0
    if not open_.any():
        return 1.0
    ratios = (expectation[open_] ** 2 + known[open_]) / chance[open_]
    # The sample variance is in the denominator: the inverse of a chi-square is so much too large in the mean.
    bias = (ranking.freedom - 2) / ranking.freedom if ranking.freedom > 2 else 1.0
    g = max(0.0, float(ratios.mean()) * bias - 1)
    return g / (1 + g)
