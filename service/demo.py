"""The demo: the whole job in a folder, or its campaign in a browser. The service is imported only to be served."""

import webbrowser
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le

from audiosim.collection.collection import Collection
from audiosim.report.publication import page_alone
from audiosim.report.record import record_of
from audiosim.results.value import need
from audiosim.simulation.demo import LOG, DemoResult, prepare_demo, run_demo
from audiosim.text import NOTES

if TYPE_CHECKING:
    from fastapi import FastAPI


def demo(
    folder: Path = Path("demo"),
    target: Annotated[float, Ge(0.5), Le(1)] = 0.95,
    serve: bool = False,
    port: Annotated[int, Ge(1), Le(65535)] = 8000,
) -> DemoResult | None:
    """Run the whole job in half a minute, on the sound files that come with audiosim.

    It indexes the sound, predicts relevance, runs a judging campaign with a simulated listener, and reports how
    accurate the ranking is. With --serve you are the listener: judge in a browser and watch the ranking settle.

    Examples: `audiosim demo demo`

    `audiosim demo --serve`

    folder  folder for the demo's files
    target  confidence at which judging stops
    serve   judge the pairs yourself, in a browser; nothing is returned
    port    port of the pages
    """
    need("plots", "the demo")
    if serve:
        _serve_demo(folder, port)
        return None
    result = run_demo(folder, target, NOTES.info)
    collection = Collection.load(folder, folder / "judgments.csv")
    curve = [(moment.judged, moment.confidence) for moment in result.curve]
    record = record_of(collection, result.ranking.measure, about=result.ranking.about, curve=curve)
    (folder / "report.html").write_text(page_alone(record, date.today()), encoding="utf-8")
    return result


def _serve_demo(folder: Path, port: int) -> None:
    """Serve the demo's collection without judgments, and show its pages in a browser if there is one."""
    from audiosim.service.app import create_app, run_server
    from audiosim.service.collections.campaigns import Judging

    collection = prepare_demo(folder, NOTES.info)
    judging = Judging(f"sqlite:///{folder / LOG}")
    judge, organise = (f"http://127.0.0.1:{port}/{page}/{collection.identifier}" for page in ("judge", "organise"))
    NOTES.info("judge pairs at %s, watch the ranking settle at %s", judge, organise)

    def make() -> "FastAPI":
        return create_app([collection], judging=judging, folders={collection.identifier: folder})

    run_server(make, port=port, show=lambda root: webbrowser.open(f"{root}judge/{collection.identifier}"))
