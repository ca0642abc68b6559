"""The judging loop: what it needs and how right it is on a real collection, and how fast it is, also on a large one.

    python benchmarks/loop.py [FOLDER] [--seeds 40] [--large]

FOLDER is a collection whose pool is judged in full, such as the public files of MIREX 2011; left out, that part is
skipped. --large adds 200 systems x 1,000 queries x 10 documents. Times are of the processor on one thread, but where
they say otherwise.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from audiosim import Collection, Judgment, Selection, parse_measure
from audiosim.corpus.pool import Pool, build_pool
from audiosim.plugins import make_estimator
from audiosim.selection import SELECTION_RULES
from audiosim.simulation import Design, Replay, replay, synthetic_collection

RUNS = 5
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirex2011"


def played(pool: Pool, truth: np.ndarray, goal: float, model: str = "mjud", **options: object) -> tuple[Replay, float]:
    """A replay, and its seconds."""
    start = time.process_time()
    selection = Selection.start(pool, parse_measure("CG@5"), make_estimator(pool, model), **options)
    return replay(selection, truth, goal), time.process_time() - start


def line(name: str, found: Replay, seconds: float) -> None:
    """Print one replay."""
    first, last = found.curve[0], found.curve[-1]
    end = f"{last.judged:>6,} {last.confidence:.3f} {last.accuracy:.3f}"
    print(f"{name:<12} {first.confidence:.3f} {first.accuracy:.3f}   {end}   {seconds:6.2f}")


def whole_process(*arguments: str) -> float:
    """Median seconds of processor time of the command as a whole process."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([Path(sys.executable).with_name("audiosim"), *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return statistics.median(once() for _ in range(RUNS))


def on_real_judgments(folder: Path, seeds: int) -> None:
    """Judgments and time that each model and each rule needs."""
    collection = Collection.load(folder)
    pool = build_pool(collection, 5)
    truth = pool.spread(collection.grades())
    print(
        "CG@5, batch 1, rule differences\nmodel        none judged   until .95: judged, confidence, accuracy; seconds"
    )
    for name in ("mjud", "mout", "ljudge", "loutput", "historical", "uniform"):
        line(name, *played(pool, truth, 0.95, name))
    print("rule, model mjud")
    for name in SELECTION_RULES:
        line(name, *played(pool, truth, 0.95, rule=name))
    drawn = [played(pool, truth, 0.95, seed=seed)[0].curve[-1] for seed in range(seeds)]
    judged, accuracy = sorted(moment.judged for moment in drawn), sorted(moment.accuracy for moment in drawn)
    print(f"differences, {seeds} draws of the ties: judged {judged[0]} to {judged[-1]}", end="")
    print(f", median {statistics.median(judged):g}; ", end="")
    print(f"accuracy {accuracy[0]:.3f} to {accuracy[-1]:.3f}, mean {statistics.mean(accuracy):.3f}")
    seconds = statistics.median(played(pool, truth, 0.95)[1] for _ in range(RUNS))
    print(f"to .95 inside the process, median of {RUNS}: {seconds:.2f} s (limit 1.0)")
    found, seconds = played(pool, truth, 1.1, rule="random")
    print(f"all {found.selection.judged:,} pairs one by one: {seconds:.1f} s (limit 15)")
    print(f"whole process, median of {RUNS}:")
    for limit, command in (
        (2.0, ["estimate", "--model", "mout", "--judgments", "none"]),
        (2.5, ["simulate", "--model", "mjud", "--target", "0.95", "--batch", "1"]),
    ):
        seconds = whole_process(command[0], str(folder), *command[1:], "--format", "json")
        print(f"  {command[0]:<9} {seconds:.2f} s (limit {limit})")


def on_synthetic(design: Design, batch: int, judgments: int) -> tuple[int, float, float, float]:
    """Pairs of a synthetic pool, seconds of its first estimate, median and longest seconds of one ask and tell."""
    collection = synthetic_collection(np.random.default_rng(0), design)
    truth = collection.grades()
    clock: Callable[[], float] = time.perf_counter
    start = clock()
    pool = build_pool(collection)
    selection = Selection.start(pool, parse_measure(f"CG@{design.cutoff}"), make_estimator(pool, "mjud"), batch=batch)
    assert selection.confidence
    first, times = clock() - start, []
    for _ in range(judgments):
        start = clock()
        (pair,) = selection.ask()
        selection = selection.tell(Judgment(*pair, grade=truth[pair]))
        assert selection.confidence
        times.append(clock() - start)
    return len(pool.pairs), first, statistics.median(times), max(times)


def row(design: Design, batch: int, judgments: int = 41) -> None:
    """Print one synthetic collection."""
    pairs, first, median, longest = on_synthetic(design, batch, judgments)
    print(
        f"{design.systems:>8} {pairs:>8,} {batch:>6} {first:>9.2f} s {1000 * median:>8.1f} ms {1000 * longest:>8.1f} ms"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    if options.folder.is_dir():
        with threadpool_limits(1):
            on_real_judgments(options.folder, options.seeds)
    else:
        print(f"skipped: no collection at {options.folder.name}; name one: python benchmarks/loop.py FOLDER")
    print("synthetic, 100 queries x 5 documents, by the clock, all threads")
    print(f"{'systems':>8} {'pairs':>8} {'batch':>6} {'first':>11} {'ask+tell':>11} {'longest':>11}")
    for systems in (10, 25, 50, 100, 200, 400):
        row(Design(systems, -(-systems // 2)), batch=1)
    if options.large:
        print("1,000 queries x 10 documents (limits: first 3 s, ask+tell 20 ms at the median, 2 GB)")
        for batch in (20, 1):
            row(Design(200, 100, 1000, 10, 100), batch)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"peak memory {peak:.2f} GB, the synthetic collection itself included")


if __name__ == "__main__":
    main()
