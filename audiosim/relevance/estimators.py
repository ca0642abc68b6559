"""What says how relevant an unjudged pair is likely to be: the Protocol, and ordinal models."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.model import Pair, Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.table import JUDGMENT, columns
from audiosim.relevance.published import Model, load_model, model_for_scale, model_names
from audiosim.stats.moments import Moments
from audiosim.stats.ordinal import expectation, thresholds_of, variance


@dataclass(frozen=True, eq=False)
class Prediction:
    """P(level) of every pair of a pool.

    levels         (l,) grades, rising
    probabilities  (n, l) rows sum to 1
    models         names of the models that were used
    model          (n,) which of them spoke for each pair
    """

    levels: Array
    probabilities: Array
    models: tuple[str, ...]
    model: Integers

    @cached_property
    def expectation(self) -> Array:
        """(n,) expected grade."""
        return expectation(self.probabilities, self.levels)

    @cached_property
    def variance(self) -> Array:
        """(n,) variance of the grade."""
        return variance(self.probabilities, self.levels)

    def rows(self, pairs: Sequence[Pair], chosen: Iterable[int]) -> list[dict[str, Any]]:
        """One row per chosen pair: query, document, expectation, variance, probabilities, model.

        pairs   n, those of the pool
        chosen  places among them
        """
        keys = ("expectation", "variance", "probabilities")
        columns = (self.expectation.tolist(), self.variance.tolist(), self.probabilities.tolist())
        return [
            pairs[i]._asdict()
            | {key: column[i] for key, column in zip(keys, columns, strict=True)}
            | {"model": self.models[self.model[i]]}
            for i in chosen
        ]


class RelevanceEstimator(Protocol):
    """Says how relevant the pairs of one pool are likely to be, given the judgments made so far.

    Entry-point group `audiosim.estimators`: each entry is a function that takes a Pool and the text
    after the colon of `--model NAME:TEXT`, and returns an estimator for that pool. Contract:
    `audiosim.plugins.check_estimator`.
    """

    @property
    def name(self) -> str: ...

    def predict(self, grades: Array) -> Prediction:
        """P(level) of each pair of the pool, in its order; the same answer for the same grades.

        grades  (n,) the judgments made so far, NaN where unjudged; a pair's own grade must not be used for it
        """
        ...


EstimatorFactory = Callable[[Pool, str], RelevanceEstimator]


class OrdinalEstimator:
    """Ordinal models in order of preference: each pair is left to the first whose features are all known.

    The last model must need no feature, so that no pair is left over. Features of the systems'
    output are computed once, those of the judgments at each prediction.
    """

    def __init__(self, pool: Pool, models: tuple[Model, ...]) -> None:
        if len({model.levels for model in models}) > 1:
            raise InputError(f"models {', '.join(model.name for model in models)} differ in their levels")
        if models[-1].terms:
            raise InputError(f"model {models[-1].name} needs features that may be unknown, and names no fallback")
        self._pool, self._models = pool, models
        unjudged = np.full(len(pool.pairs), np.nan)
        self._output = columns(pool, unjudged, [name for name in self._features() if name not in JUDGMENT])
        self._fixed = {model.name: self._probabilities(model, self._output) for model in models if not _learns(model)}
        self._unmoved: Prediction | None = None
        if len(self._fixed) == len(models):
            self._unmoved = self.predict(unjudged)

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def version(self) -> str:
        """The version of the preferred model."""
        return self._models[0].version

    def predict(self, grades: Array) -> Prediction:
        if self._unmoved is not None:
            return self._unmoved
        table = self._output | columns(self._pool, grades, [name for name in self._features() if name in JUDGMENT])
        model = np.zeros(len(self._pool.pairs), dtype=np.int64)
        probabilities = self._model_probabilities(self._models[0], table)
        for code, fallback in enumerate(self._models[1:], start=1):
            unknown = np.isnan(probabilities[:, 0])
            probabilities = np.where(unknown[:, None], self._model_probabilities(fallback, table), probabilities)
            model[unknown] = code
        return Prediction(np.array(self._models[0].levels), probabilities, tuple(m.name for m in self._models), model)

    def _features(self) -> list[str]:
        return list(dict.fromkeys(name for model in self._models for name in model.features))

    def _model_probabilities(self, model: Model, table: dict[str, Array]) -> Array:
        return self._fixed[model.name] if model.name in self._fixed else self._probabilities(model, table)

    def _probabilities(self, model: Model, table: dict[str, Array]) -> Array:
        return model.probabilities(table, len(self._pool.pairs))


def _learns(model: Model) -> bool:
    return any(name in JUDGMENT for name in model.features)


def ordinal(pool: Pool, name: str) -> OrdinalEstimator:
    """The estimator of a model, by name or file, followed by the fallbacks that the files name."""
    models = [model_for_scale(name, pool.scale)]
    while models[-1].fallback is not None:
        models.append(load_model(models[-1].fallback))
    return OrdinalEstimator(pool, tuple(models))


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
           pool, or None for the default of the pool's scale
    """
    model = default_model(pool.scale) if model is None else model
    if not isinstance(model, str):
        return model
    return uniform(pool) if model == "uniform" else ordinal(pool, model)


def default_model(scale: Scale) -> str:
    """The model where none is named: mjud where it is published for the scale, uniform elsewhere."""
    return "mjud" if f"mjud-{scale.name}" in model_names() else "uniform"


def gains(pool: Pool, prediction: Prediction, grades: Array) -> Moments:
    """Mean and variance of the gain, grade over the scale's maximum, of each pair; judged pairs are certain.

    grades  (n,) NaN where unjudged
    """
    judged = ~np.isnan(grades)
    mean = np.where(judged, grades, prediction.expectation) / pool.scale.maximum
    return Moments(mean, np.where(judged, 0, prediction.variance) / pool.scale.maximum**2)
