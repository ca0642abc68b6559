"""Chances of the levels of single grades, from the ends of levels on the scale of gains and counts of judged levels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr, ndtri

from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers
from audiosim.stats.normal.roots import symmetric_root

FREEDOM = 10  # degrees of freedom; any from 5 to 30 predict single grades about equally well
REACH = 4.0  # largest move of the end of a level, in deviations
NEAR = 1e-9  # tolerance for the end of a level, in deviations
HALVINGS = 60
# Share of the scale by which the mean of an unknown grade is away from the ends, at least. On made collections of seven
# kinds the best share differs; .02 to .05 raise the squared error near the ends by a fifth at most, .08 by two thirds.
AWAY = 0.02
FAR = 50.0  # deviations beyond all ends of levels at which a shift of them is looked for
EXACT = 1e-14  # tolerance for a mean grade, as a share of the highest
FARTHEST = 1e8  # deviations beyond which a probability is 0 or 1
WORTHS = (np.inf, 40.0, 20.0, 10.0, 5.0, 2.5)  # if several are equally likely, the first is used
FURTHER = 1.01  # largest factor by which counting a query's levels may raise the squared error of expected grades
SPARSE = 1e-3  # lower bound of the density at the end of a level
LEAST = 1e-9  # lower bound of the chance of a level


def t_below(deviations: Array) -> Array:
    """P(t <= x) of Student's t of FREEDOM degrees of freedom, a polynomial because their number is even.

        1/2 + sin a / 2 (1 + 1/2 cos^2 a + 3/8 cos^4 a + ...),   tan a = x / sqrt(FREEDOM)

    Several times as fast as the incomplete Beta function, accurate to 1e-15. Abramowitz & Stegun (1964), 26.7.4.
    """
    deviations = np.clip(deviations, -FARTHEST, FARTHEST)
    inverse = 1 / (deviations**2 + FREEDOM)
    cosine, total = FREEDOM * inverse, np.full_like(inverse, _SERIES[-1])
    for factor in _SERIES[-2::-1]:
        total *= cosine
        total += factor
    total *= deviations
    total *= np.sqrt(inverse, out=inverse)
    total += 0.5
    return total


_SERIES = [0.5 * float(np.prod([(2 * i - 1) / (2 * i) for i in range(1, j + 1)])) for j in range(FREEDOM // 2)]


def between_ends(ends: Array, below: Callable[[Array], Array] = t_below) -> Array:
    """(k, l) chances of levels with ends (k, l - 1) in deviations from the mean.

    below  distribution function of the deviations
    """
    reached = np.zeros((len(ends), ends.shape[1] + 2))
    reached[:, 1:-1] = below(ends)
    reached[:, -1] = 1
    # Rounding may make the polynomial fall by its last digit where the distribution function is flat.
    return np.maximum(np.diff(reached, axis=1), 0)


def nearest_level(levels: Array, grades: Array) -> Integers:
    """(...) index of the level nearest to each grade, the upper one halfway between two, in the shape of the grades.

    Fine grades 40 to 49 thus have level 45, as in Urbano (2013), section 7.3.1.
    """
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, grades, side="right").astype(np.int64)


def level_means(levels: Array, level: Integers, grades: Array, weight: float) -> Array:
    """(l,) mean grade of each level: of the judged grades (k,) at it, shrunk to the level with a weight in judgments.

    Grades between levels count at their level's mean, which need not be its middle: Fine grades are often round.
    """
    counts = np.bincount(level, minlength=len(levels))
    return np.asarray((weight * levels + np.bincount(level, grades, len(levels))) / (weight + counts))


def with_counts(chances: Array, counts: Array, worth: float) -> Array:
    """(k, l) chances, weighted as `worth` judged pairs, combined with counts (k, l)."""
    if not np.isfinite(worth):
        return chances
    return np.asarray((worth * chances + counts) / (worth + counts.sum(axis=1, keepdims=True)))


def best_worth(chances: Array, counts: Array, level: Integers, means: Array, grades: Array, weight: float) -> float:
    """The member of WORTHS that makes the observed levels most likely, for chances (k, l) and counts (k, l).

    level   (k,) observed level of the grades (k,)
    means   (l,) grade of each level
    weight  the prior of 1 / worth is exponential with a mean of 1 / weight

    Leaves out those that raise the squared error of expected grades by more than FURTHER.
    """
    both = [with_counts(chances, counts, worth) for worth in WORTHS]
    # The likelihood alone would favour counts that sharpen the levels but bias the expected grades.
    off = [float(((one @ means - grades) ** 2).sum()) for one in both]
    fits = [
        log_likelihood(one, level) - weight / worth if error <= FURTHER * off[0] else -np.inf
        for one, worth, error in zip(both, WORTHS, off, strict=True)
    ]
    return WORTHS[int(np.argmax(fits))]


def log_likelihood(chances: Array, level: Integers) -> float:
    """Sum of the logarithms of the chances of the observed levels (k,), none below LEAST."""
    return float(np.log(np.maximum(chances[np.arange(len(level)), level], LEAST)).sum())


def on_scale(mean: Array, values: Array) -> Array:
    """(...) mean grades, those nearer to an end of the scale than AWAY moved that far from it.

    A normal mean may lie beyond the lowest or the highest grade. The mean of a grade that is not yet known cannot, and
    at the very end it would be certain.

    values  (l,) grade of each level, rising
    """
    away = AWAY * (values[-1] - values[0])
    return np.clip(mean, values[0] + away, values[-1] - away)


def with_means(ends: Array, values: Array, wanted: Array, below: Callable[[Array], Array]) -> Array:
    """(k, l - 1) ends of levels, those of each row shifted by one number so that its mean grade is as wanted.

    ends    (k, l - 1) in deviations from the mean
    values  (l,) grade of each level, rising
    wanted  (k,) mean grades, between the lowest and the highest level's
    below   distribution function of the deviations

    The mean falls as the ends rise, so bisection finds each shift; regula falsi with halved weights (Illinois) speeds
    it up. Dowell & Jarratt (1971), doi:10.1007/BF01934364.
    """
    steps, found = np.diff(values), ends.copy()
    if not len(steps) or not len(ends):
        return found
    finite = np.where(np.isfinite(ends), ends, 0)
    low, high = -FAR - finite.max(axis=1), FAR - finite.min(axis=1)

    def over(rows: Integers, shift: Array) -> Array:
        return np.asarray(values[-1] - below(ends[rows] + shift[:, None]) @ steps - wanted[rows])

    rows = np.arange(len(ends))
    most, least = over(rows, low), over(rows, high)
    shift = np.where(most <= 0, low, high)
    rows = np.flatnonzero((most > 0) & (least < 0))
    low, high, most, least = low[rows], high[rows], most[rows], least[rows]
    before = np.zeros(len(rows), dtype=np.bool_)
    for number in range(3 * HALVINGS):
        middle = (low * least - high * most) / (least - most) if number else np.zeros(len(rows))
        # Where deviations are tiny the mean is nearly a step, on which only halving gets on.
        middle = np.where((middle > low) & (middle < high) & (number % 3 < 2), middle, (low + high) / 2)
        value = over(rows, middle)
        shift[rows] = middle
        above = value > 0
        # An end that stays a second time counts half, so that the other end moves too.
        share = np.where(above == before, 0.5, 1)
        most, least = np.where(above, value, most * share), np.where(above, least * share, value)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        left = np.abs(value) > EXACT * values[-1]
        rows, low, high, most, least, before = (of[left] for of in (rows, low, high, most, least, above))
        if not len(rows):
            break
    found += shift[:, None]
    return found


def centred(shape: Array, ends: Array, ratio: Array, values: Array, wanted: float) -> Array:
    """(l - 1,) a shape shifted as a whole, so that the levels, with grades `values` (l,), have the wanted mean grade.

    ends, ratio  see `shape_of`
    """
    steps = np.diff(values)

    def mean(middle: float) -> tuple[float, float]:
        moved = ends + ratio * (shape + middle)
        highest = np.maximum.accumulate(moved, axis=1)
        slopes = np.where(moved == highest, ratio, 0) * t_density(highest)
        return float(values[-1] - t_below(highest).mean(axis=0) @ steps - wanted), float(-(slopes.mean(axis=0) @ steps))

    return np.asarray(shape + _zero(mean))


def shape_of(ends: Array, ratio: Array, target: Array) -> Array:
    """(l - 1,) shifts of the ends (k, l - 1) that give their mean chances the target (l - 1,).

    ratio  (k, 1) rate at which the ends of each row move with the shape; no end falls below the one before
    """
    shape, reached = np.zeros(len(target)), np.full(len(ends), -np.inf)
    # One level at a time, from the lowest: an end depends only on those below it, so each is a root in one variable.
    for level, wanted in enumerate(target.tolist()):
        own, floor, aim = ends[:, level], reached, wanted

        def missing(middle: float, own: Array = own, floor: Array = floor, aim: float = aim) -> tuple[float, float]:
            moved = own + ratio[:, 0] * middle
            highest = np.maximum(floor, moved)
            slopes = np.where(moved > floor, ratio[:, 0], 0) * t_density(highest)
            return aim - float(t_below(highest).mean()), -float(slopes.mean())

        shape[level] = _zero(missing)
        reached = np.maximum(reached, ends[:, level] + ratio[:, 0] * shape[level])
    return shape


def _zero(falling: Callable[[float], tuple[float, float]]) -> float:
    """Zero of a falling function, given with its slope: Newton's method, or bisection where a step leaves the bracket.

    Returns -REACH or REACH if the zero lies beyond.
    """
    low, high, at = -REACH, REACH, 0.0
    for _ in range(HALVINGS):
        value, slope = falling(at)
        low, high = (at, high) if value > 0 else (low, at)
        following = at - value / slope if slope < 0 else np.inf
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - at) < NEAR:
            return following
        at = following
    return at


def shape_errors(ends: Array, ratio: Array, steps: Array, weight: float) -> Array:
    """(l - 1, l - 1) root R of the covariance R R' of a shape, given k judged pairs and the prior.

        Cov[F_l, F_m] = (min(F_l, F_m) - F_l F_m) / (weight + k + 1)

    F_l is the share of pairs of level l or lower, under a Dirichlet distribution; the mean density of the pairs at each
    end translates it to the shape. The part that moves the mean grade is removed: the gains already account for it.

    ends    (k, l - 1) ends of the levels of each pair, in deviations
    ratio   (k, 1) rate at which the ends of each pair move with the shape
    steps   (l - 1,) difference of each level's grade from the one before
    weight  weight of the prior, in judgments

    0 without a judged pair: the shape then comes from elsewhere.
    """
    if not len(ends):
        return np.zeros((len(steps), len(steps)))
    reached = t_below(ends).mean(axis=0)
    density = np.maximum(SPARSE, (ratio * t_density(ends)).mean(axis=0))
    covariance = np.minimum.outer(reached, reached) - np.outer(reached, reached)
    covariance /= np.outer(density, density) * (weight + len(ends) + 1)
    moves = steps * density
    # Projects out equal shifts of all ends, weighted by their effect on the mean grade.
    kept = np.eye(len(steps)) - moves / moves.sum()
    return symmetric_root(kept @ covariance @ kept.T)


def t_density(deviations: Array) -> Array:
    """Density of Student's t of FREEDOM degrees of freedom."""
    highest = np.exp(gammaln((FREEDOM + 1) / 2) - gammaln(FREEDOM / 2)) / np.sqrt(np.pi * FREEDOM)
    cosine = 1 / (1 + deviations**2 / FREEDOM)
    return np.asarray(highest * np.sqrt(cosine) * cosine ** (FREEDOM // 2))


def shown_by_levels(ends: Array, grades: Array) -> float:
    """Mean share of the correlation of two normal variables that remains in the levels on which they fall.

        corr(grade_i, grade_j) ~ corr(z_i, z_j) r_i r_j,
        r = corr(z, grade) = sum over ends of step density(end) / standard deviation of the grade

    the mean of r^2 over pairs, 1 without pairs. Olsson, Drasgow & Dorans (1982), doi:10.1007/BF02294164,
    equation 12.

    ends    (k, l - 1) ends of the levels of each pair, in deviations
    grades  (l,) grade of each level
    """
    reached = np.diff(ndtr(ends), axis=1, prepend=0, append=1)
    spread = reached @ grades**2 - (reached @ grades) ** 2
    together = (np.exp(-(ends**2) / 2) @ np.diff(grades)) ** 2 / (2 * np.pi)
    open_ = spread > LEAST * np.ptp(grades) ** 2
    return float((together[open_] / spread[open_]).mean()) if open_.any() else 1.0


# Levels of a scale as functions of gains: how a changed gain changes the chances of levels.


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
