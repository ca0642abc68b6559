"""What the grades of a pool's pairs have in common: the effects whose sizes a joint model knows.

    query         the pairs of one query
    query_genre   those of them whose documents are of one genre
    query_artist  those of them whose documents are by one artist
    sound         those of them whose documents sound alike
    genres        the pairs of queries of one genre with documents of one genre
    artist        the pairs with documents by one artist
    team, system  the pairs that a team's systems, or a system, retrieved; where several did, in equal parts

A pair of which something is not known has an effect of its own in its place: it is as doubtful as the others, and
shares nothing with them.
"""

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.audio import closeness
from audiosim.stats.layout import Layout

METADATA = ("query", "query_genre", "query_artist", "genres", "artist", "team", "system")
SOUND = "sound"
EFFECTS = 100  # of one kind that are shared between queries at most; it bounds memory


def layout_of(pool: Pool, scale: Array, sound: bool = False) -> Layout:
    """The components of a pool's pairs: those of METADATA, and SOUND if asked for.

    scale  (n,) above 0: how far each pair's grade may be off, the sizes being shares of it
    """
    order = np.argsort(pool.query, kind="stable")
    blocks = tuple(np.split(order, np.cumsum(np.bincount(pool.query, minlength=len(pool.queries)))[:-1]))
    pairing = np.where(
        (pool.query_genre == UNKNOWN) | (pool.genre == UNKNOWN),
        UNKNOWN,
        pool.query_genre * (pool.genre.max(initial=0) + 1) + pool.genre,
    )
    genres, genres_alone = _shared(pairing, pool.query)
    artist, artist_alone = _shared(pool.artist, pool.query)
    retrievers = np.asarray(pool.retrieved.T.toarray()) / np.maximum(1, pool.retrieved.sum(axis=0))[:, None]
    kernels: dict[str, tuple[Array | Booleans, ...]] = {
        "query": tuple(np.ones((len(rows), len(rows)), dtype=np.bool_) for rows in blocks),
        "query_genre": _alike(pool.genre, blocks),
        "query_artist": _alike(pool.artist, blocks),
        "genres": _alike(pairing, blocks, genres_alone),
        "artist": _alike(pool.artist, blocks, artist_alone),
    }
    if sound:
        kernels[SOUND] = sound_kernels(pool, blocks)
    shared = {
        "genres": genres,
        "artist": artist,
        "team": retrievers @ np.eye(int(pool.teams.max()) + 1)[pool.teams],
        "system": retrievers,
    }
    return Layout(blocks, kernels, shared, scale)


def standing(pool: Pool, mean: Array) -> Array:
    """(n,) how far the systems that retrieved a pair stand above the others, by what is expected of their pairs.

        mean over the systems a that retrieved i of  (mean over the pairs of a of mu) - (mean over all systems of that)

    mean  (n,) mu, what is expected of each pair

    Systems that retrieved nothing stand nowhere; 0 for a pair that no system retrieved.

    The mean of a group beside a member's own value: Mundlak (1978), doi:10.2307/1913646.
    """
    counts = pool.retrieved.sum(axis=1)
    systems = (pool.retrieved @ mean) / np.maximum(1, counts)
    above = (systems - systems[counts > 0].mean()) @ pool.retrieved
    return np.asarray(above / np.maximum(1, pool.retrieved.sum(axis=0)))


def _shared(code: Integers, query: Integers) -> tuple[Array, Booleans]:
    """(n, p) which of p effects each pair has, and (n,) whether it has none.

    An effect is of a code that pairs of several queries have: the EFFECTS codes that most pairs have.
    """
    codes, place = np.unique(code, return_inverse=True)
    cells = np.unique(np.stack([place, query]), axis=1)
    several = (np.bincount(cells[0], minlength=len(codes)) > 1) & (codes != UNKNOWN)
    counts = np.bincount(place, minlength=len(codes)) * several
    chosen = np.argsort(-counts, kind="stable")[: min(EFFECTS, int(several.sum()))]
    effects = np.asarray(place[:, None] == np.sort(chosen), dtype=np.float64)
    return effects, effects.sum(axis=1) == 0


def _alike(code: Integers, blocks: tuple[Integers, ...], among: Booleans | None = None) -> tuple[Booleans, ...]:
    """For each block which of its pairs have one code: kernels; a pair of unknown code is only like itself.

    among  (n,) which pairs to look at, all where None; others are not even like themselves
    """
    kernels = []
    for rows in blocks:
        alike = (code[rows, None] == code[rows]) & (code[rows] != UNKNOWN)
        np.fill_diagonal(alike, True)
        if among is not None:
            alike &= among[rows, None] & among[rows]
        kernels.append(alike)
    return tuple(kernels)


def sound_kernels(pool: Pool, blocks: tuple[Integers, ...]) -> tuple[Array, ...]:
    """For each block how much its recordings sound alike, 1 for a pair and itself: a correlation.

    See `features.audio.closeness`, which need not be a covariance: negative eigenvalues are put to 0, and the diagonal
    back to 1. Pairs without a recording are only like themselves.
    """
    return tuple(nearest_correlation(closeness(pool, rows)) for rows in blocks)


def nearest_correlation(alike: Array) -> Array:
    """(m, m) what is alike as a correlation: without negative eigenvalues, 1 on the diagonal.

    alike  (m, m) symmetric, 1 on the diagonal
    """
    linked = np.ix_(*2 * [np.flatnonzero(np.count_nonzero(alike, axis=1) > 1)])
    values, vectors = np.linalg.eigh(alike[linked])
    if (values >= 0).all():
        return alike
    positive = (vectors * np.maximum(0, values)) @ vectors.T
    deviation = np.sqrt(np.diagonal(positive))
    kernel = alike.copy()
    kernel[linked] = positive / np.outer(deviation, deviation)
    return kernel
