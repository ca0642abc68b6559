"""The estimator of correlated grades: an ordinal model, and a multivariate normal of the deviations from it.

    grade_i = mu_i + s_i / s (a + b standing_i) + s_i (sum of effects of the pair i)

The effects are normal, of the sizes that the model has; mu_i and s_i are expectation and standard deviation of the
ordinal model's grade, which reads no judgment, and s is the mean of the s_i. Effects that pairs share correlate their
grades; see `layout_of`. The trend, a and b, is there because whole systems differ more than the features of single
documents tell: those expected to do well do better still; see `standing`. It is as uncertain as its covariance says.
Judgments condition it, exactly.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.table import needs_judgments
from audiosim.relevance.belief import Belief
from audiosim.relevance.ordinal_estimator import OrdinalEstimator
from audiosim.relevance.published import Model, Trend
from audiosim.relevance.random_effects import SOUND, layout_of, standing
from audiosim.stats.layout import Layout

VARIETY = 0.2  # standard deviation of the logarithm of a size over collections
SMALL = 0.03  # size at which a component is taken up again that the model has none of
LEAST = 1e-3  # standard deviation, as a share of the scale, that no pair falls below


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known of the pairs of a pool before anything is judged, but for the sizes of the components.

    ordinal  belief by the ordinal models
    layout   of the components; constant and standing are its trend
    mean     (n,) expected grade as a share of the highest
    """

    ordinal: Belief
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
        ordinal = OrdinalEstimator(pool, models).predict(np.full(len(pool.pairs), np.nan))
        scale, mean = np.maximum(LEAST, np.sqrt(ordinal.prior.variance)), ordinal.prior.mean
        # Without the scale the trend and large effects of systems could together stand for a term in the scale itself.
        trend = (
            np.column_stack([np.ones(len(mean)), standing(pool, mean)]) * (scale / scale[pool.found].mean())[:, None]
        )
        return cls(ordinal, replace(layout_of(pool, scale, sound), trend=trend), mean)

    def belief(self, sizes: Mapping[str, float], trend: Trend) -> Belief:
        """Belief before anything is judged.

        sizes  standard deviations of the components
        """
        columns = self.layout.fixed
        mean = self.mean + columns @ [trend.constant, trend.standing]
        gains = self.layout.normal(sizes, mean).with_effects(columns, np.array(trend.covariance))
        return replace(self.ordinal, prior=gains)


class JointEstimator:
    """A joint model for one pool; it never changes, so threads may share it."""

    def __init__(self, pool: Pool, models: tuple[Model, ...]) -> None:
        """An estimator for one pool.

        models  in order of preference, as of `OrdinalEstimator`; the first has components
        """
        components, trend = models[0].components, models[0].trend
        if components is None or trend is None:
            raise InputError(f"model {models[0].name} has no components: train it with --features joint")
        self._model, self._components, self._trend = models[0], components, trend
        self._prior = Prior.of(pool, models, SOUND in components)
        self._begin({name: size for name, (size, _) in components.items()})

    def _begin(self, sizes: Mapping[str, float]) -> None:
        self.sizes = sizes
        self._start = self._prior.belief(sizes, self._trend)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def version(self) -> str:
        """The version of the model."""
        return self._model.version

    def predict(self, grades: Array) -> Belief:
        return self._start.revise(grades)

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
        off = grades[places] / self._start.maximum - self._start.prior.mean[places]
        found = estimate_components([layout.part(places)], [off], centre, spread)
        other = copy(self)
        other._begin(found.sizes)
        return other
