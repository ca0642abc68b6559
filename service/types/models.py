"""Wire types of a campaign's model: the choice, its effect on the ranking, and the training of a model."""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from audiosim.campaign.tables import KeptModel
from audiosim.collection.values import Scale
from audiosim.joint.estimators import JOINT
from audiosim.ordinal.model import model_names
from audiosim.ranking.ranking import RankingChange
from audiosim.service.collections.campaigns import published_models
from audiosim.service.collections.models import LONGEST_NAME
from audiosim.service.collections.served import ServedCollection
from audiosim.service.collections.trainings import TrainingState
from audiosim.service.types.base import Strict, Wire
from audiosim.service.types.campaign import AboutOut
from audiosim.service.types.judging import RecordOut, Text

ChosenModel = Annotated[str, Meta(max_length=1000)]
MOST_COLLECTIONS = 100


class KeptModelOut(Wire):
    """A model that this service keeps, trained here or sent as a file; `origin` says which."""

    name: str
    version: str
    scale: str
    time: str
    by: str
    origin: str


class ModelChoiceOut(Wire):
    """The model of a campaign, and the models to choose from.

    `chosen` is the line of the log that chose it; null if none did, for the `usual` model. `lost` gives the reason if
    the model is not the one chosen in the log; else it is empty. `published` and `kept` are the models to choose from,
    all for this collection's scale.
    """

    collection: str
    state: int
    model: str
    version: str | None
    usual: str
    chosen: RecordOut | None
    lost: str
    published: list[str]
    kept: list[KeptModelOut]

    @classmethod
    def from_domain(cls, one: ServedCollection, usual: str | None, kept: list[KeptModel]) -> "ModelChoiceOut":
        last, predictor, scale = one.campaign.model_choices.last, one.predictor(), one.collection.scale
        return cls(
            collection=one.collection.identifier,
            state=one.campaign.number,
            model=predictor.name,
            version=predictor.version,
            usual=JOINT if usual is None else Path(usual).name if usual.endswith(".json") else usual,
            chosen=None if last is None else RecordOut.from_domain(last),
            lost=one.lost_model,
            published=_published_for(scale),
            kept=[KeptModelOut.of(model) for model in kept if model.scale == scale.name],
        )


def _published_for(scale: Scale) -> list[str]:
    """Published models for a scale; joint and uniform work on every scale."""
    names = model_names()
    return [name for name in published_models() if name in (JOINT, "uniform") or f"{name}-{scale.name}" in names]


class ModelIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Name of a published or kept model, empty for the usual one, and the reason for choosing it."""

    model: ChosenModel
    reason: Text = ""


class MovedByModelOut(Wire):
    """Rank and score of a system, with its 95 % interval, by the present model and by the other."""

    system: str
    rank: int
    score: float
    low: float
    high: float
    rank_by_other: int
    score_by_other: float
    low_by_other: float
    high_by_other: float


class ModelEffectOut(Wire):
    """Effect of another model on the ranking, from the same judgments.

    `fit` is the check of the present model and `fit_by_other` that of the other, each with a sentence. `pairs_turned`
    lists the pairs of systems that change places, and `turned` is their number; the score of `moved_most` changes by
    `moved_by`.
    """

    collection: str
    state: int
    model: str
    other: str
    other_version: str | None
    about: AboutOut
    measure: str
    confidence: float | None
    confidence_by_other: float | None
    fit: str
    fit_sentence: str
    fit_by_other: str
    fit_sentence_by_other: str
    turned: int
    moved_most: str
    moved_by: float
    pairs_turned: list[list[str]]
    sentence: str
    systems: list[MovedByModelOut]

    @classmethod
    def from_domain(cls, one: ServedCollection, other: ServedCollection) -> "ModelEffectOut":
        before, after = one.campaign.ranking, other.campaign.ranking
        change, name = RankingChange(before, after), other.predictor().name
        system, moved = change.most_changed
        return cls(
            collection=one.collection.identifier,
            state=other.campaign.number,
            model=one.predictor().name,
            other=name,
            other_version=other.predictor().version,
            about=AboutOut(**before.about.to_dict()),
            measure=str(before.measure),
            confidence=before.confidence,
            confidence_by_other=after.confidence,
            fit=before.check.verdict,
            fit_sentence=before.check.sentence,
            fit_by_other=after.check.verdict,
            fit_sentence_by_other=after.check.sentence,
            turned=len(change.turned),
            moved_most=system,
            moved_by=moved,
            pairs_turned=[list(pair) for pair in change.turned],
            sentence=f"By {name}: {change.words}.",
            systems=[MovedByModelOut(**row) for row in change.rows("by_other")],
        )


class TrainingIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """A model to train, as by `audiosim train`: its name, features, folds of the validation, and level of elimination.

    It learns from the judgments of this collection and of `others`, which must have the same scale.
    """

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    features: Annotated[str, Meta(min_length=1, max_length=1000)] = "joint"
    folds: Annotated[int, Meta(ge=0, le=100)] = 10
    eliminate: float | None = None
    others: Annotated[list[str], Meta(max_length=MOST_COLLECTIONS)] = field(default_factory=list)


class ModelTrainingOut(Wire):
    """State of a training: `done` of `total` fits of the validation are done; `total` is 0 until it begins.

    Once the training is done, the service keeps the model under its name. `problem` gives the reason of a failure,
    `notes` the omissions and their reasons. An `interrupted` training ended with its server, for instance at a restart:
    start it again.
    """

    name: str
    features: str
    folds: int
    eliminate: float | None
    collections: list[str]
    by: str
    began: str
    status: Literal["running", "done", "failed", "cancelled", "interrupted"]
    done: int
    total: int
    problem: str
    notes: list[str]

    @classmethod
    def from_domain(cls, state: TrainingState) -> "ModelTrainingOut":
        return cls.of(state, collections=list(state.collections), notes=list(state.notes))


class ModelTrainingsOut(Wire):
    """The current training or the last one, if this collection takes part; `busy` if any is running.

    `others` lists further collections of the same scale that a model may learn from, and `features` the named lists of
    features.
    """

    collection: str
    training: ModelTrainingOut | None
    busy: bool
    others: list[str]
    features: dict[str, Any]
