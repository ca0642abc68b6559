"""The sizes of a joint model's components, from the judgments of some collections."""

from collections.abc import Sequence

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.relevance.joint import Prior
from audiosim.relevance.layout import SOUND
from audiosim.relevance.published import Model, fallbacks
from audiosim.stats.components import REST, estimate_components

START = {
    "query": 0.5,
    "query_genre": 0.45,
    "query_artist": 0.3,
    "genres": 0.4,
    "artist": 0.1,
    "team": 0.15,
    "system": 0.1,
    SOUND: 0.3,
    REST: 0.65,
}


def fit_components(judged: Sequence[tuple[Pool, Array]], model: Model) -> dict[str, tuple[float, float | None]]:
    """The size of each component and its standard error, of restricted maximum likelihood; see `estimate_components`.

    judged  pools with their grades: (pairs,), NaN where unjudged
    model   whose expectations the grades deviate from; it reads no judgment

    The recordings' closeness is a component if any of the pools has an index of sounds.
    """
    sound = any(pool.sounds is not None for pool, _ in judged)
    layouts, values = [], []
    for pool, grades in judged:
        prior, places = Prior.of(pool, (model, *fallbacks(model)), sound), np.flatnonzero(~np.isnan(grades))
        layouts.append(prior.layout.part(places))
        values.append(grades[places] / pool.scale.maximum - prior.mean[places])
    found = estimate_components(layouts, values, {name: START[name] for name in layouts[0].names})
    return {name: (size, _finite(found.errors[name])) for name, size in found.sizes.items()}


def _finite(error: float) -> float | None:
    return float(error) if np.isfinite(error) else None
