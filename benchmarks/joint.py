"""Accuracy of joint models on data they have not learned from, compared with models of single pairs; and their cost.

    python benchmarks/joint.py [--only PART] [--folder FOLDER] [--splits 10]

PART is table or times; by default both. FOLDER is a fully judged collection; the limits are
for MIREX 2011, the default. Errors are of grades over the highest. Models learn on one half of the queries and are
measured on the other, with a share of each query judged at random; a second time, on systems of other teams as well.
Standard errors are over splits, which share queries, so they are somewhat too small.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from figures import Figures, cpu_times
from loop import judged_next
from scipy.special import ndtri
from synthetic import Design, synthetic_collection
from threadpoolctl import threadpool_limits

from audiosim import Collection, Selection, parse_measure
from audiosim.collection.pool import Pool, build_pool
from audiosim.joint.estimators import RelevanceEstimator, estimator_of, relearned
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.ordinal.model import Model
from audiosim.simulation.trials import HeldOutKind, Part, draw_parts, teams_of
from audiosim.training.examples import draw, judged_pools, place_levels
from audiosim.training.plan import Plan, is_joint, parse_terms
from audiosim.training.scores import coverage
from audiosim.training.train import train
from audiosim.training.validate_joint import KNOWN, NOMINAL, means

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SHARES = (0.0, 0.05, 0.1, 0.2)
LIMITS = {0.05: (0.208, 1.95), 0.1: (0.198, 1.90), 0.2: (0.188, 1.86)}  # largest RMSE and log score
INTERVALS = {"query means": ".92 to .98", "system means": "at least .85", "differences of systems": "at least .85"}
MODELS = {  # features, and True if components are learned again from the judgments, as in campaigns
    "joint": ("joint", True),
    "joint, components as they were": ("joint", False),
    "joint, of output": ("output,joint", True),
    "output, aDOC": ("output,aDOC", False),
    "output, aDOC, aGEN, aART": ("output,aDOC,aGEN,aART", False),
    "output": ("output", False),
}
PAIRS = ("RMSE", "log score", "95 % sets")


def learned(collection: Collection, features: str) -> Model:
    """A model of a list of features, as made by `audiosim train`."""
    return train([collection], Plan(parse_terms(features), folds=0, joint=is_joint(features))).model


def seen_at(pool: Pool, grades: np.ndarray, share: float, seed: int) -> np.ndarray:
    """(n,) grades of the judged share of each query."""
    return np.where(draw(pool.query, share, seed), grades, np.nan)


def in_use(estimator: RelevanceEstimator, seen: np.ndarray) -> RelevanceEstimator:
    """An estimator after these judgments: as in a campaign, it learns from them once there are FIRST."""
    return relearned(estimator, seen) if np.sum(~np.isnan(seen)) >= FIRST_LEARNING else estimator


def losses(pool: Pool, model: Model, probabilities: np.ndarray, grades: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) squared errors and (n,) -log P(true level)."""
    expected = probabilities @ np.array(model.levels) / pool.scale.maximum
    level = place_levels(pool.scale, grades)
    return (expected - grades / pool.scale.maximum) ** 2, -np.log(probabilities[np.arange(len(level)), level])


def measured(pool: Pool, grades: np.ndarray, model: Model, seed: int, anew: bool) -> Iterator[tuple[str, float, float]]:
    """Figures of a model on a pool it has not seen: name, share judged, and value."""
    start = estimator_of(pool, model)
    for share in SHARES:
        seen = seen_at(pool, grades, share, seed)
        prediction, left = (in_use(start, seen) if anew else start).predict(seen), np.isnan(seen)
        square, log = losses(pool, model, prediction.probabilities[left], grades[left])
        yield "RMSE", share, float(np.sqrt(square.mean()))
        yield "log score", share, float(log.mean())
        yield PAIRS[-1], share, coverage(prediction.probabilities[left], place_levels(pool.scale, grades[left]), 0.95)
        if prediction.prior.correlated and share in {0.0, 0.1}:
            for what, weights in means(pool, np.arange(len(grades))).items():
                sums = prediction.gains.project(weights)
                off, deviation = np.abs(weights @ grades / pool.scale.maximum - sums.mean), np.sqrt(sums.variance)
                hold = off <= ndtri((1 + NOMINAL) / 2) * deviation
                yield what, share, float(hold[deviation > KNOWN].mean())


