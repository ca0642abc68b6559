"""Belief about the relevance of a pool's pairs: the same kind of value from every estimator."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from audiosim.collection.pool import NO_QUERY_GENRE, NOT_EXPECTED, UNKNOWN, Pool
from audiosim.collection.values import SCALES
from audiosim.errors import InputError
from audiosim.joint.comparisons import ComparedGains
from audiosim.joint.levels import (
    AS_MARGINALS,
    FREEDOM,
    WEIGHT,
    Levels,
    between_ends,
    nearest_level,
    on_scale,
    shape_errors,
    shown_by_levels,
    t_below,
    with_counts,
    with_means,
)
from audiosim.joint.people import People, Who
from audiosim.ordinal.feature import Feature
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.stats.normal.multivariate import IndependentNormal, MultivariateNormal
from audiosim.stats.ordinal import expectation, variance

# Parts of a belief, with their checks.


SUMMING = 1e-6  # tolerance for the sum of a row; probabilities may have been computed in single precision


def _check_array(what: str, value: object, kind: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != kind:
        came = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{what} must be an array of {kind}, got {came}")


def check_marginals(levels: Array, probabilities: Array, maximum: float) -> None:
    """Raise an error unless levels (l,) are rising grades of a scale, and rows of probabilities (n, l) sum to 1."""
    _check_array("levels", levels, "float64")
    if levels.ndim != 1 or not len(levels):
        raise InputError(f"levels must be one row of grades, got shape {levels.shape}")
    if not np.all(np.diff(levels) > 0) or not levels[0] >= 0 or not levels[-1] <= maximum:
        raise InputError(f"levels must rise within the scale, got {levels.tolist()}")

    _check_array("probabilities", probabilities, "float64")
    if probabilities.ndim != 2 or probabilities.shape[1] != len(levels):
        raise InputError(f"probabilities must be (n, {len(levels)}) to match the levels, got {probabilities.shape}")
    sums = np.abs(probabilities @ np.ones(len(levels)) - 1) <= SUMMING
    if not (np.all(sums) and np.min(probabilities, initial=0) >= 0):
        row = int(np.argmin(sums & np.all(probabilities >= 0, axis=1)))
        raise InputError(
            f"each row of probabilities must be 0 or more and sum to 1, row {row} has least "
            f"{probabilities[row].min():g} and sum {probabilities[row].sum():g}"
        )


def check_models(models: tuple[str, ...], model: Integers, count: int) -> None:
    """Raise an error unless each of `count` pairs has the index of one of the models."""
    if not isinstance(models, tuple) or not models or not all(isinstance(name, str) and name for name in models):
        raise InputError(f"models must be a tuple of names, got {models!r}")
    _check_array("model", model, "int64")
    if model.shape != (count,) or not np.all((model >= 0) & (model < len(models))):
        raise InputError(f"each of {count} pairs must name one of the models {', '.join(models)}")


def checked_grades(grades: Array, count: int, maximum: float) -> Array:
    """A read-only copy of the grades."""
    _check_array("grades", grades, "float64")
    if grades.shape != (count,):
        raise InputError(f"grades must be ({count},) to match the probabilities, got {grades.shape}")
    right = np.isnan(grades) | ((grades >= 0) & (grades <= maximum))
    if not np.all(right):
        row = int(np.argmin(right))
        raise InputError(f"row {row}: a grade must be in [0, {maximum:g}], got {grades[row]:g}")
    grades = grades.copy()
    grades.flags.writeable = False
    return grades


@dataclass(frozen=True, eq=False)
class Marginals:
    """Level probabilities of the n pairs of a pool, each pair by itself, and the models that predicted them.

    levels         (l,) grades, rising, from 0 to the highest of the scale
    probabilities  (n, l) P(level) of each pair by the model used for it; rows sum to 1
    models         names of the models used
    model          (n,) index of the model used for each pair
    maximum        the highest grade of the scale

    Checked only once, because beliefs with different judgments share this value. An InputError names the row where a
    part is malformed.
    """

    levels: Array
    probabilities: Array
    models: tuple[str, ...]
    model: Integers
    maximum: float

    def __post_init__(self) -> None:
        check_marginals(self.levels, self.probabilities, self.maximum)
        check_models(self.models, self.model, len(self.probabilities))


def moments_of(gain: Callable[[Array], Array], mean: Array, deviation: Array) -> tuple[Array, Array]:
    """(k,) mean and (k,) variance of a function of normal gains, cut to [0, 1], by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    values = gain(np.clip(mean[:, None] + deviation[:, None] * nodes, 0, 1))
    weights = weights / weights.sum()
    centre = values @ weights
    return centre, values**2 @ weights - centre**2


