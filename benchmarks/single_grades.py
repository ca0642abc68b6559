"""Accuracy of single grades on collections that nothing was learned from, compared with a running mean.

    python benchmarks/single_grades.py [--parts 6] [--only NAMES] [--drawn 20]

Each collection of ../shared/data in turn is predicted without its source and with nothing known about its documents. On
random parts of it, a share of each query's pairs is judged at random, and the others are predicted. The running mean of
a query, with three pseudo-judgments from all judged pairs, predicts a level by

    (3 P + judged pairs of the query of that level) / (3 + judged pairs of the query),
    P = (historical share + judged pairs of that level) / (1 + judged pairs)

Errors are of grades over the highest; the log score is -ln P(true level). Standard errors are of the difference to the
running mean, over parts. With --drawn, that many collections are drawn with the runs of each, and one part of each is
played: the gain over the running mean if the model is right; see benchmarks/drawn_collections.py. For results at home
see benchmarks/joint.py.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from calibration import QUERIES, SOURCES, between_all, real
from drawn_collections import drawn_collection
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import queries_of
from audiosim.joint.estimators import estimator_of, relearned
from audiosim.joint.moments import last_moment
from audiosim.ordinal.model import Model, load_model
from audiosim.simulation import draw_parts
from audiosim.training.examples import draw, place_levels
from audiosim.training.joint import learn_between

SHARES = (0.05, 0.1, 0.2)
COUNTS = (10, 20)  # judged in all, before the model learns again
PSEUDO = 3.0


def running_mean(pool: Pool, level: np.ndarray, seen: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(n, l) probabilities of the levels by the running mean of each query.

    level  (n,) place of each pair's level
    seen   (n,) True for judged pairs
    usual  (l,) frequency of each level
    """
    counts = np.zeros((len(pool.queries), len(usual)))
    np.add.at(counts, (pool.query[seen], level[seen]), 1)
    overall = (usual + counts.sum(axis=0)) / (1 + counts.sum())
    by_query = (PSEUDO * overall + counts) / (PSEUDO + counts.sum(axis=1, keepdims=True))
    return by_query[pool.query]


def measured(pool: Pool, grades: np.ndarray, model: Model, code: int) -> Iterator[tuple[str, list[float]]]:
    """For each amount judged, RMSE and log score of the model, and those of the running mean."""
    level, start = place_levels(pool.scale, grades), estimator_of(pool, model)
    order = np.random.default_rng(code).permutation(len(grades))
    amounts = {f"{count} pairs": np.isin(np.arange(len(grades)), order[:count]) for count in COUNTS}
    amounts |= {f"{share:.0%}": draw(pool.query, share, code) for share in SHARES}
    for name, seen in amounts.items():
        first = order[seen[order]][: last_moment(int(seen.sum()))]
        learned = np.where(np.isin(np.arange(len(grades)), first), grades, np.nan)
        estimator = relearned(start, learned) if len(first) else start
        belief = estimator.predict(np.where(seen, grades, np.nan))
        usual = start.predict(np.full(len(grades), np.nan)).marginals.mean(axis=0)
        found = []
        for chance in (belief.probabilities, running_mean(pool, level, seen, usual)):
            off = (chance @ belief.levels - grades)[~seen] / pool.scale.maximum
            log = -np.log(np.maximum(chance[~seen, level[~seen]], 1e-9))
            found += [float(np.sqrt(np.mean(off**2))), float(log.mean())]
        yield name, found


def main() -> None:
    """Print the figures, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=6)
    parser.add_argument("--only", default="", help="collections, with commas")
    parser.add_argument("--drawn", type=int, default=0, help="number of collections drawn with the runs of each")
    options = parser.parse_args()
    count = options.drawn or options.parts
    model, estimates = load_model("joint-fine"), between_all()
    results: dict[str, dict[str, np.ndarray]] = {}
    with Figures("single_grades", "drawn" if options.drawn else "") as figures, threadpool_limits(1):
        for name, collection in real([name for name in options.only.split(",") if name]).items():
            between = learn_between([one for one in estimates if one.source != SOURCES[name]])
            away = replace(model, between=between, training=None)
            queries = min(QUERIES.get(name, 20), len(queries_of(collection.runs)))
            drawn = draw_parts(collection, count, np.random.default_rng(0), queries=queries, held_out="queries")
            rows: dict[str, list[list[float]]] = {}
            for code, part in enumerate(drawn):
                whole = drawn_collection(replace(collection, judgments=()), away, code) if options.drawn else collection
                mine = part.of(whole)
                pool = build_pool(mine)
                for amount, found in measured(pool, pool.spread(mine.grades()), away, code):
                    rows.setdefault(amount, []).append(found)
            results[name] = {amount: np.array(every) for amount, every in rows.items()}
            print(f"{name}: {count} parts", flush=True)
        for place, what in enumerate(("RMSE", "log score")):
            named = {
                _above(of, place): [name, *(_cell(every, place) for every in of.values())]
                for name, of in results.items()
            }
            head = ["", *(f"{amount} judged" for amount in next(iter(results.values())))]
            table = [named[worst] for worst in sorted(named, reverse=True)]
            figures.table(f"{what}: model, running mean, their difference", head, table)


def _above(of: dict[str, np.ndarray], place: int) -> float:
    """Largest loss of the model to the running mean, over shares of each query judged."""
    return max(float((every[:, place] - every[:, place + 2]).mean()) for name, every in of.items() if "%" in name)


def _cell(every: np.ndarray, place: int) -> str:
    own, other = every[:, place], every[:, place + 2]
    error = np.std(own - other, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0
    return f"{own.mean():.3f}, {other.mean():.3f}: {np.mean(own - other):+.3f} ± {error:.3f}"


if __name__ == "__main__":
    main()
