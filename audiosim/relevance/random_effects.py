"""Random effects shared by the grades of a pool's pairs; a joint model gives their variances.

    query         the pairs of one query
    retrievers    pairs of one query that the same systems retrieved, by the cosine of the two sets of systems
    query_genre   pairs of one query with documents of one genre
    query_artist  pairs of one query with documents by one artist
    sound         pairs of one query with documents that sound alike
    genres        pairs of queries of one genre with documents of one genre
    artist        pairs with documents by one artist
    consensus     pairs, of all queries, in one band of the number of teams that retrieved them
    team, system  the pairs that a team's systems, or a system, retrieved; in equal parts if there are several

A pair with an unknown value has a separate effect instead: it is as uncertain as the others, and shares nothing with
them.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.evidence_files import Evidence
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.angles import angles_of
from audiosim.features.audio import keep_closeness, likeness
from audiosim.relevance.between import SOUND
from audiosim.relevance.consensus import bands
from audiosim.stats.gaussians.proximity import nearest_correlation
from audiosim.stats.normal.block_kernels import Cosines, SameCode
from audiosim.stats.normal.layout import Kernels, Layout
from audiosim.stats.normal.sparse_rows import short

EFFECTS = 100  # most effects of one kind that are shared between queries; limits memory


def layout_of(pool: Pool, scale: Array, sound: bool = False, metadata: bool = True) -> Layout:
    """The components of a pool's pairs: ALWAYS, METADATA unless left out, and SOUND if requested.

    scale  (n,) above 0: deviation of each pair's grade, the unit of the components' standard deviations
    """
    order = np.argsort(pool.query, kind="stable")
    blocks = tuple(np.split(order, np.cumsum(np.bincount(pool.query, minlength=len(pool.queries)))[:-1]))
    found = short(sparse.csr_array(pool.retrieved.T).astype(np.float64))
    kernels: dict[str, Kernels] = {
        "query": SameCode(blocks, np.zeros(len(pool.pairs), dtype=np.int64)),
        "retrievers": Cosines(blocks, _same_places(found, np.ones(found.nnz, dtype=np.int8))),
    }
    shared: dict[str, Array | sparse.csr_array] = {}
    if metadata:
        shared = _metadata(pool, blocks, kernels)
    if sound:
        kernels[SOUND] = sound_kernels(pool, blocks)
    parts = _same_places(found, np.repeat(1 / np.maximum(1, found.sum(axis=1)), np.diff(found.indptr)))
    shared["consensus"] = sparse.csr_array(bands(pool))
    shared["team"] = sparse.csr_array(parts @ _indicators(pool.teams, int(pool.teams.max()) + 1))
    shared["system"] = parts
    return Layout(blocks, kernels, shared, scale)


def _same_places(like: sparse.csr_array, data: Array | NDArray[np.int8]) -> sparse.csr_array:
    """A matrix with other values at the same places. It shares the indices, which take 25 MB for a million pairs."""
    return sparse.csr_array((data, like.indices, like.indptr), shape=like.shape)


def _metadata(
    pool: Pool, blocks: tuple[Integers, ...], kernels: dict[str, Kernels]
) -> dict[str, Array | sparse.csr_array]:
    """The effects of genres and artists that queries share; adds kernels for those within a query."""
    pairing = np.where(
        (pool.query_genre == UNKNOWN) | (pool.genre == UNKNOWN),
        UNKNOWN,
        pool.query_genre * (pool.genre.max(initial=0) + 1) + pool.genre,
    )
    genres, genres_alone = _shared(pairing, pool.query)
    artist, artist_alone = _shared(pool.artist, pool.query)
    kernels["query_genre"] = SameCode(blocks, pool.genre)
    kernels["query_artist"] = SameCode(blocks, pool.artist)
    kernels["genres"] = SameCode(blocks, pairing, genres_alone)
    kernels["artist"] = SameCode(blocks, pool.artist, artist_alone)
    return {"genres": genres, "artist": artist}


def _shared(code: Integers, query: Integers) -> tuple[sparse.csr_array, Booleans]:
    """(n, p) indicator of each pair for p effects, and (n,) True for pairs without any.

    Effects belong to codes shared by pairs of several queries: the EFFECTS most frequent ones.
    """
    codes, place = np.unique(code, return_inverse=True)
    queries = query.max(initial=0) + 1
    cells = np.unique(place * queries + query) // queries
    several = (np.bincount(cells, minlength=len(codes)) > 1) & (codes != UNKNOWN)
    counts = np.bincount(place, minlength=len(codes)) * several
    chosen = np.argsort(-counts, kind="stable")[: min(EFFECTS, int(several.sum()))]
    effect = np.full(len(codes), UNKNOWN)
    effect[np.sort(chosen)] = np.arange(len(chosen))
    return _indicators(effect[place], len(chosen)), effect[place] == UNKNOWN


def _indicators(code: Integers, count: int) -> sparse.csr_array:
    """(n, count) 1 where a row has a code; rows of unknown code are empty."""
    known = np.flatnonzero(code != UNKNOWN)
    return short(sparse.csr_array((np.ones(len(known)), (known, code[known])), shape=(len(code), count)))


def sound_kernels(pool: Pool, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block, the similarity of its recordings in sound, 1 on the diagonal: a correlation.

    See `features.audio.likeness`. Pairs without a recording are similar only to themselves.
    """
    kernels = tuple(likeness(pool, rows) for rows in blocks)
    keep_closeness(pool)
    return kernels


def vector_kernels(pool: Pool, piece: Evidence, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block, the similarity of its documents by a piece of evidence with vectors: a correlation."""
    angles = angles_of(pool, piece)
    return tuple(nearest_correlation(angles.likeness(rows)) for rows in blocks)
