"""Predictions from rows of features, by ordinal models; rows are independent, so any number can be read in portions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.feature_files import FeatureRows, read_feature_rows
from audiosim.corpus.model import SCALES, Scale
from audiosim.errors import InputError
from audiosim.features.registry import FEATURES
from audiosim.relevance.model_files import Model, fallbacks, load_model, model_for_scale
from audiosim.relevance.pair_evidence import evidence_of, in_words
from audiosim.stats.responses.ordinal import expectation, variance

PredictedColumns = dict[str, Array | Sequence[str | None]]


def predict_feature_file(path: Path, model: str, scale: Scale | None, size: int) -> Iterator[PredictedColumns]:
    """Predictions of the rows of a file of features, in portions of columns; see `read_feature_rows`.

    model  name or file of an ordinal model, whose fallbacks predict rows with an unknown feature
    scale  scale if the name leaves it out
    size   rows of a portion

    The columns are those of `prediction_columns`; query and document only if the file has them.
    """
    first = load_model(model) if scale is None else model_for_scale(model, scale)
    if first.components is not None:
        raise InputError(
            f"model {first.name} predicts all pairs of a collection together; expected one that predicts row by row, "
            "such as mout-fine"
        )
    models = (first, *fallbacks(first))
    wanted = list(dict.fromkeys(name for one in models for name in one.features))
    for rows in read_feature_rows(path, wanted, size):
        try:
            yield {**rows.words, **_predicted(models, rows)}
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


def _predicted(models: Sequence[Model], rows: FeatureRows) -> PredictedColumns:
    """Columns of predictions; a fallback's feature that the file lacks is unknown."""
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
    levels = np.array(first.levels)
    expected = expectation(probabilities, levels)
    highest = SCALES[first.scale].maximum if first.scale in SCALES else levels[-1]
    spoke = [in_words(evidence_of(FEATURES[name] for name in one.features)) for one in models]
    codes = model.tolist()
    return {
        "expectation": expected,
        "variance": variance(probabilities, levels),
        "gain": expected / highest,
        "model": [models[code].name for code in codes],
        "evidence": [spoke[code] for code in codes],
        **{f"p{level:g}": column for level, column in zip(first.levels, probabilities.T, strict=True)},
    }


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
