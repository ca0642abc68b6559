"""Preferences between two documents by comparisons alone: stated held against what people answer who were not asked.

Of a comparisons.tsv without runs six people are drawn among those with the most answers, and some of these answers.
For every answer of the others that prefers one of two documents: the probability that was stated for the likelier one,
and whether it was the preferred one. Beside it Bradley and Terry's model (choix) and TrueSkill. There are no systems:
for all three every document of a query is a system, or player, of its own. The answers of the busiest are those of the
people who were among those drawn from: they answer more like the six than all others do.

    pip install 'audiosim[bench]'
    python benchmarks/compared_documents.py [--draws 24] [--agreeing .55] [FILE]
    python benchmarks/compared_documents.py --agreement [FILE]

`--agreeing` leaves out those of the others who agree less often with the majority of everybody else: who answers at
random is predicted by nobody. With `--agreement` only the people are held against one another: how often two who prefer
one of two documents prefer the same, all of them and those of the busiest, and how often the majority of all others who
answered does. Nobody predicts preferences better than by what people have in common.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from comparisons import MOMENTS, PEOPLE, Answers, bradley_terry, true_skill, with_error
from figures import Figures
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from audiosim import Collection, PairedComparison
from audiosim.collection.kinds import read_comparisons
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Run
from audiosim.joint.comparisons import Compared
from audiosim.joint.estimators import built_in
from audiosim.stats.arrays import Array, Integers

USUAL = Path(__file__).parents[2] / "shared" / "data" / "listeners" / "melody2010" / "comparisons.tsv"
BUSIEST = 20  # people to draw from: six others have too few answers together
LEAST = 600  # answers of the six together
METHODS = ("audiosim", "audiosim, answers of the busiest", "Bradley-Terry, choix", "TrueSkill")
FEWEST = 8  # preferences by which somebody is held to answer at random


def documents_of(comparisons: Sequence[PairedComparison]) -> dict[str, list[str]]:
    """The documents that were compared for each query."""
    found: dict[str, dict[str, None]] = {}
    for one in comparisons:
        found.setdefault(one.query, {}).update(dict.fromkeys((one.document_a, one.document_b)))
    return {query: sorted(documents) for query, documents in found.items()}


def as_collection(comparisons: Sequence[PairedComparison]) -> Collection:
    """A collection in which each document of a query is a system of its own."""
    pairs = [(query, name) for query, names in documents_of(comparisons).items() for name in names]
    return Collection("compared", "compared", FINE, 1, tuple(Run(f"{q} {d}", {q: (d,)}) for q, d in pairs))


def busiest(comparisons: Sequence[PairedComparison]) -> dict[str, int]:
    """The people with most answers, and the number of these."""
    names, counts = np.unique([one.assessor for one in comparisons], return_counts=True)
    most = np.argsort(-counts, kind="stable")[:BUSIEST]
    return dict(zip(names[most].tolist(), counts[most].tolist(), strict=True))


def drawn_people(counts: dict[str, int], rng: np.random.Generator) -> set[str]:
    """Six people with enough answers."""
    while True:
        asked = set(rng.choice(list(counts), PEOPLE, replace=False).tolist())
        if sum(counts[name] for name in asked) >= LEAST:
            return asked


def scored(chance: Array, won: Array, query: Integers, queries: int) -> Array:
    """(queries, 4) number of answers about each query, and their sums of three.

    The probability stated for the likelier of two, whether it won, and the logarithm of the winner's.
    """
    right = np.where(chance == 0.5, 0.5, (chance > 0.5) == won)
    own = np.where(won, chance, 1 - chance)
    each = np.ones(len(chance)), np.maximum(chance, 1 - chance), right, np.log(own)
    return np.column_stack([np.bincount(query, of, queries) for of in each])


def error_by_query(excess: Array, answers: Array) -> float:
    """Standard error of the ratio of two sums over queries; Cochran (1977), equation 2.46."""
    q, left = len(answers), excess - answers * excess.sum() / answers.sum()
    return float(np.sqrt(q / (q - 1) * np.sum(left**2)) / answers.sum())


def signs(comparisons: Sequence[PairedComparison]) -> list[list[tuple[str, int]]]:
    """Of each two documents of a query: who answered, and 1 or -1 for one or the other, 0 for neither."""
    said: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for one in comparisons:
        documents = sorted((one.document_a, one.document_b))
        sign = 0 if one.answer == "=" else 1 if (one.answer == "a") == (one.document_a == documents[0]) else -1
        said[one.query, *documents].append((one.assessor, sign))
    return list(said.values())


def at_random(comparisons: Sequence[PairedComparison], agreeing: float) -> set[str]:
    """People whose preferences agree less often than that with the majority of everybody else's, of eight or more."""
    agrees: dict[str, list[bool]] = defaultdict(list)
    for answers in signs(comparisons):
        whole = sum(sign for _, sign in answers)
        for name, sign in answers:
            if sign and whole != sign:
                agrees[name].append(sign * (whole - sign) > 0)
    return {name for name, found in agrees.items() if len(found) >= FEWEST and np.mean(found) < agreeing}


