"""Clicks and seconds from an empty service to a published campaign, in a real browser: the work of a stranger.

    python benchmarks/stranger.py [PICTURES]

Twenty recordings in four folders are made: prompts, and the output of three systems. A browser that knows only the
address of `audiosim serve` on an empty folder makes a collection of them, asks for two aspects, looks at the effort for
each goal and at the assessors' page, opens the campaign, and invites two people, who judge everything in separate
browsers. Then it closes and publishes the campaign. Prints clicks, typed texts and seconds of each part; PICTURES is a
folder for a picture of each. The browser hears each clip for a moment, and nobody takes time to think.
"""

import shutil
import sys
import tempfile
import time
import wave
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from playwright.sync_api import Browser, Page, expect, sync_playwright

from audiosim.service.collections.campaigns import LISTEN_S

RATE_HZ = 22_050
PROMPTS = [f"tune{number}" for number in range(1, 6)]
SYSTEMS = {"plain": 0.1, "bright": 0.3, "noisy": 1.0}  # noise added by each
PATIENCE_MS = 180_000  # a busy machine may be slow
SPARE_MS = 300
ASPECTS = "melody: How well does it continue the melody?\nsound: How natural does it sound?"
ASSESSORS = ("Ann", "Ben")


def write_sounds(root: Path) -> None:
    """Write twenty recordings in four folders: a second and a half of a tone with noise each."""
    moments = np.arange(int(1.5 * RATE_HZ)) / RATE_HZ
    for place, name in enumerate(PROMPTS):
        for folder, noise in {"prompts": 0.0, **SYSTEMS}.items():
            tone = np.sin(2 * np.pi * 220 * (place + 1) * moments)
            sound = tone + noise * np.random.default_rng(place).standard_normal(len(moments))
            path = root / folder / f"{name}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            with wave.open(str(path), "wb") as stream:
                stream.setnchannels(1)
                stream.setsampwidth(2)
                stream.setframerate(RATE_HZ)
                stream.writeframes((8000 * sound / np.abs(sound).max()).astype("<i2").tobytes())


@dataclass
class Walk:
    """Clicks, typed texts and seconds of a person, part by part."""

    pictures: Path | None = None
    parts: list[tuple[str, int, int, float]] = field(default_factory=list)
    clicks: int = 0
    typed: int = 0

    @contextmanager
    def part(self, name: str, page: Page) -> Iterator[None]:
        """A part of the way, with a picture of its end."""
        clicks, typed, start = self.clicks, self.typed, time.perf_counter()
        yield
        self.parts.append((name, self.clicks - clicks, self.typed - typed, time.perf_counter() - start))
        if self.pictures is not None:
            page.screenshot(path=self.pictures / f"{len(self.parts)}.png", full_page=True)

    def click(self, page: Page, where: str) -> None:
        """Click an element."""
        page.locator(where).click()
        self.clicks += 1

    def type(self, page: Page, where: str, text: str) -> None:
        """Click into a field, and type a text."""
        page.locator(where).fill(text)
        self.clicks += 1
        self.typed += 1

    def drop(self, page: Page, where: str, folder: Path) -> None:
        """Drop a folder on the page, counted as one movement of the mouse; the driven browser uses a chooser."""
        page.set_input_files(where, folder)
        self.clicks += 1


def create(walk: Walk, page: Page, url: str, sounds: Path) -> None:
    """Make the collection, and look at the check, the plan and the preview."""
    with walk.part("create a collection of four folders", page):
        page.goto(url)
        walk.click(page, "#make a")
        walk.type(page, "#name", "first-test")
        walk.click(page, "#begin-form button")
        page.locator("#draft:not([hidden])").wait_for()
        walk.drop(page, "#a-folder", sounds)
        expect(page.locator("#check-said")).to_contain_text("3 systems, 5 queries, 15 pairs")
    with walk.part("ask for two aspects", page):
        walk.type(page, "#set-aspects", ASPECTS)
        expect(page.locator("#preview-form input[type=range]")).to_have_count(2)
        expect(page.locator("#check-said")).to_contain_text("ranked by the mean of its aspects")
    with walk.part("see what goals take, and choose one", page):
        walk.click(page, "#plan button")
        expect(page.locator("#goals-table tbody tr")).to_have_count(3)
        walk.click(page, "#goals-table tbody tr:first-child button")
        expect(page.locator("#set-goal")).to_have_value("confidence=0.9")
    with walk.part("create and open the campaign", page):
        walk.click(page, "#create")
        expect(page.locator("#control-about")).to_have_text("Nobody can judge until you open it.")
        walk.click(page, "#resume")
        expect(page.locator("#control-about")).to_have_text("Judging is open.")


