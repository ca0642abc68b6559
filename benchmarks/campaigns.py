"""Campaigns played on parts of collections and recorded, for benchmarks/verdicts.py to evaluate.

    python benchmarks/campaigns.py FOLDER [--only mirex2011,synthetic] [--parts 8] [--most 1200]

The kinds of collections are those of benchmarks/calibration.py, each with a model learned without its source, and
halves of mirex2011 with a model learned on the other half. A campaign continues until it states UNTIL, or to --most.
Campaigns in FOLDER are not played again, so that an interrupted run can continue.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from calibration import DATA, KINDS, QUERIES, SOURCES, between_all, real, synthetic
from scipy.special import stdtr
from synthetic import synthetic_collection
from threadpoolctl import threadpool_limits

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import queries_of
from audiosim.joint.check import MOST, check_model
from audiosim.joint.estimators import estimator_of
from audiosim.measures.measure import parse_measure
from audiosim.ordinal.model import Model, load_model
from audiosim.ranking import Selection
from audiosim.ranking.ranking import Ranking
from audiosim.simulation.replay import right, true_scores
from audiosim.simulation.trials import draw_parts, selections
from audiosim.training.joint import learn_between
from audiosim.training.plan import Plan, is_joint, parse_terms
from audiosim.training.train import train

WIDER = (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 1.75, 2.0)  # factors applied to stated deviations
MOMENTS = (50, 100, 200, 400, 800, 1600)
EVERY = 20  # judgments between recorded moments of the scores
UNTIL, UNTIL_AT = 0.98, 1.2  # confidence that ends a campaign, and the factor of its deviations
BATCH = 20
HOME = "mirex2011 at home"  # halves, with a model learned on the other half
UNLIKE: Mapping[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "deaf": lambda grades, rng: rng.permutation(grades),
    "capricious": lambda grades, rng: rng.uniform(0, grades.max(), len(grades)),
    "harsh": lambda grades, _: grades / 2,
    "all or nothing": lambda grades, _: np.where(grades >= np.median(grades), grades.max(), 0.0),
    "another task": lambda grades, _: grades.max() - grades,
    "shuffled metadata": lambda grades, _: grades,  # the documents are shuffled, see `shuffled`
}
UNLIKE_JUDGMENTS = 400
HALVES = 2  # halves for spoilt campaigns, in turn; the spoiling is drawn separately for each


@dataclass(frozen=True, eq=False)
class Played:
    """A recorded campaign.

    judged    (m,) numbers of judgments
    stated    (m, f) mean confidence with deviations multiplied by each of WIDER
    accuracy  (m,) accuracy of the order of the systems
    e_values  (k,) evidence against the model after each judgment, by the belief at the end
    order     places of the judged pairs, in their order
    query, genre  (k,) codes for the judged pairs
    found     (k, s) True for systems that retrieved them
    truth     (s,) true scores
    at        numbers of judgments at which moments are recorded
    mean      (len(at), s) expected scores
    covariance  (len(at), s, s)
    checked_at  numbers of judgments at which statements after the model check are recorded: MOMENTS
    failed    (len(checked_at),) True if the model failed the check
    checked_mean, checked_covariance  like `mean` and `covariance`
    queries   number of queries of the pool
    pairs     number of its pairs
    """

    judged: np.ndarray
    stated: np.ndarray
    accuracy: np.ndarray
    e_values: np.ndarray
    order: np.ndarray
    query: np.ndarray
    genre: np.ndarray
    found: np.ndarray
    truth: np.ndarray
    at: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    checked_at: np.ndarray
    failed: np.ndarray
    checked_mean: np.ndarray
    checked_covariance: np.ndarray
    queries: np.ndarray
    pairs: np.ndarray

    def keep(self, path: Path) -> None:
        """Write it to a file."""
        with path.open("wb") as file:
            np.savez_compressed(file, **{name: getattr(self, name) for name in self.__dataclass_fields__})


def kept(path: Path) -> Played:
    """A campaign from its file."""
    with np.load(path) as arrays:
        return Played(**dict(arrays))


def play(start: Selection, grades: np.ndarray, most: int) -> Played:
    """Play a campaign with known grades (n,)."""
    scores, rows, moments, checked = true_scores(start, grades), [], [], []
    for state in selections(start, grades):
        ranking = state.believed
        stated = confidences(ranking)
        rows.append((state.judged, *stated, right(ranking, scores).mean()))
        if state.judged % EVERY == 0 or state.judged in MOMENTS:
            moments.append((state.judged, ranking.scores.mean.astype("f4"), ranking.scores.covariance.astype("f4")))
        if state.judged in MOMENTS:
            found = state.ranking
            checked.append((state.judged, found.check.verdict == "FAIL", found.scores.mean, found.scores.covariance))
        if state.judged >= most or (stated[WIDER.index(UNTIL_AT)] >= UNTIL and state.judged >= MOMENTS[0]):
            break
    table, order = np.array(rows), np.array(state.order)
    seen = check_model(state.estimator, state.belief, order, state.pool)
    at, mean, covariance = map(np.array, zip(*moments, strict=True))
    checked_at, failed, checked_mean, checked_covariance = map(np.array, zip(*checked, strict=True))
    pool, order = state.pool, order[:MOST]
    return Played(
        judged=table[:, 0],
        stated=table[:, 1:-1],
        accuracy=table[:, -1],
        e_values=seen.e_values,
        order=order,
        query=pool.query[order],
        genre=pool.genre[order],
        found=np.asarray(pool.retrieved.toarray())[:, order].T > 0,
        truth=scores,
        at=at,
        mean=mean,
        covariance=covariance,
        checked_at=checked_at,
        failed=failed,
        checked_mean=checked_mean,
        checked_covariance=checked_covariance,
        queries=np.array(len(pool.queries)),
        pairs=np.array(len(pool.pairs)),
    )


def confidences(ranking: Ranking) -> np.ndarray:
    """(f,) mean confidence with deviations multiplied by each of WIDER."""
    expectation, variance = ranking.scores.differences
    known = variance <= 0
    standard = np.where(known, np.sign(expectation) * np.inf, expectation / np.sqrt(np.where(known, 1, variance)))
    standard = np.where(known & (expectation == 0), 0, standard)
    return np.asarray(stdtr(ranking.scores.freedom, standard / np.array(WIDER)[:, None]).mean(axis=1))


def begin(part: Collection, model: Model, seed: int) -> tuple[Selection, np.ndarray]:
    """A campaign on a part before its first judgment, and the grades of its pairs (n,)."""
    pool = build_pool(part)
    measure = parse_measure(f"CG@{pool.cutoff}")
    start = Selection.start(pool, measure, estimator_of(pool, model), batch=BATCH, seed=seed)
    return start, pool.spread(part.grades())


def spoilt(kind: str, grades: np.ndarray, levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grades by listeners, on a scale, or for a task unknown to every model."""
    found = UNLIKE[kind](grades, rng)
    return np.asarray(levels[np.argmin(np.abs(found[:, None] - levels), axis=1)])


