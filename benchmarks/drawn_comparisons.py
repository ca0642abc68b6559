"""Comparisons of collections drawn from the model's own distributions: stated held against what is drawn.

Of each collection everything is drawn anew: the deviations of gains, tastes, opinions, noise and ties, the gains,
thirty people and their habits, among them people who guess, and their answers. Six of the people are asked. What is
stated of the preferences of the others, and of the order of the systems, should be right in the mean.

    python benchmarks/drawn_comparisons.py [--draws 40] [--answers 50,200]
"""

import argparse
from collections.abc import Iterator

import numpy as np
from comparisons import with_error
from figures import Figures
from threadpoolctl import threadpool_limits

from audiosim import Collection, PairedComparison
from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import Run, Scale
from audiosim.joint.comparisons import (
    CARE,
    CHANCES,
    MEANS,
    NOISE,
    OPINION,
    SPAMMERS,
    SPREAD_CHANCES,
    SPREADS,
    TIE,
    Compared,
)
from audiosim.joint.estimators import built_in
from audiosim.joint.fit import COVARIATES, true_of_pairs, usual_comparison_deviations
from audiosim.joint.model import JointEstimator
from audiosim.joint.people import TASTE
from audiosim.measures.measure import parse_measure
from audiosim.ranking.about import as_about
from audiosim.ranking.expected import expected_scores, rank_belief
from audiosim.stats.arrays import Array
from audiosim.stats.normal.layout import REST

SYSTEMS, QUERIES, PEOPLE, ASKED, EACH = 6, 20, 30, 6, 60
RUNS = tuple(Run(f"S{s}", {f"q{q}": (f"q{q}/S{s}",) for q in range(QUERIES)}) for s in range(SYSTEMS))


def collection_of(comparisons: tuple[PairedComparison, ...] = ()) -> Collection:
    """Every system retrieves one document of its own for each query."""
    return Collection("drawn", "drawn", Scale("custom", (0.0, 1.0, 2.0, 3.0, 4.0)), 1, RUNS, comparisons=comparisons)


def drawn_people(pool: Pool, rng: np.random.Generator) -> tuple[Array, list[PairedComparison]]:
    """(n,) gains, and the answers of all people."""
    estimator = built_in(pool, None)
    assert isinstance(estimator, JointEstimator)
    layout, held, parts = estimator._with_trend(), estimator._alone, estimator._parts_of_pairs()
    median, doubt = true_of_pairs(held)
    usual = {**held.centre, REST: median}
    spread = {**held.spread, REST: doubt}
    sizes = {name: max(size, 1e-3) * np.exp(spread[name] * rng.standard_normal()) for name, size in usual.items()}
    gains = layout.normal({**sizes, COVARIATES: 1.0}, held.mean)
    true = rng.multivariate_normal(held.mean, gains.among(np.arange(len(held.mean))))
    median_of, doubt_of = usual_comparison_deviations(layout)
    of = {name: size * np.exp(doubt_of[name] * rng.standard_normal()) for name, size in median_of.items()}
    felt = true + of[TASTE] * rng.standard_normal((PEOPLE, parts.shape[1])) @ parts.T
    felt = felt + of[OPINION] * layout.scale * rng.standard_normal(felt.shape)
    return true, list(_answers(pool, felt, of[NOISE] * layout.scale.mean(), of[TIE] * layout.scale.mean(), rng))


def _answers(pool: Pool, felt: Array, noise: float, tie: float, rng: np.random.Generator) -> Iterator[PairedComparison]:
    """EACH answers of everybody; a guess is a tie as often as all other answers are."""
    mean = rng.choice(MEANS, p=CHANCES)
    guess = rng.beta(SPAMMERS * mean, SPAMMERS * (1 - mean), PEOPLE)
    care, width = np.exp([of * rng.standard_normal(PEOPLE) for of in (CARE, rng.choice(SPREADS, p=SPREAD_CHANCES))])
    person, query = np.repeat(np.arange(PEOPLE), EACH), rng.integers(QUERIES, size=PEOPLE * EACH)
    two = np.array([rng.choice(SYSTEMS, 2, replace=False) for _ in person])
    names = [[(f"q{q}", f"q{q}/S{s}") for s in both] for q, both in zip(query, two.tolist(), strict=True)]
    first, second = (np.array([pool.positions[pair[end]] for pair in names]) for end in (0, 1))
    d = felt[person, first] - felt[person, second] + noise * care[person] * rng.standard_normal(len(person))
    said = np.where(d > tie * width[person], "a", np.where(d < -tie * width[person], "b", "="))
    ties = float(np.mean(said == "="))
    at_random = rng.choice(["a", "b", "="], len(said), p=[(1 - ties) / 2, (1 - ties) / 2, ties])
    said = np.where(rng.random(len(said)) < guess[person], at_random, said)
    for ((q, a), (_, b)), answer, who in zip(names, said.tolist(), person.tolist(), strict=True):
        yield PairedComparison(q, a, b, answer, f"p{who}")


def played(seed: int, moments: list[int]) -> list[list[float]]:
    """At each moment: stated and right of the preferences of others, and of the order of systems."""
    rng = np.random.default_rng(seed)
    empty = build_pool(collection_of())
    true, made = drawn_people(empty, rng)
    asked = {f"p{place}" for place in rng.choice(PEOPLE, ASKED, replace=False)}
    theirs = [one for one in made if one.assessor in asked]
    held_out = Compared.of(empty, [one for one in made if one.assessor not in asked and one.answer != "="])
    order = rng.permutation(len(theirs))
    score = {run.system: np.mean([true[empty.positions[q, of[0]]] for q, of in run.rankings.items()]) for run in RUNS}
    rows = []
    for moment in moments:
        pool = build_pool(collection_of(tuple(theirs[place] for place in order[:moment])))
        estimator = built_in(pool, None)
        belief = estimator.predict(np.full(len(pool.pairs), np.nan))
        assert belief.answers is not None
        chances = belief.answers.chances(belief.prior, held_out)
        own = chances[:, 0] / (chances[:, 0] + chances[:, 2])
        expected = expected_scores(parse_measure("CG@1"), pool)
        ranking = rank_belief(expected, estimator, belief, about=as_about("listeners"))
        first, second = ranking.pairs
        scores = np.array([score[name] for name in ranking.systems])
        right = [np.mean((own > 0.5) == (held_out.answer > 0)), np.mean(scores[first] > scores[second])]
        rows.append([float(np.mean(np.maximum(own, 1 - own))), right[0], ranking.confidence or 0.0, right[1]])
    return rows


def main() -> None:
    """Print a row for each number of answers, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--answers", default="50,200")
    arguments = parser.parse_args()
    moments = [int(one) for one in arguments.answers.split(",")]
    with Figures("drawn_comparisons") as figures, threadpool_limits(1):
        found = np.array([played(seed, moments) for seed in range(arguments.draws)])
        rows = []
        for moment, at in zip(moments, np.moveaxis(found, 1, 0), strict=True):
            means = [f"{mean:.3f}" for mean in at.mean(axis=0)]
            rows.append(
                [str(moment), *means[:2], with_error(at[:, 0] - at[:, 1]), *means[2:], with_error(at[:, 2] - at[:, 3])]
            )
        each = ["stated", "right", "stated less right, standard error"]
        head = ["answers of six people", *(f"{of}: {one}" for of in ("preferences", "order") for one in each)]
        figures.table("drawn collections", head, rows)


if __name__ == "__main__":
    main()
