"""Vectors of the documents of a pool, and their proximity by angle."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.evidence_files import Evidence
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.neighbourhood import SHAPE, references_among
from audiosim.stats.gaussians.proximity import mutual_proximity


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
        """(m, m) similarity of the documents of some pairs, on the scale of `features.audio.closeness`."""
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
        references_among(len(piece.keys)),
        np.array([places.get(pair.document, UNKNOWN) for pair in pool.pairs], dtype=np.int64),
        np.array([places.get(document, UNKNOWN) for document in pool.query_documents], dtype=np.int64),
    )
