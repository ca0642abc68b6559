"""Standard deviations of the random effects of a multivariate normal, from values drawn from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotri

from audiosim.arrays import Array
from audiosim.errors import InputError
from audiosim.stats.layout import REST, Layout
from audiosim.stats.size_search import least_cost, relative_errors
from audiosim.stats.threads import one_thread

LARGEST = 10  # times the largest value, that no size exceeds


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components, and how sure they are.

    standard_deviations  by name
    errors      their standard errors, by name; infinite where the data does not tell
    likelihood  restricted log-likelihood there, the prior aside
    trend       (f,) coefficients of the trend, by generalised least squares
    covariance  (f, f) of these
    """

    standard_deviations: Mapping[str, float]
    errors: Mapping[str, float]
    likelihood: float
    trend: Array
    covariance: Array

    @property
    def identified(self) -> bool:
        """True if the values determine the coefficients of the trend."""
        return bool(np.isfinite(self.covariance).all())


def estimate_components(
    layouts: Sequence[Layout],
    values: Sequence[Array],
    start: Mapping[str, float],
    spread: Mapping[str, float] | None = None,
) -> Components:
    """Standard deviations by restricted maximum likelihood, from one or several independent sets of values.

    values  for each layout its (n,), of mean 0 but for a trend, which is estimated with them, each layout having
            coefficients of its own; those returned are the ones that suit them all best
    start   standard deviations to begin with, above 0; with `spread` the centre of the prior
    spread  standard deviations of a normal prior of the logarithms of these, by name; None for no prior

    L-BFGS on their logarithms, with the exact gradient; standard errors from the curvature of what is
    maximised, those at their smallest held there. Patterson & Thompson (1971),
    doi:10.1093/biomet/58.3.545.
    """
    names = _names(layouts, values, start, spread)
    centre = np.log([start[name] for name in names])
    tightness = np.array([0.0 if spread is None else spread[name] ** -2 for name in names])

    def likelihood(logarithms: Array) -> tuple[float, Array]:
        standard_deviations = dict(zip(names, np.exp(logarithms).tolist(), strict=True))
        found = [_likelihood(layout, value, standard_deviations) for layout, value in zip(layouts, values, strict=True)]
        return sum(value for value, _ in found), np.sum([slopes for _, slopes in found], axis=0)

    def cost(logarithms: Array) -> tuple[float, Array]:
        (value, slopes), off = likelihood(logarithms), logarithms - centre
        return float(tightness @ off**2) / 2 - value, tightness * off - slopes

    count = sum(map(len, values))
    with one_thread():
        best, curvature = least_cost(cost, centre, math.log(_ceiling(layouts, values, start)), count)
        value, spread_of = likelihood(best)[0], relative_errors(curvature, best)
        standard_deviations = dict(zip(names, np.exp(best).tolist(), strict=True))
        trend, covariance = _trend(layouts, values, standard_deviations)
    errors = {
        name: size * error for (name, size), error in zip(standard_deviations.items(), spread_of.tolist(), strict=True)
    }
    return Components(standard_deviations, errors, value, trend, covariance)


def _trend(
    layouts: Sequence[Layout], values: Sequence[Array], standard_deviations: Mapping[str, float]
) -> tuple[Array, Array]:
    """(f,) coefficients of generalised least squares, b = (X' C^-1 X)^-1 X' C^-1 y, and (f, f) (X' C^-1 X)^-1.

    0, with infinite variances, where the values do not tell all of them.
    """
    count = layouts[0].fixed.shape[1]
    products = np.zeros((count + 1, count + 1))
    for layout, value in zip(layouts, values, strict=True):
        if len(value):
            products += _invert(layout, layout.fixed, value, standard_deviations).products
    if np.linalg.matrix_rank(products[:-1, :-1]) < count:
        return np.zeros(count), np.diag(np.full(count, np.inf))
    covariance = np.linalg.inv(products[:-1, :-1])
    return covariance @ products[:-1, -1], covariance


