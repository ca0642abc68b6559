"""Variance components of a Gaussian field: its prior from their sizes, and their sizes from what was observed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from audiosim.arrays import Array, Booleans, Integers
from audiosim.errors import InputError
from audiosim.stats.field import Field, check_blocks
from audiosim.stats.threads import one_thread

REST = "rest"
SMALLEST = 1e-4  # standard deviation, in units of the values, that a component does not fall below
LARGEST = 100  # times the largest value, that it does not exceed
ITERATIONS = 500
STEP = 1e-3  # of a logarithm, for differences of the gradient
NEAR = 1e-7  # of a standard error, to the best sizes
SURE = 4  # curvature by the logarithm of a size at which the variance is a standard error above 0
FLAT = 1e-9  # of the largest curvature: below, the data does not tell
TIE = 1e-9  # of a log-likelihood: less is no difference


@dataclass(frozen=True, eq=False)
class Layout:
    """What the covariance of n values is made of, but for the sizes.

        Cov = s s' x (sum over kernels of size^2 K + size_rest^2 I)  +  sum over shared effects of size^2 S S'

    x being the product entry by entry, and S having its rows scaled by s.

    blocks   the places of the values of each block; every place is in one block
    kernels  by name: for each block its correlation matrix K (m, m), 0 between values that have nothing in common
    shared   by name: S (n, p), how much each of p effects of one kind counts for each value; a component may have
             both a kernel and effects, for values of which some share an effect with other blocks and some do not
    scale    (n,) s, above 0: how far a value may move with everything
    """

    blocks: tuple[Integers, ...]
    kernels: Mapping[str, tuple[Array | Booleans, ...]]
    shared: Mapping[str, Array]
    scale: Array

    def __post_init__(self) -> None:
        n = len(self.scale)
        if not np.all(self.scale > 0):
            raise InputError("scales must be above 0")
        if REST in self.names[:-1]:
            raise InputError(f"components must not be called {REST!r}, got {', '.join(self.names[:-1])}")
        check_blocks(self.blocks, n)
        shapes = [(len(rows),) * 2 for rows in self.blocks]
        for name, kernels in self.kernels.items():
            if [kernel.shape for kernel in kernels] != shapes:
                raise InputError(f"kernels of {name} must have the shapes of the {len(shapes)} blocks")
        for name, columns in self.shared.items():
            if columns.shape[:1] != (n,) or columns.ndim != 2:
                raise InputError(f"effects of {name} must be ({n}, p) to match the scale, got {columns.shape}")

    @property
    def names(self) -> tuple[str, ...]:
        """The components in the order of their sizes; `rest`, what is a value's own, comes last."""
        return (*dict.fromkeys([*self.kernels, *self.shared]), REST)

    @cached_property
    def loads(self) -> Array:
        """(n, p) the rows of all shared effects side by side, scaled."""
        columns = [*self.shared.values(), np.empty((len(self.scale), 0))]
        return np.hstack(columns) * self.scale[:, None]

    @cached_property
    def reached(self) -> tuple[tuple[Integers, Array], ...]:
        """For each block the shared effects that any of its values has (k,), and its loads on these (m, k)."""
        found = []
        for rows in self.blocks:
            loads = self.loads[rows]
            some = np.flatnonzero(loads.any(axis=0))
            found.append((some, loads[:, some]))
        return tuple(found)

    @cached_property
    def owner(self) -> Integers:
        """(p,) the number, among the shared ones, of the component that each effect belongs to."""
        counts = np.array([columns.shape[1] for columns in self.shared.values()], dtype=np.int64)
        return np.repeat(np.arange(len(counts)), counts)

    def within(self, sizes: Mapping[str, float], block: int) -> Array:
        """(m, m) the covariance of a block, without the shared effects."""
        scale = self.scale[self.blocks[block]]
        covariance = np.zeros((len(scale), len(scale)))
        for name, kernels in self.kernels.items():
            covariance += sizes[name] ** 2 * kernels[block]
        covariance[np.diag_indices_from(covariance)] += sizes[REST] ** 2
        return covariance * np.outer(scale, scale)

    def effects(self, sizes: Mapping[str, float]) -> Array:
        """(p,) the variance of each shared effect."""
        return np.array([sizes[name] ** 2 for name in self.shared])[self.owner]

    def field(self, sizes: Mapping[str, float], mean: Array) -> Field:
        """The field of these sizes, before anything is known.

        sizes  standard deviations by name, above 0
        mean   (n,)
        """
        within = tuple(self.within(sizes, block) for block in range(len(self.blocks)))
        loads = tuple(self.loads[rows] for rows in self.blocks)
        return Field(mean, self.blocks, within, loads, np.diag(self.effects(sizes)))

    def part(self, places: Integers) -> "Layout":
        """The layout of some of the values, in the order of `places`, without effects that none of them has."""
        order = np.full(len(self.scale), -1)
        order[places] = np.arange(len(places))
        kept = [np.flatnonzero(order[rows] >= 0) for rows in self.blocks]
        some = [block for block, inside in enumerate(kept) if len(inside)]
        return Layout(
            tuple(order[self.blocks[block][kept[block]]] for block in some),
            {
                name: tuple(kernels[block][np.ix_(kept[block], kept[block])] for block in some)
                for name, kernels in self.kernels.items()
            },
            {name: columns[places][:, columns[places].any(axis=0)] for name, columns in self.shared.items()},
            self.scale[places],
        )


