"""Evidence about the pairs of a pool, each piece as columns of one kind: sound, and the user's own.

A column is in standard deviations over the retrieved pairs, with mean 0, and 0 where unknown, so that one prior of the
slopes suits all columns, whatever their units. The proximity of a document to the query, by sound or vectors, becomes

    e = -ln(1 - P + 1 / r),   P the mutual proximity of the two among r references

which spreads out neighbours and compresses everything far away. Numbers are replaced by normal scores of their ranks,
so that outliers and units do not matter.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from audiosim.collection.evidence import Evidence, MachineJudge
from audiosim.collection.pool import Pool
from audiosim.ordinal.feature import once_per_pool
from audiosim.ordinal.judgment import ratio_or_nan
from audiosim.ordinal.sound import angles_of, gaussian_proximity, sounds_of
from audiosim.sound.closeness import REFERENCES
from audiosim.stats.arrays import Array, Booleans

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
    return _nearness(gaussian_proximity(pool), 0 if sounds is None else min(REFERENCES, sounds.settled))


def _nearness(proximity: Array, references: int) -> Array:
    return -np.log(1 - proximity + 1 / max(1, references))


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


# Grades by judging machines, split into parts for queries, for systems, and for documents within both.
#
# A machine's grades, as normal scores in standard deviations over the retrieved pairs, are the sum of
#
# query      the mean over the retrieved pairs of the query
# system     the least change of single pairs that gives each system its mean grade m, tempered: REACH tanh(m / REACH)
# excess     the remainder of these means, beyond the differences between systems in people's grades
# within     the rest, which adds nothing to the mean grade of any system
#
# If a machine favours a system, the system's mean grade stands out by more than the differences between systems in
# people's grades. This is the excess, and models weight it separately.


LEVELS = ("within", "system", "query", "excess")
REACH = 0.5  # in standard deviations of a grade: people's mean grades of systems differ by .3 to .45 of one
RIDGE = 0.02  # share of the mean square, so that systems with nearly the same results are not separated by rounding


@dataclass(frozen=True, eq=False)
class MachineGrades:
    """Grades of one machine, split into parts.

    name    name of the machine
    known   (n,) True if the machine graded the pair
    parts   (n, 4) part of each of LEVELS; they sum to the grade, 0 where unknown
    scores  (s,) mean grade of each system, from the mean of all
    """

    name: str
    known: Booleans
    parts: Array
    scores: Array


@once_per_pool
def machine_grades(pool: Pool) -> tuple[MachineGrades, ...]:
    """The grades of a pool's machines, without uninformative machines."""
    found = (_decomposed(pool, judge) for judge in pool.judges)
    return tuple(one for one in found if one is not None)


def _decomposed(pool: Pool, judge: MachineJudge) -> MachineGrades | None:
    raw = pool.spread(judge.grades())
    column = standard_column(pool, judge.name, normal_scores(raw, pool.found))
    if column is None:
        return None
    counted = column.known & pool.found
    per_query = np.bincount(pool.query[counted], minlength=len(pool.queries))
    sums = np.bincount(pool.query[counted], column.values[counted], len(pool.queries))
    query = np.where(column.known, (sums / np.maximum(1, per_query))[pool.query], 0.0)
    left = np.where(column.known, column.values - query, 0.0)
    weights = mean_weights(pool, counted)
    scores = weights @ left
    scores = scores - scores.mean()
    tempered = REACH * np.tanh(scores / REACH)
    system, excess = _spread(weights, np.column_stack([tempered, scores - tempered])).T
    return MachineGrades(
        judge.name, column.known, np.column_stack([left - system - excess, system, query, excess]), scores
    )


def mean_weights(pool: Pool, counted: Booleans) -> sparse.csr_array:
    """(s, n) weights that average a value over the counted pairs of each system."""
    there = sparse.csr_array(pool.retrieved @ sparse.diags_array(counted.astype(np.float64)))
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(1, there.sum(axis=1))) @ there)


def _spread(weights: sparse.csr_array, scores: Array) -> Array:
    """(n, k) values of pairs with the smallest sum of squares, given their means over systems (s, k)."""
    gram = (weights @ weights.T).toarray()
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.asarray(weights.T @ np.linalg.solve(gram, scores))
