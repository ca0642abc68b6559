"""Provenance of a trained model: its collections, settings and package versions."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.features.feature import once_per_pool
from audiosim.relevance.content import Sketch, documents_of, places_of

PACKAGES = ("audiosim", "numpy", "scipy")


@dataclass(frozen=True)
class Source:
    """A collection that a model was fitted to, with SHA-256 hashes of everything the fit could see of it.

    collection  its identifier
    judged      number of its pairs with a judgment
    pool        hash of levels, cutoff, systems, pairs and ranks
    metadata    hash of teams, genres and artists
    judgments   hash of the grade of each pair, null where there is none
    names       names of the systems; empty in files of an earlier format
    scale       its levels, in words
    edition_of  collection that this one is declared an edition of
    places      sketch of its result lists
    documents   sketch of their documents, see `content`; None in files of an earlier format
    """

    collection: str
    cutoff: int
    systems: int
    queries: int
    pairs: int
    judged: int
    pool: str
    metadata: str
    judgments: str
    names: tuple[str, ...] = ()
    scale: str = ""
    edition_of: str = ""
    places: Sketch | None = None
    documents: Sketch | None = None


@dataclass(frozen=True)
class Provenance:
    """Provenance of a model: how it was made.

    collections   training collections
    rows          judged pairs that entered the fit
    own_judgment  True if aSYS and aART included the judgment to be predicted
    date          as given, ISO 8601, or None
    packages      versions of the packages that affect the numbers
    """

    collections: tuple[Source, ...]
    rows: int
    own_judgment: bool
    date: str | None
    packages: Mapping[str, str]


def source_of(pool: Pool, grades: Array) -> Source:
    """The provenance of one collection.

    grades  (n,) NaN where unjudged
    """
    judged, (metadata, places, documents) = ~np.isnan(grades), _without_judgments(pool)
    return Source(
        collection=pool.collection,
        cutoff=pool.cutoff,
        systems=len(pool.systems),
        queries=len(pool.queries),
        pairs=len(pool.pairs),
        judged=int(judged.sum()),
        pool=pool.content_hash,
        metadata=metadata,
        judgments=_digest([grade if known else None for grade, known in zip(grades.tolist(), judged, strict=True)]),
        names=pool.systems,
        scale=str(pool.scale),
        edition_of=pool.edition_of,
        places=places,
        documents=documents,
    )


@once_per_pool
def _without_judgments(pool: Pool) -> tuple[str, Sketch, Sketch]:
    """Hash of the metadata, and sketches of result lists and documents: the same for every fold of a validation."""
    metadata = _digest([column.tolist() for column in (pool.teams, pool.genre, pool.query_genre, pool.artist)])
    return metadata, Sketch.of(places_of(pool)), Sketch.of(documents_of(pool))


def package_versions() -> dict[str, str]:
    """The versions of the packages that affect a fit's numbers."""
    return {name: version(name) for name in PACKAGES}


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
