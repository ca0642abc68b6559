"""Expected measures while judgments are missing, beside simulation, and their cost.

    python benchmarks/expected.py [FOLDER] [--draws 10000]
    python benchmarks/expected.py --verdicts

FOLDER is a fully judged collection, such as the public files of MIREX 2011; if it is missing, the collection that comes
with audiosim. Some of its pairs are judged at random; grades of the others are drawn from the level probabilities of
the model (mjud) and scored, which gives the expectation of nDCG and RBP without any expansion. Prints the mean error of
the three forms, over systems and over pairs of systems, and the median ratio of their variance to the simulated one.
--verdicts measures only statements about up to 400 systems. Times are processor time on one thread, the median of five.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim import Collection, Selection, package_files
from audiosim.collection.pool import Pool, build_pool
from audiosim.joint.estimators import estimator_of
from audiosim.joint.posterior import Belief
from audiosim.measures.measure import parse_measure
from audiosim.plugins import make_estimator
from audiosim.ranking.about import Ideal
from audiosim.ranking.expected import expected_scores
from audiosim.ranking.ratio import RatioScores
from audiosim.ranking.sampled import SampledScores
from audiosim.ranking.verdicts import Verdicts
from audiosim.simulation import Design, synthetic_collection
from audiosim.stats.normal.multivariate import Moments

CUTOFF, MODEL, RUNS = 5, "mjud", 5
JUDGED = (0, 300, 1500)
SYSTEMS = (50, 100, 200, 400)
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirex2011"
DISCOUNTS = {"nDCG": 1 / np.log2(np.arange(2, CUTOFF + 2)), "RBP": 0.8 ** np.arange(CUTOFF)}


def collection_at(folder: Path) -> Collection:
    """The collection of a folder, or the one that comes with audiosim."""
    return Collection.load(folder) if folder.is_dir() else Collection.load(package_files.folder("fixtures") / "demo")


def milliseconds(task: Callable[[], object]) -> float:
    """Processor time, the median of some runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return 1000 * statistics.median(times)


def simulated(pool: Pool, known: Belief, discounts: np.ndarray, draws: int) -> np.ndarray:
    """(draws, s) mean scores over the queries, from draws of grades, without code of the package."""
    rng, scores = np.random.default_rng(1), np.zeros((draws, len(pool.systems)))
    ranks = pool.ranks.tocsc()
    for query in range(len(pool.queries)):
        rows = np.flatnonzero(pool.query == query)
        below = np.cumsum(known.probabilities[rows], axis=1)[:, :-1]
        level = (rng.random((draws, len(rows), 1)) > below).sum(axis=-1)
        grades = np.where(known.judged[rows], known.grades[rows], known.levels[level])
        at = ranks[:, rows].toarray()
        gained = grades @ np.where(at > 0, discounts[at - 1], 0).T
        best = -np.sort(-grades, axis=1)[:, :CUTOFF]
        ideal = best @ discounts[: best.shape[1]]
        scores += np.divide(gained, ideal[:, None], out=np.zeros(gained.shape), where=ideal[:, None] > 0)
    return scores / len(pool.queries)


def compare(found: Moments, scores: np.ndarray) -> tuple[float, ...]:
    """Mean errors of scores and of differences, and ratios of variances."""
    a, b = np.triu_indices(scores.shape[1], 1)
    gaps = scores[:, a] - scores[:, b]
    variance = found.variance[a] + found.variance[b] - 2 * found.covariance[a, b]
    error = np.mean(found.mean - scores.mean(axis=0))
    of_gaps = np.mean(np.abs(found.mean[a] - found.mean[b] - gaps.mean(axis=0)))
    ratio, of_ratio = (
        np.median(ours / theirs)
        for ours, theirs in ((found.variance, scores.var(axis=0)), (variance, gaps.var(axis=0)))
    )
    return float(error), float(of_gaps), float(ratio), float(of_ratio)


def states(pool: Pool, truth: np.ndarray) -> list[tuple[int, Belief]]:
    """Beliefs after some pairs were judged, drawn at random."""
    order, estimator, found = np.random.default_rng(0).permutation(len(pool.pairs)), estimator_of(pool, MODEL), []
    for judged in JUDGED:
        grades = np.full(len(pool.pairs), np.nan)
        chosen = order[:judged]
        grades[chosen] = truth[chosen]
        found.append((len(chosen), estimator.predict(grades)))
    return found


