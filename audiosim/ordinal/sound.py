"""Features of sound, from the divergences between the recordings of a pool and all others in the index.

The index is opened when the first of these features is requested. A pair is unknown if the pool has no index or its
recording is not in it. The closeness of a recording to the query, and of two documents of a query (`closeness`), is
their mutual proximity by the Jensen-Shannon divergence of their Gaussians, as in `audiosim neighbours` for a library
without band-limited recordings. aSIM and kSIM use the symmetrised Kullback-Leibler divergence. qSIM, aSIM and kSIM also
use vectors of sound.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from audiosim.collection.evidence import Evidence
from audiosim.collection.pool import UNKNOWN, Pool
from audiosim.ordinal.feature import Feature, once_per_pool
from audiosim.ordinal.judgment import ratio_or_nan
from audiosim.sound.closeness import REFERENCES, SHAPE, Neighbourhood
from audiosim.sound.kullback_leibler import kullback_leibler_divergence
from audiosim.sound.proximity import mutual_proximity, references_among
from audiosim.stats.arrays import Array, Booleans, Integers

if TYPE_CHECKING:
    from audiosim.sound.index import AudioIndex


# Vectors of the documents of a pool, and their proximity by angle.


@dataclass(frozen=True, slots=True, eq=False)
class Angles:
    """Vectors of documents by one piece of evidence, and the place of each document of a pool among them.

    vectors     (k, d) vectors of length 1
    references  (r,) places: all, or REFERENCES of them drawn once
    document    (n,) place of each pair's document; UNKNOWN without a vector
    query       (q,) place of each query's own document; UNKNOWN without a vector
    """

    vectors: Array
    references: Integers
    document: Integers
    query: Integers

    def proximity(self, one: int, others: Integers) -> Array:
        """(m,) mutual proximity of one place and others, by the angle between vectors; see `stats.proximity`."""
        chosen = self.vectors[others]
        distances, far = 1 - chosen @ self.vectors[one], self.vectors[self.references]
        counted = (self.references != others[:, None]) & (self.references != one)
        near = mutual_proximity(distances, 1 - far @ self.vectors[one], 1 - chosen @ far.T, counted)
        near[others == one] = 1.0
        return near

    def distances(self, places: Integers) -> Array:
        """(m, m) 1 - cosine of the vectors at some places; 0 on the diagonal."""
        chosen = self.vectors[places]
        found: Array = np.maximum(0.0, 1 - chosen @ chosen.T)
        found[places[:, None] == places] = 0.0
        return found

    def to_query(self, pool: Pool) -> Array:
        """(n,) proximity of each pair's document to its query; NaN where either has no vector."""
        found = np.full(len(pool.pairs), np.nan)
        for code in np.flatnonzero(self.query != UNKNOWN):
            rows = np.flatnonzero((pool.query == code) & (self.document != UNKNOWN))
            if len(rows):
                found[rows] = self.proximity(int(self.query[code]), self.document[rows])
        return found

    def likeness(self, rows: Integers) -> Array:
        """(m, m) similarity of the documents of some pairs, on the scale of `ordinal.sound.closeness`."""
        near = np.eye(len(rows))
        some = np.flatnonzero(self.document[rows] != UNKNOWN)
        if len(some) > 1:
            places = self.document[rows[some]]
            found = np.array([self.proximity(int(place), places) for place in places])
            near[np.ix_(some, some)] = np.nan_to_num((found + found.T) / 2) ** SHAPE
            near[some, some] = 1.0
        return near


def angles_of(pool: Pool, piece: Evidence) -> Angles:
    """Vectors of a piece of evidence, and the vector of each document."""
    places = {key: place for place, key in enumerate(piece.keys)}
    vectors = piece.values / np.abs(piece.values).max(
        axis=1, keepdims=True
    )  # keeps squares from overflow and underflow
    return Angles(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        references_among(len(piece.keys), REFERENCES),
        np.array([places.get(pair.document, UNKNOWN) for pair in pool.pairs], dtype=np.int64),
        np.array([places.get(document, UNKNOWN) for document in pool.query_documents], dtype=np.int64),
    )


NEAREST = 7  # rank of the neighbour that determines the bandwidth by its divergence


@dataclass(frozen=True, slots=True, eq=False)
class PoolSounds:
    """The recordings of a pool.

    index     N recordings
    settled   number of recordings, from the first, that are fixed; later ones are compared only with these
    document  (n,) place in the index of each pair's document; UNKNOWN without a recording
    query     (q,) place in the index of each query's own document; UNKNOWN without a recording
    """

    index: "AudioIndex"
    settled: int
    document: Integers
    query: Integers

    def divergences(self, places: Integers) -> Array:
        """(n, n) divergences between some places in the index."""
        chosen = self.index.packed_places(places)
        return kullback_leibler_divergence(self.index.packed, chosen, chosen, "double").astype(float, copy=False)


