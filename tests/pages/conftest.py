"""A live server of the demo collection, and pages in a real Chromium, watched for events that must never happen."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from audiosim import package_files
from audiosim.service.access.tokens import TokenStore

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

# Without its windows, Chromium takes two thirds of the processor time for the same pages.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
FLAGS = ["--autoplay-policy=no-user-gesture-required", "--no-sandbox"]  # CI runs as root, which has no sandbox
# One process for the pages of a browser, and none that looks for a graphics card: a tenth of the time.
FLAGS += ["--renderer-process-limit=1", "--disable-gpu", "--num-raster-threads=1"]
CALM = {"reduced_motion": "reduce"}
PATIENCE_MS = 180_000  # limit for a page; a busy machine may be slow
AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Those whose result depends on colours or width; a narrow page shows nothing that a wide one does not.
RULES_OF_LOOKS = [
    "color-contrast",
    "link-in-text-block",
    "target-size",
    "scrollable-region-focusable",
    "button-name",
    "link-name",
]
# Listing only violations saves half of the work, and style sheets that were read once need not be fetched again.
FAULTS = """async ([runOnly, without, part, read]) => {
  const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
  const preload = read ? { assets: ["media"] } : true;
  const { violations } = await axe.run(part, { resultTypes: ["violations"], runOnly, rules, preload });
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}"""
SHEETS = "[...document.styleSheets].map(({ href }) => href).join()"
SCREEN = {"width": 1280, "height": 720}  # Playwright's own
STORED = "cookies,local_storage,indexeddb,cache_storage"  # what a page may store; none uses the session's storage
PLAIN = ("--model", "mout")  # where no test asks which model it is; nothing is learned in the background
LOOKS = tuple(product((1000, 360), ("light", "dark")))  # on a desk and on a phone, in either theme


def _service_tests() -> ModuleType:
    """Fixtures with which the service's tests start servers; loaded by path, because they are not a package."""
    path = Path(__file__).parents[1] / "service" / "conftest.py"
    spec = importlib.util.spec_from_file_location("service_conftest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SERVICE = _service_tests()
commanded = SERVICE.commanded


@pytest.fixture(scope="session", name="commanded")
def _commanded() -> Callable[..., Any]:
    return commanded


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition; fails the test if it never holds."""
    return SERVICE.wait_until


@pytest.fixture(scope="session")
def audit(wait_until: Callable[[Callable[[], bool]], None]) -> Callable[..., list[tuple[Any, ...]]]:
    """Finds axe-core's violations, and elements wider than the page, in some looks.

    Two of the four show each width and each theme once: a screen's colours hardly depend on its width. Rules that
    depend on neither are checked in the first, over the whole page. With `part`, a selector, those that do are checked
    only there, because another test has looked at the rest.
    """
    read: set[str] = set()

    def faults(
        page: "Page", looks: tuple[tuple[int, str], ...] = LOOKS[1:3], part: str = "html"
    ) -> list[tuple[Any, ...]]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[tuple[Any, ...]] = []
        sheets = page.evaluate(SHEETS)
        for place, (width, theme) in enumerate(looks):
            page.set_viewport_size({"width": width, "height": 740})
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            # A bar that stays lies over what is not yet reached.
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            wait_until(lambda: bool(page.evaluate("document.getAnimations().length === 0")))
            asked = [[RULES_OF_LOOKS, [], part, True]]
            if place == 0:
                asked = [[RULES, RULES_OF_LOOKS, "html", sheets in read], *asked]
            if place == 0 and part == "html":
                asked = [[RULES, [], "html", sheets in read]]  # in one, because each looks at the page anew
            found += [(width, theme, *one) for some in asked for one in page.evaluate(FAULTS, some)]
            read.add(sheets)
            if page.evaluate("document.documentElement.scrollWidth") != width:
                found.append((width, theme, "does not fit the width"))
        return found

    return faults


@pytest.fixture
def port() -> Iterator[int]:
    """A port for one server after the other."""
    with SERVICE.kept_port() as port:
        yield port


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo collection with its sounds; two grades of each pair are asked, so that pages have every control."""
    folder = tmp_path_factory.mktemp("collections") / "demo"
    shutil.copytree(package_files.folder("fixtures") / "demo", folder)
    (folder / "task.toml").write_text('grades = "both"\n', encoding="utf-8")
    return folder


def copy_demo(demo: Path, folder: Path, queries: int) -> Path:
    """A copy of the demo collection with its first queries only, which a server computes sooner; sounds are linked."""
    shutil.copytree(demo, folder, ignore=shutil.ignore_patterns("sounds"))
    (folder / "sounds").symlink_to(demo / "sounds")
    for run in (folder / "runs").iterdir():
        lines = run.read_text(encoding="utf-8").splitlines(keepends=True)
        run.write_text("".join(line for line in lines if int(line[1:3]) <= queries), encoding="utf-8")
    return folder


@pytest.fixture
def model() -> str:
    """The model of `live`, for tests to set."""
    return PLAIN[1]


@pytest.fixture
def live(demo: Path, model: str, tmp_path: Path) -> Iterator[Any]:
    """A server of the demo collection, open to this machine, with a separate campaign; `.url`, `.stop()`."""
    options = ("--db", f"sqlite:///{tmp_path / 'campaign.db'}", "--model", model)
    with commanded([demo], tmp_path / "log", *options, AUDIOSIM_LISTEN="0") as running:
        yield running


@pytest.fixture
def assessor() -> str:
    """The name of the assessor of `invited`, for tests to set."""
    return "Ann"


@pytest.fixture
def invited(demo: Path, assessor: str, tmp_path: Path) -> Iterator[tuple[Any, str]]:
    """A server that needs tokens, and the token of an assessor."""
    database = f"sqlite:///{tmp_path / 'invited.db'}"
    store = TokenStore(database)
    token = store.create(assessor, "assessor")
    store.close()
    with commanded([demo], tmp_path / "invited", "--db", database, *PLAIN, AUDIOSIM_LISTEN="0") as running:
        yield running, token


@pytest.fixture(scope="module")
def still(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A plain HTTP client of a server for tests that change nothing."""
    with commanded([demo], tmp_path_factory.mktemp("still") / "log") as running, running.client() as client:
        yield client


@pytest.fixture
def http(live: Any) -> Iterator[httpx.Client]:
    """A plain HTTP client of the live server."""
    with live.client() as client:
        yield client


@pytest.fixture(scope="package")
def chromium() -> Iterator["Browser"]:
    """Chromium, by choice its headless shell. Not kept beyond the pages: Playwright holds this thread's event loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium-headless-shell")
    playwright.expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=FLAGS, env=dict(os.environ), timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


class Watch:
    """Records events that must never happen on a page.

    expected  parts of messages provoked by the test itself, such as a refusal
    """

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.expected: list[str] = []

    def watch(self, page: "Page", url: str) -> None:
        page.on("console", lambda message: message.type in ("error", "warning") and self.wrong.append(message.text))
        page.on("pageerror", lambda error: self.wrong.append(f"uncaught: {error}"))
        page.on("request", lambda request: self._ask(request.url, url))

    def _ask(self, asked: str, url: str) -> None:
        if not asked.startswith((f"{url}/", "blob:", "data:")):
            self.wrong.append(f"asked another host: {asked}")

    @property
    def unexpected(self) -> list[str]:
        return [text for text in self.wrong if not any(part in text for part in self.expected)]


@pytest.fixture(scope="package")
def noted() -> Watch:
    """The watch over all pages, of which a test sees only its own share."""
    return Watch()


@pytest.fixture
def watch(noted: Watch) -> Iterator[Watch]:
    """Fails the test if a page logs an error or a warning, or contacts another host."""
    noted.wrong, noted.expected = [], []
    yield noted
    assert noted.unexpected == []


class Desk:
    """A page that tests of one server use one after the other; a new one takes three times the processor time."""

    def __init__(self, chromium: "Browser", watch: Watch) -> None:
        self.chromium, self.watch = chromium, watch
        self.page: Page | None = None
        self.url = ""

    def context(self, url: str, **options: Any) -> "BrowserContext":
        """A separate browser of somebody."""
        context = self.chromium.new_context(**CALM | {"base_url": url, "locale": "en-GB"} | options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def take(self, url: str, viewport: dict[str, int] = SCREEN, color_scheme: str = "light", **media: str) -> "Page":
        """The page, as if new."""
        if self.page is None or self.page.is_closed() or url != self.url:
            self.leave()
            self.page, self.url = self.context(url).new_page(), url
            self.watch.watch(self.page, url)
        self.page.set_viewport_size(viewport)  # type: ignore[arg-type]
        self.page.emulate_media(color_scheme=color_scheme, **CALM | media)  # type: ignore[arg-type]
        return self.page

    def clear(self) -> None:
        """End what a test did on the page, and what its browser stored."""
        if self.page is None or self.page.is_closed():
            return
        for other in self.page.context.pages:
            if other is not self.page:
                other.close()
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.context.unroute_all(behavior="ignoreErrors")
        self.page.context.set_offline(False)
        self.page.goto("about:blank")
        session = self.page.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": self.url, "storageTypes": STORED})
        session.detach()

    def leave(self) -> None:
        """Close the page's browser."""
        if self.page is not None:
            self.page.context.close()
            self.page = None


@pytest.fixture(scope="package")
def desk(chromium: "Browser", noted: Watch) -> Iterator[Desk]:
    kept = Desk(chromium, noted)
    yield kept
    kept.leave()


@pytest.fixture
def browse(desk: Desk, watch: Watch, request: pytest.FixtureRequest) -> Iterator[Callable[..., "Page"]]:
    """Makes pages, each in a separate context unless `context=` gives an existing one; all are watched.

    They belong to the server `live`, or to `invited` or `asked` if the test uses one of those. A test's first page is
    the one of the test before, cleared, unless `alone=True` (as scripts for every page of a context need) or its
    options are those of a context only.

    Named arguments are those of Playwright's `new_context`, such as viewport, color_scheme, reduced_motion. Without the
    last a page shows where a clip is four times a second: at every frame that takes a quarter of a processor.
    """
    if "invited" in request.fixturenames:
        url = request.getfixturevalue("invited")[0].url
    else:
        url = request.getfixturevalue("asked" if "asked" in request.fixturenames else "live").url
    made: list[BrowserContext] = []
    free = True

    def open_page(
        path: str = "", context: "BrowserContext | None" = None, alone: bool = False, **options: Any
    ) -> "Page":
        nonlocal free
        if context is None and free and not alone and options.keys() <= {"viewport", "color_scheme", "reduced_motion"}:
            free = False
            page = desk.take(url, **options)
        else:
            if context is None:
                context = desk.context(url, **options)
                made.append(context)
            page = context.new_page()
            watch.watch(page, url)
        if path:
            page.goto(path)
        return page

    yield open_page
    for context in made:
        context.close()
    desk.clear()