def agreement(comparisons: Sequence[PairedComparison]) -> None:
    """Keep how often people agree who prefer one of two documents."""
    with Figures("compared_documents", "agreement") as figures:
        for what, some in (("all people", None), ("the busiest", busiest(comparisons))):
            answers = [
                [sign for name, sign in one if sign and (some is None or name in some)] for one in signs(comparisons)
            ]
            two = [one == other for said in answers for one, other in combinations(said, 2)]
            figures.add(f"two of {what} prefer the same", float(np.mean(two)), "", note=f"{len(two):,} times")
        most = []
        for said in signs(comparisons):
            whole = sum(sign for _, sign in said)
            most += [1.0 if (whole - sign) * sign > 0 else 0.5 * (whole == sign) for _, sign in said if sign]
        figures.add(
            "the majority of all others prefers the same", float(np.mean(most)), "", note="half where it is even"
        )


def answered(comparisons: Sequence[PairedComparison], seed: int, without: set[str]) -> list[list[Array]]:
    """Scores of METHODS at each moment, as `scored` has them.

    without  people whose answers are not predicted
    """
    rng = np.random.default_rng(seed)
    drawn_from = busiest(comparisons)
    asked = drawn_people(drawn_from, rng)
    theirs = [one for one in comparisons if one.assessor in asked]
    others = [one for one in comparisons if one.assessor not in asked | without and one.answer != "="]
    collection = as_collection(comparisons)
    pool = build_pool(collection)
    held_out = Compared.of(pool, others)
    said = Answers(collection, others)
    alike = np.isin(held_out.judge, [code for code, name in enumerate(held_out.judges) if name in drawn_from])
    a, b, won = said.first, said.second, said.won == 1
    codes = {query: code for code, query in enumerate(documents_of(comparisons))}
    query = np.array([codes[one.query] for one in others])
    query_here = np.array([codes[pool.pairs[place].query] for place in held_out.first])
    order, rows = rng.permutation(len(theirs)), []
    for moment in MOMENTS:
        some = tuple(theirs[place] for place in order[:moment])
        pool = build_pool(Collection("compared", "compared", FINE, 1, collection.runs, comparisons=some))
        belief = built_in(pool, None).predict(np.full(len(pool.pairs), np.nan))
        chances = belief.answers.chances(belief.prior, held_out)
        own = chances[:, 0] / (chances[:, 0] + chances[:, 2])
        made = Answers(collection, some)
        strength, (skill, unsure, performance) = bradley_terry(made), true_skill(made)
        by_skill = ndtr((skill[a] - skill[b]) / np.sqrt(unsure[a] + unsure[b] + 2 * performance))
        first = held_out.answer > 0
        by_strength = expit(strength[a] - strength[b])
        count = len(codes)
        ours = scored(own, first, query_here, count), scored(own[alike], first[alike], query_here[alike], count)
        rows.append([*ours, scored(by_strength, won, query, count), scored(by_skill, won, query, count)])
    return rows


def main() -> None:
    """Print a row for each number of answers and each method, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=USUAL)
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--agreeing", type=float, default=0.0)
    parser.add_argument("--agreement", action="store_true")
    arguments = parser.parse_args()
    comparisons = read_comparisons(arguments.file)
    if arguments.agreement:
        agreement(comparisons)
        return
    without = at_random(comparisons, arguments.agreeing)
    print(f"{len(without)} people are not predicted")
    part = f"agreeing {arguments.agreeing:g}" if arguments.agreeing else ""
    with Figures("compared_documents", part) as figures, threadpool_limits(1):
        found = np.array([answered(comparisons, seed, without) for seed in range(arguments.draws)])
        rows = []
        for moment, at in zip(MOMENTS, np.moveaxis(found, 1, 0), strict=True):
            for name, by_query in zip(METHODS, np.moveaxis(at, 1, 0), strict=True):
                answers, *sums = np.moveaxis(by_query.sum(axis=1), 1, 0)
                stated, right, score = (of / answers for of in sums)
                means = f"{stated.mean():.3f}", f"{right.mean():.3f}", with_error(stated - right)
                over = by_query.sum(axis=0)
                error = error_by_query(over[:, 1] - over[:, 2], over[:, 0])
                rows.append([str(moment), name, *means, f"{error:.3f}", f"{score.mean():.4f}"])
        head = ["answers of six people", "by", "stated", "right", "stated less right, standard error over the draws"]
        head.append("and over the queries")
        figures.table("preferences of others", [*head, "mean log of the probability"], rows)


if __name__ == "__main__":
    main()
