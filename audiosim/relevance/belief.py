"""Belief about the relevance of a pool's pairs: one value, whichever estimator it comes from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.properties import cached_property
from audiosim.relevance.belief_parts import Marginals, checked_grades, moments_of
from audiosim.relevance.comparison_model import ComparedGains
from audiosim.relevance.judges import People, Who
from audiosim.relevance.level_chances import (
    FREEDOM,
    between_ends,
    nearest_level,
    shape_errors,
    shown_by_levels,
    t_below,
    with_counts,
)
from audiosim.relevance.level_use import AS_MARGINALS, WEIGHT, Levels
from audiosim.stats.multivariate import IndependentNormal, MultivariateNormal
from audiosim.stats.ordinal import expectation, variance

FEW = 8  # judgments that are cheaper to condition on one by one than all at once


@dataclass(frozen=True, eq=False)
class Belief:
    """Belief about the grades of the n pairs of a pool, given the judgments made so far.

    alone      what is believed of each pair by itself
    prior      of the n gains, before any pair is judged; a gain is a grade over the highest
    grades     (n,) the judgments, NaN where unjudged
    use        of the levels: how a gain becomes one
    evidence   combinations of kinds of evidence that spoke, such as output and genre
    spoke      (n,) which of them spoke for each pair; None where the estimator does not say
    posterior  of the n gains where that is at hand; None: it is computed when it is looked at
    people     who judged, and what each of them said; None: nobody knows
    answers    comparisons of its pairs; None where there are none
    whose      whose mean opinion the gains are: of the panel of those who judged, of listeners at large, or of so many

    Estimators make the prior; conditioning it on the judgments is done here, whatever it is: see `gains`. Beliefs of
    one prior differ in their judgments alone. InputError, saying which row, where a part is not well-formed.
    """

    alone: Marginals
    prior: MultivariateNormal
    grades: Array
    use: Levels = AS_MARGINALS
    evidence: tuple[tuple[str, ...], ...] = ()
    spoke: Integers | None = None
    posterior: MultivariateNormal | None = None
    people: People | None = None
    answers: ComparedGains | None = None
    whose: Who = "panel"

    def __post_init__(self) -> None:
        n = len(self.marginals)
        if self.prior.mean.shape != (n,):
            raise InputError(f"gains must be ({n},) to match the probabilities, got {self.prior.mean.shape}")
        if self.prior.correlated and not np.all(self.prior.variance > 0):
            row = int(np.argmin(self.prior.variance > 0))
            raise InputError(f"row {row} of correlated gains must have a variance above 0 before it is judged")
        self.use.check(self.levels, self.maximum)
        object.__setattr__(self, "grades", checked_grades(self.grades, n, self.maximum))

    @classmethod
    def independent(
        cls,
        levels: Array,
        probabilities: Array,
        grades: Array,
        maximum: float,
        models: tuple[str, ...],
        model: Integers | None = None,
        evidence: tuple[tuple[str, ...], ...] = (),
        spoke: Integers | None = None,
    ) -> "Belief":
        """Belief in which no pair says anything of another; the arguments are those of the class and of `Marginals`.

        model  the first one spoke for every pair where None
        """
        model = np.zeros(len(probabilities), dtype=np.int64) if model is None else model
        alone = Marginals(levels, probabilities, models, model, maximum)
        mean, spread = expectation(probabilities, levels), variance(probabilities, levels)
        prior = IndependentNormal(mean / maximum, spread / maximum**2)
        return cls(alone, prior, grades, evidence=evidence, spoke=spoke)

    @property
    def levels(self) -> Array:
        """(l,) grades, rising, from 0 to the highest of the scale."""
        return self.alone.levels

    @property
    def marginals(self) -> Array:
        """(n, l) P(level) of each pair by the model that spoke for it; rows sum to 1."""
        return self.alone.probabilities

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that were used."""
        return self.alone.models

    @property
    def model(self) -> Integers:
        """(n,) which of the models spoke for each pair."""
        return self.alone.model

    @property
    def maximum(self) -> float:
        """The highest grade of the scale."""
        return self.alone.maximum

    def __repr__(self) -> str:
        judged = int(self.judged.sum())
        return f"Belief about {len(self.grades):,} pairs, {judged:,} judged, by {', '.join(self.alone.models)}"

    @cached_property
    def judged(self) -> Booleans:
        """(n,) whether the pair is judged."""
        return ~np.isnan(self.grades)

    @cached_property
    def gains(self) -> MultivariateNormal:
        """Posterior of the n gains; what one person judged is certain where nobody else's opinion is asked for."""
        if self.posterior is not None:
            return self.posterior
        gains = self._by_grades
        # Where people have graded, those who compared are listeners like others.
        whose = "listeners" if self.judged.any() else self.whose
        return gains if self.answers is None else self.answers.posterior(gains, whose)

    @property
    def _by_grades(self) -> MultivariateNormal:
        """Posterior of the gains before anybody's comparisons."""
        if self.people is not None and (self.people.panel.several or self.whose not in ("panel", 1)):
            return self.people.posterior(self.whose)
        judged = np.flatnonzero(self.judged)
        return self.prior.condition_all(judged, self.grades[judged] / self.maximum) if len(judged) else self.prior

    def heard(self, people: People) -> "Belief":
        """The same belief of the same judgments, with who made them."""
        return replace(self, people=people, posterior=None if people.panel.several else self.posterior)

    @property
    def judges(self) -> int:
        """Number of people who judged, or where nobody did, who compared; 0 where nobody knows."""
        if self.people is not None and (self.answers is None or self.judged.any()):
            return len(self.people.panel.judges)
        return 0 if self.answers is None else len(self.answers.model.compared.judges)

    def about(self, whose: Who) -> "Belief":
        """The same belief, its gains being the mean opinion of somebody else."""
        if whose == self.whose:
            return self
        if self.people is None and self.answers is None:
            raise InputError(f"{self.models[0]} says nothing of people who have not judged: use the model joint")
        return replace(self, whose=whose, posterior=None)

    @cached_property
    def settled(self) -> Booleans:
        """(n,) whether a pair is judged, and its gain known by it."""
        return np.asarray(self.judged & (self.gains.variance == 0))

    @cached_property
    def probabilities(self) -> Array:
        """(n, l) P(level) of each pair given the judgments of all others; rows sum to 1.

        The marginals where no pair says anything of another. Where pairs do,

            P(level <= l) = distribution function of Student's t of  (end_l - mean) / (stretch deviation),
            end_l = expectation by the marginals + deviation before any judgment x (width normal quantile of
                    P(level <= l) + shape_l)

        mean and deviation being those of the gain, for a judged pair given all judgments but its own. Gains that move
        shift and stretch what the marginals say, and it stays on the scale. The tails are those of FREEDOM degrees of
        freedom, heavier than normal ones: some queries vary more than others, and a single grade shows it. How the
        grades of a query are spread over the levels shows in no gain; the judged ones of the query, c of n, count too:

            P(level) = (worth P + c) / (worth + n)
        """
        if not self.prior.correlated:
            return self.marginals
        probabilities = between_ends(self._ends)
        if np.isfinite(self.use.worth):
            probabilities = with_counts(probabilities, self._counts, self.use.worth)
        probabilities.flags.writeable = False
        return probabilities

    @property
    def _counts(self) -> Array:
        """(n, l) judged pairs of the query of each pair, but for itself, by their nearest level."""
        judged, block = np.flatnonzero(self.judged), self.prior.block
        level = nearest_level(self.levels, self.grades[judged])
        counts = np.zeros((int(block.max()) + 1, len(self.levels)))
        np.add.at(counts, (block[judged], level), 1)
        counts = counts[block]
        counts[judged, level] -= 1
        return counts

    @cached_property
    def _ends(self) -> Array:
        """(n, l - 1) ends of the levels of all gains."""
        return self._ends_at(np.arange(len(self.grades)))

    def _ends_at(self, places: Integers) -> Array:
        """(k, l - 1) ends of the levels of some correlated gains, in deviations from the mean; see `probabilities`."""
        mean, spread = self.gains.mean.copy(), self.gains.variance.copy()
        judged = np.flatnonzero(self.judged)
        mean[judged], spread[judged] = self._held_out
        marginals = self.marginals[places]
        below = np.clip(np.cumsum(marginals, axis=1)[:, :-1], 0, 1)
        own = expectation(marginals, self.levels) / self.maximum
        deviation = np.sqrt(self.prior.variance[places])
        return self.use.ends(below, own, deviation, mean[places], np.sqrt(spread[places]))

    @cached_property
    def _held_out(self) -> tuple[Array, Array]:
        """(k,) mean and (k,) variance of the gains of the judged pairs, each given all judgments but its own."""
        judged = np.flatnonzero(self.judged)
        return self.prior.held_out(judged, self.grades[judged] / self.maximum)

    @cached_property
    def expectation(self) -> Array:
        """(n,) expected grade of each pair given the judgments of all others."""
        return expectation(self.probabilities, self.level_grades)

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of the grade of each pair given the judgments of all others."""
        return variance(self.probabilities, self.level_grades)

    @property
    def level_grades(self) -> Array:
        """(l,) grades that the levels stand for: their means where judgments show them, else the levels."""
        return self.levels if self.use.means is None else self.use.means

    def shaped(self) -> "Belief":
        """The same belief with levels as frequent, and as surely told apart, as the judgments have them.

        Each pair being predicted from the other judgments; see `Levels.learn`.
        """
        judged = np.flatnonzero(self.judged)
        plain = replace(self, use=Levels(width=self.use.width), posterior=None)
        mean, spread = self._held_out
        ratio = (np.sqrt(self.prior.variance[judged]) / np.sqrt(spread))[:, None]
        wanted = self.maximum * float(mean.mean())
        seen = plain._ends_at(judged), ratio, plain._counts[judged], self.grades[judged]
        return replace(plain, use=plain.use.learn(self.levels, *seen, wanted))

    def using(self, levels: Levels) -> "Belief":
        """The same belief with another use of the levels."""
        return replace(self, use=levels)

    def condition(self, index: int, grade: float) -> "Belief":
        """Belief after one more pair was judged.

        index  of a pair that is not judged
        """
        if self.judged[index]:
            raise InputError(f"row {index} is judged already: a change of its judgment needs revise")
        grades = self.grades.copy()
        grades[index] = grade
        return replace(self, grades=grades, posterior=self.gains.condition(index, grade / self.maximum))

    def condition_all(self, places: Integers, grades: Array) -> "Belief":
        """Belief after several more pairs were judged, from what is known already: faster than from the beginning.

        places  (k,) of pairs that are not judged
        grades  (k,)
        """
        if np.any(self.judged[places]):
            raise InputError(f"row {places[self.judged[places]][0]} is judged already: a change needs revise")
        known = self.grades.copy()
        known[places] = grades
        return replace(self, grades=known, posterior=self.gains.condition_all(places, grades / self.maximum))

    def revise(self, grades: Array) -> "Belief":
        """Belief of the same prior in which these are the judgments, whatever they were before.

        grades  (n,) NaN where unjudged

        Nothing is computed before it is looked at.
        """
        return replace(self, grades=grades, posterior=None, people=None, whose="panel")

    def resumed(self, earlier: "Belief") -> "Belief":
        """The same belief, computed from an earlier one of the same prior where only a few judgments were added."""
        added = np.flatnonzero(self.judged & ~earlier.judged)
        kept = np.array_equal(earlier.grades[earlier.judged], self.grades[earlier.judged])
        people = self.people or earlier.people
        if self.prior is not earlier.prior or len(added) > FEW or not kept or people is not None:
            return self
        for index in added.tolist():
            earlier = earlier.condition(index, float(self.grades[index]))
        return earlier

    def certain(self, grades: Array) -> "Belief":
        """Belief in which every pair has been judged.

        grades  (n,)
        """
        known = IndependentNormal(grades / self.maximum, np.zeros(len(grades)))
        alone = replace(self.alone, probabilities=self.probabilities)
        return replace(self, alone=alone, prior=known, grades=grades, posterior=None, answers=None)

    def gains_as(self, gain: Callable[[Array], Array]) -> MultivariateNormal:
        """Posterior of another gain, as a share of that of the highest grade, through the level probabilities.

        gain  grades (...,) -> gains (...,), rising with the grade

        Each pair's gain moves with its grade, in proportion to their standard deviations; before a shape was learned,
        heavier tails of `probabilities` are taken back.
        """
        highest = gain(np.array(self.maximum))
        values, known = gain(self.level_grades) / highest, gain(self.grades) / highest
        mean = np.where(self.judged, known, expectation(self.probabilities, values))
        tails = (FREEDOM - 2) / FREEDOM if self.prior.correlated and self.use.shape is None else 1.0
        spread = np.where(self.judged, 0, variance(self.probabilities, values)) * tails
        certain = self.gains.variance == 0
        unsure = self.judged & ~self.settled
        if unsure.any():
            here, deviation = self.gains.mean[unsure], np.sqrt(self.gains.variance[unsure])
            mean[unsure], spread[unsure] = moments_of(lambda of: gain(self.maximum * of) / highest, here, deviation)
        return self.gains.scaled(
            mean, np.where(certain, 0, np.sqrt(spread / np.where(certain, 1, self.gains.variance)))
        )

    def draw(self, rng: np.random.Generator, count: int) -> Iterator[tuple[Integers, Array]]:
        """Grades drawn, in parts: the places of some pairs (m,), and their grades (count, m); see `grades_at`.

        A value drawn of a correlated gain is put on the scale where the level probabilities have it. Once a shape was
        learned, under the tails of Student's t: deviations are so many times as large in all of a query as those of a
        drawn query are, sqrt(FREEDOM / chi squared), and the ends of the levels are as unsure as judgments leave them.
        Levels show a part of a correlation: values are drawn so much closer correlated that grades are as gains are
        (Cario & Nelson 1997, "NORmal To Anything").
        """
        if not self.prior.correlated:
            every = np.arange(len(self.grades))
            yield every, self.grades_at(every, rng.random((count, len(every))))
            return
        own, block = rng.spawn(1)[0], self.prior.block
        moved, times = np.zeros((count, len(self.levels) - 1)), np.ones((count, int(block.max(initial=0)) + 1))
        closer = 1.0
        if self.use.shape is not None:
            closer = 1 / shown_by_levels(self._ends[~self.judged], self.level_grades)
            times = np.sqrt(FREEDOM / own.chisquare(FREEDOM, times.shape))
            moved = own.standard_normal(moved.shape) @ self._shape_errors.T
            moved -= moved.mean(axis=0)  # so that as good as drawn on the whole stays as good as expected
        mean, deviation = self.gains.mean, np.sqrt(np.where(self.gains.variance > 0, self.gains.variance, 1))
        reach = np.sqrt(self.prior.variance) / (self.use.stretch * deviation)
        for rows, values in self.gains.draw(rng, count, closer):
            level = np.zeros(values.shape, dtype=np.int64)
            standard = (values - mean[rows]) / deviation[rows] * times[:, block[rows]]
            for end, by in zip(self._ends[rows].T, moved.T, strict=True):
                level += standard > end + by[:, None] * reach[rows]
            opinion = np.where(self.settled[rows], self.grades[rows], self.maximum * np.clip(values, 0, 1))
            yield rows, np.where(self.judged[rows], opinion, self.level_grades[level])

    @cached_property
    def _shape_errors(self) -> Array:
        """(l - 1, l - 1) root of the covariance of the shape, as the judged pairs leave it; see `shape_errors`."""
        judged = np.flatnonzero(self.judged)
        ratio = np.sqrt(self.prior.variance[judged] / self._held_out[1]) / self.use.stretch
        return shape_errors(self._ends[judged], ratio[:, None], np.diff(self.level_grades), WEIGHT)

    def drawn_mean(self, values: Array) -> Array:
        """(n,) the mean, over draws, of what the level of each pair is worth, as `draw` has it.

        values  (l,) of the levels
        """
        if not self.prior.correlated:
            return self.probabilities @ values
        reached = ndtr(self._ends) if self.use.shape is None else t_below(self._ends)
        return np.asarray(values[-1] - reached @ np.diff(values))

    def grades_at(self, rows: Integers, chance: Array) -> Array:
        """(count, m) grades of some pairs: of a judged one its own, of any other the level that a chance falls on.

        rows    (m,)
        chance  (count, m) in [0, 1]
        """
        reached = np.cumsum(self.probabilities[rows], axis=1)[:, :-1]
        level = np.zeros(chance.shape, dtype=np.int64)
        for column in reached.T:
            level += chance > column
        return np.where(self.judged[rows], self.grades[rows], self.level_grades[level])

    def evidence_of(self, place: int) -> str | None:
        """Evidence that spoke for a pair, such as "output, genre"; None where the estimator does not say."""
        return None if self.spoke is None else ", ".join(self.evidence[self.spoke[place]])
