"""Pages of several candidates beside single grades: which of the two tell more per second."""

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.campaign.seconds_taken import SecondsTaken


def page_pays(
    weights: Array, query: Integers, free: Booleans, candidates: int, seconds: SecondsTaken, assessor: str
) -> bool:
    """True if a page of one query is expected to tell at least as much per second as the best single grade.

    weights     (n,) values of a judgment of each pair
    query       (n,) queries of the pairs
    free        (n,) pairs that may be handed out
    candidates  most on a page

    The value of a page is the sum over its pairs: what they tell of the same systems is counted twice, and what cancels
    because one person hears the query once is left out.
    """
    places = np.flatnonzero(free)
    if not len(places):
        return False
    order = places[np.lexsort((-weights[places], query[places]))]
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    top = rank < candidates
    counts = np.bincount(query[order[top]])
    worth = np.bincount(query[order[top]], weights[order[top]])
    sizes, single = np.unique(counts[counts > 0]), float(weights[places].max()) / seconds.page(1, assessor)
    best = max(float(worth[counts == size].max()) / seconds.page(int(size), assessor) for size in sizes)
    return best >= single