# Levels of a pool's pairs under a belief: each pair by itself, or shifted by the judgments of other pairs.


class LevelReading(Protocol):
    """Level probabilities of n pairs and grades drawn from them."""

    @property
    def probabilities(self) -> Array:
        """(n, l) P(level) of each pair given the judgments of all others; rows sum to 1."""
        ...

    def below(self, places: Integers, mean: Array, deviation: Array) -> Array:
        """(k, l - 1) P(level <= l) of some pairs if their gains had these moments (k,)."""
        ...

    def draw(self, rng: np.random.Generator, count: int) -> Iterator[tuple[Integers, Array]]:
        """Grades, in parts: the places of some pairs (m,), and their grades (count, m)."""
        ...


@dataclass(frozen=True, eq=False)
class PairByPair:
    """Levels of independent pairs: those of the marginals.

    probabilities  (n, l) probabilities by the marginals
    level_grades   (l,) grade of each level
    grades         (n,) the judgments, NaN where unjudged
    """

    probabilities: Array
    level_grades: Array
    grades: Array

    def below(self, places: Integers, mean: Array, deviation: Array) -> Array:
        return _cumulated(self.probabilities[places])

    def draw(self, rng: np.random.Generator, count: int) -> Iterator[tuple[Integers, Array]]:
        every = np.arange(len(self.grades))
        yield every, grades_at(self, every, rng.random((count, len(every))))


