"""Systems scored or ranked from tables in the body: nothing is kept."""

from typing import Annotated

from fastapi import Body, Response

from audiosim.errors import InputError
from audiosim.evaluation.evaluation import evaluate
from audiosim.ranking.about import About
from audiosim.ranking.separation import verdicts
from audiosim.service.access.callers import CLIENT_OF_ANY
from audiosim.service.collections.campaigns import published_models
from audiosim.service.http.exchange import ServedDep, answer, chapter
from audiosim.service.http.limits import IN_TURN
from audiosim.service.types.campaign import EstimateOut
from audiosim.service.types.evaluation import EstimateIn, EvaluateIn, EvaluationOut
from audiosim.text import choices

router = chapter("evaluation", dependencies=[CLIENT_OF_ANY, IN_TURN])


@router.post("/evaluate", response_model=EvaluationOut)
def evaluate_systems(asked: Annotated[EvaluateIn, Body()]) -> Response:
    """Score the systems of some runs whose documents are all judged, as `audiosim evaluate` does."""
    collection, measure = asked.to_domain()
    found = evaluate(
        collection, measure, unjudged=asked.unjudged, test=asked.test, seed=asked.seed, users=asked.users,
        success=asked.success, complete=asked.complete,
    )  # fmt: skip
    return answer({"measure": str(measure)} | found.to_dict() | {"guesses": list(collection.guesses)})


@router.post("/estimate", response_model=EstimateOut)
def estimate_systems(served: ServedDep, asked: Annotated[EstimateIn, Body()]) -> Response:
    """Rank the systems of some runs from few judgments or none, as `audiosim estimate` does."""
    model = asked.model or served.default_model
    if asked.model is not None and asked.model not in (known := published_models()):  # never a file or an address
        raise InputError(f"unknown model {asked.model!r:.80}, expected one of {choices(asked.model, known)}")
    collection, measure = asked.to_domain()
    found = verdicts(
        collection, model, measure, ideal=asked.ideal, distribution=asked.distribution, about=About.parse(asked.about),
        top=asked.top,
    )  # fmt: skip
    return answer(found.to_dict())
