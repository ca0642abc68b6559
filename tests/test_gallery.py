"""The gallery: every script answers one question in seconds, with data included in audiosim and public functions."""

import ast
import re
import runpy
import time
from importlib.util import find_spec
from pathlib import Path

import altair
import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "gallery").glob("*.py"))
PUBLIC = set(re.findall(r"^\| `([a-z_.]+)` \|", (ROOT / "docs" / "public.md").read_text("utf-8"), re.MULTILINE))
SECONDS = 60  # of processor time, on the slowest machine
# The build of the site runs all of them, where its packages are installed: tests/test_site.py.
RUN_HERE = [] if find_spec("sphinx_gallery") else SCRIPTS


def test_there_are_at_least_a_dozen():
    assert len(SCRIPTS) >= 12


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_asks_one_question_and_imports_what_is_public(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title = (ast.get_docstring(tree) or "").splitlines()
    assert title[0].endswith("?")
    assert title[1] == "=" * len(title[1])
    assert len(title[1]) >= len(title[0])
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {name for name in named if name.split(".")[0] in ("audiosim", "service")} <= PUBLIC


@pytest.mark.slow
@pytest.mark.usefixtures("unspread")
@pytest.mark.parametrize("path", RUN_HERE, ids=lambda path: path.stem)
def test_a_script_runs_in_seconds_and_shows_something(path, capsys):
    # As sphinx-gallery runs it, but in a separate process, recording the same: charts, output and the last value.
    script = path.read_text(encoding="utf-8")
    begun = time.process_time()
    found = runpy.run_path(str(path))
    said = capsys.readouterr().out
    if "not here" in said:
        pytest.skip(f"the script needs data that are not part of the project: {said.splitlines()[0]}")
    charts = [one for one in found.values() if isinstance(one, altair.TopLevelMixin)]
    assert charts or isinstance(ast.parse(script).body[-1], ast.Expr)
    for chart in charts:
        chart.to_dict()
    assert time.process_time() - begun < SECONDS
    assert "print(" not in script or said
