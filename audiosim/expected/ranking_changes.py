"""Changes from one ranking of some systems to another, such as the ranking by another model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from audiosim.display import listed
from audiosim.expected.ranking import Ranking


@dataclass(frozen=True, eq=False)
class RankingChange:
    """Two rankings of the same systems, before and after a change."""

    before: Ranking
    after: Ranking

    @property
    def turned(self) -> tuple[tuple[str, str], ...]:
        """Pairs of systems that change places; the previously better one comes first."""
        names, before, after = self.before.systems, self.before.scores.mean, self.after.scores.mean
        pairs = zip(*self.before.pairs, strict=True)
        return tuple((names[a], names[b]) for a, b in pairs if before[a] > before[b] and after[a] < after[b])

    @property
    def most_changed(self) -> tuple[str, float]:
        """System with the largest change of score, and the score after less the score before."""
        changes = self.after.scores.mean - self.before.scores.mean
        place = int(np.argmax(np.abs(changes)))
        return self.before.systems[place], float(changes[place])

    @property
    def words(self) -> str:
        """The change in words, for a sentence that names its reason."""
        system, change = self.most_changed
        count = len(self.turned)
        turned = f"{count} {'pair of systems changes' if count == 1 else 'pairs of systems change'} places"
        best = [listed(ranking.leaders) for ranking in (self.before, self.after)]
        words = ["is" if len(ranking.leaders) == 1 else "are" for ranking in (self.before, self.after)]
        stays = f"{best[0]} {'stays' if words[0] == 'is' else 'stay'} best"
        first = f"{best[1]} {words[1]} best in place of {best[0]}" if best[0] != best[1] else stays
        both = self.before.confidence, self.after.confidence
        sure = " -> ".join("-" if one is None else f"{one:.3f}" for one in both)
        return (
            f"{turned if count else 'no two systems change places'}, {first}; "
            f"{system} moves most, by {change:+.3f}; confidence on {self.before.about.words} {sure}"
        )

    def rows(self, word: str) -> list[dict[str, Any]]:
        """One row per system, in the order before the change: rank and score before and after.

        word  end of the names of columns about the later ranking
        """
        rank, rank_after = self.before.ranks, self.after.ranks
        (low, high), (low_after, high_after) = self.before.interval(), self.after.interval()
        return [
            {
                "system": self.before.systems[place],
                "rank": int(rank[place]),
                "score": float(self.before.scores.mean[place]),
                "low": float(low[place]),
                "high": float(high[place]),
                f"rank_{word}": int(rank_after[place]),
                f"score_{word}": float(self.after.scores.mean[place]),
                f"low_{word}": float(low_after[place]),
                f"high_{word}": float(high_after[place]),
            }
            for place in self.before.order.tolist()
        ]
