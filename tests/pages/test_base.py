"""The pages as files over HTTP, and their common parts."""

import gzip
import re
from pathlib import Path

import pytest

from audiosim.service.operations.pages import Release

ROOT = Path(__file__).resolve().parents[2]


def named_files(page):
    return re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)


def modules_of(still, path, found=None):
    """A module and all its imports, resolved as in a browser."""
    found = {} if found is None else found
    if path not in found:
        found[path] = still.get(path)
        folder = joined(path)
        for name in re.findall(r'from "(\.{1,2}/[^"]+)"', found[path].text):
            modules_of(still, joined(folder, name), found)
    return found


def joined(folder, name=None):
    if name is None:
        return folder.rpartition("/")[0]
    parts = folder.split("/")
    for part in name.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


PAGES = ["/", "/judge/demo", "/organise/demo"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_and_all_that_it_names_are_there_with_their_own_types(still, page):
    answer = still.get(page)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    types = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
    names = named_files(answer)
    assert names
    for name in names:
        file = still.get(name)
        assert (file.status_code, file.headers["content-type"]) == (200, types[Path(name).suffix])
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_titles_of_pages_have_one_pattern():
    """The page, its collection if it has one, then audiosim: as sent, and as scripts set it."""
    pages = ROOT / "service" / "pages"
    sent = [re.search("<title>(.*)</title>", page.read_text())[1] for page in pages.glob("*.html")]
    scripts = (path.read_text() for path in pages.glob("*/*.js") if "vendor" not in path.parts)
    later = [title for script in scripts for title in re.findall("document.title = `(.*)`;", script)]
    assert len(sent) > 7
    assert len(later) > 3
    for title in sent + later:
        what, *collection, service = title.split(" · ")
        assert what
        assert len(collection) <= 1
        assert service == "audiosim"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_no_script_and_has_no_style_within(still, page):
    answer = still.get(page)
    assert re.findall(r"<script(?![^>]*\ssrc=)[^>]*>", answer.text) == []
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=", answer.text) == []
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("page", PAGES)
def test_a_page_weighs_less_than_200_kb_compressed(still, page):
    answer = still.get(page)
    files = {name: still.get(name) for name in named_files(answer)}
    for name in [name for name in files if name.endswith(".js")]:
        files |= modules_of(still, name)
    assert all(file.status_code == 200 for file in files.values())
    weights = [len(gzip.compress(file.content)) for file in [answer, *files.values()]]
    assert sum(weights) < 200_000


@pytest.mark.parametrize("page", ["judge", "organise"])
def test_an_unknown_collection_has_no_page(still, page):
    answer = still.get(f"/{page}/<b>no</b>")
    assert answer.status_code == 404
    answer = still.get(f"/{page}/%3Cb%3Eno")
    assert answer.status_code == 404
    assert "There is no collection “<bdi>&lt;b&gt;no</bdi>” here" in answer.text


@pytest.mark.parametrize("name", ["judge.html", "nothing.js", "../routes/pages.py", "%2e%2e/app.py", "vendor"])
def test_only_files_that_pages_load_are_sent(still, name):
    version = named_files(still.get("/judge/demo"))[0].split("/")[2]
    answer = still.get(f"/static/{version}/{name}")
    assert answer.status_code == 404


def test_a_file_of_another_release_is_refused(still):
    answer = still.get("/static/0123456789abcdef/base.css")
    assert (answer.status_code, answer.json()["detail"]) == (404, "this file is of another release; load it again")


def test_a_file_is_sent_whole_to_those_who_know_no_compression(still):
    name = next(name for name in named_files(still.get("/judge/demo")) if name.endswith("base.css"))
    plain = still.get(name, headers={"accept-encoding": "identity"})
    packed = still.get(name, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.text == packed.text == (ROOT / "service" / "pages" / "base.css").read_text()


def test_the_version_changes_with_any_file(tmp_path):
    (tmp_path / "one.js").write_text("export const one = 1;")
    before = Release.read(tmp_path).version
    assert Release.read(tmp_path).version == before
    (tmp_path / "one.js").write_text("export const one = 2;")
    changed = Release.read(tmp_path).version
    (tmp_path / "one.js").rename(tmp_path / "two.js")
    assert len({before, changed, Release.read(tmp_path).version}) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_a_button_says_otherwise(browse, scheme):
    page = browse("/judge/demo", color_scheme=scheme)
    background = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(244, 246, 249)", "dark": "rgb(17, 21, 27)"}
    assert page.evaluate(background) == colours[scheme]
    for chosen in ["light", "dark"]:
        page.click("#theme")
        assert page.inner_text("#theme") == f"Theme: {chosen}"
        assert page.evaluate(background) == colours[chosen]
    page.reload()
    assert page.evaluate(background) == colours["dark"]
    page.click("#theme")
    assert page.evaluate(background) == colours[scheme]


LEFT = """async () => [localStorage.length, document.cookie, (await indexedDB.databases()).length, innerWidth,
  matchMedia("(prefers-color-scheme: dark)").matches]"""
LEAVE = """() => new Promise((done) => {
  localStorage.one = document.cookie = "one=1";
  indexedDB.open("one").onsuccess = ({ target: { result } }) => done(result.close());
})"""


def test_a_test_leaves_nothing_on_the_page_for_the_next(desk, live):
    page = desk.take(live.url)
    page.goto("/health/live")
    new = page.evaluate(LEFT)
    page.evaluate(LEAVE)
    page.set_viewport_size({"width": 300, "height": 300})
    page.emulate_media(color_scheme="dark")
    assert [one == another for one, another in zip(page.evaluate(LEFT), new, strict=True)] == [False] * len(new)
    page.route("**/live", lambda route: route.abort())
    page.context.new_page()
    page.context.set_offline(True)
    desk.clear()
    assert desk.take(live.url) is page
    page.goto("/health/live")
    assert page.evaluate(LEFT) == new
    assert page.context.pages == [page]