@dataclass(frozen=True, slots=True)
class Components:
    """Sizes of variance components, and how sure they are.

    sizes       standard deviations, by name
    errors      their standard errors, by name; infinite where the data does not tell
    likelihood  restricted log-likelihood there, the prior aside
    """

    sizes: Mapping[str, float]
    errors: Mapping[str, float]
    likelihood: float


def estimate_components(
    layouts: Sequence[Layout],
    values: Sequence[Array],
    start: Mapping[str, float],
    spread: Mapping[str, float] | None = None,
) -> Components:
    """The sizes of restricted maximum likelihood, from one or several independent sets of values.

    values  for each layout its (n,), of mean 0 but for a constant times the scale, which is estimated with them
    start   sizes to begin with, above 0; with `spread` the centre of the prior
    spread  standard deviations of a normal prior of the logarithms of the sizes, by name; None for no prior

    L-BFGS on the logarithms of the sizes, with the exact gradient; standard errors from the curvature of what is
    maximised, those of the sizes at their smallest held there. Patterson & Thompson (1971),
    doi:10.1093/biomet/58.3.545.
    """
    names = _names(layouts, values, start, spread)
    centre = np.log([start[name] for name in names])
    tightness = np.array([0.0 if spread is None else spread[name] ** -2 for name in names])

    def likelihood(logarithms: Array) -> tuple[float, Array]:
        sizes = dict(zip(names, np.exp(logarithms).tolist(), strict=True))
        found = [_likelihood(layout, value, sizes) for layout, value in zip(layouts, values, strict=True)]
        return sum(value for value, _ in found), np.sum([slopes for _, slopes in found], axis=0)

    def cost(logarithms: Array) -> tuple[float, Array]:
        (value, slopes), off = likelihood(logarithms), logarithms - centre
        return float(tightness @ off**2) / 2 - value, tightness * off - slopes

    count = sum(map(len, values))
    with one_thread():
        best, curvature = _minimum(cost, centre, math.log(_ceiling(layouts, values, start)), count)
        value = likelihood(best)[0]
    sizes = np.exp(best)
    by_name = [dict(zip(names, of.tolist(), strict=True)) for of in (sizes, sizes * _errors(curvature, best))]
    return Components(by_name[0], by_name[1], value)


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


_Cost = Callable[[Array], tuple[float, Array]]


