"""Variance components of a Gaussian field: its prior from their sizes, and their sizes from what was observed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

from audiosim.arrays import Array, Integers
from audiosim.errors import InputError
from audiosim.stats.field import Field, check_blocks

REST = "rest"
SMALLEST = 1e-4  # standard deviation, in units of the values, that a component does not fall below
LARGEST = 100  # times the largest value, that it does not exceed
ITERATIONS = 500
STEP = 1e-3  # of a logarithm, for differences of the gradient
FLAT = 1e-9  # of the largest curvature: below, the data does not tell
TIE = 1e-9  # of a log-likelihood: less is no difference


@dataclass(frozen=True, eq=False)
class Layout:
    """What the covariance of n values is made of, but for the sizes.

        Cov = s s' x (sum over kernels of size^2 K + size_rest^2 I)  +  sum over shared effects of size^2 S S'

    x being the product entry by entry, and S having its rows scaled by s.

    blocks   the places of the values of each block; every place is in one block
    kernels  by name: for each block its correlation matrix K (m, m), 0 between values that have nothing in common
    shared   by name: S (n, p), how much each of p effects of one kind counts for each value
    scale    (n,) s, above 0: how far a value may move with everything
    """

    blocks: tuple[Integers, ...]
    kernels: Mapping[str, tuple[Array, ...]]
    shared: Mapping[str, Array]
    scale: Array

    def __post_init__(self) -> None:
        n = len(self.scale)
        if not np.all(self.scale > 0):
            raise InputError("scales must be above 0")
        if len({*self.names}) < len(self.names):
            raise InputError(f"components must have different names, not {REST!r}, got {', '.join(self.names[:-1])}")
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
        return (*self.kernels, *self.shared, REST)

    @cached_property
    def loads(self) -> Array:
        """(n, p) the rows of all shared effects side by side, scaled."""
        columns = [*self.shared.values(), np.empty((len(self.scale), 0))]
        return np.hstack(columns) * self.scale[:, None]

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

    best = _minimum(cost, centre, math.log(_ceiling(layouts, values, start)))
    sizes, errors = np.exp(best), _errors(lambda at: cost(at)[1], best)
    by_name = [dict(zip(names, of.tolist(), strict=True)) for of in (sizes, sizes * errors)]
    return Components(by_name[0], by_name[1], likelihood(best)[0])


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


def _minimum(cost: Callable[[Array], tuple[float, Array]], start: Array, highest: float) -> Array:
    """The logarithms of the sizes where the cost is least.

    The cost flattens as a size nears 0, where L-BFGS stops on the way: sizes that had better be the smallest are made
    that, and the others sought again.
    """
    best, bounds = start, [(float(np.log(SMALLEST)), highest)] * len(start)
    while True:
        found = minimize(
            cost,
            best,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": ITERATIONS, "ftol": 1e-11, "gtol": 1e-6},
        )
        best = np.asarray(found.x, dtype=np.float64)
        lowered = _lowered(cost, best)
        if lowered is best:
            return best
        best = lowered


def _lowered(cost: Callable[[Array], tuple[float, Array]], best: Array) -> Array:
    """The same, with each size in turn at its smallest if that costs less."""
    least = cost(best)[0]
    for place in np.flatnonzero(best > np.log(SMALLEST)):
        moved = best.copy()
        moved[place] = np.log(SMALLEST)
        found = cost(moved)[0]
        if found < least - TIE:
            best, least = moved, found
    return best


def _errors(gradient: Callable[[Array], Array], at: Array) -> Array:
    """Standard errors of the logarithms of the sizes: from the Hessian, by central differences of the gradient."""
    free = np.flatnonzero(at > np.log(2 * SMALLEST))
    steps = STEP * np.eye(len(at))[free]
    curvature = np.array([(gradient(at + step) - gradient(at - step))[free] / (2 * STEP) for step in steps])
    errors = np.full(len(at), np.inf)
    if len(free):
        curvatures, directions = np.linalg.eigh((curvature + curvature.T) / 2)
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
    root         (n, p) B^-1 Z R^-T, R R' being M
    traces       (p,) the diagonal of Z' C^-1 Z
    sides        (n, 2) C^-1 [x y]
    products     (2, 2) [x y]' C^-1 [x y]
    determinant  log |C|
    """

    blocks: tuple[Array, ...]
    root: Array
    traces: Array
    sides: Array
    products: Array
    determinant: float


def _invert(layout: Layout, values: Array, sizes: Mapping[str, float]) -> _Inverse:
    effects, p = layout.effects(sizes), layout.loads.shape[1]
    everything = np.column_stack([layout.loads, layout.scale, values])
    blocks, solved, determinant = [], np.empty_like(everything), float(np.log(effects).sum())
    for block, rows in enumerate(layout.blocks):
        factor = _triangle(layout.within(sizes, block))
        blocks.append(cho_solve((factor, True), np.eye(len(rows))))
        solved[rows] = blocks[-1] @ everything[rows]
        determinant += _log_determinant(factor)
    gram = everything.T @ solved
    own, beside = gram[:p, :p], gram[:p, p:]
    factor = _triangle(own + np.diag(1 / effects))
    inverse = cho_solve((factor, True), np.column_stack([np.eye(p), beside]))
    return _Inverse(
        tuple(blocks),
        solve_triangular(factor, solved[:, :p].T, lower=True).T,
        # Z' C^-1 Z = Z' B^-1 Z M^-1 L^-1, without a difference of large numbers.
        np.vecdot(own, inverse[:, :p].T) / effects,
        solved[:, p:] - solved[:, :p] @ inverse[:, p:],
        gram[p:, p:] - beside.T @ inverse[:, p:],
        determinant + _log_determinant(factor),
    )


def _triangle(covariance: Array) -> Array:
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


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
    mean = inverse.sides[:, :1] / np.sqrt(xx)
    pulled = inverse.sides[:, 1] - inverse.sides[:, 0] * (xy / xx)
    own = _own_slopes(layout, inverse.blocks, np.hstack([inverse.root, mean]), pulled)
    shared = (layout.loads.T @ pulled) ** 2 - inverse.traces + (layout.loads.T @ mean[:, 0]) ** 2
    by_kind = np.bincount(layout.owner, shared, len(layout.shared))
    slopes = np.array([*own[:-1], *by_kind, own[-1]])
    return float(value), slopes * np.array([sizes[name] for name in layout.names]) ** 2


def _own_slopes(layout: Layout, blocks: Sequence[Array], root: Array, pulled: Array) -> list[float]:
    """Of each kernel and of the rest, y' P K P y - tr P K.

    blocks  for each block B^-1 (m, m)
    root    (n, p + 1): P is B^-1 minus its product with itself
    pulled  (n,) P y
    """
    slopes = np.zeros(len(layout.kernels) + 1)
    for block, rows in enumerate(layout.blocks):
        scale = layout.scale[rows]
        projector = blocks[block] - root[rows] @ root[rows].T
        pull = np.outer(pulled[rows] * scale, pulled[rows] * scale) - projector * np.outer(scale, scale)
        for place, kernels in enumerate(layout.kernels.values()):
            slopes[place] += np.vdot(pull, kernels[block])
        slopes[-1] += np.trace(pull)
    return slopes.tolist()
