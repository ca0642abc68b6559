"""Accuracy of joint models on data they have not learned from, compared with models of single pairs; and their cost.

    python benchmarks/joint.py [--only PART] [--folder FOLDER] [--splits 10] [--seeds 10] [--sounds FOLDER]

PART is table, sound, plain, components or times; by default all. FOLDER is a fully judged collection; the limits are
for MIREX 2011, the default. Errors are of grades over the highest. Models learn on one half of the queries and are
measured on the other, with a share of each query judged at random; a second time, on systems of other teams as well.
Standard errors are over splits, which share queries, so they are somewhat too small.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from figures import Figures, cpu_times
from loop import judged_next
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from audiosim import Collection, Judgment, Selection, parse_measure
from audiosim.collection.kinds import read_documents
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import BINARY, Document, Run, queries_of
from audiosim.joint.estimators import RelevanceEstimator, estimator_of, relearned
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.ordinal.model import ALWAYS, METADATA, Model
from audiosim.simulation import Design, Effects, draw_parts, synthetic_collection
from audiosim.simulation.trials import HeldOutKind, Part, teams_of
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.parameters import Parameters
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
BOOTSTRAPS = 4000
DEPTH = 12


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


def sounding(sounds: Path, index: Path) -> Collection:
    """Clips as queries; documents of the same game are relevant; artists are hidden.

    The candidates for each clip are the others of its game and of two more. Six systems retrieve the DEPTH nearest of
    these by MFCC with their own parameters, two retrieve at random.
    """
    documents = read_documents(sounds / "documents.tsv")
    files = {name: sounds / str(document.path) for name, document in documents.items()}
    extract(files, into=index)
    rng, names = np.random.default_rng(0), sorted(documents)
    among = {query: candidates(documents, query, rng) for query in names}
    runs = [
        Run(f"mfcc{count}{'' if first else 'x'}", nearest(files, among, Parameters(coefficients=count, first=first)))
        for count in (3, 8, 20)
        for first in (True, False)
    ]
    runs += [
        Run(f"lot{lot}", {query: tuple(rng.permutation(some)[:DEPTH].tolist()) for query, some in among.items()})
        for lot in range(2)
    ]
    bare = {name: Document(name) for name in names}
    collection = Collection("clips", "clips", BINARY, DEPTH, tuple(runs), bare, sounds=index)
    judgments = tuple(
        Judgment(*pair, grade=float(documents[pair.query].genre == documents[pair.document].genre))
        for pair in build_pool(collection).pairs
    )
    return replace(collection, judgments=judgments)


def candidates(documents: Mapping[str, Document], query: str, rng: np.random.Generator) -> np.ndarray:
    """The clips of the query's game and of two others, without the query."""
    own = documents[query].genre
    games = {own, *rng.choice(sorted({str(of.genre) for of in documents.values()} - {own}), 2, replace=False).tolist()}
    return np.array([name for name, of in documents.items() if of.genre in games and name != query])


def nearest(
    files: Mapping[str, Path], among: Mapping[str, np.ndarray], parameters: Parameters
) -> dict[str, tuple[str, ...]]:
    """The DEPTH nearest candidates of each query."""
    index: AudioIndex = extract(files, parameters=parameters)
    found = {}
    for query, some in among.items():
        divergences = index.divergence([query], some.tolist())[0]
        found[query] = tuple(some[np.argsort(divergences, kind="stable")[:DEPTH]].tolist())
    return found


def sound(sounds: Path, splits: int, kept: Figures) -> None:
    """Add the worth of knowing which documents sound alike, with a bootstrap over queries."""
    with TemporaryDirectory() as folder:
        heard = sounding(sounds, Path(folder) / "sounds.index")
        pairs = len(heard.judgments)
        relevant = f"{np.mean([judgment.grade for judgment in heard.judgments]):.0%} relevant"
        queries = len(queries_of(heard.runs))
        title = f"{len(heard.runs)} systems, {queries} queries, {pairs:,} pairs, {relevant}; {splits} splits"
        found: dict[float, list[tuple[np.ndarray, np.ndarray]]] = {}
        for seed, part in enumerate(draw_parts(heard, splits, np.random.default_rng(5), held_out="queries")):
            rest, own = part.rest(heard), part.of(heard)
            with_sound = compared(rest, own, seed)
            without = compared(replace(rest, sounds=None), replace(own, sounds=None), seed)
            for (share, query, ours), (_, _, theirs) in zip(with_sound, without, strict=True):
                found.setdefault(share, []).append((query, np.stack([theirs, ours])))
        rows = [row for share, of in found.items() for row in differences(share, of)]
        kept.table(title, ["", "judged", "without sound", "with", "difference", "low", "high"], rows)


