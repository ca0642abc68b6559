"""The estimator that knows how judgments hang together: an ordinal model, and a Gaussian field on top of it.

    grade_i = mu_i + s_i (sum of effects of the pair i),   effects normal, of the sizes that the model has

mu_i and s_i being expectation and standard deviation of the ordinal model's grade, which reads no judgment. Effects
that pairs share make their grades go together; see `layout_of`. Judgments condition the field, exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.table import needs_judgments
from audiosim.relevance.layout import SOUND, layout_of
from audiosim.relevance.ordinal import OrdinalEstimator
from audiosim.relevance.prediction import JointPrediction, Prediction
from audiosim.relevance.published import Model
from audiosim.stats.components import Layout

FEW = 8  # judgments that are cheaper to learn one by one than all at once
LEAST = 1e-3  # standard deviation, as a share of the scale, that no pair falls below


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known of the pairs of a pool before anything is judged, but for the sizes of the components.

    prediction  of the ordinal models
    layout      of the components
    mean        (n,) expected grade as a share of the highest
    """

    prediction: Prediction
    layout: Layout
    mean: Array

    @classmethod
    def of(cls, pool: Pool, models: tuple[Model, ...], sound: bool) -> "Prior":
        """The prior of some models, in order of preference as of `OrdinalEstimator`.

        sound  whether recordings that sound alike have something in common
        """
        readers = [name for model in models for name in model.features if needs_judgments([name])]
        if readers:
            raise InputError(f"a joint model reads the judgments itself: {readers[0]} must not be among its features")
        prediction = OrdinalEstimator(pool, models).predict(np.full(len(pool.pairs), np.nan))
        scale = np.maximum(LEAST, np.sqrt(prediction.variance) / pool.scale.maximum)
        return cls(prediction, layout_of(pool, scale, sound), prediction.expectation / pool.scale.maximum)

    def start(self, sizes: Mapping[str, float], maximum: float) -> JointPrediction:
        """What is predicted before anything is judged.

        sizes    of the components
        maximum  the highest grade
        """
        field = self.layout.field(sizes, self.mean)
        return JointPrediction(self.prediction, field, field, np.full(len(self.mean), np.nan), maximum)


class JointEstimator:
    """A joint model for one pool.

    The estimator remembers its last prediction and goes on from there where a few judgments were added; up to
    rounding the answer does not depend on what it was asked before, and threads may share it.
    """

    def __init__(self, pool: Pool, models: tuple[Model, ...]) -> None:
        """An estimator for one pool.

        models  in order of preference, as of `OrdinalEstimator`; the first has components
        """
        components = models[0].components
        if components is None:
            raise InputError(f"model {models[0].name} has no components: train it with --features joint")
        self._model = models[0]
        self._prior = Prior.of(pool, models, SOUND in components)
        sizes = {name: size for name, (size, _) in components.items()}
        self._start = self._last = self._prior.start(sizes, pool.scale.maximum)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def version(self) -> str:
        """The version of the model."""
        return self._model.version

    def predict(self, grades: Array) -> JointPrediction:
        last = self._last  # read once and replaced in one step: other threads see a whole prediction
        if not np.array_equal(last.grades, grades, equal_nan=True):
            self._last = last = self._after(last, grades)
        return last

    def _after(self, last: JointPrediction, grades: Array) -> JointPrediction:
        added = np.flatnonzero(~np.isnan(grades) & np.isnan(last.grades))
        held = np.flatnonzero(~np.isnan(last.grades))
        if len(added) > FEW or not np.array_equal(last.grades[held], grades[held]):
            places = np.flatnonzero(~np.isnan(grades))
            field = self._start.field.know_all(places, grades[places] / last.maximum)
            return replace(self._start, field=field, grades=grades.copy())
        for place in added.tolist():
            last = last.know(place, float(grades[place]))
        return last
