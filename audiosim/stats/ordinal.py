"""Maximum likelihood fit of proportional odds by Newton's method, with its standard errors."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import expit, log_expit, logit

from audiosim.errors import InputError
from audiosim.stats.arrays import Array, Integers

# Proportional odds: level probabilities, log-likelihood with gradient and Hessian.
#
# P(R >= l | x) = logistic(alpha_l + beta.x); one threshold alpha for each level but the lowest, falling.
# McCullagh (1980), doi:10.1111/j.2517-6161.1980.tb01109.x; Urbano (2013), equations 7.1 to 7.4.


BLOCK = 8_192  # rows processed at a time, so that their data fit into the processor's cache


def level_probabilities(thresholds: Array, predictor: Array) -> Array:
    """P(R = l) for each level of a proportional odds model.

        P(R >= l) = logistic(thresholds[l - 1] + predictor),  P(R = l) = P(R >= l) - P(R >= l + 1)

    thresholds  (levels - 1,) strictly falling, for the second level and up
    predictor   (n,) sum of coefficients times features; NaN where a feature is unknown

    Returns (n, levels), rows sum to 1; a row of NaN where the predictor is NaN.
    Urbano (2013), equations 7.3 and 7.4.
    """
    if len(thresholds) < 1 or not np.all(np.diff(thresholds) < 0):
        raise InputError(f"thresholds must fall from level to level, got {np.asarray(thresholds).tolist()}")
    at_least = np.ones((len(predictor), len(thresholds) + 2))
    at_least[:, 1:-1] = expit(predictor[:, None] + thresholds)
    at_least[:, -1] = 0
    at_least[np.isnan(predictor)] = np.nan
    return at_least[:, :-1] - at_least[:, 1:]


def thresholds_of(probabilities: Array) -> Array:
    """The thresholds of the model without features that gives each level this probability.

    probabilities  (levels,) all above 0, summing to 1
    """
    if not np.all(probabilities > 0) or not np.isclose(probabilities.sum(), 1):
        raise InputError(f"probabilities must be above 0 and sum to 1, got {probabilities.tolist()}")
    return np.asarray(logit(np.cumsum(probabilities[::-1])[-2::-1]))


def expectation(probabilities: Array, levels: Array) -> Array:
    """(n,) E[R] = sum over levels of P(R = l) l; Urbano (2013), equation 7.1."""
    return np.asarray(probabilities @ levels)


def variance(probabilities: Array, levels: Array) -> Array:
    """(n,) Var[R] = sum over levels of P(R = l) l^2 - E[R]^2; Urbano (2013), equation 7.2.

    Computed about the middle of the levels, where the two terms cancel least.
    """
    centred = levels - levels.mean()
    return np.asarray(np.maximum(0, probabilities @ centred**2 - (probabilities @ centred) ** 2))


class Derivatives(NamedTuple):
    """Log-likelihood of a model at parameters (thresholds, then coefficients), with gradient and Hessian."""

    value: float
    gradient: Array
    hessian: Array


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a fit, sorted by level.

    features  (n, k)
    weights   (n,) multiplicity of each row
    starts    (levels + 1,) start of each level's rows, and n
    """

    features: Array
    weights: Array
    starts: Integers

    def blocks(self, level: int) -> Iterator[slice]:
        """The rows of a level, a block at a time."""
        first, last = self.starts[level : level + 2].tolist()
        return (slice(start, min(start + BLOCK, last)) for start in range(first, last, BLOCK))


def derivatives(rows: Rows, parameters: Array) -> Derivatives:
    """The log-likelihood, its gradient and its Hessian.

    With u = alpha_y + x.beta and v = alpha_(y+1) + x.beta for a row of level y,

        log P(y) = log F(u) + log(1 - F(v)) + log(1 - exp(alpha_(y+1) - alpha_y)),  F logistic,

    which does not cancel in the tails. The last term depends only on the level, so a row needs only F(u) and F(v). The
    lowest level has no u, the highest no v.

    parameters  (t + k,) falling thresholds, then coefficients
    """
    t = len(rows.starts) - 2
    thresholds, coefficients = parameters[:t], parameters[t:]
    value, gradient = 0.0, np.zeros(len(parameters))
    hessian = np.zeros((len(parameters), len(parameters)))
    for level in range(t + 1):
        ends = _ends(level, t)
        for block in rows.blocks(level):
            value += _add_block(rows, block, thresholds, coefficients, ends, gradient, hessian)
        if len(ends) == 2:
            count = float(rows.weights[rows.starts[level] : rows.starts[level + 1]].sum())
            value += _add_gap(thresholds, ends[0][0], count, gradient, hessian)
    return Derivatives(value, gradient, hessian)


