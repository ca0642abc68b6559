"""Estimators of how relevant an unjudged pair is likely to be: the Protocol, and those that come with us."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

from audiosim.arrays import Array
from audiosim.corpus.model import FINE, Scale
from audiosim.corpus.pool import Pool
from audiosim.relevance.belief import Belief
from audiosim.relevance.evidence_kind import EvidenceKind
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.ordinal_estimator import OrdinalEstimator
from audiosim.relevance.published import (
    Model,
    fallbacks,
    load_model,
    model_for_scale,
    model_names,
    uniform_model,
    usual_model,
)

JOINT = "joint"  # the model where none is named


class RelevanceEstimator(Protocol):
    """Says how relevant the pairs of one pool are likely to be, given the judgments made so far.

    Entry-point group `audiosim.estimators`: each entry is a function that takes a Pool and the text
    after the colon of `--model NAME:TEXT`, and returns an estimator for that pool. Contract:
    `audiosim.plugins.check_estimator`.
    """

    @property
    def name(self) -> str: ...

    def predict(self, grades: Array) -> Belief:
        """Belief about the pairs of the pool, in its order; the same answer for the same grades.

        grades  (n,) the judgments made so far, NaN where unjudged; a pair's own grade must not be used for it

        `Belief.independent` makes one whose pairs say nothing of each other; where they do, hand over a prior that is
        correlated. The belief does the conditioning.
        """
        ...


EstimatorFactory = Callable[[Pool, str], RelevanceEstimator]


def estimator_of(
    pool: Pool, name: str | Model, kinds: Collection[EvidenceKind] | None = None
) -> OrdinalEstimator | JointEstimator:
    """The estimator of a model, which may be named or in a file, followed by the fallbacks that the files name.

    kinds  of evidence that a joint one takes into account; all that are known where None

    A joint one where the model has components. One that knows how collections vary is there for any scale, as `joint`
    is; see `transferred`.
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


def built_in(pool: Pool, model: str | RelevanceEstimator | None) -> RelevanceEstimator:
    """The estimator of a model that comes with audiosim, or of a model file; an estimator stays what it is.

    model  "uniform", a name in models/ with or without its scale, a .json file, an estimator for this
           pool, or None for `joint`
    """
    model = JOINT if model is None else model
    if not isinstance(model, str):
        return model
    return uniform(pool) if model == "uniform" else estimator_of(pool, model)


def transferred(model: Model, scale: Scale) -> Model:
    """A joint model for another scale than it was learned on.

    The mean is that of loutput where it is published for the scale, else the usual one. Trend, components and how
    these vary between collections are in standard deviations of a grade, and go with it.
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
