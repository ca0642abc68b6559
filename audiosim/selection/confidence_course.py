"""Confidence in the ranking over the course of judging."""

from collections.abc import Sequence

from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment
from audiosim.corpus.pool import Pool
from audiosim.expected.about import THESE, About
from audiosim.expected.choices import DifferenceDistribution
from audiosim.measures.measure import Measure
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.moments import last_moment
from audiosim.relevance.relearning import taught_by
from audiosim.selection.selection import Selection


def confidences(
    pool: Pool,
    measure: Measure,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    moments: int = 60,
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
) -> list[tuple[int, float | None]]:
    """Confidence in the ranking over the course of judging: (number of judgments, confidence) at some moments.

    judgments  judgments in the order of judging
    moments    number of evenly spaced moments, including those before the first and after the last judgment
    """
    places = sorted({round(step * len(judgments) / (moments - 1)) for step in range(moments)})
    learned: dict[int, RelevanceEstimator] = {}
    found = []
    for place in places:
        grades = mean_grades(judgment for judgment in judgments[:place] if judgment.pair in pool.positions)
        moment = last_moment(len(grades))
        if moment not in learned:
            learned[moment] = taught_by(pool, estimator, judgments[:place])
        selection = Selection.start(
            pool, measure, learned[moment], judgments[:place], learned={}, distribution=distribution, about=about
        )
        found.append((place, selection.confidence))
    return found
