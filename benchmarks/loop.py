"""The judging loop: judgments needed and accuracy on a real collection, and speed, including on a large one.

    python benchmarks/loop.py [FOLDER] [--seeds 40]
    python benchmarks/loop.py --large

FOLDER is a fully judged collection, such as the public files of MIREX 2011; without it, that part is skipped. --large
measures only 1,000 queries x 10 documents: 50 systems with the joint model and 500 judged pairs, with covariances of
scores with pairs in single precision, and 200 systems. Times are processor time on one thread, unless they say
otherwise.
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
from figures import Figures, cpu_times
from synthetic import Design, synthetic_collection
from threadpoolctl import threadpool_limits

from audiosim import Collection, Judgment, Selection, parse_measure
from audiosim.collection.pool import Pool, build_pool
from audiosim.joint.estimators import make_estimator
from audiosim.joint.people import Panel
from audiosim.ranking import SELECTION_RULES
from audiosim.simulation.replay import Replay, replay

RUNS = 5
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirex2011"


def played(
    pool: Pool, truth: np.ndarray, target: float, model: str = "mjud", **options: object
) -> tuple[Replay, float]:
    """A replay, and its seconds."""
    start = time.process_time()
    selection = Selection.start(pool, parse_measure("CG@5"), make_estimator(pool, model), **options)
    return replay(selection, truth, target), time.process_time() - start


REPLAYED = ["", "confidence, none judged", "accuracy", "judged at .95", "confidence", "accuracy", "s"]


def line(name: str, found: Replay, seconds: float) -> tuple[str | float, ...]:
    """One replay as a row of REPLAYED."""
    first, last = found.curve[0], found.curve[-1]
    return name, first.confidence, first.accuracy, last.judged, last.confidence, last.accuracy, seconds


def by_several(pool: Pool, truth: np.ndarray, people: int, judged: int) -> tuple[float, float]:
    """Median seconds of one ask and tell, and of computing the confidence, after judgments by several people."""
    rng, top = np.random.default_rng(0), pool.scale.maximum
    said = truth + top * (0.1 * rng.standard_normal((people, 1)) + 0.195 * rng.standard_normal((people, len(truth))))
    said = np.round(np.clip(said, 0, top))
    who = [f"p{number}" for number in range(people)]

    def judgment(place: int, number: int) -> Judgment:
        return Judgment(*pool.pairs[place], float(said[number % people, place]), who[number % people])

    first = [judgment(int(place), number) for number, place in enumerate(rng.permutation(len(truth))[:judged])]
    states = [Selection.start(pool, parse_measure("CG@5"), make_estimator(pool, "joint"), first)]
    assert states[0].confidence

    told, looked = [], []
    for number in range(15):
        start = time.process_time()
        (pair,) = states[0].ask(assessor=who[number % people])
        states[:] = [states[0].tell(judgment(pool.positions[pair], number))]
        told.append(time.process_time() - start)
        start = time.process_time()
        assert states[0].confidence
        looked.append(time.process_time() - start)
    return statistics.median(told), statistics.median(looked)


def learning_anew(pool: Pool, truth: np.ndarray, judged: int) -> float:
    """Time to learn from `judged` judgments of six people, over the time to learn from as many grades of one."""
    rng, estimator = np.random.default_rng(0), make_estimator(pool, "joint")
    place, judge = rng.permutation(len(truth))[:judged], rng.integers(6, size=judged)
    said = truth[place] / pool.scale.maximum + 0.1 * rng.standard_normal(6)[judge] + 0.195 * rng.standard_normal(judged)
    panel = Panel(tuple("abcdef"), place, judge, np.clip(said, 0, 1))
    grades = np.where(np.isin(np.arange(len(truth)), place), truth, np.nan)
    several, single = lambda _: estimator.panel_model(panel), lambda _: estimator.relearned(grades)
    return statistics.median(cpu_times(several, RUNS)) / statistics.median(cpu_times(single, RUNS))


def whole_process(*arguments: str) -> float:
    """Median seconds of processor time of the command as a whole process."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([Path(sys.executable).with_name("audiosim"), *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return statistics.median(once() for _ in range(RUNS))


