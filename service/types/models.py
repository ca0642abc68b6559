"""Wire types of a campaign's model: the choice, its effect on the ranking, and the training of a model."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
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
from audiosim.service.types.base import OfState, OnWire, Strict, Wire
from audiosim.service.types.campaign import ChangedRankingOut, RankedOut
from audiosim.service.types.judging import RecordOut, Text

ChosenModel = Annotated[str, Meta(max_length=1000)]
MOST_COLLECTIONS = 100


class KeptModelOut(KeptModel, OnWire, frozen=True):
    """A model that this service keeps.

    name    name of the model
    by      name of the person who brought it
    origin  "sent as a file", or the collections that it was trained on
    """


class ModelChoiceOut(OfState):
    """The model of a campaign, and the models to choose from.

    version    version of the model; null if it has none
    usual      the model that is used if none is chosen
    chosen     line of the log that chose the model; null if none did
    lost       reason why the model is not the one chosen in the log; else empty
    published  published models to choose from, for this collection's scale
    kept       models that the service keeps, for this collection's scale
    """

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
    """Model to choose.

    model  name of a published or kept model; empty for the usual one
    """

    model: ChosenModel
    reason: Text = ""


class MovedByModelOut(RankedOut):
    """Rank and score of a system, with its 95 % interval, by the present model and by the other.

    score           score by the present model
    rank_by_other   rank by the other
    score_by_other  score by the other
    low_by_other    lower end of the interval by the other
    high_by_other   upper end of the same
    """

    rank_by_other: int
    score_by_other: float
    low_by_other: float
    high_by_other: float


class ModelEffectOut(ChangedRankingOut):
    """Effect of another model on the ranking, from the same judgments.

    other                  name of the other model
    other_version          version of the other; null if it has none
    confidence_by_other    confidence by the other; null if there is nothing to order
    fit_by_other           check of the other against the judgments: PASS, FAIL or NOT CHECKED
    fit_sentence_by_other  that check in words
    moved_by               score of that system by the other, less its score by the present model
    """

    model: str
    other: str
    other_version: str | None
    confidence_by_other: float | None
    fit: str
    fit_sentence: str
    fit_by_other: str
    fit_sentence_by_other: str
    systems: list[MovedByModelOut]

    @classmethod
    def from_domain(cls, one: ServedCollection, other: ServedCollection) -> "ModelEffectOut":
        before, after, by = one.campaign.ranking, other.campaign.ranking, other.predictor()
        said = {
            "collection": one.collection.identifier,
            "state": other.campaign.number,
            "model": one.predictor().name,
            "other": by.name,
            "other_version": by.version,
            "fit": before.check.verdict,
            "fit_sentence": before.check.sentence,
            "fit_by_other": after.check.verdict,
            "fit_sentence_by_other": after.check.sentence,
        }
        return msgspec.convert(RankingChange(before, after, "by_other", f"By {by.name}").to_dict() | said, cls)


class TrainingIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """A model to train, as by `audiosim train`. It learns from the judgments of this collection and of others.

    name       name of the model
    features   list of features, or joint
    folds      number of folds of the validation; 0 for none
    eliminate  level at which terms that are not significant are dropped; none if not given
    others     further collections to learn from, which must have the same scale
    """

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    features: Annotated[str, Meta(min_length=1, max_length=1000)] = "joint"
    folds: Annotated[int, Meta(ge=0, le=100)] = 10
    eliminate: float | None = None
    others: Annotated[list[str], Meta(max_length=MOST_COLLECTIONS)] = field(default_factory=list)


class ModelTrainingOut(TrainingState, OnWire, frozen=True):
    """State of a training. Once it is done, the service keeps the model under its name.

    name         name of the model
    features     list of features
    folds        number of folds of the validation
    eliminate    level at which terms are dropped; null for none
    collections  collections that it learns from
    by           name of the person who began it
    began        time of the beginning, ISO 8601, UTC
    status       running, done, failed, cancelled or interrupted (its server ended, for instance at a restart: start it
                 again)
    done         number of fits of the validation that are done
    total        number of these fits in all; 0 until it begins
    problem      reason of a failure, else empty
    notes        omissions and their reasons
    """


class ModelTrainingsOut(Wire):
    """The training that this collection takes part in.

    training  the current training or the last one; null if there was none
    busy      true if any training is running
    others    further collections of the same scale that a model may learn from
    features  named lists of features
    """

    collection: str
    training: ModelTrainingOut | None
    busy: bool
    others: list[str]
    features: dict[str, Any]
