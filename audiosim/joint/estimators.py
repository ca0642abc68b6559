"""Learning from a campaign's own judgments, beyond conditioning on them.

Learning takes place at 25, 50, 100, 200, ... judged pairs, and at no other moment, so that results of a campaign can be
reproduced from the order of its judgments.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from audiosim.collection.pool import Pool
from audiosim.collection.values import FINE, Judgment, Pair, PairedComparison, Scale, mean_grades
from audiosim.errors import ArgumentError, InputError
from audiosim.joint.comparisons import Compared, ComparisonModel
from audiosim.joint.independent import OrdinalEstimator
from audiosim.joint.model import JointEstimator
from audiosim.joint.moments import last_moment
from audiosim.joint.people import Panel
from audiosim.joint.posterior import Belief, model_notes, what_lacks
from audiosim.joint.terms import EvidenceKind
from audiosim.ordinal.model import (
    Model,
    fallbacks,
    load_model,
    model_for_scale,
    model_names,
    uniform_model,
    usual_model,
)
from audiosim.plugins import ExtensionPoint, a_function
from audiosim.stats.arrays import Array
from audiosim.text import NOTES, choices

# Estimators of the relevance of unjudged pairs: the Protocol, and the built-in ones.


JOINT = "joint"  # the default model
NameOrFile = str | os.PathLike[str]  # a path is the path of a model file


class RelevanceEstimator(Protocol):
    """Predicts the relevance of the pairs of one pool, given the judgments made so far.

    Entry-point group `audiosim.estimators`: each entry is a function that takes a Pool and the text
    after the colon of `--model NAME:TEXT`, and returns an estimator for that pool. Contract:
    `audiosim.joint.contract.check_estimator`.
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


def _own() -> dict[str, EstimatorFactory]:
    """The models that come with audiosim, with and without their scale."""
    names = {"uniform", *(name for full in model_names() for name in (full.rpartition("-")[0], full))}
    return {name: partial(_shipped, name) for name in names}


def _shipped(name: str, pool: Pool, text: str) -> RelevanceEstimator:
    if text:
        raise ArgumentError("model", f"model {name} takes no text after a colon, got {text!r:.80}")
    return uniform(pool) if name == "uniform" else estimator_of(pool, name)


ESTIMATOR_POINT: ExtensionPoint[EstimatorFactory] = ExtensionPoint(
    "audiosim.estimators", "model", _own, a_function("a function of a pool and a text")
)


def make_estimator(pool: Pool, model: NameOrFile | RelevanceEstimator | None = None) -> RelevanceEstimator:
    """The estimator of a model for a pool: the only place where the name of a model is looked up.

    model  a name in models/ with or without its scale, "uniform", a .json file, an estimator of an installed package
           (NAME, or NAME:TEXT), an estimator for this pool, which is returned unchanged, or None for `joint`
    """
    model = JOINT if model is None else model
    if not isinstance(model, str | os.PathLike):
        if not hasattr(model, "predict"):
            raise InputError(f"expected a model's name or file, or an estimator, got {model!r}")
        return model
    name = os.fspath(model)
    if name.endswith(".json"):
        return estimator_of(pool, name)
    head, _, text = name.partition(":")
    if head not in _own() and head not in (names := ESTIMATOR_POINT.names()):
        known = sorted({*names} - {*model_names()})  # each once, without its scale
        raise ArgumentError("model", f"unknown model {name!r}, expected a .json file or one of {choices(name, known)}")
    return ESTIMATOR_POINT.find(head)(pool, text)


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


@runtime_checkable
class Relearning(Protocol):
    """An estimator that learns from a campaign's judgments, such as a joint model learning variance components."""

    def relearned(self, grades: Array) -> RelevanceEstimator:
        """The estimator that has learned from these judgments.

        grades  (n,) NaN where unjudged
        """
        ...


@runtime_checkable
class Resuming(Protocol):
    """An estimator with a learned state that can be stored, and restored without learning again."""

    @property
    def basis(self) -> object:
        """Everything except the grades that learning depends on: values, arrays, and dataclasses of them."""
        ...

    @property
    def learned(self) -> dict[str, Any]:
        """The last learned state, as plain values."""
        ...

    def resumed(self, grades: Array, learned: Mapping[str, Any]) -> RelevanceEstimator:
        """The estimator with this state, learned from these judgments; equal to the result of `relearned`.

        grades  (n,) NaN where unjudged
        """
        ...


@runtime_checkable
class Hearing(Protocol):
    """An estimator that can model individual judges."""

    def hearing(self, panel: Panel) -> RelevanceEstimator:
        """The estimator with the judges of its judgments, for requests about these people's grades."""
        ...


