"""The baseline system of an index; weights of several descriptions, learned by how well each predicts judgments."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from audiosim.collection.values import Pair, Run
from audiosim.errors import InputError
from audiosim.sound.descriptions import Description, Searched, descriptions_of
from audiosim.sound.index import AudioIndex
from audiosim.sound.search import neighbours_by, proximities_by
from audiosim.stats.arrays import Array

# A baseline system: it retrieves the recordings that sound nearest to the query's own recording.


def nearest_run(
    index: AudioIndex,
    system: str,
    queries: Mapping[str, str],
    k: int,
    artists: Mapping[str, str | None] | None = None,
) -> Run:
    """The baseline system that retrieves for each query the recordings nearest to its own, by all descriptions.

    queries  query -> its own recording
    """
    searched = Searched((index,))
    nearest = neighbours_by(searched, descriptions_of(searched), dict.fromkeys(queries.values()), k, artists)
    return Run(system, {query: tuple(near.identifier for near in nearest[own]) for query, own in queries.items()})


FEWEST = 10  # fewest judged pairs with all descriptions


def learned_weights(
    searched: Searched,
    descriptions: Sequence[Description],
    recordings: Mapping[str, str],
    grades: Mapping[Pair, float],
) -> Array:
    """(d,) weights of descriptions, at least 0 and of mean 1.

        argmin over w >= 0 of  |y - P w|^2 + (s2 / b^2) |w - b|^2

    y grades and P mutual proximities, each less its mean over the query's pairs; b and s2 are the slope and the
    variance of the residuals where all weights are the same. With few judgments the weights stay almost equal; many
    judgments decide them.

    recordings  query -> its own recording
    grades      (query, document) -> grade

    The weights are equal if sound as a whole does not predict the better document.
    """
    pairs: dict[str, list[tuple[str, float]]] = defaultdict(list)
    known = set(searched.ids)
    for (query, document), grade in grades.items():
        if recordings.get(query) in known and document in known and document != recordings[query]:
            pairs[query].append((document, grade))
    parts = [_of_query(searched, descriptions, recordings[query], some) for query, some in pairs.items()]
    y = np.concatenate([np.empty(0), *(part[:, 0] for part in parts)])
    proximities = np.concatenate([np.empty((0, len(descriptions))), *(part[:, 1:] for part in parts)])
    if len(y) < FEWEST:
        raise InputError(
            f"weights need at least {FEWEST} judged pairs of recordings with all descriptions, found {len(y)}"
        )
    return _fit(proximities, y)


def _of_query(
    searched: Searched, descriptions: Sequence[Description], recording: str, pairs: Iterable[tuple[str, float]]
) -> Array:
    """(m, 1 + d) centred grades and proximities of a query's pairs, without pairs that lack a description."""
    documents, grades = zip(*pairs, strict=True)
    close = proximities_by(searched, descriptions, recording, documents)
    table = np.column_stack([np.array(grades, dtype=np.float64), close.T])
    table = table[~np.isnan(table).any(axis=1)]
    centred: Array = table - table.mean(axis=0) if len(table) else table
    return centred


def _fit(proximities: Array, y: Array) -> Array:
    d = proximities.shape[1]
    together = proximities.sum(axis=1)
    square = float(together @ together)
    slope = float(together @ y) / square if square > 0 else 0.0
    if slope <= 0:
        return np.ones(d)
    strength = float(np.sqrt(np.mean((y - slope * together) ** 2))) / slope
    from scipy.optimize import nnls  # imported here, as most uses need not pay for its start-up time

    rows = np.concatenate([proximities, strength * np.eye(d)])
    found, _ = nnls(rows, np.concatenate([y, np.full(d, strength * slope)]))
    weights: Array = found / found.mean()
    return weights