def spelled(values: Sequence[float]) -> str:
    """Mean and its standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.4f} ± {error:.4f}"


def table(folder: Path, splits: int, kept: Figures) -> None:
    """Add the figures of each model over random halves of the queries, and of the teams."""
    collection = Collection.load(folder)
    teams = len(teams_of(collection))
    protocols: tuple[tuple[HeldOutKind, int], ...] = (("queries", teams), ("teams", teams // 2))
    for held_out, some in protocols:
        parts = draw_parts(collection, splits, np.random.default_rng(7), teams=some, held_out=held_out)
        rows = []
        for name, found in figures(collection, parts).items():
            for share in SHARES:
                of = {what: values for (what, at), values in found.items() if at == share}
                cells = [
                    f"{spelled(of[what])}{limit(what, share)}" if what in of else "" for what in (*PAIRS, *INTERVALS)
                ]
                rows.append([name, f"{share:.0%}", *cells])
        title = f"other queries{'' if held_out == 'queries' else ', and systems of other teams'}: {splits} splits"
        intervals = [f"95 % intervals of {what} hold" for what in INTERVALS]
        kept.table(title, ["", "judged", *PAIRS[:2], "95 % sets hold", *intervals], rows)


def figures(collection: Collection, parts: Sequence[Part]) -> dict[str, dict[tuple[str, float], list[float]]]:
    """Errors by model, and by figure and share: the value of each split."""
    found: dict[str, dict[tuple[str, float], list[float]]] = {name: {} for name in MODELS}
    for seed, part in enumerate(parts):
        models = {features: learned(part.rest(collection), features) for features, _ in MODELS.values()}
        ((pool, grades),) = judged_pools([part.of(collection)])
        for name, (features, anew) in MODELS.items():
            for what, share, value in measured(pool, grades, models[features], seed, anew):
                found[name].setdefault((what, share), []).append(value)
    return found


def limit(what: str, share: float) -> str:
    """Limit of a figure."""
    if what in INTERVALS:
        return f" ({INTERVALS[what]})"
    if what == PAIRS[-1]:
        return " (.93 to .97)"
    return f" (at most {LIMITS[share][PAIRS.index(what)]})" if share in LIMITS else ""


def milliseconds(work: Callable[[int], object], runs: int) -> tuple[float, float]:
    """Median and longest processor time of some calls, each with its number."""
    times = cpu_times(work, runs)
    return 1000 * statistics.median(times), 1000 * max(times)


def times(folder: Path, figures: Figures) -> None:
    """Add the cost of a judgment."""
    real = Collection.load(folder)
    large = synthetic_collection(np.random.default_rng(0), Design(20, 10, 1000, 5, 200))
    for name, collection in (("real", real), ("large", large)):
        cost(name, collection, figures)


def cost(name: str, collection: Collection, figures: Figures, runs: int = 41) -> None:
    """Add the costs of predicting, and of telling and asking, after each of some judgments."""
    pool = build_pool(collection)
    grades = pool.spread(collection.grades())
    start = time.process_time()
    estimator = estimator_of(pool, "joint")
    first = time.process_time() - start
    order = np.random.default_rng(0).permutation(len(grades))
    seen = np.where(np.isin(np.arange(len(grades)), order[:300]), grades, np.nan)
    last = [estimator.predict(seen)]

    def predict(run: int) -> object:
        seen[order[300 + run]] = grades[order[300 + run]]
        last[0] = estimator.predict(seen).resumed(last[0])
        return last[0].gains

    selection = Selection.start(pool, parse_measure(f"CG@{collection.cutoff}"), estimator_of(pool, "joint"))
    found = [selection]

    def tell_and_ask(_: int) -> object:
        found.append(judged_next(found[-1], grades))
        return found[-1].confidence

    size = f"{len(pool.pairs):,} pairs, {len(pool.queries):,} queries, {len(pool.systems)} systems"
    figures.add(f"{name}: start", first, "s", note=size)
    for what, work in (
        ("predict after one judgment", predict),
        ("tell, ask and confidence", tell_and_ask),
    ):
        median, longest = milliseconds(work, runs)
        figures.add(f"{name}: {what}", median, note=f"longest {longest:.1f}")
    several = milliseconds(lambda _: estimator_of(pool, "joint").predict(seen).probabilities, 3)[0]
    figures.add(f"{name}: start, and 340 at once", several)
    figures.add(f"{name}: peak memory so far", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "GB")


def main() -> None:
    """Print the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["table", "times"])
    parser.add_argument("--folder", type=Path, default=DATA / "mirex2011")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"skipped: nothing at {options.folder.name}")
        return
    parts: dict[str, Callable[[Figures], None]] = {
        "table": lambda figures: table(options.folder, options.splits, figures),
        "times": lambda figures: times(options.folder, figures),
    }
    with threadpool_limits(1):
        for name, part in parts.items():
            if options.only in {None, name}:
                with Figures("joint", name) as kept:
                    part(kept)


if __name__ == "__main__":
    main()
