"""Processor time and peak memory of each job as collections grow, and the slopes of both on logarithmic axes.

    python benchmarks/scaling.py [--pairs 1000000] [--only estimate] [--picture docs/scaling.png]

Each job is the command that users run, or the loop of asking and telling, in a fresh process on one thread, on
synthetic collections of 50 systems x 10 documents with teams, genres and artists; `judged` means a random 500 of the
pairs. Peers do the same in the same run if they are installed (pip install audiosim[bench]): pytrec_eval and ranx read
and score the same files, statsmodels fits the same variance components. A slope is from the size above: 1 means in
proportion to the pairs. `--systems 200` does the same for 200 systems. Each job is kept separately, so that `--only`
can repeat some; the picture shows all kept ones.
"""

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from figures import RESULTS, Figures
from synthetic import Design, synthetic_collection

from audiosim.collection.written import qrels_lines
from audiosim.tables.arrays import write_parquet
from audiosim.tables.text import write_text

SIZES = (1_000, 4_000, 17_000, 86_000, 1_000_000)  # approximate numbers of pairs
JUDGED = 500
ROWS = (1_000_000, 10_000_000, 100_000_000)  # rows of features
LOOPED = 10  # pairs asked for and told, after the first
FITTED = (100, 1_000, 4_000)  # values to which variance components are fitted
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
COMMAND = [sys.executable, "-m", "audiosim"]

LOOP = """
import statistics, sys, time
from audiosim import Collection, Judgment, Selection, parse_measure
from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import make_estimator
collection = Collection.load(sys.argv[1], judgments=sys.argv[2])
pool = build_pool(collection)
selection = Selection.start(
    pool, parse_measure(f"CG@{pool.cutoff}"), make_estimator(pool, "joint"), collection.judgments
)
assert selection.ask()
times, whole = [], 0.0
for _ in range(1 + int(sys.argv[3])):
    start = time.process_time()
    (pair,) = selection.ask()
    selection = selection.tell(Judgment(*pair, grade=50.0))
    assert selection.believed.confidence and selection.ask()
    times.append(time.process_time() - start)
    whole = whole or time.process_time()
print(statistics.median(times[1:]), whole)
"""

FILES = """
import sys
from pathlib import Path
folder = Path(sys.argv[1])
runs, qrels = folder / "runs.trec", folder / "judgments.qrels"
"""

PYTREC_EVAL = f"""{FILES}
import pytrec_eval
with qrels.open() as stream:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(stream), {{"ndcg_cut.10"}})
systems = {{}}
with runs.open() as stream:
    for line in stream:
        query, _, document, _, score, system = line.split()
        systems.setdefault(system, {{}}).setdefault(query, {{}})[document] = float(score)
for run in systems.values():
    found = evaluator.evaluate(run)
    assert sum(values["ndcg_cut_10"] for values in found.values()) / len(found)
"""

RANX = f"""{FILES}
from ranx import Qrels, Run, evaluate
judgments, systems = Qrels.from_file(str(qrels), kind="trec"), {{}}
with runs.open() as stream:
    for line in stream:
        query, _, document, _, score, system = line.split()
        systems.setdefault(system, {{}}).setdefault(query, {{}})[document] = float(score)
for run in systems.values():
    assert evaluate(judgments, Run(run), "ndcg@10", make_comparable=True)
"""

DRAWN = """
import sys, time
import numpy as np
rng, n = np.random.default_rng(0), int(sys.argv[1])
query, system = np.arange(n) // 10, rng.integers(0, 30, n)
values = rng.normal(size=-(-n // 10))[query] + 0.6 * rng.normal(size=30)[system] + 0.7 * rng.normal(size=n)
"""

