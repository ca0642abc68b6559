"""Take the pictures of the service's pages that the docs show: docs/{start,judge,organise}-*.png.

    python docs/draw_pages.py            needs Chromium, and playwright: pip install "audiosim[test]"

They are of a server of the demo, whose pairs three people judge as fixtures/demo/truth.qrels has it.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import audiosim

DOCS = Path(__file__).resolve().parent
DEMO = DOCS.parent / "fixtures" / "demo"
JUDGED, CANNOT = 130, 60  # so many answers, and the one of them that a pair cannot be judged
ASSESSORS = ("Ann", "Ben", "Cem")
EVERY = timedelta(seconds=35)  # somebody answers
SETTLE_MS, HEAR_MS = 4_000, 500  # until what is worked out is there; of a clip
ADDRESSES = {"start": "/", "judge": "/judge/demo", "organise": "/organise/demo"}
SIZES = {"start": (1000, 440), "judge": (1000, 860), "organise": (1280, 1120)}
DESK: dict[str, Any] = {"device_scale_factor": 1}
PHONE: dict[str, Any] = {"device_scale_factor": 2, "viewport": {"width": 360, "height": 780}}
PICTURES = (
    ("start", "light", DESK),
    *((page, theme, DESK) for page in ("judge", "organise") for theme in ("light", "dark")),
    *((page, "phone", PHONE) for page in ("judge", "organise")),
)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server of the demo, which keeps its log in a folder."""
    command = [sys.executable, "-m", "audiosim", "serve", str(DEMO), "--listen", "0"]
    log = folder / "log"
    with log.open("wb") as said:
        server = subprocess.Popen([*command, "--db", f"sqlite:///{folder}/campaign.db"], stderr=said)  # noqa: S603
    try:
        while "start page: " not in log.read_text("utf-8"):
            if server.poll() is not None:
                raise SystemExit(log.read_text("utf-8"))
            time.sleep(0.1)
        yield log.read_text("utf-8").partition("start page: ")[2].split()[0].rstrip("/")
    finally:
        server.terminate()
        server.wait()


def judge(url: str) -> None:
    """Judge pairs in turn, as the truth has it."""
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


def begin_judging(window: Page) -> None:
    """Sign in, listen to the first pair, and half answer it."""
    window.get_by_role("textbox").first.fill("Dan")
    window.keyboard.press("Enter")
    window.get_by_role("button", name="Skip the training").click()
    for key in ("c", "q", "1", *["ArrowRight"] * 4):
        window.wait_for_timeout(HEAR_MS)
        window.keyboard.press(key)


def main() -> None:
    """Judge, and take every picture."""
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
    flags = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as url, sync_playwright() as driver:
        judge(url)
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
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
            window.wait_for_timeout(SETTLE_MS)
            window.screenshot(path=DOCS / f"{page}-{kind}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
