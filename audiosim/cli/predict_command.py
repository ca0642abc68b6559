"""The command predict: probable relevance of unjudged pairs."""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from audiosim.cli import options
from audiosim.cli.flattened import flattened
from audiosim.cli.options import notes_shown
from audiosim.collection.collection import Collection
from audiosim.collection.evidence import is_feature_file
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import parse_scale
from audiosim.collection.written import qrels_lines
from audiosim.errors import InputError
from audiosim.joint.independent import predict_feature_file
from audiosim.joint.posterior import Belief
from audiosim.joint.predictions import Predictions, completed_judgments, drawn_completions, prediction_columns
from audiosim.ranking import Selection
from audiosim.ranking.nearest_completion import nearest_completion
from audiosim.ranking.verbs import PoolPredictions, judged_so_far, predict_by, predict_pairs
from audiosim.stats.arrays import Array
from audiosim.stats.threads import one_thread
from audiosim.tables.arrays import write_parquet
from audiosim.tables.text import write_text, write_texts
from audiosim.workers import Workers

MOST_FILES = 1000
ROW_GROUP = 100_000  # rows per row group of a Parquet file
LINES_AT_ONCE = 10_000  # lines of csv


@flattened
def predict(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="COLLECTION|FEATURES",
            help="The collection's folder; or a file of features, .parquet, .csv or .tsv, a row for each document to "
            "predict.",
            show_default=False,
        ),
    ],
    model: options.ModelName = None,
    cutoff: Annotated[
        int | None, typer.Option(help="Depth of the pool. Default: the collection's cutoff.", min=1)
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Predict the pairs in this file, a query and a document per line, instead of the unjudged pairs; "
            "no system needs to have retrieved them.",
        ),
    ] = None,
    *,
    reading: options.CollectionOptions,
    aspect: options.AspectName = None,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --format qrels and -o FOLDER: write N files of all grades, those of unjudged pairs drawn.",
            min=1,
            max=MOST_FILES,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE|FOLDER", help="Where to write qrels or Parquet.", show_default=False
        ),
    ] = None,
    seed: options.Seed = 0,
    scheduler: options.Scheduler = None,
    form: Annotated[
        options.PredictionFormat,
        typer.Option(
            "--format",
            help="table for people; json or csv; parquet with -o FILE: the columns of csv in row groups, for DuckDB, "
            "Polars or Spark; or qrels: whole grades of all pairs of the pool, given or drawn, with about the scores "
            "that estimate states, for trec_eval, ir_measures, pytrec_eval or ranx.",
        ),
    ] = options.PredictionFormat.table,
) -> None:
    """Predict the relevance of every unjudged pair: expectation, variance and the probability of each level, and gain.

    `expectation` and `variance` are of the pair's grade, and `gain` is the expectation as a share of the highest grade:
    gains add up to the scores of `estimate`. The probabilities are of a single grade, and have the same mean.

    With `--format qrels` unjudged pairs get whole grades, drawn such that the scores are near the stated ones. With
    `--draws`, each file is one possible outcome: the scores' mean over the files is the stated one, and their spread
    its uncertainty.

    Examples: `audiosim predict demo --model mout --judgments none --format csv`

    `audiosim predict demo --format qrels --draws 20 -o completed`

    `audiosim predict demo --format parquet -o predicted.parquet`

    `audiosim predict rows.csv --model mout-fine --format csv`

    A file of features has a column for each feature of the model. Any model will do except joint. Columns query and
    document are copied if present. The file may have any number of rows, since only a portion is in memory.

    On a cluster one worker predicts the whole pool, because one model has all its pairs. Workers share --pairs:
    `audiosim predict demo --scheduler tcp://10.0.0.1:8786`
    """
    _check_written(form, draws, output, pairs, scheduler)
    if is_feature_file(folder):
        _check_rows(
            judgments=reading.judgments, cutoff=cutoff, pairs=pairs, system_from=reading.system_from,
            same_artist=reading.same_artist, partial=reading.partial, aspect=aspect, scheduler=scheduler,
        )  # fmt: skip
        with notes_shown():
            _write_rows(folder, model, reading.scale, form, output)
        return
    if scheduler is not None:
        collection = reading.load(folder, aspect)
        _write_found(_elsewhere(collection, cutoff, model, pairs, scheduler), form, output)
        return
    with one_thread():  # as on a cluster, so that all digits are the same
        collection, pool, estimator = reading.open(folder, model, cutoff, aspect)
        if pairs is not None:
            wanted = options.known_pairs(pairs, collection)
            _print_found(_said(predict_pairs(wanted, collection, pool, model)), form)
        elif form is options.PredictionFormat.qrels:
            belief = judged_so_far(estimator, collection, pool).stated_belief
            _write_qrels(pool, _completed(belief, pool, draws, seed), draws, output)
        elif form is options.PredictionFormat.parquet and output is not None:
            write_parquet(output, _portions(judged_so_far(estimator, collection, pool), ROW_GROUP))
        elif form is options.PredictionFormat.csv:
            _write_csv(_portions(judged_so_far(estimator, collection, pool), LINES_AT_ONCE))
        else:
            _print_found(predict_by(estimator, collection, pool), form)


