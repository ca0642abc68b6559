"""Worth of each piece of evidence, and cost of useless evidence.

    python benchmarks/evidence.py [--only PART] [--mirex FOLDER] [--clips FOLDER] [--splits 24] [--seeds 20]

PART is patterns, sound, indifferent, useless or times; by default all. The FOLDER of --mirex has MIREX 2011, that of
--clips sound files with a documents.tsv whose genres give the groups. Errors are root mean square errors of single
grades over the scale's maximum, of unjudged pairs; 95 % intervals are by bootstrap over queries.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from figures import Figures, cpu_seconds, run_parts
from loop import judged_next
from scipy.linalg import lstsq

from audiosim import Collection, Selection, parse_measure
from audiosim.collection.collection import SOUNDS
from audiosim.collection.kinds import read_documents
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import BINARY, Document, Judgment, Run
from audiosim.joint.estimators import RelevanceEstimator, estimator_of, relearned
from audiosim.joint.moments import FIRST_LEARNING
from audiosim.joint.terms import covariates, prepare_closeness
from audiosim.ordinal.evidence import sound_columns
from audiosim.ranking.expected import expected_scores, rank_belief
from audiosim.simulation.trials import draw_parts
from audiosim.sound import closeness as neighbourhood
from audiosim.sound.index import AudioIndex, extract
from audiosim.sound.parameters import STANDARD_FRAMES, Parameters
from audiosim.training.examples import draw
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
DEMO = ROOT / "fixtures" / "demo"
SHARES = (0.0, 0.05, 0.1, 0.2)
KNOWN = ("artist", "genre", "team")
DRAWS = 4  # draws of the judged pairs, with sound
DEPTH = 12
BOOTSTRAPS = 2000


def squares(pool: Pool, seen: np.ndarray, truth: np.ndarray, model: object = "joint") -> np.ndarray:
    """(n,) squared errors, NaN where judged; sizes are learned as in a campaign."""
    estimator = estimator_of(pool, model)  # type: ignore[arg-type]
    if np.sum(~np.isnan(seen)) >= FIRST_LEARNING:
        estimator = relearned(estimator, seen)  # type: ignore[assignment]
    off = (estimator.predict(seen).expectation - truth) / pool.scale.maximum
    return np.where(np.isnan(seen), off**2, np.nan)


def without(collection: Collection, unknown: Sequence[str]) -> Collection:
    """The collection without its documents' artists, their genres, or the systems' teams."""
    documents = {
        name: replace(
            document,
            artist=None if "artist" in unknown else document.artist,
            genre=None if "genre" in unknown else document.genre,
        )
        for name, document in collection.documents.items()
    }
    return replace(collection, documents=documents, teams={} if "team" in unknown else collection.teams)


def patterns(mirex: Path, splits: int) -> None:
    """Errors if columns of metadata are unknown for the predicted half of the queries, at several shares judged."""
    collection = Collection.load(mirex)
    found: dict[tuple[str, ...], list[float]] = {}
    judged: dict[float, list[float]] = {}
    for part in draw_parts(collection, splits, np.random.default_rng(7), held_out="queries"):
        model = train([part.rest(collection)], Plan(parse_terms("joint"), folds=0, joint=True)).model
        for count in range(len(KNOWN) + 1):
            for unknown in combinations(KNOWN, count):
                own = without(part.of(collection), unknown)
                pool = build_pool(own)
                truth = pool.spread(own.grades())
                error = squares(pool, np.full(len(truth), np.nan), truth, model)
                found.setdefault(unknown, []).append(float(np.sqrt(error.mean())))
                for share in SHARES[1:] if not unknown else ():
                    seen = np.where(draw(pool.query, share, 0), truth, np.nan)
                    of = np.sqrt(np.nanmean(squares(pool, seen, truth, model)))
                    judged.setdefault(share, []).append(float(of))
    with Figures("evidence", "patterns") as figures:
        rows = [[", ".join(unknown) or "nothing", *mean_and_error(errors)] for unknown, errors in found.items()]
        figures.table(
            f"unknown, nothing judged, {splits} draws of the queries", ["unknown", "error", "standard error"], rows
        )
        rows = [[f"{share:.0%}", *mean_and_error(errors)] for share, errors in judged.items()]
        figures.table(f"judged, all known, {splits} draws of the queries", ["judged", "error", "standard error"], rows)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean of some values, and its standard error."""
    return statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5


