"""Variation between collections in the components of their grades, estimated from several collections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.relevance.between import EFFECT_NAMES, TREND, Between
from audiosim.relevance.joint_prior import Prior
from audiosim.relevance.model_files import usual_model
from audiosim.stats.normal.components import estimate_components

CONSENSUS = (0.25, 0.3)  # size of the bands of consensus, and standard deviation of its logarithm, for any collection
CONSTANT = (
    1.0  # its standard deviation between collections: a mean that may lie anywhere on the scale varies as much as
)
# a grade that may. Six collections, at .4, are too few to exclude means further out.
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
    source share its weight. CONSTANT and CONSENSUS stay at their prior: completely judged collections have smaller
    bands (.05 to .13), but the pairs judged in a campaign are not a random sample of a band.
    """
    groups: dict[str, list[Estimates]] = {}
    for one in estimates:
        groups.setdefault(one.source, []).append(one)
    count = max(1, len(held.sources))
    trend = {name: _learned(groups, name, held.trend[name], count) for name in TREND}
    trend["constant"] = (trend["constant"][0], held.trend["constant"][1])
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
