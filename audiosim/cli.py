"""The command: one function per verb; reads files, makes one library call, prints."""

import csv
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from audiosim import report
from audiosim.corpus.collection import Collection
from audiosim.corpus.pool import Pool, build_pool
from audiosim.errors import AudiosimError, InputError
from audiosim.measures.expected import estimate as estimate_ranking
from audiosim.measures.measure import parse_measure
from audiosim.plugins import make_estimator
from audiosim.relevance.estimators import RelevanceEstimator, default_model
from audiosim.selection import Selection
from audiosim.simulate import replay

if TYPE_CHECKING:
    from rich.console import RenderableType

app = typer.Typer(
    name="audiosim",
    help="Rank music-similarity systems honestly from as few human judgments as will do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode="markdown",
)


class Format(StrEnum):
    """How a command prints what it found."""

    table = "table"
    json = "json"
    csv = "csv"


CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="mout, mjud, loutput, ljudge, historical, uniform, a model file or remote:URL. "
        "Not given: mjud, or uniform where mjud is not published for the scale.",
    ),
]
MeasureName = Annotated[str, typer.Option("--measure", help="CG@K or DCG@K.")]
JudgmentsFile = Annotated[
    str | None, typer.Option("--judgments", metavar="FILE|none", help="Judgments to use instead of the folder's.")
]
As = Annotated[Format, typer.Option("--format", help="table for people, json or csv for programs.")]


def main() -> None:
    """Run the command; what is wrong with the input is one line on stderr and exit code 1."""
    try:
        app()
    except AudiosimError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if error.filename is None:
            raise
        _fail(f"{error.filename}: {error.strerror}")


def _fail(message: str, code: int = 1) -> None:
    sys.stderr.write(f"audiosim: {message}\n")
    sys.exit(code)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to put the demo's files.")] = Path(
        "audiosim-demo"
    ),
    target: Annotated[float, typer.Option(help="Confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    form: As = Format.table,
) -> None:
    """The whole job on the sound that comes with audiosim, in half a minute.

    Sound files, an index, predictions, a judging campaign with a simulated listener, the ranking and how right it is.

    Example: `audiosim demo /tmp/demo`
    """
    from audiosim.demo import run_demo

    shown = report.console(stderr=form is not Format.table, record=True)
    result = run_demo(folder, target, lambda step: shown.print(step, style="dim"))
    view = report.demo_view(result)
    shown.print(view)
    (folder / "report.html").write_text(shown.export_html(), encoding="utf-8")
    if form is not Format.table:
        _print(form, result.to_dict(), result.ranking.system_rows(), lambda: view)


@app.command()
def extract(
    sounds: Annotated[
        list[Path],
        typer.Argument(metavar="SOUND...", help="Sound files, folders, or a documents.tsv.", show_default=False),
    ],
    index: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="INDEX",
            help="Folder of the index; one that is there is continued.",
            show_default=False,
        ),
    ],
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", help="Worker processes; one per core if not given.", min=1)
    ] = None,
    form: As = Format.table,
) -> None:
    """Describe recordings by the Gaussian of their MFCC frames, and save that as an index.

    Files that are already in the index are passed over; bad files are listed and the rest is done.

    Example: `audiosim extract music/ -o sounds.index`
    """
    from audiosim.audio.index import extract as extract_sounds

    start = time.monotonic()
    with report.progress("extracting") as show:
        found = extract_sounds(
            sounds, jobs or -1, into=index, progress=lambda done, failed, total: show(done + failed, total)
        )
    for failure in found.failed:
        sys.stderr.write(f"audiosim: {failure.path}: {failure.error}\n")
    failed = [failure._asdict() for failure in found.failed]
    result = {"done": len(found.ids), "failed": failed, "seconds": round(time.monotonic() - start, 3)}
    _print(form, result, failed, lambda: report.extraction_view(result, index))
    if not found.ids:
        raise InputError("no file could be described")


