"""Time from Enter until the next pair plays on the judging page, in a real browser on loopback.

    python benchmarks/pages.py [PAIRS]

The time is measured within the browser, from the key to the first moment at which an analyser at the page's output
detects the next pair's clips. Prints the median and the slowest, and the size of the first load over the network.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Figures
from playwright.sync_api import Page, sync_playwright

from audiosim import package_files

FLAGS = ["--autoplay-policy=no-user-gesture-required", "--no-sandbox"]

# Between two pairs, the page's player loads again; then its voice begins, and then there is a signal.
WATCH = """async () => {
  const { player } = await import(document.querySelector("script[type=module]").src);
  const analyser = new AnalyserNode(player.context, { fftSize: 256 });
  player.output.connect(analyser);
  const samples = new Float32Array(256);
  const load = player.load.bind(player);
  let pressed = 0;
  let waiting = null;
  globalThis.taken = [];
  document.addEventListener("keydown", (event) => { if (event.key === "Enter") pressed = event.timeStamp; }, true);
  player.load = (...given) => {
    load(...given);
    clearInterval(waiting);
    const began = player.context.currentTime;
    waiting = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      const fresh = player.voice && player.context.currentTime > Math.max(began, player.voice.startedAt);
      if (!fresh || !samples.some(Boolean)) return;
      clearInterval(waiting);
      globalThis.taken.push(performance.now() - pressed);
    }, 1);
  };
}"""


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server of the demo collection."""
    with tempfile.TemporaryDirectory() as folder:
        demo, log = Path(folder) / "demo", Path(folder) / "log"
        shutil.copytree(package_files.folder("fixtures") / "demo", demo)
        places = "--home", f"{folder}/home", "--db", f"sqlite:///{folder}/campaign.db"
        with serving_folder(demo, log, *places, AUDIOSIM_LISTEN="0") as url:
            yield url


@contextmanager
def serving_folder(served: Path, log: Path, *options: str, **variables: str) -> Iterator[str]:
    """The address of a server of a folder, started by the command with these variables; it logs to a file."""
    command = [sys.executable, "-m", "audiosim", "serve", str(served), "--port", "0", *options]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream, env=os.environ | variables)
    try:
        while not (found := re.search(r"serving .* at (http://[^\s;]+);", log.read_text())):
            if process.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.05)
        yield found[1]
    finally:
        process.kill()
        process.wait()


def weigh(page: Page) -> int:
    """Bytes of the page's own files over the network."""
    kinds = "['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))"
    own = ".filter(entry => /\\/(static|judge)\\//.test(entry.name))"
    return int(page.evaluate(f"{kinds}{own}.reduce((sum, entry) => sum + entry.transferSize, 0)"))


def judge(page: Page, pairs: int) -> list[float]:
    """Milliseconds from each Enter to the pair after it."""
    page.fill("#name", "bench")
    page.keyboard.press("Enter")
    page.click("#skip-training")
    page.locator("#save[aria-disabled=true]").wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(WATCH)
    for place in range(pairs):
        for key in ("c", "1", "ArrowRight"):
            page.keyboard.press(key)
        page.wait_for_timeout(700)  # like an assessor, long enough for the next pair to be fetched
        page.keyboard.press("Enter")
        page.locator(f"text=Pair {place + 2} of {pairs + 1}").wait_for()
    page.wait_for_timeout(300)
    return list(page.evaluate("globalThis.taken"))


def main(pairs: int = 30) -> None:
    """Print the time until the next pair."""
    with serving() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()
        page.goto(f"{url}/judge/demo?listen=0&batch={pairs + 1}")
        page.locator("#name").wait_for()
        with Figures("pages") as figures:
            figures.add("first load", weigh(page) / 1000, "kB")
            taken = judge(page, pairs)
            figures.add("Enter to sound, median, by the clock", statistics.median(taken), note=f"of {len(taken)}")
            figures.add("Enter to sound, slowest, by the clock", max(taken))
        browser.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
