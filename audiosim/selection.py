"""Which pair is worth judging next, and when enough is judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.measures.expected import Ranking, rank, rank_weights
from audiosim.measures.measure import Measure
from audiosim.relevance.estimators import RelevanceEstimator, gains
from audiosim.stats.moments import Moments


def pairs_of_systems_affected(measure: Measure, pool: Pool) -> Array:
    """(n,) how much each pair's judgment tells about the differences between systems.

        w_d = sum over pairs of systems (a, b) of |discount_a(d) - discount_b(d)|

    For CG this counts the pairs of systems of which only one retrieved the document. Urbano (2013), section 8.3.

    With the s values of a column sorted, the sum is that of value times (2 position - s + 1),
    positions from 0; what is not retrieved has value 0 and comes first.
    """
    systems = len(pool.systems)
    columns = rank_weights(measure, pool).tocsc()
    column = np.repeat(np.arange(len(pool.pairs)), np.diff(columns.indptr))
    value = columns.data[np.lexsort((columns.data, column))]
    position = systems - columns.indptr[column + 1] + np.arange(len(value))
    return np.asarray(np.bincount(column, value * (2 * position - systems + 1), len(pool.pairs)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Selection:
    """A judging loop at one moment; a value: `tell` returns the next one.

    pool        the pairs to judge
    measure     what the systems are ranked by
    estimator   for this pool
    batch       after how many judgments the estimator is asked again
    weights     (n,) what each pair tells about the ranking
    told        the grades of each judged pair, by assessor
    grades      (n,) grade of each pair, the mean over its assessors; NaN where unjudged
    moments     of the gains of the n pairs
    tells       judgments told since the start
    """

    pool: Pool
    measure: Measure
    estimator: RelevanceEstimator
    batch: int
    weights: Array
    told: Mapping[Pair, Mapping[str, float]]
    grades: Array
    moments: Moments
    tells: int = 0

    @classmethod
    def start(
        cls,
        pool: Pool,
        measure: Measure,
        estimator: RelevanceEstimator,
        judgments: Iterable[Judgment] = (),
        batch: int = 1,
    ) -> "Selection":
        """The selection after these judgments; those of pairs outside the pool are left out."""
        if batch < 1:
            raise InputError(f"batch must be at least 1, got {batch}")
        told: dict[Pair, dict[str, float]] = {}
        for judgment in judgments:
            if judgment.pair in pool.positions:
                told.setdefault(judgment.pair, {})[judgment.assessor] = judgment.grade
        grades = pool.spread({pair: _mean(said) for pair, said in told.items()})
        moments = gains(pool, estimator.predict(grades), grades)
        weights = pairs_of_systems_affected(measure, pool)
        return cls(pool, measure, estimator, batch, weights, told, grades, moments)

    @property
    def judged(self) -> int:
        """How many pairs of the pool are judged."""
        return len(self.told)

    @cached_property
    def ranking(self) -> Ranking:
        """What the systems' scores are expected to be now."""
        return rank(self.measure, self.pool, self.estimator.name, self.moments, self.judged)

    @property
    def confidence(self) -> float:
        """The confidence in the ranking now; `reached` compares it with a target."""
        return self.ranking.confidence

    def reached(self, target: float) -> bool:
        """Whether judging may stop: the confidence is at its target, or no judgment can change the ranking any more."""
        return self.confidence >= target or not self.weights[np.isnan(self.grades)].any()

    def ask(self, count: int = 1) -> list[Pair]:
        """The unjudged pairs most worth judging, best first; fewer where fewer are left.

        By weight; of equal weight, the one that is least certain first; then in the order of the pool.
        """
        if count < 1:
            raise InputError(f"the number of pairs to ask for must be at least 1, got {count}")
        unjudged = np.flatnonzero(np.isnan(self.grades))
        order = np.lexsort((-self.moments.variance[unjudged], -self.weights[unjudged]))
        return [self.pool.pairs[i] for i in unjudged[order[:count]]]

    def tell(self, judgment: Judgment) -> "Selection":
        """The selection after one more judgment; a second one by the same assessor replaces the first."""
        index = int(self.pool.locate([judgment.pair])[0])
        self.pool.scale.check(judgment.grade)
        said = {**self.told.get(judgment.pair, {}), judgment.assessor: judgment.grade}
        told = {**self.told, judgment.pair: said}
        grades = self.grades.copy()
        grades[index] = _mean(said)
        tells = self.tells + 1
        if tells % self.batch == 0 or judgment.pair in self.told:
            moments = gains(self.pool, self.estimator.predict(grades), grades)
        else:
            moments = self.moments.know(index, grades[index] / self.pool.scale.maximum)
        return replace(self, told=told, grades=grades, moments=moments, tells=tells)


def _mean(said: Mapping[str, float]) -> float:
    return sum(said.values()) / len(said)


def confidences(
    pool: Pool, measure: Measure, estimator: RelevanceEstimator, judgments: Sequence[Judgment], moments: int = 60
) -> list[tuple[int, float]]:
    """How the confidence in the ranking grew while judgments were made: (judgments, confidence) at some moments.

    judgments  in the order in which they were made
    moments    how many, evenly spaced, before the first judgment and after the last among them
    """
    places = sorted({round(step * len(judgments) / (moments - 1)) for step in range(moments)})
    starts = (Selection.start(pool, measure, estimator, judgments[:place]) for place in places)
    return [(place, selection.confidence) for place, selection in zip(places, starts, strict=True)]