@once_per_pool
def sounds_of(pool: Pool) -> PoolSounds | None:
    """Open index of a pool's recordings, and the recording of each document; None without an index."""
    if pool.sounds is None:
        return None
    from audiosim.sound.index import load_all  # imported here: most rankings need not pay for its start-up time

    index, settled = load_all(pool.sounds)
    places = {identifier: place for place, identifier in enumerate(index.ids)}
    document = np.array([places.get(pair.document, UNKNOWN) for pair in pool.pairs], dtype=np.int64)
    query = np.array([places.get(document, UNKNOWN) for document in pool.query_documents], dtype=np.int64)
    return PoolSounds(index, settled, document, query)


@once_per_pool
def neighbourhood_of(pool: Pool) -> Neighbourhood | None:
    """The recordings of a pool among those of its index; None without an index."""
    sounds = sounds_of(pool)
    if sounds is None:
        return None
    index = sounds.index
    found = Neighbourhood(index.rows, index.parameters.dimension, sounds.settled, pool.sounds)
    heard = np.unique(np.concatenate([sounds.document, sounds.query]))
    found.expect(heard[heard != UNKNOWN])
    return found


@once_per_pool
def query_proximity(pool: Pool) -> Array:
    """qSIM: closeness of the document to the query, as a rank within the index, in [0, 1].

    Mean over the descriptions of both: Gaussians of an index (`gaussian_proximity`), and vectors of sound.
    NaN if they have none in common.
    """
    vectors = [angles_of(pool, piece).to_query(pool) for piece in pool.evidence if piece.of_sound]
    found = np.stack([gaussian_proximity(pool), *vectors])
    return ratio_or_nan(np.nansum(found, axis=0), (~np.isnan(found)).sum(axis=0).astype(float))


@once_per_pool
def gaussian_proximity(pool: Pool) -> Array:
    """Closeness of the document to the query by the Gaussians of an index, as a rank within it, in [0, 1].

    Their mutual proximity by the Jensen-Shannon divergence of their Gaussians, see `Neighbourhood`. 1: each is
    nearest to the other, or they are the same; 0: no other recording is farther from both. NaN if the document or the
    query has no recording, or the index holds no third one.
    """
    proximity = np.full(len(pool.pairs), np.nan)
    sounds, neighbourhood = sounds_of(pool), neighbourhood_of(pool)
    if sounds is None or neighbourhood is None or len(sounds.index) < 3:
        return proximity
    for code in np.flatnonzero(sounds.query != UNKNOWN):
        rows = np.flatnonzero((pool.query == code) & (sounds.document != UNKNOWN))
        if len(rows):
            proximity[rows] = neighbourhood.proximity(int(sounds.query[code]), sounds.document[rows])
    return proximity


def closeness(pool: Pool, rows: Integers) -> Array:
    """(r, r) closeness of the recordings of some pairs, in [0, 1]; 1 for a recording and itself.

        P(x, y)^8,   P the mutual proximity by the Jensen-Shannon divergence, see `Neighbourhood`

    rows  (r,) pairs of the pool

    0 if one of the two has no recording. Divergences and their exponentials depend on the index: in most indexes
    no recording would be close to any other. The share of recordings that are farther away is comparable between
    indexes, and its eighth power falls off about as fast as people's grades. The result need not be positive
    semidefinite: see `likeness`.
    """
    return _among_heard(pool, rows, Neighbourhood.closeness)


def likeness(pool: Pool, rows: Integers) -> Array:
    """(r, r) `closeness` as a correlation: no negative eigenvalues, 1 on the diagonal; computed once."""
    return _among_heard(pool, rows, Neighbourhood.likeness)


def keep_closeness(pool: Pool) -> None:
    """Save the closeness computed for a pool beside its index."""
    neighbourhood = neighbourhood_of(pool)
    if neighbourhood is not None:
        neighbourhood.memory.keep()


def _among_heard(pool: Pool, rows: Integers, compute: Callable[[Neighbourhood, Integers, int], Array]) -> Array:
    near = np.eye(len(rows))
    sounds, neighbourhood = sounds_of(pool), neighbourhood_of(pool)
    heard = np.empty(0, dtype=np.int64) if sounds is None else np.flatnonzero(sounds.document[rows] != UNKNOWN)
    if sounds is not None and neighbourhood is not None and len(heard) > 1:
        retrieved = pool.found[rows[heard]]
        settled = int(retrieved.sum()) if retrieved[: retrieved.sum()].all() else 0
        near[np.ix_(heard, heard)] = compute(neighbourhood, sounds.document[rows[heard]], settled)
    return near


Weigh = Callable[[Array, Array], Array]


def grade_of_nearest(pool: Pool, grades: Array) -> Array:
    """aSIM: grade of the query's judged document that sounds nearest to this document.

        l = argmin over grades l of  min over judged documents j of grade l, j not i, of D(i, j)

    This is the grade of the nearest other judged document; of equally near grades, the lowest. In units of the scale;
    unknown if the document, or every other judged document of the query, has no recording. Urbano (2013), section
    7.2.3, does not define the distance to several documents; here it is the distance to the nearest.
    """
    return _by_query(pool, grades, _grade_of_nearest)


