"""The command that trains a model."""

import sys
from collections.abc import Sequence
from datetime import date as day
from pathlib import Path
from typing import Annotated

import typer

from audiosim.cli.options import (
    As,
    Format,
    Jobs,
    JudgmentsFile,
    NamedBy,
    Partial,
    Scheduler,
    check_scheduler,
    print_result,
    say_read,
)
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import SystemFrom
from audiosim.errors import InputError
from audiosim.ordinal.model import save_model
from audiosim.report.train import training_view
from audiosim.results.progress import progress
from audiosim.results.value import need
from audiosim.tables.text import check_output_file, write_text
from audiosim.training.plan import Plan, is_joint, parse_shares, parse_terms
from audiosim.training.train import train as train_model

JudgedShares = Annotated[
    str | None,
    typer.Option(
        metavar="SHARES",
        help="Also validate with these shares of each held-out query judged, at random: 0.05,0.1,0.2. Default with "
        "joint: 0.1.",
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed for --judged and for halves of the queries.", min=0)]
Significance = Annotated[
    float | None,
    typer.Option(metavar="LEVEL", help="Drop terms that are not significant at this level, such as .05."),
]


def train(
    folders: Annotated[
        list[Path], typer.Argument(metavar="COLLECTION...", help="Folders of the collections.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="MODEL.json", help="File for the model.", show_default=False),
    ],
    features: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="output, teams, judgment or audio, or features and products of features: fSYS,fGEN,fSYS:fGEN. With "
            "joint among them the model also learns the correlation of judgments; joint alone uses teams.",
        ),
    ] = "output",
    scale: Annotated[
        str | None,
        typer.Option(help="fine, broad, binary, or levels such as 0-3 or 0,1,5. Default: the collections' own."),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Number of folds of queries for cross-validation; 0 for none.", min=0)
    ] = 10,
    judged: JudgedShares = None,
    seed: Seed = 0,
    eliminate: Significance = None,
    fallback: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model for pairs with an unknown feature. Default: historical, or the shares of the levels.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the model. Default: the file's.")] = None,
    date: Annotated[
        str | None, typer.Option(metavar="DATE", help="Date to write into the file, such as 2011-10-24.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="REPORT.html", help="File for the report as a page with plots.")
    ] = None,
    judgments: JudgmentsFile = None,
    system_from: NamedBy = None,
    partial: Partial = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    form: As = Format.table,
) -> None:
    """Fit a model to the judgments of one or more collections, and validate it on held-out queries.

    For a joint model it also reports the variance components, and the coverage of intervals of query and system means.
    The model file works wherever a command takes --model.

    Example: `audiosim train my-demo --judgments my-demo/truth.qrels --features output --folds 6 -o mine.json`
    """
    check_scheduler(scheduler, jobs)
    if report is not None:
        need("plots", "--report")
    if output.suffix != ".json":
        raise InputError(f"{output}: the name of a model file must end in .json")
    for path in (output, *([] if report is None else [report])):
        check_output_file(path)
    shares = () if judged is None else parse_shares(judged)
    terms, joint = parse_terms(features), is_joint(features)
    plan = Plan(terms, name or output.stem, folds, eliminate, fallback, date, shares, seed, joint)
    collections = _open_judged(folders, judgments, scale, system_from, partial)
    with progress("validating") as show:
        trained = train_model(collections, plan, _say, show, jobs or 1, scheduler)
    if report is not None:
        from audiosim.report.rendering import written_on
        from audiosim.report.train import training_page

        write_text(report, training_page(trained, written_on(day.today())).splitlines())
    save_model(trained.model, output)
    print_result(form, trained.to_dict(), trained.rows(), lambda: training_view(trained))


def _say(sentence: str) -> None:
    sys.stderr.write(f"note: {sentence}\n")


def _open_judged(
    folders: Sequence[Path], judgments: str | None, scale: str | None, system_from: SystemFrom | None, partial: bool
) -> list[Collection]:
    collections = [
        Collection.load(folder, judgments, scale=scale, system_from=system_from, partial=partial) for folder in folders
    ]
    for collection in collections:
        say_read(collection)
    return collections
