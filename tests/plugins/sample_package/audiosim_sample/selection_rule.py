"""A selection rule that judges all queries alike."""

import numpy as np

from audiosim.arrays import Array
from audiosim.expected.estimation import ExpectedScores
from audiosim.expected.ranking import Ranking
from audiosim.relevance.belief import Belief


class Even:
    """Pairs of the queries of which least is judged come first: 1 over 1 plus the number of judged pairs."""

    name = "even"

    def __init__(self, expected: ExpectedScores, seed: int) -> None:
        self._query = expected.pool.query

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        """(n,) how much the judgment of each pair is worth now."""
        judged = np.bincount(self._query, belief.judged)
        return np.asarray(1 / (1 + judged[self._query]))
