"""Outlook for organisers, beside the ranking; as it takes seconds, it is computed once per state and cached."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import takewhile
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from audiosim.campaign import CampaignState, Change
from audiosim.campaign.event import ANSWERS, parse_time
from audiosim.campaign.learning import takes_long
from audiosim.campaign.state import comparisons_after, judgments_after
from audiosim.collection.values import Judgment, mean_grades
from audiosim.joint.estimators import Relearning, learned_from
from audiosim.joint.people import Panel
from audiosim.people.agreement import Leaning, leanings
from audiosim.ranking import Selection, StoppingRule
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.collections.predictions import Remembering
from audiosim.service.collections.quotas import answers_among, answers_kept
from audiosim.simulation.plan import Effort, effort_from, usual_seconds
from audiosim.simulation.remaining import Forecast, forecast

if TYPE_CHECKING:  # a process that forecasts needs neither the web framework nor the database
    from audiosim.service.collections.served import ServedCollection

# History of a campaign: the confidence at moments of its log, and the moment at which its stopping rule was met.


MOMENTS = 200
DIGITS = 5


@dataclass(frozen=True, slots=True)
class Moment:
    """A campaign at one moment of its log.

    number       number of its last event; 0 before the first
    time         time of that event; None before the first
    judged       number of judged pairs of the pool
    comparisons  number of comparisons of two documents that count
    confidence   confidence in the ranking; None if there is nothing to order
    reached      True if judging might stop
    scores       expected score of each system, in the order of the pool, rounded to DIGITS
    """

    number: int
    time: str | None
    judged: int
    comparisons: int
    confidence: float | None
    reached: bool
    scores: tuple[float, ...]


class Course(Struct, frozen=True):
    """Course of a campaign, as far as it has been computed.

    state     number of the last event included
    complete  True if all moments were computed
    moments   in chronological order, starting before any judgment
    met       first moment that met the stopping rule, exact to one judgment, or None
    """

    state: int
    complete: bool
    moments: tuple[Moment, ...]
    met: Moment | None


@dataclass(frozen=True, eq=False)
class Past:
    """A log, to compute the state of its campaign at earlier moments, here or in another process.

    now        present state, without results
    estimator  estimator before any learning; it remembers what it learned for earlier moments
    own        judgments of the pool's pairs before the log
    changes    changes of the log so far
    stopping_rule  the campaign's
    """

    now: Selection
    estimator: Remembering
    own: Sequence[Judgment]
    changes: Sequence[Change]
    stopping_rule: StoppingRule

    def moment(self, place: int) -> Moment:
        """The moment after the first changes; its time is not known here."""
        selection = self.selection(place)
        number = self.changes[place - 1].number if place else 0
        reached = selection.reached(self.stopping_rule)
        ranking = selection.ranking
        scores = tuple(round(score, DIGITS) for score in ranking.scores.mean.tolist())
        return Moment(number, None, selection.judged, ranking.comparisons, selection.confidence, reached, scores)

    def moments(self, places: Sequence[int], seconds: float) -> dict[int, Moment]:
        """Moments by their number of changes: those for which there are seconds of work."""
        leisure = Leisure(seconds)
        return {place: self.moment(place) for place in takewhile(lambda _: leisure(), places)}

    def selection(self, place: int) -> Selection:
        """The selection after the first changes, with the model as it would be then."""
        now, changes = self.now, self.changes[:place]
        judged, compared = judgments_after(self.own, changes), comparisons_after(now.pool.comparisons, changes)
        estimator, known = self.estimator.knowing(compared), learned_from(now.pool, judged)
        learned = estimator.relearned(now.pool.spread(known)) if known else estimator
        return now.anew(learned.plain, mean_grades(judged), Panel.of(now.pool, judged), compared)


class History:
    """The course of a campaign, computed as time permits, and kept for later requests.

    First, `moments` to twice as many are computed, at equal steps of a power of two of judgments, so that they remain
    useful as the log grows; then every judgment between the last moment before the rule was met and the first after. At
    each moment the model predicts again, as after a whole batch. Threads may share a history: one computes, the others
    get the moments computed so far.
    """

    def __init__(self, one: "ServedCollection", moments: int = MOMENTS, working: "Lock | None" = None) -> None:
        """The history of a collection's campaign.

        moments  see above
        working  held while moments of a large campaign are computed; None: a lock of its own
        """
        self._one, self._most = one, moments
        self._log: tuple[int, list[Change]] = 0, []  # replaced as a whole: other threads read it meanwhile
        inside = one.predictor().pool.positions
        self._own = tuple(judgment for judgment in one.campaign.own if judgment.pair in inside)
        self._known: dict[int, Moment] = {}  # by the number of changes before each
        self._looking, self._working = Lock(), working or Lock()

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

    def recall(self) -> None:
        """Compute missing moments in another process, for FORECAST_S of work."""
        with self._working, self._looking:
            self._read_on()
            if places := self._missing():
                past = partial(self._past, self._log[1])
                found = self._one.judging.errands.run(lambda: partial(past().moments, places, FORECAST_S))
                self._known |= {place: self._timed(moment) for place, moment in found.items()}

    @property
    def large(self) -> bool:
        """True if a moment has the opinions of many people about many pairs: it takes seconds and much memory."""
        people = {change.assessor for change in self._one.campaign.changes()[1]}
        return takes_long(0, len(people), len(self._one.predictor().pool.pairs))

    def _look_on(self, proceed: Callable[[], bool]) -> None:
        self._read_on()
        past = self._past(self._log[1])
        while places := self._missing():
            for place in places:
                if not proceed():
                    return
                self._known[place] = self._timed(past.moment(place))

    def _read_on(self) -> None:
        number, more = self._one.campaign.changes(len(self._log[1]))
        self._log = number, self._log[1] + more

    def _past(self, changes: Sequence[Change]) -> Past:
        one = self._one
        now, estimator, rule = one.campaign.selection.bare, one.predictor().estimator, one.judging.stopping_rule
        return Past(now, estimator, self._own, changes, rule)

    def _missing(self) -> list[int]:
        """Places of moments to compute next."""
        places = self._places(len(self._log[1]))
        missing = [place for place in places if place not in self._known]
        return missing or [place for place in self._between(places, self._known) if place not in self._known]

    def _timed(self, moment: Moment) -> Moment:
        return replace(moment, time=self._one.campaign.record(moment.number).event.time if moment.number else None)

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

    def selection_at(self, number: int) -> Selection:
        """The selection after the lines of the log up to a number, with the model as it would be then."""
        changes = self._one.campaign.changes()[1]
        return self._past(changes).selection(sum(change.number <= number for change in changes))

    def _between(self, places: Sequence[int], known: Mapping[int, Moment]) -> list[int]:
        """The places between the last moment before the rule was met and the first after."""
        first = next((place for place in places if known[place].reached), 0)
        before = max((place for place in places if place < first), default=first)
        return sorted({whole for place in range(before + 1, first) if (whole := self._whole(place)) < first})


# Changes of a campaign since a moment: answers, moved ranks, and newly settled pairs of systems.


KINDS = (*ANSWERS, "repeat", "comparison")


@dataclass(frozen=True, slots=True)
class Moved:
    """A system whose rank by expected score changed.

    rank_before  rank then
    rank         rank now
    before       score then
    expectation  score now
    """

    system: str
    rank_before: int
    rank: int
    before: float
    expectation: float


@dataclass(frozen=True, slots=True)
class Settled:
    """Two systems, the first of which is shown to be better at the family-wise level.

    better  the better system
    worse   the other
    """

    better: str
    worse: str


class RecentChanges(Struct, frozen=True):
    """Changes of a campaign since a moment.

    before, state   last lines of the log, then and now
    answers         number of answers of each person since then; a revised answer counts once
    joined          people among them who gave their first answer
    judged_before, judged          judged pairs of the pool
    confidence_before, confidence  confidence in the ranking; None if there is nothing to order
    moved           systems whose rank changed, best first
    settled         pairs of systems that can be told apart now but not then
    unsettled       the reverse, and pairs whose order has changed
    """

    before: int
    state: int
    answers: dict[str, int]
    joined: tuple[str, ...]
    judged_before: int
    judged: int
    confidence_before: float | None
    confidence: float | None
    moved: tuple[Moved, ...]
    settled: tuple[Settled, ...]
    unsettled: tuple[Settled, ...]


def changes_since(one: "ServedCollection", since: datetime, selection_at: Callable[[int], Selection]) -> RecentChanges:
    """Changes of a campaign since a moment; the model of that moment learned only from judgments until then.

    selection_at  function that returns the selection after the log's lines up to a number
    """
    number, verdicts = one.verdicts()
    records = [record for record in one.campaign.log() if record.number <= number]
    # Imported lines keep their times. An earlier time counts as recent if the line follows a recent one.
    before = next((record.number - 1 for record in records if parse_time(record.event.time) > since), number)
    answered = [(record.number, record.event.assessor) for record in records if record.event.kind in KINDS]
    known = {assessor for line, assessor in answered if line <= before}
    people = dict.fromkeys(assessor for line, assessor in answered if line > before)
    answers = {name: count for name in people if (count := _given(one, name, before, number))}
    changed = any(change.number > before for change in one.campaign.changes()[1])
    then = Verdicts(selection_at(before).stated(verdicts.ranking.about), verdicts.level) if changed else verdicts
    settled, unsettled = _settled(then, verdicts)
    return RecentChanges(
        before,
        number,
        dict(sorted(answers.items(), key=lambda item: -item[1])),
        tuple(name for name in answers if name not in known),
        then.ranking.judged,
        verdicts.ranking.judged,
        then.ranking.confidence,
        verdicts.ranking.confidence,
        _moved(then, verdicts),
        settled,
        unsettled,
    )


def _given(one: "ServedCollection", name: str, before: int, number: int) -> int:
    """Number of a person's answers between two lines that were not withdrawn."""
    return answers_among(record for record in answers_kept(one.campaign, name) if before < record.number <= number)


