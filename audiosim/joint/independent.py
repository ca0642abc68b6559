"""Predictions from rows of features, by ordinal models; rows are independent, so any number can be read in portions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from audiosim.collection.evidence import FeatureRows, read_feature_rows
from audiosim.collection.pool import Pool
from audiosim.collection.values import SCALES, Scale
from audiosim.errors import InputError, of_argument, placed
from audiosim.joint.posterior import Belief, Fallbacks, evidence_of, fallbacks_of
from audiosim.joint.predictions import columns_of_values
from audiosim.ordinal.feature import Feature
from audiosim.ordinal.features import FEATURES, check_terms
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
    with of_argument("model"):
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
        with placed(path):
            belief = _predicted(models, rows)
        counts, fallen = counts + np.bincount(belief.model, minlength=len(models)), fallbacks_of(belief)
        yield {**rows.words, **columns_of_values(belief, np.arange(rows.count))}
    for note in fallen.in_words(counts, "rows"):
        NOTES.info("%s", note)


def _predicted(models: Sequence[Model], rows: FeatureRows) -> Belief:
    """Belief about rows; a fallback's feature that the file lacks is unknown."""
    count, first = rows.count, models[0]
    unknown = np.full(count, np.nan)
    given = {name: rows.numbers.get(name, unknown) for one in models[1:] for name in one.features} | rows.numbers

    def by(one: Model, some: Integers) -> Array:
        table = rows.numbers if one is first else given
        return row_probabilities(one, {name: column[some] for name, column in table.items()}, len(some), rows.first)

    probabilities, model = by_first(models, by, count)
    if (left := np.isnan(probabilities[:, 0])).any():
        row, last = rows.first + int(np.argmax(left)), models[-1]
        raise InputError(f"row {row}: a feature of model {last.name} is unknown, and it names no fallback")
    levels, names = np.array(first.levels), tuple(one.name for one in models)
    highest = SCALES[first.scale].maximum if first.scale in SCALES else levels[-1]
    evidence = tuple(evidence_of(FEATURES[name] for name in one.features) for one in models)
    return Belief.independent(levels, probabilities, np.full(count, np.nan), highest, names, model, evidence, model)


def by_first(
    models: Sequence[Model], probabilities_by: Callable[[Model, Integers], Array], count: int
) -> tuple[Array, Integers]:
    """(n, l) probabilities of rows by the first model that knows all its features there, and the (n,) index of it.

    probabilities_by  (k, l) probabilities of k rows by a model, NaN where a feature is unknown
    """
    rows, model = np.arange(count), np.zeros(count, dtype=np.int64)
    probabilities = np.empty((count, len(models[0].levels)))
    for code, one in enumerate(models):
        probabilities[rows], model[rows] = probabilities_by(one, rows), code
        rows = rows[np.isnan(probabilities[rows, 0])]
    return probabilities, model


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


class OrdinalEstimator:
    """Ordinal models in order of preference: the first with all features known predicts a pair.

    The last model must not need any feature, so that every pair is predicted. Threads may share an estimator: it
    remembers only its prediction without judgments.
    """

    def __init__(self, pool: Pool, models: tuple[Model, ...], features: Mapping[str, Feature] = FEATURES) -> None:
        """An estimator for one pool.

        features  features by name; may include some that are not audiosim's own
        """
        if len({model.levels for model in models}) > 1:
            raise InputError(f"models {', '.join(model.name for model in models)} differ in their levels")
        if models[-1].terms:
            raise InputError(f"model {models[-1].name} needs features that may be unknown, and names no fallback")
        self._pool, self._models = pool, models
        names = list(dict.fromkeys(name for model in models for name in model.features))
        check_terms(names, features)
        self._learned = {name: features[name] for name in names if features[name].reads != "nothing"}
        self._columns = {name: features[name].values(pool) for name in names if name not in self._learned}
        self._evidence = tuple(evidence_of(features[name] for name in model.features) for model in models)
        self._first = self._predict(np.full(len(pool.pairs), np.nan))

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
        return self._predict(grades) if self._learned else self._first.revise(grades)

    def _predict(self, grades: Array) -> Belief:
        pool, models = self._pool, self._models
        table = self._columns | {name: one.values(pool, grades) for name, one in self._learned.items()}

        def by(model: Model, rows: Integers) -> Array:
            return model.probabilities({name: table[name][rows] for name in model.features}, len(rows))

        probabilities, model = by_first(models, by, len(grades))
        probabilities.flags.writeable = model.flags.writeable = False
        levels, names = np.array(models[0].levels), tuple(one.name for one in models)
        evidence = self._evidence, model
        return Belief.independent(levels, probabilities, grades, pool.scale.maximum, names, model, *evidence)
