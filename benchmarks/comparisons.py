"""Rankings by comparisons alone: stated held against what people say who were not asked.

Of a collection with comparisons.tsv six people are drawn, and some of their answers; the order of the systems is right
where the answers of all others have it so. Beside it, the order by counting wins.

    python benchmarks/comparisons.py [--draws 12] [FOLDER]
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from audiosim import Collection, PairedComparison, estimate

USUAL = Path(__file__).parents[2] / "shared" / "data" / "listeners" / "wmt16-roen"
PEOPLE, MOMENTS = 6, (50, 200, 600)


def shares_won(collection: Collection, comparisons: Sequence[PairedComparison]) -> np.ndarray:
    """Share of its comparisons that each system wins, a tie being half of a win; (s,) in the order of the runs."""
    owner = {
        (query, document): place
        for place, run in enumerate(collection.runs)
        for query, documents in run.rankings.items()
        for document in documents
    }
    won, made = np.zeros((2, len(collection.runs)))
    for one in comparisons:
        for pair, wins in zip(one.pairs, "ab", strict=True):
            won[owner[pair]] += 0.5 if one.answer == "=" else float(one.answer == wins)
            made[owner[pair]] += 1
    return won / np.maximum(1, made)


def played(collection: Collection, seed: int) -> list[tuple[float, float, float]]:
    """At each moment the stated confidence, the share of pairs that are right, and that by counting wins."""
    rng = np.random.default_rng(seed)
    people = sorted({one.assessor for one in collection.comparisons})
    asked = set(rng.choice(people, PEOPLE, replace=False).tolist())
    theirs = [one for one in collection.comparisons if one.assessor in asked]
    truth = shares_won(collection, [one for one in collection.comparisons if one.assessor not in asked])
    order, rows = rng.permutation(len(theirs)), []
    for moment in MOMENTS:
        some = tuple(theirs[place] for place in order[:moment])
        ranking = estimate(replace(collection, comparisons=some), measure="CG@1", about="listeners")
        first, second = ranking.pairs
        counted = shares_won(collection, some)
        true = np.sign(truth[first] - truth[second])
        rows.append(
            (ranking.confidence or 0.0, np.mean(true > 0), np.mean(true == np.sign(counted[first] - counted[second])))
        )
    return rows


def main() -> None:
    """Print a row for each number of answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=USUAL)
    parser.add_argument("--draws", type=int, default=12)
    arguments = parser.parse_args()
    collection = Collection.load(arguments.folder)
    found = np.array([played(collection, seed) for seed in range(arguments.draws)])
    print("answers   stated   right   by wins   stated less right, standard error")
    for moment, rows in zip(MOMENTS, np.moveaxis(found, 1, 0), strict=True):
        stated, right, wins = rows.mean(axis=0)
        excess = rows[:, 0] - rows[:, 1]
        error = excess.std(ddof=1) / np.sqrt(len(excess)) if len(excess) > 1 else np.nan
        print(f"{moment:7}   {stated:6.3f}   {right:5.3f}   {wins:7.3f}   {excess.mean():+.3f} {error:.3f}")


if __name__ == "__main__":
    main()
