"""What says how relevant an unjudged pair is likely to be: the Protocol, and the estimators that come with us."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from audiosim.arrays import Array, Booleans
from audiosim.corpus.model import FINE, Scale
from audiosim.corpus.pool import Pool
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.ordinal_estimator import OrdinalEstimator
from audiosim.relevance.prediction import FREEDOM, JointPrediction, Prediction
from audiosim.relevance.published import (
    Model,
    fallbacks,
    load_model,
    model_for_scale,
    model_names,
    uniform_model,
    usual_model,
)
from audiosim.stats.field import Field
from audiosim.stats.moments import Moments
from audiosim.stats.ordinal import expectation, variance

JOINT = "joint"  # the model where none is named


class RelevanceEstimator(Protocol):
    """Says how relevant the pairs of one pool are likely to be, given the judgments made so far.

    Entry-point group `audiosim.estimators`: each entry is a function that takes a Pool and the text
    after the colon of `--model NAME:TEXT`, and returns an estimator for that pool. Contract:
    `audiosim.plugins.check_estimator`.
    """

    @property
    def name(self) -> str: ...

    def predict(self, grades: Array) -> Prediction | JointPrediction:
        """P(level) of each pair of the pool, in its order; the same answer for the same grades.

        grades  (n,) the judgments made so far, NaN where unjudged; a pair's own grade must not be used for it
        """
        ...


EstimatorFactory = Callable[[Pool, str], RelevanceEstimator]


def estimator_of(pool: Pool, name: str | Model) -> OrdinalEstimator | JointEstimator:
    """The estimator of a model, which may be named or in a file, followed by the fallbacks that the files name.

    A joint one where the model has components. One that knows how collections vary is there for any scale, as `joint`
    is; see `transferred`.
    """
    model = _for_scale(name, pool.scale)
    kind = OrdinalEstimator if model.components is None else JointEstimator
    return kind(pool, (model, *fallbacks(model)))


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
    )


@dataclass(frozen=True, eq=False)
class Relevance:
    """What is known of the relevance of a pool's pairs: of a judged one its grade, of any other a prediction.

    prediction  of the n pairs
    grades      (n,) NaN where unjudged
    maximum     the highest grade of the scale
    """

    prediction: Prediction | JointPrediction
    grades: Array
    maximum: float

    @cached_property
    def judged(self) -> Booleans:
        """(n,) whether the pair is judged."""
        return ~np.isnan(self.grades)

    @property
    def joint(self) -> bool:
        """Whether it is known how the pairs hang together."""
        return self.prediction.field is not None

    @cached_property
    def gains(self) -> Moments | Field:
        """Each pair's linear gain: grade over the highest grade; judged pairs are certain.

        Mean and variance, or a field where the prediction knows how pairs hang together.
        """
        if self.prediction.field is not None:
            return self.prediction.field
        mean = np.where(self.judged, self.grades, self.prediction.expectation) / self.maximum
        return Moments(mean, np.where(self.judged, 0, self.prediction.variance) / self.maximum**2)

    def gains_as(self, gain: Callable[[Array], Array]) -> Moments | Field:
        """The same of another gain, as a share of that of the highest grade, through the level probabilities.

        gain  grades (...,) -> gains (...,), rising with the grade

        In a field each pair's gain moves with its grade, in proportion to their standard deviations, those of the
        level probabilities' heavier tails taken back.
        """
        highest = gain(np.array(self.maximum))
        values, known = gain(self.prediction.levels) / highest, gain(self.grades) / highest
        probabilities = self.prediction.probabilities
        mean = np.where(self.judged, known, expectation(probabilities, values))
        spread = np.where(self.judged, 0, variance(probabilities, values))
        field = self.prediction.field
        if field is None:
            return Moments(mean, spread)
        certain, spread = field.variance == 0, spread * (FREEDOM - 2) / FREEDOM
        return field.scaled(mean, np.where(certain, 0, np.sqrt(spread / np.where(certain, 1, field.variance))))

    def know(self, index: int, grade: float) -> "Relevance":
        """The same after one pair was judged, before anything is predicted anew; NaN takes a judgment back.

        What the judgment says of other pairs is known at once where the prediction is joint; not so what taking back
        or changing a judgment does.
        """
        grades = self.grades.copy()
        grades[index] = grade
        new = np.isnan(self.grades[index]) and not np.isnan(grade)
        return replace(self, grades=grades, prediction=self.prediction.know(index, grade) if new else self.prediction)

    def certain(self, grades: Array) -> "Relevance":
        """The same if every pair had been judged.

        grades  (n,)
        """
        return replace(self, grades=grades, prediction=self.prediction.apart())


def relevance(pool: Pool, estimator: RelevanceEstimator, grades: Array) -> Relevance:
    """What an estimator makes of the judgments so far.

    grades  (n,) NaN where unjudged
    """
    return Relevance(estimator.predict(grades), grades, pool.scale.maximum)
