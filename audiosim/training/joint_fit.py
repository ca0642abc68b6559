"""Variance components of a joint model, from the judgments of some collections."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.relevance.between import SOUND, TREND, Between
from audiosim.relevance.joint_prior import Prior
from audiosim.relevance.model_files import Model, Trend, fallbacks, load_model
from audiosim.stats.normal.components import Components, estimate_components
from audiosim.stats.normal.layout import REST, Layout
from audiosim.stats.normal.size_search import LEAST_GAIN
from audiosim.training.between_collections import WEAK, estimates_of, learn_between
from audiosim.training.between_editions import edition_pairs, learn_carried, of_one_source

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
    between = learn_between(of_one_source(estimates, pairs), _shipped())
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


def _shipped() -> Between:
    """Variation between collections by the shipped joint model."""
    return load_model("joint-fine").between or WEAK


def _finite(error: float) -> float | None:
    return float(error) if np.isfinite(error) else None
