"""What says how relevant an unjudged pair is likely to be: the Protocol, and the estimators that come with us."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import FINE, Scale
from audiosim.corpus.pool import Pool
from audiosim.relevance.belief import Belief
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.ordinal_estimator import OrdinalEstimator
from audiosim.relevance.published import Model, Trend, fallbacks, load_model, model_for_scale, model_names
from audiosim.stats.ordinal import thresholds_of

JOINT = "joint"  # the model where none is named
VAGUE = 0.2  # standard deviation, as a share of the scale, of how high the grades of an unknown scale are


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


def estimator_of(pool: Pool, name: str | Model) -> OrdinalEstimator | JointEstimator:
    """The estimator of a model, which may be named or in a file, followed by the fallbacks that the files name.

    A joint one where the model has components. `joint` is there for any scale; see `transferred`.
    """
    anew = name == JOINT and f"{JOINT}-{pool.scale.name}" not in model_names()
    model = transferred(pool.scale) if anew else model_for_scale(name, pool.scale)
    kind = OrdinalEstimator if model.components is None else JointEstimator
    return kind(pool, (model, *fallbacks(model)))


def uniform(pool: Pool, _: str = "") -> OrdinalEstimator:
    """Every grade of the scale equally likely; Urbano (2013), section 7.2.1."""
    return OrdinalEstimator(pool, (uniform_model(pool.scale),))


def uniform_model(scale: Scale) -> Model:
    """The model without features under which every grade of a scale is equally likely."""
    count = len(scale.levels)
    return Model(
        name="uniform",
        scale=scale.name,
        levels=scale.levels,
        terms=(),
        coefficients=(),
        thresholds=tuple(thresholds_of(np.full(count, 1 / count)).tolist()),
        fallback=None,
        source="Urbano (2013), section 7.2.1",
    )


def built_in(pool: Pool, model: str | RelevanceEstimator | None) -> RelevanceEstimator:
    """The estimator of a model that comes with audiosim, or of a model file; an estimator stays what it is.

    model  "uniform", a name in models/ with or without its scale, a .json file, an estimator for this
           pool, or None for `joint`
    """
    model = JOINT if model is None else model
    if not isinstance(model, str):
        return model
    return uniform(pool) if model == "uniform" else estimator_of(pool, model)


def transferred(scale: Scale) -> Model:
    """The joint model of a scale that none was learned on.

    The mean is that of loutput where it is published for the scale, else every grade is equally likely. The sizes of
    the components, which are shares of the deviation of a pair's grade, and what standing counts are those of the Fine
    scale; how high the grades are on the whole is all but unknown.
    """
    fine, names = load_model(f"{JOINT}-{FINE.name}"), model_names()
    mean = load_model(f"loutput-{scale.name}") if f"loutput-{scale.name}" in names else uniform_model(scale)
    trend = fine.trend and replace(fine.trend, constant=0.0, covariance=_vague(fine.trend))
    source = f"{mean.source}; components and standing: {fine.source}"
    return replace(mean, name=f"{JOINT}-{scale.name}", components=fine.components, trend=trend, source=source)


def _vague(trend: Trend) -> tuple[tuple[float, float], tuple[float, float]]:
    return (VAGUE**2, 0.0), (0.0, trend.covariance[1][1])
