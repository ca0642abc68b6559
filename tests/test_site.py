"""The documentation site: generated pages cover everything, and the whole site is built without warnings."""

import importlib
import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import audiosim
from audiosim import cli
from audiosim.service.client import Client, Organiser
from audiosim.service.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "fixtures" / "demo"


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "docs"))
    return importlib.import_module("generated_pages")


@pytest.mark.slow
def test_the_reference_has_every_command_with_its_options(pages):
    text = pages.commands_page()
    sections = re.findall(r"^## audiosim ([\w-]+)", text, re.MULTILINE)
    assert set(sections) == set(cli.COMMANDS)
    evaluate = text.split("## audiosim evaluate\n")[1].split("\n## ")[0]
    assert "audiosim evaluate COLLECTION [OPTIONS]" in evaluate
    assert "| `--unjudged` |" in evaluate
    assert "One of `error`, `zero`, `skip`." in evaluate
    assert "## audiosim study sample" in text


@pytest.mark.slow
def test_the_reference_has_every_setting_of_the_service_and_every_route(pages):
    settings = pages.configuration_page()
    named = re.findall(r"^\| `(?:--)?([a-z-]+)` \| \S.* \| (?:`[^`]*`)? *\|$", settings, re.MULTILINE)
    assert named == [one.name.replace("_", "-") for one in fields(Settings)]
    assert "| `--port` | Port to listen on; 0 for any. | `8000` |" in settings
    routes = pages.http_page()
    for route in ("POST /v1/collections/{collection}/judgments", "GET /health/ready", "GET /v1/models/{model}"):
        assert f"## {route}" in routes, route


@pytest.mark.slow
def test_every_key_of_every_recorded_answer_in_json_is_explained(pages):
    keys, schemas = sys.modules["generated_keys"], pages._document()["components"]["schemas"]
    listed = {name: keys.keys_of(name, verb, schemas) for name, verb in pages.verbs()}
    assert keys.recorded().keys() <= {name for name, found in listed.items() if found}
    assert not [(name, key) for name, found in listed.items() for key, words in found.items() if not words]
    text = "\n".join(keys.keys_parts(pages.verbs(), schemas))
    for verb in ("check", "estimate", "compare", "predict", "next", "plan", "evaluate", "judges", "train", "worth"):
        assert f"\n## {verb}\n" in text
    # What a verb prints today, not only what was recorded.
    found = audiosim.compare(DEMO, "timbre-full", "rhythm", judgments=DEMO / "truth.qrels").to_dict()
    assert {".".join(path) for path in keys.paths(found)} <= listed["compare"].keys()


@pytest.mark.slow
def test_the_table_of_faces_has_every_verb_route_and_method_of_the_client_once(pages):
    text = pages.faces_page()
    table = text.split("## Options by face")[0]
    assert re.findall(r"^\| `audiosim ([a-z -]+)` \|", table, re.MULTILINE) == [name for name, _ in pages.commands()]
    routes = [
        f"{method} {path}" for path, some in pages._document()["paths"].items() for method in map(str.upper, some)
    ]
    assert sorted(re.findall(r"`((?:GET|POST|DELETE) /[^`]*)`", table)) == sorted(routes)
    methods = [name for kind in (Client, Organiser) for name, one in vars(kind).items() if inspect.isfunction(one)]
    named = re.findall(r"`Client\.(?:organiser\.)?(\w+)`", table)
    assert sorted(named) == sorted(name for name in methods if not name.startswith("_") and name != "close")
    rows = {
        row[0]: row[1:]
        for row in re.findall(r"^\| `audiosim (\S+)` \| (\S*) \| (\S.*?) \| (\S*) \| (\S.*|) \|$", table, re.M)
    }
    assert rows["compare"] == ("`audiosim.compare`", "`GET /v1/collections/{collection}/two-systems`", "", "organise")
    assert "| estimate | `ideal` | `--ideal` | yes | yes |" in text
    assert "| evaluate | `success` |  | yes | yes |" in text


@pytest.mark.slow
def test_the_reference_has_every_public_name_of_python(pages):
    text = pages.python_page()
    assert [name for name in audiosim.__all__ if f"### audiosim.{name}\n" not in text] == []
    assert "## audiosim.joint.posterior" in text


def test_the_clips_of_the_first_page_are_the_demos_with_the_grade_of_its_listener():
    text, demo = (ROOT / "docs" / "index.md").read_text("utf-8"), ROOT / "fixtures" / "demo"
    heard, result = re.findall(r'src="_static/(\w+)\.ogg"', text)
    queries = dict(line.split("\t") for line in (demo / "queries.tsv").read_text("utf-8").splitlines())
    (query,) = (name for name, document in queries.items() if document == heard)
    grades = (line.split() for line in (demo / "truth.qrels").read_text("utf-8").splitlines())
    (grade,) = (row[3] for row in grades if (row[0], row[2]) == (query, result))
    assert f"<summary>What the demo's listener says</summary>{grade} of 100" in text
    assert f'CLIPS = ("{heard}", "{result}")' in (ROOT / "docs" / "conf.py").read_text("utf-8")


def test_links_of_pages_from_the_root_lead_to_pages_of_the_site(pages):
    for name in pages.SHOWN.values():
        for link in re.findall(r"\]\(([^)#:]+)\)", pages.root_page(name)):
            there = {"contributing.md", "security.md", "changelog.md"}
            assert link in there or (ROOT / "docs" / "project" / link).resolve().parent == ROOT / "docs", link


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_without_a_network():
    pytest.importorskip("sphinx_gallery", reason='the site needs pip install "audiosim[docs]"')
    environment = Path(sys.prefix)
    # Whoever has the packages of the site need not have installed them by make.
    build = ["make", "-s", "-o", f"{environment}/installed-for-docs", f"VENV={environment}", "docs"]
    said = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    html = ROOT / "docs" / "_build" / "html"
    index = (html / "index.html").read_text(encoding="utf-8")
    assert "pydata" in index
    sounds = re.findall(r'<audio [^>]*src="([^"]+)"', index)
    assert len(sounds) == 2
    assert all((html / sound).is_file() for sound in sounds)
    joint = (html / "joint.html").read_text(encoding="utf-8")
    assert "<math" in joint
    # Nothing is loaded from other sites.
    for page in (index, joint):
        assert re.findall(r'(?:src|<link[^>]*href)="https?://[^"]+"', page) == []
    # Every script of the gallery ran in seconds and shows something.
    for script in sorted((ROOT / "gallery").glob("*.py")):
        shown = (html / "gallery" / f"{script.stem}.html").read_text(encoding="utf-8")
        assert re.search(r"<figure>\s*<svg|class=\"sphx-glr-script-out", shown), script
        assert "print(" not in script.read_text(encoding="utf-8") or "sphx-glr-script-out" in shown, script
    times = (html / "gallery" / "sg_execution_times.html").read_text(encoding="utf-8")
    took = re.findall(r"<p>(\d+:\d\d\.\d+)</p>", times)
    assert len(took) == len(list((ROOT / "gallery").glob("*.py")))
    assert max(took) < "01:00"
