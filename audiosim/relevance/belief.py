"""Belief about the relevance of a pool's pairs: the same kind of value from every estimator."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.properties import cached_property
from audiosim.relevance.belief_parts import Marginals, checked_grades, moments_of
from audiosim.relevance.comparison_model import ComparedGains
from audiosim.relevance.judges import People, Who
from audiosim.relevance.level_chances import on_scale
from audiosim.relevance.level_reading import Jointly, LevelReading, PairByPair, grades_at
from audiosim.relevance.level_use import AS_MARGINALS, Levels
from audiosim.stats.normal.multivariate import IndependentNormal, MultivariateNormal
from audiosim.stats.responses.ordinal import expectation, variance

MOST_COVARIED = 1_000
FEW = 8  # largest number of judgments that is cheaper to condition on one by one than all at once


@dataclass(frozen=True, eq=False)
class Belief:
    """Belief about the grades of the n pairs of a pool, given the judgments made so far.

    alone      level probabilities of each pair by itself
    prior      distribution of the n gains before any judgment; a gain is a grade divided by the highest
    grades     (n,) the judgments, NaN where unjudged
    use        mapping from gains to levels
    evidence   combinations of kinds of evidence used, such as output and genre
    spoke      (n,) combination used for each pair; None if the estimator does not report it
    posterior  distribution of the n gains given the judgments, if already computed; None: computed on first use
    people     people who judged and their judgments; None: unknown
    answers    comparisons of its pairs, or None
    whose      population that the gains describe, by its mean opinion: the panel of judges, listeners at large, or a
               number of people

    Estimators make the prior; this class conditions any prior on the judgments: see `gains`. Beliefs with the same
    prior differ only in their judgments. An InputError names the row where a part is malformed.
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
        # A variance of 0 marks a certain gain. Only judgments make gains certain; in a prior it would lead to a
        # division by 0.
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
        """Belief with independent pairs; the arguments are those of the class and of `Marginals`.

        model  None: the first model for every pair
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
        """(n, l) P(level) of each pair by the model used for it; rows sum to 1."""
        return self.alone.probabilities

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models used."""
        return self.alone.models

    @property
    def model(self) -> Integers:
        """(n,) index of the model used for each pair."""
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
        """(n,) True where the pair is judged."""
        return ~np.isnan(self.grades)

    @cached_property
    def gains(self) -> MultivariateNormal:
        """Posterior of the n gains; a single judge's grades are certain if nobody else's opinion is asked for."""
        if self.posterior is not None:
            return self.posterior
        gains = self._by_grades
        # If some people have graded, those who only compared are modelled as further listeners.
        whose = "listeners" if self.judged.any() else self.whose
        return gains if self.answers is None else self.answers.posterior(gains, whose)

    @property
    def _by_grades(self) -> MultivariateNormal:
        """Posterior of the gains by grades alone, without comparisons."""
        # One person's judgment is the panel's opinion itself, so conditioning on exact gains is right and cheaper;
        # several people, or another population, need the model of severity, taste and noise.
        if self.people is not None and (self.people.panel.several or self.whose not in ("panel", 1)):
            return self.people.posterior(self.whose)
        judged = np.flatnonzero(self.judged)
        return self.prior.condition_all(judged, self.grades[judged] / self.maximum) if len(judged) else self.prior

    def heard(self, people: People) -> "Belief":
        """The same belief and judgments, with the people who made them."""
        # A posterior by exact grades is wrong once judgments have noise; with a single person it stays valid.
        return replace(self, people=people, posterior=None if people.panel.several else self.posterior)

    @property
    def judges(self) -> int:
        """Number of people who judged; if nobody judged, of people who compared; 0 if unknown."""
        if self.people is not None and (self.answers is None or self.judged.any()):
            return len(self.people.panel.judges)
        return 0 if self.answers is None else len(self.answers.model.compared.judges)

    def about(self, whose: Who) -> "Belief":
        """The same belief with the mean opinion of another population as gains."""
        if whose == self.whose:
            return self
        if self.people is None and self.answers is None:
            raise InputError(f"{self.models[0]} does not model people who have not judged: use the model joint")
        return replace(self, whose=whose, posterior=None)

    @cached_property
    def settled(self) -> Booleans:
        """(n,) True where a pair is judged and its gain therefore certain."""
        return np.asarray(self.judged & (self.gains.variance == 0))

    @cached_property
    def reading(self) -> LevelReading:
        """Levels of the pairs by this belief."""
        if self.prior.correlated:
            return Jointly(self.alone, self.prior, self.gains, self.grades, self.use)
        return PairByPair(self.marginals, self.level_grades, self.grades)

    @property
    def probabilities(self) -> Array:
        """(n, l) P(level) of each pair given the judgments of all others; rows sum to 1.

        The mean grade of an unjudged pair is `expectation`. Independent pairs keep their marginals; for correlated ones
        see `Jointly`.
        """
        return self.reading.probabilities

    @cached_property
    def on_scale(self) -> MultivariateNormal:
        """Posterior of the n gains as stated, with the means of unjudged pairs on the scale; see `on_scale`."""
        if not self.prior.correlated:
            return self.gains
        mean = self.gains.mean
        within = np.where(self.judged, mean, on_scale(mean, self.level_grades / self.maximum))
        return self.gains if np.array_equal(within, mean) else self.gains.moved(within)

    @cached_property
    def expectation(self) -> Array:
        """(n,) expected grade of each pair: its gain times the highest grade, or its grade if that is certain."""
        return np.where(self.settled, self.grades, self.maximum * self.on_scale.mean)

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of the grade of each pair, 0 if it is certain."""
        return np.where(self.settled, 0, self.maximum**2 * self.on_scale.variance)

    def covariance(self, places: Integers) -> Array:
        """(m, m) covariance of the grades of some pairs.

        places  (m,) at most MOST_COVARIED
        """
        if len(places) > MOST_COVARIED:
            raise InputError(f"the covariance is for at most {MOST_COVARIED:,} pairs, got {len(places):,}")
        unique, at = np.unique(places, return_inverse=True)
        found = self.maximum**2 * self.on_scale.among(unique)
        found[self.settled[unique]] = 0
        found[:, self.settled[unique]] = 0
        np.fill_diagonal(found, self.variance[unique])
        return np.asarray(found[np.ix_(at, at)])

    @property
    def level_grades(self) -> Array:
        """(l,) grade of each level: its mean grade where judgments show it, otherwise the level."""
        return self.levels if self.use.means is None else self.use.means

    def shaped(self) -> "Belief":
        """The same belief with the frequency and the separation of the levels learned from the judgments.

        Each judged pair is predicted from the other judgments; see `Levels.learn`.
        """
        # Always learned from the initial use of levels: starting from an earlier result would count judgments twice.
        plain = replace(self, use=Levels(width=self.use.width), posterior=None)
        return replace(plain, use=Jointly(plain.alone, plain.prior, plain.gains, plain.grades, plain.use).learned())

    def using(self, levels: Levels) -> "Belief":
        """The same belief with another use of the levels."""
        return replace(self, use=levels)

    def condition(self, index: int, grade: float) -> "Belief":
        """Belief after one more pair was judged.

        index  place of an unjudged pair
        """
        if self.judged[index]:
            raise InputError(f"row {index} is judged already: a change of its judgment needs revise")
        grades = self.grades.copy()
        grades[index] = grade
        return replace(self, grades=grades, posterior=self.gains.condition(index, grade / self.maximum))

    def condition_all(self, places: Integers, grades: Array) -> "Belief":
        """Belief after several more pairs were judged, computed from the current posterior, which is faster.

        places  (k,) places of unjudged pairs
        grades  (k,)
        """
        if np.any(self.judged[places]):
            raise InputError(f"row {places[self.judged[places]][0]} is judged already: a change needs revise")
        known = self.grades.copy()
        known[places] = grades
        return replace(self, grades=known, posterior=self.gains.condition_all(places, grades / self.maximum))

    def revise(self, grades: Array) -> "Belief":
        """Belief with the same prior and these judgments, whatever the earlier ones were.

        grades  (n,) NaN where unjudged

        Nothing is computed until it is used.
        """
        return replace(self, grades=grades, posterior=None, people=None, whose="panel")

    def resumed(self, earlier: "Belief") -> "Belief":
        """The same belief, continued from an earlier one with the same prior if only a few judgments were added."""
        added = np.flatnonzero(self.judged & ~earlier.judged)
        # Only additions can be conditioned on: a changed or withdrawn grade has no inverse step, so it starts anew.
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
        """Posterior of another gain, as a share of the highest grade's gain, through the level probabilities.

        gain  grades (...,) -> gains (...,), rising with the grade

        Each pair's gain varies in proportion to its grade, by the ratio of standard deviations.
        """
        highest = gain(np.array(self.maximum))
        values, known = gain(self.level_grades) / highest, gain(self.grades) / highest
        mean = np.where(self.judged, known, expectation(self.probabilities, values))
        spread = np.where(self.judged, 0, variance(self.probabilities, values))
        # The gain's own variance decides, not `judged`: after several people's judgments a pair is still unsure.
        certain = self.gains.variance == 0
        unsure = self.judged & ~self.settled
        if unsure.any():
            here, deviation = self.gains.mean[unsure], np.sqrt(self.gains.variance[unsure])
            mean[unsure], spread[unsure] = moments_of(lambda of: gain(self.maximum * of) / highest, here, deviation)
        return self.gains.scaled(
            mean, np.where(certain, 0, np.sqrt(spread / np.where(certain, 1, self.gains.variance)))
        )

    def draw(self, rng: np.random.Generator, count: int) -> Iterator[tuple[Integers, Array]]:
        """Draw grades, in parts: the places of some pairs (m,), and their grades (count, m); see `grades_at`.

        Where pairs are correlated, so are their grades; see `Jointly.draw`.
        """
        return self.reading.draw(rng, count)

    def grades_at(self, rows: Integers, chance: Array) -> Array:
        """(count, m) grades of some pairs: a judged pair's own, otherwise the level selected by a uniform number.

        rows    (m,)
        chance  (count, m) random numbers in [0, 1]
        """
        return grades_at(self, rows, chance)

    def evidence_of(self, place: int) -> str | None:
        """Evidence used for a pair, such as "output, genre"; None if the estimator does not report it."""
        return None if self.spoke is None else ", ".join(self.evidence[self.spoke[place]])
