"""Studies of people: lists to show them, the page on which they answer, and satisfaction from their answers."""

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from audiosim.cli import options
from audiosim.collection.values import SCALES
from audiosim.measures.measure import as_measure
from audiosim.people.answers import read_answers
from audiosim.people.preferences import MAJORITY, noticeable_differences, preferences
from audiosim.report.evaluate import examples_view, satisfaction_view, study_view

app = typer.Typer(
    help="Study which of two lists people prefer: choose the lists, show them, collect the answers.\n\n"
    "Example: `audiosim study sample my-demo --judgments my-demo/truth.qrels --measure Q@5 -o answers.tsv`",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


LOG = Annotated[
    Path, typer.Option("--log", metavar="FILE", help="File to which each answer is added at once.", show_default=False)
]


@app.callback()
def study() -> None:
    """Study which of two lists people prefer: choose the lists, show them, collect the answers.

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
            help="Scale of the grades to use, if ANSWERS has several: "
            f"{', '.join(SCALES)}; or an artificial one made of fine grades, graded-N or binary-M.",
            show_default=False,
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(
            "--prior",
            metavar="COLLECTION",
            help="A judged collection: shows how often two systems differ enough for --agreeing of the users to "
            "agree which is better. May be repeated.",
        ),
    ] = None,
    prior_scale: Annotated[
        str | None,
        typer.Option(
            metavar="graded-N|binary-M",
            help="Artificial scale for the judgments of --prior, if it differs from that of the answers. Default: "
            "that of --scale.",
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
    past = [options.CollectionOptions(scale=artificial).load(folder) for folder in prior or ()]
    found = {measure: preferences(read, as_measure(measure)) for measure in measures}
    noticed = {measure: noticeable_differences(one, past, agreeing).to_dict() for measure, one in found.items() if past}
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
    """Choose pairs of lists to show people, from judged documents, so that they cover all differences in score.

    FILE has an empty column `answer`: fill it and run `audiosim satisfaction FILE`. Differences in score are listed if
    no two lists can have them, or if too few were found.

    Example: `audiosim study sample my-demo --judgments my-demo/truth.qrels --scale graded-4 -o answers.tsv`
    """
    from audiosim.people.examples import sample_study as choose_examples

    collection = options.CollectionOptions(judgments, system_from, same_artist, partial=partial).load(folder)
    found = choose_examples(collection, output, measures, scales or (), wanted, cutoff, seed=seed)
    options.print_result(form, found.to_dict(), found.rows(), lambda: examples_view(found, output))


@app.command("serve")
def serve_study(
    folder: options.CollectionFolder,
    examples: Annotated[
        Path, typer.Argument(metavar="EXAMPLES", help="File of `audiosim study sample`.", show_default=False)
    ],
    log: LOG,
    traps: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Examples with a known answer in the column `answer`, which detect careless people.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="Largest number of answers per person, without traps.", min=1)] = 100,
    opinions: Annotated[int, typer.Option(help="Answers that each example needs.", min=1)] = 1,
    trap_share: Annotated[
        float, typer.Option(help="Share of traps among the examples after the first four.", min=0, max=0.99)
    ] = 0.2,
    trust: Annotated[float, typer.Option(help="Share of traps that a person must get right.", min=0, max=1)] = 0.7,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of people who may take part, one name or code per line; each gets a link with their own after "
            "?worker=.",
            show_default=False,
        ),
    ] = None,
    completion_code: Annotated[
        str, typer.Option(metavar="TEXT", help="Code shown to people who are done, for their platform.")
    ] = "",
    sounds: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="A further folder whose recordings may be played.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Without --people everyone who can open it can take part.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any.", min=0, max=65535)] = 8000,
    seed: options.Seed = 0,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page on which people compare two lists of results, and keep their answers.

    Examples come in random order, each list on either side. People begin with four traps and meet more on the way;
    a person who gets too many wrong is turned away, and others answer in their place. A log of the same study is
    continued. A crowdsourcing platform names the person in the address: `?worker=ID`, or as Prolific and Mechanical
    Turk write it.

    Example: `audiosim study serve my-demo answers.tsv --traps traps.tsv --log study.jsonl`
    """
    from audiosim.people.study import StudyRules, read_invited
    from audiosim.people.study_log import read_study
    from audiosim.service.study_app import run_study

    invited = None if people is None else read_invited(people)
    study = read_study(examples, traps, StudyRules(limit, opinions, trap_share, trust, seed=seed))
    collection = options.CollectionOptions("none").load(folder)
    show = webbrowser.open if open_page else None
    run_study(collection, folder, study, log, sounds or (), completion_code, host, port, show, invited)


@app.command("answers")
def collect_answers(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Log of `audiosim study serve`.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="File for the answers that count.", show_default=False),
    ],
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Count only these people, one name or code per line, as for `audiosim study serve`.",
            show_default=False,
        ),
    ] = None,
    form: options.As = options.Format.table,
) -> None:
    """Write the answers of a study that count, for `audiosim satisfaction`, and list who gave them.

    Answers to traps are left out, and those of people who were turned away.

    Example: `audiosim study answers study.jsonl -o answers.tsv`
    """
    from audiosim.people.study_log import study_answers

    found = study_answers(log, output, people)
    options.print_result(form, found.to_dict(), found.rows(), lambda: study_view(found, output))