def forms(pool: Pool, known: list[tuple[int, Belief]], draws: int, figures: Figures) -> None:
    """Add the three forms of the ideal, compared with simulation."""
    rows = []
    for name, discounts in DISCOUNTS.items():
        for judged, state in known:
            scores = simulated(pool, state, discounts, draws)
            error = scores.std(axis=0).mean() / np.sqrt(draws)
            of = f"{name}@{CUTOFF}, {judged} judged, "
            rows += [(f"{of}{form}", *row(pool, state, name, form, scores)) for form in get_args(Ideal)]
            rows.append((f"{of}standard error of the draws", float(error), *[None] * 5))
    columns = ["", "error of scores", "of differences", "variance over theirs", "of differences", "ms", "after one"]
    figures.table(f"forms of the ideal beside {draws:,} draws", columns, rows)


def row(pool: Pool, state: Belief, name: str, form: Ideal, scores: np.ndarray) -> tuple[float, ...]:
    """One form compared with simulation, and its time from scratch and after one more judgment."""
    expected = RatioScores(parse_measure(f"{name}@{CUTOFF}"), pool, form)
    found, index = expected.scores(state), int(np.flatnonzero(~state.judged)[0])
    conditioned = state.condition(index, pool.scale.maximum)
    whole = milliseconds(lambda: expected.scores(fresh(state)))
    one = milliseconds(lambda: expected.after(found, state, conditioned, index))
    return *compare(found, scores), whole, one


def fresh(state: Belief) -> Belief:
    """The same belief without cached results."""
    return state.revise(state.grades)


def times(pool: Pool, state: Belief, figures: Figures) -> None:
    """Add the cost of each kind of measure."""
    rows = []
    for written in ("CG@5", "DCG@5", "nDCG@5", "RBP@5", "AP(min=40)@5", "ERR@5", "GAP@5"):
        expected = expected_scores(parse_measure(written), pool)
        found, conditioned = expected.scores(state), state.condition(0, pool.scale.maximum)
        whole = milliseconds(lambda expected=expected: expected.scores(fresh(state)))
        one = milliseconds(
            lambda expected=expected, found=found, conditioned=conditioned: expected.after(found, state, conditioned, 0)
        )
        how = f"{expected.draws:,} draws" if isinstance(expected, SampledScores) else "computed"
        rows.append((written, how, whole, one))
    figures.table("ms of the scores of all systems", ["", "", "nothing judged", "after one judgment"], rows)


def verdicts(systems: int) -> tuple[float, ...]:
    """Systems; ms of drawing their scores, and of critical value, groups and ranks; MB of the results as JSON."""
    pool = build_pool(synthetic_collection(np.random.default_rng(0), Design(systems, -(-systems // 2))), CUTOFF)
    measure, estimator = parse_measure(f"CG@{CUTOFF}"), make_estimator(pool, MODEL)
    ranking, spent = Selection.start(pool, measure, estimator).believed, []
    assert ranking.confidence
    for _ in range(RUNS):
        start, found = time.process_time(), Verdicts(ranking)
        assert len(found.best) == systems
        drawn = time.process_time()
        assert len(found.letters) == len(found.ranks[0]) == systems
        spent.append((drawn - start, time.process_time() - drawn))
    return systems, *(1000 * np.median(spent, axis=0)), len(json.dumps(found.to_dict())) / 1e6


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--verdicts", action="store_true")
    options = parser.parse_args()
    if options.verdicts:
        with threadpool_limits(1), Figures("expected", "verdicts") as figures:
            columns = ["systems", "draws, and chances of the best, ms", "groups, letters and ranks, ms", "JSON, MB"]
            figures.table("verdicts (limit: groups, letters and ranks 100 ms)", columns, list(map(verdicts, SYSTEMS)))
        return
    collection = collection_at(options.folder)
    pool = build_pool(collection, CUTOFF)
    sizes = f"{len(pool.systems)} systems, {len(pool.queries)} queries, {len(pool.pairs):,} pairs"
    print(f"{collection.name}: {sizes}; {MODEL}")
    with threadpool_limits(1), Figures("expected") as figures:
        known = states(pool, pool.spread(collection.grades()))
        forms(pool, known, options.draws, figures)
        times(pool, known[0][1], figures)


if __name__ == "__main__":
    main()
