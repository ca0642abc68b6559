"""Lowest and highest scores that systems can have, over all grades of the unjudged pairs."""

import numpy as np

from audiosim.collection.pool import Pool
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure
from audiosim.measures.scores import best_first, bounds_of_grades, has_bounds
from audiosim.stats.arrays import Array


def reach_by_query(measure: Measure, pool: Pool, belief: Belief | None = None) -> tuple[Array, Array]:
    """Lowest and highest score of each system for each query, (s, q) each; see `measures.bounds.score_bounds`.

    belief  knows the grades of the judged pairs, unless it is about other people than those who gave them; None:
            nothing is judged

    0, and 1 or infinity, for measures without known bounds.
    """
    if not has_bounds(measure):
        none = np.zeros((len(pool.systems), len(pool.queries)))
        return none, none + (1.0 if measure.bounded else np.inf)
    grades = np.full(len(pool.pairs), np.nan) if belief is None else np.where(belief.settled, belief.grades, np.nan)
    of, beyond = pool.coded_beyond
    ends = []
    for missing in (pool.scale.levels[0], pool.scale.maximum):
        filled = np.where(np.isnan(grades), missing, grades)
        every = best_first(np.append(filled, beyond), np.append(pool.query, of), len(pool.queries))
        ends.append((np.append(filled, np.nan)[pool.ranked], every))
    return bounds_of_grades(measure, pool.scale, *ends)


def mean_reach(measure: Measure, pool: Pool, belief: Belief | None = None) -> tuple[Array, Array]:
    """Lowest and highest mean score of each system over the queries, (s,) each."""
    low, high = reach_by_query(measure, pool, belief)
    # Rounding may lift the mean of equal values above them.
    return np.maximum(low.mean(axis=1), low.min(axis=1)), np.minimum(high.mean(axis=1), high.max(axis=1))
