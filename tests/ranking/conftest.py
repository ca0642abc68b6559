"""A collection with some unknown grades, its scores over all possible grades, and random pools for simple loops."""

import importlib.util
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest

from audiosim.collection.pool import Pool, build_pool
from audiosim.collection.values import BROAD, Run, Scale
from audiosim.joint.posterior import Belief
from audiosim.ranking.expected import expected_scores, rank

ODD = Scale("odd", (1.0, 2.0, 5.0))  # not evenly spaced, and even the lowest grade gains something


@pytest.fixture(scope="session")
def definitions():
    """Each measure as loops over ranks, by name, as used by test_scores.py."""
    spec = importlib.util.spec_from_file_location(
        "definitions", Path(__file__).parents[1] / "measures" / "test_scores.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DEFINITIONS


def known(pool, probabilities, grades=None):
    """Belief about a pool's pairs with these level probabilities and grades."""
    count = len(pool.pairs)
    grades = np.full(count, np.nan) if grades is None else np.asarray(grades, dtype=float)
    return Belief.independent(np.array(pool.scale.levels), probabilities, grades, pool.scale.maximum, ("drawn",))


@dataclass(frozen=True)
class Doubt:
    """The runs of a collection, and the knowledge about the grades of its pairs."""

    runs: tuple[Run, ...]
    pool: Pool
    belief: Belief

    def judged(self, grades):
        """The same after judgments of some pairs, by their place in the pool."""
        belief = self.belief
        for place, grade in grades.items():
            belief = belief.condition(place, grade)
        return replace(self, belief=belief)

    def outcomes(self, query=None):
        """Every assignment of grades to the pairs, or to those of a query, with its probability: at most 3^7."""
        levels, pairs = self.pool.scale.levels, [pair for pair in self.pool.pairs if query in (None, pair.query)]
        cells = [
            list(zip(levels, row, strict=True)) if np.isnan(grade) else [(grade, 1.0)]
            for pair, grade, row in zip(self.pool.pairs, self.belief.grades, self.belief.probabilities, strict=True)
            if query in (None, pair.query)
        ]
        for cell in product(*cells):
            grades, chances = zip(*cell, strict=True)
            yield dict(zip(pairs, grades, strict=True)), prod(chances)

    def moments(self, definition, measure):
        """Mean and covariance of the systems' mean scores, over every assignment of grades to each query's pairs."""
        score = cache(lambda *lists: definition(measure, self.pool.scale, *map(list, lists)))
        mean, covariance, count = 0.0, 0.0, len(self.pool.queries)
        for query in self.pool.queries:
            scores, chances = [], []
            for grades, chance in self.outcomes(query):
                lists = [run.rankings.get(query, ())[: measure.cutoff] for run in self.runs]
                every = tuple(grades.values())
                scores.append([score(tuple(grades[query, d] for d in ds), every) if ds else 0.0 for ds in lists])
                chances.append(chance)
            own = np.array(chances) @ scores
            off = np.array(scores) - own
            mean, covariance = mean + own / count, covariance + off.T @ (np.array(chances)[:, None] * off) / count**2
        return mean, covariance


@pytest.fixture(params=[BROAD, ODD], ids=lambda scale: scale.name)
def doubt(request, tiny):
    """The tiny collection at cutoff 2 and three grades: 7 pairs, nothing judged, and a fourth system of short lists."""
    runs = (*tiny.runs, Run("D", {"q1": ("c",)}))
    pool = build_pool(replace(tiny, scale=request.param, runs=runs))
    return Doubt(runs, pool, known(pool, np.random.default_rng(3).dirichlet(np.ones(3), len(pool.pairs))))


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
