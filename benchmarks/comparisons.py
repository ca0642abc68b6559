"""Rankings from comparisons alone: the stated confidence compared with answers of people who were not asked.

From a collection with comparisons.tsv, six people and some of their answers are drawn. The order of the systems is
right if it is that by the answers of all others. Compared with it are orders by counting wins, by Bradley and Terry's
model (choix) and by TrueSkill; for all but the counts, also the mean logarithm of the probability of the document that
others preferred, where they preferred one.

    pip install 'audiosim[bench]'
    python benchmarks/comparisons.py [--draws 70] [FOLDER]
    python benchmarks/comparisons.py --documents [--draws 24] [--agreeing .55] [FILE]
    python benchmarks/comparisons.py --agreement [FILE]

With `--documents`, preferences between two documents, of comparisons without runs. Six people are drawn from those
with the most answers, and some of these answers. For every answer of the others that prefers one of two documents: the
probability that was stated for the likelier one, and whether it was the preferred one. There are no systems: for all
three methods every document of a query is a system, or player, of its own. The answers of the busiest are those of the
people who were among those drawn from: they answer more like the six than all others do. `--agreeing` leaves out those
of the others who agree less often with the majority of everybody else: who answers at random is predicted by nobody.

With `--agreement` only the people are held against one another: how often two who prefer one of two documents prefer
the same, all of them and those of the busiest, and how often the majority of all others who answered does. Nobody
predicts preferences better than by what people have in common.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import choix
import numpy as np
import trueskill
from figures import Figures
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from audiosim import Collection, PairedComparison
from audiosim.collection.kinds import read_comparisons
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Run
from audiosim.joint.comparisons import Compared
from audiosim.joint.estimators import make_estimator
from audiosim.measures.measure import parse_measure
from audiosim.ranking.about import as_about
from audiosim.ranking.expected import expected_scores, rank_belief
from audiosim.stats.arrays import Array, Integers

USUAL = Path(__file__).parents[2] / "shared" / "data" / "listeners" / "wmt16-roen"
MELODIES = Path(__file__).parents[2] / "shared" / "data" / "listeners" / "melody2010" / "comparisons.tsv"
BUSIEST = 20  # people to draw from: six others have too few answers together
LEAST = 600  # answers of the six together
METHODS = ("audiosim", "audiosim, answers of the busiest", "Bradley-Terry, choix", "TrueSkill")
FEWEST = 8  # preferences by which somebody is held to answer at random
PEOPLE, MOMENTS = 6, (50, 200, 600)
SHRINKAGE = 0.1  # of choix: prior precision of a strength


class Answers:
    """Comparisons as numbers: the systems, and how often the first one won."""

    def __init__(self, collection: Collection, comparisons: Sequence[PairedComparison]) -> None:
        owner = {
            (query, document): place
            for place, run in enumerate(collection.runs)
            for query, documents in run.rankings.items()
            for document in documents
        }
        self.systems = len(collection.runs)
        self.first, self.second = np.array([[owner[pair] for pair in one.pairs] for one in comparisons]).T
        self.won = np.array([{"a": 1.0, "=": 0.5, "b": 0.0}[one.answer] for one in comparisons])

    def shares(self) -> Array:
        """Share of its comparisons that each system wins, counting a tie as half a win."""
        made = np.bincount(self.first, minlength=self.systems) + np.bincount(self.second, minlength=self.systems)
        won = np.bincount(self.first, self.won, self.systems) + np.bincount(self.second, 1 - self.won, self.systems)
        return won / np.maximum(1, made)


def bradley_terry(made: Answers) -> Array:
    """Strengths by choix; ties are ignored."""
    won = [
        (int(a), int(b)) if share == 1 else (int(b), int(a))
        for a, b, share in zip(made.first, made.second, made.won, strict=True)
        if share != 0.5
    ]
    return np.asarray(choix.ilsr_pairwise(made.systems, won, alpha=SHRINKAGE))


def true_skill(made: Answers) -> tuple[Array, Array, float]:
    """Mean and variance of each skill, and the variance of one performance."""
    environment = trueskill.TrueSkill(draw_probability=float(np.clip(np.mean(made.won == 0.5), 0.01, 0.9)))
    ratings = [environment.create_rating() for _ in range(made.systems)]
    for a, b, share in zip(made.first, made.second, made.won, strict=True):
        winner, loser = (b, a) if share == 0 else (a, b)
        found = environment.rate_1vs1(ratings[winner], ratings[loser], drawn=share == 0.5)
        ratings[winner], ratings[loser] = found
    return (
        np.array([rating.mu for rating in ratings]),
        np.array([rating.sigma**2 for rating in ratings]),
        environment.beta**2,
    )


def played(collection: Collection, seed: int) -> list[list[float]]:
    """At each moment: stated confidence, accuracy of each of four orders, and the log scores of three."""
    rng = np.random.default_rng(seed)
    people = sorted({one.assessor for one in collection.comparisons})
    asked = set(rng.choice(people, PEOPLE, replace=False).tolist())
    theirs = [one for one in collection.comparisons if one.assessor in asked]
    others = [one for one in collection.comparisons if one.assessor not in asked]
    said = Answers(collection, others)
    decided, truth = said.won != 0.5, said.shares()
    kept = [one for one, keep in zip(others, decided, strict=True) if keep]
    order, rows = rng.permutation(len(theirs)), []
    for moment in MOMENTS:
        some = tuple(theirs[place] for place in order[:moment])
        asked_of = replace(collection, comparisons=some)
        pool = build_pool(asked_of)
        estimator = make_estimator(pool, None)
        belief = estimator.predict(np.full(len(pool.pairs), np.nan))
        expected = expected_scores(parse_measure("CG@1"), pool)
        ranking = rank_belief(expected, estimator, belief, about=as_about("listeners"))
        first, second = ranking.scores.pairs
        true = np.sign(truth[first] - truth[second])

        def right(scores: Array, first: Array = first, second: Array = second, true: Array = true) -> float:
            return float(np.mean(true == np.sign(scores[first] - scores[second])))

        made = Answers(asked_of, some)
        strength, (skill, unsure, performance) = bradley_terry(made), true_skill(made)
        # Each states a probability that the first of a pair is better, given that a person prefers one of them.
        a, b, won = said.first[decided], said.second[decided], said.won[decided] == 1
        by_strength = expit(strength[a] - strength[b])
        by_skill = ndtr((skill[a] - skill[b]) / np.sqrt(unsure[a] + unsure[b] + 2 * performance))
        held_out = Compared.of(pool, kept)
        chances = belief.answers.chances(belief.prior, held_out)
        wins, loses = chances[:, 0], chances[:, 2]
        own = np.where(held_out.answer > 0, wins, loses) / (wins + loses)
        scored = [np.mean(np.log(own))] + [np.mean(np.log(np.where(won, p, 1 - p))) for p in (by_strength, by_skill)]
        orders = [float(np.mean(true > 0)), *map(right, (made.shares(), strength, skill))]
        rows.append([ranking.confidence or 0.0, *orders, *map(float, scored)])
    return rows


def with_error(excess: Array) -> str:
    """Mean of stated less right over draws, with its standard error."""
    return f"{excess.mean():+.3f} ± {excess.std(ddof=1) / np.sqrt(len(excess)):.3f}"


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
    with Figures("comparisons", "agreement") as figures:
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
        belief = make_estimator(pool, None).predict(np.full(len(pool.pairs), np.nan))
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


def of_documents(comparisons: Sequence[PairedComparison], draws: int, agreeing: float) -> None:
    """Keep a row for each number of answers and each method."""
    without = at_random(comparisons, agreeing)
    print(f"{len(without)} people are not predicted")
    part = "documents" + (f" agreeing {agreeing:g}" if agreeing else "")
    with Figures("comparisons", part) as figures, threadpool_limits(1):
        found = np.array([answered(comparisons, seed, without) for seed in range(draws)])
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


def of_systems(collection: Collection, draws: int) -> None:
    """Keep a row for each number of answers."""
    with Figures("comparisons", collection.identifier) as figures, threadpool_limits(1):
        found = np.array([played(collection, seed) for seed in range(draws)])
        orders, scores = [], []
        for moment, rows in zip(MOMENTS, np.moveaxis(found, 1, 0), strict=True):
            means = rows.mean(axis=0).round(4).tolist()
            orders.append([str(moment), *(f"{mean:.3f}" for mean in means[:5]), with_error(rows[:, 0] - rows[:, 1])])
            scores.append([str(moment), *(f"{mean:.4f}" for mean in means[5:])])
        head = ["answers of six people", "stated", "right", "right by counting wins", "by choix", "by TrueSkill"]
        figures.table("order of systems", [*head, "stated less right, standard error"], orders)
        figures.table("mean log of the probability", [head[0], "audiosim", "Bradley-Terry, choix", "TrueSkill"], scores)


def main() -> None:
    """Print a row for each number of answers, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--documents", action="store_true")
    parser.add_argument("--agreement", action="store_true")
    parser.add_argument("--agreeing", type=float, default=0.0)
    asked = parser.parse_args()
    if asked.agreement:
        agreement(read_comparisons(asked.data or MELODIES))
    elif asked.documents:
        of_documents(read_comparisons(asked.data or MELODIES), asked.draws or 24, asked.agreeing)
    else:
        of_systems(Collection.load(asked.data or USUAL), asked.draws or 70)


if __name__ == "__main__":
    main()
