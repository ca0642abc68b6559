"""Rankings from comparisons alone: the stated confidence compared with answers of people who were not asked.

From a collection with comparisons.tsv, six people and some of their answers are drawn. The order of the systems is
right if it is that by the answers of all others. Compared with it are orders by counting wins, by Bradley and Terry's
model (choix) and by TrueSkill; for all but the counts, also the mean logarithm of the probability of the document that
others preferred, where they preferred one.

    pip install 'audiosim[bench]'
    python benchmarks/comparisons.py [--draws 70] [FOLDER]
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import choix
import numpy as np
import trueskill
from figures import Figures
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from audiosim import Collection, PairedComparison
from audiosim.collection.pool import build_pool
from audiosim.joint.comparisons import Compared
from audiosim.joint.estimators import built_in
from audiosim.measures.measure import parse_measure
from audiosim.ranking.about import as_about
from audiosim.ranking.expected import expected_scores, rank_belief
from audiosim.stats.arrays import Array

USUAL = Path(__file__).parents[2] / "shared" / "data" / "listeners" / "wmt16-roen"
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
        estimator = built_in(pool, None)
        belief = estimator.predict(np.full(len(pool.pairs), np.nan))
        expected = expected_scores(parse_measure("CG@1"), pool)
        ranking = rank_belief(expected, estimator, belief, about=as_about("listeners"))
        first, second = ranking.pairs
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


def main() -> None:
    """Print a row for each number of answers, and keep the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=USUAL)
    parser.add_argument("--draws", type=int, default=70)
    arguments = parser.parse_args()
    collection = Collection.load(arguments.folder)
    with Figures("comparisons", collection.identifier) as figures, threadpool_limits(1):
        found = np.array([played(collection, seed) for seed in range(arguments.draws)])
        orders, scores = [], []
        for moment, rows in zip(MOMENTS, np.moveaxis(found, 1, 0), strict=True):
            means = rows.mean(axis=0).round(4).tolist()
            orders.append([str(moment), *(f"{mean:.3f}" for mean in means[:5]), with_error(rows[:, 0] - rows[:, 1])])
            scores.append([str(moment), *(f"{mean:.4f}" for mean in means[5:])])
        head = ["answers of six people", "stated", "right", "right by counting wins", "by choix", "by TrueSkill"]
        figures.table("order of systems", [*head, "stated less right, standard error"], orders)
        figures.table("mean log of the probability", [head[0], "audiosim", "Bradley-Terry, choix", "TrueSkill"], scores)


if __name__ == "__main__":
    main()