def on_real_judgments(folder: Path, seeds: int, figures: Figures) -> None:
    """Judgments and time needed by each model and each rule."""
    collection = Collection.load(folder)
    pool = build_pool(collection, 5)
    truth = pool.spread(collection.grades())
    models = ("mjud", "mout", "ljudge", "loutput", "historical", "uniform")
    rows = [line(name, *played(pool, truth, 0.95, name)) for name in models]
    figures.table("models, CG@5, rule differences", REPLAYED, rows)
    rows = [line(name, *played(pool, truth, 0.95, selection_rule=name)) for name in SELECTION_RULES]
    figures.table("selection rules, CG@5, model mjud", REPLAYED, rows)
    drawn = [played(pool, truth, 0.95, seed=seed)[0].curve[-1] for seed in range(seeds)]
    judged, accuracy = sorted(moment.judged for moment in drawn), sorted(moment.accuracy for moment in drawn)
    ties = f"differences, {seeds} draws of the ties: "
    figures.add(f"{ties}judged, median", statistics.median(judged), "", note=f"{judged[0]} to {judged[-1]}")
    spread = f"{accuracy[0]:.3f} to {accuracy[-1]:.3f}"
    figures.add(f"{ties}accuracy, mean", statistics.mean(accuracy), "", note=spread)
    seconds = statistics.median(played(pool, truth, 0.95)[1] for _ in range(RUNS))
    figures.add("to .95 inside the process", seconds, "s", 1.0)
    found, seconds = played(pool, truth, 1.1, selection_rule="random")
    figures.add(f"all {found.selection.judged:,} pairs one by one", seconds, "s", 15)
    for people, judged, limit in ((1, 600, 8), (6, 600, 8), (300, 600, 20)):
        told, looked = by_several(pool, truth, people, judged)
        figures.add(f"ask and tell, {people} people, joint, {judged} judged", 1000 * told, "ms", limit)
    for judged in (600, 1500):
        times = learning_anew(pool, truth, judged)
        figures.add(f"learning from {judged:,} judgments of six people, beside one", times, "times", 1.5)
        figures.add(f"confidence with the check of the model, {people} people, joint", 1000 * looked, "ms")
    for limit, command in (
        (2.0, ["estimate", "--model", "mout", "--judgments", "none"]),
        (2.5, ["simulate", "--model", "mjud", "--target", "0.95", "--batch", "1"]),
    ):
        seconds = whole_process(command[0], str(folder), *command[1:], "--format", "json")
        figures.add(f"{command[0]}, whole process", seconds, "s", limit)


def on_synthetic(
    design: Design, batch: int, judgments: int, clock: Callable[[], float]
) -> tuple[int, float, float, float]:
    """Pairs of a synthetic pool, seconds of its first estimate, median and longest seconds of one ask and tell."""
    collection = synthetic_collection(np.random.default_rng(0), design)
    start = clock()
    pool = build_pool(collection)
    selection = Selection.start(pool, parse_measure(f"CG@{design.cutoff}"), make_estimator(pool, "mjud"), batch=batch)
    assert selection.confidence
    first, truth, states = clock() - start, pool.spread(collection.grades()), [selection]

    def judge(_: int) -> None:
        states[:] = [judged_next(states[0], truth)]
        assert states[0].confidence

    times = cpu_times(judge, judgments, clock)
    return len(pool.pairs), first, statistics.median(times), max(times)


def judged_next(selection: Selection, truth: np.ndarray) -> Selection:
    """The selection after a judgment of the pair it asks for.

    truth  (n,) the grade of every pair
    """
    (pair,) = selection.ask()
    return selection.tell(Judgment(*pair, grade=float(truth[selection.pool.positions[pair]])))


def jointly(design: Design, judged: int, judgments: int = 41) -> tuple[int, float]:
    """Pairs of a synthetic pool, and median seconds of one ask and tell by the joint model after `judged` judgments."""
    collection, rng = synthetic_collection(np.random.default_rng(0), design), np.random.default_rng(1)
    pool, order = build_pool(collection), rng.permutation(len(collection.judgments))
    known = [collection.judgments[place] for place in order[:judged].tolist()]
    measure, truth = parse_measure(f"CG@{design.cutoff}"), pool.spread(collection.grades())
    states = [Selection.start(pool, measure, make_estimator(pool, "joint"), known)]

    def judge(_: int) -> None:
        states[:] = [judged_next(states[0], truth)]
        assert states[0].believed.confidence
        assert states[0].ask()

    judge(0)  # from here on, scores are only updated
    return len(pool.pairs), statistics.median(cpu_times(judge, judgments))


SYNTHETIC = ["systems", "pairs", "batch", "first, s", "ask and tell, ms", "longest, ms"]


def row(
    design: Design, batch: int, judgments: int = 41, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, ...]:
    """One synthetic collection as a row of SYNTHETIC."""
    pairs, first, median, longest = on_synthetic(design, batch, judgments, clock)
    return design.systems, pairs, batch, first, 1000 * median, 1000 * longest


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    with Figures("loop", "large" if options.large else "") as figures:
        if options.large:
            on_large(figures)
        else:
            on_usual(options, figures)


def on_usual(options: argparse.Namespace, figures: Figures) -> None:
    """Add a real collection, if available, and synthetic ones of its size."""
    if options.folder.is_dir():
        with threadpool_limits(1):
            on_real_judgments(options.folder, options.seeds, figures)
    else:
        print(f"skipped: no collection at {options.folder.name}; name one: python benchmarks/loop.py FOLDER")
    rows = [row(Design(systems, -(-systems // 2)), batch=1) for systems in (10, 25, 50, 100, 200, 400)]
    figures.table("synthetic, 100 queries x 5 documents, by the clock, all threads", SYNTHETIC, rows)


def on_large(figures: Figures) -> None:
    """Add synthetic collections of 1,000 queries x 10 documents."""
    with threadpool_limits(1):
        pairs, seconds = jointly(Design(50, 25, 1000, 10, 100), 500)
        rows = [row(Design(200, 100, 1000, 10, 100), batch, clock=time.process_time) for batch in (20, 1)]
    figures.add(f"joint, ask and tell, 50 systems x {pairs:,} pairs, 500 judged", 1000 * seconds, "ms", 20)
    limits = "limits: first 3 s, ask and tell 20 ms at the median"
    figures.table(f"1,000 queries x 10 documents ({limits})", SYNTHETIC, rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    figures.add("peak memory, the synthetic collection itself included", peak, "GB", 2)


if __name__ == "__main__":
    main()
