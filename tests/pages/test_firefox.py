"""The pages in a real Firefox, if installed: an assessor who uses only the keyboard, and axe-core's violations.

Playwright drives only its own build of Firefox, so Mozilla's driver is used here.
"""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("marionette_driver", reason="marionette_driver is not installed")
from marionette_driver.keys import Keys
from marionette_driver.marionette import Marionette

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
WAITING_S = 180  # limit for a page; a busy machine may be slow
SETTINGS = {"marionette.port": 0, "media.autoplay.default": 0, "ui.prefersReducedMotion": 1}
DEMO = "/v1/collections/demo"
# Uncaught errors of a page from now on.
LISTEN = """window.wrong = [];
addEventListener("error", ({ message }) => wrong.push(message));
addEventListener("unhandledrejection", ({ reason }) => wrong.push(String(reason)));"""
WHERE = "return document.querySelector('#screen-desk:not([hidden]) #where')?.innerText ?? null"
FAULTS = """const done = arguments[arguments.length - 1];
axe.run({ resultTypes: ["violations"] })
  .then(({ violations }) => done(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])));"""


@pytest.fixture(scope="module")
def output(tmp_path_factory, wait_until):
    """Address of a sound server with a dummy output, because Firefox plays nothing without an output."""
    server = shutil.which("pulseaudio")
    if server is None:
        pytest.skip("there is no sound server on this machine: apt-get install pulseaudio")
    folder = tmp_path_factory.mktemp("sound")
    modules = [f"--load=module-native-protocol-unix socket={folder}/socket", "--load=module-null-sink"]
    command = [server, "-n", "--daemonize=no", "--exit-idle-time=-1", *modules]
    own = os.environ | {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=own, stdout=log, stderr=log) as process:
        try:
            wait_until((folder / "socket").exists)
            yield f"unix:{folder}/socket"
        finally:
            process.kill()


@contextlib.contextmanager
def running(profile, output, wait_until):
    """A driver session of Firefox without a window, with the sound server at an address."""
    if FIREFOX is None:
        pytest.skip("there is no Firefox on this machine: apt-get install firefox-esr")
    (profile / "user.js").write_text("".join(f'user_pref("{name}", {value});\n' for name, value in SETTINGS.items()))
    command = [FIREFOX, "--headless", "--no-remote", "--marionette", "--profile", str(profile)]
    own, port = os.environ | {"PULSE_SERVER": output}, profile / "MarionetteActivePort"
    with (profile / "log").open("wb") as log, subprocess.Popen(command, env=own, stdout=log, stderr=log) as process:
        try:
            wait_until(lambda: port.exists() and port.read_text().strip())
            driver = Marionette(host="127.0.0.1", port=int(port.read_text()), startup_timeout=WAITING_S)
            driver.start_session()
            driver.timeout.page_load = driver.timeout.script = WAITING_S
            yield driver
        finally:
            process.kill()


@pytest.fixture(scope="module")
def firefox(tmp_path_factory, output, wait_until):
    with running(tmp_path_factory.mktemp("firefox"), output, wait_until) as driver:
        yield driver


class Page:
    """A page in Firefox, as seen and used by an assessor."""

    def __init__(self, driver, wait_until):
        self.driver, self.wait_until = driver, wait_until

    def open(self, url):
        self.driver.navigate(url)
        self.run(LISTEN)

    def run(self, script, *given):
        return self.driver.execute_script(script, script_args=given, sandbox=None)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def wait_for(self, selector):
        self.wait_until(lambda: self.run("return document.querySelector(arguments[0]) !== null", selector))

    def press(self, *keys):
        chain = self.driver.actions.sequence("key", "keyboard")
        for key in keys:
            chain = chain.key_down(key).key_up(key)
        chain.perform()

    def faults(self):
        """Violations found by axe-core, and widths that the page exceeds."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        found = []
        for width in (1000, 500):  # Firefox's narrowest window
            self.driver.set_window_rect(width=width, height=740)
            self.wait_until(lambda width=width: abs(self.run("return outerWidth") - width) < 2)
            wrong = self.driver.execute_async_script(FAULTS, sandbox=None)
            found += [(width, *one) for one in wrong]
            if self.run("return document.documentElement.scrollWidth > innerWidth"):
                found.append((width, "does not fit the width"))
        return found


@pytest.fixture
def page(firefox, wait_until):
    """A page; its errors fail the test."""
    page = Page(firefox, wait_until)
    yield page
    assert page.run("return window.wrong") == []


def lacking(page):
    """Message of the page when a person tries to save; empty if nothing is missing."""
    page.press(Keys.ENTER)
    return page.text("#missing")


def judge(page, broad):
    page.wait_for("#screen-desk:not([hidden])")
    page.wait_until(lambda: page.text("#play .either > :not(.off)") == "Pause")
    before = page.run(WHERE)
    page.press(broad, Keys.ARROW_RIGHT, "q")
    page.wait_until(lambda: lacking(page) == "Hear the candidate for a moment more")
    page.press("c")
    page.wait_for("#save[aria-disabled=false]")
    page.press(Keys.ENTER)
    page.wait_until(lambda: page.run(WHERE) != before)


def begin(page, url):
    page.open(f"{url}/judge/demo?listen=0.1&batch=3")
    page.wait_for("#name:focus")
    page.press(*"Ann", Keys.ENTER)
    page.wait_for("#screen-start:not([hidden])")
    page.press(Keys.TAB, Keys.TAB, Keys.ENTER)  # the first begins the training


def test_pairs_judged_in_firefox_by_keyboard_alone_are_what_the_log_holds(page, live, http):
    begin(page, live.url)
    for broad in "012":
        judge(page, broad)
    page.wait_for("#screen-batch:not([hidden])")
    page.wait_until(lambda: page.text("#state") == "Saved")
    found = http.get(f"{DEMO}/answers", params={"assessor": "Ann"}).json()["answers"]
    assert [one["broad"] for one in found] == [0, 1, 2]
    assert all(min(one["details"]["query_played_s"], one["details"]["document_played_s"]) >= 0.1 for one in found)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/", "main a[href]"),
        ("/judge/demo", "#name:focus"),
        ("/organise/demo", "#ranking tbody tr"),
        ("/results/demo", "main"),
    ],
)
def test_axe_finds_nothing_in_firefox_and_everything_fits_the_width(page, live, path, shown):
    page.open(f"{live.url}{path}")
    page.wait_for(shown)
    assert page.faults() == []


@pytest.mark.slow
def test_a_device_without_an_output_for_sound_is_told_to_the_assessor(live, tmp_path, wait_until):
    with running(tmp_path, f"unix:{tmp_path}/nobody", wait_until) as driver:
        page = Page(driver, wait_until)
        begin(page, live.url)
        page.wait_for("#screen-trouble:not([hidden])")
        said = "This device plays no sound. Connect headphones or loudspeakers, then try again."
        assert page.text("#trouble") == said
        page.run("document.querySelector('#retry').click()")
        page.wait_until(lambda: page.text("#trouble") == said)
