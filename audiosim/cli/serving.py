"""Commands that set something going: the demo, the service."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from audiosim.cli.options import As, Format, JudgmentsFile, ModelName, print_result
from audiosim.corpus.collection import Collection
from audiosim.report.screen import console
from audiosim.report.views import demo_view


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to put the demo's files.")] = Path(
        "audiosim-demo"
    ),
    target: Annotated[float, typer.Option(help="Confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    form: As = Format.table,
) -> None:
    """The whole job on the sound that comes with audiosim, in half a minute.

    Sound files, an index, predictions, a judging campaign with a simulated listener, the ranking and how right it is.

    Example: `audiosim demo my-demo`
    """
    from audiosim.demo import run_demo

    shown = console(stderr=form is not Format.table, record=True)
    result = run_demo(folder, target, lambda step: shown.print(step, style="dim"))
    view = demo_view(result)
    shown.print(view)
    (folder / "report.html").write_text(shown.export_html(), encoding="utf-8")
    if form is not Format.table:
        print_result(form, result.to_dict(), result.ranking.system_rows(), lambda: view)


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

    collections = [with_log(Collection.load(folder, judgments), database) for folder in folders]
    run_server(create_app(collections, model), host, port)


def with_log(collection: Collection, database: str | None) -> Collection:
    """The collection with the judgments that its campaign's log adds."""
    if database is None:
        return collection
    from audiosim.campaign import DatabaseStore

    log = DatabaseStore(database, collection.identifier)
    return replace(collection, judgments=(*collection.judgments, *(judgment for _, judgment in log.read())))
