"""Grades drawn from what is predicted."""

from collections.abc import Iterator

import numpy as np
from scipy.special import stdtr

from audiosim.arrays import Array, Integers
from audiosim.relevance.estimators import Relevance
from audiosim.relevance.prediction import FREEDOM
from audiosim.stats.field import Field


def grades_at(relevance: Relevance, rows: Integers, chance: Array) -> Array:
    """(draws, m) the grades of some pairs: of a judged one its own, of any other the level that a chance falls on.

    rows    (m,)
    chance  (draws, m) in [0, 1]
    """
    reached = np.cumsum(relevance.prediction.probabilities[rows], axis=1)[:, :-1]
    level = np.zeros(chance.shape, dtype=np.int64)
    for column in reached.T:
        level += chance > column
    return np.where(relevance.judged[rows], relevance.grades[rows], relevance.prediction.levels[level])


def joint_grades(
    relevance: Relevance, field: Field, rng: np.random.Generator, draws: int
) -> Iterator[tuple[Integers, Array]]:
    """For each block of a prediction's field its pairs (m,), and drawn grades (draws, m) that hang together as there.

    A value drawn from the field is put on the scale where the level probabilities have it: FREEDOM degrees of freedom
    are for the tails of single grades, not for how grades hang together.
    """
    deviation = np.sqrt(np.where(field.variance > 0, field.variance, 1))
    for rows, values in field.draw(rng, draws):
        yield rows, grades_at(relevance, rows, stdtr(FREEDOM, (values - field.mean[rows]) / deviation[rows]))