def compared(rest: Collection, part: Collection, seed: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """For each share judged, the query of each pair left (n,), and its squared error and -log P (2, n)."""
    model = learned(rest, "fSYS,joint")
    if seed == 0:
        print(
            "  "
            + ", ".join(
                f"{name} {size:.2f} ({'–' if error is None else f'{error:.2f}'})"
                for name, (size, error) in (model.components or {}).items()
            )
        )
    ((pool, grades),) = judged_pools([part])
    start, found = estimator_of(pool, model), []
    for share in SHARES:
        seen = seen_at(pool, grades, share, seed)
        left = np.isnan(seen)
        probabilities = in_use(start, seen).predict(seen).probabilities[left]
        names = np.array(pool.queries)[pool.query[left]]
        found.append((share, names, np.stack(losses(pool, model, probabilities, grades[left]))))
    return found


def differences(share: float, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> Iterator[tuple[str | float, ...]]:
    """Both errors without and with sound, and an interval of the difference over draws of queries."""
    queries = np.unique(np.concatenate([query for query, _ in splits]))
    sums, counts = np.zeros((2, 2, len(queries))), np.zeros(len(queries))
    for query, both in splits:
        place: np.ndarray = np.searchsorted(queries, query)
        np.add.at(counts, place, 1)
        for model in range(2):
            for loss in range(2):
                np.add.at(sums[model, loss], place, both[model, loss])
    lots = np.random.default_rng(0).multinomial(len(queries), np.full(len(queries), 1 / len(queries)), BOOTSTRAPS)
    lots = np.vstack([np.ones(len(queries)), lots])
    mean = np.einsum("mlq,bq->bml", sums, lots) / (lots @ counts)[:, None, None]
    mean[:, :, 0] = np.sqrt(mean[:, :, 0])
    for loss, name in enumerate(("RMSE", "log score")):
        without, ours = mean[0, :, loss]
        low, high = np.percentile((mean[1:, 1] - mean[1:, 0])[:, loss], [2.5, 97.5])
        yield name, f"{share:.0%}", without, ours, ours - without, low, high


def plain(folder: Path, figures: Figures) -> None:
    """Add the accuracy of a joint model on runs and judgments alone, with nothing known about documents."""
    known = Collection.load(folder)
    bare = replace(known, documents={}, teams={}, query_documents={}, not_artists=frozenset())
    with TemporaryDirectory() as place:
        bare.save(place)
        (Path(place) / "collection.toml").unlink()
        collection = Collection.load(place)
    trained = train([collection], Plan(parse_terms("joint"), folds=10, joint=True, judged=SHARES[1:]))
    rows = [
        (f"{row.sample}, {row.predictor}", row.rmse, row.log_score, row.coverage_95)
        for row in trained.findings.scores
        if row.sample != "in sample" and row.predictor != "uniform"
    ]
    figures.table("runs and judgments alone", ["", "RMSE", "log score", "95 % sets hold"], rows)
    held = [(one.what, f"{one.judged:.0%}", one.actual, one.number) for one in trained.findings.intervals]
    figures.table("95 % intervals, runs and judgments alone", ["", "judged", "hold", "of"], held)
    pool = build_pool(collection)
    selection = Selection.start(
        pool, parse_measure("CG@5"), estimator_of(pool, trained.model), collection.judgments[:300]
    )
    figures.add("confidence from 300 judgments", selection.confidence, "")


def components(seeds: int, figures: Figures) -> None:
    """Add the variance components recovered from simulated collections beside the true ones."""
    # About half as large as those of real judgments, so that hardly any grade is cut off at the ends of the scale.
    true = Effects(0.06, 0.06, 0.04, 0.04, 0.02, 0.01, 0.07, 0.45, 0.1)
    effects = {name: getattr(true, name, 0.0) for name in (*ALWAYS, *METADATA, "rest")}
    found: dict[str, list[tuple[float, float | None]]] = {name: [] for name in effects}
    for seed in range(seeds):
        collection = synthetic_collection(np.random.default_rng(seed), Design(queries=60), true)
        report = train([collection], Plan(parse_terms("joint"), folds=0, joint=True)).findings
        for row in report.components:
            found[row.component].append((row.points, row.points_error))
    rows: list[tuple[str | float | None, ...]] = []
    for name, size in effects.items():
        points = [point for point, _ in found[name]]
        off = np.array([(point - 100 * size) / error for point, error in found[name] if error])
        errors = [error for _, error in found[name] if error]
        beside = (float(off.mean()), float(np.sqrt(np.mean(off**2)))) if len(off) else (None, None)
        spread = float(np.mean(errors)) if errors else None
        rows.append((name, 100 * size, float(np.mean(points)), spread, *beside, len(points) - len(off)))
    title = f"variance components in grades of 0 to 100, {seeds} simulated collections of 18 systems and 60 queries"
    columns = ["standard deviation", "true", "mean", "SE", "off in SE: mean", "off in SE: rms", "without SE"]
    figures.table(title, columns, rows)


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
    parser.add_argument("--only", choices=["table", "sound", "plain", "components", "times"])
    parser.add_argument("--folder", type=Path, default=DATA / "mirex2011")
    parser.add_argument("--sounds", type=Path, default=DATA / "sounds")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    parts: dict[str, tuple[Path | None, Callable[[Figures], None]]] = {
        "table": (options.folder, lambda figures: table(options.folder, options.splits, figures)),
        "sound": (options.sounds, lambda figures: sound(options.sounds, options.splits, figures)),
        "plain": (options.folder, lambda figures: plain(options.folder, figures)),
        "components": (None, lambda figures: components(options.seeds, figures)),
        "times": (options.folder, lambda figures: times(options.folder, figures)),
    }
    with threadpool_limits(1):
        for name, (needed, part) in parts.items():
            if options.only not in {None, name}:
                continue
            if needed is not None and not needed.is_dir():
                print(f"\n{name} skipped: nothing at {needed.name}")
                continue
            with Figures("joint", name) as kept:
                part(kept)


if __name__ == "__main__":
    main()
