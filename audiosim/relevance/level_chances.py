"""Chances of the levels of single grades, from the ends of levels on the scale of gains and counts of judged levels."""

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, ndtr

from audiosim.arrays import Array, Integers

FREEDOM = 10  # degrees of freedom; any from 5 to 30 predict single grades about equally well
REACH = 4.0  # largest move of the end of a level, in deviations
NEAR = 1e-9  # tolerance for the end of a level, in deviations
HALVINGS = 60
AWAY = 0.02  # share of the scale by which the mean of an unknown grade is away from the ends, at least
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
    for number in range(3 * HALVINGS):
        middle = (low * least - high * most) / (least - most) if number else np.zeros(len(rows))
        # Where deviations are tiny the mean is nearly a step, on which only halving gets on.
        middle = np.where((middle > low) & (middle < high) & (number % 3 < 2), middle, (low + high) / 2)
        value = over(rows, middle)
        shift[rows] = middle
        above = value > 0
        # The end that stays counts half, so that the other end moves too.
        most, least = np.where(above, value, most / 2), np.where(above, least / 2, value)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        left = np.abs(value) > EXACT * values[-1]
        rows, low, high, most, least = rows[left], low[left], high[left], most[left], least[left]
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
    # eigh instead of Cholesky: the projection makes the covariance singular.
    values, vectors = np.linalg.eigh(kept @ covariance @ kept.T)
    return np.asarray(vectors * np.sqrt(np.maximum(0, values)))


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
