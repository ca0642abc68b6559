"""Generalizability theory: variance components of scores, and the number of queries that stable results need.

Two coefficients describe stability: E rho^2, the generalizability coefficient, for differences between systems
(relative); and Phi, the index of dependability, for the scores themselves (absolute). Negative variance components
are set to 0 and named in `negative`. Where a component is computed from another, the original value is used, even
if negative, as in Brennan (2001), "Generalizability Theory".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, fdtri

from audiosim.errors import InputError, check_between, check_count
from audiosim.results.value import Result, Row, rows_of
from audiosim.stats.arrays import Array
from audiosim.stats.inference.ties import nearness
from audiosim.stats.score_matrix import check_scores

# Stability of results with more queries: coefficients signal / (signal + noise), and the queries they require.


@dataclass(frozen=True, slots=True, eq=False)
class Curve(Result):
    """Stability as a function of the number of queries, with intervals.

    queries     (m,) query set sizes
    confidence  confidence of each interval
    relative    (m,) E rho^2
    absolute    (m,) Phi
    relative_lower, relative_upper, absolute_lower, absolute_upper  (m,)
    """

    queries: Array
    confidence: float
    relative: Array
    relative_lower: Array
    relative_upper: Array
    absolute: Array
    absolute_lower: Array
    absolute_upper: Array

    def rows(self) -> list[Row]:
        """One row per query set size: the coefficients and the ends of their intervals."""
        names = [part.name for part in fields(self) if part.name != "confidence"]
        return rows_of({name: getattr(self, name) for name in names})


def coefficient(signal: Array | float, noise: Array) -> Array:
    """Signal / (signal + noise); 0 without signal."""
    signal, noise = np.broadcast_arrays(np.asarray(signal, dtype=float), noise)
    return np.divide(signal, signal + noise, out=np.zeros(signal.shape), where=signal > 0)


def fewest(signal: float, noise: float, stability: float) -> int | None:
    """Smallest n with signal / (signal + noise / n) >= stability."""
    most = tolerated(signal, stability)
    if most <= 0:
        return None
    return max(1, math.ceil(noise / most * (1 - 1e-12)))  # a whole number may come out just above itself


def tolerated(signal: float, stability: float) -> float:
    """Noise at which signal / (signal + noise) equals the stability."""
    check_between("stability", stability)
    return signal * (1 - stability) / stability


def coefficient_of_ratio(ratio: float, queries: Array) -> Array:
    """Coefficient with n queries from the ratio of signal to noise with one."""
    if math.isinf(ratio):
        return np.ones_like(queries)
    return coefficient(np.maximum(ratio, 0.0), 1 / queries)


def divided(numerator: float, denominator: float) -> float:
    """A quotient; x / 0 is infinite, 0 / 0 is 0."""
    if denominator == 0:
        return math.inf if numerator > 0 else 0.0
    return numerator / denominator


def interval_sides(confidence: float) -> tuple[float, float]:
    """Probabilities of the F quantiles to divide by, for the lower and the upper end of an interval."""
    check_between("confidence", confidence)
    return (1 + confidence) / 2, (1 - confidence) / 2


def at_least_one(name: str, values: ArrayLike) -> Array:
    """Sizes as an array, each 1 or more."""
    sizes = np.asarray(values, dtype=float)
    wrong = ~(sizes >= 1)
    if wrong.any():
        raise InputError(f"{name} must be at least 1, got {sizes[wrong].flat[0]:g}")
    return sizes


DRAWS = 10_000
ROUNDING = 1e-13  # share of the sum of all components below which one counts as 0


@dataclass(frozen=True, slots=True)
class Crossed:
    """Variance components of a crossed design: every system has a score on every query.

    systems, queries  their numbers
    mean_squares      mean squares of systems, of queries, and residual
    system            variance of the systems
    query             variance of the queries' difficulty
    residual          variance of the interaction of systems and queries, and of everything else
    negative          names of the components estimated below 0
    """

    systems: int
    queries: int
    mean_squares: tuple[float, ...]
    system: float
    query: float
    residual: float
    negative: tuple[str, ...]

    def shares(self) -> dict[str, float]:
        """Each component as a share of their sum, as in Table 6.1 of Urbano (2013)."""
        return _shares({"system": self.system, "query": self.query, "residual": self.residual})

    def relative(self, queries: ArrayLike | None = None) -> Array:
        """E rho^2, the stability of differences between systems.

            system / (system + residual / n)        (6.4)

        queries  (m,) or one number, query set sizes n; the observed number if None
        """
        return coefficient(self.system, self.residual / self._sizes(queries))

    def absolute(self, queries: ArrayLike | None = None) -> Array:
        """Phi, the stability of the scores themselves.

            system / (system + (query + residual) / n)        (6.5)

        queries  (m,) or one number, query set sizes n; the observed number if None
        """
        return coefficient(self.system, (self.query + self.residual) / self._sizes(queries))

    def queries_for_relative(self, stability: float) -> int | None:
        """Fewest queries with E rho^2 of at least `stability`, (6.6); None if systems do not differ."""
        return fewest(self.system, self.residual, stability)

    def queries_for_absolute(self, stability: float) -> int | None:
        """Fewest queries with Phi of at least `stability`, (6.7); None if systems do not differ."""
        return fewest(self.system, self.query + self.residual, stability)

    def relative_interval(self, queries: ArrayLike | None = None, confidence: float = 0.95) -> tuple[Array, Array]:
        """Confidence interval of E rho^2, exact for normal effects.

            n r / (1 + n r),  r = (MS_system / (MS_residual F) - 1) / q,  F a quantile on s - 1, (s - 1)(q - 1)

        queries     (m,) or one number n; the observed number q if None
        confidence  between 0 and 1, half of the rest on each side

        Ends below 0 are set to 0. Feldt (1965), doi:10.1007/BF02289499, extended from q to n queries.
        """
        return self._interval(self._to_relative_noise, queries, confidence)

    def absolute_interval(self, queries: ArrayLike | None = None, confidence: float = 0.95) -> tuple[Array, Array]:
        """Confidence interval of Phi, approximate, for normal effects.

        queries     (m,) or one number n; the observed number q if None
        confidence  between 0 and 1, half of the rest on each side

        Ends below 0 are set to 0. Arteaga, Jeyaratnam & Franklin (1982), Communications in Statistics: Theory and
        Methods 11(15), 1643-1658, in the form of Brennan (2001), chapter 6, extended from q to n queries.
        """
        return self._interval(self._to_absolute_noise, queries, confidence)

    def curve(self, queries: ArrayLike, confidence: float = 0.95) -> Curve:
        """Both coefficients and their intervals at query set sizes (m,)."""
        sizes = np.atleast_1d(self._sizes(queries))
        relative, absolute = self.relative_interval(sizes, confidence), self.absolute_interval(sizes, confidence)
        return Curve(sizes, confidence, self.relative(sizes), *relative, self.absolute(sizes), *absolute)

    def _sizes(self, queries: ArrayLike | None) -> Array:
        return at_least_one("queries", self.queries if queries is None else queries)

    def _interval(
        self, ratio: Callable[[float], float], queries: ArrayLike | None, confidence: float
    ) -> tuple[Array, Array]:
        lower, upper = (coefficient_of_ratio(ratio(side), self._sizes(queries)) for side in interval_sides(confidence))
        return lower, upper

    def _to_relative_noise(self, probability: float) -> float:
        """Lower confidence bound of system / residual at a probability."""
        s, _, e = self.mean_squares
        freedom = self.systems - 1
        quantile = float(fdtri(freedom, freedom * (self.queries - 1), probability))
        return (divided(s, e * quantile) - 1) / self.queries

    def _to_absolute_noise(self, probability: float) -> float:
        """Lower confidence bound of system / (query + residual) at a probability."""
        s, q, e = self.mean_squares
        freedom = self.systems - 1
        known = float(chdtri(freedom, 1 - probability)) / freedom  # F with infinite denominator freedom
        of_queries = float(fdtri(freedom, self.queries - 1, probability))
        of_residual = float(fdtri(freedom, freedom * (self.queries - 1), probability))
        if s <= of_residual * e:
            return 0.0  # E rho^2 is 0 from here on down; the quadratic below would rise again
        signal = s**2 - known * s * e + (known - of_residual) * of_residual * e**2
        noise = freedom * known * s * e + of_queries * s * q
        return self.systems / self.queries * divided(signal, noise)


NESTED = ("system", "query", "assessor", "system_query", "residual")  # components of the nested design


@dataclass(frozen=True, slots=True)
class Nested:
    """Variance components of a nested design: all systems are judged on all queries, each query by its own assessors.

    systems, queries, assessors  their numbers; assessors per query
    mean_squares    mean squares: systems, queries, assessors within queries, systems by queries, residual
    system          variance of the systems
    query           variance of the queries' difficulty
    assessor        variance of the assessors within queries
    system_query    variance of the interaction of systems and queries
    residual        variance of the interaction of systems and assessors within queries, and of everything else
    negative        names of the components estimated below 0
    """

    systems: int
    queries: int
    assessors: int
    mean_squares: tuple[float, ...]
    system: float
    query: float
    assessor: float
    system_query: float
    residual: float
    negative: tuple[str, ...]

    def shares(self) -> dict[str, float]:
        """Each component as a share of their sum, as in Table 6.4 of Urbano (2013)."""
        return _shares({name: getattr(self, name) for name in NESTED})

    def relative(self, queries: ArrayLike | None = None, assessors: ArrayLike | None = None) -> Array:
        """E rho^2, the stability of differences between systems.

            system / (system + system_query / n + residual / (n h))        (6.9)

        queries    (m,) or one number, query set sizes n; the observed number if None
        assessors  (m,) or one number, assessors h per query; the observed number if None
        """
        n, h = self._sizes(queries, assessors)
        return coefficient(self.system, (self.system_query + self.residual / h) / n)

    def absolute(self, queries: ArrayLike | None = None, assessors: ArrayLike | None = None) -> Array:
        """Phi, the stability of the scores themselves.

            system / (system + (query + system_query) / n + (assessor + residual) / (n h))        (6.10)

        queries    (m,) or one number, query set sizes n; the observed number if None
        assessors  (m,) or one number, assessors h per query; the observed number if None
        """
        n, h = self._sizes(queries, assessors)
        return coefficient(self.system, (self.query + self.system_query + (self.assessor + self.residual) / h) / n)

    def queries_for_relative(self, stability: float) -> int | None:
        """Fewest queries with E rho^2 of at least `stability`; None if systems do not differ."""
        return fewest(self.system, self.system_query + self.residual / self.assessors, stability)

    def queries_for_absolute(self, stability: float) -> int | None:
        """Fewest queries with Phi of at least `stability`; None if systems do not differ."""
        by_query, by_answer = self.query + self.system_query, self.assessor + self.residual
        return fewest(self.system, by_query + by_answer / self.assessors, stability)

    def assessors_for_relative(self, stability: float) -> int | None:
        """Fewest assessors per query with E rho^2 of at least `stability`; None if no number is enough."""
        left = tolerated(self.system, stability) - self.system_query / self.queries
        return fewest(left, self.residual / self.queries, 0.5)

    def assessors_for_absolute(self, stability: float) -> int | None:
        """Fewest assessors per query with Phi of at least `stability`; None if no number is enough."""
        left = tolerated(self.system, stability) - (self.query + self.system_query) / self.queries
        return fewest(left, (self.assessor + self.residual) / self.queries, 0.5)

    def curve(
        self,
        queries: ArrayLike,
        rng: np.random.Generator,
        *,
        assessors: float | None = None,
        confidence: float = 0.95,
        draws: int = DRAWS,
    ) -> Curve:
        """Both coefficients and their intervals at query set sizes (m,).

        queries     (m,) or one number
        rng         draws the mean squares
        assessors   per query; the observed number if None
        confidence  between 0 and 1, half of the rest on each side
        draws       number of draws

        Generalized confidence intervals, for normal effects: quantiles of the coefficients over draws in which each
        mean square is divided by a chi-squared value over its degrees of freedom. Weerahandi (1993),
        Journal of the American Statistical Association 88, 899-905; Hannig, Iyer & Patterson (2006), the
        same journal 101, 254-269.
        """
        check_count("draws", draws)
        n, h = self._sizes(queries, assessors)
        n = np.atleast_1d(n)
        freedom = _nested_freedom(self.systems, self.queries, self.assessors)
        shrunk = np.array(self.mean_squares) * freedom / rng.chisquare(freedom, size=(draws, 5))
        sizes = self.systems, self.queries, self.assessors
        s, q, a, sq, e = (np.maximum(part, 0.0)[:, None] for part in _nested_components(shrunk.T, *sizes))
        ends = interval_sides(confidence)[::-1]
        relative = np.quantile(coefficient(s, (sq + e / h) / n), ends, axis=0)
        absolute = np.quantile(coefficient(s, (q + sq + (a + e) / h) / n), ends, axis=0)
        points = self.relative(n, h), self.absolute(n, h)
        return Curve(n, confidence, points[0], relative[0], relative[1], points[1], absolute[0], absolute[1])

    def _sizes(self, queries: ArrayLike | None, assessors: ArrayLike | None) -> tuple[Array, Array]:
        return (
            at_least_one("queries", self.queries if queries is None else queries),
            at_least_one("assessors", self.assessors if assessors is None else assessors),
        )


def crossed(scores: ArrayLike) -> Crossed:
    """Estimate the variance components of a crossed design, systems x queries, by analysis of variance, (6.3).

        residual = MS_residual;  system = (MS_system - residual) / q;  query = (MS_query - residual) / s

    scores  (s, q) finite, not all the same
    """
    matrix = check_scores(scores)
    s, q = matrix.shape
    by_system, by_query, mean = matrix.mean(axis=1), matrix.mean(axis=0), matrix.mean()
    residuals = matrix - by_system[:, None] - by_query + mean
    sums = q * np.sum((by_system - mean) ** 2), s * np.sum((by_query - mean) ** 2), np.sum(residuals**2)
    squares = _mean_squares(np.array(sums), np.array([s - 1, q - 1, (s - 1) * (q - 1)]), matrix)
    ms_s, ms_q, ms_e = squares.tolist()
    components = {"system": (ms_s - ms_e) / q, "query": (ms_q - ms_e) / s, "residual": ms_e}
    return Crossed(s, q, (ms_s, ms_q, ms_e), **_named(components))


def nested(scores: ArrayLike) -> Nested:
    """Estimate the variance components of systems x (assessors within queries) by analysis of variance, (6.8).

    scores  (s, q, h) finite, not all the same: one for each system, query, and assessor of the query
    """
    cube = np.asarray(scores, dtype=float)
    if cube.ndim != 3:
        raise InputError(f"scores must be (systems, queries, assessors), got {cube.shape}")
    s, q, h = cube.shape
    if h < 2:
        raise InputError(f"expected at least 2 assessors of each query, got {h}")
    check_scores(cube.mean(axis=2))
    mean, by_system, by_query = cube.mean(), cube.mean(axis=(1, 2)), cube.mean(axis=(0, 2))
    by_assessor, by_both = cube.mean(axis=0), cube.mean(axis=2)
    residuals = cube - by_both[:, :, None] - by_assessor + by_query[:, None]
    sums = (
        q * h * np.sum((by_system - mean) ** 2),
        s * h * np.sum((by_query - mean) ** 2),
        s * np.sum((by_assessor - by_query[:, None]) ** 2),
        h * np.sum((by_both - by_system[:, None] - by_query + mean) ** 2),
        np.sum(residuals**2),
    )
    squares = _mean_squares(np.array(sums), _nested_freedom(s, q, h), cube)
    components = dict(zip(NESTED, map(float, _nested_components(squares, s, q, h)), strict=True))
    return Nested(s, q, h, tuple(squares.tolist()), **_named(components))


def _nested_freedom(s: int, q: int, h: int) -> Array:
    return np.array([s - 1, q - 1, q * (h - 1), (s - 1) * (q - 1), (s - 1) * q * (h - 1)], dtype=float)


def _nested_components(squares: Array, s: int, q: int, h: int) -> tuple[Array, Array, Array, Array, Array]:
    """Components system, query, assessor, system by query, residual, (6.8), from mean squares (5, ...)."""
    ms_s, ms_q, ms_h, ms_sq, ms_e = squares
    return (ms_s - ms_sq) / (h * q), (ms_q - ms_sq - ms_h + ms_e) / (s * h), (ms_h - ms_e) / s, (ms_sq - ms_e) / h, ms_e


def _mean_squares(sums: Array, freedom: Array, scores: Array) -> Array:
    near = nearness(scores) ** 2 * scores.size
    if sums.sum() <= near:
        raise InputError("the scores are all the same: there is no variance to divide")
    return np.where(sums <= near, 0.0, sums) / freedom


def _named(components: dict[str, float]) -> dict[str, Any]:
    """The components by name, none below 0, and the names of the negative ones."""
    rounding = ROUNDING * sum(map(abs, components.values()))  # equal mean squares do not come out equal to the last bit
    negative = tuple(name for name, value in components.items() if value < -rounding)
    return {name: value if value > rounding else 0.0 for name, value in components.items()} | {"negative": negative}


def _shares(components: dict[str, float]) -> dict[str, float]:
    total = sum(components.values())
    return {name: value / total for name, value in components.items()}
