"""Expected gain of the ideal ranking while judgments are missing."""

from collections.abc import Callable

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.relevance.belief import Belief

NOTHING: tuple[Integers, Array] = np.empty(0, dtype=np.int64), np.empty(0)


def expected_ideal(
    belief: Belief,
    gain: Callable[[Array], Array],
    rows: Integers,
    query: Integers,
    discounts: Array,
    beyond: tuple[Integers, Array] = NOTHING,
) -> Array:
    """(q,) expected discounted sum over the best documents of each query, as a share of the highest gain.

        sum over ranks i of  discount_i E[G_(i)]
        E[G_(i)] = integral over t of P(at least i documents gain t or more)

    rows       (m,) all pairs of the q queries
    query      (m,) query of each pair
    discounts  (k,) discounts of the ranks
    beyond     (b,) query and (b,) grade of each judged document that is not among the pairs

    Exact for independent gains. The number of unjudged documents that reach a level is a sum of independent Bernoulli
    variables (Poisson binomial); its distribution is built up document by document, k + 1 numbers per level. The
    number of judged documents that reach it is known.
    """
    highest = gain(np.array(belief.maximum))
    levels = gain(belief.levels) / highest
    judged = belief.judged[rows]
    count, k = int(query.max()) + 1, len(discounts)
    tails = _tails(belief.probabilities[rows[~judged]], query[~judged], count, k)
    of, grades = np.concatenate([query[judged], beyond[0]]), np.concatenate([belief.grades[rows[judged]], beyond[1]])
    known = _best(gain(grades) / highest, of, count, k)
    lengths = _lengths(known, levels)
    # If c judged documents and at least j others gain more than t, the ranks up to c + j are filled.
    filled = np.zeros((k + 1, k + 1))
    for c in range(k + 1):
        filled[c, 0] = discounts[:c].sum()
        filled[c, 1 : k - c + 1] = discounts[c:]
    return np.asarray(np.einsum("cj,jql,cql->q", filled, tails, lengths, optimize=True))


def _tails(probabilities: Array, query: Integers, count: int, k: int) -> Array:
    """(k + 1, q, l + 1) P(at least j unjudged documents reach each level), with one more level above all others.

    probabilities  (u, l) probabilities of the levels of the unjudged documents
    query          (u,)
    """
    reach = np.flip(np.cumsum(np.flip(probabilities, axis=1), axis=1), axis=1)
    order = np.argsort(query, kind="stable")
    sizes = np.bincount(query, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    exactly = np.zeros((k + 1, count, probabilities.shape[1] + 1))
    exactly[0] = 1
    for place in range(int(sizes.max(initial=0))):
        having = np.flatnonzero(sizes > place)
        chance = reach[order[starts[having] + place]]
        moved = exactly[:-1, having, :-1] * chance
        exactly[:-1, having, :-1] -= moved
        exactly[1:, having, :-1] += moved
    return np.flip(np.cumsum(np.flip(exactly, axis=0), axis=0), axis=0)


def _best(gains: Array, query: Integers, count: int, k: int) -> Array:
    """(k, q) best judged gains of each query, padded with 0."""
    order = np.lexsort((-gains, query))
    starts = np.searchsorted(query[order], np.arange(count))
    ranks = np.arange(len(order)) - starts[query[order]]
    best, within = np.zeros((k, count)), ranks < k
    best[ranks[within], query[order[within]]] = gains[order[within]]
    return best


def _lengths(best: Array, levels: Array) -> Array:
    """(k + 1, q, l + 1) length of each step's part, between levels, that exactly c judged documents exceed.

    best    (k, q) falling
    levels  (l,) rising; the steps are from 0 to the first, from each to the next, and from the last to 1
    """
    low, high = np.concatenate([[0.0], levels]), np.concatenate([levels, [1.0]])
    ends = np.ones((1, best.shape[1]))
    edges = np.clip(np.concatenate([ends, best, 0 * ends])[..., None], low, high)
    return np.asarray(edges[:-1] - edges[1:])
