"""The gallery: every script answers one question, in seconds, on what comes with audiosim, by what is public."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "gallery").glob("*.py"))
PUBLIC = set(re.findall(r"^\| `([a-z_.]+)` \|", (ROOT / "docs" / "public.md").read_text("utf-8"), re.MULTILINE))
SECONDS = 60  # of processor time, on the slowest machine


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
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_in_seconds_and_shows_something(path):
    # As sphinx-gallery runs it, plus what it keeps: the plots, what was printed, and the last value.
    script = path.read_text(encoding="utf-8")
    code = (
        "import ast, pathlib, resource, runpy, sys\n"
        "from matplotlib import pyplot\n"
        f"path = {str(path)!r}\n"
        "tree = ast.parse(pathlib.Path(path).read_text(encoding='utf-8'))\n"
        "runpy.run_path(path)\n"
        "last = isinstance(tree.body[-1], ast.Expr)\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "sys.stderr.write(f'{len(pyplot.get_fignums())} {int(last)} {used.ru_utime + used.ru_stime}')\n"
    )
    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    figures, last, seconds = said.stderr.split()
    assert int(figures) or int(last)
    assert float(seconds) < SECONDS
    assert "print(" not in script or said.stdout
