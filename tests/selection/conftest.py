"""Random pools, and the knowledge about their pairs in a form for simple loops in tests."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from audiosim.corpus.model import Run
from audiosim.corpus.pool import build_pool
from audiosim.expected.estimation import expected_scores, rank
from audiosim.relevance.belief import Belief


@pytest.fixture
def draw_collection(tiny):
    """Systems that each retrieve some of ten documents for each query."""

    def draw(rng, systems=4, queries=4, cutoff=5, scale=tiny.scale):
        documents = [f"d{i}" for i in range(10)]
        runs = tuple(
            Run(
                f"s{s}",
                {f"q{q}": tuple(rng.permutation(documents)[: rng.integers(1, cutoff + 2)]) for q in range(queries)},
            )
            for s in range(systems)
        )
        return replace(tiny, runs=runs, cutoff=cutoff, scale=scale, teams={})

    return draw


def known_by_chance(pool, rng, share=0.3):
    """Random level probabilities for every pair, and grades for some."""
    levels = np.linspace(0, pool.scale.maximum, 3)
    count = len(pool.pairs)
    probabilities = rng.dirichlet(np.ones(3), count)
    grades = np.where(rng.random(count) < share, rng.choice(levels, count), np.nan)
    return Belief.independent(levels, probabilities, grades, pool.scale.maximum, ("drawn",))


class State:
    """A pool, the belief about it and the ranking, with simple look-ups for loops."""

    def __init__(self, collection, measure, rng, ideal="ordered", known=None):
        self.pool = build_pool(collection, measure.cutoff)
        self.known = known_by_chance(self.pool, rng) if known is None else known
        self.expected = expected_scores(measure, self.pool, ideal)
        scores = self.expected.scores(self.known)
        self.ranking = rank(self.expected, "drawn", scores, int(self.known.judged.sum()))
        self.at = {
            (run.system, query, document): place
            for run in collection.runs
            for query, documents in run.rankings.items()
            for place, document in enumerate(documents[: measure.cutoff], start=1)
        }

    def gain(self, pair):
        """Mean and variance of the gain of a pair, as a share of the highest, by a sum over the levels."""
        place = self.pool.positions[pair]
        if not np.isnan(self.known.grades[place]):
            return self.known.grades[place] / self.known.maximum, 0.0
        chances, levels = self.known.probabilities[place], self.known.levels / self.known.maximum
        mean = sum(p * g for p, g in zip(chances, levels, strict=True))
        return mean, sum(p * (g - mean) ** 2 for p, g in zip(chances, levels, strict=True))

    def covariance(self, weight):
        """(s, s) covariance of sums of gains, by a loop over systems and pairs; weight(system, pair) weights a gain."""
        found = dict.fromkeys(product(self.pool.systems, repeat=2), 0.0)
        for a, b in found:
            for pair in self.pool.pairs:
                found[a, b] += weight(a, pair) * weight(b, pair) * self.gain(pair)[1]
        return found


@pytest.fixture
def state_of():
    return State
