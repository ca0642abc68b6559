"""Take the pictures of the pages for the docs: docs/{start,create,judge,organise}-*.png, docs/study-page.png.

    python docs/draw_pages.py            needs Chromium, and playwright: pip install "audiosim[test]"

They come from a server of the demo, where three people give the grades of fixtures/demo/truth.qrels.
"""

import shutil
import sys
import threading
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from playwright.sync_api import Page, sync_playwright

import audiosim
from audiosim.people.study_log import StudyLog, read_study
from audiosim.service.app import listen, near
from audiosim.service.collections.sounds import Sounds
from audiosim.service.study_app import StudyDesk, create_study_app

DOCS = Path(__file__).resolve().parent
sys.path.append(str(DOCS.parent / "benchmarks"))  # last, because benchmarks/service.py is not the service
from pages import FLAGS, serving  # noqa: E402  what is measured there is shown here

DEMO = DOCS.parent / "fixtures" / "demo"
JUDGED, CANNOT = 130, 60  # number of answers, and the one that reports a pair that cannot be judged
ASSESSORS = ("Ann", "Ben", "Cem")
EVERY = timedelta(seconds=35)  # between two answers
SETTLE_MS, HEAR_MS = 15_000, 500  # until computed results are shown; listening time of a clip
ADDRESSES = {"start": "/", "create": "/create", "judge": "/judge/demo", "organise": "/organise/demo"}
SIZES = {"start": (1000, 620), "create": (1000, 1340), "judge": (1000, 860), "organise": (1280, 1120)}
DESK: dict[str, Any] = {"device_scale_factor": 1}
PHONE: dict[str, Any] = {"device_scale_factor": 2, "viewport": {"width": 360, "height": 780}}
PICTURES = (
    ("start", "light", DESK),
    ("create", "light", DESK),
    *((page, theme, DESK) for page in ("judge", "organise") for theme in ("light", "dark")),
    *((page, "phone", PHONE) for page in ("judge", "organise")),
)


def judge(url: str) -> None:
    """Judge pairs in turn by the true grades."""
    truth = audiosim.Collection.load(DEMO, judgments=DEMO / "truth.qrels").grades()
    start = datetime.now(UTC) - JUDGED * EVERY
    with audiosim.Client(url) as client:
        for number, assessor in zip(range(JUDGED), cycle(ASSESSORS), strict=False):
            (pair,) = client.next("demo", assessor=assessor).pairs
            if number == CANNOT:
                client.cannot("demo", pair.query, pair.document, "the clip is silent", assessor=assessor)
                continue
            fine, moment = truth[pair.query, pair.document], f"{start + number * EVERY:%Y-%m-%dT%H:%M:%SZ}"
            client.judge("demo", pair.query, pair.document, fine=fine, assessor=assessor, time=moment)


def begin_making(window: Page) -> None:
    """Name a new collection, and upload the demo's files."""
    window.fill("#name", "listening-test")
    window.keyboard.press("Enter")
    files = [*sorted((DEMO / "runs").iterdir()), *sorted(DEMO.glob("*.tsv")), *sorted((DEMO / "sounds").iterdir())[:8]]
    window.set_input_files("#some-files", [path for path in files if path.is_file()])
    window.fill("#set-task", "How similar do the two sound?")
    window.locator("#check-said.good, #check-said.warn").wait_for(timeout=600_000)
    window.click("#plan button")
    window.locator("#goals-table tbody tr >> nth=2").wait_for(timeout=600_000)
    window.evaluate("scrollTo(0, 0)")


def begin_judging(window: Page) -> None:
    """Sign in, listen to the first pair, and give part of an answer."""
    window.get_by_role("textbox").first.fill("Dan")
    window.keyboard.press("Enter")
    window.get_by_role("button", name="Skip the training").click()
    window.get_by_role("button", name="Pause").wait_for()
    for key in ("c", "q", "1", *["ArrowRight"] * 4):
        window.wait_for_timeout(HEAR_MS)
        window.keyboard.press(key)


def draw_study(window: Page) -> None:
    """Picture of the page on which people compare two lists."""
    collection = audiosim.Collection.load(DEMO)
    with TemporaryDirectory() as folder:
        audiosim.sample_study(DEMO, f"{folder}/examples.tsv", wanted=1, judgments=DEMO / "truth.qrels")
        log, progress = StudyLog.open(f"{folder}/log", read_study(f"{folder}/examples.tsv"))
        app = create_study_app(StudyDesk(progress, log, collection, Sounds(collection, DEMO)))
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        with listen("127.0.0.1", 0) as listening:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            window.goto(f"{near(listening)}/?worker=ann")
            window.get_by_role("button", name="Start").click()
            window.get_by_role("radio", name="Service B").check()
            window.wait_for_timeout(SETTLE_MS)
            window.screenshot(path=DOCS / "study-page.png", full_page=True)
            server.should_exit = True
            thread.join()
        log.close()


def main() -> None:
    """Judge, and take every picture."""
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
    with serving() as url, sync_playwright() as driver:
        judge(url)
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for page, kind, device in PICTURES:
            width, height = SIZES[page]
            seen = {
                "viewport": {"width": width, "height": height},
                "color_scheme": "dark" if kind == "dark" else "light",
            }
            context = browser.new_context(**seen | device)
            window = context.new_page()
            window.goto(url + ADDRESSES[page])
            if page == "judge":
                begin_judging(window)
            if page == "create":
                begin_making(window)
            window.wait_for_timeout(SETTLE_MS)
            window.screenshot(path=DOCS / f"{page}-{kind}.png")
            context.close()
        draw_study(browser.new_page(viewport={"width": 1000, "height": 1080}))
        browser.close()


if __name__ == "__main__":
    main()