def _moved(then: Verdicts, now: Verdicts) -> tuple[Moved, ...]:
    places = [verdicts.ranking.scores.ranks for verdicts in (then, now)]
    scores = [verdicts.ranking.scores.mean for verdicts in (then, now)]
    return tuple(
        Moved(now.ranking.systems[i], *(int(of[i]) for of in places), *(float(of[i]) for of in scores))
        for i in now.ranking.scores.order.tolist()
        if places[0][i] != places[1][i]
    )


def _settled(then: Verdicts, now: Verdicts) -> tuple[tuple[Settled, ...], tuple[Settled, ...]]:
    """Pairs told apart now but not then, and pairs told apart then but not now."""
    names, order = now.ranking.systems, now.ranking.scores.order.tolist()
    gained, lost = now.better & ~then.better, then.better & ~now.better
    found = [tuple(Settled(names[a], names[b]) for a in order for b in order if of[a, b]) for of in (gained, lost)]
    return found[0], found[1]


HISTORY_S = 0.05
BESIDE_S = 1.0  # per background round of computing a course
LOOKED_AT_S = 60.0  # after a request; in this time a course is continued, and an older estimate may be returned
FORECAST_S = 20.0
QUICK_S, SMALL = 0.5, 5_000  # as much work as starting a process, and pairs of which no single step takes long
SLICE_S = 0.005