def _names(
    layouts: Sequence[Layout],
    values: Sequence[Array],
    start: Mapping[str, float],
    spread: Mapping[str, float] | None,
) -> tuple[str, ...]:
    """The components, if all that is given is about the same."""
    if not layouts or len(layouts) != len(values):
        raise InputError(f"layouts must be at least one, with values each, got {len(layouts)} and {len(values)}")
    names = layouts[0].names
    for layout, value in zip(layouts, values, strict=True):
        if layout.names != names:
            got = f"{', '.join(names)} and {', '.join(layout.names)}"
            raise InputError(f"layouts must have the same components, got {got}")
        if value.shape != layout.scale.shape or not np.all(np.isfinite(value)):
            raise InputError(f"values must be finite and {layout.scale.shape} to match the layout, got {value.shape}")
    for what, given in (("start", start), ("spread", spread)):
        if given is not None and not all(given.get(name, 0) > 0 for name in names):
            raise InputError(f"{what} must have a number above 0 for each of {', '.join(names)}")
    return names


def _ceiling(layouts: Sequence[Layout], values: Sequence[Array], start: Mapping[str, float]) -> float:
    """The size that none exceeds, so that every covariance met has an inverse."""
    largest = max(start.values())
    for layout, value in zip(layouts, values, strict=True):
        largest = max(largest, float(np.max(np.abs(value / layout.scale), initial=0)))
    return LARGEST * largest


@dataclass(frozen=True, slots=True, eq=False)
class _Inverse:
    """C^-1 in parts, and what it makes of the trend X and the values y.

        C = B + Z L Z',   C^-1 = B^-1 - B^-1 Z M^-1 Z' B^-1,   M = L^-1 + Z' B^-1 Z

    blocks       for each block B^-1 (m, m)
    solved_loadings  for each block B^-1 Z (m, k), k the shared effects that it has
    effects      for each block M^-1 (k, k) between these
    traces       (p,) the diagonal of Z' C^-1 Z
    sides        (n, f + 1) C^-1 [X y]
    products     (f + 1, f + 1) [X y]' C^-1 [X y]
    determinant  log |C|
    """

    blocks: tuple[Array, ...]
    solved_loadings: tuple[Array, ...]
    effects: tuple[Array, ...]
    traces: Array
    sides: Array
    products: Array
    determinant: float


def _invert(layout: Layout, trend: Array, values: Array, standard_deviations: Mapping[str, float]) -> _Inverse:
    effects, p = layout.effects(standard_deviations), layout.loadings.shape[1]
    blocks, solved_loadings, determinant = [], [], float(np.log(effects).sum())
    sides = np.column_stack([trend, values])
    last = np.arange(p, p + sides.shape[1])
    gram = np.zeros((last[-1] + 1, last[-1] + 1))
    for block, (rows, (some, loadings)) in enumerate(zip(layout.blocks, layout.reached, strict=True)):
        factor = _triangle(layout.within(standard_deviations, block))
        blocks.append(_inverse(factor))
        everything, places = np.hstack([loadings, sides[rows]]), np.append(some, last)
        solved = blocks[-1] @ everything
        gram[np.ix_(places, places)] += everything.T @ solved
        solved_loadings.append(solved[:, : len(some)])
        sides[rows] = solved[:, len(some) :]
        determinant += _log_determinant(factor)
    own, beside = gram[:p, :p], gram[:p, p:]
    factor = _triangle(own + np.diag(1 / effects))
    inverse = _inverse(factor)
    moved = inverse @ beside
    for rows, (some, _), own_loadings in zip(layout.blocks, layout.reached, solved_loadings, strict=True):
        sides[rows] -= own_loadings @ moved[some]
    return _Inverse(
        tuple(blocks),
        tuple(solved_loadings),
        tuple(inverse[np.ix_(some, some)] for some, _ in layout.reached),
        # Z' C^-1 Z = Z' B^-1 Z M^-1 L^-1, without a difference of large numbers.
        np.vecdot(own, inverse) / effects,
        sides,
        gram[p:, p:] - beside.T @ moved,
        determinant + _log_determinant(factor),
    )