OUR_FIT = f"""{DRAWN}
from audiosim.stats.normal.variance_components import estimate_components
from audiosim.stats.normal.layout import Layout
blocks = tuple(np.split(np.arange(n), n // 10))
start = time.process_time()
kernels = {{"query": tuple(np.ones((10, 10)) for _ in blocks)}}
layout = Layout(blocks, kernels, {{"system": np.eye(30)[system]}}, np.ones(n))
found = estimate_components([layout], [values], {{"query": 1.0, "system": 1.0, "rest": 1.0}})
spent = time.process_time() - start
print(spent, *(found.standard_deviations[name] ** 2 for name in ("query", "system", "rest")))
"""

THEIR_FIT = f"""{DRAWN}
import statsmodels.api
from statsmodels.regression.mixed_linear_model import VCSpec
start = time.process_time()
effects = [np.eye(n // 10)[query], np.eye(30)[system]]
columns = [[[f"{{i}}" for i in range(one.shape[1])]] for one in effects]
spec = VCSpec(["query", "system"], columns, [[one] for one in effects])
found = statsmodels.api.MixedLM(values, np.ones(n), np.ones(n), exog_vc=spec).fit(reml=True)
print(time.process_time() - start, *found.vcomp, found.scale)
"""


class Spent(NamedTuple):
    """Seconds of processor time, peak memory in MB, and the last line printed by a process."""

    seconds: float
    megabytes: float
    said: str


