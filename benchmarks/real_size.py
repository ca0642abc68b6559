"""Processor time and peak memory of what an organiser uses while people judge, by number of judgments and of people.

    python benchmarks/real_size.py [--judgments 1000 15000 50000] [--people 10 300] [--only estimate]

Collections of 18 systems, with five judgments a pair: people differ in severity and in noise. Comparisons are of pairs
drawn at random. Each command runs in a fresh process on one thread. A slope is from the number of judgments above, on
logarithmic axes: 1 means in proportion. `--collection FOLDER` measures a folder as it is, such as a listening test.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from figures import Figures
from scaling import COMMAND, Spent, spent
from synthetic import Design, synthetic_collection

from audiosim.collection.collection import Collection
from audiosim.collection.values import Judgment, PairedComparison

SYSTEMS, TEAMS, DEPTH, CANDIDATES = 18, 9, 5, 100
OF_PAIR = 5  # judgments of a pair
SEVERITY, NOISE = 8.0, 12.0  # standard deviations, of 100
SECONDS, MEGABYTES, SLOPE, AT = 10.0, 500.0, 1.2, 15_000
KINDS = {
    "estimate": ("estimate",),
    "estimate, listeners at large": ("estimate", "--about", "listeners"),
    "judges, none left out": ("judges", "--leave-one-out", "0"),
    "judges, ten left out": ("judges", "--leave-one-out", "10"),
    "next pair": ("next",),
}


def made(where: Path, judgments: int, people: int, compared: bool) -> Path:
    """A collection on disk with so many judgments, or comparisons, by so many people."""
    folder, rng = where / f"{judgments}-by-{people}{'-compared' if compared else ''}", np.random.default_rng(0)
    queries = max(2, round(judgments / OF_PAIR / 45))  # 18 systems find about 45 documents for a query
    whole = synthetic_collection(rng, Design(SYSTEMS, TEAMS, queries, DEPTH, CANDIDATES))
    true = {one.pair: one.grade for one in whole.judgments}
    pairs, severity = list(true), rng.normal(0, SEVERITY, people)
    noise = NOISE * np.exp(rng.normal(0, 0.3, people))
    if compared:
        answers = comparisons(rng, whole, true, judgments, people)
        replace(whole, judgments=(), comparisons=tuple(answers)).save(folder)
        return folder
    said = {}
    while len(said) < min(judgments, len(pairs) * people):
        place, name = int(rng.integers(len(pairs))), int(rng.integers(people))
        grade = true[pairs[place]] + severity[name] + rng.normal(0, noise[name])
        said[place, name] = float(np.clip(round(grade), 0, 100))
    found = (Judgment(*pairs[place], grade, f"person{name}") for (place, name), grade in said.items())
    replace(whole, judgments=tuple(found)).save(folder)
    return folder


def comparisons(
    rng: np.random.Generator, whole: Collection, true: dict, count: int, people: int
) -> Iterator[PairedComparison]:
    """Answers by people who err by NOISE, of two documents of a query each."""
    of_query: dict[str, list[str]] = {}
    for query, document in true:
        of_query.setdefault(query, []).append(document)
    known, queries = set(), list(of_query)
    while len(known) < count:
        query, name = queries[int(rng.integers(len(queries)))], f"person{rng.integers(people)}"
        a, b = rng.choice(of_query[query], 2, replace=False).tolist()
        if (name, query, *sorted((a, b))) in known:
            continue
        known.add((name, query, *sorted((a, b))))
        off = true[query, a] - true[query, b] + rng.normal(0, NOISE)
        yield PairedComparison(query, a, b, "=" if abs(off) < NOISE / 2 else "a" if off > 0 else "b", name)


def measured(kind: Sequence[str], folder: Path) -> Spent:
    """Costs of a command on a folder."""
    return spent([*COMMAND, kind[0], folder, *kind[1:], "--format", "json"])


def rows_of(name: str, sizes: Sequence[int], folders: Sequence[Path]) -> list[tuple]:
    """Rows of a job, with slopes."""
    rows: list[tuple] = []
    for size, folder in zip(sizes, folders, strict=True):
        cost = measured(KINDS[name], folder)
        slope = math.log(cost.seconds / rows[-1][1]) / math.log(size / rows[-1][-1]) if rows else None
        limits = (SECONDS, MEGABYTES) if size == AT else (None, None)
        rows.append((f"{size:,}", cost.seconds, limits[0], cost.megabytes, limits[1], slope, size))
        print(f"{name:30} {size:>7,} {cost.seconds:8.1f} s {cost.megabytes:7.0f} MB", flush=True)
    return [row[:-1] for row in rows]


def main() -> None:
    """Measure, print and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, nargs="+", default=[1_000, AT, 50_000])
    parser.add_argument("--people", type=int, nargs="+", default=[10, 300])
    parser.add_argument("--compared", action="store_true", help="comparisons in place of judgments")
    parser.add_argument("--collection", type=Path, help="measure this folder alone")
    parser.add_argument("--only", default="", help="only jobs with this in their name")
    asked = parser.parse_args()
    kinds = [name for name in KINDS if asked.only in name]
    if asked.collection is not None:
        with Figures("real_size", asked.collection.resolve().name) as figures:
            for name in kinds:
                cost = measured(KINDS[name], asked.collection)
                figures.add(name, cost.seconds, "s", limit=SECONDS, note=f"{cost.megabytes:.0f} MB")
        return
    what = "comparisons" if asked.compared else "judgments"
    columns = (what, "s", "limit, s", "MB", "limit, MB", f"slope (at most {SLOPE})")
    with tempfile.TemporaryDirectory() as where:
        for people in asked.people:
            folders = [made(Path(where), size, people, asked.compared) for size in asked.judgments]
            for name in kinds:
                rows = rows_of(name, asked.judgments, folders)
                with Figures("real_size", f"{what} {people} people {name}") as figures:
                    figures.table(f"{name}, {people} people", columns, rows)


if __name__ == "__main__":
    main()
