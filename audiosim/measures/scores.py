"""Scores of rankings from grades, for all forms of every measure."""

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Scale
from audiosim.measures.definition import Measure
from audiosim.measures.gains import discounted, share_of
from audiosim.measures.graded_lists import GradedLists
from audiosim.stats.inference.ties import at_ends


def score(measure: Measure, scale: Scale, grades: Array, judged: Array) -> Array:
    """(...,) scores of rankings, all at once.

    scale   scale of the grades
    grades  (..., n) grade at each rank, best rank first; NaN where nothing was retrieved, as after rank n
    judged  (..., m) grades of all judged documents of the query, best first, 0 after the last; its shape may be that of
            the queries alone, (q, m) for grades (s, q, n)
    """
    lists = grades[..., : measure.cutoff]
    if measure.definition.score is not None:
        found = measure.definition.score(measure, scale, lists, judged)
    else:
        found = _weighted(GradedLists(measure, scale, lists, judged))
    return at_ends(found) if measure.bounded else found


def _weighted(of: GradedLists) -> Array:
    """(...,) score of a measure that defines only the weights of its ranks, 0 to 1.

        sum over i <= k of  g_i w_i / sum over i <= k of  best_i w_i

    where best is the gain of the highest grade at every rank or, for a relative measure, that of the ideal ranking.
    """
    weights = of.measure.rank_weights
    assert weights is not None, "a definition has a score or weights of ranks"
    best = of.gain(of.judged) if of.measure.relative else np.full(of.cutoff, of.highest)
    return share_of(discounted(of.gains, weights), discounted(best, weights))


def has_judged_ideal(measure: Measure, scale: Scale) -> bool:
    """True if scores depend on judged documents that are not in the ranking."""
    lists = np.array(scale.levels[1:])[:, None]
    most = np.concatenate([np.full((len(lists), measure.cutoff), scale.maximum), lists], axis=1)
    return not np.array_equal(score(measure, scale, lists, lists), score(measure, scale, lists, most))
