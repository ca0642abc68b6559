"""The estimator that knows how judgments hang together: an ordinal model, and a Gaussian field on top of it.

    grade_i = mu_i + s_i / s (a + b standing_i) + s_i (sum of effects of the pair i)

The effects are normal, of the sizes that the model has; mu_i and s_i are expectation and standard deviation of the
ordinal model's grade, which reads no judgment, and s is the mean of the s_i. Effects that pairs share make their grades
go together; see `layout_of`. The trend, a and b, is there because whole systems differ more than the features of single
documents tell: those expected to do well do better still; see `standing`. It is as uncertain as its covariance says.
Judgments condition the field, exactly.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.table import needs_judgments
from audiosim.relevance.ordinal_estimator import OrdinalEstimator
from audiosim.relevance.prediction import JointPrediction, Prediction
from audiosim.relevance.published import Model, Trend
from audiosim.relevance.random_effects import SOUND, layout_of, standing
from audiosim.stats.layout import Layout

FEW = 8  # judgments that are cheaper to learn one by one than all at once
VARIETY = 0.2  # standard deviation of the logarithm of a size over collections
SMALL = 0.03  # size at which a component is taken up again that the model has none of
LEAST = 1e-3  # standard deviation, as a share of the scale, that no pair falls below


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known of the pairs of a pool before anything is judged, but for the sizes of the components.

    prediction  of the ordinal models
    layout      of the components; constant and standing are its trend
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
        mean = prediction.expectation / pool.scale.maximum
        # Without the scale the trend and large effects of systems could together stand for a term in the scale itself.
        trend = (
            np.column_stack([np.ones(len(mean)), standing(pool, mean)]) * (scale / scale[pool.found].mean())[:, None]
        )
        return cls(prediction, replace(layout_of(pool, scale, sound), trend=trend), mean)

    def start(self, sizes: Mapping[str, float], trend: Trend, maximum: float) -> JointPrediction:
        """What is predicted before anything is judged.

        sizes    of the components
        maximum  the highest grade
        """
        columns = self.layout.fixed
        mean = self.mean + columns @ [trend.constant, trend.standing]
        field = self.layout.field(sizes, mean).with_effects(columns, np.array(trend.covariance))
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
        components, trend = models[0].components, models[0].trend
        if components is None or trend is None:
            raise InputError(f"model {models[0].name} has no components: train it with --features joint")
        self._model, self._components, self._trend = models[0], components, trend
        self._prior = Prior.of(pool, models, SOUND in components)
        self._begin({name: size for name, (size, _) in components.items()}, pool.scale.maximum)

    def _begin(self, sizes: Mapping[str, float], maximum: float) -> None:
        self.sizes = sizes
        self._start = self._last = self._prior.start(sizes, self._trend, maximum)

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

    def relearned(self, grades: Array) -> "JointEstimator":
        """The estimator whose sizes are those of these judgments and of the model together; see `relearning`.

        grades  (n,) NaN where unjudged

        The model's sizes are the centre of a prior that is log-normal, its standard deviations those of the sizes'
        logarithms by the model's standard errors, and at least VARIETY, by which collections may differ.
        """
        from audiosim.stats.components import estimate_components  # costs start-up time that most uses need not pay

        layout, places = replace(self._prior.layout, trend=None), np.flatnonzero(~np.isnan(grades))
        centre = {name: max(size, SMALL) for name, (size, _) in self._components.items()}
        spread = {
            name: max(VARIETY, min(1.0, (error or np.inf) / centre[name]))
            for name, (_, error) in self._components.items()
        }
        off = grades[places] / self._start.maximum - self._start.start.mean[places]
        found = estimate_components([layout.part(places)], [off], centre, spread)
        other = copy(self)
        other._begin(found.sizes, self._start.maximum)
        return other

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
