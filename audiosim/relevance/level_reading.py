"""Levels of a pool's pairs under a belief: each pair by itself, or shifted by the judgments of other pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from audiosim.arrays import Array, Integers
from audiosim.properties import cached_property
from audiosim.relevance.belief_parts import Marginals
from audiosim.relevance.level_chances import (
    FREEDOM,
    between_ends,
    nearest_level,
    on_scale,
    shape_errors,
    shown_by_levels,
    t_below,
    with_counts,
    with_means,
)
from audiosim.relevance.level_use import WEIGHT, Levels
from audiosim.stats.normal.multivariate import MultivariateNormal
from audiosim.stats.responses.ordinal import expectation


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
