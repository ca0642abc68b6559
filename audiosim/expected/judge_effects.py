"""Effect of each assessor on a ranking: the ranking with and without their judgments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audiosim.corpus.model import Judgment
from audiosim.display import listed
from audiosim.errors import InputError
from audiosim.expected.about import THESE, About
from audiosim.expected.choices import DifferenceDistribution
from audiosim.expected.estimation import ExpectedScores, estimate_after
from audiosim.expected.ranking import Ranking
from audiosim.expected.ranking_changes import RankingChange
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.relearning import without_comparisons_of

MOST_EFFECTS = 30  # most people left out one by one, starting with the most active: each case is learned anew


@dataclass(frozen=True, eq=False)
class JudgeEffect:
    """Effect of one person's judgments on a ranking.

    judge      name
    judgments  number of their judgments of pairs in the pool
    having     ranking with all their answers
    lacking    ranking without their answers, including comparisons, learned again from the others'
    """

    judge: str
    judgments: int
    having: Ranking
    lacking: Ranking

    @property
    def change(self) -> RankingChange:
        """Change of the ranking when their answers are left out."""
        return RankingChange(self.having, self.lacking)

    @property
    def turned(self) -> tuple[tuple[str, str], ...]:
        """Pairs of systems that change places; the better one with their judgments comes first."""
        return self.change.turned

    @property
    def most_changed(self) -> tuple[str, float]:
        """System with the largest change of score, and its score with their judgments minus the score without."""
        system, change = self.change.most_changed
        return system, -change

    @property
    def sentence(self) -> str:
        """The effect in one sentence."""
        return f"Without {self.judge}: {self.change.words}."

    def rows(self) -> list[dict[str, Any]]:
        """One row per system, best first with their judgments: rank and score with and without them."""
        return self.change.rows("without")

    def summary(self) -> dict[str, Any]:
        """Changes of the ranking without them, as plain values."""
        system, change = self.most_changed
        return {
            "turned": len(self.turned),
            "best_without": listed(self.lacking.leaders),
            "moved_most": system,
            "moved_by": -change,
            "confidence_without": self.lacking.confidence,
        }

    def to_dict(self) -> dict[str, Any]:
        """The effect as plain values, ready for JSON."""
        return {
            "judge": self.judge,
            "judgments": self.judgments,
            "about": self.having.about.to_dict(),
            "measure": str(self.having.measure),
            "confidence": self.having.confidence,
            **self.summary(),
            "pairs_turned": [list(pair) for pair in self.turned],
            "sentence": self.sentence,
            "systems": self.rows(),
        }


def judge_effect(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    judge: str,
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
) -> JudgeEffect:
    """Effect of one person's judgments on the ranking.

    estimator  estimator of the pool, before it learned from any judgment, with all valid comparisons
    judgments  judgments of all people, including this person
    """
    return judge_effects(expected, estimator, judgments, [judge], distribution, about)[0]


def judge_effects(
    expected: ExpectedScores,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    judges: Sequence[str],
    distribution: DifferenceDistribution = "t",
    about: About = THESE,
) -> list[JudgeEffect]:
    """Effects of some people, leaving out one at a time; the arguments are those of `judge_effect`."""
    pool = expected.pool
    inside = [one for one in judgments if one.pair in pool.positions]
    without = {name: without_comparisons_of(estimator, name) for name in judges}
    counts = {name: sum(one.assessor == name for one in inside) for name in judges}
    missing = next((name for name in judges if not counts[name] and not without[name][1]), None)
    if missing is not None:
        raise InputError(f"{missing!r} has judged no pair of {pool.collection}: expected the name of a person who has")

    def ranked(by: RelevanceEstimator, some: Sequence[Judgment]) -> Ranking:
        return estimate_after(expected, by, some, distribution, about)

    having = ranked(estimator, inside)
    others = {name: [one for one in inside if one.assessor != name] for name in judges}
    return [JudgeEffect(name, counts[name], having, ranked(without[name][0], others[name])) for name in judges]