def spent(arguments: Sequence[str | Path]) -> Spent:
    """Costs of a fresh process; its error if it fails."""
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
    """A synthetic collection of about this many pairs, with genres and artists, made unless it exists.

    See `synthetic_collection`.
    """
    folder, judged = where / f"{systems}-systems-{pairs}", where / f"{systems}-systems-{pairs}.qrels"
    if judged.exists():
        with (folder / "judgments.qrels").open("rb") as stream:
            return Made(folder, judged, sum(1 for _ in stream))
    depth, candidates = 10, 100
    each = 85.9 if systems == 50 else 98.6  # pairs retrieved by this many systems for a query
    design = Design(systems, systems // 2, max(2, round(pairs / each)), depth, candidates)
    collection = synthetic_collection(np.random.default_rng(0), design)
    collection.save(folder)
    some = np.random.default_rng(1).permutation(len(collection.judgments))[:JUDGED]
    write_text(judged, qrels_lines(collection.judgments[place] for place in some.tolist()))
    return Made(folder, judged, len(collection.judgments))


Job = Callable[[Made], Spent]


def command(*arguments: str, judged: bool | None) -> Job:
    """A command on a collection, with nothing, a few or, for None, all of it judged."""

    def job(of: Made) -> Spent:
        which = {None: [], True: ["--judgments", of.judged], False: ["--judgments", "none"]}[judged]
        return spent([*COMMAND, arguments[0], of.folder, *arguments[1:], *which])

    return job


@cache
def _looped(of: Made) -> Spent:
    return spent([sys.executable, "-c", LOOP, of.folder, of.judged, str(LOOPED)])


def looped(of: Made) -> Spent:
    """Median seconds of one ask and tell; memory of the whole process."""
    found = _looped(of)
    return found._replace(seconds=float(found.said.split()[0]))


def begun(of: Made) -> Spent:
    """Seconds from the start of the process until one pair was asked for and told, and the next one asked for."""
    found = _looped(of)
    return found._replace(seconds=float(found.said.split()[1]))


def trained(of: Made) -> Spent:
    """Costs of a joint model that learns from a whole collection."""
    model = of.folder.parent / "model.json"
    return spent([*COMMAND, "train", of.folder, "--features", "joint", "-o", model])


def scripted(script: str) -> Job:
    """A peer's script on the files of a collection."""
    return lambda of: spent([sys.executable, "-c", script, of.folder])


class Limit(NamedTuple):
    """Most seconds and megabytes at a number of pairs."""

    pairs: int
    seconds: float | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Kind:
    """A job, its largest number of pairs, its limits, and the package that it needs."""

    job: Job
    most: int = 1_000_000
    limits: tuple[Limit, ...] = ()
    package: str = "audiosim"


JSON = ("--format", "json")
KINDS: dict[str, Kind] = {
    "estimate, nothing judged": Kind(command("estimate", *JSON, "--measure", "CG@10", judged=False)),
    "estimate, 500 judged": Kind(
        command("estimate", *JSON, "--measure", "CG@10", judged=True), limits=(Limit(17_000, 3.0),)
    ),
    "estimated, asked and told": Kind(begun, limits=(Limit(1_000_000, 60.0, 4_000.0),)),
    "one ask and tell": Kind(looped, limits=(Limit(86_000, 0.02),)),
    "predict, 500 judged": Kind(
        command("predict", "--format", "csv", judged=True), limits=(Limit(1_000_000, None, 1_000.0),)
    ),
    "evaluate, all judged": Kind(command("evaluate", *JSON, "--measure", "nDCG@10", judged=None)),
    "the same by pytrec_eval": Kind(scripted(PYTREC_EVAL), package="pytrec_eval"),
    "the same by ranx": Kind(scripted(RANX), most=86_000, package="ranx"),
    "plan, nothing judged": Kind(
        command("plan", *JSON, "--measure", "CG@10", judged=False), 17_000, (Limit(17_000, 10.0),)
    ),
    "train --features joint": Kind(trained, 4_000, (Limit(4_000, 15.0),)),
}
FITS = {"variance components": (OUR_FIT, "audiosim"), "the same by statsmodels": (THEIR_FIT, "statsmodels")}


def slope(pairs: Sequence[int], values: Sequence[float], place: int) -> float | None:
    """Slope from the previous point to a point, on logarithmic axes."""
    if not place:
        return None
    return math.log(values[place] / values[place - 1]) / math.log(pairs[place] / pairs[place - 1])


Curve = list[tuple[int, int, Spent]]  # requested pairs, actual pairs, costs


def measured(where: Path, largest: int, systems: int, only: str | None) -> dict[str, Curve]:
    """Each job at each of its sizes."""
    curves: dict[str, Curve] = {name: [] for name, kind in KINDS.items() if _wanted(name, kind.package, only)}
    for size in (size for size in SIZES if size <= largest):
        wanted = [name for name in curves if KINDS[name].most >= size]
        if not wanted:
            continue
        of = made(where, size, systems)
        for name in wanted:
            start = time.perf_counter()
            curves[name].append((size, of.pairs, KINDS[name].job(of)))
            say(name, of.pairs, curves[name][-1][-1], time.perf_counter() - start)
    return {name: points for name, points in curves.items() if points}


def fitted(only: str | None) -> dict[str, Curve]:
    """Seconds of fits of two variance components and the rest; the peer's variances must agree with ours."""
    curves: dict[str, Curve] = {name: [] for name, (_, package) in FITS.items() if _wanted(name, package, only)}
    for values in FITTED:
        found = []
        for name in curves:
            start = time.perf_counter()
            cost = spent([sys.executable, "-W", "ignore", "-c", FITS[name][0], str(values)])
            seconds, *variances = map(float, cost.said.split())
            found.append(variances)
            curves[name].append((values, values, cost._replace(seconds=seconds)))
            say(name, values, curves[name][-1][-1], time.perf_counter() - start)
        if not all(np.allclose(one, found[0], rtol=1e-2) for one in found):
            raise SystemExit(f"variances of {values} values differ: {found}")
    return curves


STREAMED = "predict rows of features"
FEATURES = ("fSYS", "OV", "fART", "sGEN", "fGEN")


def streamed(where: Path, largest: int, only: str | None) -> dict[str, Curve]:
    """Predictions of rows of features from a Parquet file to another, at each size."""
    points: Curve = []
    for rows in (rows for rows in ROWS if rows <= largest and _wanted(STREAMED, "pyarrow", only)):
        path, start = where / "rows.parquet", time.perf_counter()
        draw_rows(path, rows)
        written = "-o", path.with_name("predicted.parquet")
        points.append((rows, rows, spent([*COMMAND, "predict-rows", path, "mout-fine", *written])))
        say(STREAMED, rows, points[-1][-1], time.perf_counter() - start)
    return {STREAMED: points} if points else {}


def draw_rows(path: Path, count: int) -> None:
    """Write rows of random features, with a document each, to a Parquet file."""
    rng = np.random.default_rng(0)
    portions = (range(first, min(first + 100_000, count)) for first in range(0, count, 100_000))
    write_parquet(
        path,
        (
            {"document": [f"d{row}" for row in rows]} | {name: rng.random(len(rows)).round(3) for name in FEATURES}
            for rows in portions
        ),
    )


def _wanted(name: str, package: str, only: str | None) -> bool:
    return (only is None or only in name) and importlib.util.find_spec(package) is not None


def say(name: str, pairs: int, cost: Spent, clock: float) -> None:
    """Print the costs of one job."""
    print(
        f"{pairs:>9,}  {name:26} {cost.seconds:9.3f} s {cost.megabytes:8,.0f} MB   {clock:6.1f} s by the clock",
        flush=True,
    )


COLUMNS = ["pairs", "s", "limit, s", "MB", "limit, MB", "slope, s", "slope, MB"]


def keep(name: str, points: Curve, part: str) -> None:
    """Print the table of one job, and keep it."""
    pairs, costs = [at for _, at, _ in points], [cost for *_, cost in points]
    own = KINDS[name].limits if name in KINDS else (Limit(ROWS[-1], None, 1_000.0),) if name == STREAMED else ()
    limits = {limit.pairs: limit for limit in own}
    rows = []
    for place, (size, at, cost) in enumerate(points):
        limit = limits.get(size, Limit(size))
        slopes = [slope(pairs, values, place) for values in ([c.seconds for c in costs], [c.megabytes for c in costs])]
        rows.append((f"{at:,}", cost.seconds, limit.seconds, cost.megabytes, limit.megabytes, *slopes))
    with Figures("scaling", f"{part}{name}") as figures:
        what = "values" if name in FITS else "rows" if name == STREAMED else "pairs"
        figures.table(name, [what, *COLUMNS[1:]], rows)


def draw(path: Path) -> None:
    """Both kept costs of each job over the pairs; the legend has the slope of the last two sizes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    time_axes, memory_axes = figure.subplots(1, 2)
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for place, name in enumerate(name for name in KINDS if f"scaling {name}" in results):
        rows = results[f"scaling {name}"]["tables"][name]["rows"]
        pairs = [int(row[0].replace(",", "")) for row in rows]
        style = "x--" if KINDS[name].package != "audiosim" else "o-"
        for axes, column in ((time_axes, 1), (memory_axes, 3)):
            last = rows[-1][-2 if axes is time_axes else -1]
            label = name if last is None else f"{name}: {last:.2g}"
            axes.loglog(pairs, [row[column] for row in rows], style, ms=4, color=f"C{place}", label=label)
    for axes, unit in ((time_axes, "processor time, s"), (memory_axes, "peak memory, MB")):
        axes.set(xlabel="pairs", ylabel=unit)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, frameon=False, title="job: slope at its end", title_fontsize=7, loc="upper left")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, print and keep the tables, and draw the kept ones if a picture is requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="pairs of the largest collection; 0: only draw")
    parser.add_argument("--rows", type=int, default=ROWS[1], help="most rows of features; a hundred million take 13 GB")
    parser.add_argument("--systems", type=int, default=50, choices=(50, 200))
    parser.add_argument("--only", help="only jobs with this in their name")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--collections", type=Path, help="folder that keeps the collections for further runs")
    options = parser.parse_args()
    part = "" if options.systems == 50 else f"{options.systems} systems "
    with tempfile.TemporaryDirectory() as name:
        curves = measured(options.collections or Path(name), options.pairs, options.systems, options.only)
        curves |= streamed(Path(name), options.rows, options.only)
    if options.pairs and not part:
        curves |= fitted(options.only)
    for name, points in curves.items():
        keep(name, points, part)
    if options.picture is not None:
        draw(options.picture)


if __name__ == "__main__":
    main()
