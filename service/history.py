"""History of a campaign up to its standing: the confidence at moments of its log, and when its goal was met."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from audiosim.campaign import Change, Ledger, Record
from audiosim.campaign.ledger import tell_all
from audiosim.corpus.model import Judgment
from audiosim.selection import Selection
from service.served import ServedCollection

MOMENTS = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """A campaign at one moment of its log.

    number      of the event that led to it; 0 before the first
    time        of that event; empty before the first
    judged      pairs of the pool
    confidence  in the ranking
    reached     whether judging might stop
    scores      expected of each system, in the order of the pool
    """

    number: int
    time: str
    judged: int
    confidence: float
    reached: bool
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a campaign, as far as it is known.

    number    of the last event that was looked at
    complete  whether there was time for all moments
    moments   in the order in which they came, the one before any judgment first
    met       the first of them at which the goal was met, to the judgment; None where it never was
    """

    number: int
    complete: bool
    moments: tuple[Moment, ...]
    met: Moment | None


class _Step(NamedTuple):
    """A change of a grade of the pool, and the event that made it."""

    number: int
    time: str
    change: Change


class History:
    """The course of a campaign, worked out as far as there is time for, and kept for the next time.

    Up to `moments` and as many again are looked at, evenly spaced by a power of two of judgments, so that those kept
    serve a longer log too; then every judgment between the last moment without the goal and the first with it. At
    each the model is asked anew, as after a whole batch. Threads may share a history.
    """

    def __init__(self, one: ServedCollection, moments: int = MOMENTS) -> None:
        self._one, self._most = one, moments
        self._ledger = Ledger(one.collection.scale, one.collection.judgments)
        self._steps: list[_Step] = []
        self._known: dict[int, Moment] = {}  # by the number of changes before
        self._lock = Lock()

    def course(self, proceed: Callable[[], bool] = lambda: True) -> Course:
        """The course up to now.

        proceed  asked before each moment whether there is time for it
        """
        with self._lock:
            self._read(self._one.campaign.log(self._ledger.number))
            places = self._places()
            complete = self._look(places, proceed) and self._look(self._between(places), proceed)
            known = {place: moment for place, moment in sorted(self._known.items()) if place <= len(self._steps)}
            met = next((moment for moment in known.values() if moment.reached), None)
            shown = tuple(known[place] for place in places if place in known)
            return Course(self._ledger.number, complete, shown, met)

    def _read(self, records: Sequence[Record]) -> None:
        positions = self._one.campaign.selection.pool.positions
        for record in records:
            change = self._ledger.apply(record.number, record.event)
            if change is not None and change.pair in positions:
                self._steps.append(_Step(record.number, record.event.time, change))

    def _places(self) -> list[int]:
        stride, end = 1, len(self._steps)
        while end // stride > self._most:
            stride *= 2
        return sorted({*range(0, end + 1, stride), end})

    def _between(self, places: Sequence[int]) -> range:
        """The places between the last moment without the goal and the first with it."""
        first = next((place for place in places if self._known[place].reached), 0)
        before = max((place for place in places if place < first), default=first)
        return range(before + 1, first)

    def _look(self, places: Sequence[int], proceed: Callable[[], bool]) -> bool:
        """Look at the moments at these places; whether there was time for all."""
        for place in places:
            if place not in self._known:
                if not proceed():
                    return False
                self._known[place] = self._moment(place)
        return True

    def _moment(self, place: int) -> Moment:
        selection = self._selection(place)
        number, time = self._steps[place - 1][:2] if place else (0, "")
        reached = selection.reached(self._one.judging.goal)
        scores = tuple(selection.ranking.scores.mean.tolist())
        return Moment(number, time, selection.judged, selection.confidence, reached, scores)

    def _selection(self, place: int) -> Selection:
        """The selection after so many changes."""
        now, estimator = self._one.campaign.selection, self._one.predictor().estimator
        told = tell_all(self._one.collection.judgments, (step.change for step in self._steps[:place]))
        judgments = (Judgment(*pair, grade, name) for pair, said in told.items() for name, grade in said.items())
        return Selection.start(now.pool, now.expected, estimator, judgments, now.batch, now.rule)
