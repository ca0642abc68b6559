"""Features of what the systems retrieved: known before anybody has judged.

Urbano (2013), section 7.2.3; Urbano & Schedl (2013), section 4.2. A query's documents are its
distinct documents in the pool, each counted once.
"""

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import UNKNOWN, Groups, Pool


def system_share(pool: Pool) -> Array:
    """fSYS: the share of systems that retrieved the document for the query, in (0, 1]."""
    return np.asarray(pool.retrieved.sum(axis=0)) / len(pool.systems)


def team_share(pool: Pool) -> Array:
    """fTEAM: the share of teams with a system that retrieved the document for the query, in (0, 1]."""
    coordinates = pool.retrieved.tocoo()
    found = np.unique(np.stack([pool.teams[coordinates.row], coordinates.col]), axis=1)
    return np.bincount(found[1], minlength=len(pool.pairs)) / len(np.unique(pool.teams))


def overlap(pool: Pool) -> Array:
    """OV: distinct pairs over the most there could be, cutoff x systems x queries; one value in (0, 1]."""
    most = pool.cutoff * len(pool.systems) * len(pool.queries)
    return np.full(len(pool.pairs), len(pool.pairs) / most)


def mean_rank(pool: Pool) -> Array:
    """aRANK: the mean rank, from 1, at which systems retrieved the document for the query."""
    return np.asarray(pool.ranks.sum(axis=0) / pool.retrieved.sum(axis=0), dtype=np.float64)


def same_genre(pool: Pool) -> Array:
    """sGEN: 1 if document and query are of one genre, else 0; NaN where either genre is unknown."""
    known = (pool.genre != UNKNOWN) & (pool.query_genre != UNKNOWN)
    return np.where(known, pool.genre == pool.query_genre, np.nan)


def genre_share(pool: Pool) -> Array:
    """fGEN: of the query's documents with a known genre, the share of this one's genre, in (0, 1]; NaN where unknown."""
    return _share_of_query(pool, pool.genres)


def artist_share(pool: Pool) -> Array:
    """fART: of the query's documents with a known artist, the share by this one's, in (0, 1]; NaN where unknown."""
    return _share_of_query(pool, pool.artists)


def _share_of_query(pool: Pool, groups: Groups) -> Array:
    known = np.bincount(pool.query, groups.known)[pool.query]
    return np.where(groups.known, groups.sizes[groups.group] / np.maximum(known, 1), np.nan)
