"""Evidence about the pairs of a pool, each piece as columns of one kind: sound, and the user's own.

A column is in standard deviations over the retrieved pairs, with mean 0, and 0 where unknown, so that one prior of the
slopes suits all columns, whatever their units. The proximity of a document to the query, by sound or vectors, becomes

    e = -ln(1 - P + 1 / r),   P the mutual proximity of the two among r references

which spreads out neighbours and compresses everything far away. Numbers are replaced by normal scores of their ranks,
so that outliers and units do not matter.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from audiosim.arrays import Array, Booleans
from audiosim.corpus.evidence_files import Evidence
from audiosim.corpus.pool import Pool
from audiosim.features.angles import angles_of
from audiosim.features.audio import gaussian_proximity, sounds_of
from audiosim.features.feature import once_per_pool
from audiosim.features.neighbourhood import REFERENCES
from audiosim.features.systems import ratio_or_nan

SOUND_EVIDENCE = "sound"
ALIKE = 1e-9  # standard deviation below which a column counts as constant


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of a piece of evidence for each of n pairs.

    name    name of the evidence
    values  (n,) in standard deviations from the mean of the retrieved pairs with a value; 0 where unknown
    known   (n,) True if the pair has a value
    """

    name: str
    values: Array
    known: Booleans


@once_per_pool
def sound_columns(pool: Pool) -> tuple[Column, ...]:
    """Columns of sound, from the Gaussians of an index and from vectors, without uninformative ones."""
    gaussians = standard_column(pool, SOUND_EVIDENCE, _sound(pool)) if pool.sounds is not None else None
    vectors = (standard_column(pool, piece.name, _own(pool, piece)) for piece in pool.evidence if piece.of_sound)
    return _telling(gaussians, *vectors)


@once_per_pool
def user_columns(pool: Pool) -> tuple[Column, ...]:
    """Columns of the user's own evidence, without uninformative ones."""
    own = (piece for piece in pool.evidence if not piece.of_sound)
    return _telling(*(standard_column(pool, piece.name, _own(pool, piece)) for piece in own))


def _telling(*columns: Column | None) -> tuple[Column, ...]:
    return tuple(column for column in columns if column is not None)


def standard_column(pool: Pool, name: str, values: Array) -> Column | None:
    """Column in standard deviations; None if too few pairs have a value, or if all values are equal."""
    known = ~np.isnan(values)
    counted = values[known & pool.found]
    if len(counted) < 2 or not counted.std() > ALIKE * max(1.0, float(np.abs(counted).max())):
        return None
    return Column(name, np.where(known, (values - counted.mean()) / counted.std(), 0.0), known)


def _sound(pool: Pool) -> Array:
    sounds = sounds_of(pool)
    return _nearness(gaussian_proximity(pool), 1 if sounds is None else min(REFERENCES, sounds.settled))


def _nearness(proximity: Array, references: int) -> Array:
    return -np.log(1 - proximity + 1 / references)


def _own(pool: Pool, piece: Evidence) -> Array:
    """(n,) values of a piece of the user's evidence, NaN where unknown."""
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
    """(n,) normal quantiles of the ranks among the counted numbers; ties get their middle; NaN stays NaN."""
    others = np.sort(numbers[counted & ~np.isnan(numbers)])
    if len(others) == 0:
        return np.full(len(numbers), np.nan)
    below = (np.searchsorted(others, numbers, "left") + np.searchsorted(others, numbers, "right")) / 2
    share = np.clip(below, 0.5, len(others) - 0.5) / len(others)
    return np.where(np.isnan(numbers), np.nan, ndtri(share))
