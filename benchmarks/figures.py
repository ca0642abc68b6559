"""The figures of the benchmarks: timed alike, printed beside their limits, kept as data, shown as tables in the docs.

    python benchmarks/figures.py            write the tables of docs/benchmarks.md anew from benchmarks/results.json

A benchmark adds its figures to `Figures`, which prints each and keeps them all in results.json under the benchmark's
name, with the command and the processor that gave them. What is in the docs is made from that file alone.
"""

import json
import os
import platform
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
OPEN, CLOSE = "<!-- figures: {} -->", "<!-- end of figures -->"


def cpu_seconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time of a call, over some runs."""
    return _median(work, runs, time.process_time)


def wall_seconds(work: Callable[[], object], runs: int) -> float:
    """Median time by the clock of a call, over some runs."""
    return _median(work, runs, time.perf_counter)


def _median(work: Callable[[], object], runs: int, clock: Callable[[], float]) -> float:
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return statistics.median(times)


class Figures:
    """The figures of one run of a benchmark; kept when its `with` ends without an error."""

    def __init__(self, benchmark: str) -> None:
        """An empty table.

        benchmark  name of the script, without its ending
        """
        self.benchmark = benchmark
        self.rows: list[dict[str, str | float | None]] = []

    def __enter__(self) -> "Figures":
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None and self.rows:
            self._keep()

    def add(self, what: str, value: float, unit: str = "ms", limit: float | None = None, note: str = "") -> None:
        """Print a figure beside its limit, and keep it.

        what   it is a figure of, unique in the benchmark
        value  in the unit
        limit  it should not exceed, in the unit; None for a figure that is only told
        note   such as how a peer did in the same run
        """
        self.rows.append({"what": what, "value": float(f"{value:.4g}"), "unit": unit, "limit": limit, "note": note})
        beside = "" if limit is None else f"   limit {limit:g} {unit}"
        print(f"{what:58} {value:10.4g} {unit:5}{beside}{f'   {note}' if note else ''}", flush=True)

    def _keep(self) -> None:
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        command = shlex.join(["python", f"benchmarks/{self.benchmark}.py", *sys.argv[1:]])
        kept[self.benchmark] = {"command": command, "processor": _processor(), "rows": self.rows}
        whole = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n"
        half = RESULTS.with_suffix(".part")
        half.write_text(whole, encoding="utf-8")
        half.replace(RESULTS)


def _processor() -> str:
    """The kind of processor, how many are there, and the Python."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else platform.machine()}, Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def table(kept: dict) -> str:
    """The rows of one benchmark as a Markdown table, with the command that gave them."""
    lines = ["| | figure | limit | |", "|---|---|---|---|"]
    for row in kept["rows"]:
        limit = "" if row["limit"] is None else f"{row['limit']:g} {row['unit']}"
        lines.append(f"| {row['what']} | {row['value']:g} {row['unit']} | {limit} | {row['note']} |")
    return "\n".join([*lines, "", f"    {kept['command']}", "", f"({kept['processor']})"])


def with_tables(page: str, results: dict) -> str:
    """A page whose marked places hold the tables of these results."""
    for benchmark, kept in results.items():
        head, mark, rest = page.partition(OPEN.format(benchmark))
        if mark:
            page = f"{head}{mark}\n{table(kept)}\n{CLOSE}{rest.partition(CLOSE)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), json.loads(RESULTS.read_text("utf-8"))), encoding="utf-8")
