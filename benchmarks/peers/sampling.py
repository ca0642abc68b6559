"""Methods that draw pairs at random and estimate from the sample alone."""

import numpy as np
from scipy import sparse

from audiosim.stats.arrays import Array, Booleans, Integers
from peers.statement import StatedRanking, by_deviations, nothing_known, order_alone, pairs_of
from peers.task import Grader, Task

FEWEST = 3  # fewest judged documents of a system for an interval
PSEUDO = 3.0  # weight of the mean of all judged documents, in judgments


def draw_evenly(task: Task, grader: Grader, rng: np.random.Generator) -> tuple[Booleans, Array]:
    """(n,) mask of the judged pairs, drawn evenly without replacement, and (n,) their gains, 0 elsewhere."""
    found = rng.permutation(np.flatnonzero(task.pool.found))[: grader.budget]
    gains = np.zeros(len(task.pool.pairs))
    gains[found] = grader(found)
    return grader.seen, gains


def means_by_t(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Mean of the judged documents of each system, with Student's t; of differences, with Welch's.

        Var[difference] = s_a^2 / m_a + s_b^2 / m_b,   degrees of freedom as Welch (1947), doi:10.1093/biomet/34.1-2.28

    with s^2 the sample variance of the contributions of a system's m judged documents. A system with fewer than FEWEST
    gets the mean of all, and no interval.
    """
    seen, gains = draw_evenly(task, grader, rng)
    counts, score, variance = contributions(task.weights, seen, gains)
    enough = counts >= FEWEST
    score = np.where(enough, score, _overall(task, seen, gains))
    error, degrees = np.where(enough, variance / np.maximum(counts, 1), np.nan), np.maximum(counts - 1, 1)
    first, second = pairs_of(len(counts))
    both = error[first] + error[second]
    parts = error[first] ** 2 / degrees[first] + error[second] ** 2 / degrees[second]
    welch = np.divide(both**2, parts, out=np.ones(len(both)), where=parts > 0)
    return by_deviations(score, np.sqrt(error), score[first] - score[second], np.sqrt(both), degrees, welch)


def contributions(weights: sparse.csr_array, seen: Booleans, gains: Array) -> tuple[Integers, Array, Array]:
    """For each system the number m of judged documents, and the mean and the sample variance of N w g over these.

    N is the number of the system's documents, so that the mean estimates its score; the variance is NaN where m < 2.
    """
    inside = sparse.csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), weights.shape)
    counts = np.asarray(inside @ seen.astype(float))
    sizes = np.diff(weights.indptr)
    total = np.asarray(weights @ (gains * seen)) * sizes
    squares = np.asarray(weights.power(2) @ (gains**2 * seen)) * sizes**2
    mean = total / np.maximum(counts, 1)
    spread = np.maximum(squares - counts * mean**2, 0) / np.where(counts > 1, counts - 1, np.nan)
    return counts.astype(np.int64), mean, spread


def _overall(task: Task, seen: Booleans, gains: Array) -> Array:
    """(s,) scores of the systems if every document had the mean gain of the judged ones; 1/2 without any."""
    mean = gains[seen].mean() if seen.any() else 0.5
    return np.asarray(task.weights.sum(axis=1)).ravel() * mean


def shrunken(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Mean of each system's judged documents and PSEUDO documents with the overall mean; no confidence is stated."""
    seen, gains = draw_evenly(task, grader, rng)
    counts, score, _ = contributions(task.weights, seen, gains)
    return order_alone((counts * score + PSEUDO * _overall(task, seen, gains)) / (counts + PSEUDO))


def active(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """Active comparison: pairs drawn with replacement by their effect on the differences, and reweighted.

        q_d in proportion to  sqrt(sum over pairs of systems (a, b) of (W_ad - W_bd)^2)
        difference = n  sum_i v_i x_i / sum_i v_i,   Var = n^2  sum_i v_i^2 (x_i - mean)^2 / (sum_i v_i)^2,   v = 1 / q

    with x_i = (W_ai - W_bi) g_i of the i-th draw and n the number of documents that affect any difference: the
    instrumental distribution with the most powerful Wald test between systems while the gains are unknown,
    summed over all pairs of systems. Sawade, Landwehr & Scheffer (2012), Active comparison of prediction models, NIPS
    25. Draws continue until the budget of distinct pairs is spent. If some documents affect no difference, scores have
    no intervals.
    """
    chance = task.bearing / max(task.bearing.sum(), np.finfo(float).tiny)
    bears = np.flatnonzero(chance)
    drawn = _draws(bears, chance[bears], min(grader.budget, len(bears)), rng)
    if len(drawn) < FEWEST:
        return nothing_known(len(task.pool.systems))
    gains, back = grader(drawn), 1 / chance[drawn]
    spread = task.weights[:, drawn].toarray() * gains * len(bears)
    first, second = pairs_of(len(spread))
    score, error = _weighted(spread, back)
    # (p, draws) may be large, so compute only the second moments of each pair's two systems.
    squares = back**2 / back.sum() ** 2
    centred = spread - score[:, None]
    cross = (centred * squares) @ centred.T
    between = np.sqrt(np.maximum(error[first] ** 2 + error[second] ** 2 - 2 * cross[first, second], 0))
    whole = len(bears) == task.pool.found.sum()
    return by_deviations(score, error if whole else np.full(len(error), np.nan), score[first] - score[second], between)


def _draws(places: Integers, chance: Array, distinct: int, rng: np.random.Generator) -> Integers:
    """Draws with replacement, stopping before the draw that would exceed the number of distinct places."""
    if distinct == 0:
        return places[:0]
    drawn = places[:0]
    while len(np.unique(drawn)) < distinct and len(drawn) < 1000 * distinct:
        drawn = np.concatenate([drawn, rng.choice(places, 4 * distinct, p=chance / chance.sum())])
    firsts = np.sort(np.unique(drawn, return_index=True)[1])
    return drawn if len(firsts) <= distinct else drawn[: firsts[distinct]]


def _weighted(values: Array, weights: Array) -> tuple[Array, Array]:
    """(s,) weighted means of the rows of (s, m), and their standard errors."""
    total = weights.sum()
    mean = values @ weights / total
    return mean, np.sqrt((values - mean[:, None]) ** 2 @ weights**2) / total


def statap(task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
    """StatAP's stratified sampling, with the Horvitz-Thompson estimate of each score and difference.

        W_r = (1 + 1/r + 1/(r + 1) + ... + 1/k) / 2 k,  summed over the systems that retrieved the document at rank r
        strata of m documents by falling W; m draws among the strata in proportion to their sum of W; from each stratum
        as many documents as it was drawn, evenly and without replacement
        pi_d = m P_t / m_t,   pi_de = m (m - 1) P_t P_u / (m_t m_u), of one stratum  m (m - 1) P_t^2 / (m_t (m_t - 1))
        score = sum over the sample of w_d g_d / pi_d

    Pavlu & Aslam (2007), A practical sampling strategy for efficient retrieval evaluation; the sampling design is that
    of Stevens (1958), and the variance that of Horvitz & Thompson with the joint probabilities above.
    """
    found = np.flatnonzero(task.pool.found)
    m = min(grader.budget, len(found))
    if m < FEWEST:
        return nothing_known(len(task.pool.systems))
    strata, shares = _strata(found, prior_of_ranks(task)[found], m)
    counts = rng.multinomial(m, shares)
    taken = [rng.choice(stratum, count, replace=False) for stratum, count in zip(strata, counts, strict=True)]
    sample, code = np.concatenate(taken), np.repeat(np.arange(len(strata)), counts)
    sizes = np.array([len(stratum) for stratum in strata])
    chance = (m * shares / sizes)[code]
    joint = m * (m - 1) * np.outer((shares / sizes)[code], (shares / sizes)[code])
    same, more = code[:, None] == code, np.maximum(sizes - 1, 1)[code]
    joint = np.where(same, m * (m - 1) * (shares[code] ** 2 / (sizes[code] * more))[:, None], joint)
    np.fill_diagonal(joint, chance)
    values = task.weights[:, sample].toarray() * (grader(sample) / chance)
    covariance = values @ (1 - np.outer(chance, chance) / joint) @ values.T
    first, second = pairs_of(len(values))
    score, variance = values.sum(axis=1), np.diagonal(covariance)
    between = variance[first] + variance[second] - 2 * covariance[first, second]
    return by_deviations(score, _root(variance), score[first] - score[second], _root(between))


def _root(variance: Array) -> Array:
    """Standard deviations; NaN where Horvitz and Thompson's variance is below 0, which is possible."""
    return np.sqrt(np.where(variance >= 0, variance, np.nan))


def prior_of_ranks(task: Task) -> Array:
    """(n,) expected weight in average precision of a document at its rank, summed over the systems; see `statap`."""
    k = task.pool.cutoff
    ranks = np.arange(1, k + 1)
    tail = np.cumsum((1 / ranks)[::-1])[::-1]
    weights = (1 + tail) / (2 * k)
    places, at = task.pool.ranks.indices, task.pool.ranks.data.astype(np.int64)
    return np.asarray(np.bincount(places, weights[at - 1], len(task.pool.pairs)), dtype=np.float64)


def _strata(places: Integers, prior: Array, size: int) -> tuple[list[Integers], Array]:
    """Strata of `size` places by falling prior, the last with the remainder, and their shares of the prior."""
    order = np.lexsort((places, -prior))
    cuts = np.arange(size, len(places) - size + 1, size)
    rows = np.split(order, cuts)
    sums = np.array([prior[row].sum() for row in rows])
    return [places[row] for row in rows], sums / sums.sum()  # by their own sum: rounding puts none above 1
