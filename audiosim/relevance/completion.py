"""Completion of a pool's grades by expectations, for evaluators that read only judgments, such as trec_eval."""

from collections.abc import Iterator, Sequence

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment, Pair, Scale
from audiosim.relevance.belief import Belief


def expected_grades(belief: Belief) -> Array:
    """(n,) grade of each judged pair, and the expected grade of any other, consistent with the ranking.

    The expected grade is the expected gain times the highest grade. For sums of gains, such as CG and DCG, these grades
    give the scores of the ranking. `Belief.expectation` is the expectation of a single grade by its level
    probabilities.

    A normal mean may be slightly below 0, which readers of qrels interpret as unjudged, or above the highest grade; it
    is clipped to the scale.
    """
    return completed_grades(belief.grades, belief.gains.mean, belief.maximum)


def completed_grades(grades: Array, gains: Array, highest: float) -> Array:
    """(n,) grades, with the expected gain in place of unknown ones; see `expected_grades`.

    grades   (n,) NaN where unjudged
    gains    (n,) expected, as shares of the highest grade
    """
    return np.where(np.isnan(grades), np.clip(gains, 0, 1) * highest, grades)


def drawn_completions(belief: Belief, scale: Scale, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """(n,) grades of several completed pools: a judged pair keeps its grade, any other gets one drawn from the belief.

    Pairs are drawn jointly, so that a result computed from each pool varies by its true uncertainty: Rubin (1987). A
    drawn grade is rounded to the nearest one on the scale.
    """
    levels = np.array(scale.levels)
    middles = (levels[1:] + levels[:-1]) / 2
    drawn = np.empty((count, len(belief.grades)))
    for rows, grades in belief.draw(rng, count):
        drawn[:, rows] = grades
    for grades in drawn:
        yield np.where(belief.judged, belief.grades, levels[np.searchsorted(middles, grades)])


def completed_judgments(pairs: Sequence[Pair], grades: Array) -> list[Judgment]:
    """Judgments of all pairs with these grades (n,)."""
    return [Judgment(*pair, grade) for pair, grade in zip(pairs, grades.tolist(), strict=True)]
