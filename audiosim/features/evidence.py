"""Evidence on the pairs of a pool, each piece as columns of one kind: sound, and what the user brings.

A column is in standard deviations over the pairs that systems retrieved, mean 0, and 0 where nothing is known: whatever
its units were, the same prior of what it counts will do. How near a document is to the query, by sound or vectors, is

    e = -ln(1 - P + 1 / r),   P the mutual proximity of the two among r references

which tells neighbours apart and leaves all that is far off alike. Numbers are taken as normal scores of their ranks, so
that outliers and units do not matter.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.evidence_files import Evidence
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.audio import query_proximity, sounds_of
from audiosim.features.feature import once_per_pool
from audiosim.features.neighbourhood import REFERENCES, SHAPE, references_among
from audiosim.features.systems import ratio_or_nan
from audiosim.stats.proximity import mutual_proximity

SOUND_EVIDENCE = "sound"
ALIKE = 1e-9  # standard deviation of what is the same everywhere


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of a piece of evidence for each of n pairs.

    name    of the evidence
    values  (n,) in standard deviations from the mean of the retrieved pairs with a value; 0 where unknown
    known   (n,) whether the pair has a value
    """

    name: str
    values: Array
    known: Booleans


@once_per_pool
def sound_columns(pool: Pool) -> tuple[Column, ...]:
    """The columns of sound: of the Gaussians of an index, and of vectors; those that tell nothing left out."""
    gaussians = standard_column(pool, SOUND_EVIDENCE, _sound(pool)) if pool.sounds is not None else None
    vectors = (standard_column(pool, piece.name, _own(pool, piece)) for piece in pool.evidence if piece.of_sound)
    return _telling(gaussians, *vectors)


@once_per_pool
def user_columns(pool: Pool) -> tuple[Column, ...]:
    """The columns of the user's own evidence, those that tell nothing left out."""
    own = (piece for piece in pool.evidence if not piece.of_sound)
    return _telling(*(standard_column(pool, piece.name, _own(pool, piece)) for piece in own))


def _telling(*columns: Column | None) -> tuple[Column, ...]:
    return tuple(column for column in columns if column is not None)


def standard_column(pool: Pool, name: str, values: Array) -> Column | None:
    """The column in standard deviations; None where it is known of too few pairs, or the same of all."""
    known = ~np.isnan(values)
    counted = values[known & pool.found]
    if len(counted) < 2 or not counted.std() > ALIKE * max(1.0, float(np.abs(counted).max())):
        return None
    return Column(name, np.where(known, (values - counted.mean()) / counted.std(), 0.0), known)


def _sound(pool: Pool) -> Array:
    sounds = sounds_of(pool)
    return _nearness(query_proximity(pool), 1 if sounds is None else min(REFERENCES, sounds.settled))


def _nearness(proximity: Array, references: int) -> Array:
    return -np.log(1 - proximity + 1 / references)


def _own(pool: Pool, piece: Evidence) -> Array:
    """(n,) what a piece of the user's says of each pair, NaN where unknown."""
    if piece.is_vector:
        angles = angles_of(pool, piece)
        return _nearness(angles.to_query(pool), len(angles.references))
    by_key = dict(zip(piece.keys, piece.values.tolist(), strict=True))
    if piece.about == "pair":
        numbers = np.array([by_key.get((pair.query, pair.document), np.nan) for pair in pool.pairs])
    elif piece.about == "document":
        numbers = np.array([by_key.get(pair.document, np.nan) for pair in pool.pairs])
    else:
        of_systems = np.array([by_key.get(system, np.nan) for system in pool.systems])
        is_known = ~np.isnan(of_systems)
        numbers = ratio_or_nan(
            np.where(is_known, of_systems, 0.0) @ pool.retrieved, is_known.astype(float) @ pool.retrieved
        )
    return normal_scores(numbers, pool.found)


def normal_scores(numbers: Array, counted: Booleans) -> Array:
    """(n,) normal quantiles of the ranks among the numbers that count, equal ones at their middle; NaN stays."""
    others = np.sort(numbers[counted & ~np.isnan(numbers)])
    if len(others) == 0:
        return np.full(len(numbers), np.nan)
    below = (np.searchsorted(others, numbers, "left") + np.searchsorted(others, numbers, "right")) / 2
    share = np.clip(below, 0.5, len(others) - 0.5) / len(others)
    return np.where(np.isnan(numbers), np.nan, ndtri(share))


@dataclass(frozen=True, slots=True, eq=False)
class Angles:
    """The documents of a pool among all that a piece of evidence has vectors of.

    vectors     (k, d) of length 1
    references  (r,) places: all, or REFERENCES of them drawn once
    document    (n,) place of each pair's document, UNKNOWN where it has no vector
    query       (q,) place of each query's own document, UNKNOWN where it has none
    """

    vectors: Array
    references: Integers
    document: Integers
    query: Integers

    def proximity(self, one: int, others: Integers) -> Array:
        """(m,) mutual proximity, by the angle between vectors, of a place and others; see `stats.proximity`."""
        chosen = self.vectors[others]
        distances, far = 1 - chosen @ self.vectors[one], self.vectors[self.references]
        counted = (self.references != others[:, None]) & (self.references != one)
        near = mutual_proximity(distances, 1 - far @ self.vectors[one], 1 - chosen @ far.T, counted)
        near[others == one] = 1.0
        return near

    def to_query(self, pool: Pool) -> Array:
        """(n,) proximity of each pair's document to its query; NaN where either has no vector."""
        found = np.full(len(pool.pairs), np.nan)
        for code in np.flatnonzero(self.query != UNKNOWN):
            rows = np.flatnonzero((pool.query == code) & (self.document != UNKNOWN))
            if len(rows):
                found[rows] = self.proximity(int(self.query[code]), self.document[rows])
        return found

    def likeness(self, rows: Integers) -> Array:
        """(m, m) how alike the documents of some pairs are, as `features.audio.closeness` has it of sounds."""
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
    )  # squares of these neither over- nor underflow
    return Angles(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
        references_among(len(piece.keys)),
        np.array([places.get(pair.document, UNKNOWN) for pair in pool.pairs], dtype=np.int64),
        np.array([places.get(document, UNKNOWN) for document in pool.query_documents], dtype=np.int64),
    )