def _minimum(cost: _Cost, start: Array, highest: float, count: int) -> tuple[Array, Array]:
    """The logarithms of the sizes where the cost is least, and how it bends there.

    highest  logarithm that none exceeds
    count    of the values: the cost bends by about twice that at most

    The cost bends far more with some sizes than with others: the search goes by units in which it bends alike at the
    start. It flattens as a size nears 0, where L-BFGS stops on the way: sizes that had better be the smallest are
    made that, and the others sought again.
    """
    best, curvature = start, _curvature(cost, start)
    while True:
        units = 1 / np.sqrt(np.clip(np.diagonal(curvature), 1, max(1, 2 * count)))
        best = _descended(cost, best, units, highest)
        curvature = _curvature(cost, best)
        lowered = _lowered(cost, best, np.diagonal(curvature))
        if lowered is best:
            return best, curvature
        best = lowered


def _descended(cost: _Cost, start: Array, units: Array, highest: float) -> Array:
    """Where L-BFGS stops.

    units  for each size about a standard error of its logarithm
    """

    def scaled(at: Array) -> tuple[float, Array]:
        value, slopes = cost(at * units)
        return value, slopes * units

    found = minimize(
        scaled,
        start / units,
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([math.log(SMALLEST) / units, highest / units]),
        options={"maxiter": ITERATIONS, "ftol": 1e-14, "gtol": NEAR},
    )
    return np.asarray(found.x * units, dtype=np.float64)


def _lowered(cost: _Cost, best: Array, curvature: Array) -> Array:
    """The same, with each size in turn at its smallest if that costs less; not those that are surely above 0."""
    least = cost(best)[0]
    for place in np.flatnonzero((best > np.log(SMALLEST)) & (curvature < SURE)):
        moved = best.copy()
        moved[place] = np.log(SMALLEST)
        found = cost(moved)[0]
        if found < least - TIE:
            best, least = moved, found
    return best


def _curvature(cost: _Cost, at: Array) -> Array:
    """(k, k) the second derivatives of the cost, by central differences of its slopes."""
    steps = STEP * np.eye(len(at))
    curvature = np.array([cost(at + step)[1] - cost(at - step)[1] for step in steps]) / (2 * STEP)
    return (curvature + curvature.T) / 2


def _errors(curvature: Array, at: Array) -> Array:
    """Standard errors of the logarithms of the sizes, those at their smallest held there."""
    free = np.flatnonzero(at > np.log(2 * SMALLEST))
    errors = np.full(len(at), np.inf)
    if len(free):
        curvatures, directions = np.linalg.eigh(curvature[np.ix_(free, free)])
        told = curvatures > FLAT * max(1.0, curvatures[-1])
        variances = directions[:, told] ** 2 @ (1 / curvatures[told])
        lost = np.sum(directions[:, ~told] ** 2, axis=1) > FLAT
        errors[free] = np.where(lost, np.inf, np.sqrt(variances))
    return errors


@dataclass(frozen=True, slots=True, eq=False)
class _Inverse:
    """C^-1 in parts, and what it makes of the scale x and the values y.

        C = B + Z L Z',   C^-1 = B^-1 - B^-1 Z M^-1 Z' B^-1,   M = L^-1 + Z' B^-1 Z

    blocks       for each block B^-1 (m, m)
    pulls        for each block B^-1 Z (m, k), k the shared effects that it has
    effects      for each block M^-1 (k, k) between these
    traces       (p,) the diagonal of Z' C^-1 Z
    sides        (n, 2) C^-1 [x y]
    products     (2, 2) [x y]' C^-1 [x y]
    determinant  log |C|
    """

    blocks: tuple[Array, ...]
    pulls: tuple[Array, ...]
    effects: tuple[Array, ...]
    traces: Array
    sides: Array
    products: Array
    determinant: float


