"""History of a campaign: the confidence at moments of its log, and the moment at which its stopping rule was met."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from audiosim.campaign import Change
from audiosim.campaign.changes import comparisons_after, grades_after, panel_after
from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Pair
from audiosim.relevance.judges import Panel
from audiosim.relevance.moments import last_moment
from audiosim.selection import Selection
from audiosim.service.campaigns.learned_estimators import Remembering
from audiosim.service.shelf.served_collection import ServedCollection

MOMENTS = 200
DIGITS = 5


@dataclass(frozen=True, slots=True)
class Moment:
    """A campaign at one moment of its log.

    number      number of its last event; 0 before the first
    time        time of that event; None before the first
    judged      number of judged pairs of the pool
    confidence  confidence in the ranking; None if there is nothing to order
    reached     True if judging might stop
    scores      expected score of each system, in the order of the pool, rounded to DIGITS
    """

    number: int
    time: str | None
    judged: int
    confidence: float | None
    reached: bool
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a campaign, as far as it has been computed.

    number    of the last event included
    complete  True if all moments were computed
    moments   in chronological order, starting before any judgment
    met       first moment that met the stopping rule, exact to one judgment, or None
    """

    number: int
    complete: bool
    moments: tuple[Moment, ...]
    met: Moment | None


class History:
    """The course of a campaign, computed as time permits, and kept for later requests.

    First, `moments` to twice as many are computed, at equal steps of a power of two of judgments, so that they remain
    useful as the log grows; then every judgment between the last moment before the rule was met and the first after. At
    each moment the model predicts again, as after a whole batch. Threads may share a history: one computes, the others
    get the moments computed so far.
    """

    def __init__(self, one: ServedCollection, moments: int = MOMENTS) -> None:
        self._one, self._most = one, moments
        self._log: tuple[int, list[Change]] = 0, []  # replaced as a whole: other threads read it meanwhile
        own = mean_grades(one.collection.judgments)
        self._before = {pair: grade for pair, grade in own.items() if pair in one.predictor().pool.positions}
        self._panel = Panel.of(one.predictor().pool, one.collection.judgments)
        self._known: dict[int, Moment] = {}  # by the number of changes before each
        self._looking = Lock()

    def course(self, proceed: Callable[[], bool] = lambda: True) -> Course:
        """The course up to now; incomplete if this thread runs out of time, or another one is computing.

        proceed  called before each moment; True while there is time
        """
        if self._looking.acquire(blocking=False):
            try:
                self._look_on(proceed)
            finally:
                self._looking.release()
        number, changes = self._log
        known = {place: moment for place, moment in sorted(self._known.copy().items()) if place <= len(changes)}
        places = self._places(len(changes))
        complete = known.keys() >= {*places} and known.keys() >= {*self._between(places, known)}
        met = next((moment for moment in known.values() if moment.reached), None)
        return Course(number, complete, tuple(known[place] for place in places if place in known), met)

    def _look_on(self, proceed: Callable[[], bool]) -> None:
        number, more = self._one.campaign.changes(len(self._log[1]))
        self._log = number, self._log[1] + more
        places = self._places(len(self._log[1]))
        if self._look(places, proceed):
            self._look(self._between(places, self._known), proceed)

    def _places(self, end: int) -> list[int]:
        stride = 1
        while end // stride > self._most:
            stride *= 2
        return sorted({self._whole(place) for place in (*range(0, end + 1, stride), end)})

    def _whole(self, place: int) -> int:
        """The next place at which a log line ends; one line, which sets a person aside, may change many pairs."""
        changes = self._log[1]
        while 0 < place < len(changes) and changes[place].number == changes[place - 1].number:
            place += 1
        return place

    def _look(self, places: Sequence[int], proceed: Callable[[], bool]) -> bool:
        """Compute the moments at these places; True if there was time for all."""
        for place in places:
            if place not in self._known:
                if not proceed():
                    return False
                self._known[place] = self._moment(place)
        return True

    def _moment(self, place: int) -> Moment:
        selection = self._selection(self._log[1][:place])
        number = self._log[1][place - 1].number if place else 0
        time = self._one.campaign.record(number).event.time if number else None
        reached = selection.reached(self._one.judging.stopping_rule)
        scores = tuple(round(score, DIGITS) for score in selection.ranking.scores.mean.tolist())
        return Moment(number, time, selection.judged, selection.confidence, reached, scores)

    def selection_at(self, number: int) -> Selection:
        """The selection after the lines of the log up to a number, with the model as it would be then."""
        return self._selection([change for change in self._one.campaign.changes()[1] if change.number <= number])

    def _selection(self, changes: Sequence[Change]) -> Selection:
        """The selection after the first changes."""
        now, estimator = self._one.campaign.selection, self._one.predictor().estimator
        grades = grades_after(self._before, changes)
        panel = panel_after(self._panel, now.pool, changes)
        compared = comparisons_after(now.pool.comparisons, changes)
        learned = self._taught(estimator.knowing(compared), changes, grades)
        return now.anew(learned.plain, grades, panel, compared)

    def _taught(self, estimator: Remembering, changes: Sequence[Change], grades: Mapping[Pair, float]) -> Remembering:
        """The estimator that learned at its last moment of learning, from the grades known then."""
        pool = self._one.campaign.selection.pool
        judged = [pair for pair in grades if pair in pool.positions]
        if not (moment := last_moment(len(judged))):
            return estimator
        last = judged[moment - 1]
        place = next((place for place, one in enumerate(changes) if one.pair == last and one.assessors), -1)
        return estimator.relearned(pool.spread(grades_after(self._before, changes[: place + 1])))

    def _between(self, places: Sequence[int], known: Mapping[int, Moment]) -> list[int]:
        """The places between the last moment before the rule was met and the first after."""
        first = next((place for place in places if known[place].reached), 0)
        before = max((place for place in places if place < first), default=first)
        return sorted({whole for place in range(before + 1, first) if (whole := self._whole(place)) < first})