def invite(walk: Walk, page: Page) -> list[str]:
    """Make links for two people."""
    links = []
    with walk.part("invite two assessors", page):
        walk.click(page, "#next a")
        for name in ASSESSORS:
            walk.type(page, "#invite-name", name)
            walk.click(page, "#invite button[type=submit]")
            expect(page.locator("#link-label")).to_contain_text(name)
            links.append(page.input_value("#link"))
            walk.click(page, "#copy")
    return links


def judge(walk: Walk, page: Page, name: str, most: int, listen_s: float, link: str = "") -> int:
    """Judge up to `most` pairs, or until nothing is left, on a page that shows one or by a link; return the number."""
    done = 0
    with walk.part(f"{name} judges", page):
        if link:
            page.goto(link)
            walk.click(page, "#start")
        while done < most:
            page.locator("#screen-desk:not([hidden]), #screen-batch:not([hidden])").first.wait_for()
            if not page.locator("#screen-desk").is_visible():
                break
            where = page.locator("#where").inner_text()
            page.wait_for_function("() => document.querySelector('#play .either > :not(.off)').textContent === 'Pause'")
            page.wait_for_timeout(1000 * listen_s + SPARE_MS)  # the query plays by itself
            walk.click(page, "#hear-candidate")
            expect(page.locator("#form input[type=range].unset")).to_have_count(2)
            for place, slider in enumerate(page.locator("#form input[type=range]").all()):
                slider.press("PageUp" if (done + place) % 3 else "PageDown")
                walk.clicks += 1
            page.locator("#save[aria-disabled=false]").wait_for()
            walk.click(page, "#save")
            done += 1
            page.wait_for_function(
                "before => document.querySelector('#where').textContent !== before || "
                "document.querySelector('#screen-desk').hidden",
                arg=where,
            )
    return done


def publish(walk: Walk, page: Page) -> str:
    """Publish; return the address of the page."""
    with walk.part("publish", page):
        walk.click(page, "#tab-results")
        walk.type(page, "#publish-authors", "Cem Stranger")
        walk.click(page, "#publish-make")
        expect(page.locator("#publish-said a")).to_be_visible()
    address = page.locator("#publish-said a").get_attribute("href")
    assert address is not None
    return address


def whole_way(
    browser: Browser,
    url: str,
    sounds: Path,
    listen_s: float,
    pictures: Path | None = None,
    reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
) -> tuple[Walk, str]:
    """Go the whole way, and return the address of the publication.

    listen_s  seconds to listen to each clip
    reduced_motion  what the browsers say people prefer
    """
    expect.set_options(timeout=PATIENCE_MS)
    with ExitStack() as opened:

        def own_page() -> Page:
            context = browser.new_context(
                viewport={"width": 1280, "height": 900}, locale="en-GB", reduced_motion=reduced_motion
            )
            opened.callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            return context.new_page()

        walk, page = Walk(pictures), own_page()
        create(walk, page, url, sounds)
        links = invite(walk, page)
        # The second takes what the first does not hold, before the first is done and is given the rest.
        (one, other), first = ASSESSORS, own_page()
        done = [judge(walk, first, one, 9, listen_s, links[0]), judge(walk, own_page(), other, 15, listen_s, links[1])]
        done[0] += judge(walk, first, one, 15, listen_s)
        assert min(done) > 0, done
        address = publish(walk, page)
        with walk.part("read what is published", page):
            page.goto(f"{url}{address}")
            expect(page.locator("h1")).to_have_text("first-test")
    return walk, address


def main() -> None:
    """Go the whole way, and print the effort."""
    from pages import FLAGS, serving_folder  # benchmarks/pages.py; in tests, `pages` is a folder of theirs

    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        write_sounds(Path(folder) / "music")
        home = Path(folder) / "home"
        home.mkdir()
        with serving_folder(home, Path(folder) / "log") as url:
            browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
            walk, _ = whole_way(browser, url, Path(folder) / "music", LISTEN_S, pictures)
            browser.close()
    print(f"{'part':42} {'clicks':>6} {'texts':>6} {'seconds':>8}")
    for name, clicks, typed, seconds in walk.parts:
        print(f"{name:42} {clicks:6} {typed:6} {seconds:8.1f}")
    print(f"{'all':42} {walk.clicks:6} {walk.typed:6} {sum(part[3] for part in walk.parts):8.1f}")


if __name__ == "__main__":
    main()