class Leisure:
    """Time budget for background work; every few milliseconds it rests as long as it worked, to serve others.

    seconds  of this thread's work
    """

    def __init__(self, seconds: float, slice_s: float = SLICE_S) -> None:
        self._slice_s = slice_s
        self._since = time.thread_time()
        self._end = self._since + seconds

    def __call__(self) -> bool:
        """True if there is time left."""
        worked = time.thread_time() - self._since
        if worked > self._slice_s:
            time.sleep(worked)
            self._since = time.thread_time()
        return time.thread_time() < self._end


class Looked(NamedTuple):
    """State of a campaign that a result was computed from, without its selection, whose arrays would stay in memory.

    number    of the last event counted
    model     name of the estimator
    unjudged  pairs of the pool without a judgment
    """

    number: int
    model: str
    unjudged: int

    @classmethod
    def of(cls, current: CampaignState) -> "Looked":
        """The figures of a state."""
        number, now = current
        return cls(number, now.estimator.name, len(now.pool.pairs) - now.judged)


@dataclass(frozen=True, eq=False)
class Ahead:
    """Forecast to be made: of a selection, for a stopping rule, by a seed, within seconds of work.

    Its states, each with the opinions of everybody about every pair, take hundreds of megabytes: a service makes it in
    a separate process, and gets only the figures.

    looked  figures of the state that the selection is of
    """

    looked: Looked
    selection: Selection
    stopping_rule: StoppingRule
    seed: int
    seconds: float

    def forecast(self) -> Forecast:
        """The forecast."""
        rng = np.random.default_rng(self.seed)
        return forecast(self.selection, self.stopping_rule, rng, proceed=Leisure(self.seconds))

    def with_state(self) -> tuple[Looked, Forecast]:
        """The forecast, with the state that it is of."""
        return self.looked, self.forecast()

    def quickly(self) -> Forecast | None:
        """The forecast, if it takes less time, and less memory, than a process to make it in."""
        if isinstance(self.selection.estimator, Relearning) or len(self.selection.pool.pairs) > SMALL:
            return None
        found = replace(self, seconds=min(QUICK_S, self.seconds)).forecast()
        return found if found.cut is None else None


