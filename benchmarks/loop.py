"""The judging loop on a real collection: what it needs, how right it is, how long it takes.

    python benchmarks/loop.py FOLDER [SEEDS]

FOLDER is a collection whose pool is judged in full, such as the public files of MIREX 2011.
"""

import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim import Collection, Selection, parse_measure
from audiosim.corpus.pool import build_pool
from audiosim.plugins import make_estimator
from audiosim.simulate import Replay, replay

RUNS = 5
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirex2011"


def by_lot(selection: Selection, seed: int) -> Selection:
    """The same selection, ties between pairs of equal weight broken by lot."""
    return replace(
        selection, weights=selection.weights + 1e-9 * np.random.default_rng(seed).random(len(selection.weights))
    )


def line(name: str, result: Replay, seconds: float) -> None:
    """Print one replay."""
    first, last = result.curve[0], result.curve[-1]
    end = f"{last.judged:>6,} {last.confidence:.3f} {last.accuracy:.3f}"
    print(f"{name:<10} {first.confidence:.3f} {first.accuracy:.3f}   {end}   {seconds:6.2f}")


def whole_process(*arguments: str) -> float:
    """Median seconds of CPU of the command as a whole process."""
    import resource

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([Path(sys.executable).with_name("audiosim"), *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return statistics.median(once() for _ in range(RUNS))


def main() -> None:
    """Print the tables."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    if not folder.is_dir():
        print(f"skipped: no collection at {folder.name}; name one: python benchmarks/loop.py FOLDER")
        return
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    collection = Collection.load(folder)
    measure = parse_measure("CG@5")
    pool = build_pool(collection, measure.cutoff)
    truth = pool.spread(collection.grades())
    print("model      none judged   until .95: judged, confidence, accuracy; CPU seconds")
    for name in ("mjud", "mout", "ljudge", "loutput", "historical", "uniform"):
        start = time.process_time()
        result = replay(Selection.start(pool, measure, make_estimator(pool, name)), truth, 0.95)
        line(name, result, time.process_time() - start)
    drawn = [
        replay(by_lot(Selection.start(pool, measure, make_estimator(pool, "mjud")), seed), truth, 0.95).curve[-1]
        for seed in range(seeds)
    ]
    judged, accuracy = sorted(moment.judged for moment in drawn), sorted(moment.accuracy for moment in drawn)
    print(
        f"mjud, ties by lot, {seeds} seeds: judged {judged[0]} to {judged[-1]}, median {statistics.median(judged):g}; ",
        end="",
    )
    print(f"accuracy {accuracy[0]:.3f} to {accuracy[-1]:.3f}, mean {statistics.mean(accuracy):.3f}")
    print(f"whole process, CPU seconds, median of {RUNS} (limit 2 for estimate):")
    for command in (
        ["estimate", "--model", "mout", "--judgments", "none"],
        ["simulate", "--model", "mjud", "--target", "0.95", "--batch", "1"],
    ):
        print(f"  {command[0]:<9} {whole_process(command[0], str(folder), *command[1:], '--format', 'json'):.2f}")


if __name__ == "__main__":
    main()