@dataclass(frozen=True, eq=False)
class Jointly:
    """Levels of correlated pairs.

    alone   level probabilities of each pair by itself
    prior   distribution of the gains before any judgment
    gains   the same given the judgments
    grades  (n,) the judgments, NaN where unjudged
    use     mapping from gains to levels

    If `deviation` is the standard deviation of a gain before any judgment,

        P(level <= l) = F((end_l - mean) / (stretch deviation)),
        end_l = expectation by the marginals + deviation x (width normal quantile of P(level <= l) + shape_l)

    `mean` and the last `deviation` are the gain's; for a judged pair, given all judgments but its own. A changed gain
    thus shifts and stretches the marginal distribution, which stays on the scale. F is normal until a shape is learned.
    Then it is Student's t of FREEDOM degrees of freedom, whose tails are heavier: some queries vary more than others,
    and single grades show it. Gains do not show how a query's grades are distributed over the levels, so its n judged
    pairs, c of them at a level, count too:

        P(level) = (worth P + c) / (worth + n)

    In the end the ends of each pair are shifted together, so that its mean grade is that of its gain: a sum of grades
    then has one expectation, whether it comes from the gains or from the levels.
    """

    alone: Marginals
    prior: MultivariateNormal
    gains: MultivariateNormal
    grades: Array
    use: Levels

    def below(self, places: Integers, mean: Array, deviation: Array) -> Array:
        return self._reached(self._meeting(self._ends_given(places, mean, deviation), mean))

    @property
    def _reached(self) -> Callable[[Array], Array]:
        """F, the distribution function of deviations."""
        return ndtr if self.use.shape is None else t_below

    @property
    def level_grades(self) -> Array:
        """(l,) grade of each level: its mean grade where judgments show it, otherwise the level."""
        return self.alone.levels if self.use.means is None else self.use.means

    @cached_property
    def probabilities(self) -> Array:
        probabilities = between_ends(self._ends, self._reached)
        probabilities.flags.writeable = False
        return probabilities

    @cached_property
    def _judged(self) -> Integers:
        return np.flatnonzero(~np.isnan(self.grades))

    @property
    def _counts(self) -> Array:
        """(n, l) number of judged pairs at each level in the query of each pair, leaving out the pair itself."""
        judged, block, levels = self._judged, self.prior.block, self.alone.levels
        level = nearest_level(levels, self.grades[judged])
        counts = np.zeros((int(block.max()) + 1, len(levels)))
        np.add.at(counts, (block[judged], level), 1)
        counts = counts[block]
        # A pair must not count for its own prediction, or checks would compare a judgment with itself.
        counts[judged, level] -= 1
        return counts

    @cached_property
    def _ends(self) -> Array:
        """(n, l - 1) ends of the levels of all gains, in deviations from the mean, that meet the gains' means."""
        every = np.arange(len(self.grades))
        mean, spread = self.gains.mean.copy(), self.gains.variance.copy()
        # A judged gain has variance 0; only held out is its prediction comparable with those of unjudged pairs.
        mean[self._judged], spread[self._judged] = self._held_out
        ends = self._ends_given(every, mean, np.sqrt(spread))
        if np.isfinite(self.use.worth):
            counted = with_counts(between_ends(ends, self._reached), self._counts, self.use.worth)
            reached = _cumulated(counted)
            ends = ndtri(reached) if self.use.shape is None else stdtrit(FREEDOM, reached)
        return self._meeting(ends, mean)

    def _meeting(self, ends: Array, mean: Array) -> Array:
        """(k, l - 1) ends shifted so that the mean grade of each row is that of its gain (k,)."""
        values = self.level_grades
        return with_means(ends, values, on_scale(self.alone.maximum * mean, values), self._reached)

    def _ends_given(self, places: Integers, mean: Array, deviation: Array) -> Array:
        """(k, l - 1) the same if the gains had these moments (k,)."""
        marginals = self.alone.probabilities[places]
        own = expectation(marginals, self.alone.levels) / self.alone.maximum
        return self.use.ends(_cumulated(marginals), own, np.sqrt(self.prior.variance[places]), mean, deviation)

    @cached_property
    def _held_out(self) -> tuple[Array, Array]:
        """(k,) mean and (k,) variance of the gains of the judged pairs, each given all judgments but its own."""
        return self.prior.held_out(self._judged, self.grades[self._judged] / self.alone.maximum)

    def learned(self) -> Levels:
        """The frequency and the separation of the levels, learned from the judgments; see `Levels.learn`."""
        judged, (mean, spread) = self._judged, self._held_out
        ends = self._ends_given(judged, mean, np.sqrt(spread))
        ratio = (np.sqrt(self.prior.variance[judged]) / np.sqrt(spread))[:, None]
        # The mean grade stays that of the gains: a shape learned from levels must not shift scores a second time.
        wanted = self.alone.maximum * float(mean.mean())
        seen = ends, ratio, self._counts[judged], self.grades[judged]
        return self.use.learn(self.alone.levels, *seen, wanted)

    def draw(self, rng: np.random.Generator, count: int) -> Iterator[tuple[Integers, Array]]:
        """Draws correlated gains and maps each to the scale by the level probabilities. Once a shape is learned, draws
        have the tails of Student's t: each draw scales all deviations of a query by a common sqrt(FREEDOM / chi
        squared), and the ends of the levels vary by their own posterior uncertainty. Levels show only a part of a
        correlation, so the drawn values are correlated more closely, such that the grades correlate as the gains do
        (Cario & Nelson 1997, "NORmal To Anything").
        """
        own, block, levels = rng.spawn(1)[0], self.prior.block, len(self.alone.levels)
        moved, times = np.zeros((count, levels - 1)), np.ones((count, int(block.max(initial=0)) + 1))
        closer, known = 1.0, ~np.isnan(self.grades)
        if self.use.shape is not None:
            # Rounding to levels weakens correlations; without this the drawn scores would vary too little.
            closer = 1 / shown_by_levels(self._ends[~known], self.level_grades)
            times = np.sqrt(FREEDOM / own.chisquare(FREEDOM, times.shape))
            moved = own.standard_normal(moved.shape) @ self._shape_errors.T
            moved -= moved.mean(axis=0)  # centred, so that the mean over all draws stays the expectation
        mean, deviation = self.gains.mean, np.sqrt(np.where(self.gains.variance > 0, self.gains.variance, 1))
        reach, settled = np.sqrt(self.prior.variance) / (self.use.stretch * deviation), self.gains.variance == 0
        for rows, values in self.gains.draw(rng, count, closer):
            level = np.zeros(values.shape, dtype=np.int64)
            standard = (values - mean[rows]) / deviation[rows] * times[:, block[rows]]
            for end, by in zip(self._ends[rows].T, moved.T, strict=True):
                level += standard > end + by[:, None] * reach[rows]
            opinion = np.where(
                known[rows] & settled[rows], self.grades[rows], self.alone.maximum * np.clip(values, 0, 1)
            )
            yield rows, np.where(known[rows], opinion, self.level_grades[level])

    @cached_property
    def _shape_errors(self) -> Array:
        """(l - 1, l - 1) root of the covariance of the shape given the judged pairs; see `shape_errors`."""
        ratio = np.sqrt(self.prior.variance[self._judged] / self._held_out[1]) / self.use.stretch
        return shape_errors(self._ends[self._judged], ratio[:, None], np.diff(self.level_grades), WEIGHT)


