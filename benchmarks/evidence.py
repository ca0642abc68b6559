"""What each piece of evidence is worth, and what useless evidence costs.

    python benchmarks/evidence.py [--only PART] [--mirex FOLDER] [--clips FOLDER] [--splits 4] [--seeds 20]

PART is patterns, sound, indifferent, useless or times; all where none is named. FOLDER of --mirex is MIREX 2011, that
of --clips sound files with a documents.tsv whose genre says what belongs together. Errors are root mean square errors
of single grades over the scale's maximum, of pairs that are not judged; intervals of 95 % are by bootstrap over
queries.
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
from scipy.linalg import lstsq

from audiosim import Collection, Selection, parse_measure
from audiosim.audio.index import AudioIndex, extract
from audiosim.audio.mfcc import Parameters
from audiosim.corpus.formats import read_documents
from audiosim.corpus.model import BINARY, Document, Judgment, Run
from audiosim.corpus.pool import Pool, build_pool
from audiosim.expected.estimation import estimate_pool, expected_scores
from audiosim.features.evidence import evidence_columns
from audiosim.relevance.consensus import covariates
from audiosim.relevance.estimators import estimator_of
from audiosim.relevance.relearning import FIRST_LEARNING, relearned
from audiosim.simulation import draw_parts
from audiosim.training.folds import draw
from audiosim.training.plan import Plan, parse_terms
from audiosim.training.train import train

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
DEMO = ROOT / "fixtures" / "demo"
SHARES = (0.0, 0.05, 0.1, 0.2)
KNOWN = ("artist", "genre", "team")
DEPTH = 12
BOOTSTRAPS = 2000


def squares(pool: Pool, seen: np.ndarray, truth: np.ndarray, model: object = "joint") -> np.ndarray:
    """(n,) squared errors, NaN where judged; sizes are learned as a campaign learns them."""
    estimator = estimator_of(pool, model)  # type: ignore[arg-type]
    if np.sum(~np.isnan(seen)) >= FIRST_LEARNING:
        estimator = relearned(estimator, seen)  # type: ignore[assignment]
    off = (estimator.predict(seen).expectation - truth) / pool.scale.maximum
    return np.where(np.isnan(seen), off**2, np.nan)


def without(collection: Collection, unknown: Sequence[str]) -> Collection:
    """The collection as if nobody had said who made a document, of which genre it is, or of which team a system."""
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
    """Print errors where columns of metadata are removed from the half of the queries that is predicted."""
    collection = Collection.load(mirex)
    found: dict[tuple[str, ...], list[float]] = {}
    for part in draw_parts(collection, splits, np.random.default_rng(7), held_out="queries"):
        model = train([part.rest(collection)], Plan(parse_terms("joint"), folds=0, joint=True)).model
        for count in range(len(KNOWN) + 1):
            for unknown in combinations(KNOWN, count):
                own = without(part.of(collection), unknown)
                pool = build_pool(own)
                truth = pool.spread(own.grades())
                error = squares(pool, np.full(len(truth), np.nan), truth, model)
                found.setdefault(unknown, []).append(float(np.sqrt(error.mean())))
    print(f"\nMIREX 2011, nothing judged, learned on the other half of the queries, {splits} splits")
    for unknown, errors in found.items():
        spread = statistics.stdev(errors) / len(errors) ** 0.5 if len(errors) > 1 else float("nan")
        print(f"  without {', '.join(unknown) or 'nothing':24} {statistics.mean(errors):.4f} ± {spread:.4f}")


def clips(folder: Path, place: Path) -> Collection:
    """Every clip a query; relevant are clips of its group. Four systems of their own MFCC listen, two draw lots."""
    documents = read_documents(folder / "documents.tsv")
    files = {name: folder / str(document.path) for name, document in documents.items()}
    extract(files, into=place)
    names, rng = sorted(documents), np.random.default_rng(0)
    runs = []
    for count in (3, 6, 10, 20):
        index: AudioIndex = extract(files, parameters=Parameters(coefficients=count))
        apart = index.divergence(names)
        order = {name: [index.ids[other] for other in np.argsort(row)] for name, row in zip(names, apart, strict=True)}
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
    """The collections with sound and relevance."""
    demo = Collection.load(DEMO, DEMO / "truth.qrels")
    extract(DEMO / "documents.tsv", into=place / "demo.index")
    demo = replace(demo, sounds=place / "demo.index")
    yield "demo", demo
    yield "demo, nothing else known", replace(demo, documents={})
    if folder.is_dir():
        yield "clips", clips(folder, place / "clips.index")
    else:
        print(f"clips skipped: no {folder}")


def accuracy(pool: Pool, truth: np.ndarray) -> tuple[float, float, str]:
    """Stated and true accuracy of the ranking, nothing judged, and the least confidence that who listens is better."""
    expected = expected_scores(parse_measure(f"CG@{pool.cutoff}"), pool)
    ranking = estimate_pool(expected, estimator_of(pool, "joint"), np.full(len(truth), np.nan)).to_dict()
    scores = dict(zip(pool.systems, pool.retrieved @ truth, strict=True))
    right = [(scores[pair["a"]] - scores[pair["b"]]) * pair["expectation"] > 0 for pair in ranking["pairs"]]
    beside = [
        pair["confidence"] if pair["b"].startswith("lot") else 1 - pair["confidence"]
        for pair in ranking["pairs"]
        if pair["a"].startswith("lot") != pair["b"].startswith("lot")
    ]
    least = f", listening above lots at {min(beside):.3f} at least" if beside else ""
    return ranking["confidence"], float(np.mean(right)), least


def slope(pool: Pool, truth: np.ndarray) -> tuple[float, float]:
    """Slope of grades on closeness beside what systems retrieved, in standard deviations; its error over queries."""
    (column,) = evidence_columns(pool)
    design = np.column_stack([np.ones(len(truth)), column.values, *covariates(pool)])
    grade = (truth - truth.mean()) / truth.std()
    lots = np.random.default_rng(0).multinomial(
        len(pool.queries), np.full(len(pool.queries), 1 / len(pool.queries)), 200
    )
    drawn = [lstsq(design * np.sqrt(lot[pool.query])[:, None], grade * np.sqrt(lot[pool.query]))[0][1] for lot in lots]
    return float(lstsq(design, grade)[0][1]), float(np.std(drawn))


def sound(folder: Path, splits: int) -> None:
    """Print what an index of sounds is worth where sound and relevance are both known."""
    print("\nsound: error without and with the index, and the difference")
    with TemporaryDirectory() as place:
        for name, collection in heard(folder, Path(place)):
            pools = [build_pool(replace(collection, sounds=None)), build_pool(collection)]
            truth = pools[0].spread(collection.grades())
            print(f"{name}: slope of closeness {'{:.3f} ± {:.3f}'.format(*slope(pools[1], truth))}")
            for share in SHARES:
                seen = [
                    np.where(draw(pools[0].query, share, seed), truth, np.nan) for seed in range(splits if share else 1)
                ]
                both = [np.nanmean([squares(pool, one, truth) for one in seen], axis=0) for pool in pools]
                print_difference(share, pools[0].query, *both)
            for what, pool in zip(("without", "with"), pools, strict=True):
                stated, true, least = accuracy(pool, truth)
                print(f"  {what} the index, nothing judged: stated {stated:.3f}, true {true:.3f}{least}")


def print_difference(share: float, query: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """Print two errors, and an interval of their difference over draws of queries."""
    known = ~np.isnan(before)
    sums = [np.bincount(query[known], of[known], query.max() + 1) for of in (before, after, np.ones(len(query)))]
    lots = np.random.default_rng(0).multinomial(len(sums[0]), np.full(len(sums[0]), 1 / len(sums[0])), BOOTSTRAPS)
    first, second = (np.sqrt((lots @ of) / (lots @ sums[2])) for of in sums[:2])
    low, high = np.percentile(second - first, [2.5, 97.5])
    one, two = (float(np.sqrt(of.sum() / sums[2].sum())) for of in sums[:2])
    print(f"  {share:4.0%} judged  {one:.4f}  {two:.4f}  {two - one:+.4f} ({low:+.4f} to {high:+.4f})")


def cost(bare: Collection, more: Collection, judged: int, seed: int) -> tuple[float, float, float]:
    """Error of more evidence less that without, and how many 95 % intervals of systems' differences hold with it."""
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


