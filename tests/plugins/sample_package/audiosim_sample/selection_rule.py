"""A selection rule that judges all queries equally."""

import numpy as np

from audiosim.joint.posterior import Belief
from audiosim.ranking.expected import ExpectedScores
from audiosim.ranking.ranking import Ranking
from audiosim.stats.arrays import Array


class Even:
    """Pairs of the least judged queries come first: the weight is 1 over 1 plus the number of judged pairs."""

    name = "even"

    def __init__(self, expected: ExpectedScores, seed: int) -> None:
        self._query = expected.pool.query

    def weights(self, belief: Belief, ranking: Ranking) -> Array:
        """(n,) present value of a judgment of each pair."""
        judged = np.bincount(self._query, belief.judged)
        return np.asarray(1 / (1 + judged[self._query]))
