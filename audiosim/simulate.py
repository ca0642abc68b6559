"""Replay of a campaign whose judgments are all known: how soon it would have stopped, and how right."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from audiosim.arrays import Array
from audiosim.corpus.model import Judgment
from audiosim.errors import InputError
from audiosim.measures.expected import Ranking, score_weights
from audiosim.selection import Selection


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of a replay.

    judged      number of pairs judged
    confidence  in the ranking, as claimed
    accuracy    of the ranking, as it truly was
    """

    judged: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Replay:
    """A campaign played to its end.

    selection  where it ended
    curve      every moment, the first before any judgment
    asked      the judgments in the order in which they were asked for
    tau        Kendall's correlation (a) of the ranking with the true one
    """

    selection: Selection
    curve: tuple[Moment, ...]
    asked: tuple[Judgment, ...]
    tau: float

    def to_dict(self) -> dict[str, Any]:
        """The replay as plain values, ready for JSON."""
        last = self.curve[-1]
        return {
            "measure": str(self.selection.measure),
            "model": self.selection.estimator.name,
            "judged": last.judged,
            "pool": len(self.selection.pool.pairs),
            "confidence": last.confidence,
            "accuracy": last.accuracy,
            "tau": self.tau,
            "curve": [{"judged": m.judged, "confidence": m.confidence, "accuracy": m.accuracy} for m in self.curve],
        }


def replay(
    selection: Selection, truth: Array, target: float, progress: Callable[[Moment], None] = lambda _: None
) -> Replay:
    """Judge with known grades until the confidence reaches its target.

    truth     (n,) the grade of every pair of the pool
    target    confidence at which to stop, above 1/2; at more than 1 everything is judged that bears on the ranking
    progress  is told of every moment
    """
    if np.any(np.isnan(truth)):
        missing = selection.pool.pairs[int(np.flatnonzero(np.isnan(truth))[0])]
        raise InputError(
            f"{int(np.isnan(truth).sum())} of the pool's {len(truth)} pairs have no judgment, "
            f"such as query {missing.query}, document {missing.document}; a replay needs them all"
        )
    scores = score_weights(selection.measure, selection.pool) @ (truth / selection.pool.scale.maximum)
    curve, asked = [moment(selection, scores)], []
    progress(curve[-1])
    while not selection.reached(target):
        for pair in selection.ask(selection.batch):
            asked.append(Judgment(*pair, grade=truth[selection.pool.positions[pair]]))
            selection = selection.tell(asked[-1])
            curve.append(moment(selection, scores))
            progress(curve[-1])
            if selection.reached(target):
                break
    return Replay(selection, tuple(curve), tuple(asked), agreement(selection.ranking, scores)[1])


def moment(selection: Selection, scores: Array) -> Moment:
    """How sure a selection is, and how right.

    scores  (s,) the true ones
    """
    return Moment(selection.judged, selection.confidence, agreement(selection.ranking, scores)[0])


def agreement(ranking: Ranking, scores: Array) -> tuple[float, float]:
    """The accuracy of a ranking, and its Kendall correlation tau a with the truth.

        accuracy = mean over pairs of systems of (1 + sign(expected) sign(true)) / 2

    scores  (s,) the true ones

    A tie on one side only counts half; a tie that is one on both sides is right. With fewer than
    two systems there is nothing to get wrong: 1 and 1.
    """
    better, worse = ranking.pairs
    if len(better) == 0:
        return 1.0, 1.0
    expected, true = np.sign(ranking.differences[0]), np.sign(scores[better] - scores[worse])
    right = np.where((expected == 0) & (true == 0), 1.0, (1 + expected * true) / 2)
    return float(right.mean()), float((expected * true).mean())
