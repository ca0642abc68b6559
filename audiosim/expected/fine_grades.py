"""Grades of the scale drawn within the model's coarser levels, for measures that compare grades."""

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Scale
from audiosim.relevance.belief import Belief
from audiosim.relevance.level_chances import nearest_level

HELD = 1.0  # weight, in judgments, of the prior under which all grades of a level are equally likely


def within_levels(belief: Belief, scale: Scale, rows: Integers, grades: Array, rng: np.random.Generator) -> Array:
    """(draws, m) drawn grades of some pairs, each moved from its level's grade to a grade within that level.

        P(grade | level) = (HELD / grades in the level + judged so) / (HELD + judged in the level)

    belief  belief that the grades were drawn from
    rows    (m,) places of the pairs
    grades  (draws, m)

    Ten levels for a hundred grades create ties that are not on the scale, and a measure that compares grades counts
    a tie as success. Ties on round grades, which people give more often, are real and remain. Grades of judged pairs
    are known.
    """
    every = np.array(scale.levels)
    if len(every) == len(belief.levels):
        return grades
    counts = np.bincount(np.searchsorted(every, belief.grades[belief.judged]).clip(0, len(every) - 1), None, len(every))
    of, moved = nearest_level(belief.levels, every), grades.copy()
    drawn, open_ = np.searchsorted(belief.level_grades, grades), ~belief.judged[rows]
    chance = rng.random(grades.shape)
    for level in range(len(belief.levels)):
        there = of == level
        weights = HELD / there.sum() + counts[there]
        cells = (drawn == level) & open_
        at = np.searchsorted(np.cumsum(weights) / weights.sum(), chance[cells])
        moved[cells] = every[there][at.clip(0, there.sum() - 1)]
    return moved
