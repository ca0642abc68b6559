"""Figures of the benchmarks: timed alike, printed beside their limits, kept as data, shown as tables in the docs.

    python benchmarks/figures.py            write the tables of the docs again from benchmarks/results.json
    python benchmarks/figures.py --check    exit code 1 if a table differs from results.json

A benchmark adds its figures to `Figures`, which prints each and keeps them all in results.json under the benchmark's
name, with their command and processor. A page of the docs shows them between two marks,

    <!-- figures: ordinal -->               all figures of benchmarks/ordinal.py
    <!-- figures: evidence sound -->        those of its part `sound`: Figures("evidence", "sound")
    <!-- figures: joint table / systems --> one table of them, by its title
    <!-- end of figures -->

and the text between the marks is made only from results.json.
"""

import json
import os
import platform
import re
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGES = HERE.parent / "docs"
PLACE = re.compile(r"(<!-- figures: ([^/>]+?)(?: / ([^>]+?))? -->\n).*?(<!-- end of figures -->)", re.DOTALL)
Cell = str | float | None


def cpu_seconds(work: Callable[[], object], runs: int) -> float:
    """Median processor time of a call, over some runs."""
    return statistics.median(cpu_times(lambda _: work(), runs))


def cpu_times(work: Callable[[int], object], runs: int, clock: Callable[[], float] = time.process_time) -> list[float]:
    """Time of some calls, each with its number, by a clock, usually processor time."""
    times = []
    for run in range(runs):
        start = clock()
        work(run)
        times.append(clock() - start)
    return times


def run_parts(parts: Mapping[str, Callable[[], object]], only: str | None) -> None:
    """Run the requested part of a benchmark, or all."""
    for name, part in parts.items():
        if only in {None, name}:
            part()


class Figures:
    """The figures of one run of a benchmark; kept when its `with` ends without an error."""

    def __init__(self, benchmark: str, part: str = "") -> None:
        """Start without figures.

        benchmark  name of the script, without its ending
        part       name of the part, if parts are run one by one and kept separately
        """
        self.benchmark, self.name = benchmark, f"{benchmark} {part}".strip()
        self.rows: list[dict[str, str | float | bool | None]] = []
        self.tables: dict[str, dict[str, Sequence]] = {}

    def __enter__(self) -> "Figures":
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None and (self.rows or self.tables):
            self._keep()

    def add(
        self,
        what: str,
        value: float,
        unit: str = "ms",
        limit: float | None = None,
        note: str = "",
        least: bool = False,
    ) -> None:
        """Print a figure beside its limit, and keep it.

        what   subject of the figure, unique in the benchmark
        value  in the unit
        limit  it should not exceed this, in the unit; None for a figure without a limit
        note   remark, such as the figure of a peer in the same run
        least  True if it should not fall below the limit instead
        """
        row = {"what": what, "value": float(f"{value:.4g}"), "unit": unit, "limit": limit, "note": note}
        self.rows.append(row | ({"least": True} if least else {}))
        print(f"{what:58} {value:10.4g} {unit:5}{_limit(self.rows[-1], '   limit ')}   {note}".rstrip(), flush=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Print a table, and keep it, for rows with more than one figure, such as one for each number of judgments.

        title    unique in the benchmark
        columns  heads; the first is for the rows' names
        """
        self.tables[title] = {"columns": list(columns), "rows": [list(map(_short, row)) for row in rows]}
        print(f"\n{title}", *_aligned(self.tables[title]), sep="\n", flush=True)

    def _keep(self) -> None:
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        command = shlex.join(["python", f"benchmarks/{self.benchmark}.py", *map(_public, sys.argv[1:])])
        of_run = {"command": command, "processor": _processor(), "rows": self.rows}
        kept[self.name] = of_run | ({"tables": self.tables} if self.tables else {})
        whole = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n"
        half = RESULTS.with_suffix(".part")
        half.write_text(whole, encoding="utf-8")
        half.replace(RESULTS)


def _short(cell: Cell) -> Cell:
    """A number to four digits; NumPy's as Python's."""
    return cell if cell is None or isinstance(cell, str) else float(f"{cell:.4g}")


def _shown(cell: Cell) -> str:
    return "" if cell is None else cell if isinstance(cell, str) else f"{cell:,.10g}"


def _public(argument: str) -> str:
    """An argument of the command; a path is reduced to its name, because folders differ between machines."""
    return Path(argument).name if "/" in argument else argument


def _limit(row: dict, before: str = "") -> str:
    """The limit of a row as text; empty if it has none."""
    word = "at least " if row.get("least") else ""
    return "" if row["limit"] is None else f"{before}{word}{row['limit']:g} {row['unit']}".rstrip()


def _aligned(table: dict) -> list[str]:
    rows = [table["columns"], *([*map(_shown, row)] for row in table["rows"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def _processor() -> str:
    """The kind and number of processors, and the version of Python."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else platform.machine()}, Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def shown(kept: dict, title: str | None = None) -> str:
    """The figures of one benchmark as Markdown, or one table of them, with their command."""
    parts = [] if title is None else [_markdown(kept["tables"][title])]
    if title is None and kept["rows"]:
        cells = [[row["what"], f"{row['value']:,.10g} {row['unit']}", _limit(row), row["note"]] for row in kept["rows"]]
        parts.append(_markdown({"columns": ["", "figure", "limit", ""], "rows": cells}))
    if title is None:
        parts += [f"{name}:\n\n{_markdown(table)}" for name, table in kept.get("tables", {}).items()]
    return "\n\n".join([*parts, f"    {kept['command']}", f"({kept['processor']})"])


def _markdown(table: dict) -> str:
    rows = [table["columns"], ["---"] * len(table["columns"]), *([*map(_shown, row)] for row in table["rows"])]
    return "\n".join(f"| {' | '.join(map(str.strip, row))} |" for row in rows)


def with_tables(page: str, results: dict) -> str:
    """A page with the tables of these results at its marks; marks of benchmarks that were never run stay unchanged."""

    def filled(place: re.Match[str]) -> str:
        head, name, title, end = place.groups()
        return place[0] if name not in results else f"{head}{shown(results[name], title)}\n{end}"

    return PLACE.sub(filled, page)


def main() -> int:
    """Update the pages, or check them."""
    results, stale = json.loads(RESULTS.read_text("utf-8")), []
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text("utf-8")
        fresh = with_tables(page, results)
        if fresh != page and "--check" in sys.argv:
            stale.append(path.name)
        elif fresh != page:
            path.write_text(fresh, encoding="utf-8")
    print("".join(f"{name} differs from results.json: run python benchmarks/figures.py\n" for name in stale), end="")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
