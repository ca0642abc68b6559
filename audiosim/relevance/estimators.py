"""What says how relevant an unjudged pair is likely to be: the Protocol, and ordinal models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.model import Pair, Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.feature import Feature
from audiosim.features.registry import FEATURES
from audiosim.features.table import Table, check_terms, needs_judgments
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


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The table of features of one state of the judgments, and what is predicted from it."""

    table: Table
    prediction: Prediction


class OrdinalEstimator:
    """Ordinal models in order of preference: each pair is left to the first whose features are all known.

    The last model must need no feature, so that no pair is left over. The estimator remembers its last
    prediction and computes only the rows that the judgments changed since then touch; the answer does
    not depend on what it was asked before, and threads may share it.
    """

    def __init__(self, pool: Pool, models: tuple[Model, ...], features: Mapping[str, Feature] = FEATURES) -> None:
        """An estimator for one pool.

        features  by name; more than audiosim's own where a program brings others
        """
        if len({model.levels for model in models}) > 1:
            raise InputError(f"models {', '.join(model.name for model in models)} differ in their levels")
        if models[-1].terms:
            raise InputError(f"model {models[-1].name} needs features that may be unknown, and names no fallback")
        self._models = models
        names = list(dict.fromkeys(name for model in models for name in model.features))
        check_terms(names, features)
        table = Table.of(pool, np.full(len(pool.pairs), np.nan), [features[name] for name in names])
        self._fixed = {
            model.name: model.probabilities(table.columns, len(pool.pairs))
            for model in models
            if not needs_judgments(model.features, features)
        }
        shape = (len(pool.pairs), len(models[0].levels))
        self._last = _State(table, self._predict(table, np.empty(shape), np.empty(shape[0], dtype=np.int64)))

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def version(self) -> str:
        """The version of the preferred model."""
        return self._models[0].version

    def predict(self, grades: Array) -> Prediction:
        last = self._last  # read once and replaced in one step: other threads see a whole state
        table = last.table.after(grades)
        if len(table.computed) == 0:
            return last.prediction
        before = last.prediction
        state = _State(table, self._predict(table, before.probabilities.copy(), before.model.copy()))
        self._last = state
        return state.prediction

    def _predict(self, table: Table, probabilities: Array, model: Integers) -> Prediction:
        """The prediction from a table, in arrays of its own that hold all but the rows which the table computed."""
        rows = table.computed
        probabilities[rows] = self._probabilities(self._models[0], table, rows)
        model[rows] = 0
        for code, fallback in enumerate(self._models[1:], start=1):
            rows = rows[np.isnan(probabilities[rows, 0])]
            probabilities[rows] = self._probabilities(fallback, table, rows)
            model[rows] = code
        probabilities.flags.writeable = model.flags.writeable = False
        return Prediction(np.array(self._models[0].levels), probabilities, tuple(m.name for m in self._models), model)

    def _probabilities(self, model: Model, table: Table, rows: Integers) -> Array:
        if model.name in self._fixed:
            return self._fixed[model.name][rows]
        return model.probabilities({name: table.columns[name][rows] for name in model.features}, len(rows))


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


@dataclass(frozen=True, eq=False)
class Relevance:
    """What is known of the relevance of a pool's pairs: of a judged one its grade, of any other a prediction.

    prediction  of the n pairs
    grades      (n,) NaN where unjudged
    maximum     the highest grade of the scale
    """

    prediction: Prediction
    grades: Array
    maximum: float

    @cached_property
    def judged(self) -> Booleans:
        """(n,) whether the pair is judged."""
        return ~np.isnan(self.grades)

    @cached_property
    def gains(self) -> Moments:
        """Mean and variance of each pair's linear gain: grade over the highest grade; judged pairs are certain."""
        mean = np.where(self.judged, self.grades, self.prediction.expectation) / self.maximum
        return Moments(mean, np.where(self.judged, 0, self.prediction.variance) / self.maximum**2)

    def gains_as(self, gain: Callable[[Array], Array]) -> Moments:
        """The same of another gain, as a share of that of the highest grade, through the level probabilities.

        gain  grades (...,) -> gains (...,), rising with the grade
        """
        highest = gain(np.array(self.maximum))
        values, known = gain(self.prediction.levels) / highest, gain(self.grades) / highest
        probabilities = self.prediction.probabilities
        mean = np.where(self.judged, known, expectation(probabilities, values))
        return Moments(mean, np.where(self.judged, 0, variance(probabilities, values)))

    def know(self, index: int, grade: float) -> "Relevance":
        """The same after one pair was judged, before anything is predicted anew; NaN takes a judgment back."""
        grades = self.grades.copy()
        grades[index] = grade
        return replace(self, grades=grades)


def relevance(pool: Pool, estimator: RelevanceEstimator, grades: Array) -> Relevance:
    """What an estimator makes of the judgments so far.

    grades  (n,) NaN where unjudged
    """
    return Relevance(estimator.predict(grades), grades, pool.scale.maximum)
