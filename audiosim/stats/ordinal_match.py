"""The distribution over ordered levels that has a wanted mean and variance, nearest in kind to an ordinal model's."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError

LIMIT = 1e-12  # of the squared range: a variance this near the least or the most is taken for it
TOLERANCE = 1e-13  # of the range for a mean, of its square for a variance
STEPS = 20  # of Newton's method: the usual row takes 4, and what is not found by then is bracketed
FARTHEST = 1e3  # step of Newton's method: beyond it only overflow is to be found
BISECTIONS = 60
REFINEMENTS = 150
BLOCK = 32_768  # probabilities worked on at a time: what they need stays in the processor's cache
FLOOR = 1e-300  # keeps the logarithm of what underflows finite


def matched_probabilities(thresholds: Array, levels: Array, mean: Array, variance: Array) -> Array:
    """Level probabilities with a given mean and variance: a model's own distribution, shifted and stretched.

        P(R >= l) = logistic((thresholds[l - 1] + shift) / stretch),  stretch > 0

    thresholds  (levels - 1,) strictly falling, of a proportional odds model; see `ordinal.level_probabilities`
    levels      (levels,) strictly rising, in units of relevance
    mean        (n,) wanted, finite
    variance    (n,) wanted, finite, 0 or more

    Returns (n, levels), rows sum to 1. Mean and variance differ from those wanted by at most 1e-12 of the
    range of the levels and 1e-12 of its square, but for rounding, where they can be had at all. Else they
    are the nearest that can, first of the mean, then of the variance for that mean:

    - a mean below the lowest level or above the highest gives that level for certain;
    - a variance below the least for its mean gives the two levels around the mean, a mean that is a level
      this level for certain: the limit stretch -> 0;
    - a variance above the most for its mean gives the lowest and the highest level: the limit of infinite
      stretch. With two levels least and most are the same, so that the mean alone is matched.

    No other pair (shift, stretch) has the same moments. With the stretch held, the mean rises with the
    shift. With the mean held, the distributions of two stretches cross once, so that the wider one is
    greater in the convex order and its variance larger: it rises with the stretch from the least to the most.
    Karlin & Novikoff (1963), doi:10.2140/pjm.1963.13.1251.
    """
    _check(thresholds, levels, mean, variance)
    places = (levels - levels[0]) / (levels[-1] - levels[0]) - 0.5
    wanted = _wanted(levels, places, mean, variance)
    probabilities = np.zeros((len(mean), len(levels)))
    narrow = wanted.above_least <= LIMIT
    wide = ~narrow & (wanted.below_most <= LIMIT)
    rows = np.flatnonzero(narrow)
    probabilities[rows, wanted.bracket[rows]] = 1 - wanted.fraction[rows]
    probabilities[rows, wanted.bracket[rows] + 1] = wanted.fraction[rows]
    probabilities[wide, -1] = wanted.mean[wide] + 0.5
    probabilities[wide, 0] = 0.5 - wanted.mean[wide]
    for place, rows in _blocks(wanted.bracket, ~narrow & ~wide, len(thresholds)):
        bracket = _bracket(thresholds, places, place)
        probabilities[rows] = _probabilities(bracket, *_solved(bracket, wanted.rows(rows)))
    return probabilities


def _check(thresholds: Array, levels: Array, mean: Array, variance: Array) -> None:
    if len(levels) < 2 or not np.all(np.isfinite(levels)) or not np.all(np.diff(levels) > 0):
        raise InputError(f"levels must be two or more that rise, got {levels.tolist()}")
    if len(thresholds) != len(levels) - 1:
        raise InputError(f"{len(levels)} levels need {len(levels) - 1} thresholds, got {len(thresholds)}")
    if not np.all(np.isfinite(thresholds)) or not np.all(np.diff(thresholds) < 0):
        raise InputError(f"thresholds must be finite and fall from level to level, got {thresholds.tolist()}")
    if mean.ndim != 1 or mean.shape != variance.shape:
        raise InputError(f"expected one mean and one variance per row, got shapes {mean.shape} and {variance.shape}")
    wrong = np.flatnonzero(~np.isfinite(mean) | ~np.isfinite(variance) | (variance < 0))
    if len(wrong):
        got = f"{mean[wrong[0]]:g} and {variance[wrong[0]]:g} in row {wrong[0]}"
        raise InputError(f"means must be finite and variances finite and 0 or more, got {got}")


class _Wanted(NamedTuple):
    """What each row is to have, levels scaled to -1/2 .. 1/2, all (n,).

    mean         E[R]
    bracket      the level at or below the mean, counted from 0; never the highest
    fraction     of the way to the next level at which the mean lies, 0 to 1
    above_least  the variance less the least that is possible
    below_most   the most that is possible less the variance
    """

    mean: Array
    bracket: Integers
    fraction: Array
    above_least: Array
    below_most: Array

    def rows(self, rows: Integers) -> "_Wanted":
        mean, bracket, fraction, above_least, below_most = self
        return _Wanted(mean[rows], bracket[rows], fraction[rows], above_least[rows], below_most[rows])


def _wanted(levels: Array, places: Array, mean: Array, variance: Array) -> _Wanted:
    width = levels[-1] - levels[0]
    m = (np.clip(mean, levels[0], levels[-1]) - levels[0]) / width - 0.5
    bracket = np.minimum(np.searchsorted(places, m, side="right"), np.searchsorted(places, 0.5)) - 1
    below, above = m - places[bracket], places[bracket + 1] - m
    least, most = below * above, (m + 0.5) * (0.5 - m)
    v = (np.minimum(np.sqrt(variance), width) / width) ** 2
    v = np.minimum(np.maximum(v, least), most)
    return _Wanted(m, bracket, below / np.diff(places)[bracket], v - least, most - v)


def _blocks(bracket: Integers, chosen: Booleans, thresholds: int) -> Iterator[tuple[int, Integers]]:
    """The chosen rows of each bracket, some at a time."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(bracket[rows], kind="stable")]
    ends = np.searchsorted(bracket[rows], np.arange(thresholds + 1)).tolist()
    step = max(1, BLOCK // thresholds)
    for place in range(thresholds):
        for start in range(ends[place], ends[place + 1], step):
            yield place, rows[start : min(start + step, ends[place + 1])]


class _Bracket(NamedTuple):
    """What all rows share whose mean lies between levels j and j + 1, told apart by threshold j.

    With x = (thresholds[j] + shift) / stretch and t = 1 / stretch, the tail beyond each threshold is

        T[l] = logistic(sign[l] x - t distance[l]):  P(R >= l + 1) for l >= j,  P(R <= l) for l < j,

    small where few are, so that sums of tails do not cancel.

    place      j
    gap        from level j to j + 1
    sign       (k,) 1 for l >= j, -1 for l < j
    distance   (k,) |thresholds[l] - thresholds[j]|
    sums       (k, 4) what tails are to be multiplied with to give, but for what threshold j adds to the
               first two, E[max(0, R - m)], E[max(0, m - R)], E[(R - level j)(R - level j + 1)] and
               E[(1/2 - R)(1/2 + R)], which is this but for `constant`
    slopes     (k, 8) what T (1 - T) is to be multiplied with to give their derivatives by x, then by t
    constant   (1/2 - level j)(1/2 + level j)
    middles    (k,) between every two levels
    falling    (k,) the thresholds
    """

    place: int
    gap: float
    sign: Array
    distance: Array
    sums: Array
    slopes: Array
    constant: float
    middles: Array
    falling: Array


def _bracket(thresholds: Array, places: Array, j: int) -> _Bracket:
    gaps, twice = np.diff(places), places[1:] + places[:-1]
    above, below = np.arange(len(gaps)) > j, np.arange(len(gaps)) < j
    sign, distance = np.where(below, -1.0, 1.0), np.abs(thresholds - thresholds[j])
    sums = np.stack([above * gaps, below * gaps, gaps * np.abs(twice - twice[j]), -sign * gaps * twice], axis=1)
    slopes = np.hstack([sign[:, None] * sums, -distance[:, None] * sums])
    constant = (0.5 - places[j]) * (0.5 + places[j])
    return _Bracket(j, gaps[j], sign, distance, sums, slopes, constant, twice / 2, thresholds)


def _tails(bracket: _Bracket, x: Array, t: Array) -> Array:
    """(n, k) the tail beyond each threshold."""
    return np.asarray(expit(bracket.sign * x[:, None] - t[:, None] * bracket.distance))


def _probabilities(bracket: _Bracket, x: Array, t: Array) -> Array:
    """(n, k + 1) level probabilities: how much each tail exceeds the next."""
    tails, j = _tails(bracket, x, t), bracket.place
    zero = np.zeros((len(x), 1))
    lower = np.diff(np.hstack([zero, tails[:, :j], expit(-x)[:, None]]))
    upper = -np.diff(np.hstack([tails[:, j:], zero]))
    return np.asarray(np.maximum(0, np.hstack([lower, upper])))


class _Errors(NamedTuple):
    """How far some distributions are from what is wanted.

    mean      (n,) E[R] less the wanted one
    variance  (n,) less the wanted one, where the mean is right
    odds      (2, n) the same as what the solver sets to 0,

                  log E[max(0, R - m)] - log E[max(0, m - R)],
                  log(variance - least) - log(most - variance), less the same of the wanted variance,

              each nearly linear in x and in the logarithm of e^t - 1
    by_x      (2, n) derivatives of the odds
    by_t      (2, n)

    In the first, what lies between the levels around m is shared out so that their difference stays E[R] - m.
    """

    mean: Array
    variance: Array
    odds: Array
    by_x: Array
    by_t: Array


def _errors(bracket: _Bracket, wanted: _Wanted, x: Array, t: Array) -> _Errors:
    tails = _tails(bracket, x, t)
    sums = (tails @ bracket.sums).T
    slopes = ((tails * (1 - tails)) @ bracket.slopes).T
    inside, outside = tails[:, bracket.place], expit(-x)
    sums[0] += (1 - wanted.fraction) * bracket.gap * inside
    sums[1] += wanted.fraction * bracket.gap * outside
    sums[3] += bracket.constant
    slopes[0] += (1 - wanted.fraction) * bracket.gap * inside * outside
    slopes[1] -= wanted.fraction * bracket.gap * inside * outside
    mean, excess = sums[0] - sums[1], sums[2] - wanted.above_least
    sums = np.maximum(sums, [[FLOOR], [FLOOR], [FLOOR], [LIMIT**2]])
    logs, relative = np.log(sums), slopes.reshape(2, 4, -1) / sums
    odds = logs[0::2] - logs[1::2]
    odds[1] -= np.log(wanted.above_least) - np.log(wanted.below_most)
    by_x, by_t = relative[:, 0::2] - relative[:, 1::2]
    return _Errors(mean, excess, odds, by_x, by_t)


def _solved(bracket: _Bracket, wanted: _Wanted) -> tuple[Array, Array]:
    """The x and t of each row: by Newton's method, and where that fails by bisection."""
    x, t, found = _newton(bracket, wanted)
    lost = np.flatnonzero(~found)
    if len(lost):
        x[lost], t[lost] = _bisected(bracket, wanted.rows(lost))
    return x, t


def _newton(bracket: _Bracket, wanted: _Wanted) -> tuple[Array, Array, Booleans]:
    """The x and t of each row, and whether they are good.

    Works on x and y, t = log(1 + e^y) / scale; a step that does not lessen the odds' error is halved.
    """
    scale, base = _scale(bracket, wanted), _start(wanted)
    step, least = np.zeros_like(base), np.full(len(scale), np.inf)
    found = np.zeros(len(scale), dtype=bool)
    left = np.arange(len(scale))
    for _ in range(STEPS):
        trial = base[:, left] + step[:, left]
        t = np.logaddexp(0, trial[1]) / scale[left]
        errors = _errors(bracket, wanted.rows(left), trial[0], t)
        size = np.hypot(*errors.odds)
        good = (np.abs(errors.mean) <= TOLERANCE) & (np.abs(errors.variance) <= TOLERANCE)
        nearer = good | (size < least[left])
        halved = step[:, left] / 2
        step[:, left] = np.where(nearer, _step(errors, expit(trial[1]) / scale[left]), halved)
        base[:, left[nearer]] = trial[:, nearer]
        least[left[nearer]] = size[nearer]
        found[left[good]] = True
        left = left[~good]
        if not len(left):
            break
    return base[0], np.logaddexp(0, base[1]) / scale, found


def _start(wanted: _Wanted) -> Array:
    """(2, n) x and y that solve for both limits of the stretch, roughly for those between."""
    x = logit(np.clip(wanted.fraction, 0.02, 0.98))
    return np.stack([x, np.log(wanted.below_most) - np.log(wanted.above_least)])


def _scale(bracket: _Bracket, wanted: _Wanted) -> Array:
    """(n,) in units of thresholds: what one standard deviation of the levels spans around the mean."""
    least = wanted.fraction * (1 - wanted.fraction) * bracket.gap**2
    deviation = np.sqrt(wanted.above_least + least)
    high, low = (np.interp(wanted.mean + way * deviation, bracket.middles, bracket.falling) for way in (-1, 1))
    return np.asarray(np.maximum((high - low) / 2, _nearest(bracket)))


def _nearest(bracket: _Bracket) -> float:
    """How far the nearest other threshold is."""
    return float(np.delete(bracket.distance, bracket.place).min())


def _step(errors: _Errors, t_by_y: Array) -> Array:
    """(2, n) Newton's step in x and y; 0 where there is none."""
    (a, c), (b, d) = errors.by_x, errors.by_t * t_by_y
    first, second = errors.odds
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = np.stack([b * second - d * first, c * first - a * second]) / (a * d - b * c)
    return np.asarray(np.where(np.isfinite(step), np.clip(step, -FARTHEST, FARTHEST), 0))


def _bisected(bracket: _Bracket, wanted: _Wanted) -> tuple[Array, Array]:
    """The x and t of each row, slowly and surely: t between bounds, by the variance when x gives the mean."""
    low = np.full(len(wanted.mean), np.log(LIMIT) - np.log(bracket.distance.max()))
    high = np.full(len(wanted.mean), np.log(100) - np.log(_nearest(bracket)))
    x = np.zeros(len(wanted.mean))
    for _ in range(BISECTIONS):
        t = np.exp((low + high) / 2)
        x = _centred(bracket, wanted, x, t)
        wide = _errors(bracket, wanted, x, t).odds[1] > 0
        low, high = np.where(wide, np.log(t), low), np.where(wide, high, np.log(t))
    return x, t


def _centred(bracket: _Bracket, wanted: _Wanted, x: Array, t: Array) -> Array:
    """The x that gives the wanted mean at given t: Newton's method between bounds, which else are halved.

    The bounds have the mean of all thresholds where the lowest is, or the highest.
    """
    even = logit(wanted.mean + 0.5)
    low, high = even - t * bracket.distance[0], even + t * bracket.distance[-1]
    x, last = np.clip(x, low, high), np.full(len(x), np.inf)
    for _ in range(REFINEMENTS):
        errors = _errors(bracket, wanted, x, t)
        error, slope = errors.odds[0], errors.by_x[0]
        if np.all(np.abs(error) <= TOLERANCE):
            break
        low, high = np.where(error <= 0, x, low), np.where(error >= 0, x, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - error / slope
        fast = (newton >= low) & (newton <= high) & (np.abs(error) <= last / 2)
        x, last = np.where(fast, newton, (low + high) / 2), np.abs(error)
    return x
