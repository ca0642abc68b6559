"""Worth of the features of sound on real music, and the cost of following the judgments.

    python benchmarks/features.py [FOLDER]

FOLDER has sound files and a documents.tsv; two recordings of the same genre count as similar, and the features do not
use the genre. Every recording is a query, and all others are its documents.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from figures import Figures

from audiosim.collection.collection import Collection
from audiosim.collection.kinds import read_documents
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import BINARY, Run
from audiosim.ordinal.features import FEATURES, Table, columns
from audiosim.sound.index import extract
from audiosim.stats.arrays import Array

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TOP = 5
SHARES = (0.1, 0.3)
JUDGMENTS = 1000


def pool_of_all(folder: Path, into: Path) -> tuple[Pool, Array]:
    """Every recording of a folder as a query, and the grade of each pair: 1 if both have the same genre."""
    index = extract(folder / "documents.tsv", n_jobs=-1, into=into)
    run = Run("all", {query: tuple(name for name in index.ids if name != query) for query in index.ids})
    pool = build_pool(Collection("all", "all", BINARY, len(index.ids), (run,), sounds=into))
    genre = {name: document.genre for name, document in read_documents(folder / "documents.tsv").items()}
    return pool, np.array([float(genre[query] == genre[document]) for query, document in pool.pairs])


def precision(pool: Pool, values: Array, grades: Array, left: Array) -> float:
    """Mean over queries of the share of similar ones among the top of the unjudged ones; unknown values come last."""
    found = []
    for code in range(len(pool.queries)):
        rows = np.flatnonzero((pool.query == code) & left)
        found.append(grades[rows[np.argsort(-np.nan_to_num(values[rows], nan=-1), kind="stable")[:TOP]]].mean())
    return float(np.mean(found))


def worth(folder: Path, figures: Figures) -> None:
    """Precision of ranking by each feature, compared with chance."""
    with tempfile.TemporaryDirectory() as scratch:
        pool, grades = pool_of_all(folder, Path(scratch) / "sounds.index")
        everything = np.ones(len(grades), dtype=np.bool_)
        chance = float(grades.mean())
        rows = [("by chance", chance, 1.0)]
        near = columns(pool, np.full(len(grades), np.nan), ["qSIM"])["qSIM"]
        found = precision(pool, near, grades, everything)
        rows.append(("qSIM, nothing judged", found, found / chance))
        for share in SHARES:
            judged = np.random.default_rng(0).random(len(grades)) < share
            table = columns(pool, np.where(judged, grades, np.nan), ["aSIM", "kSIM"])
            for name, values in {**table, "qSIM": near}.items():
                found = precision(pool, values, grades, ~judged)
                rows.append((f"{name}, {share:.0%} judged, the rest ranked", found, found / chance))
        columns_of = ["", f"precision at {TOP}", "times chance"]
        figures.table(f"{len(pool.queries)} recordings ranked by a feature of sound", columns_of, rows)


def following(folder: Path, figures: Figures) -> None:
    """Cost of one more judgment, feature by feature, compared with computing the column from scratch."""
    collection = Collection.load(folder)
    pool = build_pool(collection)
    truth = pool.spread(collection.grades())
    order = np.random.default_rng(0).permutation(np.flatnonzero(~np.isnan(truth)))[:JUDGMENTS]
    shown = []
    for feature in (f for f in FEATURES.values() if f.reads != "nothing" and f.kind != "audio"):
        grades = np.full(len(truth), np.nan)
        table, rows, start = Table.of(pool, grades, [feature]), 0, time.process_time()
        for index in order:
            grades[index] = truth[index]
            table = table.after(grades)
            rows += len(table.computed)
        each, start = (time.process_time() - start) / len(order), time.process_time()
        for _ in range(100):
            Table.of(pool, grades, [feature])
        anew = (time.process_time() - start) / 100
        shown.append((feature.name, rows / len(order), each * 1e6, anew * 1e6))
    title = f"following {len(order):,} judgments of {len(pool.pairs):,} pairs, per judgment"
    figures.table(title, ["", "rows", "µs", "µs from nothing"], shown)


def main() -> None:
    """Print the tables."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "sounds"
    with Figures("features") as figures:
        if (folder / "documents.tsv").exists():
            worth(folder, figures)
        else:
            print(f"skipped: no documents.tsv in {folder.name}; name a folder: python benchmarks/features.py FOLDER")
        if (SHARED / "mirex2011").is_dir():
            following(SHARED / "mirex2011", figures)


if __name__ == "__main__":
    main()
