"""Features of the judgments made so far; a pair's own judgment never enters its own features.

Urbano (2013), section 7.2.3; its definitions are read so that they apply to unjudged pairs and mean the same for
judged ones. Grades are in units of the scale: 0 to 100 for Fine.

Grades are rounded to multiples of 2^-26 (whole ones unchanged, others moved by less than 1e-8), so that all sums are
exact: a term can be subtracted again without rounding error, and the order of judgments does not matter.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from audiosim.collection.pool import UNKNOWN, Groups, Pool
from audiosim.ordinal.feature import Feature, once_per_pool
from audiosim.stats.arrays import Array, Integers

# Common traits of the systems that retrieved a document: sums over systems.


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


def mean_of_systems_elsewhere(pool: Pool, values: Array) -> Array:
    """Mean, over the systems that retrieved a document, of their means on other queries.

        m(s, q) = mean of values_j over the pairs j that s retrieved for queries other than q
        result_i = mean of m(s, query of i) over the systems s that retrieved i

    values  (n,) NaN where unknown

    Each pair retrieved by s counts once. Systems with an unknown m are left out; NaN if all are unknown.
    """
    worth = _worth_elsewhere(pool, values)
    systems, n = systems_of_pairs(pool), len(values)
    row = np.repeat(np.arange(n), np.diff(systems.indptr))
    found = worth[systems.indices, pool.query[row]]
    known = ~np.isnan(found)
    return ratio_or_nan(np.bincount(row[known], found[known], n), np.bincount(row[known], minlength=n))


def _worth_elsewhere(pool: Pool, values: Array) -> Array:
    """(s, q) m of `mean_of_systems_elsewhere`."""
    pair, cell = _cells(pool)
    shape = (len(pool.systems), len(pool.queries))
    known = ~np.isnan(values)
    total = np.bincount(cell, np.where(known, values, 0.0)[pair], shape[0] * shape[1]).reshape(shape)
    count = np.bincount(cell, known[pair], shape[0] * shape[1]).reshape(shape)
    return ratio_or_nan(total.sum(axis=1, keepdims=True) - total, count.sum(axis=1, keepdims=True) - count)


def ratio_or_nan(total: ArrayLike, count: ArrayLike) -> Array:
    """Quotients, NaN where the count is 0."""
    known = np.asarray(count) > 0
    return np.asarray(np.divide(total, count, out=np.full(known.shape, np.nan), where=known), dtype=np.float64)


STEP = 2.0**-26


def exact(grades: Array) -> Array:
    """The grades to the nearest multiple of the step; sums of a million of them are exact."""
    return np.round(grades / STEP) * STEP


def mean_of_group(groups: Callable[[Pool], Groups], pool: Pool, grades: Array) -> Array:
    """Mean grade of the query's other judged documents that belong to the same group as this one.

        sum over judged pairs j of the group, j not i, of grade_j  /  number of such pairs

    groups  groups of pairs, such as by artist

    In units of the scale; unknown if the group is unknown or none of its other documents is judged.
    """
    of, (judged, value) = groups(pool), _split(grades)
    total, times = (np.bincount(of.group, own, len(of.sizes))[of.group] - own for own in (value, judged))
    return np.where(of.known, ratio_or_nan(total, times), np.nan)


def mean_elsewhere(
    key: Callable[[Pool], Integers], groups: Callable[[Pool], Groups], pool: Pool, grades: Array
) -> Array:
    """Mean grade of the judged pairs of other queries that have a property of this pair.

        sum over judged pairs j of the same key and another query of grade_j  /  number of such pairs

            key     (n,) code of the property, UNKNOWN where unknown
            groups  the pairs of one query with one key

    In units of the scale; unknown if the property is unknown or no such pair is judged.
    """
    code, group, (judged, value) = key(pool), groups(pool).group, _split(grades)
    total, times = (np.bincount(code + 1, own)[code + 1] - np.bincount(group, own)[group] for own in (value, judged))
    return np.where(code == UNKNOWN, np.nan, ratio_or_nan(total, times))


def mean_of_systems(pool: Pool, grades: Array) -> Array:
    """aSYS: mean grade, over all queries, of the judged documents of the systems that retrieved this document.

        sum over systems s of d, over judged pairs j of s, j not i, of grade_j  /  number of such (s, j)

    In units of the scale; unknown if its systems have no other judged document. Documents of the pair's own query count
    like all others.
    """
    systems, (judged, value) = systems_of_pairs(pool), _split(grades)
    times = np.diff(systems.indptr)
    return ratio_or_nan(*(systems @ (pool.retrieved @ own) - times * own for own in (value, judged)))


def effect_of_systems(pool: Pool, grades: Array) -> Array:
    """oSYS: mean, over the systems that retrieved the document, of their mean grades on other queries.

    The formula is that of `mean_of_systems_elsewhere`, with grades as values. In units of the scale; unknown if none of
    its systems has a judged document of another query.
    """
    return mean_of_systems_elsewhere(pool, exact(grades))


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
    "aSYS", "judgment", "all queries", 1, "mean grade of the documents its systems retrieved", mean_of_systems
)
aDOC = Feature(
    "aDOC", "judgment", "own query", 1, "mean grade of the query's other documents", partial(mean_of_group, queries)
)
aGEN = Feature(
    "aGEN",
    "judgment",
    "own query",
    1,
    "mean grade of the query's other documents of this genre",
    partial(mean_of_group, genres),
    "genre",
)
aART = Feature(
    "aART",
    "judgment",
    "own query",
    1,
    "mean grade of the query's other documents by this artist",
    partial(mean_of_group, artists),
    "artist",
)
oSYS = Feature("oSYS", "judgment", "other queries", 1, "mean grade its systems get on other queries", effect_of_systems)
oGEN = Feature(
    "oGEN",
    "judgment",
    "other queries",
    1,
    "mean grade of this genre on other queries of the query's genre",
    partial(mean_elsewhere, genre_pairs, genres),
    "genre",
)
