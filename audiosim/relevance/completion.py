"""A pool's grades completed by what is believed: for evaluators that know of judgments alone, such as trec_eval."""

from collections.abc import Iterator, Sequence

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment, Pair, Scale
from audiosim.relevance.belief import Belief


def expected_grades(belief: Belief) -> Array:
    """(n,) grade of each judged pair, and the expected one of any other, as the ranking has it.

    The expected gain times the highest grade: of sums of gains, such as CG and DCG, the scores of these grades are
    those of the ranking. What is expected of a single grade, by its level probabilities, is `Belief.expectation`.

    A normal mean may lie a little below 0, which readers of qrels take for unjudged, or beyond the highest grade: it is
    put on that end.
    """
    return np.where(belief.judged, belief.grades, np.clip(belief.gains.mean, 0, 1) * belief.maximum)


def drawn_completions(belief: Belief, scale: Scale, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """(n,) grades of several completed pools: of a judged pair its own, of any other one drawn from the belief.

    Pairs are drawn together, so that what is computed of each pool varies as it is uncertain: Rubin (1987). A drawn
    grade is put on the nearest one of the scale.
    """
    levels = np.array(scale.levels)
    middles = (levels[1:] + levels[:-1]) / 2
    drawn = np.empty((count, len(belief.grades)))
    for rows, grades in belief.draw(rng, count):
        drawn[:, rows] = grades
    for grades in drawn:
        yield np.where(belief.judged, belief.grades, levels[np.searchsorted(middles, grades)])


def completed_judgments(pairs: Sequence[Pair], grades: Array) -> list[Judgment]:
    """Judgments of all pairs by these grades (n,)."""
    return [Judgment(*pair, grade) for pair, grade in zip(pairs, grades.tolist(), strict=True)]
