"""Figures of the docs, computed again by the command recorded with each in benchmarks/results.json.

Used by the notebooks of this folder, which `make validation` runs. AUDIOSIM_FIGURES=kept only shows the kept figures.
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
WORK = ROOT / "docs" / "_build" / "validation" / "played"
CAMPAIGNS_FIRST = ("benchmarks/verdicts.py", "benchmarks/plans.py")  # these evaluate campaigns played before
KEPT = os.environ.get("AUDIOSIM_FIGURES") == "kept"


def show(*benchmarks: str) -> None:
    """Run some benchmarks again, each as in its last run, and show their figures beside the earlier ones."""
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
    for words in commands(command):
        done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{shlex.join(words)}: exit code {done.returncode}\n{done.stderr[-2000:]}")


def commands(command: str) -> list[list[str]]:
    """Words after `python` of a command of results.json, preceded by those of commands that it needs."""
    script, *rest = shlex.split(command)[1:]
    words = [script, *map(_found, [script, *rest], rest)]
    needed = script in CAMPAIGNS_FIRST and not Path(words[1]).is_dir()
    return [["benchmarks/campaigns.py", words[1]], words] if needed else [words]


def _found(before: str, word: str) -> str:
    """A word of a command, given the one before; paths in results.json are shortened to their last name.

    Collections are in the public data, pictures in docs/, and played campaigns in WORK.
    """
    if before == "--plot":
        return str(ROOT / "docs" / word)
    if before == "--keep" or before in CAMPAIGNS_FIRST:
        return str(WORK / word)
    data = ROOT.parent / "shared" / "data" / word
    return str(data) if not (ROOT / word).exists() and data.is_dir() else word
