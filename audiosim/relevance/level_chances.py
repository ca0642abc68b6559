"""Chances of the levels of single grades, of ends on the scale of the gains and of counts of judged levels."""

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, ndtr

from audiosim.arrays import Array, Integers

FREEDOM = 10  # 5 to 30 predict single grades about as well
REACH = 4.0  # deviations that the end of a level may be off
NEAR = 1e-9  # deviations by which the end of a level may be missed
HALVINGS = 60
FARTHEST = 1e8  # deviations beyond which a probability is 0 or 1
WORTHS = (np.inf, 40.0, 20.0, 10.0, 5.0, 2.5)  # of equal likelihood the first
FURTHER = 1.01  # times the mean squared error of expected grades that levels of the query may cost
SPARSE = 1e-3  # density at the end of a level that none is taken to fall below
LEAST = 1e-9  # chance of a level that none is taken to fall below


def t_below(deviations: Array) -> Array:
    """P(t <= x) of Student's t of FREEDOM degrees of freedom: their number is even, so it is a polynomial.

        1/2 + sin a / 2 (1 + 1/2 cos^2 a + 3/8 cos^4 a + ...),   tan a = x / sqrt(FREEDOM)

    Some times as fast as the incomplete Beta function, to 1e-15. Abramowitz & Stegun (1964), 26.7.4.
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


def between_ends(ends: Array) -> Array:
    """(k, l) chances of the levels whose ends (k, l - 1) lie so many deviations from the mean, of FREEDOM degrees."""
    reached = np.zeros((len(ends), ends.shape[1] + 2))
    reached[:, 1:-1] = t_below(ends)
    reached[:, -1] = 1
    # A polynomial's last digit may fall where the distribution function is flat.
    return np.maximum(np.diff(reached, axis=1), 0)


def nearest_level(levels: Array, grades: Array) -> Integers:
    """(...) place of the level nearest to each grade, half way to the upper one, in the shape of the grades.

    So Fine grades 40 to 49 are of level 45, as in Urbano (2013), section 7.3.1.
    """
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, grades, side="right").astype(np.int64)


def level_means(levels: Array, level: Integers, grades: Array, weight: float) -> Array:
    """(l,) mean grade of each level: of the judged ones (k,) in it, and of the level itself that counts for so many.

    A grade between two levels stands for its level's mean, which need not be its middle: Fine grades are often round.
    """
    counts = np.bincount(level, minlength=len(levels))
    return np.asarray((weight * levels + np.bincount(level, grades, len(levels))) / (weight + counts))


def with_counts(chances: Array, counts: Array, worth: float) -> Array:
    """(k, l) chances that count for so many judged pairs, and counts (k, l), together."""
    if not np.isfinite(worth):
        return chances
    return np.asarray((worth * chances + counts) / (worth + counts.sum(axis=1, keepdims=True)))


def best_worth(chances: Array, counts: Array, level: Integers, means: Array, grades: Array, weight: float) -> float:
    """One of WORTHS for chances (k, l) beside counts (k, l): that under which the levels that came out are likeliest.

    level   (k,) that came out, of grades (k,)
    means   (l,) grades that the levels stand for
    weight  1 / worth is exponential with a mean of 1 over this beforehand

    Only those count by which expected grades are not further off.
    """
    both = [with_counts(chances, counts, worth) for worth in WORTHS]
    off = [float(((one @ means - grades) ** 2).sum()) for one in both]
    fits = [
        log_likelihood(one, level) - weight / worth if error <= FURTHER * off[0] else -np.inf
        for one, worth, error in zip(both, WORTHS, off, strict=True)
    ]
    return WORTHS[int(np.argmax(fits))]


def log_likelihood(chances: Array, level: Integers) -> float:
    """Sum of the logarithms of the chances of the levels (k,) that came out, none below LEAST."""
    return float(np.log(np.maximum(chances[np.arange(len(level)), level], LEAST)).sum())


def centred(shape: Array, ends: Array, ratio: Array, values: Array, wanted: float) -> Array:
    """(l - 1,) a shape moved as a whole, so that the grades of the levels, values (l,), have the mean that is wanted.

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
    """(l - 1,) by how much ends (k, l - 1) move for their mean chances to be those of a target (l - 1,).

    ratio  (k, 1) by how much the ends of each row move with the shape; no end falls below the one before
    """
    shape, reached = np.zeros(len(target)), np.full(len(ends), -np.inf)
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
    """Zero of a falling function that is given with its slope: by Newton's method, by halves where that leads away.

    An end of -REACH to REACH where it does so beyond.
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
    """(l - 1, l - 1) root R of the covariance R R' of a shape that k judged pairs tell, beside what is held before.

        Cov[F_l, F_m] = (min(F_l, F_m) - F_l F_m) / (weight + k + 1)

    F_l being the share of pairs of level l or lower: that of a Dirichlet distribution, which the mean density of the
    pairs at each end brings to the shape. What moves the mean grade is taken out: that is known as gains are.

    ends    (k, l - 1) of the levels of each pair, in deviations
    ratio   (k, 1) by how much the ends of each pair move with the shape
    steps   (l - 1,) by how much the grade of each level exceeds that of the one before
    weight  judgments' worth of what is held before

    0 where no pair is judged: the shape comes from elsewhere.
    """
    if not len(ends):
        return np.zeros((len(steps), len(steps)))
    reached = t_below(ends).mean(axis=0)
    density = np.maximum(SPARSE, (ratio * t_density(ends)).mean(axis=0))
    covariance = np.minimum.outer(reached, reached) - np.outer(reached, reached)
    covariance /= np.outer(density, density) * (weight + len(ends) + 1)
    moves = steps * density
    kept = np.eye(len(steps)) - moves / moves.sum()
    values, vectors = np.linalg.eigh(kept @ covariance @ kept.T)
    return np.asarray(vectors * np.sqrt(np.maximum(0, values)))


def t_density(deviations: Array) -> Array:
    """Density of Student's t of FREEDOM degrees of freedom."""
    highest = np.exp(gammaln((FREEDOM + 1) / 2) - gammaln(FREEDOM / 2)) / np.sqrt(np.pi * FREEDOM)
    cosine = 1 / (1 + deviations**2 / FREEDOM)
    return np.asarray(highest * np.sqrt(cosine) * cosine ** (FREEDOM // 2))


def shown_by_levels(ends: Array, grades: Array) -> float:
    """Share of the correlation of two normal variables that the levels on which they fall show, in the mean.

        corr(grade_i, grade_j) ~ corr(z_i, z_j) r_i r_j,
        r = corr(z, grade) = sum over ends of step density(end) / standard deviation of the grade

    the mean of r^2 over pairs, 1 where there is none. Olsson, Drasgow & Dorans (1982), doi:10.1007/BF02294164,
    equation 12.

    ends    (k, l - 1) of the levels of each pair, in deviations
    grades  (l,) that the levels stand for
    """
    reached = np.diff(ndtr(ends), axis=1, prepend=0, append=1)
    spread = reached @ grades**2 - (reached @ grades) ** 2
    together = (np.exp(-(ends**2) / 2) @ np.diff(grades)) ** 2 / (2 * np.pi)
    open_ = spread > LEAST * np.ptp(grades) ** 2
    return float((together[open_] / spread[open_]).mean()) if open_.any() else 1.0