def print_costs(what: str, bare: Collection, others: Sequence[Collection]) -> None:
    """Print what evidence costs on average over collections that differ in it alone."""
    for judged in (0, 50, 100):
        found = np.array([cost(bare, more, judged, seed) for seed, more in enumerate(others)])
        mean, error = found.mean(axis=0), found[:, 0].std(ddof=1) / len(found) ** 0.5
        held = f"{mean[1]:.2f}, {mean[2]:.2f}"
        print(f"  {what}, {judged:3} judged: {mean[0]:+.4f} ± {error:.4f}; intervals of systems hold {held}")


def indifferent(mirex: Path, seeds: int) -> None:
    """Print what sound costs where listeners do not care for it: MIREX 2011 with recordings that are noise."""
    print("\nsound that tells nothing, MIREX 2011, 25 of its queries")
    collection = Collection.load(mirex)
    (part,) = draw_parts(collection, 1, np.random.default_rng(0), held_out="queries", queries=25)
    own = part.of(collection)
    documents = sorted({pair.document for pair in build_pool(own).pairs} | set(build_pool(own).query_documents))
    with TemporaryDirectory() as place:
        indexes = [noise(documents, Path(place) / f"{seed}.index", seed) for seed in range(seeds)]
        others = [replace(own, sounds=index) for index in indexes]
        print_costs("with the index", own, others)


