"""A collection with some unknown grades, and its scores over all possible grades."""

import importlib.util
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest

from audiosim.corpus.model import BROAD, Run, Scale
from audiosim.corpus.pool import Pool, build_pool
from audiosim.relevance.belief import Belief

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

    def outcomes(self):
        """Every assignment of grades to the pairs with its probability, 3^7 if nothing is judged."""
        levels = self.pool.scale.levels
        cells = [
            list(zip(levels, row, strict=True)) if np.isnan(grade) else [(grade, 1.0)]
            for grade, row in zip(self.belief.grades, self.belief.probabilities, strict=True)
        ]
        for cell in product(*cells):
            grades, chances = zip(*cell, strict=True)
            yield dict(zip(self.pool.pairs, grades, strict=True)), prod(chances)

    def moments(self, definition, measure):
        """Mean and covariance of the systems' mean scores, summed over every assignment of grades."""
        score = cache(lambda *lists: definition(measure, self.pool.scale, *map(list, lists)))
        pairs = {query: [pair for pair in self.pool.pairs if pair.query == query] for query in self.pool.queries}
        scores, chances = [], []
        for grades, chance in self.outcomes():
            of_query = {query: tuple(grades[pair] for pair in pairs[query]) for query in pairs}
            lists = [
                [(tuple(grades[q, d] for d in ds[: measure.cutoff]), of_query[q]) for q, ds in run.rankings.items()]
                for run in self.runs
            ]
            scores.append([sum(score(*both) for both in rows) / len(pairs) for rows in lists])
            chances.append(chance)
        mean = np.array(chances) @ scores
        return mean, (np.array(scores) - mean).T @ (np.array(chances)[:, None] * (np.array(scores) - mean))


@pytest.fixture(params=[BROAD, ODD], ids=lambda scale: scale.name)
def doubt(request, tiny):
    """The tiny collection at cutoff 2 and three grades: 7 pairs, nothing judged, and a fourth system of short lists."""
    runs = (*tiny.runs, Run("D", {"q1": ("c",)}))
    pool = build_pool(replace(tiny, scale=request.param, runs=runs))
    return Doubt(runs, pool, known(pool, np.random.default_rng(3).dirichlet(np.ones(3), len(pool.pairs))))
