"""Estimators of the relevance of unjudged pairs: the Protocol, and the built-in ones."""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

from audiosim.arrays import Array
from audiosim.corpus.model import FINE, Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.relevance.belief import Belief
from audiosim.relevance.evidence_kind import EvidenceKind
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.model_files import (
    Model,
    fallbacks,
    load_model,
    model_for_scale,
    model_names,
    uniform_model,
    usual_model,
)
from audiosim.relevance.ordinal_estimator import OrdinalEstimator

JOINT = "joint"  # the default model
NameOrFile = str | os.PathLike[str]  # a path is the path of a model file


class RelevanceEstimator(Protocol):
    """Predicts the relevance of the pairs of one pool, given the judgments made so far.

    Entry-point group `audiosim.estimators`: each entry is a function that takes a Pool and the text
    after the colon of `--model NAME:TEXT`, and returns an estimator for that pool. Contract:
    `audiosim.plugins.check_estimator`.
    """

    @property
    def name(self) -> str: ...

    def predict(self, grades: Array) -> Belief:
        """Belief about the pairs of the pool, in its order; the same answer for the same grades.

        grades  (n,) the judgments made so far, NaN where unjudged; a pair's own grade must not be used for its
                prediction

        `Belief.independent` makes a belief with independent pairs; for dependent pairs, pass a correlated prior. The
        belief does the conditioning.
        """
        ...


EstimatorFactory = Callable[[Pool, str], RelevanceEstimator]


def estimator_of(
    pool: Pool, name: str | Model, kinds: Collection[EvidenceKind] | None = None
) -> OrdinalEstimator | JointEstimator:
    """The estimator of a model, given by name, file or value, followed by the fallbacks that it names.

    kinds  kinds of evidence that a joint estimator uses; None for all known ones

    A model with components gives a joint estimator. If it has a distribution of collections, as `joint` does, it works
    on any scale; see `transferred`.
    """
    model = _for_scale(name, pool.scale)
    models = (model, *fallbacks(model))
    return OrdinalEstimator(pool, models) if model.components is None else JointEstimator(pool, models, kinds)


def _for_scale(name: str | Model, scale: Scale) -> Model:
    anew = name == JOINT and f"{JOINT}-{scale.name}" not in model_names()
    if isinstance(name, str) and not anew and not name.endswith(".json"):
        return model_for_scale(name, scale)
    model = load_model(f"{JOINT}-{FINE.name}" if anew else name)
    model = replace(model, name=f"{JOINT}-{scale.name}") if anew else model
    fits = model.scale == scale.name and all(level in scale for level in model.levels)
    return model_for_scale(model, scale) if fits or model.between is None else transferred(model, scale)


def uniform(pool: Pool, _: str = "") -> OrdinalEstimator:
    """Every grade of the scale equally likely; Urbano (2013), section 7.2.1."""
    return OrdinalEstimator(pool, (uniform_model(pool.scale),))


def built_in(pool: Pool, model: NameOrFile | RelevanceEstimator | None) -> RelevanceEstimator:
    """The estimator of a model that comes with audiosim, or of a model file; an estimator is returned unchanged.

    model  "uniform", a name in models/ with or without its scale, a .json file, an estimator for this
           pool, or None for `joint`
    """
    model = JOINT if model is None else model
    if not isinstance(model, str | os.PathLike):
        if not hasattr(model, "predict"):
            raise InputError(f"expected a model's name or file, or an estimator, got {model!r}")
        return model
    name = os.fspath(model)
    return uniform(pool) if name == "uniform" else estimator_of(pool, name)


def transferred(model: Model, scale: Scale) -> Model:
    """A joint model for another scale than that of its training data.

    The mean is that of loutput where it is published for the scale, else the scale's usual one. Trend, components and
    their variation between collections are in standard deviations of a grade, so they carry over unchanged.
    """
    name = f"loutput-{scale.name}"
    mean = load_model(name) if name in model_names() else usual_model(scale)
    source = f"{mean.source}; components, trend, and how they vary between collections: {model.source}"
    return replace(
        mean,
        name=model.name,
        source=source,
        components=model.components,
        trend=model.trend,
        between=model.between,
        training=model.training,
    )