@app.command()
def neighbours(
    index: Annotated[
        Path, typer.Argument(metavar="INDEX", help="Folder that `audiosim extract` wrote.", show_default=False)
    ],
    count: Annotated[int, typer.Option("-k", help="How many neighbours of each query.", min=1)] = 5,
    system: Annotated[str, typer.Option(help="Name of the system in the run.")] = "nearest",
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="queries.tsv; not given: every recording is a query.")
    ] = None,
    not_same_artist: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="documents.tsv: leave out recordings by the query's artist."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write the TREC run; not given: to the screen."),
    ] = None,
    form: As = Format.table,
) -> None:
    """The nearest recordings of each query by sound, as a TREC run: a baseline system.

    Nearest by the symmetrised Kullback-Leibler divergence; json and csv give it in nats, table the run.

    Example: `audiosim neighbours sounds.index -k 5 --system KL --not-same-artist documents.tsv -o runs/KL.trec`
    """
    from audiosim.audio.index import AudioIndex, nearest_run
    from audiosim.corpus.formats import read_documents, read_queries, run_lines, write_run

    recordings = AudioIndex.load(index)
    artists = (
        {name: document.artist for name, document in read_documents(not_same_artist).items()}
        if not_same_artist
        else None
    )
    asked = read_queries(queries) if queries else dict(zip(recordings.ids, recordings.ids, strict=True))
    if output is not None:
        write_run(output, [nearest_run(recordings, system, asked, count, artists)])
    elif form is Format.table:
        sys.stdout.writelines(
            f"{line}\n" for line in run_lines([nearest_run(recordings, system, asked, count, artists)])
        )
    else:
        near = recordings.neighbours(dict.fromkeys(asked.values()), count, artists)
        rows = [
            {"query": query, "document": other.identifier, "rank": rank, "divergence": other.divergence}
            for query, document in asked.items()
            for rank, other in enumerate(near[document], start=1)
        ]
        _print(form, rows, rows, lambda: report.rows_view(rows))


@app.command()
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
    collection, pool, estimator = _open(folder, model, judgments, cutoff)
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
    _print(form, rows, rows, lambda: report.rows_view(best, left_out=["probabilities"]))


@app.command()
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
    collection, _, estimator = _open(folder, model, judgments, what.cutoff)
    ranking = estimate_ranking(collection, estimator, what)
    _print(form, ranking.to_dict(), ranking.system_rows(), lambda: report.ranking_view(ranking))


@app.command(name="next")
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
    collection, pool, estimator = _open(folder, model, judgments, what.cutoff)
    selection = Selection.start(pool, what, estimator, collection.judgments)
    asked = selection.ask(count)
    weights = selection.weights[selection.pool.locate(asked)].tolist()
    rows = [pair._asdict() | {"weight": weight} for pair, weight in zip(asked, weights, strict=True)]
    _print(form, rows, rows, lambda: report.rows_view(rows))


@app.command()
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
    collection, pool, estimator = _open(folder, model, judgments, what.cutoff)
    selection, truth = Selection.start(pool, what, estimator, batch=batch), pool.spread(collection.grades())
    with report.progress("judging") as show:
        result = replay(selection, truth, target, lambda moment: show(moment.judged, len(truth))).to_dict()
    _print(form, result, result["curve"], lambda: report.replay_view(result))


@app.command()
def serve(
    folders: Annotated[
        list[Path], typer.Argument(metavar="COLLECTION...", help="Folders of the collections.", show_default=False)
    ],
    model: ModelName = None,
    judgments: JudgmentsFile = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="URL",
            help="Database with the campaigns' logs, such as sqlite:///campaign.db; their judgments count too.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
) -> None:
    """Serve predictions over HTTP; the routes are at /docs and /openapi.json.

    Example: `audiosim serve mirex2011 --port 8000`, then in another process
    `audiosim simulate mirex2011 --model remote:http://127.0.0.1:8000`
    """
    from service.app import create_app, run_server

    collections = [_judged(Collection.load(folder, judgments), database) for folder in folders]
    run_server(create_app(collections, model), host, port)


def _judged(collection: Collection, database: str | None) -> Collection:
    """The collection with the judgments that its campaign's log adds."""
    if database is None:
        return collection
    from audiosim.campaign import DatabaseStore

    log = DatabaseStore(database, collection.identifier)
    return replace(collection, judgments=(*collection.judgments, *(judgment for _, judgment in log.read())))


def _open(
    folder: Path, model: str | None, judgments: str | None, cutoff: int | None
) -> tuple[Collection, Pool, RelevanceEstimator]:
    """A collection, its pool, and the estimator for it; what was guessed is said on stderr."""
    collection = Collection.load(folder, judgments=judgments)
    for guess in collection.guesses:
        sys.stderr.write(f"note: {guess}\n")
    pool = build_pool(collection, cutoff)
    return collection, pool, make_estimator(pool, model or default_model(collection.scale))


def _print(form: Format, value: Any, rows: Sequence[Mapping[str, Any]], view: Callable[[], "RenderableType"]) -> None:
    """Print a result in the form asked for.

    value  for json
    rows   for csv
    view   for people
    """
    if form is Format.table:
        report.console().print(view())
    elif form is Format.json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
