"""Figures of the benchmarks are kept as data, and the docs show figures made from the data."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = json.loads((BENCHMARKS / "results.json").read_text("utf-8"))
FIGURES = runpy.run_path(str(BENCHMARKS / "figures.py"))


def test_the_tables_in_the_docs_are_those_of_the_results():
    checked = subprocess.run(
        [sys.executable, BENCHMARKS / "figures.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_of_a_benchmark_that_is_there(name):
    script = BENCHMARKS / f"{name.split()[0]}.py"
    assert script.exists()
    assert RESULTS[name]["command"].startswith(f"python benchmarks/{script.name}")


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_a_page_shows_figures_of_benchmarks_that_were_run(page):
    places = re.findall(r"<!-- figures: ([^/>]+?)(?: / ([^>]+?))? -->", (ROOT / "docs" / page).read_text("utf-8"))
    for name, title in places:
        assert title in ("", *RESULTS[name].get("tables", {})), f"{page}: {name} / {title}"


def test_every_test_of_a_soak_is_there(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    for promise in runpy.run_path(str(BENCHMARKS / "soak.py"))["PROMISES"]:
        for test in promise.tests:
            path, _, name = test.partition("::")
            assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), test
            assert (ROOT / path).is_file(), test


def test_figures_become_markdown():
    row = {"what": "a fit", "value": 1200.0, "unit": "ms", "limit": 5.0, "note": "twice as fast"}
    kept = {"command": "python x.py", "processor": "1 x P", "rows": [row, row | {"least": True}]}
    kept["tables"] = {"errors": {"columns": ["model", "10 %"], "rows": [["a", 0.25], ["b", None]]}}
    table = "| model | 10 % |\n| --- | --- |\n| a | 0.25 |\n| b |  |"
    assert FIGURES["shown"](kept) == (
        "|  | figure | limit |  |\n| --- | --- | --- | --- |\n"
        "| a fit | 1,200 ms | 5 ms | twice as fast |\n| a fit | 1,200 ms | at least 5 ms | twice as fast |\n\n"
        f"errors:\n\n{table}\n\n    python x.py\n\n(1 x P)"
    )
    page = "# Page\n<!-- figures: x / errors -->\nold\n<!-- end of figures -->\nrest\n"
    assert FIGURES["with_tables"](page, {"x": kept}) == page.replace("old", f"{table}\n\n    python x.py\n\n(1 x P)")
    assert FIGURES["with_tables"](page, {}) == page
