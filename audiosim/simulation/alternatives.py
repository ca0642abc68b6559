"""Alternatives before judging: pairs of systems separated by more queries, a deeper cutoff or second opinions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool
from audiosim.collection.values import grades_by_assessor
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure, score
from audiosim.measures.scores import best_first
from audiosim.ranking import Selection
from audiosim.results.value import Value
from audiosim.stats.arrays import Array
from audiosim.stats.normal.multivariate import variance_of_differences

LEVEL = 0.05  # significance level of the paired test
TIMES = (2, 4)  # multiples of the number of queries
TWICE = 10  # fewest pairs with several judgments to estimate the variance between assessors


@dataclass(frozen=True, slots=True)
class DesignChoice(Value):
    """A possible form of the collection, and the number of pairs of systems that a test separates after full judging.

    what       description: as it is, 2 times the queries, second opinions, cutoff 10
    queries    number of queries
    judgments  number of judgments for all of it, including those already made
    separated  expected number of pairs of systems that a paired t-test at LEVEL separates; mean over the worlds
    low, high  central 80 % of the worlds
    pairs      number of pairs of systems
    """

    what: str
    queries: int
    judgments: int
    separated: float
    low: float
    high: float
    pairs: int

    @classmethod
    def of(cls, what: str, queries: int, judgments: int, worlds: Sequence[Array]) -> "DesignChoice":
        """The alternative for given probabilities (p,) of separating each pair, world by world."""
        counts = np.array([world.sum() for world in worlds])
        low, high = np.quantile(counts, [0.1, 0.9]).tolist()
        return cls(what, queries, judgments, float(counts.mean()), low, high, len(worlds[0]))


def scores_of(pool: Pool, measure: Measure, grades: Array) -> Array:
    """(s, q) scores of the systems by these grades (n,) of the pool's pairs."""
    of, beyond = pool.coded_beyond
    every, query = np.concatenate([grades, beyond]), np.concatenate([pool.query, of])
    judged = best_first(every, query, len(pool.queries))
    return score(measure, pool.scale, np.append(grades, np.nan)[pool.ranked], judged)


def mean_differences(scores: Array) -> tuple[Array, Array]:
    """(p,) mean difference of each pair of systems over the queries, and (p,) its standard error.

    scores  (s, q); with a single query errors are infinite
    """
    first, second = np.triu_indices(len(scores), 1)
    differences = scores[first] - scores[second]
    queries = differences.shape[1]
    spread = differences.std(axis=1, ddof=1) if queries > 1 else np.full(len(first), np.inf)
    return differences.mean(axis=1), spread / np.sqrt(queries)


def found_different(mean: Array, error: Array, queries: int) -> Array:
    """(p,) 1 if a paired t-test at LEVEL finds a difference, otherwise 0; equal systems are never separated."""
    known = np.divide(np.abs(mean), error, out=np.where(mean == 0, 0, np.inf), where=error > 0)
    return np.asarray((known > _critical(queries)).astype(np.float64))


def after_queries(mean: Array, error: Array, queries: int, times: int) -> Array:
    """(p,) probability that the test finds a difference with `times` as many queries of the same kind.

        z' | z ~ N(z sqrt(times), times - 1),   z = mean / error

    over the present and the further queries, with a flat prior of the difference, so that a chance difference on the
    first queries is not taken for granted. z' is compared with the quantile of Student's t.
    """
    z = np.divide(np.abs(mean), error, out=np.zeros(len(mean)), where=error > 0)
    spread, critical = np.sqrt(times - 1), _critical(times * queries)
    found = ndtr((z * np.sqrt(times) - critical) / spread) + ndtr((-z * np.sqrt(times) - critical) / spread)
    return np.asarray(np.where(error > 0, found, mean != 0), dtype=np.float64)


def after_second_opinions(mean: Array, error: Array, noise: Array, queries: int) -> Array:
    """(p,) probability that the test finds a difference if a second assessor judges each pair too.

        mean' ~ N(mean, noise / 2),   error'^2 = error^2 - noise / 2

    noise  (p,) variance of the mean difference due to single assessors' tastes, halved by the second assessor
    """
    left = np.sqrt(np.maximum(error**2 - noise / 2, 0.25 * error**2))
    spread, needed = np.sqrt(noise / 2), _critical(queries) * left
    moves = spread > 0
    scale = np.where(moves, spread, 1)
    found = ndtr((np.abs(mean) - needed) / scale) + ndtr((-np.abs(mean) - needed) / scale)
    return np.where(moves, found, found_different(mean, left, queries))


def taste(collection: Collection) -> float | None:
    """Variance between assessors of the grades of one pair, as a share of the squared highest grade.

    Pooled over the pairs with several assessors: sum of squares over degrees of freedom. None for fewer than TWICE
    pairs.
    """
    repeated = [list(said.values()) for said in grades_by_assessor(collection.judgments).values() if len(said) > 1]
    if len(repeated) < TWICE:
        return None
    squares = sum(float(np.sum((np.array(said) - np.mean(said)) ** 2)) for said in repeated)
    return squares / sum(len(said) - 1 for said in repeated) / collection.scale.maximum**2


def noise_of(selection: Selection, belief: Belief, variance: float) -> Array:
    """(p,) variance of the difference of two systems' scores due to the taste of one assessor per pair.

    variance x sum over pairs d of (slope_ad - slope_bd)^2
    """
    slopes = np.asarray(selection.expected.slopes(belief).toarray())
    first, second = np.triu_indices(len(slopes), 1)
    return variance * variance_of_differences(slopes @ slopes.T, first, second)


def alternatives(
    collection: Collection,
    selection: Selection,
    worlds: Iterable[Array],
    deeper: tuple[int, int, Sequence[Array]] | None,
) -> tuple[DesignChoice, ...]:
    """Verdicts that a fully judged collection would allow, as it is and with changes, in worlds drawn from the belief.

    worlds  (s, q) scores in each world
    deeper  a deeper cutoff, the size of its pool and the scores in each world; None if no run is deeper
    """
    differences = [mean_differences(scores) for scores in worlds]
    if not differences:
        return ()
    queries, pool = len(selection.pool.queries), len(selection.pool.pairs)
    now = [found_different(*one, queries) for one in differences]
    found = [DesignChoice.of("as it is", queries, pool, now)]
    for times in TIMES:
        more = [after_queries(*one, queries, times) for one in differences]
        found.append(DesignChoice.of(f"{times} times the queries", times * queries, times * pool, more))
    if deeper is not None:
        cutoff, pairs, scores = deeper
        further = [found_different(*mean_differences(one), queries) for one in scores]
        found.append(DesignChoice.of(f"cutoff {cutoff}", queries, pairs, further))
    variance = taste(collection)
    if variance is not None:
        noise = noise_of(selection, selection.belief, variance)
        second = [after_second_opinions(*one, noise, queries) for one in differences]
        found.append(DesignChoice.of("second opinions", queries, 2 * pool, second))
    return tuple(found)


def _critical(queries: int) -> float:
    return float(stdtrit(max(1, queries - 1), 1 - LEVEL / 2))