def _ends(level: int, t: int) -> list[tuple[int, int]]:
    """The thresholds around a level: (place, 1 for the lower one, -1 for the upper one)."""
    return [(place, sign) for place, sign in ((level - 1, 1), (level, -1)) if 0 <= place < t]


def _add_block(
    rows: Rows,
    block: slice,
    thresholds: Array,
    coefficients: Array,
    ends: Sequence[tuple[int, int]],
    gradient: Array,
    hessian: Array,
) -> float:
    """Add the contribution of a block of rows of one level, without the term for the gap between its thresholds."""
    t, x, w = len(thresholds), rows.features[block], rows.weights[block]
    predictor = x @ coefficients
    value, slope, bend = 0.0, np.zeros(len(w)), np.zeros(len(w))
    for place, sign in ends:
        argument = sign * (predictor + thresholds[place])
        inside = expit(argument)
        value += float(w @ log_expit(argument))
        steep = sign * w * (1 - inside)
        curved = w * inside * (1 - inside)
        slope += steep
        bend += curved
        gradient[place] += steep.sum()
        hessian[place, place] -= curved.sum()
        across = curved @ x
        hessian[place, t:] -= across
        hessian[t:, place] -= across
    gradient[t:] += slope @ x
    hessian[t:, t:] -= (x * bend[:, None]).T @ x
    return value


def _add_gap(thresholds: Array, place: int, count: float, gradient: Array, hessian: Array) -> float:
    """Add count times log(1 - exp(-d)), where d is the distance of a threshold above the next."""
    gap = thresholds[place] - thresholds[place + 1]
    slope = count / np.expm1(gap)
    bend = slope * (1 + 1 / np.expm1(gap))
    both = [place, place + 1]
    gradient[both] += [slope, -slope]
    hessian[np.ix_(both, both)] += bend * np.array([[-1, 1], [1, -1]])
    return float(count * np.log(-np.expm1(-gap)))


def row_scores(rows: Rows, parameters: Array) -> Array:
    """(n, t + k) gradient of each row's share of the log-likelihood; they sum to that of `derivatives`."""
    t = len(rows.starts) - 2
    thresholds, predictor = parameters[:t], rows.features @ parameters[t:]
    scores = np.zeros((len(predictor), len(parameters)))
    slope = np.zeros(len(predictor))
    gaps = 1 / np.expm1(-np.diff(thresholds))
    for level in range(t + 1):
        own = slice(*rows.starts[level : level + 2].tolist())
        ends = _ends(level, t)
        for place, sign in ends:
            steep = sign * expit(-sign * (predictor[own] + thresholds[place]))
            slope[own] += steep
            scores[own, place] = steep + (sign * gaps[level - 1] if len(ends) == 2 else 0)
    scores[:, t:] = slope[:, None] * rows.features
    scores *= rows.weights[:, None]
    return scores


# Columns of features: checked, with errors that name unfit ones, and standardised.


DEPENDENT = 1e-10  # share of a column's variance that earlier columns must leave unexplained


class UnidentifiedError(InputError):
    """No single set of coefficients is the most likely."""


def check_finite(columns: Array, names: Sequence[str]) -> None:
    """Raise an error that names the first column and row with a NaN or an infinity."""
    if np.isfinite(columns).all():
        return
    row, column = np.argwhere(~np.isfinite(columns))[0].tolist()
    raise InputError(
        f"{names[column]} is {columns[row, column]:g} in row {row}, expected finite numbers (NaN, infinity)"
    )


def standardise(columns: Array, weights: Array, names: Sequence[str]) -> tuple[Array, Array, Array]:
    """Columns of mean 0 and variance 1, with their former means and deviations.

    columns  (n, k)
    weights  (n,) multiplicity of each row

    Raises an error that names the first constant column.
    """
    total = weights.sum()
    mean = weights @ columns / total
    centred = columns - mean
    centred -= (slip := weights @ centred / total)  # corrects the rounding of the first mean far from 0
    deviation = np.sqrt(np.einsum("n,nk,nk->k", weights, centred, centred) / total)
    for column, name in enumerate(names):
        if deviation[column] <= 1e-13 * abs(mean[column]):
            raise InputError(f"{name} is {columns[0, column]:g} everywhere: it carries no information on the level")
    centred /= deviation
    return centred, mean + slip, deviation


def check_independent(standard: Array, weights: Array, names: Sequence[str]) -> None:
    """Raise an error that names the first column that is a linear combination of earlier ones.

    standard  (n, k) columns with mean 0 and variance 1
    """
    correlation = (standard * weights[:, None]).T @ standard / weights.sum()
    factor = np.zeros_like(correlation)
    for column, name in enumerate(names):
        before = factor[:column, :column]
        row = solve_triangular(before, correlation[:column, column], lower=True) if column else np.empty(0)
        left = correlation[column, column] - row @ row
        if left < DEPENDENT:
            shares = solve_triangular(before.T, row)
            others = [names[i] for i in np.flatnonzero(np.abs(shares) > 1e-6).tolist()]
            raise UnidentifiedError(f"{name} is a combination of {', '.join(others)}: leave one of them out")
        factor[column, :column] = row
        factor[column, column] = np.sqrt(left)


