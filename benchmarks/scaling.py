"""Processor time and peak memory of each job as collections grow, and the slopes of both on logarithmic axes.

    python benchmarks/scaling.py [--pairs 86000] [--only estimate] [--picture docs/scaling.png]

Each job is the command that users run, or the loop of asking and telling, in a fresh process on one thread, on
synthetic collections of 50 systems x 10 documents with teams, genres and artists; `judged` is a random 500 of the
pairs. The slope is that of the last two sizes: 1 is as much more as there are more pairs. `--systems 200` has the same
for 200 systems.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from figures import Figures

from audiosim.corpus.judgments import qrels_lines
from audiosim.corpus.lines import write_text
from audiosim.simulation import Design, synthetic_collection

SIZES = (1_000, 4_000, 17_000, 86_000, 1_000_000)  # pairs, about
JUDGED = 500
LOOPED = 10  # pairs asked for and told, after the first
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
COMMAND = [sys.executable, "-m", "audiosim"]

LOOP = """
import statistics, sys, time
from audiosim import Collection, Judgment, Selection, parse_measure
from audiosim.corpus.pool import build_pool
from audiosim.plugins.contents import make_estimator
collection = Collection.load(sys.argv[1], judgments=sys.argv[2])
pool = build_pool(collection)
selection = Selection.start(
    pool, parse_measure(f"CG@{pool.cutoff}"), make_estimator(pool, "joint"), collection.judgments
)
assert selection.ask()
times = []
for _ in range(int(sys.argv[3])):
    start = time.process_time()
    (pair,) = selection.ask()
    selection = selection.tell(Judgment(*pair, grade=50.0))
    assert selection.believed.confidence and selection.ask()
    times.append(time.process_time() - start)
print(statistics.median(times))
"""


class Spent(NamedTuple):
    """Seconds of processor time, peak memory in MB, and what a process printed last."""

    seconds: float
    megabytes: float
    said: str


def spent(arguments: Sequence[str | Path]) -> Spent:
    """Costs of a fresh process; its error where it fails."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as wrong:
        process = subprocess.Popen(arguments, stdout=out, stderr=wrong, env=os.environ | ONE_THREAD)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            wrong.seek(0)
            raise SystemExit(f"{' '.join(map(str, arguments))}: exit {process.returncode}: {wrong.read()[-2000:]}")
        out.seek(max(0, out.seek(0, os.SEEK_END) - 200))
        return Spent(used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, out.read().strip().rpartition("\n")[2])


@dataclass(frozen=True)
class Made:
    """A collection on disk, and a file of a few of its judgments."""

    folder: Path
    judged: Path
    pairs: int


