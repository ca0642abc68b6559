"""What is served: models and collections.

The routes of a collection may have to make its pool first: they are plain functions, run in the thread pool.
"""

from fastapi import APIRouter, Response

from service.exchange import CutoffQuery, ModelQuery, ServedDep, answer, described
from service.wire import CollectionOut, ModelOut

router = APIRouter(prefix="/v1", tags=["catalogue"])


@router.get("/models", **described(list[ModelOut]))
async def list_models(served: ServedDep) -> Response:
    """Every model, by name."""
    return answer([ModelOut.from_domain(model) for model in served.models.values()])


@router.get("/models/{model}", **described(ModelOut))
async def show_model(model: str, served: ServedDep) -> Response:
    """One model, with its coefficients and where they come from."""
    return answer(ModelOut.from_domain(served.model(model)))


@router.get("/collections", **described(list[CollectionOut]))
def list_collections(served: ServedDep) -> Response:
    """Every collection, each with its own cutoff and model."""
    return answer([CollectionOut.from_domain(one, one.predictor()) for one in served.collections.values()])


@router.get("/collections/{collection}", **described(CollectionOut))
def show_collection(
    collection: str, served: ServedDep, model: ModelQuery = None, cutoff: CutoffQuery = None
) -> Response:
    """One collection, as another model and another cutoff see it where they are given."""
    one = served.collection(collection)
    return answer(CollectionOut.from_domain(one, one.predictor(model, cutoff)))


@router.post("/collections/{collection}/reload", **described(CollectionOut))
def reload_collection(collection: str, served: ServedDep) -> Response:
    """Read the model file of the collection anew; where it is wrong, 422 says how, and the old one stays."""
    one = served.reload(collection)
    return answer(CollectionOut.from_domain(one, one.predictor()))
