"""Random effects shared by the grades of a pool's pairs; a joint model has their variances.

    query         the pairs of one query
    retrievers    those of them that the same systems retrieved, by the cosine of the two sets of systems
    query_genre   those of them whose documents are of one genre
    query_artist  those of them whose documents are by one artist
    sound         those of them whose documents sound alike
    genres        the pairs of queries of one genre with documents of one genre
    artist        the pairs with documents by one artist
    consensus     the pairs of one band of the number of teams that retrieved them, of all queries
    team, system  the pairs that a team's systems, or a system, retrieved; where several did, in equal parts

A pair with an unknown value has an effect of its own instead: it is as uncertain as the others, and shares nothing with
them.
"""

import numpy as np
from scipy import sparse

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.evidence_files import Evidence
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.angles import angles_of
from audiosim.features.audio import keep_closeness, likeness
from audiosim.relevance.consensus import bands
from audiosim.stats.gaussians.proximity import nearest_correlation
from audiosim.stats.normal.block_kernels import Cosines, SameCode
from audiosim.stats.normal.layout import Kernels, Layout
from audiosim.stats.normal.sparse_rows import short

ALWAYS = ("query", "retrievers", "consensus", "team", "system")  # available for any pool
METADATA = ("query_genre", "query_artist", "genres", "artist")
SOUND = "sound"
EFFECTS = 100  # of one kind that are shared between queries at most; it bounds memory


def layout_of(pool: Pool, scale: Array, sound: bool = False, metadata: bool = True) -> Layout:
    """The components of a pool's pairs: ALWAYS, METADATA unless left out, and SOUND if asked for.

    scale  (n,) above 0: how far each pair's grade may be off, the standard deviations being shares of it
    """
    order = np.argsort(pool.query, kind="stable")
    blocks = tuple(np.split(order, np.cumsum(np.bincount(pool.query, minlength=len(pool.queries)))[:-1]))
    found = short(sparse.csr_array(pool.retrieved.T).astype(np.float64))
    kernels: dict[str, Kernels] = {
        "query": SameCode(blocks, np.zeros(len(pool.pairs), dtype=np.int64)),
        "retrievers": Cosines(blocks, found),
    }
    shared: dict[str, Array | sparse.csr_array] = {}
    if metadata:
        shared = _metadata(pool, blocks, kernels)
    if sound:
        kernels[SOUND] = sound_kernels(pool, blocks)
    parts = short(sparse.csr_array(sparse.diags_array(1 / np.maximum(1, found.sum(axis=1))) @ found))
    shared["consensus"] = sparse.csr_array(bands(pool))
    shared["team"] = sparse.csr_array(parts @ _indicators(pool.teams, int(pool.teams.max()) + 1))
    shared["system"] = parts
    return Layout(blocks, kernels, shared, scale)


def _metadata(
    pool: Pool, blocks: tuple[Integers, ...], kernels: dict[str, Kernels]
) -> dict[str, Array | sparse.csr_array]:
    """The effects of genres and artists that queries share; kernels are added for those within a query."""
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
    """(n, p) which of p effects each pair has, and (n,) whether it has none.

    An effect is of a code that pairs of several queries have: the EFFECTS codes that most pairs have.
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
    """(n, count) 1 where a row has a code, nothing in those of unknown code."""
    known = np.flatnonzero(code != UNKNOWN)
    return short(sparse.csr_array((np.ones(len(known)), (known, code[known])), shape=(len(code), count)))


def sound_kernels(pool: Pool, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block how much its recordings sound alike, 1 for a pair and itself: a correlation.

    See `features.audio.likeness`. Pairs without a recording are only like themselves.
    """
    kernels = tuple(likeness(pool, rows) for rows in blocks)
    keep_closeness(pool)
    return kernels


def vector_kernels(pool: Pool, piece: Evidence, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block how alike its documents are in a piece of evidence that has vectors of them: a correlation."""
    angles = angles_of(pool, piece)
    return tuple(nearest_correlation(angles.likeness(rows)) for rows in blocks)