def _check_written(
    form: options.PredictionFormat,
    draws: int | None,
    output: Path | None,
    pairs: Path | None,
    scheduler: str | None,
) -> None:
    """Raise an error for options that do not go together."""
    forms = options.PredictionFormat
    if form is forms.parquet and (draws is not None or output is None):
        raise InputError("--format parquet writes one file: expected -o FILE, and no --draws")
    if form not in (forms.qrels, forms.parquet) and (draws, output) != (None, None):
        raise InputError("--draws and --output are for --format qrels")
    if draws is not None and output is None:
        raise InputError("--draws writes several files: expected -o FOLDER")
    if form is forms.qrels and scheduler is not None:
        raise InputError("--format qrels needs the model on this machine: leave out --scheduler")
    if pairs is not None and form is forms.qrels:
        raise InputError("--format qrels writes the pairs of the pool; leave out --pairs")
    if pairs is not None and form is forms.parquet:
        raise InputError("--format parquet writes the unjudged pairs of the pool; leave out --pairs")


def _check_rows(**of_collections: object) -> None:
    """Raise an error if any of these options, which are for collections, was given."""
    given = [name.replace("_", "-") for name, value in of_collections.items() if value not in (None, False)]
    if given:
        raise InputError(f"--{given[0]} is for collections: leave it out with a file of features")


def _write_rows(
    path: Path, model: str | None, scale: str | None, form: options.PredictionFormat, output: Path | None
) -> None:
    """Write predictions of the rows of a file of features, one portion in memory at a time."""
    if model is None:
        raise InputError("a file of features needs a model of such features: expected --model, such as mout-fine")
    with options.usage_of("--scale"):
        on_scale = None if scale is None else parse_scale(scale)
    if form is options.PredictionFormat.parquet and output is not None:
        write_parquet(output, predict_feature_file(path, model, on_scale, ROW_GROUP))
    elif form is options.PredictionFormat.csv:
        _write_csv(predict_feature_file(path, model, on_scale, LINES_AT_ONCE))
    else:
        raise InputError("predictions of rows of features are written with --format csv, or parquet with -o FILE")


def _elsewhere(
    collection: Collection, cutoff: int | None, model: str | None, pairs: Path | None, scheduler: str
) -> Predictions:
    """Predictions by the workers of a cluster."""
    workers = Workers(1, scheduler)
    if pairs is not None:
        wanted = options.known_pairs(pairs, collection)
        return _said(predict_pairs(wanted, collection, build_pool(collection, cutoff), model, workers))
    ((found, lacks),) = workers.each(PoolPredictions(collection, cutoff, model), 1)
    return _said(found, lacks)


def _said(found: Predictions, lacks: Sequence[str] = ()) -> Predictions:
    """The predictions, once their notes are printed on stderr."""
    sys.stderr.writelines(f"note: {line}\n" for line in (*lacks, *found.notes))
    return found


def _write_found(found: Predictions, form: options.PredictionFormat, output: Path | None) -> None:
    """Write predictions of the unjudged pairs in any of the formats but qrels."""
    if form is options.PredictionFormat.parquet and output is not None:
        write_parquet(output, found.portions(ROW_GROUP))
    elif form is options.PredictionFormat.csv:
        _write_csv(found.portions(LINES_AT_ONCE))
    else:
        _print_found(found, form)


def _print_found(found: Predictions, form: options.PredictionFormat) -> None:
    from audiosim.report.rank import rows_view

    best = sorted(found.pairs, key=lambda row: -row["expectation"])
    shown = options.Format(form.value)
    options.print_result(shown, found.to_dict(), found.rows(), lambda: rows_view(best, left_out=["probabilities"]))


def _portions(state: Selection, rows: int) -> Iterator[Mapping[str, Array | Sequence[str | None]]]:
    """Columns of predictions in portions of unjudged pairs; one portion without rows if all are judged."""
    unjudged = np.flatnonzero(~state.belief.judged)
    for start in range(0, max(1, len(unjudged)), rows):
        some = unjudged[start : start + rows]
        yield prediction_columns(state.stated_belief, state.pool.pairs, some, state.widening)


def _write_csv(portions: Iterator[Mapping[str, Array | Sequence[str | None]]]) -> None:
    """Write predictions to the screen, one portion in memory at a time."""
    writer = csv.writer(sys.stdout)
    for number, columns in enumerate(portions):
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
