"""Prepare a study of people, and estimate satisfaction from their answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from audiosim.cli import options
from audiosim.corpus.model import SCALES
from audiosim.plugins import find_measure
from audiosim.report.evaluation_views import examples_view, satisfaction_view
from audiosim.users.answers import read_answers
from audiosim.users.observed_differences import MAJORITY, noticed_differences
from audiosim.users.preferences import preferences

app = typer.Typer(
    help="Prepare a study of people: pairs of lists to show them, balanced over measures and scales.\n\n"
    "Example: `audiosim study sample my-demo --judgments my-demo/truth.qrels --measure Q@5 -o answers.tsv`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@app.callback()
def study() -> None:
    """Prepare a study of people: pairs of lists to show them, balanced over measures and scales.

    Example: `audiosim study sample my-demo --judgments my-demo/truth.qrels --measure CG@5 --measure Q@5 -o answers.tsv`
    """


def satisfaction(
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="Answers of people who compared two lists.", show_default=False)
    ],
    measures: options.Measures = ["CG@5"],  # noqa: B006, typer copies it
    scale: Annotated[
        str | None,
        typer.Option(
            help="Scale of the grades to take, where ANSWERS has those of several: "
            f"{', '.join(SCALES)}; or an artificial one made of fine grades, graded-N or binary-M.",
            show_default=False,
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            "--prior",
            metavar="COLLECTION",
            help="A judged collection: how often two systems differ by so much that --agreeing of the users agree "
            "which is better. Give it again for more.",
        ),
    ] = None,
    prior_scale: Annotated[
        str | None,
        typer.Option(
            metavar="graded-N|binary-M",
            help="Artificial scale that the judgments of --prior are read on, where the answers' is another; not "
            "given: that of --scale.",
            show_default=False,
        ),
    ] = None,
    agreeing: Annotated[
        float, typer.Option(help="With --prior: share of users who must agree.", min=0.01, max=1)
    ] = MAJORITY,
    form: options.As = options.Format.table,
) -> None:
    """Estimate the share of users that each score satisfies, from people's answers.

    ANSWERS has the columns answer (a, b, good, bad), query, A1 ..., B1 ... and the grades of the documents.

    Examples: `audiosim satisfaction answers.tsv --measure CG@5`

    `audiosim satisfaction answers.tsv --scale fine --prior mine` (a collection that is judged in full)
    """
    read = read_answers(answers, scale)
    artificial = prior_scale or (scale if scale and scale not in SCALES else None)
    past = [options.load_collection(folder, None, scale=artificial) for folder in prior or ()]
    found = {measure: preferences(read, find_measure(measure)) for measure in measures}
    noticed = {measure: noticed_differences(one, past, agreeing).to_dict() for measure, one in found.items() if past}
    rows: list[dict[str, Any]] = [
        {"measure": measure} | row for measure, one in found.items() for row in one.to_dict()["bins"]
    ]
    value = {measure: one.to_dict() | ({"prior": noticed[measure]} if past else {}) for measure, one in found.items()}
    options.print_result(form, value, rows, lambda: satisfaction_view(found, noticed))


@app.command("sample")
def sample_study(
    folder: options.CollectionFolder,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="File for people's answers.", show_default=False),
    ],
    measures: options.Measures = ["CG@5"],  # noqa: B006, typer copies it
    scales: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="graded-N|binary-M",
            help="Also balance every measure over this artificial scale, besides the collection's own.",
            show_default=False,
        ),
    ] = None,
    wanted: Annotated[int, typer.Option(help="Examples for each measure, scale and tenth of difference.", min=1)] = 200,
    cutoff: Annotated[int, typer.Option(help="Length of the lists.", min=1)] = 5,
    judgments: options.JudgmentsFile = None,
    seed: options.Seed = 0,
    same_artist: options.FromOwnArtist = None,
    system_from: options.NamedBy = None,
    partial: options.Partial = False,
    form: options.As = options.Format.table,
) -> None:
    """Choose pairs of lists to show people, from judged documents, so that all differences in score occur.

    FILE has an empty column `answer`: fill it and run `audiosim satisfaction FILE`. Differences in score that no two
    lists can have, or of which too few were found, are listed.

    Example: `audiosim study sample my-demo --judgments my-demo/truth.qrels --scale graded-4 -o answers.tsv`
    """
    from audiosim.file_functions import sample_study as choose_examples

    collection = options.load_collection(folder, judgments, system_from, same_artist, partial=partial)
    found = choose_examples(collection, output, measures, scales or (), wanted, cutoff, seed=seed)
    options.print_result(form, found.to_dict(), found.rows(), lambda: examples_view(found, output))
