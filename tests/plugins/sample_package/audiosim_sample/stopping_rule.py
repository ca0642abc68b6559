"""A stopping rule for the winner alone."""

from dataclasses import dataclass

import numpy as np

from audiosim.ranking.stopping import LoopState, StoppingDefinition


@dataclass(frozen=True)
class Winner:
    """The best system is known: the least confidence that it is better than another system reaches the target."""

    target: float

    def level(self, state: LoopState) -> float:
        """Least confidence over the pairs with the system expected to be best."""
        ranking = state.ranking
        best = int(np.argmax(ranking.scores.mean))
        a, b = ranking.scores.pairs
        return float(ranking.scores.confidences[(a == best) | (b == best)].min(initial=1.0))

    def reached(self, state: LoopState) -> bool:
        """True if the winner is known."""
        return self.level(state) >= self.target

    def __str__(self) -> str:
        return f"winner={self.target!r}"


WINNER = StoppingDefinition("winner", lambda _, target: Winner(target), "winner=0.9")
