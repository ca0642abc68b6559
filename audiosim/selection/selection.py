"""A judging loop at one moment: what it asks next, and what it makes of the answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.grades import grades_by_assessor, mean_grade, mean_grades
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.expected.estimation import ExpectedScores, expected_scores, rank
from audiosim.expected.ranking import DifferenceDistribution, Ranking
from audiosim.measures.measure import Measure
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.model_check import check_model
from audiosim.relevance.relearning import after_grades, is_moment, last_moment, relearned
from audiosim.selection.rules import SelectionRule, default_selection_rule, make_selection_rule
from audiosim.selection.stopping import Confidence, StoppingRule
from audiosim.stats.multivariate import Moments


@dataclass(frozen=True, eq=False)
class Selection:
    """A judging loop at one moment; a value: `tell` returns the next one.

    expected   how the measure that ranks the systems is expected, in the pool to judge
    estimator  for this pool
    rule       what makes a pair worth judging
    batch      after how many judgments the estimator and the rule are asked again
    ties       (n,) drawn once: of pairs of equal weight the one with the larger comes first
    told       the grades of each judged pair, by assessor
    belief     about the n pairs, of which the grade of a judged one is the mean over its assessors
    scores     moments of the systems' mean scores
    asked      the selection when estimator and rule were last asked; None where they were asked for this one
    tells      judgments told since the start
    learns     whether the estimator learns anew by itself, at the moments of `relearning`; else `taught` says when
    distribution  of a difference between systems: see `Ranking`
    """

    expected: ExpectedScores
    estimator: RelevanceEstimator
    rule: SelectionRule
    batch: int
    ties: Array
    told: Mapping[Pair, Mapping[str, float]]
    belief: Belief
    scores: Moments
    asked: "Selection | None" = None
    tells: int = 0
    learns: bool = True
    distribution: DifferenceDistribution = "t"

    @classmethod
    def start(
        cls,
        pool: Pool,
        measure: Measure | ExpectedScores,
        estimator: RelevanceEstimator,
        judgments: Iterable[Judgment] = (),
        batch: int = 1,
        rule: str | SelectionRule | None = None,
        seed: int = 0,
        learned: Mapping[Pair, float] | None = None,
        learns: bool = True,
        distribution: DifferenceDistribution = "t",
    ) -> "Selection":
        """The selection after these judgments; those of pairs outside the pool are left out.

        measure  or how it is expected, where that is not as `expected_scores` has it
        rule     name in SELECTION_RULES, or a rule for these expected scores; None: see `default_selection_rule`
        seed     of the draw that breaks ties, and of what the rule draws
        learned  grades that the estimator learns from; where None those of the judgments, in their order
        learns   whether it learns anew by itself as it goes on
        distribution  of a difference between systems: "t", or "normal" as in the paper of 2013
        """
        if batch < 1:
            raise InputError(f"batch must be at least 1, got {batch}")
        expected = expected_scores(measure, pool) if isinstance(measure, Measure) else measure
        told = grades_by_assessor(judgment for judgment in judgments if judgment.pair in pool.positions)
        grades = {pair: mean_grade(said) for pair, said in told.items()}
        estimator = after_grades(pool, estimator, grades if learned is None else learned)
        belief = estimator.predict(pool.spread(grades))
        rule = default_selection_rule(belief) if rule is None else rule
        rule = make_selection_rule(rule, expected, seed) if isinstance(rule, str) else rule
        ties = np.random.default_rng(seed).random(len(pool.pairs))
        scores = expected.scores(belief)
        return cls(
            expected, estimator, rule, batch, ties, told, belief, scores, learns=learns, distribution=distribution
        )

    @property
    def pool(self) -> Pool:
        """The pairs to judge."""
        return self.expected.pool

    @property
    def measure(self) -> Measure:
        """Measure that the systems are ranked by."""
        return self.expected.measure

    @property
    def grades(self) -> Array:
        """(n,) grade of each pair, the mean over its assessors; NaN where unjudged."""
        return self.belief.grades

    @property
    def judged(self) -> int:
        """Number of pairs of the pool that are judged."""
        return len(self.told)

    @cached_property
    def ranking(self) -> Ranking:
        """Expected scores of the systems now."""
        correlated = self.belief.prior.correlated
        return rank(self.expected, self.estimator.name, self.scores, self.judged, self.distribution, correlated)

    @cached_property
    def checked(self) -> Ranking:
        """The ranking with a check of the model by the judgments so far; see `ModelCheck`."""
        order = self.pool.locate(list(self.told))
        return self.ranking.with_check(check_model(self.estimator, self.grades, order))

    @property
    def confidence(self) -> float:
        """The mean confidence in the order of two systems now."""
        return self.ranking.confidence

    @cached_property
    def weights(self) -> Array:
        """(n,) what the judgment of each pair was worth when the rule was last asked."""
        return self.rule.weights(self.belief, self.ranking) if self.asked is None else self.asked.weights

    def reached(self, stop: float | StoppingRule) -> bool:
        """True if judging may stop: a goal is met, or no judgment is worth anything any more.

        stop  a goal, or a mean confidence
        """
        stop = stop if isinstance(stop, StoppingRule) else Confidence(stop)
        return stop.reached(self) or not self.weights[~self.belief.judged].any()

    def ask(self, count: int = 1, allowed: Booleans | None = None, by_query: bool = False) -> list[Pair]:
        """The unjudged pairs most worth judging, best first; fewer where fewer are left.

        allowed   (n,) which pairs may be asked for; all where None
        by_query  ask for pairs of as few queries as will do, so that one query at a time is listened to: the query
                  whose best `count` pairs are worth most, then the next

        Of equal weight, the one that was drawn first; of equal queries, that of the pair drawn first.
        """
        if count < 1:
            raise InputError(f"the number of pairs to ask for must be at least 1, got {count}")
        unjudged = np.flatnonzero(~self.belief.judged & (True if allowed is None else allowed))
        chosen = self._best_queries(unjudged, count) if by_query else self._best(unjudged, count)
        return [self.pool.pairs[place] for place in chosen]

    def _best(self, places: Integers, count: int) -> Integers:
        weights = self.weights[places]
        if count < len(places):
            least = np.partition(weights, len(weights) - count)[len(weights) - count]
            places, weights = places[weights >= least], weights[weights >= least]
        return places[np.lexsort((-self.ties[places], -weights))[:count]]

    def _best_queries(self, places: Integers, count: int) -> Integers:
        query = self.pool.query[places]
        order = np.lexsort((-self.ties[places], -self.weights[places], query))
        places, query = places[order], query[order]
        starts = np.searchsorted(query, np.arange(len(self.pool.queries)))
        rank = np.arange(len(places)) - starts[query]
        top, first = rank < count, rank == 0
        worth, drawn = np.bincount(query[top], self.weights[places[top]], len(starts)), np.zeros(len(starts))
        drawn[query[first]] = self.ties[places[first]]
        return places[np.lexsort((-drawn[query], -worth[query]))[:count]]

    def tell(self, judgment: Judgment) -> "Selection":
        """The selection after one more judgment; a second one by the same assessor replaces the first."""
        self.pool.scale.check(judgment.grade)
        return self._after(judgment.pair, {**self.told.get(judgment.pair, {}), judgment.assessor: judgment.grade})

    def withdraw(self, pair: Pair, assessor: str) -> "Selection":
        """The selection as if this assessor had not judged this pair."""
        if assessor not in self.told.get(pair, {}):
            raise InputError(f"{assessor or 'nobody'} has not judged document {pair.document} for query {pair.query}")
        return self._after(pair, {other: grade for other, grade in self.told[pair].items() if other != assessor})

    def taught(self, estimator: RelevanceEstimator) -> "Selection":
        """The selection whose estimator has learned; estimator and rule are asked now."""
        belief = estimator.predict(self.grades)
        return replace(self, estimator=estimator, belief=belief, scores=self.expected.scores(belief), asked=None)

    def _after(self, pair: Pair, said: Mapping[str, float]) -> "Selection":
        """The selection in which these are the grades of a pair, by assessor."""
        index = int(self.pool.locate([pair])[0])
        told = {**self.told, pair: said}
        if not said:
            del told[pair]
        tells, estimator, grades = self.tells + 1, self.estimator, self.grades.copy()
        grades[index] = mean_grade(said)
        if self.learns and len(told) > len(self.told) and is_moment(len(told)):
            estimator = relearned(estimator, grades)
        new, same = pair not in self.told, estimator is self.estimator
        again = not new or not same or tells % self.batch == 0
        if again:
            belief = estimator.predict(grades).resumed(self.belief)
        else:
            belief = self.belief.condition(index, grades[index])
        if new and belief.prior is self.belief.prior:
            scores = self.expected.after(self.scores, self.belief, belief, index)
        else:
            scores = self.expected.scores(belief)
        asked = None if again else self.asked or self
        return replace(self, estimator=estimator, told=told, belief=belief, scores=scores, asked=asked, tells=tells)


def confidences(
    pool: Pool,
    measure: Measure,
    estimator: RelevanceEstimator,
    judgments: Sequence[Judgment],
    moments: int = 60,
    distribution: DifferenceDistribution = "t",
) -> list[tuple[int, float]]:
    """Course of the confidence in the ranking while judgments were made: (judgments, confidence) at some moments.

    judgments  in the order in which they were made
    moments    how many, evenly spaced, before the first judgment and after the last among them
    """
    places = sorted({round(step * len(judgments) / (moments - 1)) for step in range(moments)})
    learned: dict[int, RelevanceEstimator] = {}
    found = []
    for place in places:
        grades = mean_grades(judgment for judgment in judgments[:place] if judgment.pair in pool.positions)
        moment = last_moment(len(grades))
        if moment not in learned:
            learned[moment] = after_grades(pool, estimator, grades)
        selection = Selection.start(
            pool, measure, learned[moment], judgments[:place], learned={}, distribution=distribution
        )
        found.append((place, selection.confidence))
    return found
