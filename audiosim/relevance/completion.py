"""Completion of a pool's grades by drawn ones, for evaluators that read only judgments, such as trec_eval."""

from collections.abc import Iterator, Sequence

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment, Pair, Scale
from audiosim.errors import InputError
from audiosim.relevance.belief import Belief


def drawn_completions(belief: Belief, scale: Scale, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """(n,) grades of several completed pools: a judged pair keeps its grade, any other gets a whole one drawn.

    Pairs are drawn jointly, so that a result computed from each pool varies by its true uncertainty: Rubin (1987). What
    is drawn, or the mean of several people's grades, may lie between two grades of the scale: it becomes one of them at
    random, so that its mean stays.
    """
    levels, n = np.array(scale.levels), len(belief.grades)
    if np.any(levels != np.round(levels)):
        raise InputError(f"qrels hold whole grades, the scale has {scale}")
    drawn = np.empty((count, n))
    for rows, grades in belief.draw(rng, count):
        drawn[:, rows] = grades
    drawn[:, belief.settled] = belief.grades[belief.settled]
    for grades in drawn:
        upper = np.searchsorted(levels, grades).clip(1, len(levels) - 1)
        low, high = levels[upper - 1], levels[upper]
        yield np.where(rng.random(n) * (high - low) < grades - low, high, low)


def completed_judgments(pairs: Sequence[Pair], grades: Array) -> list[Judgment]:
    """Judgments of all pairs with these grades (n,)."""
    return [Judgment(*pair, grade) for pair, grade in zip(pairs, grades.tolist(), strict=True)]
