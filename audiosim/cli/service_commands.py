"""Commands that start the demo or the service."""

import webbrowser
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audiosim.cli import service_options as settings
from audiosim.cli.flattened import flattened
from audiosim.cli.options import As, Format, print_result
from audiosim.cli.service_settings import (
    HOME,
    AddressOptions,
    CampaignOptions,
    ReadingOptions,
    RunningOptions,
    StorageOptions,
    kept,
    parse_proxies,
)
from audiosim.report.rank import demo_view
from audiosim.report.screen import console
from audiosim.results.value import need

if TYPE_CHECKING:
    from fastapi import FastAPI

    from audiosim.simulation.demo import DemoResult


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder for the demo's files.")] = Path(
        "audiosim-demo"
    ),
    target: Annotated[float, typer.Option(help="Confidence at which judging stops.", min=0.5, max=1)] = 0.95,
    serve: Annotated[bool, typer.Option("--serve", help="Judge the pairs yourself, in a browser.")] = False,
    port: Annotated[int, typer.Option(help="Port of the pages.", min=1, max=65535)] = 8000,
    form: As = Format.table,
) -> None:
    """Run the whole job in half a minute, on the sound files that come with audiosim.

    It indexes the sound, predicts relevance, runs a judging campaign with a simulated listener, and reports how
    accurate the ranking is. With --serve you are the listener: judge in a browser and watch the ranking settle.

    Examples: `audiosim demo my-demo`

    `audiosim demo --serve`
    """
    from audiosim.simulation.demo import run_demo

    need("plots", "the demo")
    shown = console(stderr=form is not Format.table)
    if serve:
        _serve_demo(folder, port, lambda step: shown.print(step, style="dim"))
        return
    result = run_demo(folder, target, lambda step: shown.print(step, style="dim"))
    view = demo_view(result)
    shown.print(view)
    _write_report(result, folder)
    if form is not Format.table:
        print_result(form, result.to_dict(), result.ranking.rows(), lambda: view)


def _write_report(result: "DemoResult", folder: Path) -> None:
    from audiosim.collection.collection import Collection
    from audiosim.report.publication import page_alone
    from audiosim.report.record import record_of

    collection = Collection.load(folder, folder / "judgments.csv")
    curve = [(moment.judged, moment.confidence) for moment in result.curve]
    record = record_of(collection, result.ranking.measure, about=result.ranking.about, curve=curve)
    (folder / "report.html").write_text(page_alone(record, date.today()), encoding="utf-8")


def _serve_demo(folder: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve the demo's collection without judgments, and show its pages in a browser if there is one."""
    from audiosim.service.app import create_app, run_server
    from audiosim.service.collections.campaigns import Judging
    from audiosim.simulation.demo import prepare_demo

    collection = prepare_demo(folder, say)
    judging = Judging(f"sqlite:///{folder / 'campaign.db'}")
    pages = {page: f"http://127.0.0.1:{port}/{page}/{collection.identifier}" for page in ("judge", "organise")}
    say(f"judge pairs at {pages['judge']}, watch the ranking settle at {pages['organise']}")

    def make() -> "FastAPI":
        return create_app([collection], judging=judging, folders={collection.identifier: folder})

    run_server(make, port=port, show=lambda root: webbrowser.open(f"{root}judge/{collection.identifier}"))


@flattened
def serve(
    collections: settings.Folders = None,
    config: settings.Config = None,
    model: settings.Model = None,
    *,
    reading: ReadingOptions,
    storage: StorageOptions,
    address: AddressOptions,
    campaign: CampaignOptions,
    running: RunningOptions,
) -> None:
    """Serve predictions, judging and rankings over HTTP.

    The start page, http://127.0.0.1:8000/, leads to /judge/COLLECTION for assessors and to /organise/COLLECTION for
    organisers; --open shows it in a browser. Programs find the routes in /openapi.json.

    Without a collection, or with an empty folder, organisers make collections at /create, and judgments are kept there.

    A setting is taken from the command line, else from the environment (AUDIOSIM_PORT for --port), else from the file
    of --config. Without tokens everybody on this machine may do everything; see `audiosim token`. Once a database has
    held a token, tokens are always required. An institution's own sign-in replaces them if a proxy says who asks
    (--login-header); --grant says who may do what.

    Examples: `audiosim serve my-demo --db sqlite:///my-demo/campaign.db`

    `AUDIOSIM_DB=postgresql://me@host/name audiosim serve --config service.toml --host 0.0.0.0 --allowed-host
    judge.example.org`

    A program that asks it: `audiosim estimate my-demo --model remote:http://127.0.0.1:8000`
    """
    from audiosim.service.app import create_app, run_server
    from audiosim.service.collections.drafts import Home
    from audiosim.service.collections.open import CollectionSource
    from audiosim.service.http.limits import Limits

    folders, home = _split_home(collections or (), storage.home)
    kept_by_default = None if home is None else f"sqlite:///{home / 'campaigns.db'}"
    db = kept(kept_by_default if storage.db is None else storage.db, "--db")
    tokens, proxies = kept(storage.tokens, "--tokens"), parse_proxies(address.trusted_proxy or ())
    judging, sign_in = campaign.judging(db, running.adopt), address.sign_in.open(proxies)

    def make() -> "FastAPI":
        access = address.access([url for url in dict.fromkeys((tokens, db)) if url], sign_in)
        sources = [CollectionSource.of_folder(folder, bound(reading.load, folder), reading.stamp) for folder in folders]
        limits, made_here = Limits(sender_bytes=int(running.upload_limit * 1e9)), None if home is None else Home(home)
        return create_app(sources, model, limits, judging, access=access, keep_open=running.keep_open, home=made_here)

    show = webbrowser.open if running.open_page else None
    run_server(make, address.host, address.port, running.log.value, proxies, show)


def _split_home(folders: Sequence[Path], home: Path | None) -> tuple[list[Path], Path | None]:
    """The folders of collections, and the folder in which organisers make new ones, created if missing.

    Without folders it is HOME in the current folder; a single folder that is empty, or holds collections, is the home.
    """
    from audiosim.service.collections.drafts import Home

    found = list(folders)
    if home is None and not found:
        home = Path(HOME)
    elif home is None and len(found) == 1 and Home.is_one(found[0]):
        home = found.pop()
    if home is not None:
        Home(home)
    return found, home
