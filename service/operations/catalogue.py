"""Catalogue of the models and collections served.

The routes of a collection may have to build its pool first, so they are plain functions, run in the thread pool.
"""

from typing import Annotated

import msgspec

from audiosim.service.access.callers import ANYONE, CLIENT_OF_ANY, Caller, CallerDep
from audiosim.service.http.exchange import CollectionDep, CutoffQuery, ModelDep, ModelQuery, ServedDep, chapter
from audiosim.service.tasks.cards import Cards
from audiosim.service.tasks.state import part
from audiosim.service.types.predictions import CollectionOut, ModelOut, ScaleOut

router = chapter("catalogue")

CardsDep = Annotated[Cards, part(lambda state: state.cards)]


@router.get("/models", dependencies=[CLIENT_OF_ANY])
async def list_models(served: ServedDep) -> list[ModelOut]:
    """Every model, by name."""
    return [ModelOut.from_domain(model) for model in served.models.values()]


@router.get("/models/{model}", dependencies=[CLIENT_OF_ANY])
async def show_model(model: ModelDep) -> ModelOut:
    """One model, with its coefficients and their source."""
    return ModelOut.from_domain(model)


@router.get("/collections", dependencies=[ANYONE])
def list_collections(caller: CallerDep, cards: CardsDep) -> list[CollectionOut]:
    """Every collection, with its cutoff and model; the levels of its scale are at /v1/scales.

    Collections that were never opened are opened for this list. One that cannot be opened is left out; the service's
    log gives the reason.
    """
    return [_shown(card.said, caller) for card in cards.all()]


@router.get("/scales", dependencies=[ANYONE])
def list_scales(cards: CardsDep) -> list[ScaleOut]:
    """Every scale used for grading, with its levels."""
    return [ScaleOut(name, list(levels)) for name, levels in sorted({card.scale for card in cards.all()})]


@router.get("/collections/{collection}", dependencies=[ANYONE])
def show_collection(
    caller: CallerDep, one: CollectionDep, model: ModelQuery = None, cutoff: CutoffQuery = None
) -> CollectionOut:
    """One collection, with another model or cutoff if given; assessors see no systems."""
    return _shown(CollectionOut.from_domain(one, one.predictor(model, cutoff)), caller)


def _shown(found: CollectionOut, caller: Caller) -> CollectionOut:
    """A collection as a caller may see it."""
    return msgspec.structs.replace(found, systems=[]) if caller.role == "assessor" else found


@router.post("/collections/{collection}/reload")
def reload_collection(collection: str, served: ServedDep) -> CollectionOut:
    """Reload the model file of the collection; a faulty file is answered with 422, and the old model stays."""
    one = served.reload(collection)
    return CollectionOut.from_domain(one, one.predictor())
