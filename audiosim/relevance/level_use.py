"""Levels of a scale as functions of gains: how a changed gain changes the chances of levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError
from audiosim.relevance.level_chances import (
    best_worth,
    between_ends,
    centred,
    level_means,
    log_likelihood,
    nearest_level,
    shape_of,
    t_below,
)

WEIGHT = 10.0  # weight of the prior shape of the levels, in judgments
STRETCHES = (0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5)
SPREAD = 0.3  # standard deviation of the logarithm of a stretch under the prior


@dataclass(frozen=True, eq=False)
class Levels:
    """Mapping from gains to the l levels of a scale; by default that of the marginals.

    shape    (l - 1,) distance of the end of each level but the highest above its place in the marginals, in prior
             deviations. None: 0
    stretch  factor by which levels are separated less sharply than the gains imply
    width    of the levels, in prior deviations relative to the marginals: less than 1 where the prior is wider because
             the collection is unknown
    worth    number of judged pairs of its query that equals the gains' evidence on a pair's level; infinite: the levels
             of the judged pairs are ignored
    means    (l,) mean grade of each level, as far as judgments show it; None: the levels themselves
    """

    shape: Array | None = None
    stretch: float = 1.0
    width: float = 1.0
    worth: float = np.inf
    means: Array | None = None

    def __post_init__(self) -> None:
        for what, number in (("stretch", self.stretch), ("width", self.width)):
            if not 0 < number < np.inf:
                raise InputError(f"its {what} must be one finite number above 0")
        if not self.worth > 0:
            raise InputError("its worth must be one number above 0")

    def check(self, levels: Array, maximum: float) -> None:
        """Raise an error unless this fits the levels (l,) of a scale."""
        if self.shape is not None and not _numbers(self.shape, len(levels) - 1):
            raise InputError(f"its shape must be {len(levels) - 1} finite numbers, one for each level but the highest")
        if self.means is None:
            return
        within = _numbers(self.means, len(levels)) and self.means.min() >= 0 and self.means.max() <= maximum
        if not within or np.any(np.diff(self.means) <= 0):
            raise InputError(f"its means must be {len(levels)} rising grades up to {maximum:g}, one for each level")

    def ends(self, below: Array, own: Array, deviation: Array, mean: Array, spread: Array) -> Array:
        """(k, l - 1) ends of the levels, in deviations from the mean of each gain; see `Belief.probabilities`.

            (own + deviation (width normal quantile of below + shape) - mean) / (stretch spread)

        below      (k, l - 1) P(level <= l) by the marginals
        own        (k,) expected gain by the marginals
        deviation  (k,) standard deviation of the gain before any judgment
        mean       (k,) mean of the gain now
        spread     (k,) standard deviation of the gain now
        """
        shape = np.zeros(below.shape[1]) if self.shape is None else self.shape
        # Ends may not cross: a shape learned level by level could otherwise give a level a negative chance.
        ends = own[:, None] + deviation[:, None] * np.maximum.accumulate(self.width * ndtri(below) + shape, axis=1)
        return np.asarray((ends - mean[:, None]) / (self.stretch * spread)[:, None])

    def learn(self, levels: Array, ends: Array, ratio: Array, counts: Array, grades: Array, wanted: float) -> "Levels":
        """Levels with the frequency and the separation that k judgments show.

            mean over judged pairs of P(level <= l) = (WEIGHT previous value + judged l or lower) / (WEIGHT + judged)

        levels  (l,) levels of the scale
        ends    (k, l - 1) ends of each judged pair by the marginals, predicted from the other judgments
        ratio   (k, 1) rate at which the ends of each pair move with the shape
        counts  (k, l) judged pairs of each pair's query by level, leaving out the pair itself
        grades  (k,)
        wanted  mean of these grades expected by the gains

        A Dirichlet prior of WEIGHT pseudo-counts gives `shape`. `stretch` is the most likely of STRETCHES, whose
        logarithm has a normal prior with SPREAD; see `best_worth` for `worth`. The shape is then shifted so that the
        mean expected grade of the judged pairs agrees with their gains.
        """
        level = nearest_level(levels, grades)
        means = level_means(levels, level, grades, WEIGHT)
        target = _target(ends, level)
        best, found = -np.inf, (np.zeros(ends.shape[1]), 1.0)
        # A grid, as each stretch needs its own shape: the two are not separable, and derivatives would cost more.
        chances = np.empty((len(ends), len(levels)))
        for stretch in STRETCHES:
            shape = shape_of(ends / stretch, ratio / stretch, target)
            shape = centred(shape, ends / stretch, ratio / stretch, means, wanted)
            chance = between_ends(np.maximum.accumulate(ends + ratio * shape, axis=1) / stretch)
            likely = log_likelihood(chance, level) - (np.log(stretch) / SPREAD) ** 2 / 2
            if likely > best:
                best, found, chances = likely, (shape, stretch), chance
        worth = best_worth(chances, counts, level, means, grades, WEIGHT)
        return Levels(found[0], found[1], self.width, worth, means)

    def as_in(self, other: "Levels") -> "Levels":
        """The mapping that another instance has learned, with the width of this one."""
        return Levels(other.shape, other.stretch, self.width, other.worth, other.means)

    def to_dict(self) -> dict[str, Any]:
        """The learned part, as plain values."""
        return {
            "shape": None if self.shape is None else self.shape.tolist(),
            "stretch": float(self.stretch),
            "worth": float(self.worth),
            "means": None if self.means is None else self.means.tolist(),
        }

    def resumed(self, learned: Mapping[str, Any]) -> "Levels":
        """A mapping learned earlier, restored from plain values, with the width of this one."""
        shape, means = (None if learned[name] is None else np.array(learned[name]) for name in ("shape", "means"))
        return Levels(shape, learned["stretch"], self.width, learned["worth"], means)


AS_MARGINALS = Levels()


def _numbers(values: Array, count: int) -> bool:
    """True for `count` finite numbers."""
    return values.dtype == np.float64 and values.shape == (count,) and bool(np.all(np.isfinite(values)))


def _target(ends: Array, level: Integers) -> Array:
    """(l - 1,) target for the mean of P(level <= l) over the judged pairs; see `Levels.learn`."""
    below = level[:, None] <= np.arange(ends.shape[1])
    return np.asarray((WEIGHT * t_below(ends).mean(axis=0) + below.sum(axis=0)) / (WEIGHT + len(level)))