def made(where: Path, pairs: int, systems: int) -> Made:
    """A synthetic collection of about so many pairs, of genres and artists; see `synthetic_collection`."""
    depth, candidates = 10, 100
    each = 85.9 if systems == 50 else 98.6  # pairs that so many systems retrieve for a query
    design = Design(systems, systems // 2, max(2, round(pairs / each)), depth, candidates)
    collection = synthetic_collection(np.random.default_rng(0), design)
    folder, judged = where / f"pairs-{pairs}", where / f"judged-{pairs}.qrels"
    collection.save(folder)
    some = np.random.default_rng(1).permutation(len(collection.judgments))[:JUDGED]
    write_text(judged, qrels_lines(collection.judgments[place] for place in some.tolist()))
    return Made(folder, judged, len(collection.judgments))


Job = Callable[[Made], Spent]


def command(*arguments: str, judged: bool | None) -> Job:
    """A command on a collection, with nothing, a few or, where None, all of it judged."""

    def job(of: Made) -> Spent:
        which = {None: [], True: ["--judgments", of.judged], False: ["--judgments", "none"]}[judged]
        return spent([*COMMAND, arguments[0], of.folder, *arguments[1:], *which])

    return job


def looped(of: Made) -> Spent:
    """Median seconds of one ask and tell; memory of all."""
    found = spent([sys.executable, "-c", LOOP, of.folder, of.judged, str(LOOPED)])
    return found._replace(seconds=float(found.said))


def trained(of: Made) -> Spent:
    """Costs of a joint model that learns from a whole collection."""
    model = of.folder.parent / "model.json"
    return spent([*COMMAND, "train", of.folder, "--features", "joint", "-o", model])


JSON = ("--format", "json")
JOBS: dict[str, tuple[Job, int]] = {  # and the most pairs that it is asked for
    "estimate, nothing judged": (command("estimate", *JSON, "--measure", "CG@10", judged=False), 1_000_000),
    "estimate, 500 judged": (command("estimate", *JSON, "--measure", "CG@10", judged=True), 1_000_000),
    "one ask and tell": (looped, 1_000_000),
    "predict, 500 judged": (command("predict", "--format", "csv", judged=True), 86_000),
    "evaluate, all judged": (command("evaluate", *JSON, "--measure", "CG@10", judged=None), 1_000_000),
    "plan, nothing judged": (command("plan", *JSON, "--measure", "CG@10", judged=False), 17_000),
    "train --features joint": (trained, 4_000),
}


def slope(pairs: Sequence[int], values: Sequence[float]) -> float | None:
    """Slope of the last two points on logarithmic axes."""
    if len(values) < 2:
        return None
    return math.log(values[-1] / values[-2]) / math.log(pairs[-1] / pairs[-2])


Curves = dict[str, list[tuple[int, Spent]]]


def measured(where: Path, largest: int, systems: int, only: str | None) -> Curves:
    """Each job at each size that it is asked for."""
    curves: Curves = {name: [] for name in JOBS if only is None or only in name}
    for size in (size for size in SIZES if size <= largest):
        wanted = [name for name in curves if JOBS[name][1] >= size]
        if not wanted:
            continue
        of = made(where, size, systems)
        for name in wanted:
            start = time.perf_counter()
            curves[name].append((of.pairs, JOBS[name][0](of)))
            _, last = curves[name][-1]
            print(
                f"{of.pairs:>9,} pairs  {name:26} {last.seconds:9.3f} s {last.megabytes:8,.0f} MB"
                f"   {time.perf_counter() - start:6.1f} s by the clock",
                flush=True,
            )
    return {name: points for name, points in curves.items() if points}


def show(curves: Curves, systems: int, figures: Figures) -> None:
    """The curves as a table."""
    rows = []
    for name, points in curves.items():
        pairs, costs = [at for at, _ in points], [cost for _, cost in points]
        slopes = [slope(pairs, values) for values in ([c.seconds for c in costs], [c.megabytes for c in costs])]
        for place, (at, cost) in enumerate(points):
            last = place == len(points) - 1
            rows.append((name, f"{at:,}", cost.seconds, cost.megabytes, *(slopes if last else (None, None))))
    figures.table(f"{systems} systems", ["job", "pairs", "s", "MB", "slope, s", "slope, MB"], rows)


def draw(curves: Curves, path: Path) -> None:
    """Both costs of each job over the pairs, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    time_axes, memory_axes = figure.subplots(1, 2)
    for name, points in curves.items():
        pairs = [at for at, _ in points]
        time_axes.loglog(pairs, [cost.seconds for _, cost in points], "o-", ms=4, label=name)
        memory_axes.loglog(pairs, [cost.megabytes for _, cost in points], "o-", ms=4)
    for axes, unit in ((time_axes, "processor time, s"), (memory_axes, "peak memory, MB")):
        axes.set(xlabel="pairs", ylabel=unit)
        axes.grid(alpha=0.3)
    time_axes.legend(fontsize=8, frameon=False, loc="center right", bbox_to_anchor=(1, 0.4))
    figure.savefig(path, dpi=150)


def main() -> None:
    """Print the table, and draw it where a picture is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=86_000, help="of the largest collection")
    parser.add_argument("--systems", type=int, default=50, choices=(50, 200))
    parser.add_argument("--only", help="jobs whose name has this in it")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    part = "" if options.systems == 50 else f"{options.systems} systems"
    with tempfile.TemporaryDirectory() as name, Figures("scaling", part) as figures:
        curves = measured(Path(name), options.pairs, options.systems, options.only)
        show(curves, options.systems, figures)
        if options.only:
            figures.tables.clear()  # a part of the jobs must not take the place of all
    if options.picture is not None:
        draw(curves, options.picture)


if __name__ == "__main__":
    main()
