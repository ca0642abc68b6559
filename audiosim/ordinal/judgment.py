"""Features of the judgments made so far; a pair's own judgment never enters its own features.

Urbano (2013), section 7.2.3; its definitions are read so that they apply to unjudged pairs and mean the same for
judged ones. Grades are in units of the scale: 0 to 100 for Fine.

Grades are rounded to multiples of 2^-26 (whole ones unchanged, others moved by less than 1e-8), so that all sums are
exact: a term can be subtracted again without rounding error, and the order of judgments does not matter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from audiosim.collection.pool import UNKNOWN, Groups, Pool
from audiosim.ordinal.feature import Feature, once_per_pool
from audiosim.stats.arrays import Array, Integers

# Common traits of the systems that retrieved a document: sums over systems, for some pairs at a time.


@once_per_pool
def systems_of_pairs(pool: Pool) -> sparse.csr_array:
    """(n, s) sparse: 1 where a pair's document was retrieved by a system."""
    return sparse.csr_array(pool.retrieved.T.tocsr())


@once_per_pool
def _cells(pool: Pool) -> tuple[Integers, Integers]:
    """The pair of each retrieval, and a number for its system and query together."""
    retrieved = pool.retrieved.tocoo()
    pair, system = (np.asarray(code, dtype=np.int64) for code in (retrieved.col, retrieved.row))
    return pair, system * len(pool.queries) + pool.query[pair]


def mean_of_systems_elsewhere(pool: Pool, values: Array, rows: Integers) -> Array:
    """Mean, over the systems that retrieved a document, of their means on other queries.

        m(s, q) = mean of values_j over the pairs j that s retrieved for queries other than q
        result_i = mean of m(s, query of i) over the systems s that retrieved i

    values  (n,) NaN where unknown
    rows    (r,) pairs of the result

    Each pair retrieved by s counts once. Systems with an unknown m are left out; NaN if all are unknown.
    """
    worth = _worth_elsewhere(pool, values)
    chosen = systems_of_pairs(pool)[rows]
    row = np.repeat(np.arange(len(rows)), np.diff(chosen.indptr))
    found = worth[chosen.indices, pool.query[rows][row]]
    known = ~np.isnan(found)
    return ratio_or_nan(np.bincount(row[known], found[known], len(rows)), np.bincount(row[known], minlength=len(rows)))


def _worth_elsewhere(pool: Pool, values: Array) -> Array:
    """(s, q) m of `mean_of_systems_elsewhere`."""
    pair, cell = _cells(pool)
    shape = (len(pool.systems), len(pool.queries))
    known = ~np.isnan(values)
    total = np.bincount(cell, np.where(known, values, 0.0)[pair], shape[0] * shape[1]).reshape(shape)
    count = np.bincount(cell, known[pair], shape[0] * shape[1]).reshape(shape)
    return ratio_or_nan(total.sum(axis=1, keepdims=True) - total, count.sum(axis=1, keepdims=True) - count)


def pairs_of_same_systems(pool: Pool, index: int) -> Integers:
    """The pairs retrieved by any system that retrieved this one, itself included, in rising order."""
    retrieved, own = pool.retrieved, systems_of_pairs(pool)
    found = np.arange(len(pool.pairs)) == index
    for system in own.indices[own.indptr[index] : own.indptr[index + 1]]:
        found[retrieved.indices[retrieved.indptr[system] : retrieved.indptr[system + 1]]] = True
    return np.flatnonzero(found)


def ratio_or_nan(total: ArrayLike, count: ArrayLike) -> Array:
    """Quotients, NaN where the count is 0."""
    known = np.asarray(count) > 0
    return np.asarray(np.divide(total, count, out=np.full(known.shape, np.nan), where=known), dtype=np.float64)


STEP = 2.0**-26


def exact(grades: Array) -> Array:
    """The grades to the nearest multiple of the step; sums of a million of them are exact."""
    return np.round(grades / STEP) * STEP


@dataclass(frozen=True, slots=True)
class MeanOfGroup:
    """Mean grade of the query's other judged documents that belong to the same group as this one.

        sum over judged pairs j of the group, j not i, of grade_j  /  number of such pairs

    groups  groups of pairs, such as by artist

    In units of the scale; unknown if the group is unknown or none of its other documents is judged.
    """

    groups: Callable[[Pool], Groups]

    def compute(self, pool: Pool, grades: Array, rows: Integers) -> Array:
        groups = self.groups(pool)
        judged, value = _split(grades)
        group, count = groups.group, len(groups.sizes)
        total = np.bincount(group, value, count)[group[rows]] - value[rows]
        times = np.bincount(group, judged, count)[group[rows]] - judged[rows]
        return np.where(groups.known[rows], ratio_or_nan(total, times), np.nan)

    def touched(self, pool: Pool, index: int) -> Integers:
        groups = self.groups(pool)
        others = groups.group == groups.group[index]
        others[index] = False
        return np.flatnonzero(others & groups.known[index])


