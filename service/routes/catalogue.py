"""Catalogue of what is served: models and collections.

The routes of a collection may have to make its pool first: they are plain functions, run in the thread pool.
"""

from fastapi import APIRouter

from service.exchange import CollectionDep, CutoffQuery, ModelDep, ModelQuery, ServedDep, WireRoute
from service.wire import CollectionOut, ModelOut

router = APIRouter(prefix="/v1", tags=["catalogue"], route_class=WireRoute)


@router.get("/models")
async def list_models(served: ServedDep) -> list[ModelOut]:
    """Every model, by name."""
    return [ModelOut.from_domain(model) for model in served.models.values()]


@router.get("/models/{model}")
async def show_model(model: ModelDep) -> ModelOut:
    """One model, with its coefficients and where they come from."""
    return ModelOut.from_domain(model)


@router.get("/collections")
def list_collections(served: ServedDep) -> list[CollectionOut]:
    """Every collection, each with its own cutoff and model."""
    return [CollectionOut.from_domain(one, one.predictor()) for one in served.collections.values()]


@router.get("/collections/{collection}")
def show_collection(one: CollectionDep, model: ModelQuery = None, cutoff: CutoffQuery = None) -> CollectionOut:
    """One collection, as another model and another cutoff see it where they are given."""
    return CollectionOut.from_domain(one, one.predictor(model, cutoff))


@router.post("/collections/{collection}/reload")
def reload_collection(collection: str, served: ServedDep) -> CollectionOut:
    """Read the model file of the collection anew; where it is wrong, 422 says how, and the old one stays."""
    one = served.reload(collection)
    return CollectionOut.from_domain(one, one.predictor())