def noise(names: Sequence[str], folder: Path, seed: int) -> Path:
    """An index of recordings that are drawn by lot."""
    from audiosim.stats.gaussian import Gaussian

    rng, parameters = np.random.default_rng(seed), Parameters(coefficients=4)
    identity = np.eye(parameters.dimension)
    AudioIndex.of({name: Gaussian(rng.normal(size=len(identity)), identity) for name in names}, parameters).save(folder)
    return folder


def useless(mirex: Path, seeds: int) -> None:
    """Print what random vectors and random numbers cost."""
    print("\nevidence that tells nothing, MIREX 2011, 25 of its queries")
    collection = Collection.load(mirex)
    (part,) = draw_parts(collection, 1, np.random.default_rng(0), held_out="queries", queries=25)
    own = part.of(collection)
    documents = sorted({pair.document for pair in build_pool(own).pairs} | set(build_pool(own).query_documents))
    vectors, numbers = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        vectors.append(own.with_evidence("noise", (documents, rng.normal(size=(len(documents), 32)))))
        numbers.append(own.with_evidence("noise", (documents, rng.normal(size=len(documents)))))
    print_costs("random vectors", own, vectors)
    print_costs("random numbers", own, numbers)


def times(mirex: Path) -> None:
    """Print processor time of opening, and of telling and asking, with sound known for all pairs."""
    collection = Collection.load(mirex)
    pool = build_pool(collection)
    documents = sorted({pair.document for pair in pool.pairs} | set(pool.query_documents))
    with TemporaryDirectory() as place:
        for name, one in (
            ("without", collection),
            ("with", replace(collection, sounds=noise(documents, Path(place) / "i", 0))),
        ):
            pool, start = build_pool(one), time.process_time()
            estimator = estimator_of(pool, "joint")
            opened = time.process_time() - start
            selection = Selection.start(pool, parse_measure("CG@5"), estimator, batch=1)
            truth, spent = pool.spread(one.grades()), []
            for _ in range(60):
                start = time.process_time()
                (pair,) = selection.ask(1)
                selection = selection.tell(Judgment(*pair, grade=float(truth[pool.positions[pair]])))
                spent.append(time.process_time() - start)
            print(f"{name} sound: opening {opened:.2f} s, ask and tell {1000 * statistics.median(spent):.1f} ms")


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["patterns", "sound", "indifferent", "useless", "times"])
    parser.add_argument("--mirex", type=Path, default=DATA / "mirex2011")
    parser.add_argument("--clips", type=Path, default=DATA / "sounds")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    parts = {
        "patterns": lambda: patterns(given.mirex, given.splits),
        "sound": lambda: sound(given.clips, given.splits),
        "indifferent": lambda: indifferent(given.mirex, given.seeds),
        "useless": lambda: useless(given.mirex, given.seeds),
        "times": lambda: times(given.mirex),
    }
    for name, part in parts.items():
        if given.only in {None, name}:
            part()


if __name__ == "__main__":
    main()