class Lookahead:
    """Forecast of a campaign, made in the background while judging goes on.

    A request gets the last forecast at once: that of the current state, or, within a minute of the last request, of an
    earlier one, unless people were set aside or taken back since. It never waits; until there is such a forecast, it
    gets none. The draws depend on the campaign's seed alone, so that a forecast moves only with the judgments.

    working  held during the work
    """

    def __init__(self, one: "ServedCollection", working: Lock) -> None:
        self._one = one
        self._last: tuple[Looked, Forecast] | None = None
        self._aside = one.campaign.aside()  # when the last one was begun
        self._looked_at = -math.inf
        self._answers = self._followed = 0  # requests, and how many of them a new forecast has followed
        self._working = working  # not needed to return the last forecast

    def at_hand(self) -> tuple[Looked, Forecast] | None:
        """The last forecast and its state; None without a recent one. `go_on` makes the next."""
        recent = time.monotonic() < self._looked_at + LOOKED_AT_S and self._aside == self._one.campaign.aside()
        self._looked_at = time.monotonic()
        self._answers += 1
        return self._last if recent or self._is_current(self._one.campaign.current_state) else None

    def worked_out(self, seconds: float = FORECAST_S) -> tuple[Looked, Forecast]:
        """The forecast of the current state, made once for each state.

        seconds  of work
        """
        with self._working:
            self._one.campaign.refresh()
            if self._last is None or not self._is_current(self._one.campaign.current_state):
                self._aside, ahead = self._one.campaign.aside(), self._ahead(seconds)
                looked, quick = ahead.looked, ahead.quickly()
                del ahead  # with its state
                self._last = (
                    self._one.judging.errands.run(lambda: self._ahead(seconds).with_state)
                    if quick is None
                    else (looked, quick)
                )
            return self._last

    def _ahead(self, seconds: float) -> Ahead:
        """The forecast of the current state, to be made."""
        current, judging = self._one.campaign.current_state, self._one.judging
        now, rule = current.selection.bare, judging.stopping_rule
        return Ahead(Looked.of(current), now, rule, judging.settings.seed, seconds)

    def go_on(self) -> None:
        """Make the forecast of the current state if a request came since the last one."""
        answers = self._answers
        if answers > self._followed:
            self.worked_out()
            self._followed = answers  # only after success: a failure is retried

    def _is_current(self, current: CampaignState) -> bool:
        return self._last is not None and self._last[0].number == current.number


