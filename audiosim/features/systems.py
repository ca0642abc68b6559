"""Common traits of the systems that retrieved a document: sums over systems, for some pairs at a time."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from audiosim.arrays import Array, Integers
from audiosim.corpus.pool import Pool
from audiosim.features.feature import once_per_pool


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