def clips(folder: Path, place: Path) -> Collection:
    """Every clip a query; clips of its group are relevant. Four systems use their own MFCC, two are random."""
    documents = read_documents(folder / "documents.tsv")
    files = {name: folder / str(document.path) for name, document in documents.items()}
    extract(files, into=place)
    names, rng = sorted(documents), np.random.default_rng(0)
    runs = []
    for count in (3, 6, 10, 20):
        index: AudioIndex = extract(files, parameters=Parameters(coefficients=count))
        divergences = index.divergence(names)
        order = {
            name: [index.ids[other] for other in np.argsort(row)] for name, row in zip(names, divergences, strict=True)
        }
        runs.append(Run(f"mfcc{count}", {of: tuple([x for x in order[of] if x != of][:DEPTH]) for of in names}))
    for lot in range(2):
        drawn = {of: rng.permutation([x for x in names if x != of])[:DEPTH].tolist() for of in names}
        runs.append(Run(f"lot{lot}", {of: tuple(some) for of, some in drawn.items()}))
    bare = {name: Document(name) for name in names}
    collection = Collection("clips", "clips", BINARY, DEPTH, tuple(runs), bare, sounds=place)
    judgments = tuple(
        Judgment(*pair, grade=float(documents[pair.query].genre == documents[pair.document].genre))
        for pair in build_pool(collection).pairs
    )
    return replace(collection, judgments=judgments)


def heard(folder: Path, place: Path) -> Iterator[tuple[str, Collection]]:
    """The collections with known sound and relevance."""
    demo = Collection.load(DEMO, DEMO / "truth.qrels")
    extract(DEMO / "documents.tsv", into=place / "demo.index")
    demo = replace(demo, sounds=place / "demo.index")
    yield "demo", demo
    yield "demo, nothing else known", replace(demo, documents={})
    if folder.is_dir():
        yield "clips", clips(folder, place / "clips.index")
    else:
        print(f"clips skipped: no {folder}")


