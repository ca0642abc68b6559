"""Scores of systems query by query, whose means are the scores of a ranking."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from audiosim.arrays import Array
from audiosim.expected.estimation import ExpectedScores
from audiosim.expected.ranking import Ranking
from audiosim.expected.reach import reach_by_query
from audiosim.relevance.belief import Belief
from audiosim.stats.normal.multivariate import Moments


def rankings_by_query(
    expected: ExpectedScores, belief: Belief, ranking: Ranking, systems: Sequence[str]
) -> Iterator[tuple[str, Ranking]]:
    """Each query, and the ranking of some systems on it alone.

    belief   belief behind the ranking, unwidened
    ranking  ranking of all systems; its distribution and its failed check apply to each query too

    The mean of the scores over the queries is that of the ranking. A query without any retrieved document has no
    ranking. An interval is about a single query, so it does not include the variation between queries.
    """
    whole, pool = ranking.of_these, expected.pool
    own = [pool.systems.index(system) for system in systems]
    low, high = reach_by_query(expected.measure, pool, belief)
    for code, moments in expected.by_query(belief):
        scores = Moments(moments.mean[own], moments.covariance[np.ix_(own, own)])
        reach = partial(_ends, low[own, code], high[own, code])
        alone = replace(whole, systems=tuple(systems), scores=scores, reach=reach, others=None)
        yield pool.queries[code], alone.wider(ranking.check.factor)


def _ends(low: Array, high: Array) -> tuple[Array, Array]:
    return low, high
