"""Estimator by ordinal models, with independent pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from audiosim.arrays import Array, Integers
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.features.feature import Feature
from audiosim.features.registry import FEATURES
from audiosim.features.table import Table, check_terms, needs_judgments
from audiosim.relevance.belief import Belief
from audiosim.relevance.feature_rows import fill_by_first
from audiosim.relevance.model_files import Model
from audiosim.relevance.pair_evidence import evidence_of


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The table of features for one state of the judgments, and the resulting belief."""

    table: Table
    belief: Belief


class OrdinalEstimator:
    """Ordinal models in order of preference: the first with all features known predicts a pair.

    The last model must not need any feature, so that every pair is predicted. The estimator remembers its prediction
    without judgments and its last one, and recomputes only rows affected by later judgments; its answers do not depend
    on earlier requests, and threads may share it.
    """

    def __init__(self, pool: Pool, models: tuple[Model, ...], features: Mapping[str, Feature] = FEATURES) -> None:
        """An estimator for one pool.

        features  features by name; may include some that are not audiosim's own
        """
        if len({model.levels for model in models}) > 1:
            raise InputError(f"models {', '.join(model.name for model in models)} differ in their levels")
        if models[-1].terms:
            raise InputError(f"model {models[-1].name} needs features that may be unknown, and names no fallback")
        self._models, self._maximum = models, pool.scale.maximum
        names = list(dict.fromkeys(name for model in models for name in model.features))
        check_terms(names, features)
        nothing = np.full(len(pool.pairs), np.nan)
        table = Table.of(pool, nothing, [features[name] for name in names])
        self._fixed = {
            model.name: model.probabilities(table.columns, len(pool.pairs))
            for model in models
            if not needs_judgments(model.features, features)
        }
        self._evidence = tuple(evidence_of(features[name] for name in model.features) for model in models)
        shape = (len(pool.pairs), len(models[0].levels))
        self._first = self._predict(table, nothing, np.empty(shape), np.empty(shape[0], dtype=np.int64))
        self._last = _State(table, self._first)

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def version(self) -> str:
        """The version of the preferred model."""
        return self._models[0].version

    def predict(self, grades: Array) -> Belief:
        if np.isnan(grades).all():  # asked by every check of the model, between two states of a campaign
            return self._first
        last = self._last  # read once and replaced in one step: other threads see a whole state
        table, before = last.table.after(grades), last.belief
        if len(table.computed) == 0:
            return before.revise(grades)
        belief = self._predict(table, grades, before.marginals.copy(), before.model.copy())
        self._last = _State(table, belief)
        return belief

    def _predict(self, table: Table, grades: Array, probabilities: Array, model: Integers) -> Belief:
        """The belief from a table; copies the recomputed rows of the table into new arrays."""
        fill_by_first(self._models, partial(self._probabilities, table), table.computed, probabilities, model)
        probabilities.flags.writeable = model.flags.writeable = False
        names = tuple(model.name for model in self._models)
        levels = np.array(self._models[0].levels)
        evidence = self._evidence, model
        return Belief.independent(levels, probabilities, grades, self._maximum, names, model, *evidence)

    def _probabilities(self, table: Table, model: Model, rows: Integers) -> Array:
        if model.name in self._fixed:
            return self._fixed[model.name][rows]
        return model.probabilities({name: table.columns[name][rows] for name in model.features}, len(rows))