class Outlook:
    """Outlook of a campaign: its course so far, and the effort left.

    remaining  forecast of the judgments until the stopping rule is met
    """

    def __init__(self, one: "ServedCollection") -> None:
        self._one = one
        # One at a time where many people judge: each has several states in memory, of hundreds of megabytes.
        working = Lock()
        self._history = History(one, MOMENTS, working)
        self._looked_at = -math.inf
        self._selection_at = lru_cache(maxsize=1)(self._history.selection_at)
        self.remaining = Lookahead(one, working)
        self._working = working
        self._planned: tuple[Looked, Effort] | None = None

    def is_of(self, one: "ServedCollection | None") -> bool:
        """True if it belongs to this very collection, not to one served before."""
        return self._one is one

    def course(self, seconds: float = HISTORY_S) -> Course:
        """Growth of the confidence, as far as it has been computed; `go_on` continues it in the background."""
        self._looked_at = time.monotonic()
        self._one.campaign.refresh()
        return self._history.course(Leisure(0.0 if self._history.large else seconds))

    def since(self, moment: datetime) -> RecentChanges:
        """Changes since a moment."""
        return changes_since(self._one, moment, self._selection_at)

    def go_on(self, proceed: Callable[[], bool]) -> None:
        """Continue the course that a client watches, for the client's next request.

        proceed  called before each moment; True to continue
        """
        if time.monotonic() < self._looked_at + LOOKED_AT_S:
            if self._history.large:
                self._history.recall()
            else:
                leisure = Leisure(BESIDE_S)
                self._history.course(lambda: proceed() and leisure())

    def plan(self) -> tuple[Looked, Effort] | None:
        """Effort of one listener for the last forecast, as in `audiosim plan`; None without one."""
        at_hand, current = self.remaining.at_hand(), self._one.campaign.current_state
        if at_hand is None:
            return None
        looked, found = at_hand
        if looked.number == current.number and (self._planned is None or self._planned[0] is not looked):
            with self._working:
                self._planned = looked, self._effort(current, found)
        return self._planned

    def _effort(self, current: CampaignState, found: Forecast) -> Effort:
        one, campaign = self._one, self._one.campaign
        _, judgments = campaign.snapshot()
        return effort_from(
            found,
            one.collection.judged_by(judgments),
            current.selection,
            seconds=usual_seconds(campaign.pace()),
            listeners=1,
            deeper=lambda pool: one.predictor(None, pool.cutoff).estimator.plain,
        )

    def leanings(self) -> tuple[int, dict[str, Leaning]]:
        """The number of a state, and the leaning of each assessor in it."""
        campaign = self._one.campaign
        number, judgments = campaign.snapshot()
        selection = campaign.selection
        belief, positions = selection.belief, selection.pool.positions
        expectation = belief.probabilities @ belief.level_grades  # from the other judgments
        expected = {pair: float(expectation[positions[pair]]) for pair in selection.graded}
        return number, leanings(judgments, self._one.collection.scale.maximum, expected)


class Outlooks:
    """The requested outlooks of a service, one per collection as currently served."""

    def __init__(self) -> None:
        self._made: dict[str, Outlook] = {}
        self._making = Lock()

    def of(self, one: "ServedCollection") -> Outlook:
        """The outlook of a collection, the same object until the collection is replaced."""
        name = one.collection.identifier
        with self._making:
            found = self._made.get(name)
            if found is None or not found.is_of(one):
                found = self._made[name] = Outlook(one)
            return found

    def current(self, served: Mapping[str, "ServedCollection"]) -> list[tuple[str, Outlook]]:
        """Outlooks of the served collections, by identifier; all others are dropped."""
        with self._making:
            self._made = {name: one for name, one in self._made.items() if one.is_of(served.get(name))}
            return list(self._made.items())