def _cumulated(probabilities: Array) -> Array:
    """(k, l - 1) P(level <= l) for all levels but the highest."""
    return np.clip(np.cumsum(probabilities, axis=1)[:, :-1], 0, 1)


class _Graded(Protocol):
    @property
    def probabilities(self) -> Array: ...

    @property
    def level_grades(self) -> Array: ...

    @property
    def grades(self) -> Array: ...


def grades_at(belief: _Graded, rows: Integers, chance: Array) -> Array:
    """(count, m) grades of some pairs: a judged pair's own, otherwise the level selected by a uniform number.

    rows    (m,)
    chance  (count, m) random numbers in [0, 1]
    """
    reached = np.cumsum(belief.probabilities[rows], axis=1)[:, :-1]
    level = np.zeros(chance.shape, dtype=np.int64)
    for column in reached.T:
        level += chance > column
    grades = belief.grades[rows]
    return np.where(np.isnan(grades), belief.level_grades[level], grades)


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
        if self.people is not None and not self._exact:
            return self.people.posterior(self.whose)
        judged = np.flatnonzero(self.judged)
        return self.prior.condition_all(judged, self.grades[judged] / self.maximum) if len(judged) else self.prior

    @property
    def _exact(self) -> bool:
        """True if a judged grade is the gain itself.

        One person's judgment is the panel's opinion itself, so conditioning on exact gains is right and cheaper;
        several people, or another population, need the model of severity, taste and noise.
        """
        return self.people is None or not (self.people.panel.several or self.whose not in ("panel", 1))

    def heard(self, people: People) -> "Belief":
        """The same belief and judgments, with the people who made them."""
        # A posterior by exact grades is wrong once judgments have noise; with a single person it stays valid.
        heard = replace(self, people=people, posterior=None)
        return replace(heard, posterior=vars(self).get("gains", self.posterior)) if heard._exact else heard

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
        # Asked first whether anything may be: the variance of all pairs takes as long as a ranking.
        may_be = self.judged if self.people is None or self._exact else self.people.heard_out(len(self.grades))
        return np.asarray(may_be & (self.gains.variance == 0)) if may_be.any() else may_be

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
        alone = people is None and self.answers is None
        if self.prior is not earlier.prior or len(added) > FEW or not kept or not alone:
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