def _invert(layout: Layout, values: Array, sizes: Mapping[str, float]) -> _Inverse:
    effects, p = layout.effects(sizes), layout.loads.shape[1]
    blocks, pulls, determinant = [], [], float(np.log(effects).sum())
    sides, gram = np.column_stack([layout.scale, values]), np.zeros((p + 2, p + 2))
    for block, (rows, (some, loads)) in enumerate(zip(layout.blocks, layout.reached, strict=True)):
        factor = _triangle(layout.within(sizes, block))
        blocks.append(_inverse(factor))
        everything, places = np.hstack([loads, sides[rows]]), np.append(some, [p, p + 1])
        solved = blocks[-1] @ everything
        gram[np.ix_(places, places)] += everything.T @ solved
        pulls.append(solved[:, :-2])
        sides[rows] = solved[:, -2:]
        determinant += _log_determinant(factor)
    own, beside = gram[:p, :p], gram[:p, p:]
    factor = _triangle(own + np.diag(1 / effects))
    inverse = _inverse(factor)
    moved = inverse @ beside
    for rows, (some, _), pull in zip(layout.blocks, layout.reached, pulls, strict=True):
        sides[rows] -= pull @ moved[some]
    return _Inverse(
        tuple(blocks),
        tuple(pulls),
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
    lower = np.tril(dpotri(factor, lower=1)[0])
    return lower + np.tril(lower, -1).T


def _log_determinant(factor: Array) -> float:
    return 2 * float(np.log(np.diagonal(factor)).sum())


def _likelihood(layout: Layout, values: Array, sizes: Mapping[str, float]) -> tuple[float, Array]:
    """The restricted log-likelihood, and its gradient by the logarithms of the sizes.

        -1/2 ((n - 1) log 2 pi + log |C| + log |x' C^-1 x| + y' P y),   x the scale, y the values
        d / d log size  =  size^2 (y' P K P y - tr P K),   P = C^-1 - C^-1 x x' C^-1 / (x' C^-1 x)

    No values are as likely under any sizes.
    """
    if len(values) == 0:
        return 0.0, np.zeros(len(layout.names))
    inverse = _invert(layout, values, sizes)
    (xx, xy), (_, yy) = inverse.products
    constant = (len(values) - 1) * math.log(2 * math.pi)
    value = -(constant + inverse.determinant + np.log(xx) + yy - xy**2 / xx) / 2
    mean = inverse.sides[:, 0] / np.sqrt(xx)
    pulled = inverse.sides[:, 1] - inverse.sides[:, 0] * (xy / xx)
    own = _own_slopes(layout, inverse, mean, pulled)
    shared = (layout.loads.T @ pulled) ** 2 - inverse.traces + (layout.loads.T @ mean) ** 2
    by_kind = np.bincount(layout.owner, shared, len(layout.shared))
    slopes = dict.fromkeys(layout.names, 0.0)
    for name, slope in zip([*layout.kernels, REST, *layout.shared], [*own, *by_kind.tolist()], strict=True):
        slopes[name] += slope * sizes[name] ** 2
    return float(value), np.array(list(slopes.values()))


def _own_slopes(layout: Layout, inverse: _Inverse, mean: Array, pulled: Array) -> list[float]:
    """Of each kernel and of the rest, y' P K P y - tr P K.

    mean    (n,) P is C^-1 minus its product with itself
    pulled  (n,) P y
    """
    slopes = np.zeros(len(layout.kernels) + 1)
    parts = zip(layout.blocks, inverse.blocks, inverse.pulls, inverse.effects, strict=True)
    for block, (rows, own, pull, effects) in enumerate(parts):
        scale = layout.scale[rows]
        projector = own - pull @ effects @ pull.T - np.outer(mean[rows], mean[rows])
        both = (np.outer(pulled[rows], pulled[rows]) - projector) * np.outer(scale, scale)
        for place, kernels in enumerate(layout.kernels.values()):
            slopes[place] += np.vdot(both, kernels[block])
        slopes[-1] += np.trace(both)
    return slopes.tolist()
