"""Variation between collections in the components of their grades, estimated from several collections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag
from scipy.special import betainc

from audiosim.collection.pool import Pool
from audiosim.collection.values import grouped
from audiosim.joint.prior import KIN, Kinship, Prior, kinship_of
from audiosim.ordinal.model import (
    EFFECT_NAMES,
    SOUND,
    TREND,
    Between,
    Model,
    Trend,
    fallbacks,
    load_model,
    source_of,
    usual_model,
)
from audiosim.stats.arrays import Array
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.normal.variance_components import LEAST_GAIN, Components, estimate_components

CONSENSUS = (0.25, 0.3)  # size of the bands of consensus, and standard deviation of its logarithm, for any collection
# Standard deviation of the constant between collections, a priori: grades that vary as usual, with variance s^2 = 1/12
# on a scale from 0 to 1, have a mean m with m (1 - m) >= s^2 (Bhatia & Davis 2000, doi:10.2307/2589180), and all such
# means are equally likely. It is sqrt((1/4 - s^2) / 3) / s.
CONSTANT = float(np.sqrt(2 / 3))
LEAST = 0.05  # standard deviation of an effect, in those of a grade, below which it counts as indistinguishable from 0
WORTH = 2  # weight of the prior spread, in collections
WEAK = Between(
    {"constant": (0.0, CONSTANT), "system_agreement": (0.0, 0.2), "consensus": (0.0, 0.2), "repetition": (0.0, 0.2)},
    {
        "query": (0.4, 0.35),
        "retrievers": (0.4, 0.35),
        "consensus": CONSENSUS,
        "team": (0.15, 0.7),
        "system": (0.15, 0.7),
        "rest": (0.6, 0.3),
    },
    (),
)


@dataclass(frozen=True)
class Estimates:
    """Estimates from one fully or partly judged collection.

    source  source of the data: collections of one source together count as one
    values  trend, and logarithms of standard deviations, by name; without those that the judgments do not determine
    errors  their standard errors, by name; without those that the judgments do not determine
    """

    source: str
    values: Mapping[str, float]
    errors: Mapping[str, float] = field(default_factory=dict)


def learn_between(estimates: Sequence[Estimates], held: Between = WEAK) -> Between:
    """The distribution over collections, learned from several.

        mean = average over sources and the prior centre, which counts as m sources: the number it came from, or one
        spread^2 = ((WORTH + m - 1) held^2 + sum of squares about the mean) / (WORTH + n - 1)  x  (1 + 1 / n)

    held  prior distribution; n includes its m sources

    The spread is the variation of the next collection, including the uncertainty of the mean; several collections of a
    source share its weight. CONSENSUS stays at its prior: completely judged collections have smaller bands (.05 to
    .13), but the pairs judged in a campaign are not a random sample of a band.
    """
    groups = grouped((one.source, one) for one in estimates)
    count = max(1, len(held.sources))
    trend = {name: _learned(groups, name, held.trend[name], count) for name in TREND}
    standard_deviations = {}
    for name in EFFECT_NAMES:
        median, spread = held.standard_deviations[name]
        if name == "consensus":
            standard_deviations[name] = (median, spread)
            continue
        middle, spread = _learned(groups, name, (float(np.log(median)), spread), count)
        standard_deviations[name] = (float(np.exp(middle)), spread)
    return Between(trend, standard_deviations, tuple(dict.fromkeys([*held.sources, *groups])), held.carried)


def _learned(
    groups: Mapping[str, Sequence[Estimates]], name: str, held: tuple[float, float], sources: int
) -> tuple[float, float]:
    """Mean and spread of the next collection; the prior counts as a number of sources."""
    values, weights = [held[0]], [float(sources)]
    for of in groups.values():
        known = [one.values[name] for one in of if name in one.values]
        values += known
        weights += [1 / max(1, len(known))] * len(known)
    weight, value = np.array(weights), np.array(values)
    count = weight.sum()
    mean = float(weight @ value / count)
    squares = (WORTH + sources - 1) * held[1] ** 2 + float(weight @ (value - mean) ** 2)
    return mean, float(np.sqrt(squares / (WORTH + count - 1) * (1 + 1 / count)))


def estimates_of(pool: Pool, grades: Array, source: str | None = None) -> Estimates:
    """Estimates from a collection, treating all documents as unknown.

    grades  (n,) NaN where unjudged
    source  None: the collection's identifier

    Restricted maximum likelihood, about the usual mean of the scale. The bands of consensus are left out, because they
    and the slope of consensus describe the same effect.
    """
    prior = Prior.of(pool, (usual_model(pool.scale),), sound=False, metadata=False)
    places = np.flatnonzero(~np.isnan(grades))
    layout = prior.layout.part(places)
    layout = replace(layout, shared={name: of for name, of in layout.shared.items() if name != "consensus"})
    value = grades[places] / pool.scale.maximum - prior.mean[places]
    found = estimate_components([layout], [value], {name: WEAK.standard_deviations[name][0] for name in layout.names})
    unsure = dict(zip(TREND, np.sqrt(np.diagonal(found.covariance)).tolist(), strict=True))
    errors = {name: error for name, error in unsure.items() if np.isfinite(error)}
    values = {name: slope for name, slope in zip(TREND, found.trend.tolist(), strict=True) if name in errors}
    for name, size in found.standard_deviations.items():
        if size < LEAST or np.isfinite(found.errors[name]):
            # Effects and trend coefficients may share a name: here `consensus` is a slope, not a deviation.
            values[name] = float(np.log(max(size, LEAST)))
        if size >= LEAST and np.isfinite(found.errors[name]):
            errors[name] = float(found.errors[name] / size)
    return Estimates(pool.collection if source is None else source, values, errors)


# Share of a model's knowledge that carries over to kin, from collections with several judged editions.


HELD = 0.5  # prior share that carries over
WORTH_OF_BETWEEN_EDITIONS = (
    2.0  # weight of the prior in observations; together with HELD, this is a uniform distribution
)
EDGES = np.linspace(0, 1, 101)
SHARES = (EDGES[1:] + EDGES[:-1]) / 2


class EditionPair(NamedTuple):
    """Estimates from two editions of one collection.

    kinship  "systems" or "edition"
    weight   1, or less if several pairs are drawn from the same judgments
    """

    kinship: Kinship
    one: Estimates
    other: Estimates
    weight: float = 1.0


def learn_carried(pairs: Sequence[EditionPair], between: Between) -> dict[str, float]:
    """Share that carries over, by kinship: its posterior mean.

        one - other ~ N(0, 2 (1 - share) T^2 + e_one^2 + e_other^2)  for each parameter,
        share ~ Beta(WORTH held, WORTH (1 - held))

    T is the standard deviation between collections, and e the standard errors. The prior is that of `between`, or HELD
    if it has none. With at most one pair the share stays near the prior, and kin are expected to differ much.
    """
    found: dict[str, float] = {}
    for kinship in KIN:
        held = between.carried.get(kinship, HELD)
        likely = np.log(
            np.diff(betainc(WORTH_OF_BETWEEN_EDITIONS * held, WORTH_OF_BETWEEN_EDITIONS * (1 - held), EDGES))
        )
        likely += sum(pair.weight * _likelihood(pair, between) for pair in pairs if pair.kinship == kinship)
        chances = np.exp(likely - likely.max())
        found[kinship] = float(chances @ SHARES / chances.sum())
    return found


def _likelihood(pair: EditionPair, between: Between) -> Array:
    """(shares,) log-likelihood of each of SHARES, up to a constant."""
    total = np.zeros(len(SHARES))
    # The bands of consensus keep their prior, so `consensus` here is the slope.
    spreads = {name: between.spread(name) for name in EFFECT_NAMES} | {name: between.trend[name][1] for name in TREND}
    for name, spread in spreads.items():
        if name in pair.one.errors and name in pair.other.errors:
            noise = pair.one.errors[name] ** 2 + pair.other.errors[name] ** 2
            deviation = np.sqrt(2 * (1 - SHARES) * spread**2 + noise)
            difference = (pair.one.values[name] - pair.other.values[name]) / deviation
            total -= difference**2 / 2 + np.log(deviation)
    return total


def edition_pairs(judged: Sequence[tuple[Pool, Array]], estimates: Sequence[Estimates]) -> list[EditionPair]:
    """The pairs of kin among some collections; see `kinship`.

    judged     pools with their grades (pairs,), NaN where unjudged
    estimates  estimates from each pool
    """
    sources = [source_of(pool, grades) for pool, grades in judged]
    found = []
    for one, other in combinations(range(len(judged)), 2):
        kinship = kinship_of(judged[other][0], [sources[one]])
        if kinship in KIN:
            found.append(EditionPair(kinship, estimates[one], estimates[other]))
    return found


def of_one_source(estimates: Sequence[Estimates], pairs: Sequence[EditionPair]) -> list[Estimates]:
    """The estimates, with kin merged into one source, named after the first of them."""
    names = {one.source: one.source for one in estimates}
    for pair in pairs:
        names[pair.other.source] = names[pair.one.source]
    return [replace(one, source=names[one.source]) for one in estimates]


# Variance components of a joint model, from the judgments of some collections.


UNTOLD = 0.3  # standard deviation of slopes not determined by the judgments: about their size in other collections
START = {
    "query": 0.5,
    "retrievers": 0.3,
    "query_genre": 0.45,
    "query_artist": 0.3,
    "genres": 0.4,
    "artist": 0.1,
    "consensus": 0.1,
    "team": 0.15,
    "system": 0.1,
    SOUND: 0.3,
    REST: 0.65,
}
ABOVE = 0.04  # smallest start of a component: at 0 the likelihood is flat, and a maximum elsewhere would not be found


def fit_joint(
    judged: Sequence[tuple[Pool, Array]],
    model: Model,
    vary: bool = True,
    start: Mapping[str, float] | None = None,
    enough: float = LEAST_GAIN,
) -> Model:
    """A model with components and a trend, learned by restricted maximum likelihood; see `estimate_components`.

    judged  pools with their grades: (pairs,), NaN where unjudged
    model   model of the expectations, which uses no judgments
    vary    True to learn the variation between collections too, starting from the shipped distribution; each pool is a
            separate source unless it is an edition of another; a single pool moves the prior half-way towards itself
    start   initial standard deviations by name: those of a fit to nearly the same judgments save half of the steps and
            lead to the same maximum; None for default ones
    enough  gain of log-likelihood at which the search ends, as in `estimate_components`

    The recordings' closeness is a component if any of the pools has an index of sounds.
    """
    sound = any(pool.sounds is not None for pool, _ in judged)
    layouts, values = [], []
    for pool, grades in judged:
        prior, places = Prior.of(pool, (model, *fallbacks(model)), sound), np.flatnonzero(~np.isnan(grades))
        layouts.append(prior.layout.part(places))
        values.append(grades[places] / pool.scale.maximum - prior.mean[places])
    begin = START if start is None else {name: max(ABOVE, size) for name, size in start.items()}
    found = estimate_components(layouts, values, {name: begin[name] for name in layouts[0].names}, enough=enough)
    return replace(
        model,
        components={name: (size, _finite(found.errors[name])) for name, size in found.standard_deviations.items()},
        trend=_trend(layouts, values, found),
        between=_between(judged) if vary else None,
    )


def _between(judged: Sequence[tuple[Pool, Array]]) -> Between:
    """Variation between collections, and between editions, by the shipped joint model and by these."""
    estimates = [estimates_of(pool, grades) for pool, grades in judged]
    pairs = edition_pairs(judged, estimates)
    between = learn_between(of_one_source(estimates, pairs), load_model("joint-fine").between or WEAK)
    return replace(between, carried=learn_carried(pairs, between))


def _trend(layouts: Sequence[Layout], values: Sequence[Array], found: Components) -> Trend:
    """The trend: its slopes by generalised least squares, the constant as the plain mean of the residuals.

    Least squares would give the constant of a pair with an average query, genre and artist; but expectations must be
    correct for the mean pair, as scores are means over pairs. The variance is that of this mean.
    """
    slopes, spread = found.trend[1:], found.covariance[1:, 1:].copy()
    untold = np.flatnonzero(np.isinf(np.diagonal(spread)))
    spread[untold, untold] = UNTOLD**2
    left = sum(
        float(np.sum(value - layout.fixed[:, 1:] @ slopes)) for layout, value in zip(layouts, values, strict=True)
    )
    count, doubt = sum(float(layout.fixed[:, 0].sum()) for layout in layouts), 0.0
    for layout in layouts:
        ones = sparse.csr_array(np.ones((1, len(layout.scale))))
        doubt += float(layout.normal(found.standard_deviations, np.zeros(len(layout.scale))).project(ones).variance[0])
    covariance = block_diag(np.array([[doubt / count**2]]), (spread + spread.T) / 2)
    coefficients = dict(zip(TREND, [left / count, *slopes.tolist()], strict=True))
    return Trend(coefficients, tuple(map(tuple, covariance.tolist())))


def _finite(error: float) -> float | None:
    return float(error) if np.isfinite(error) else None
