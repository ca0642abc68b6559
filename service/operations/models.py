"""The model of a campaign: chosen, tried, trained on judged collections, or sent as a file."""

from contextlib import ExitStack
from datetime import date
from typing import Annotated

from fastapi import Body, HTTPException, Query, Response

from audiosim.errors import InputError
from audiosim.joint.estimators import JOINT
from audiosim.service.access.callers import CallerDep
from audiosim.service.collections.models import check_model_name
from audiosim.service.collections.publications import judged_collection
from audiosim.service.collections.trainings import TrainingJob, Trainings
from audiosim.service.http.exchange import (
    JSON,
    BodyDep,
    CollectionDep,
    FreshDep,
    ServedDep,
    answer,
    attachment,
    chapter,
    sends,
    takes,
)
from audiosim.service.operations.campaign import RankingsDep
from audiosim.service.operations.catalogue import CardsDep
from audiosim.service.operations.judging import WRITES, WritingDep
from audiosim.service.tasks.cards import Cards
from audiosim.service.tasks.state import part
from audiosim.service.types.judging import RecordOut
from audiosim.service.types.models import (
    KeptModelOut,
    ModelChoiceOut,
    ModelEffectOut,
    ModelIn,
    ModelTrainingOut,
    ModelTrainingsOut,
    TrainingIn,
)
from audiosim.training.plan import LISTS, Plan, is_joint, parse_terms

router = chapter("campaign")
OBJECT = {"type": "object"}

TrainingsDep = Annotated[Trainings, part(lambda state: state.trainings)]
OtherQuery = Annotated[
    str, Query(max_length=1000, description="name of a published or kept model; empty for the usual one")
]
KeptNameQuery = Annotated[str, Query(min_length=1, max_length=1000, description="name of a kept model")]


@router.get("/collections/{collection}/model")
def show_model_choice(served: ServedDep, one: FreshDep) -> ModelChoiceOut:
    """Show the model of a campaign, who chose it and when, and the models to choose from."""
    usual = served.usual_model(one.collection.identifier, one.folder)
    return ModelChoiceOut.from_domain(one, usual, served.kept_models.all())


@router.get("/collections/{collection}/model-effect", response_model=ModelEffectOut)
async def show_model_effect(served: ServedDep, one: FreshDep, effects: RankingsDep, model: OtherQuery = "") -> Response:
    """Show the ranking by another model, from the same judgments, beside the present one; nothing changes.

    The other model learns from all judgments, which takes seconds. Choosing it afterwards takes a moment.
    """
    name, number = one.collection.identifier, one.campaign.number

    def work() -> ModelEffectOut:
        return ModelEffectOut.from_domain(*served.tried(name, model))

    return answer(await effects.do((one, "model", model, number), work))


@router.post("/collections/{collection}/model", **WRITES)
def choose_model(writing: WritingDep, served: ServedDep, said: Annotated[ModelIn, Body()]) -> RecordOut:
    """Choose another model for a running campaign; `model-effect` shows the change.

    All judgments stay and count as before. The log says who chose it, so that every server of the campaign has the
    same model, also after a restart.
    """
    name, by = writing.one.collection.identifier, writing.caller.name
    return writing.written(served.choose_model(name, said.model, by, said.reason, writing.key))


@router.post("/collections/{collection}/models", status_code=201, **takes(json=OBJECT))
def keep_model(caller: CallerDep, served: ServedDep, one: CollectionDep, body: BodyDep) -> KeptModelOut:
    """Keep the file of a model that `audiosim train` wrote; any collection of its scale may then choose it.

    A model is kept under the name in its file, once; another one of that name is refused.
    """
    return KeptModelOut.of(served.keep_model(body, caller.name, "sent as a file"))


@router.get("/collections/{collection}/models", **sends("A model file", json=OBJECT))
def send_kept_model(served: ServedDep, one: CollectionDep, name: KeptNameQuery) -> Response:
    """Send the file of a kept model, with the report of its training; it works wherever a model is named."""
    text = served.kept_models.content(name)
    return Response(text, headers=attachment(f"{name}.json"), media_type=JSON)


@router.delete("/collections/{collection}/models", status_code=204)
def delete_kept_model(caller: CallerDep, served: ServedDep, one: CollectionDep, name: KeptNameQuery) -> Response:
    """Delete a kept model; one that a campaign has is refused, as its log needs it. The name is free again.

    With a token for one collection one may delete one's own models, since other collections may choose the others.
    """
    kept = {model.name: model for model in served.kept_models.all()}
    if caller.collection and name in kept and kept[name].by != caller.name:
        raise HTTPException(403, f"this token for {caller.collection} may delete only {caller.name}'s own models")
    served.delete_model(name)
    return Response(status_code=204)


@router.get("/collections/{collection}/trainings")
def show_trainings(
    caller: CallerDep, trainings: TrainingsDep, cards: CardsDep, one: CollectionDep
) -> ModelTrainingsOut:
    """Show the training under way, or the last one, and what a model may be trained on."""
    name = one.collection.identifier
    shown = None if (last := trainings.last(name)) is None else ModelTrainingOut.of(last)
    others = [] if caller.collection else _others(cards, name)
    named = {JOINT: list(parse_terms(JOINT))} | {word: list(terms) for word, terms in LISTS.items()}
    return ModelTrainingsOut(name, shown, trainings.busy, others, named)


@router.post("/collections/{collection}/trainings", status_code=201)
def train_model(
    caller: CallerDep,
    served: ServedDep,
    trainings: TrainingsDep,
    one: CollectionDep,
    asked: Annotated[TrainingIn, Body()],
) -> ModelTrainingOut:
    """Train a model on the judgments so far, as `audiosim train` does, in a process of its own.

    One model is trained at a time. Once it is done the service keeps it, and it can be chosen.
    """
    if asked.others and caller.collection:
        raise HTTPException(403, f"this token is for {caller.collection}: a model may learn only from its judgments")
    check_model_name(asked.name)
    if asked.name in {kept.name for kept in served.kept_models.all()}:
        raise InputError(f"there is another model called {asked.name} already: choose another name")
    terms, joint, today = parse_terms(asked.features), is_joint(asked.features), date.today().isoformat()
    plan = Plan(terms, asked.name, asked.folds, asked.eliminate, date=today, joint=joint)
    with ExitStack() as stack:
        others = [stack.enter_context(served.collections.held(name)) for name in dict.fromkeys(asked.others)]
        learned_from = [one, *(other for other in others if other is not one)]
        judged = tuple(judged_collection(some, some.campaign.judgments()) for some in learned_from)
    return ModelTrainingOut.of(trainings.start(TrainingJob(judged, plan), asked.features, caller.name))


@router.post("/collections/{collection}/trainings/cancel")
def cancel_training(trainings: TrainingsDep, one: CollectionDep) -> ModelTrainingOut:
    """Cancel the training under way; its model is dropped."""
    return ModelTrainingOut.of(trainings.cancel(one.collection.identifier))


def _others(cards: Cards, name: str) -> list[str]:
    """Further collections of the same scale."""
    scales = {card.said.identifier: card.scale for card in cards.all()}
    return [other for other, scale in scales.items() if other != name and scale == scales.get(name)]
