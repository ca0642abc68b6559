"""Predictions on the screen and in files: tables, columns in portions, and completed judgments."""

import csv
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from audiosim.collection.arguments import as_collection
from audiosim.collection.check import deep_in_words
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_pairs
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Pair, parse_scale
from audiosim.collection.written import qrels_lines
from audiosim.errors import FormatError, InputError, of_argument
from audiosim.joint.estimators import NameOrFile, taught
from audiosim.joint.independent import predict_feature_file
from audiosim.joint.posterior import Belief
from audiosim.joint.predictions import Known, Predictions, completed_judgments, drawn_completions, prediction_columns
from audiosim.ranking import Selection
from audiosim.ranking.nearest_completion import nearest_completion
from audiosim.ranking.verbs import PoolPredictions, judged_so_far, predict_by, predict_pairs
from audiosim.report.rank import rows_view
from audiosim.stats.arrays import Array
from audiosim.stats.threads import one_thread
from audiosim.tables.arrays import write_parquet
from audiosim.tables.text import check_new_folder, check_output_file, write_text, write_texts
from audiosim.text import NOTES
from audiosim.workers import Workers

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_FILES = 1000
ROW_GROUP = 100_000  # rows per row group of a Parquet file
LINES_AT_ONCE = 10_000  # lines of csv
Portions = Iterator[Mapping[str, Array | Sequence[str | None]]]


def predict_to(
    collection: object,
    model: NameOrFile | None = None,
    *,
    cutoff: Annotated[int, Ge(1)] | None = None,
    pairs: Path | None = None,
    draws: Annotated[int, Ge(1), Le(MOST_FILES)] | None = None,
    output: Path | None = None,
    seed: int = 0,
    scheduler: str | None = None,
    form: Literal["table", "json", "csv", "parquet", "qrels"] = "table",
) -> Predictions | None:
    """Predict the relevance of every unjudged pair: expectation, variance and the probability of each level, and gain.

    `expectation` and `variance` are of the pair's grade, and `gain` is the expectation as a share of the highest grade:
    gains add up to the scores of `estimate`. The probabilities are of a single grade. Their mean is the expectation, if
    each level counts as the mean of the grades that were judged in it, which lies within the level.

    In the form qrels unjudged pairs get whole grades, drawn such that the scores are near the stated ones. Of several
    draws, each file is one possible outcome: the scores' mean over the files is the stated one, for ratios such as nDCG
    within the .01 or so by which that is approximated, and their spread its uncertainty.

    On a cluster one worker predicts the whole pool, because one model has all its pairs. Workers share given pairs.

    cutoff  depth of the pool. Default: the collection's cutoff
    pairs   predict the pairs in this file, a query and a document per line, instead of the unjudged pairs; no system
            needs to have retrieved them
    draws   for qrels in a folder: write so many files of all grades, those of unjudged pairs drawn
    output  file or folder for qrels or Parquet
    seed    seed of all random draws
    scheduler  address of a Dask cluster, such as tcp://10.0.0.1:8786
    form    table for people; json or csv; parquet with -o FILE: the columns of csv in row groups, for DuckDB, Polars or
            Spark; or qrels: whole grades of all pairs of the pool, given or drawn, with about the scores that estimate
            states, for trec_eval, ir_measures, pytrec_eval or ranx

    Examples: `audiosim predict demo --model mout --judgments none --format csv`

    `audiosim predict demo --format qrels --draws 20 -o completed`

    `audiosim predict demo --format parquet -o predicted.parquet`

    `audiosim predict demo --scheduler tcp://10.0.0.1:8786`
    """
    _check_written(form, draws, output, pairs, scheduler)
    collection = as_collection(collection)
    if scheduler is not None:
        return _written(_elsewhere(collection, cutoff, model, pairs, Workers(1, scheduler)), form, output)
    with one_thread():  # as on a cluster, so that all digits are the same
        pool = build_pool(collection, cutoff)
        if cutoff is not None and (deep := deep_in_words(collection, cutoff)):
            NOTES.info("%s", deep)
        estimator = taught(pool, model, collection.judgments)
        if pairs is not None:
            return _noted(predict_pairs(_known_pairs(pairs, collection), collection, pool, model))
        if form in ("table", "json"):
            return predict_by(estimator, collection, pool)
        state = judged_so_far(estimator, collection, pool)
        if form == "qrels":
            _write_qrels(pool, _completed(state.stated_belief, pool, draws, seed), draws, output)
        else:
            _write_portions(output, lambda rows: _portions(state, rows))
    return None


def predict_rows(features: Path, model: NameOrFile, *, scale: str | None = None, output: Path | None = None) -> None:
    """Predict the relevance of rows of features: expectation, variance and the probability of each level.

    The file has a column for each feature of the model, and a row for each document to predict. Columns query and
    document are copied if present. It may have any number of rows, since only a portion is in memory.

    features  .parquet, .csv or .tsv
    model     any model but joint, such as mout-fine, or a model file
    scale     scale of the model, if its name leaves it out
    output    file for Parquet; without it, csv is printed

    Examples: `audiosim predict-rows rows.csv mout-fine`

    `audiosim predict-rows rows.csv mout-fine -o predicted.parquet`
    """
    check_output_file(output)
    with of_argument("scale"):
        on_scale = None if scale is None else parse_scale(scale)
    _write_portions(output, lambda rows: predict_feature_file(features, os.fspath(model), on_scale, rows))


