"""Commands that rank systems from few judgments: predict, estimate, ask for more, replay a campaign."""

from typing import Annotated

import numpy as np
import typer

from audiosim.cli.options import (
    As,
    CollectionFolder,
    Format,
    JudgmentsFile,
    MeasureName,
    ModelName,
    open_collection,
    print_result,
)
from audiosim.measures.expected import estimate_pool
from audiosim.measures.measure import parse_measure
from audiosim.report.screen import progress
from audiosim.report.views import ranking_view, replay_view, rows_view
from audiosim.selection import Selection
from audiosim.simulate import replay


def predict(
    folder: CollectionFolder,
    model: ModelName = None,
    judgments: JudgmentsFile = None,
    cutoff: Annotated[
        int | None, typer.Option(help="Depth of the pool; the collection's own if not given.", min=1)
    ] = None,
    form: As = Format.table,
) -> None:
    """How relevant every unjudged pair is likely to be: expectation, variance and the probability of each level.

    Example: `audiosim predict mirex2011 --model mout --judgments none --format csv`
    """
    collection, pool, estimator = open_collection(folder, model, judgments, cutoff)
    grades = pool.spread(collection.grades())
    prediction = estimator.predict(grades)
    rows = prediction.rows(pool.pairs, np.flatnonzero(np.isnan(grades)).tolist())
    if form is Format.csv:
        levels = [f"p{level:g}" for level in prediction.levels]
        rows = [
            {k: v for k, v in row.items() if k != "probabilities"}
            | dict(zip(levels, row["probabilities"], strict=True))
            for row in rows
        ]
    best = sorted(rows, key=lambda row: -row["expectation"])
    print_result(form, rows, rows, lambda: rows_view(best, left_out=["probabilities"]))


def estimate(
    folder: CollectionFolder,
    model: ModelName = None,
    measure: MeasureName = "CG@5",
    judgments: JudgmentsFile = None,
    form: As = Format.table,
) -> None:
    """Rank the systems from the judgments there are, few or none, and say how sure the ranking is.

    Example: `audiosim estimate mirex2011 --model mout --measure CG@5 --judgments none`
    """
    what = parse_measure(measure)
    collection, pool, estimator = open_collection(folder, model, judgments, what.cutoff)
    ranking = estimate_pool(pool, estimator, what, pool.spread(collection.grades()))
    print_result(form, ranking.to_dict(), ranking.system_rows(), lambda: ranking_view(ranking))


def next_pairs(
    folder: CollectionFolder,
    model: ModelName = None,
    measure: MeasureName = "CG@5",
    count: Annotated[int, typer.Option("-n", "--count", help="How many pairs.", min=1)] = 20,
    judgments: JudgmentsFile = None,
    form: As = Format.table,
) -> None:
    """Which pairs to judge next, the most informative first.

    The weight is the number of pairs of systems whose difference the judgment bears on.

    Example: `audiosim next mirex2011 -n 20 --judgments none`
    """
    what = parse_measure(measure)
    collection, pool, estimator = open_collection(folder, model, judgments, what.cutoff)
    selection = Selection.start(pool, what, estimator, collection.judgments)
    asked = selection.ask(count)
    weights = selection.weights[selection.pool.locate(asked)].tolist()
    rows = [pair._asdict() | {"weight": weight} for pair, weight in zip(asked, weights, strict=True)]
    print_result(form, rows, rows, lambda: rows_view(rows))


def simulate(
    folder: CollectionFolder,
    model: ModelName = None,
    measure: MeasureName = "CG@5",
    target: Annotated[float, typer.Option(help="Confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    batch: Annotated[int, typer.Option(help="Judgments between two predictions.", min=1)] = 20,
    judgments: JudgmentsFile = None,
    form: As = Format.table,
) -> None:
    """Replay a campaign against judgments that are known: how soon it would have stopped, and how right.

    Every pair of the pool must be judged.

    Example: `audiosim simulate mirex2011 --model mjud --target 0.95 --batch 1`
    """
    what = parse_measure(measure)
    collection, pool, estimator = open_collection(folder, model, judgments, what.cutoff)
    selection, truth = Selection.start(pool, what, estimator, batch=batch), pool.spread(collection.grades())
    with progress("judging") as show:
        result = replay(selection, truth, target, lambda moment: show(moment.judged, len(truth))).to_dict()
    print_result(form, result, result["curve"], lambda: replay_view(result))