def accuracy(pool: Pool, truth: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Stated accuracy of the ranking, nothing judged; the true accuracy, on all queries and on draws of them.

    It also gives the lowest confidence that a system using sound is better than a random one.
    """
    expected = expected_scores(parse_measure(f"CG@{pool.cutoff}"), pool)
    estimator = estimator_of(pool, "joint")
    ranking = rank_belief(expected, estimator, estimator.predict(np.full(len(truth), np.nan))).to_dict()
    belief = estimator_of(pool, "joint").predict(np.full(len(truth), np.nan)).expectation
    by_query = [
        np.array([np.bincount(pool.query, row * of, len(pool.queries)) for row in pool.retrieved.toarray()])
        for of in (belief, truth)
    ]
    count = len(pool.queries)
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), BOOTSTRAPS)
    lots = np.vstack([np.ones((1, count)), draws])
    said, true = (of @ lots.T for of in by_query)
    first, second = np.triu_indices(len(pool.systems), 1)
    right = np.mean((said[first] - said[second]) * (true[first] - true[second]) > 0, axis=0)
    beside = [
        pair["confidence"] if pair["b"].startswith("lot") else 1 - pair["confidence"]
        for pair in ranking["pairs"]
        if pair["a"].startswith("lot") != pair["b"].startswith("lot")
    ]
    return ranking["confidence"], right, min(beside, default=float("nan"))


def slope(pool: Pool, truth: np.ndarray) -> tuple[float, float]:
    """Slope of grades on closeness, given the systems' results, in standard deviations; and its error over queries."""
    (column,) = sound_columns(pool)
    design = np.column_stack([np.ones(len(truth)), column.values, *covariates(pool)])
    grade = (truth - truth.mean()) / truth.std()
    lots = np.random.default_rng(0).multinomial(
        len(pool.queries), np.full(len(pool.queries), 1 / len(pool.queries)), 200
    )
    drawn = [lstsq(design * np.sqrt(lot[pool.query])[:, None], grade * np.sqrt(lot[pool.query]))[0][1] for lot in lots]
    return float(lstsq(design, grade)[0][1]), float(np.std(drawn))


def sound(folder: Path) -> None:
    """Worth of an index of sounds if both sound and relevance are known."""
    with TemporaryDirectory() as place, Figures("evidence", "sound") as figures:
        rows, rankings, slopes = [], [], []
        for name, collection in heard(folder, Path(place)):
            pools = [build_pool(replace(collection, sounds=None)), build_pool(collection)]
            truth = pools[0].spread(collection.grades())
            slopes.append([name, *slope(pools[1], truth)])
            for share in SHARES:
                seen = [
                    np.where(draw(pools[0].query, share, seed), truth, np.nan) for seed in range(DRAWS if share else 1)
                ]
                both = [mean_where_known([squares(pool, one, truth) for one in seen]) for pool in pools]
                rows.append([f"{name}, {share:.0%} judged", *difference(pools[0].query, *both)])
            found = [accuracy(pool, truth) for pool in pools]
            more = np.percentile(found[1][1][1:] - found[0][1][1:], [2.5, 97.5])
            rankings.append([name, *(value for stated, true, _ in found for value in (float(true[0]), stated))])
            gain = float(found[1][1][0] - found[0][1][0])
            rankings[-1].append(f"{gain:+.3f} ({more[0]:+.3f} to {more[1]:+.3f})")
            rankings[-1].append("" if np.isnan(found[1][2]) else f"{found[1][2]:.3f}")
            if name == "demo":
                combined = list(combinations_of(collection, truth))
        figures.table("demo, unknown, nothing judged", ["unknown", "error"], combined)
        figures.table("slope of closeness", ["", "slope", "standard error"], slopes)
        figures.table("error without and with sound", ["", "without", "with", "difference, 95 % over queries"], rows)
        columns = [
            "",
            "true without",
            "stated",
            "true with",
            "stated",
            "more, 95 % over queries",
            "listening above lots",
        ]
        figures.table("accuracy of the ranking, nothing judged", columns, rankings)


def mean_where_known(rows: Sequence[np.ndarray]) -> np.ndarray:
    """(n,) means over rows without NaN; NaN if all are."""
    values = np.array(rows)
    known = ~np.isnan(values)
    return np.where(known.any(axis=0), np.nansum(values, axis=0), np.nan) / np.maximum(1, known.sum(axis=0))


def combinations_of(collection: Collection, truth: np.ndarray) -> Iterator[list[str | float]]:
    """Error of the demo, nothing judged, with every combination of unknown columns, including sound."""
    for count in range(len(KNOWN) + 2):
        for unknown in combinations((*KNOWN, "sound"), count):
            own = without(collection, unknown)
            pool = build_pool(replace(own, sounds=None) if "sound" in unknown else own)
            error = squares(pool, np.full(len(truth), np.nan), truth)
            yield [", ".join(unknown) or "nothing", float(np.sqrt(error.mean()))]


def difference(query: np.ndarray, before: np.ndarray, after: np.ndarray) -> tuple[float, float, str]:
    """Two errors, and their difference with an interval over draws of queries."""
    known = ~np.isnan(before)
    sums = [np.bincount(query[known], of[known], query.max() + 1) for of in (before, after, np.ones(len(query)))]
    lots = np.random.default_rng(0).multinomial(len(sums[0]), np.full(len(sums[0]), 1 / len(sums[0])), BOOTSTRAPS)
    first, second = (np.sqrt((lots @ of) / (lots @ sums[2])) for of in sums[:2])
    low, high = np.percentile(second - first, [2.5, 97.5])
    one, two = (float(np.sqrt(of.sum() / sums[2].sum())) for of in sums[:2])
    return one, two, f"{two - one:+.4f} ({low:+.4f} to {high:+.4f})"


def cost(bare: Collection, more: Collection, judged: int, seed: int) -> tuple[float, float, float]:
    """Increase in error by more evidence, and shares of 95 % intervals of differences that hold without and with it."""
    pools = [build_pool(bare), build_pool(more)]
    truth = pools[0].spread(bare.grades())
    chosen = np.random.default_rng(seed).permutation(len(truth))[:judged]
    seen = np.where(np.isin(np.arange(len(truth)), chosen), truth, np.nan)
    errors = [float(np.sqrt(np.nanmean(squares(pool, seen, truth)))) for pool in pools]
    held = []
    for pool in pools:
        weights = pool.retrieved
        moments = estimator_of(pool, "joint").predict(seen).gains.project(weights)
        off = (weights @ truth / pool.scale.maximum - moments.mean) / np.sqrt(moments.variance)
        held.append(float(np.mean(np.abs(off) <= 1.96)))
    return errors[1] - errors[0], held[0], held[1]


def costs(bare: Collection, others: Sequence[Collection]) -> Iterator[list[str | float]]:
    """Cost of evidence on average over collections that differ only in it, for some numbers of judgments."""
    for judged in (0, 50, 100):
        found = np.array([cost(bare, more, judged, seed) for seed, more in enumerate(others)])
        mean, error = found.mean(axis=0), found[:, 0].std(ddof=1) / len(found) ** 0.5
        yield [f"{judged} judged", f"{mean[0]:+.4f} ± {error:.4f}", mean[1], mean[2]]


COSTS = ("", "excess error", "intervals hold without", "with")


def indifferent(mirex: Path, seeds: int) -> None:
    """Print the cost of sound that listeners ignore: MIREX 2011 with random recordings."""
    collection = Collection.load(mirex)
    (part,) = draw_parts(collection, 1, np.random.default_rng(0), held_out="queries", queries=25)
    own = part.of(collection)
    documents = sorted({pair.document for pair in build_pool(own).pairs} | set(build_pool(own).query_documents))
    with TemporaryDirectory() as place:
        indexes = [noise(documents, Path(place) / f"{seed}.index", seed) for seed in range(seeds)]
        others = [replace(own, sounds=index) for index in indexes]
        with Figures("evidence", "indifferent") as figures:
            figures.table("sound that nobody cares for", COSTS, list(costs(own, others)))


def noise(names: Sequence[str], folder: Path, seed: int) -> Path:
    """An index of random recordings."""
    from audiosim.sound.gaussians import Gaussian

    rng, parameters = np.random.default_rng(seed), Parameters(coefficients=4)
    identity = np.eye(parameters.dimension)
    AudioIndex.of({name: Gaussian(rng.normal(size=len(identity)), identity) for name in names}, parameters).save(folder)
    return folder


def useless(mirex: Path, seeds: int) -> None:
    """Print the cost of random vectors and random numbers."""
    collection = Collection.load(mirex)
    (part,) = draw_parts(collection, 1, np.random.default_rng(0), held_out="queries", queries=25)
    own = part.of(collection)
    documents = sorted({pair.document for pair in build_pool(own).pairs} | set(build_pool(own).query_documents))
    vectors, numbers = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        vectors.append(own.with_evidence("noise", (documents, rng.normal(size=(len(documents), 32)))))
        numbers.append(own.with_evidence("noise", (documents, rng.normal(size=len(documents)))))
    with Figures("evidence", "useless") as figures:
        figures.table("random vectors", COSTS, list(costs(own, vectors)))
        figures.table("random numbers", COSTS, list(costs(own, numbers)))


def described(names: Sequence[str], folder: Path) -> Path:
    """An index of made-up recordings, with as many dimensions as in `extract`."""
    from audiosim.sound.gaussians import Gaussian

    rng, d = np.random.default_rng(0), STANDARD_FRAMES.dimension
    made = {}
    for name in names:
        frames = rng.normal(size=(d, 2 * d))
        made[name] = Gaussian(2 * rng.normal(size=d), frames @ frames.T / (2 * d))
    AudioIndex.of(made).save(folder)
    return folder


def times(mirex: Path) -> None:
    """Processor time of opening, telling and asking, with sound known for all pairs."""
    collection = Collection.load(mirex)
    pool = build_pool(collection)
    documents = sorted({pair.document for pair in pool.pairs} | set(pool.query_documents))
    with TemporaryDirectory() as place, Figures("evidence", "times") as figures:
        replace(collection, judgments=()).save(place)
        more = replace(collection, sounds=described(documents, Path(place) / SOUNDS))
        opening(collection)  # reads everything that a process reads once
        opened = [opening(collection) for _ in range(3)]
        without = statistics.median(seconds for seconds, _, _ in opened)
        figures.add("opening the pool without an index", without, "s")
        elsewhere = opening(more)[0] - without
        (Path(place) / SOUNDS / neighbourhood.FILE).unlink()
        neighbourhood._MEMORIES.clear()
        start = time.process_time()
        prepare_closeness(Path(place))
        figures.add("`extract` does for it beforehand", time.process_time() - start, "s")
        heard = [opening(more) for _ in range(3)]
        figures.add("more with an index of 4,018 recordings, the first time", heard[0][0] - without, "s", limit=0.2)
        later = statistics.median(seconds for seconds, _, _ in heard[1:]) - without
        figures.add("more, from the second time on", later, "s", limit=0.2)
        figures.add("more, the first time, with an index that was not made for the collection", elsewhere, "s")
        for name, (_, pool, estimator) in (("without", opened[-1]), ("with", heard[-1])):
            limit = 5.0 if name == "with" else None
            figures.add(f"ask and tell, {name} sound", 1000 * asking(collection, pool, estimator), "ms", limit=limit)


def opening(collection: Collection) -> tuple[float, Pool, RelevanceEstimator]:
    """Processor time of making the estimator, in a process without anything cached from an index."""
    neighbourhood._MEMORIES.clear()
    pool, start = build_pool(collection), time.process_time()
    estimator = estimator_of(pool, "joint")
    return time.process_time() - start, pool, estimator


def asking(collection: Collection, pool: Pool, estimator: RelevanceEstimator) -> float:
    """Median processor time of asking for a pair and telling its judgment."""
    selection = Selection.start(pool, parse_measure("CG@5"), estimator, batch=1)
    truth, states = pool.spread(collection.grades()), [selection]
    return cpu_seconds(lambda: states.append(judged_next(states[-1], truth)), 100)


def main() -> None:
    """Print the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["patterns", "sound", "indifferent", "useless", "times"])
    parser.add_argument("--mirex", type=Path, default=DATA / "mirex2011")
    parser.add_argument("--clips", type=Path, default=DATA / "sounds")
    parser.add_argument("--splits", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    parts = {
        "patterns": lambda: patterns(given.mirex, given.splits),
        "sound": lambda: sound(given.clips),
        "indifferent": lambda: indifferent(given.mirex, given.seeds),
        "useless": lambda: useless(given.mirex, given.seeds),
        "times": lambda: times(given.mirex),
    }
    run_parts(parts, given.only)


if __name__ == "__main__":
    main()
