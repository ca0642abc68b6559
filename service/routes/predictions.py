"""Predictions for pairs of a collection, or for rows of features.

Predictions run in the thread pool, so that health checks do not wait for them. Work shorter than the switch to a thread
is done at once.
"""

from collections.abc import Iterable
from typing import Annotated

from fastapi import Body, Request, Response
from fastapi.concurrency import run_in_threadpool

from audiosim.relevance.model_files import Model
from audiosim.service.callers.caller import CLIENT, CLIENT_OF_ANY
from audiosim.service.entrance.exchange import (
    JSON,
    CollectionDep,
    CutoffQuery,
    ModelDep,
    ModelQuery,
    ModelRoute,
    chapter,
)
from audiosim.service.entrance.limits import IN_TURN
from audiosim.service.remote.priors import encode_prior
from audiosim.service.shelf.prediction import UNKNOWN, Predicted, predict_features
from audiosim.service.wire.encoding import encode
from audiosim.service.wire.prediction_types import FeaturesIn, PredictionsIn, PredictionsOut, PriorIn

FEW_ROWS = 500
NPZ = "application/octet-stream"

router = chapter("predictions")
quick = chapter("predictions", kind=ModelRoute)


@router.post("/collections/{collection}/predictions", dependencies=[CLIENT, IN_TURN], response_model=PredictionsOut)
def predict_pairs_of_collection(
    request: Request,
    one: CollectionDep,
    asked: Annotated[PredictionsIn, Body()],
    model: ModelQuery = None,
    cutoff: CutoffQuery = None,
) -> Response:
    """Predict the relevance of each pair, given the judgments in the body, or else those of the collection.

    Pairs that no system retrieved are predicted as well if there is evidence about them; at most 500 per request.
    `include` adds the probabilities of the levels, or the covariance of the grades of at most 1,000 pairs.
    """
    predictor = one.predictor(model, cutoff)
    given = asked.judgments
    grades = None if given is None else given.to_domain(one.collection.scale)
    pairs = asked.to_domain()
    covariance = "covariance" in asked.include
    predicted = predictor.state(grades).of(pairs, covariance)
    if UNKNOWN in predicted.status and (beyond := one.beyond(predictor, pairs, model)) is not None:
        predicted = beyond.state(grades).of(pairs, covariance)
    return _answer(request, predicted, asked.include)


@router.post(
    "/collections/{collection}/prior",
    dependencies=[IN_TURN],
    response_class=Response,
    responses={200: {"content": {NPZ: {"schema": {"type": "string", "format": "binary"}}}}},
)
def send_prior(
    one: CollectionDep, asked: Annotated[PriorIn, Body()], model: ModelQuery = None, cutoff: CutoffQuery = None
) -> Response:
    """The belief about the pairs of a collection before any judgment, if their gains are correlated.

    The answer is a compressed npz file with levels and probabilities, means and covariance of the gains in blocks with
    shared effects, and the identifiers of the pairs. The format is documented, with a loop in numpy that uses it.

    Programs can condition it on their own judgments. With judgments in `learned`, the model is first trained on them.
    """
    learned = {} if asked.learned is None else asked.learned.to_domain(one.collection.scale)
    predictor = one.predictor(model, cutoff)
    return Response(encode_prior(predictor.prior(learned), predictor.pool.pairs), media_type=NPZ)


@quick.post("/models/{model}/predictions", dependencies=[CLIENT_OF_ANY], response_model=PredictionsOut)
async def predict_rows_of_features(request: Request, model: ModelDep, asked: Annotated[FeaturesIn, Body()]) -> Response:
    """Predict the relevance of a document from each row of features."""
    if max(map(len, asked.features.values()), default=0) <= FEW_ROWS:
        return _predict_features(request, model, asked)
    return await run_in_threadpool(_predict_features, request, model, asked)


def _predict_features(request: Request, model: Model, asked: FeaturesIn) -> Response:
    return _answer(request, predict_features(model, asked.to_domain()), asked.include)


def _answer(request: Request, predicted: Predicted, include: Iterable[str]) -> Response:
    request.state.rows = len(predicted.status)
    return Response(encode(predicted, include), media_type=JSON)
