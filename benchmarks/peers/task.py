"""Task for ranking methods: ranking systems from the judgments of a few pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from audiosim.collection.pool import Pool
from audiosim.errors import InputError
from audiosim.measures.lists import gain_of, linear_gain
from audiosim.measures.measure import Measure
from audiosim.ranking.linear import LinearScores
from audiosim.results.value import cached_property
from audiosim.stats.arrays import Array, Booleans, Integers
from peers.statement import StatedRanking


@dataclass(frozen=True, eq=False)
class Task:
    """Systems to rank, in the form that every method gets before any judgment.

    measure  weighted sum of gains, such as CG@5
    pool     pool of the systems' results: the retrieved documents and their ranks
    order    places of the pairs that audiosim judged, first to last, for methods that use the same pairs
    """

    measure: Measure
    pool: Pool
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_measure_of_peers(self.measure)

    @cached_property
    def expected(self) -> LinearScores:
        """Expected scores of the measure in the pool."""
        return LinearScores(self.measure, self.pool)

    @cached_property
    def weights(self) -> sparse.csr_array:
        """(s, n) sparse: mean scores of the systems are `weights @ gains`, with gains (n,) from 0 to 1."""
        return sparse.csr_array(self.expected.weights)

    @cached_property
    def bearing(self) -> Array:
        """(n,) effect of each pair on differences of systems: root of the sum over pairs of (W_a - W_b)^2."""
        squares = np.asarray(self.weights.power(2).sum(axis=0)).ravel()
        sums = np.asarray(self.weights.sum(axis=0)).ravel()
        bearing = len(self.pool.systems) * squares - sums**2
        return np.sqrt(np.where(bearing > ROUNDING * squares.max(), bearing, 0))


ROUNDING = 1e-9


def check_measure_of_peers(measure: Measure) -> None:
    """Raise an InputError unless all methods can estimate a measure."""
    if measure.rank_weights is None or measure.relative or gain_of(measure) is not linear_gain:
        raise InputError(f"peers estimate weighted sums of grades, such as CG@5 or DCG@10; {measure} is not one")


class Grader:
    """Reveals the gains of pairs, up to a budget of judgments.

    budget  largest number of distinct pairs
    """

    def __init__(self, gains: Array, budget: int) -> None:
        """A grader with its whole budget left.

        gains  (n,) gains of all pairs, from 0 to 1
        """
        self._gains = gains
        self.budget = budget
        self.seen: Booleans = np.zeros(len(gains), dtype=bool)

    def __call__(self, places: Sequence[int] | Integers) -> Array:
        """(k,) gains of the pairs at these places of the pool."""
        seen = self.seen.copy()
        seen[np.asarray(places, dtype=np.int64)] = True
        if seen.sum() > self.budget:
            raise InputError(f"a method requested {seen.sum()} judgments, but had only {self.budget}")
        self.seen = seen
        return self._gains[np.asarray(places, dtype=np.int64)]


class Peer(Protocol):
    """Method that requests judgments of pairs, and then ranks the systems with its confidence.

    Named in `peers.known.PEERS`. Contract: `peers.contract.check_peer`.
    """

    def __call__(self, task: Task, grader: Grader, rng: np.random.Generator) -> StatedRanking:
        """StatedRanking after at most `grader.budget` judgments.

        task    the systems
        grader  reveals the gains of requested pairs
        rng     generator for all draws
        """
        ...
