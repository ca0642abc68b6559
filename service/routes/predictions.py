"""Predictions: of the pairs of a collection, or of rows of features.

They compute, so they run in the thread pool and health does not wait for them; but what is over in less time than
it takes to get there is done at once.
"""

from collections.abc import Iterable

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from audiosim.relevance.published import Model
from service.encoding import encode
from service.exchange import (
    JSON,
    BodyDep,
    CutoffQuery,
    DirectRoute,
    ModelQuery,
    ServedDep,
    decode,
    described,
    path_parameters,
    served_by,
)
from service.predicted import UNKNOWN, Predicted, predict_features
from service.wire import FeaturesIn, PredictionsIn, PredictionsOut

SHORT_BYTES = 32 * 2**10

router = APIRouter(prefix="/v1", tags=["predictions"])
direct = APIRouter(prefix="/v1", tags=["predictions"], route_class=DirectRoute)


@router.post("/collections/{collection}/predictions", **described(PredictionsOut, takes=PredictionsIn))
def predict_pairs_of_collection(
    request: Request,
    collection: str,
    served: ServedDep,
    body: BodyDep,
    model: ModelQuery = None,
    cutoff: CutoffQuery = None,
) -> Response:
    """How relevant each pair is, given the judgments of the collection, or those in the body where there are any.

    Pairs that no system retrieved are predicted too, at most 500 at a time, where anything is known of them.
    """
    one = served.collection(collection)
    asked = decode(body, PredictionsIn)
    predictor = one.predictor(model, cutoff)
    given = asked.judgments
    grades = None if given is None else given.to_domain(one.collection.scale)
    pairs = asked.to_domain()
    predicted = predictor.state(grades).of(pairs)
    if UNKNOWN in predicted.status and (beyond := one.beyond(predictor, pairs, model)) is not None:
        predicted = beyond.state(grades).of(pairs)
    return _answer(request, predicted, asked.include)


@direct.post(
    "/models/{model}/predictions",
    **described(PredictionsOut, takes=FeaturesIn, parameters=path_parameters(model="such as mout-fine")),
)
async def predict_rows_of_features(request: Request) -> Response:
    """How relevant each row of features says a document is."""
    model = served_by(request).model(request.path_params["model"])
    body = await request.body()
    if len(body) <= SHORT_BYTES:
        return _predict_features(request, model, body)
    return await run_in_threadpool(_predict_features, request, model, body)


def _predict_features(request: Request, model: Model, body: bytes) -> Response:
    asked = decode(body, FeaturesIn)
    return _answer(request, predict_features(model, asked.to_domain()), asked.include)


def _answer(request: Request, predicted: Predicted, include: Iterable[str]) -> Response:
    request.state.rows = len(predicted.status)
    return Response(encode(predicted, include), media_type=JSON)