ITERATIONS = 100
STILL = 1e-7  # the last Newton step moves no parameter by more than this, in standardised units
FLAT = 1e-8  # gain of log-likelihood by a step of some length that shows that there is no maximum


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """A proportional odds model fitted by maximum likelihood.

    thresholds      (t,) one for each level but the lowest, falling
    coefficients    (k,) coefficients in units of the features
    log_likelihood  log-likelihood at the maximum, without the ridge's penalty
    covariance      (t + k, t + k) covariance of thresholds, then coefficients: the inverse of the information matrix
    robust          the same if rows of one group may be correlated; None without groups
    iterations      Newton steps over all rows
    """

    thresholds: Array
    coefficients: Array
    log_likelihood: float
    covariance: Array
    robust: Array | None
    iterations: int


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to fit, checked.

    features  (n, k) finite
    level     (n,)
    weights   (n,) above 0
    groups    (n,) codes from 0, or None
    """

    features: Array
    level: Integers
    weights: Array
    groups: Integers | None


def fit_ordinal(
    features: ArrayLike,
    level: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    ridge: float = 0.0,
    groups: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    labels: Sequence[object] | None = None,
) -> OrdinalFit:
    """Fit a proportional odds model by maximum likelihood.

    features  (n, k), finite, no constant column; k may be 0
    level     (n,) 0 for the lowest
    weights   (n,) multiplicity of each row, 0 or more; a warning if they are not whole numbers
    ridge     penalty: ridge / 2 times the sum of the squared coefficients of standardised features
    groups    (n,) groups of rows that may be correlated: gives the robust covariance
    names     names of the columns, for messages
    labels    names of the levels, each of which must have a row; None: the levels up to the highest that occurs

    Newton's method on standardised features, with analytic gradient and Hessian; with many rows it starts from a fit to
    some of them. Without a ridge, an UnidentifiedError names the columns that prevent a single maximum: they separate
    the levels, depend on each other, or are more than the rows can determine.
    """
    problem = _checked(features, level, weights, groups, names)
    names = _names(problem.features, names)
    labels = range(int(problem.level.max()) + 1) if labels is None else labels
    _check_levels(problem, labels)
    standard, mean, deviation = standardise(problem.features, problem.weights, names)
    if ridge == 0:
        _check_count(problem, len(labels))
        check_independent(standard, problem.weights, names)
    order = np.argsort(problem.level, kind="stable")
    starts = np.searchsorted(problem.level[order], np.arange(len(labels) + 1))
    rows = Rows(standard[order], problem.weights[order], starts)
    del standard
    parameters, last, iterations = _maximise(rows, ridge, names)
    covariance: Array = np.asarray(np.linalg.inv(-last.hessian), dtype=np.float64)
    back = _from_standard(mean, deviation, len(labels) - 1)
    robust = None
    if problem.groups is not None:
        robust = _sandwich(covariance, row_scores(rows, parameters), problem.groups[order])
        robust = back @ robust @ back.T
    raw, t = back @ parameters, len(labels) - 1
    value = last.value + ridge / 2 * float(parameters[t:] @ parameters[t:])
    return OrdinalFit(raw[:t], raw[t:], value, back @ covariance @ back.T, robust, iterations)


def _names(features: Array, names: Sequence[str] | None) -> Sequence[str]:
    return [f"column {column}" for column in range(features.shape[1])] if names is None else names


def _checked(
    features: ArrayLike,
    level: ArrayLike,
    weights: ArrayLike | None,
    groups: ArrayLike | None,
    names: Sequence[str] | None,
) -> Problem:
    x, y = np.asarray(features, dtype=np.float64), np.asarray(level)
    if x.ndim != 2 or y.shape != (len(x),):
        raise InputError(f"expected features (n, k) and a level for each row, got {x.shape} and {y.shape}")
    if y.dtype.kind not in "iu" or (len(y) and y.min() < 0):
        raise InputError("levels must be whole numbers from 0")
    check_finite(x, _names(x, names))
    w = np.ones(len(x)) if weights is None else _checked_weights(weights, len(x))
    g = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if g is not None and len(g) != len(x):
        raise InputError(f"expected a group for each of {len(x)} rows, got {len(g)}")
    if not np.all(counts := w > 0):
        x, y, w, g = x[counts], y[counts], w[counts], None if g is None else g[counts]
    if not len(x):
        raise InputError("there are no rows to fit to")
    return Problem(x, y.astype(np.int64), w, g)


def _checked_weights(weights: ArrayLike, count: int) -> Array:
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (count,):
        raise InputError(f"expected a weight for each of {count} rows, got {w.shape}")
    if not np.all(np.isfinite(w)) or np.any(w < 0):
        row = int(np.flatnonzero(~np.isfinite(w) | (w < 0))[0])
        raise InputError(f"weights must be finite and 0 or more, got {w[row]:g} in row {row}")
    if np.any(w != np.round(w)):
        warnings.warn("weights are not whole numbers, but standard errors treat them as counts of rows", stacklevel=4)
    return w


def _check_levels(problem: Problem, labels: Sequence[object]) -> None:
    if len(labels) < 2:
        raise InputError(f"expected at least two levels, got the single level (class) {labels[0]}")
    counts = np.bincount(problem.level, minlength=len(labels))
    if len(counts) > len(labels):
        raise InputError(f"level {len(counts) - 1} is beyond the {len(labels)} levels")
    if not np.all(counts):
        raise InputError(
            f"level {labels[int(np.argmin(counts))]} has no rows: leave it out or join it with its neighbour"
        )


def _check_count(problem: Problem, levels: int) -> None:
    rows, needed = problem.weights.sum(), problem.features.shape[1] + levels - 1
    if rows < needed:
        raise UnidentifiedError(f"{rows:g} rows are too few for {needed} parameters, the thresholds among them")


def _maximise(rows: Rows, ridge: float, names: Sequence[str]) -> tuple[Array, Derivatives, int]:
    """The parameters at the maximum, the derivatives there, and the number of steps."""
    shares = np.add.reduceat(rows.weights, rows.starts[:-1])
    parameters = np.concatenate([thresholds_of(shares / shares.sum()), np.zeros(rows.features.shape[1])])
    at = _penalised(rows, parameters, ridge)
    for iteration in range(1, ITERATIONS + 1):
        move = _newton_step(at, names)
        if np.abs(move).max(initial=0) < STILL:
            return parameters + move, at, iteration
        if at.gradient @ move < FLAT and np.abs(move).max() > 0.01:
            raise _separation(at, move, names)
        parameters, at = _climb(rows, ridge, parameters, at, move)
    raise _separation(at, move, names)


def _penalised(rows: Rows, parameters: Array, ridge: float) -> Derivatives:
    at = derivatives(rows, parameters)
    t = len(rows.starts) - 2
    slopes = parameters[t:]
    at.gradient[t:] -= ridge * slopes
    at.hessian[np.arange(t, len(parameters)), np.arange(t, len(parameters))] -= ridge
    return at._replace(value=at.value - ridge / 2 * float(slopes @ slopes))


def _newton_step(at: Derivatives, names: Sequence[str]) -> Array:
    try:
        return np.asarray(np.linalg.solve(-at.hessian, at.gradient))
    except np.linalg.LinAlgError:
        raise _separation(at, at.gradient, names) from None


def _climb(rows: Rows, ridge: float, parameters: Array, at: Derivatives, move: Array) -> tuple[Array, Derivatives]:
    """Follow a Newton step, halved until it does not lead down: the function is concave, so some step is good."""
    t = len(rows.starts) - 2
    for _ in range(60):
        further = parameters + move
        if np.all(np.diff(further[:t]) < 0):
            there = _penalised(rows, further, ridge)
            if there.value >= at.value - 1e-12 * abs(at.value):
                return further, there
        move = move / 2
    return parameters, at


def _separation(at: Derivatives, move: Array, names: Sequence[str]) -> UnidentifiedError:
    slopes = np.abs(move[len(move) - len(names) :])
    guilty = [name for name, slope in zip(names, slopes, strict=True) if slope > 0.001 * slopes.max(initial=0)]
    how = "perfectly" if at.value > -1e-3 else "in part (quasi-separation)"
    named = ", ".join(guilty) or "nothing but their thresholds"
    return UnidentifiedError(
        f"the levels are separated {how} by {named}: no finite coefficient is the most likely; "
        "leave the column out, or give a ridge"
    )


def _from_standard(mean: Array, deviation: Array, t: int) -> Array:
    """Matrix that converts parameters for standardised features to parameters for the features themselves."""
    back = np.eye(t + len(mean))
    back[t:, t:] = np.diag(1 / deviation)
    back[:t, t:] = -mean / deviation
    return back


def _sandwich(covariance: Array, scores: Array, groups: Integers) -> Array:
    """Covariance that allows for groups: C (sum over g groups of s s') C g / (g - 1), s a group's summed score.

    Liang & Zeger (1986), doi:10.1093/biomet/73.1.13.
    """
    count = int(groups.max()) + 1
    if count < 2:
        raise InputError("robust standard errors need at least two groups")
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, groups, scores)
    return covariance @ (sums.T @ sums) @ covariance * count / (count - 1)
