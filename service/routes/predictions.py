"""Predictions: of the pairs of a collection, or of rows of features.

They compute, so they are plain functions and run in the thread pool; health does not wait for them.
"""

from fastapi import APIRouter, Response

from service.exchange import BodyDep, CutoffQuery, ModelQuery, ServedDep, answer, decode, described
from service.predicted import predict_features
from service.wire import FeaturesIn, PredictionsIn, PredictionsOut

router = APIRouter(prefix="/v1", tags=["predictions"])


@router.post("/collections/{collection}/predictions", **described(PredictionsOut, takes=PredictionsIn))
def predict_pairs_of_collection(
    collection: str, served: ServedDep, body: BodyDep, model: ModelQuery = None, cutoff: CutoffQuery = None
) -> Response:
    """How relevant each pair is, given the judgments of the collection, or those in the body where there are any."""
    one = served.collection(collection)
    asked = decode(body, PredictionsIn)
    predictor = one.predictor(model, cutoff)
    given = asked.judgments
    state = predictor.own if given is None else predictor.given(given.to_domain(one.collection.scale))
    return answer(PredictionsOut.from_domain(state.of(asked.to_domain()), asked.include))


@router.post("/models/{model}/predictions", **described(PredictionsOut, takes=FeaturesIn))
def predict_rows_of_features(model: str, served: ServedDep, body: BodyDep) -> Response:
    """How relevant each row of features says a document is."""
    chosen = served.model(model)
    asked = decode(body, FeaturesIn)
    return answer(PredictionsOut.from_domain(predict_features(chosen, asked.to_domain()), asked.include))