@runtime_checkable
class Following(Protocol):
    """An estimator that can take over the learned state of an estimator of another pool of the collection."""

    def following(self, learned: object) -> RelevanceEstimator | None:
        """The estimator with the other's learned state; None if their models differ."""
        ...


@runtime_checkable
class Comparing(Protocol):
    """An estimator that takes in comparisons, such as a joint model."""

    @property
    def comparisons(self) -> tuple[PairedComparison, ...]:
        """The comparisons known to the estimator."""
        ...

    def comparing(self, comparisons: tuple[PairedComparison, ...], learn: bool = False) -> RelevanceEstimator:
        """The estimator with these comparisons, and no others.

        learn  True to learn deviations from them, at their last moment of learning; False to keep those learned before
        """
        ...

    def comparison_model(self, compared: Compared) -> ComparisonModel:
        """Model of comparisons that people are asked for, with deviations as last learned."""
        ...


def comparing(
    estimator: RelevanceEstimator, comparisons: tuple[PairedComparison, ...], learn: bool = False
) -> RelevanceEstimator:
    """The estimator with these comparisons; estimators other than joint models ignore them.

    learn  True to learn from them at its moments of learning, as that of a campaign does
    """
    return estimator.comparing(comparisons, learn) if isinstance(estimator, Comparing) else estimator


def without_comparisons_of(estimator: RelevanceEstimator, assessor: str) -> tuple[RelevanceEstimator, int]:
    """The estimator that learned from all comparisons but one person's, and the number of that person's comparisons."""
    if not isinstance(estimator, Comparing):
        return estimator, 0
    left = tuple(one for one in estimator.comparisons if one.assessor != assessor)
    theirs = len(estimator.comparisons) - len(left)
    return (comparing(estimator, left, learn=True) if theirs else estimator), theirs


def relearned(estimator: RelevanceEstimator, grades: Array) -> RelevanceEstimator:
    """The estimator after learning from these judgments (n,), if it can learn."""
    return estimator.relearned(grades) if isinstance(estimator, Relearning) else estimator


def hearing(estimator: RelevanceEstimator, panel: Panel) -> RelevanceEstimator:
    """The estimator with the judges of its judgments, if it can model judges."""
    return estimator.hearing(panel) if isinstance(estimator, Hearing) else estimator


def following(estimator: RelevanceEstimator, learned: RelevanceEstimator) -> RelevanceEstimator | None:
    """The estimator with the state learned by one of another pool; None if it cannot take it over."""
    return estimator.following(learned) if isinstance(estimator, Following) else None


def learned_from(pool: Pool, judgments: Sequence[Judgment]) -> dict[Pair, float]:
    """The mean grades from which a campaign's estimator has learned: those known at its last moment of learning.

    judgments  in the order in which they were made; those outside the pool are left out, and a revised one counts where
               it was first made
    """
    first: dict[Pair, int] = {}
    inside = [*{(one.pair, one.assessor): one for one in judgments if one.pair in pool.positions}.values()]
    for place, one in enumerate(inside):
        first.setdefault(one.pair, place)
    moment = last_moment(len(first))
    return mean_grades(inside[: list(first.values())[moment - 1] + 1] if moment else ())


def taught(
    pool: Pool, model: NameOrFile | RelevanceEstimator | None, judgments: Sequence[Judgment]
) -> RelevanceEstimator:
    """The named estimator of a pool after these judgments, in the same steps as in a campaign.

    Says on the logger `audiosim.notes` what evidence it lacks, and how many pairs a fallback predicts.
    """
    estimator = after_judgments(pool, make_estimator(pool, model), judgments)
    if NOTES.isEnabledFor(logging.INFO):
        before, now = (estimator.predict(pool.spread(grades)) for grades in ({}, mean_grades(judgments)))
        for note in (*what_lacks(before, pool), *model_notes(now, pool)):
            NOTES.info("%s", note)
    return estimator


def after_judgments(pool: Pool, estimator: RelevanceEstimator, judgments: Sequence[Judgment]) -> RelevanceEstimator:
    """The estimator of a campaign after these judgments, including their judges."""
    return hearing(taught_by(pool, estimator, judgments), Panel.of(pool, judgments))


def taught_by(pool: Pool, estimator: RelevanceEstimator, judgments: Sequence[Judgment]) -> RelevanceEstimator:
    """The estimator of a campaign after these judgments, as it predicts mean grades."""
    first = learned_from(pool, judgments)
    return relearned(estimator, pool.spread(first)) if first else estimator