# Evidence used for a pair: output, genre, artist, sound, judgments, or the user's own.


METADATA_KINDS = ("genre", "artist", "judgments")  # kinds that an ordinal model may use besides output
ORDER = ("output", "genre", "artist", "sound", "judgments")
Kinds = tuple[str, ...]


def kinds_of(feature: Feature) -> tuple[str, ...]:
    """Kinds of evidence that a feature uses: sGEN uses genre, aGEN judgments and genre, qSIM sound."""
    judgments = () if feature.reads == "nothing" else ("judgments",)
    if feature.kind == "audio":
        return (*judgments, "sound")
    return judgments or ("output",) if feature.about == "retrieval" else (*judgments, feature.about)


def evidence_of(features: Iterable[Feature]) -> Kinds:
    """Kinds of evidence that several features use together."""
    kinds = {kind for feature in features for kind in kinds_of(feature)}
    return tuple(kind for kind in ORDER if kind in kinds)


def in_words(kinds: Kinds) -> str:
    """Kinds of evidence as text for people and programs, such as "output, genre"."""
    return ", ".join(kinds)


def of_words(text: str) -> Kinds:
    """Kinds of evidence parsed from another program's text."""
    return tuple(text.split(", ")) if text else ()


def evidence_counts(belief: Belief) -> dict[str, int]:
    """Number of pairs for which each piece of evidence was used; empty if the estimator does not report it."""
    if belief.spoke is None:
        return {}
    counts = Counter[str]()
    for kinds, count in zip(belief.evidence, np.bincount(belief.spoke, minlength=len(belief.evidence)), strict=True):
        counts.update(dict.fromkeys(kinds, int(count)))
    return dict(+counts)


def what_lacks(belief: Belief, pool: Pool) -> tuple[str, ...]:
    """Sentences on missing evidence of a joint model, and on evidence of the user's own that it has but cannot use."""
    if belief.spoke is None or not belief.prior.correlated:
        return ()
    counts = evidence_counts(belief)
    silent = (
        f"evidence {piece.name} is not informative: it is known for fewer than two of the pairs, or is the same for all"
        for piece in pool.evidence
        if piece.name not in counts
    )
    return (*_lacking(pool, counts.get("sound", 0)), *silent)


def _unused_metadata(belief: Belief, pool: Pool) -> tuple[str, ...]:
    """A sentence on known genre and artist that no expected grade uses before any judgment, with the reason; or none.

    On a scale with a trained model, documents of one genre or artist still share effects: judgments spread among them.
    """
    if belief.spoke is None or not belief.prior.correlated:
        return ()
    counts = evidence_counts(belief)
    pieces = (("genre", pool.genre), ("artist", pool.artist))
    known = [kind for kind, of in pieces if kind not in counts and np.any(of != UNKNOWN)]
    if not known:
        return ()
    if pool.scale.name not in SCALES:
        named = next((one.name for one in SCALES.values() if one.levels == pool.scale.levels), "")
        use, why = "known and not used", f"no model is trained for grades {pool.scale}"
        why += f' unless they are those of `scale="{named}"`' if named else ""
    else:
        lacks = "genre" in known and np.all(pool.query_genre == UNKNOWN)
        use, why = NOT_EXPECTED, NO_QUERY_GENRE if lacks else "this model has no term for them"
    are = "are" if len(known) > 1 else "is"
    return (f"{' and '.join(known)} of documents {are} {use}: {why}",)


def model_notes(belief: Belief, pool: Pool, places: Integers | None = None) -> tuple[str, ...]:
    """Sentences of every result on its model: known metadata that go unused, and pairs that another model predicts.

    places  as for `fallbacks_in_words`
    """
    return *_unused_metadata(belief, pool), *fallbacks_in_words(belief, places)


