"""Features of the systems' output, known before anyone has judged.

Urbano (2013), section 7.2.3; Urbano & Schedl (2013), section 4.2. A query's documents are its
distinct documents in the pool, each counted once.
"""

import numpy as np
from scipy import sparse

from audiosim.collection.pool import UNKNOWN, Groups, Pool
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.judgment import mean_of_systems_elsewhere, ratio_or_nan
from audiosim.stats.arrays import Array


def system_share(pool: Pool) -> Array:
    """fSYS: share of systems that retrieved the document for the query, in (0, 1]."""
    return np.asarray(pool.retrieved.sum(axis=0)) / len(pool.systems)


def team_share(pool: Pool) -> Array:
    """fTEAM: share of teams with a system that retrieved the document for the query, in (0, 1]."""
    coordinates, teams = pool.retrieved.tocoo(), len(pool.teams)
    cells = coordinates.col, pool.teams[coordinates.row]
    by_pair = sparse.csr_array((np.ones(len(cells[0]), np.int8), cells), shape=(len(pool.pairs), teams))
    by_pair.sum_duplicates()
    return np.diff(by_pair.indptr) / len(np.unique(pool.teams))


def overlap(pool: Pool) -> Array:
    """OV: distinct pairs divided by their largest possible number, cutoff x systems x queries; one value in (0, 1]."""
    most = pool.cutoff * len(pool.systems) * pool.answered
    return np.full(len(pool.pairs), pool.found.sum() / most)


def mean_rank(pool: Pool) -> Array:
    """aRANK: mean rank, from 1, at which systems retrieved the document for the query; NaN if none did."""
    return ratio_or_nan(pool.ranks.sum(axis=0), pool.retrieved.sum(axis=0))


def same_genre(pool: Pool) -> Array:
    """sGEN: 1 if document and query have the same genre, else 0; NaN if either genre is unknown."""
    known = (pool.genre != UNKNOWN) & (pool.query_genre != UNKNOWN)
    return np.where(known, pool.genre == pool.query_genre, np.nan)


def genre_share(pool: Pool) -> Array:
    """fGEN: share of this genre among the query's documents of known genre, in (0, 1]; NaN if unknown."""
    return _share_of_query(pool, pool.genres)


def artist_share(pool: Pool) -> Array:
    """fART: share of this artist among the query's documents of known artist, in (0, 1]; NaN if unknown."""
    return _share_of_query(pool, pool.artists)


def pool_share(pool: Pool) -> Array:
    """fPOOL: the query's documents divided by their largest possible number, cutoff x systems, in (0, 1].

    Low where the systems agree on what to retrieve for the query; OV is its mean over queries.
    """
    return np.asarray(pool.query_sizes / (pool.cutoff * len(pool.systems)))


def genre_coherence(pool: Pool) -> Array:
    """cGEN: probability that two different documents of the query have the same genre, in [0, 1].

        sum over genres g of n_g (n_g - 1)  /  (n (n - 1))

    n_g of the query's n documents of known genre are of genre g. NaN where n is less than 2.
    """
    return _coherence(pool, pool.genres)


def artist_coherence(pool: Pool) -> Array:
    """cART: probability that two different documents of the query have the same artist, as cGEN, in [0, 1]."""
    return _coherence(pool, pool.artists)


def consensus_of_systems(pool: Pool) -> Array:
    """cSYS: agreement of the systems that retrieved the document with the others on other queries, in (0, 1].

    Mean over these systems of the mean fSYS of the documents that each retrieved for other queries; NaN if none
    retrieved anything for another query. The formula is that of `mean_of_systems_elsewhere`.
    """
    return mean_of_systems_elsewhere(pool, system_share(pool))


def hubness(pool: Pool) -> Array:
    """fHUB: share of the other queries for which some system retrieved the document, in [0, 1].

    NaN for a single query.
    """
    _, document = np.unique([pair.document for pair in pool.pairs], return_inverse=True)
    others = pool.answered - (pool.query_sizes > 0)
    elsewhere = np.bincount(document, pool.found)[document] - pool.found
    return ratio_or_nan(elsewhere, others)


def _share_of_query(pool: Pool, groups: Groups) -> Array:
    known = np.bincount(pool.query, groups.known & pool.found)[pool.query]
    return np.where(groups.known, groups.sizes[groups.group] / np.maximum(known, 1), np.nan)


def _coherence(pool: Pool, groups: Groups) -> Array:
    first = np.unique(groups.group, return_index=True)[1]
    sizes = groups.sizes * groups.known[first]
    same = np.bincount(pool.query[first], sizes * (sizes - 1.0))
    known = np.bincount(pool.query, groups.known & pool.found)
    return ratio_or_nan(same, known * (known - 1))[pool.query]


fSYS = Feature("fSYS", "output", "nothing", 1, "share of systems that retrieved the document", system_share)
fTEAM = Feature("fTEAM", "output", "nothing", 1, "share of teams that retrieved the document", team_share)
OV = Feature("OV", "output", "nothing", 1, "distinct pairs over the most possible, in the collection", overlap)
aRANK = Feature("aRANK", "output", "nothing", 1, "mean rank at which systems retrieved the document", mean_rank)
sGEN = Feature("sGEN", "output", "nothing", 1, "1 if document and query are of one genre, else 0", same_genre, "genre")
fGEN = Feature("fGEN", "output", "nothing", 1, "share of the query's documents of this genre", genre_share, "genre")
fART = Feature("fART", "output", "nothing", 1, "share of the query's documents by this artist", artist_share, "artist")
fPOOL = Feature("fPOOL", "output", "nothing", 1, "the query's documents over the most possible", pool_share)
cGEN = Feature(
    "cGEN", "output", "nothing", 1, "chance that two of the query's are of one genre", genre_coherence, "genre"
)
cART = Feature(
    "cART", "output", "nothing", 1, "chance that two of the query's are by one artist", artist_coherence, "artist"
)
cSYS = Feature("cSYS", "output", "nothing", 1, "mean fSYS of its systems for other queries", consensus_of_systems)
fHUB = Feature("fHUB", "output", "nothing", 1, "share of other queries with the document retrieved", hubness)