def mean_by_closeness(pool: Pool, grades: Array) -> Array:
    """kSIM: mean grade of the query's other judged documents, weighted by their closeness to this one.

        sum over judged j, j not i, of w_ij grade_j  /  sum of w_ij,    w_ij = exp(-D(i, j) / sqrt(h_i h_j))

    The bandwidth h_i is the divergence from i to the seventh nearest other recording among the query's documents, or to
    the farthest if there are fewer; it makes the weights independent of scale and damps hubs. In units of the scale;
    unknown if the document, or every other judged document of the query, has no recording, or if all are infinitely far
    in units of a bandwidth of 0. Only ratios of weights count, so distant documents do not vanish.

    A smooth aSIM; Nadaraya-Watson with the self-tuning bandwidth of Zelnik-Manor & Perona (2004).
    """
    return _by_query(pool, grades, _mean_by_closeness)


def _by_query(pool: Pool, grades: Array, weigh: Weigh) -> Array:
    """(n,) results of `weigh`, called per query with divergences and grades of its documents with sound."""
    values = np.full(len(grades), np.nan)
    for heard, divergences in _distances_within_queries(pool, grades):
        values[heard] = weigh(divergences, grades[heard])
    return values


@once_per_pool
def _sound_vectors(pool: Pool) -> tuple[Angles, ...]:
    return tuple(angles_of(pool, piece) for piece in pool.evidence if piece.of_sound)


@once_per_pool
def _has_sound(pool: Pool) -> Booleans:
    """(n,) True if the pair's document has a description of its sound."""
    sounds, found = sounds_of(pool), np.zeros(len(pool.pairs), dtype=np.bool_)
    for document in ([] if sounds is None else [sounds.document]) + [one.document for one in _sound_vectors(pool)]:
        found |= document != UNKNOWN
    return found


def _distances_within_queries(pool: Pool, grades: Array) -> Iterator[tuple[Integers, Array]]:
    """For each query with a judgment: its pairs with a description, and their distances; infinity on the diagonal.

    With one description, distances are its divergences. With several, they are the mean over those that both documents
    have, each divided by its median among the query's documents; infinite if they share none. Nothing is stored: the
    blocks of a large pool would not fit into memory.
    """
    sounds, vectors, has_sound = sounds_of(pool), _sound_vectors(pool), _has_sound(pool)
    for code in np.unique(pool.query[has_sound & ~np.isnan(grades)]):
        heard = np.flatnonzero((pool.query == code) & has_sound)
        if len(heard) < 2:
            continue
        found = [] if sounds is None else [_known(sounds.document[heard], sounds.divergences)]
        found += [_known(one.document[heard], one.distances) for one in vectors]
        distances = _mean_distances(found) if len(found) > 1 else found[0]
        distances[np.isnan(distances)] = np.inf
        np.fill_diagonal(distances, np.inf)
        yield heard, distances


def _known(places: Integers, divergence: Callable[[Integers], Array]) -> Array:
    """(m, m) divergences by one description; NaN where either document lacks it."""
    some = np.flatnonzero(places != UNKNOWN)
    found = np.full((len(places), len(places)), np.nan)
    if len(some):
        found[np.ix_(some, some)] = divergence(places[some])
    return found


def _mean_distances(found: Sequence[Array]) -> Array:
    """Mean over descriptions, each divided by its median; NaN where all are unknown."""
    total, count = np.zeros_like(found[0]), np.zeros_like(found[0])
    for one in found:
        positive = one[np.triu_indices(len(one), 1)]
        positive = positive[positive > 0]  # False for NaN
        total += np.nan_to_num(one) / (np.median(positive) if len(positive) else 1.0)
        count += ~np.isnan(one)
    return ratio_or_nan(total, count)


def _grade_of_nearest(divergences: Array, grades: Array) -> Array:
    judged = np.flatnonzero(~np.isnan(grades))
    judged = judged[np.argsort(grades[judged], kind="stable")]
    near = divergences[:, judged]
    nearest = near.argmin(axis=1)
    return np.where(np.isfinite(near.min(axis=1)), grades[judged][nearest], np.nan)


def _mean_by_closeness(divergences: Array, grades: Array) -> Array:
    """Sums run over all documents with sound, unjudged ones at weight 0: the own judgment does not affect rounding."""
    others = np.isfinite(divergences).sum(axis=1)
    last = np.maximum(0, np.minimum(NEAREST, others) - 1)
    bandwidth = np.sqrt(np.take_along_axis(np.sort(divergences, axis=1), last[:, None], axis=1)[:, 0])
    bandwidth[others == 0] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(divergences == 0, 0.0, divergences / (bandwidth[:, None] * bandwidth))
    distance = np.where(np.isnan(grades), np.inf, scaled)
    least = distance.min(axis=1, keepdims=True)
    weights = np.exp(np.where(np.isfinite(least), least, 0.0) - distance)
    return ratio_or_nan((weights * np.nan_to_num(grades)).sum(axis=1), weights.sum(axis=1))


qSIM = Feature("qSIM", "audio", "nothing", 2, "closeness to the query as a rank in the index", query_proximity)
aSIM = Feature("aSIM", "audio", "own query", 1, "grade of the nearest other document", grade_of_nearest)
kSIM = Feature("kSIM", "audio", "own query", 1, "mean grade of the others, weighted by closeness", mean_by_closeness)