@cache
def at_home(number: int) -> tuple[Collection, Model]:
    """A half of mirex2011, and a model learned on the other half."""
    collection = Collection.load(DATA / "mirex2011")
    part = draw_parts(collection, number + 1, np.random.default_rng(0), held_out="queries")[number]
    plan = Plan(parse_terms("joint"), "learned", folds=0, joint=is_joint("joint"))
    return part.of(collection), train([part.rest(collection)], plan).model


def away(name: str, number: int, models: dict[str, Any]) -> tuple[Collection, Model]:
    """A part of a collection, or a synthetic collection, and a model learned without its source."""
    if not models:
        models["estimates"], models["joint"] = between_all(), replace(load_model("joint-fine"), training=None)
    without = [one for one in models["estimates"] if one.source != SOURCES.get(name)]
    model = replace(models["joint"], between=learn_between(without))
    if name in KINDS:
        code = list(KINDS).index(name)
        made = synthetic_collection(np.random.default_rng([code, number]), *KINDS[name])
        return replace(made, documents={}, query_documents={}, not_artists=frozenset()), model
    (collection,) = real([name]).values()
    queries = min(QUERIES.get(name, 20), len(queries_of(collection.runs)))
    parts = draw_parts(collection, number + 1, np.random.default_rng(0), queries=queries, held_out="queries")
    return parts[number].of(collection), model


def shuffled(collection: Collection, rng: np.random.Generator) -> Collection:
    """The collection with artists and genres exchanged between documents."""
    names = list(collection.documents)
    others = [collection.documents[names[place]] for place in rng.permutation(len(names))]
    documents = {
        name: replace(collection.documents[name], artist=other.artist, genre=other.genre)
        for name, other in zip(names, others, strict=True)
    }
    return replace(collection, documents=documents)


def tasks(names: list[str], parts: int) -> Iterator[tuple[str, int]]:
    """Names of kinds and numbers of parts, all kinds in turn."""
    every = [HOME, *real([]), *synthetic([]), *(f"unlike: {kind}" for kind in UNLIKE)]
    chosen = [name for name in every if not names or name in names or name.split(":")[0] in names]
    for number in range(parts):
        for name in chosen:
            yield name, number


def main() -> None:
    """Play and record campaigns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="kinds, `unlike`, or collections, with commas")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--most", type=int, default=1200, help="judgments")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    models: dict[str, Any] = {}
    with threadpool_limits(1):
        for name, number in tasks([one for one in options.only.split(",") if one], options.parts):
            path = options.folder / f"{name.replace(':', '')} {number:03d}.npz"
            if path.exists():
                continue
            clock, most = time.process_time(), options.most
            unlike = name.removeprefix("unlike: ")
            half = number % HALVES if unlike in UNLIKE else number
            part, model = at_home(half) if name == HOME or unlike in UNLIKE else away(name, number, models)
            if unlike == "shuffled metadata":
                part = shuffled(part, np.random.default_rng(number))
            start, grades = begin(part, model, number)
            if unlike in UNLIKE:
                levels = np.array(part.scale.levels, dtype=float)
                grades, most = spoilt(unlike, grades, levels, np.random.default_rng(number)), UNLIKE_JUDGMENTS
            found = play(start, grades, most)
            found.keep(path)
            said = f"{found.judged[-1]:5.0f} judged, stated {found.stated[-1, 0]:.3f}, true {found.accuracy[-1]:.3f}"
            print(f"{name:22}{number:4d}  {said}  {time.process_time() - clock:.0f} s", flush=True)


if __name__ == "__main__":
    main()
