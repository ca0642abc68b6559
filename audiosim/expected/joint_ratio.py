"""nDCG and RBP with correlated grades: the ideal ranking is simulated, always with the same random draws."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Integers

GRADE_DRAWS = 40
GRADE_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Scores relative to the ideal ranking, by simulation.

        score_a = mean over queries of  X_aq / Y_q,   X the discounted sum of gains, Y the same of the best documents

    mean      (s,) expected scores
    slopes    (s, n) mean derivative of each score by each gain
    residual  (s, s) covariance of the part of the scores that the slopes do not explain
    squares   (s, s) sum of x x' over queries and draws, x the scores for one query
    totals    (s, draws) sums of the scores over the queries

    For a normal distribution the mean derivative is the slope of the best linear approximation: Cov[f(G), G] =
    E[f'(G)] Cov[G] (Stein 1981, doi:10.1214/aos/1176345632). The moments of the linear part are known exactly, so it
    serves as a control variate of the mean. Only the covariance of the remainder is simulated and added.
    """

    mean: Array
    slopes: Array
    residual: Array
    squares: Array
    totals: Array


@dataclass(frozen=True, slots=True, eq=False)
class QueryRatio:
    """Scores for one query relative to its ideal ranking, by simulation.

    query       its number
    rows        (m,) places of its pairs
    ratio       (s, draws) scores
    slope       (s, m) mean derivative of each score by each gain
    controlled  (s, draws) scores less their part explained by the slopes: see `Ratios`
    """

    query: int
    rows: Integers
    ratio: Array
    slope: Array
    controlled: Array


def ratios_by_query(
    gains: Iterator[tuple[Integers, Array]],
    mean: Array,
    query: Integers,
    weights: Array,
    discounts: Array,
    beyond: tuple[Integers, Array],
) -> Iterator[QueryRatio]:
    """Ratios of drawn gains, query by query.

    gains      in parts: the places of some pairs (m,), all of a query or none, and their gains (draws, m)
    mean       (n,) expected gains
    query      (n,) index of each pair's query
    weights    (s, n) the discount of each pair in each system, 0 where not retrieved
    discounts  (k,) discounts of the ideal ranking
    beyond     (b,) query and (b,) known gain of each judged document that is not among the pairs

    A query without any document of positive gain scores 0.
    """
    for rows, every in gains:
        for code in np.unique(query[rows]).tolist():
            own = query[rows] == code
            part, values = rows[own], every[:, own]
            ratio, slope = _of_query(weights[:, part], values, discounts, beyond[1][beyond[0] == code])
            yield QueryRatio(code, part, ratio, slope, ratio - slope @ (values - mean[part]).T)


def drawn_ratios(parts: Iterator[QueryRatio], systems: int, pairs: int, count: int) -> Ratios:
    """Ratios over all queries.

    parts  ratios of each query with any document
    count  number of all queries
    """
    slopes, scores = np.zeros((systems, pairs)), np.zeros(1)
    squares, totals = np.zeros((systems, systems)), np.zeros((systems, 1))
    for one in parts:
        slopes[:, one.rows] = one.slope / count
        squares, totals = squares + one.ratio @ one.ratio.T, totals + one.ratio
        scores = scores + one.controlled / count
    if scores.ndim == 1:
        return Ratios(np.zeros(systems), slopes, np.zeros((systems, systems)), squares, totals)
    return Ratios(scores.mean(axis=1), slopes, np.atleast_2d(np.cov(scores)), squares, totals)


def _of_query(weights: Array, gains: Array, discounts: Array, beyond: Array) -> tuple[Array, Array]:
    """(s, draws) the scores for one query, and (s, m) their mean derivatives.

    weights  (s, m)
    gains    (draws, m)
    beyond   (b,) known gains that also count in the ideal ranking
    """
    retrieved = gains.shape[1]
    weights = np.pad(weights, [(0, 0), (0, len(beyond))])
    gains = np.hstack([gains, np.tile(beyond, (len(gains), 1))])
    draws, pairs = gains.shape
    k = min(len(discounts), pairs)
    best = np.argpartition(-gains, k - 1, axis=1)[:, :k] if k < pairs else np.tile(np.arange(pairs), (draws, 1))
    order = np.argsort(-np.take_along_axis(gains, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    ideal = np.take_along_axis(gains, best, axis=1) @ discounts[:k]
    inverse = np.divide(1, ideal, out=np.zeros(draws), where=ideal > 0)
    ratio = (weights @ gains.T) * inverse
    place = np.zeros(gains.shape)
    np.put_along_axis(place, best, np.broadcast_to(discounts[:k], best.shape), axis=1)
    slope = weights * inverse.mean() - (ratio * inverse) @ place / draws
    return ratio, slope[:, :retrieved]
