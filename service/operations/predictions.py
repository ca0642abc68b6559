"""Predictions for pairs of a collection, or for rows of features.

Predictions run in the thread pool, so that health checks do not wait for them. Work shorter than the switch to a thread
is done at once.
"""

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import Body, Request, Response
from fastapi.concurrency import run_in_threadpool

from audiosim.joint.posterior import in_words
from audiosim.ordinal.model import Model
from audiosim.service.access.callers import CLIENT, CLIENT_OF_ANY
from audiosim.service.collections.predictions import STATUSES, UNKNOWN, Predicted, predict_features
from audiosim.service.http.exchange import (
    BYTES,
    JSON,
    CollectionDep,
    CutoffQuery,
    ModelDep,
    ModelQuery,
    ModelRoute,
    chapter,
    sends,
)
from audiosim.service.http.limits import IN_TURN
from audiosim.service.types.predictions import FeaturesIn, PredictionsIn, PredictionsOut, PriorIn
from audiosim.service.types.prior_file import encode_prior
from audiosim.stats.arrays import Array

# Encoding of predictions as JSON directly from arrays, several times faster than from Python numbers.


BLOCK = 5_000  # rows encoded at a time; other threads run between blocks
NUMPY = orjson.OPT_SERIALIZE_NUMPY


def encode(predicted: Predicted, include: Iterable[str] = ()) -> bytes:
    """The JSON of a `wire.PredictionsOut`; a NaN is null."""
    names, spoken = (
        [*predicted.models, None],
        [*map(in_words, predicted.evidence), None],
    )  # ABSENT is -1, so these take the last of each
    fields: dict[str, Any] = {
        "model": {"name": predicted.name, "version": predicted.version},
        "judgments": predicted.judgments,
        "state": predicted.state,
        "expectation": predicted.expectation,
        "variance": predicted.variance,
        **({} if predicted.gain is None else {"gain": predicted.gain}),
        "status": list(map(STATUSES.__getitem__, predicted.status.tolist())),
        "models": list(map(names.__getitem__, predicted.model.tolist())),
        "evidence": list(map(spoken.__getitem__, predicted.spoke.tolist())),
    }
    if "probabilities" in include:
        fields |= {"levels": predicted.levels, "probabilities": _rows(predicted.probabilities)}
    if predicted.notes:
        fields["notes"] = predicted.notes
    if predicted.covariance is not None:
        fields["covariance"] = predicted.covariance
    return orjson.dumps(fields, option=NUMPY)


def _rows(rows: Array) -> orjson.Fragment:
    """(n, k) rows as JSON; null for a row that starts with NaN."""
    blocks = (orjson.dumps(_block(rows[start : start + BLOCK]), option=NUMPY) for start in range(0, len(rows), BLOCK))
    return orjson.Fragment(b"[" + b",".join(block[1:-1] for block in blocks) + b"]")


def _block(rows: Array) -> Any:
    unknown = np.isnan(rows[:, 0])
    if not unknown.any():
        return rows
    return [None if missing else row for missing, row in zip(unknown.tolist(), rows.tolist(), strict=True)]


FEW_ROWS = 500

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
    """Predict the relevance of each pair, as `audiosim predict` does, from the judgments in the body or those so far.

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


@router.post("/collections/{collection}/prior", dependencies=[IN_TURN], **sends("A compressed npz file", BYTES))
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
    return Response(encode_prior(predictor.prior(learned), predictor.pool.pairs), media_type=BYTES)


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
