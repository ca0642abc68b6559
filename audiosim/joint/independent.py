"""Predictions from rows of features, by ordinal models; rows are independent, so any number can be read in portions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from audiosim.collection.evidence import FeatureRows, read_feature_rows
from audiosim.collection.pool import Pool
from audiosim.collection.values import SCALES, Scale
from audiosim.errors import InputError
from audiosim.joint.posterior import Belief, Fallbacks, evidence_of, fallbacks_of
from audiosim.joint.predictions import columns_of_values
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.features import FEATURES, Table, check_terms, needs_judgments
from audiosim.ordinal.model import Model, fallbacks, load_model, model_for_scale
from audiosim.stats.arrays import Array, Booleans, Integers
from audiosim.text import NOTES

PredictedColumns = dict[str, Array | Sequence[str | None]]


def predict_feature_file(path: Path, model: str, scale: Scale | None, size: int) -> Iterator[PredictedColumns]:
    """Predictions of the rows of a file of features, in portions of columns; see `read_feature_rows`.

    model  name or file of an ordinal model, whose fallbacks predict rows with an unknown feature
    scale  scale if the name leaves it out
    size   rows of a portion

    The columns are those of `prediction_columns`; query and document only if the file has them. After the last row the
    logger `audiosim.notes` says how many rows a fallback predicted, and why.
    """
    first = load_model(model) if scale is None else model_for_scale(model, scale)
    if first.components is not None:
        raise InputError(
            f"model {first.name} predicts all pairs of a collection together; expected one that predicts row by row, "
            "such as mout-fine"
        )
    models = (first, *fallbacks(first))
    wanted = list(dict.fromkeys(name for one in models for name in one.features))
    counts, fallen = np.zeros(len(models), dtype=np.int64), Fallbacks((), ())
    for rows in read_feature_rows(path, wanted, size):
        try:
            belief = _predicted(models, rows)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        counts, fallen = counts + np.bincount(belief.model, minlength=len(models)), fallbacks_of(belief)
        yield {**rows.words, **columns_of_values(belief, np.arange(rows.count))}
    for note in fallen.in_words(counts, "rows"):
        NOTES.info("%s", note)


def _predicted(models: Sequence[Model], rows: FeatureRows) -> Belief:
    """Belief about rows; a fallback's feature that the file lacks is unknown."""
    count, first = rows.count, models[0]
    unknown = np.full(count, np.nan)
    given = {name: rows.numbers.get(name, unknown) for one in models[1:] for name in one.features} | rows.numbers
    probabilities, model = np.empty((count, len(first.levels))), np.zeros(count, dtype=np.int64)

    def by(one: Model, some: Integers) -> Array:
        table = rows.numbers if one is first else given
        return row_probabilities(one, {name: column[some] for name, column in table.items()}, len(some), rows.first)

    fill_by_first(models, by, np.arange(count), probabilities, model)
    if (left := np.isnan(probabilities[:, 0])).any():
        row, last = rows.first + int(np.argmax(left)), models[-1]
        raise InputError(f"row {row}: a feature of model {last.name} is unknown, and it names no fallback")
    levels, names = np.array(first.levels), tuple(one.name for one in models)
    highest = SCALES[first.scale].maximum if first.scale in SCALES else levels[-1]
    evidence = tuple(evidence_of(FEATURES[name] for name in one.features) for one in models)
    return Belief.independent(levels, probabilities, np.full(count, np.nan), highest, names, model, evidence, model)


def fill_by_first(
    models: Sequence[Model],
    probabilities_by: Callable[[Model, Integers], Array],
    rows: Integers,
    probabilities: Array,
    model: Integers,
) -> None:
    """Write the probabilities of some rows by the first model that knows all its features there.

    probabilities_by  (k, l) probabilities of k rows by a model, NaN where a feature is unknown
    probabilities     (n, l) written to
    model             (n,) index of the model, written to
    """
    for code, one in enumerate(models):
        rows = rows if not code else rows[np.isnan(probabilities[rows, 0])]
        probabilities[rows] = probabilities_by(one, rows)
        model[rows] = code


def row_probabilities(model: Model, table: Mapping[str, Array], count: int, first: int = 0) -> Array:
    """(count, l) P(level) of rows of features; NaN where a feature of the model is unknown.

    first  number of the first row, for messages
    """
    with np.errstate(over="ignore", invalid="ignore"):
        probabilities = model.probabilities(table, count)
    unknown = np.isnan(probabilities[:, 0])
    if unknown.any():
        _check_overflow(unknown & ~np.isnan([table[name] for name in model.features]).any(axis=0), first)
    return probabilities


def _check_overflow(overflown: Booleans, first: int) -> None:
    if np.any(overflown):
        raise InputError(f"the features of row {first + int(np.argmax(overflown))} are too large to multiply")


# Estimator by ordinal models, with independent pairs.


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
