"""Expectation of any measure, by drawing grades from the level probabilities and scoring them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy import sparse

from audiosim.collection.pool import Pool
from audiosim.collection.values import Scale
from audiosim.errors import InputError
from audiosim.joint.levels import nearest_level
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import Measure, score, usual_minimum
from audiosim.measures.satisfaction import SatisfactionMapping
from audiosim.ranking.linear import (
    check_cutoff,
    mean_sample_covariance,
    rows_by_query,
    sample_covariance,
    settled,
    spread_over_ranks,
)
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.multivariate import Moments, MultivariateNormal

# Grades of the scale drawn within the model's coarser levels, for measures that compare grades.


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


DRAWS = 1000

MapScores = Callable[[Array], Array]  # function from scores (s, draws) of a query to mapped scores


@dataclass(frozen=True, eq=False)
class SampledScores:
    """Moments of the systems' mean scores over the queries, for any measure, by simulation.

    draws  number of draws of all grades; the standard error of a mean score is sqrt(Var / draws)
    seed   seed of the draws; every state of the judgments uses the same random numbers, so that states can be compared

    Grades are drawn from the belief, independent or correlated. The ideal ranking is that of all retrieved and all
    judged documents.
    """

    measure: Measure
    pool: Pool
    draws: int = DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.draws, Integral) or self.draws < 2:
            raise InputError(f"the number of draws must be a whole number of at least 2, got {self.draws!r}")
        check_cutoff(self.pool, self.measure.cutoff)

    @cached_property
    def _rows(self) -> list[Integers]:
        """The pairs of each query, rising."""
        return rows_by_query(self.pool)

    def scores(self, belief: Belief) -> Moments:
        self._check_relevant(belief)
        return self._moments(belief, lambda scores: scores)

    def of_grades(self, grades: Array) -> Array:
        """(s, draws) mean scores of completed pools, given by the grades (draws, n) of all pairs."""
        scores = (self._scores(code, rows, grades[:, rows]) for code, rows in enumerate(self._rows))
        return np.asarray(sum(scores) / len(self.pool.queries))

    def by_query(self, belief: Belief) -> Iterator[tuple[int, Moments]]:
        if belief.prior.correlated:
            for code, scores in self._drawn_queries(belief):
                yield code, settled(*_moments(scores))
            return
        for code in range(len(self.pool.queries)):
            yield code, settled(*self._query(belief, code, lambda scores: scores))

    def between_queries(self, belief: Belief, scores: Moments, mapping: SatisfactionMapping | None = None) -> Array:
        """(s, s) expected sample covariance of the systems' scores over the queries: the mean over the same draws.

        For independent queries, see `sample_covariance`.
        """
        seen: MapScores = mapping.probability if mapping is not None else lambda scores: scores
        if belief.prior.correlated:
            return self._drawn_between(belief, seen)
        found = [self._query(belief, code, seen) for code in range(len(self.pool.queries))]
        means, covariances = zip(*found, strict=True)
        return sample_covariance(np.stack(means, axis=1), np.sum(covariances, axis=0), scores)

    def satisfied(self, belief: Belief, mapping: SatisfactionMapping) -> Moments:
        """(s,) moments of the mean shares of satisfied users: each drawn score of a query is mapped by itself."""
        self._check_relevant(belief)
        return self._moments(belief, mapping.probability)

    def _moments(self, belief: Belief, seen: MapScores) -> Moments:
        if belief.prior.correlated:
            return self._correlated(belief, seen)
        sums = [self._query(belief, code, seen) for code in range(len(self.pool.queries))]
        means, covariances = zip(*sums, strict=True)
        return settled(*self._over_queries(np.sum(means, axis=0), np.sum(covariances, axis=0)))

    def _check_relevant(self, belief: Belief) -> None:
        """Refuse a model without a level for the irrelevant grades of the scale: every score would be 1."""
        takes = any(parameter.name == "min" for parameter in self.measure.definition.parameters)
        lowest, predicted = self.pool.scale.levels[0], not belief.judged.all()
        if takes and predicted and lowest < belief.levels[0] >= self.measure.lowest_relevant:
            name, cutoff, least = self.measure.name, self.measure.cutoff, belief.levels[0]
            raise InputError(
                f"{self.measure} calls every unjudged result relevant, as the lowest grade predicted is {least:g}; "
                f"expected a higher min, such as {name}(min={usual_minimum(self.pool.scale, least):g})@{cutoff}"
            )

    def after(self, scores: Moments, before: Belief, belief: Belief, index: int) -> Moments:
        """Update the scores after a judgment of the single pair at `index`: its query is drawn again, or all queries if
        its gain is correlated with theirs.
        """
        if before.prior.correlated or belief.judged.all():
            return self.scores(belief)
        code = int(self.pool.query[index])
        both = (self._query(known, code, lambda scores: scores) for known in (before, belief))
        (old_mean, old_covariance), (mean, covariance) = both
        mean, covariance = self._over_queries(mean - old_mean, covariance - old_covariance)
        return settled(scores.mean + mean, scores.covariance + covariance, scores.variance)

    def slopes(self, belief: Belief) -> sparse.csc_array:
        """(s, n) 1 / queries where a system retrieved a pair: a substitute, as a simulated measure has no slopes."""
        return sparse.csc_array(self.discounted(belief) / len(self.pool.queries))

    def gains(self, belief: Belief) -> MultivariateNormal:
        return belief.gains

    def discounted(self, belief: Belief) -> sparse.csc_array:
        """(s, n) 1 where a system retrieved a pair, as for CG."""
        return spread_over_ranks(self.pool, np.ones(self.measure.cutoff))

    def _over_queries(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        count = len(self.pool.queries)
        return mean / count, covariance / count**2

    def _query(self, belief: Belief, code: int, seen: MapScores) -> tuple[Array, Array]:
        """(s,) mean and (s, s) covariance of the mapped scores for one query."""
        rows = self._rows[code]
        chance = np.random.default_rng([self.seed, code]).random((self.draws, len(rows)))
        grades = self._on_the_scale(belief, code, rows, belief.grades_at(rows, chance))
        return _moments(seen(self._scores(code, rows, grades)))

    def _correlated(self, belief: Belief, seen: MapScores) -> Moments:
        """Moments of mapped scores if queries are not drawn independently of each other."""
        total = np.zeros((len(self.pool.systems), self.draws))
        for _, scores in self._drawn_queries(belief):
            total += seen(scores)
        return settled(*_moments(total / len(self.pool.queries)))

    def _drawn_queries(self, belief: Belief) -> Iterator[tuple[int, Array]]:
        """Number of each query that has retrieved documents, and (s, draws) scores for it."""
        for rows, grades in belief.draw(np.random.default_rng(self.seed), self.draws):
            for code in np.unique(self.pool.query[rows]).tolist():
                own = self.pool.query[rows] == code
                yield code, self._scores(code, rows[own], self._on_the_scale(belief, code, rows[own], grades[:, own]))

    def _on_the_scale(self, belief: Belief, code: int, rows: Integers, grades: Array) -> Array:
        """(draws, m) the grades of one query, in the scale's own steps if the measure compares them."""
        if not self.measure.definition.compares:
            return grades
        return within_levels(belief, self.pool.scale, rows, grades, np.random.default_rng([self.seed, code, 1]))

    def _drawn_between(self, belief: Belief, seen: MapScores) -> Array:
        total, squares = np.zeros((len(self.pool.systems), self.draws)), np.zeros((len(self.pool.systems),) * 2)
        for scores in (seen(drawn) for _, drawn in self._drawn_queries(belief)):
            total += scores
            squares += scores @ scores.T
        return mean_sample_covariance(squares, total, len(self.pool.queries))

    def _scores(self, code: int, rows: Integers, grades: Array) -> Array:
        """(s, draws) the scores for one query.

        rows    (m,) its pairs, rising
        grades  (draws, m)
        """
        ranked = self.pool.ranked[:, code]
        lists = np.column_stack([grades, np.full(len(grades), np.nan)])[:, np.searchsorted(rows, ranked)]
        of, beyond = self.pool.coded_beyond
        every = np.hstack([grades, np.tile(beyond[of == code], (len(grades), 1))])
        return score(self.measure, self.pool.scale, lists.transpose(1, 0, 2), -np.sort(-every, axis=1))


def _moments(scores: Array) -> tuple[Array, Array]:
    """(s,) mean and (s, s) covariance of drawn scores (s, draws); a constant score has variance exactly 0."""
    return scores.mean(axis=1), np.atleast_2d(np.cov(scores - scores[:, :1]))