def predictions_view(found: Predictions) -> "RenderableType":
    """The first pairs, in the order of every format."""
    from rich.console import Group
    from rich.text import Text

    table = rows_view(found.pairs, left_out=["probabilities"])
    said = (
        "expectation, variance: of the pair's grade; gain: expectation as a share of the highest grade; evidence: what "
        "the model knows of the pair, output being the systems' results. Every format has the same order, that of the "
        "runs or of --pairs; --format json or csv has the probability of each level."
    )
    return Group(table, Text(said)) if found.pairs else table


def _check_written(
    form: str, draws: int | None, output: Path | None, pairs: Path | None, scheduler: str | None
) -> None:
    """Raise an error for options that do not go together, and for outputs that cannot be written."""
    if form == "parquet" and (draws is not None or output is None):
        raise InputError('`form="parquet"` writes one file: expected `output=FILE`, and no draws')
    if form not in ("qrels", "parquet") and (draws, output) != (None, None):
        raise InputError('`draws=COUNT` is for `form="qrels"`, `output=FILE` for `form="parquet"` too')
    if draws is not None and output is None:
        raise InputError("draws are several files: expected `output=FOLDER`")
    if form == "qrels" and scheduler is not None:
        raise InputError('`form="qrels"` needs the model on this machine: leave out the scheduler')
    if pairs is not None and form == "qrels":
        raise InputError('`form="qrels"` writes the pairs of the pool: leave out pairs')
    if pairs is not None and form == "parquet":
        raise InputError('`form="parquet"` writes the unjudged pairs of the pool: leave out pairs')
    if draws is not None and output is not None:
        check_new_folder(output)
    else:
        check_output_file(output)


def _known_pairs(path: Path, collection: Collection) -> tuple[Pair, ...]:
    """The pairs in a file; the collection must know each query and each document."""
    pairs, known = read_pairs(path), Known(collection)
    for pair, number in pairs.items():
        try:
            known.check(pair)
        except InputError as error:
            raise FormatError(path, number, str(error)) from None
    return tuple(pairs)


def _elsewhere(
    collection: Collection, cutoff: int | None, model: NameOrFile | None, pairs: Path | None, workers: Workers
) -> Predictions:
    """Predictions by the workers of a cluster."""
    if pairs is not None:
        pool, wanted = build_pool(collection, cutoff), _known_pairs(pairs, collection)
        return _noted(predict_pairs(wanted, collection, pool, model, workers))
    ((found, lacks),) = workers.each(PoolPredictions(collection, cutoff, model), 1)
    return _noted(found, lacks)


def _noted(found: Predictions, lacks: Sequence[str] = ()) -> Predictions:
    """The predictions, once their notes are said."""
    for line in (*lacks, *found.notes):
        NOTES.info("%s", line)
    return found


def _written(found: Predictions, form: str, output: Path | None) -> Predictions | None:
    """Predictions by a worker: written, or to be printed."""
    if form in ("table", "json"):
        return found
    _write_portions(output, found.portions)
    return None


def _portions(state: Selection, rows: int) -> Portions:
    """Columns of predictions in portions of unjudged pairs; one portion without rows if all are judged."""
    unjudged = np.flatnonzero(~state.belief.judged)
    for start in range(0, max(1, len(unjudged)), rows):
        some = unjudged[start : start + rows]
        yield prediction_columns(state.stated_belief, state.pool.pairs, some, state.widening)


def _write_portions(output: Path | None, portions: Callable[[int], Portions]) -> None:
    """Write columns to a Parquet file, or as csv to the screen, one portion in memory at a time."""
    if output is not None:
        write_parquet(output, portions(ROW_GROUP))
        return
    writer = csv.writer(sys.stdout)
    for number, columns in enumerate(portions(LINES_AT_ONCE)):
        if not number:
            writer.writerow(columns)
        values = (one.tolist() if isinstance(one, np.ndarray) else one for one in columns.values())
        writer.writerows(zip(*values, strict=True))


def _completed(belief: Belief, pool: Pool, draws: int | None, seed: int) -> Iterator[Array]:
    """(n,) grades of all pairs: those of the nearest draw, or several draws."""
    rng = np.random.default_rng(seed)
    if draws is None:
        return iter([nearest_completion(belief, pool, rng)])
    return drawn_completions(belief, pool.scale, draws, rng)


def _write_qrels(pool: Pool, grades: Iterator[Array], draws: int | None, output: Path | None) -> None:
    """Write the grades of all pairs to a file or the screen, or drawn grades to files in a folder."""
    lines = (qrels_lines(completed_judgments(pool.pairs, one)) for one in grades)
    if draws is not None and output is not None:
        output.mkdir(parents=True, exist_ok=True)
        width = len(str(draws))
        names = (output / f"draw-{number:0{width}}.qrels" for number in range(1, draws + 1))
        write_texts(dict(zip(names, lines, strict=True)))
    elif output is None:
        sys.stdout.writelines(f"{line}\n" for line in next(lines))
    else:
        write_text(output, next(lines))
