"""Share of a model's knowledge that applies to a pool, by the kinship of collections and by known documents."""

from dataclasses import replace

import numpy as np

from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.features.registry import FEATURES
from audiosim.relevance.kinship import Kinship, kinship_of
from audiosim.relevance.model_files import Model
from audiosim.relevance.pair_evidence import kinds_of


def unknown_documents(pool: Pool) -> Pool:
    """The pool without metadata, so that documents differ only in their retrieving systems; unchanged without any."""
    known = np.any(pool.genre != UNKNOWN) or np.any(pool.artist != UNKNOWN)
    if not known and pool.sounds is None and not pool.evidence and not pool.judges:
        return pool
    nothing = np.full(len(pool.pairs), UNKNOWN)
    return replace(pool, genre=nothing, query_genre=nothing, artist=nothing, sounds=None, evidence=(), judges=())


def carried_to(pool: Pool, model: Model) -> float:
    """Share of a model's knowledge that carries over to a pool: 1 at home, or if the model knows no other collection.

    See `kinship`. For another edition this needs metadata: only metadata identify the pairs that resemble the model's.
    """
    if model.between is None:
        return 1.0
    kinship = kinship_to(pool, model)
    if kinship == "home":
        return 1.0
    if kinship == "edition" and not knows_documents(model, pool):
        return 0.0
    return model.between.carried.get(kinship, 0.0)


def kinship_to(pool: Pool, model: Model) -> Kinship:
    """Kinship of a pool with the collections that a model was fitted to."""
    return "stranger" if model.training is None else kinship_of(pool, model.training.collections)


def knows_documents(model: Model, pool: Pool) -> bool:
    """True if a model was learned for the pool's scale from properties known for some of its documents."""
    there = np.any(pool.genre != UNKNOWN) or np.any(pool.artist != UNKNOWN)
    return model.scale == pool.scale.name and _of_documents(model) and bool(there)


def _of_documents(model: Model) -> bool:
    """True if a model has a feature of the documents themselves, not only of the systems that retrieved them."""
    return any(name not in FEATURES or kinds_of(FEATURES[name]) != ("output",) for name in model.features)
