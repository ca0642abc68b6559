"""Figures of the docs made anew: each by the command that benchmarks/results.json names beside it.

In the notebooks of this folder, which `make validation` runs. AUDIOSIM_FIGURES=kept only shows what is kept.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
from IPython.display import Markdown, display

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
KEPT = os.environ.get("AUDIOSIM_FIGURES") == "kept"


def show(*benchmarks: str) -> None:
    """Run some benchmarks again, each as it was run last, and show their figures beside those from before."""
    for benchmark in benchmarks:
        before = _results()
        for name in [name for name in before if name.split()[0] == benchmark]:
            if not KEPT:
                _run(before[name]["command"])
            display(Markdown(f"**{name}** `{before[name]['command']}`"))
            _display(before[name], _results()[name])


def _display(before: dict, now: dict) -> None:
    if now["rows"]:
        old = {row["what"]: row["value"] for row in before["rows"]}
        rows = [
            {
                "figure": row["what"],
                "value": row["value"],
                "before": old.get(row["what"]),
                "unit": row["unit"],
                "limit": row["limit"],
                "met": _met(row),
            }
            for row in now["rows"]
        ]
        display(pd.DataFrame(rows).set_index("figure"))
    for title, table in now.get("tables", {}).items():
        display(Markdown(title), pd.DataFrame(table["rows"], columns=table["columns"]))


def _met(row: dict) -> str:
    if row["limit"] is None:
        return ""
    return "yes" if (row["value"] >= row["limit"] if row.get("least") else row["value"] <= row["limit"]) else "NO"


def _results() -> dict:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def _run(command: str) -> None:
    """Run a command of results.json; a path in it was shortened to its name, which is looked for in the public data."""
    words = [_found(word) for word in shlex.split(command)[1:]]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr[-2000:]}")


def _found(word: str) -> str:
    data = ROOT.parent / "shared" / "data" / word
    return str(data) if not (ROOT / word).exists() and data.is_dir() else word
