"""Figures of the benchmarks: timed alike, printed beside their limits, kept as data, shown as tables in the docs.

    python benchmarks/figures.py            write the tables of the docs again from benchmarks/results.json
    python benchmarks/figures.py --check    exit code 1 if a table differs from results.json
    python benchmarks/figures.py --changed  figures whose code has changed since, with the changed files
    python benchmarks/figures.py --beside COMMIT [--rounds 3] loop.py ...
                                            run a benchmark of that commit and of this checkout in turn; keep nothing

A benchmark adds its figures to `Figures`, which prints each and keeps them all in results.json under the benchmark's
name, with their command, commit (with + if a file differed from it), processor, load and code. A page of the docs shows
them between two marks,

    <!-- figures: ordinal -->               all figures of benchmarks/ordinal.py
    <!-- figures: evidence sound -->        those of its part `sound`: Figures("evidence", "sound")
    <!-- figures: joint table / systems --> one table of them, by its title
    <!-- end of figures -->

and the text between the marks is made only from results.json; the site adds which figures' code has changed since.
"""

import argparse
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from measured_code import changed_files, code_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = Path(os.environ.get("FIGURES_RESULTS", HERE / "results.json"))
PAGES = ROOT / "docs"
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
        self.start, self.commit, self.load = time.time(), _commit(), os.getloadavg()[0]

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
        results = kept()
        command = shlex.join(["python", f"benchmarks/{self.benchmark}.py", *map(_public, sys.argv[1:])])
        load = f"{self.load:.1f} to {os.getloadavg()[0]:.1f}"
        of_run = {"command": command, "commit": self.commit, "processor": _processor(), "load": load}
        of_run |= {"code": _code(HERE / f"{self.benchmark}.py", self.start), "rows": self.rows}
        results[self.name] = of_run | ({"tables": self.tables} if self.tables else {})
        whole = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False) + "\n"
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


def _commit() -> str:
    """The commit of this checkout, with + if a file differs from it; empty outside of Git."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _code(script: Path, start: float) -> str:
    """The measured code; empty if it was edited during the run. Another process, because memory is measured in this."""
    command = [sys.executable, HERE / "measured_code.py", script, str(start)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    """The kind and number of processors, and the version of Python."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else platform.machine()}, Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def kept() -> dict[str, dict]:
    """The kept figures of every benchmark, by its name and part."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def shown(of: dict, title: str | None = None, mark: str = "") -> str:
    """The figures of one benchmark as Markdown, or one table of them, with their command, and a mark after it."""
    parts = [] if title is None else [_markdown(of["tables"][title])]
    if title is None and of["rows"]:
        cells = [[row["what"], f"{row['value']:,.10g} {row['unit']}", _limit(row), row["note"]] for row in of["rows"]]
        parts.append(_markdown({"columns": ["", "figure", "limit", ""], "rows": cells}))
    if title is None:
        parts += [f"{name}:\n\n{_markdown(table)}" for name, table in of.get("tables", {}).items()]
    where = [of["processor"], *(f"{name} {of[name]}" for name in ("commit", "load") if of.get(name))]
    return "\n\n".join([*parts, f"    {of['command']}", f"({', '.join(where)}{mark})"])


def _markdown(table: dict) -> str:
    rows = [table["columns"], ["---"] * len(table["columns"]), *([*map(_shown, row)] for row in table["rows"])]
    return "\n".join(f"| {' | '.join(map(str.strip, row))} |" for row in rows)


def with_tables(page: str, results: dict, marks: Mapping[str, str] | None = None) -> str:
    """A page with the tables of these results at its marks; marks of benchmarks that were never run stay unchanged."""

    def filled(place: re.Match[str]) -> str:
        head, name, title, end = place.groups()
        if name not in results:
            return place[0]
        return f"{head}{shown(results[name], title, (marks or {}).get(name, ''))}\n{end}"

    return PLACE.sub(filled, page)


def changed(results: Mapping[str, dict]) -> dict[str, str]:
    """Names of the figures whose code is no longer the measured one."""
    scripts = {name: HERE / f"{name.split()[0]}.py" for name in results}
    return {name: "; its code has changed since" for name in results if code_of(scripts[name]) != results[name]["code"]}


def show_changed(results: Mapping[str, dict]) -> None:
    """Print the figures whose code has changed, each with the changed files if their commit is in the history."""
    marked = changed(results)
    for name in marked:
        commit = results[name]["commit"].removesuffix("+")
        print(f"{name}: {changed_files(HERE / f'{name.split()[0]}.py', commit)}")
    print(f"{len(marked)} of {len(results)} figures are of code that has changed since")


def beside(commit: str, rounds: int, words: Sequence[str]) -> None:
    """Run a benchmark of a commit and of this checkout in turn, and print the medians of both.

    Each runs its own script on its own code, in a folder beside the same `shared` data.
    """
    found: dict[str, tuple[list[float], list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        old, own = Path(name) / "old", Path(name) / "results.json"
        (Path(name) / "shared").symlink_to(ROOT.parent / "shared")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", old, commit], cwd=ROOT, check=True)
        try:
            for tree, place in [(old, 0), (ROOT, 1)] * rounds:
                results = old / "benchmarks" / "results.json" if place == 0 else own
                results.unlink(missing_ok=True)
                variables = os.environ | {"PYTHONPATH": str(tree), "FIGURES_RESULTS": str(results)}
                command = [sys.executable, tree / "benchmarks" / words[0], *words[1:]]
                subprocess.run(command, cwd=tree, env=variables, check=True, stdout=sys.stderr)
                for what, value in _numbers(json.loads(results.read_text("utf-8"))):
                    found.setdefault(what, ([], []))[place].append(value)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", old], cwd=ROOT, check=True)
    both = {what: [statistics.median(values) for values in each] for what, each in found.items() if all(each)}
    rows = [[what, before, now, _short(now / before) if before else None] for what, (before, now) in both.items()]
    print(*_aligned({"columns": ["", commit, "here", "here over it"], "rows": rows}), sep="\n")


def _numbers(results: Mapping[str, dict]) -> list[tuple[str, float]]:
    """Every number of some results, named by its row and column."""
    rows = [(f"{row['what']}, {row['unit']}", row["value"]) for of in results.values() for row in of["rows"]]
    for of in results.values():
        for title, table in of.get("tables", {}).items():
            for row in table["rows"]:
                cells = zip(table["columns"][1:], row[1:], strict=True)
                rows += [(f"{title}: {row[0]}, {head}", cell) for head, cell in cells if isinstance(cell, float | int)]
    return rows


def write_pages(results: dict, check: bool) -> int:
    """Update the pages, or check them."""
    stale = []
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text("utf-8")
        fresh = with_tables(page, results)
        if fresh != page and check:
            stale.append(path.name)
        elif fresh != page:
            path.write_text(fresh, encoding="utf-8")
    print("".join(f"{name} differs from results.json: run python benchmarks/figures.py\n" for name in stale), end="")
    return 1 if stale else 0


def main() -> int:
    """Update or check the pages, name the figures whose code has changed, or compare with another commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--beside", metavar="COMMIT")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("words", nargs=argparse.REMAINDER, help="script of benchmarks/ and its arguments")
    asked = parser.parse_args()
    if asked.beside:
        beside(asked.beside, asked.rounds, asked.words)
    elif asked.changed:
        show_changed(kept())
    else:
        return write_pages(kept(), asked.check)
    return 0


if __name__ == "__main__":
    sys.exit(main())