def _triangle(covariance: Array) -> Array:
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _inverse(factor: Array) -> Array:
    """The inverse of a matrix, of its lower Cholesky factor."""
    if len(factor) == 0:
        return factor
    lower = np.tril(np.asarray(dpotri(factor, lower=1)[0], dtype=np.float64))
    return np.asarray(lower + np.tril(lower, -1).T)


def _log_determinant(factor: Array) -> float:
    return 2 * float(np.log(np.diagonal(factor)).sum())


def _likelihood(layout: Layout, values: Array, standard_deviations: Mapping[str, float]) -> tuple[float, Array]:
    """The restricted log-likelihood, and its gradient by the logarithms of the standard deviations.

        -1/2 ((n - f) log 2 pi + log |C| + log |X' C^-1 X| + y' P y),   X the trend, y the values
        d / d log s  =  s^2 (y' P K P y - tr P K),   P = C^-1 - C^-1 X (X' C^-1 X)^-1 X' C^-1

    X being without columns that are combinations of others. Values that are no more than the trend has coefficients
    are as likely under any standard deviations.
    """
    if len(values) <= layout.independent.shape[1]:
        return 0.0, np.zeros(len(layout.names))
    inverse = _invert(layout, layout.independent, values, standard_deviations)
    normal, beside, square = inverse.products[:-1, :-1], inverse.products[:-1, -1], inverse.products[-1, -1]
    factor, coefficients = _triangle(normal), np.linalg.solve(normal, beside)
    constant, left = (len(values) - len(normal)) * math.log(2 * math.pi), float(square - beside @ coefficients)
    if left < 0:
        raise np.linalg.LinAlgError("rounding leaves the covariance no inverse")
    value = -(constant + inverse.determinant + _log_determinant(factor) + left) / 2
    mean = np.asarray(np.linalg.solve(factor, inverse.sides[:, :-1].T).T, dtype=np.float64)
    projected = inverse.sides[:, -1] - inverse.sides[:, :-1] @ coefficients
    own = _own_slopes(layout, inverse, mean, projected)
    shared = (layout.loadings.T @ projected) ** 2 - inverse.traces + ((layout.loadings.T @ mean) ** 2).sum(axis=1)
    by_kind = np.bincount(layout.owner, shared, len(layout.shared))
    slopes = dict.fromkeys(layout.names, 0.0)
    for name, slope in zip([*layout.kernels, REST, *layout.shared], [*own, *by_kind.tolist()], strict=True):
        slopes[name] += slope * standard_deviations[name] ** 2
    return float(value), np.array(list(slopes.values()))


def _own_slopes(layout: Layout, inverse: _Inverse, mean: Array, projected: Array) -> list[float]:
    """Of each kernel and of the rest, y' P K P y - tr P K.

    mean       (n, f) P is C^-1 minus its product with itself
    projected  (n,) P y
    """
    slopes = np.zeros(len(layout.kernels) + 1)
    parts = zip(layout.blocks, inverse.blocks, inverse.solved_loadings, inverse.effects, strict=True)
    for block, (rows, own, own_loadings, effects) in enumerate(parts):
        scale = layout.scale[rows]
        projector = own - own_loadings @ effects @ own_loadings.T - mean[rows] @ mean[rows].T
        both = (np.outer(projected[rows], projected[rows]) - projector) * np.outer(scale, scale)
        for place, kernels in enumerate(layout.kernels.values()):
            slopes[place] += np.vdot(both, kernels[block])
        slopes[-1] += np.trace(both)
    return slopes.tolist()
