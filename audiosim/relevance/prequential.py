"""Judgments with their predictions from earlier judgments, and groups that may err together."""

from dataclasses import dataclass

import numpy as np

from audiosim.arrays import Array, Booleans, Integers
from audiosim.corpus.pool import UNKNOWN, Pool
from audiosim.relevance.belief import Belief
from audiosim.relevance.level_chances import nearest_level

ROUNDING = 1e-6  # a spread of predictions below this counts as 0


@dataclass(frozen=True, eq=False)
class Prequential:
    """Judgments with their predictions from earlier judgments.

    mean        (k,) predicted gain
    error       (k,) gain less its prediction
    deviation   (k,) standard deviation of the predicted gain
    """

    mean: Array
    error: Array
    deviation: Array

    @classmethod
    def of(cls, belief: Belief, order: Integers) -> "Prequential":
        """Judgments of a belief, in order of judgment.

        order  (k,) places of the judged pairs
        """
        gains = belief.grades[order] / belief.maximum
        mean, deviation = belief.prior.one_by_one(order, gains)
        return cls(mean, gains - mean, deviation)

    @property
    def standardised(self) -> Array:
        """(k,) errors in predicted deviations; 0 where the gain was certain."""
        return np.divide(self.error, self.deviation, out=np.zeros(len(self.error)), where=self.deviation > 0)

    def chances(self, belief: Belief, order: Integers, rng: np.random.Generator) -> Array:
        """(k,) place of each judgment in the predictive distribution of the grade, in [0, 1].

        belief, order  those of the judgments
        rng            draws the place within a level

        Uniform and independent if the belief is right.
        """
        within = rng.random(len(order))
        level = nearest_level(belief.levels, belief.grades[order])
        below = belief.reading.below(order, self.mean, self.deviation)
        reached = np.column_stack([np.zeros(len(order)), below, np.ones(len(order))])  # P(grade < level)
        low, high = np.take_along_axis(reached, np.stack([level, level + 1], axis=1), axis=1).T
        return np.asarray(low + within * (high - low))


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of judgments that may err together.

    kind      query, genre or system
    names     g
    member    (k, g) True where a judgment belongs to a group
    disjoint  True if each judgment belongs to at most one group
    """

    kind: str
    names: tuple[str, ...]
    member: Booleans
    disjoint: bool


def groupings(pool: Pool, order: Integers) -> tuple[Grouping, ...]:
    """Groups of judged pairs: by query, by genre if any is known, and by retrieving system.

    order  (k,) places of the pairs; empty groups are left out
    """
    found = []
    for kind, code in (("query", pool.query[order]), ("genre", pool.genre[order])):
        there = np.unique(code[code != UNKNOWN])
        first = order[np.argmax(code[:, None] == there, axis=0)].tolist()
        pairs = [pool.pairs[place] for place in first]
        names = tuple(pair.query if kind == "query" else f"that of {pair.document}" for pair in pairs)
        found.append(Grouping(kind, names, code[:, None] == there, True))
    of_system = np.asarray(pool.retrieved[:, order].toarray()).T > 0
    there = np.flatnonzero(of_system.any(axis=0))
    found.append(Grouping("system", tuple(pool.systems[i] for i in there.tolist()), of_system[:, there], False))
    return tuple(grouping for grouping in found if len(grouping.names) > 1)


def leaning(mean: Array) -> Array:
    """(k,) excess of each prediction over the mean of those before it; 0 for the first two."""
    before = np.arange(len(mean))
    average = np.divide(np.cumsum(mean) - mean, before, out=np.zeros(len(mean)), where=before > 1)
    return np.where(before > 1, mean - average, 0)