def fallbacks_in_words(belief: Belief, places: Integers | None = None) -> tuple[str, ...]:
    """Sentences on the unjudged pairs that other models predict in place of the preferred one, with number and reason.

    places  (m,) some of the pairs; None for all

    None for a joint model, for whose pairs `what_lacks` says what is unknown.
    """
    if belief.prior.correlated or not belief.model.any():
        return ()
    chosen = slice(None) if places is None else places
    return fallbacks_of(belief).in_words(np.bincount(belief.model[chosen][~belief.judged[chosen]]))


class Fallbacks(NamedTuple):
    """Models of a belief in order of preference, and why each predicts in place of the first."""

    models: tuple[str, ...]
    reasons: tuple[str, ...]

    def in_words(self, counts: Integers, what: str = "unjudged pairs") -> tuple[str, ...]:
        """Sentences on the fallbacks that predict anything.

        counts  (at most m,) number that each model predicts
        """
        each = zip(self.models, self.reasons, counts.tolist(), strict=False)
        return tuple(
            f"{name} predicts {count:,} of the {counts.sum():,} {what} in place of {self.models[0]}{why}"
            for place, (name, why, count) in enumerate(each)
            if place and count
        )


def fallbacks_of(belief: Belief) -> Fallbacks:
    """The models of a belief and the reasons for the fallbacks among them."""
    return Fallbacks(belief.models, tuple(_why_not(belief, code) for code in range(len(belief.models))))


def _why_not(belief: Belief, code: int) -> str:
    """Reason for a fallback: the evidence that it does without; empty if the estimator does not report evidence."""
    if belief.spoke is None or not np.array_equal(belief.spoke, belief.model):
        return ""
    missing = [kind for kind in belief.evidence[0] if kind not in (*belief.evidence[code], "output")]
    unknown = " or ".join(kind for kind in missing if kind != "judgments")
    reasons = [f"their {unknown} is unknown"] if unknown else []
    reasons += ["nothing that it needs is judged"] if "judgments" in missing else []
    return f": {', or '.join(reasons)}" if reasons else ""


def _lacking(pool: Pool, sounds: int) -> Iterator[str]:
    """Sentences on what is unknown of the pairs; none if nothing is.

    sounds  number of pairs with known sound
    """
    count, genre, of_query = len(pool.pairs), pool.genre == UNKNOWN, pool.query_genre == UNKNOWN
    compared = of_query.all() and not genre.all()
    without = {
        "genre": int((genre if compared else genre | of_query).sum()),
        "artist": int((pool.artist == UNKNOWN).sum()),
        "sound": count - sounds,
    }
    if all(number == count for number in without.values()):
        lacking = f"no genre, artist or sound is known for these {count:,} pairs"
        yield f"{lacking}; predictions use the systems' results alone"
        return
    parts = [(kind, "all" if number == count else f"{number:,}") for kind, number in without.items() if number]
    if parts:
        (kind, number), *others = parts
        pairs = f"{number} {count:,} pairs" if number == "all" else f"{number} of the {count:,} pairs"
        yield ", ".join([f"{kind} is unknown for {pairs}", *(f"{kind} for {number}" for kind, number in others)])


def combinations(kinds: Sequence[str], spoke: Booleans) -> tuple[tuple[Kinds, ...], Integers]:
    """The distinct combinations of evidence, such as output and genre, and (n,) the index of each pair's.

    kinds  k names
    spoke  (n, k) True where a kind was used for a pair
    """
    number = spoke @ (1 << np.arange(len(kinds), dtype=np.int64))
    different, code = np.unique(number, return_inverse=True)
    found = tuple(tuple(kind for place, kind in enumerate(kinds) if one >> place & 1) for one in different.tolist())
    return found, code.reshape(-1)