@dataclass(frozen=True, slots=True)
class MeanElsewhere:
    """Mean grade of the judged pairs of other queries that have a property of this pair.

        sum over judged pairs j of the same key and another query of grade_j  /  number of such pairs

            key     (n,) code of the property, UNKNOWN where unknown
            groups  the pairs of one query with one key

    In units of the scale; unknown if the property is unknown or no such pair is judged.
    """

    key: Callable[[Pool], Integers]
    groups: Callable[[Pool], Groups]

    def compute(self, pool: Pool, grades: Array, rows: Integers) -> Array:
        key, groups = self.key(pool), self.groups(pool)
        total, times = (self._elsewhere(key, groups, weights, rows) for weights in reversed(_split(grades)))
        return np.where(key[rows] == UNKNOWN, np.nan, ratio_or_nan(total, times))

    def touched(self, pool: Pool, index: int) -> Integers:
        key = self.key(pool)
        if key[index] == UNKNOWN:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero((key == key[index]) & (pool.query != pool.query[index]))

    @staticmethod
    def _elsewhere(key: Integers, groups: Groups, weights: Array, rows: Integers) -> Array:
        everywhere = np.bincount(key + 1, weights)[key[rows] + 1]
        return np.asarray(everywhere - np.bincount(groups.group, weights)[groups.group[rows]])


@dataclass(frozen=True, slots=True)
class MeanOfSystems:
    """aSYS: mean grade, over all queries, of the judged documents of the systems that retrieved this document.

        sum over systems s of d, over judged pairs j of s, j not i, of grade_j  /  number of such (s, j)

    In units of the scale; unknown if its systems have no other judged document. Documents of the pair's own query count
    like all others.
    """

    def compute(self, pool: Pool, grades: Array, rows: Integers) -> Array:
        judged, value = _split(grades)
        systems = systems_of_pairs(pool)  # of all pairs: most rows share a system, and selecting some takes longer
        times = np.diff(systems.indptr)
        total, count = (systems @ (pool.retrieved @ own) - times * own for own in (value, judged))
        return ratio_or_nan(total[rows], count[rows])

    def touched(self, pool: Pool, index: int) -> Integers:
        same = pairs_of_same_systems(pool, index)
        return np.delete(same, np.searchsorted(same, index))


@dataclass(frozen=True, slots=True)
class EffectOfSystems:
    """oSYS: mean, over the systems that retrieved the document, of their mean grades on other queries.

    The formula is that of `mean_of_systems_elsewhere`, with grades as values. In units of the scale; unknown if none of
    its systems has a judged document of another query.
    """

    def compute(self, pool: Pool, grades: Array, rows: Integers) -> Array:
        return mean_of_systems_elsewhere(pool, exact(grades), rows)

    def touched(self, pool: Pool, index: int) -> Integers:
        same = pairs_of_same_systems(pool, index)
        return np.compress(pool.query[same] != pool.query[index], same)


@once_per_pool
def queries(pool: Pool) -> Groups:
    """The pairs of each query."""
    sizes = np.bincount(pool.query, minlength=len(pool.queries))
    return Groups(pool.query, sizes, np.ones(len(pool.pairs), dtype=np.bool_))


def genres(pool: Pool) -> Groups:
    """The pairs of each query by the genre of their document."""
    return pool.genres


def artists(pool: Pool) -> Groups:
    """The pairs of each query by the artist of their document."""
    return pool.artists


@once_per_pool
def genre_pairs(pool: Pool) -> Integers:
    """(n,) code of the pair of genres of query and document; UNKNOWN where either is."""
    known = (pool.genre != UNKNOWN) & (pool.query_genre != UNKNOWN)
    return np.where(known, pool.query_genre * (pool.genre.max() + 1) + pool.genre, UNKNOWN)


def _split(grades: Array) -> tuple[Array, Array]:
    """Indicator of each pair, 1 if judged, and its grade, 0 if unjudged."""
    judged = ~np.isnan(grades)
    return judged.astype(np.float64), np.where(judged, exact(grades), 0.0)


aSYS = Feature(
    "aSYS", "judgment", "all queries", 1, "mean grade of the documents its systems retrieved", MeanOfSystems()
)
aDOC = Feature("aDOC", "judgment", "own query", 1, "mean grade of the query's other documents", MeanOfGroup(queries))
aGEN = Feature(
    "aGEN",
    "judgment",
    "own query",
    1,
    "mean grade of the query's other documents of this genre",
    MeanOfGroup(genres),
    "genre",
)
aART = Feature(
    "aART",
    "judgment",
    "own query",
    1,
    "mean grade of the query's other documents by this artist",
    MeanOfGroup(artists),
    "artist",
)
oSYS = Feature("oSYS", "judgment", "other queries", 1, "mean grade its systems get on other queries", EffectOfSystems())
oGEN = Feature(
    "oGEN",
    "judgment",
    "other queries",
    1,
    "mean grade of this genre on other queries of the query's genre",
    MeanElsewhere(genre_pairs, genres),
    "genre",
)
