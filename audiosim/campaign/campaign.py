"""A campaign: an append-only log of what assessors say, and the selection that it adds up to."""

from collections.abc import Container, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from typing import Any

from audiosim.campaign.admission import check_next, check_open, lease_of, marked, reopened, undoing
from audiosim.campaign.event import ASIDE, LEASES, Clock, Event, Record, judgment_event, turn_event, utc_now, write_time
from audiosim.campaign.identity import identify
from audiosim.campaign.ledger import Change, Lease, Ledger
from audiosim.campaign.lessons import Lessons, begin_count
from audiosim.campaign.log import Log, Turn
from audiosim.campaign.pace import Pace, pace
from audiosim.campaign.queue import Offer, Queue
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.state import CampaignState, Progress, Reach
from audiosim.campaign.store import MemoryStore, Store
from audiosim.campaign.stretch import Counter, Lesson, Stretch
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError, StoreError
from audiosim.expected.ranking import Ranking
from audiosim.measures.measure import Measure, as_measure
from audiosim.relevance.estimators import RelevanceEstimator, built_in
from audiosim.selection import Selection
from audiosim.users.listeners import Agreement, agreement


class Campaign:
    """The judgments of a collection so far, and what they add up to.

    Its log is its state: opened again on the same log, it is where it was. Judgments that the collection came with
    count as made before the log began. Other campaigns, in other processes too, may be open on the same log: each
    takes in what the others wrote before it asks or tells. Threads may share a campaign: one at a time writes, the
    others wait for it, and not for long; reading waits for nobody. Once the log has gone back nothing is answered.
    """

    def __init__(
        self,
        collection: Collection,
        model: str | RelevanceEstimator | None = None,
        measure: str | Measure = "CG@5",
        store: Store | None = None,
        settings: CampaignSettings | None = None,
        *,
        clock: Clock = utc_now,
        withheld: Container[Pair] = (),
        known: Iterable[Record] = (),
        count_long: Counter = Stretch.counted,
    ) -> None:
        """Open the campaign on a log, in memory where none is given, and replay what it holds.

        model, measure  as for `audiosim.estimate`
        settings        how it goes
        clock           gives the time, with its zone
        withheld        pairs that nobody is to judge, such as those that cannot be heard
        known           first lines of the log, which another campaign on this very store has read
        count_long      counts what takes long, such as in another process
        """
        settings, measure = settings or CampaignSettings(), as_measure(measure)
        self._collection, self._settings, self._clock = collection, settings, clock
        self._pool = build_pool(collection, measure.cutoff)
        self._ledger = Ledger(collection.scale, collection.judgments)
        store = MemoryStore() if store is None else store
        self._log = Log(store, self._ledger, self._note, settings.patience_s)
        self._queue = Queue(self._pool, settings, withheld)
        for pair in self._ledger.judged:
            self._queue.note(pair, self._ledger.assessors(pair))
        self.lessons = Lessons(store)
        held = sum(len(self._ledger.assessors(pair)) for pair in self._ledger.judged if pair in self._pool.positions)
        estimator = built_in(self._pool, model)
        own = collection.judgments
        self._count = begin_count(self.lessons, self._pool, estimator, measure, settings, own, held, count_long)
        self._log.sync(known)
        identify(store, collection, self._ledger.judged, settings.adopt)
        self._count.count(settings.patience_s, Reach.ALL)
        self._learn_now(suppress(StoreError))  # a log that cannot be written may still be read

    @property
    def current_state(self) -> CampaignState:
        """State of the judgments now, named by its number."""
        return self._count.current_state

    @property
    def selection(self) -> Selection:
        """The selection now."""
        return self.current_state.selection

    @property
    def confidence(self) -> float | None:
        """The confidence in the ranking now; None where there is nothing to order."""
        return self.selection.confidence

    @property
    def ranking(self) -> Ranking:
        """Ranking of the systems now, with the check of the model: what is stated everywhere."""
        return self.selection.ranking

    @property
    def state(self) -> str:
        """The campaign is open, paused or closed."""
        return self._ledger.state

    @property
    def number(self) -> int:
        """The number of the last line of the log that is known."""
        return self._ledger.number

    @property
    def trouble(self) -> str:
        """Trouble with the log; empty where the last reading or writing of it worked within a second."""
        return self._log.trouble

    def sync(self) -> int:
        """Take in what others wrote to the log; the number of its last line."""
        self._log.sync()
        self._count.count(self._settings.patience_s, Reach.AT_HAND if self._settings.learn_later else Reach.ALL)
        return self.number

    def refresh(self) -> int:
        """Take in what others wrote, where that can be had at once; the number of the last line known.

        Where somebody is writing, or the log does not answer, what is known already has to do.
        """
        self._log.refresh()
        self._catch_up()
        return self.number

    def ask(self, count: int = 1, assessor: str = "", by_query: bool = False) -> list[Pair]:
        """The pairs most worth judging, best first; fewer where fewer are left.

        assessor  who will judge them: first those that are theirs already, then those that wait for their second
                  judgment, then the best of those that are nobody's, first of queries that nobody else has begun: see
                  `WholeQueries`. They are theirs until the lease ends, which asking again puts off. Without a name
                  nothing is leased, and nothing offered that is somebody's.
        by_query  pairs of as few queries as will do, as for `Selection.ask`
        """
        self._catch_up()
        _ = self.selection.weights  # dear, and so before anybody has to wait
        if not assessor:
            self.sync()
            with self._log.state:
                return [offer.pair for offer in self._choose(count, assessor, by_query)]
        with self._log.turn() as turn:
            while turn.goes_on():
                chosen, now = self._choose(count, assessor, by_query), self._clock()
                turn.write(
                    self._admitted(
                        [
                            lease_of(self._ledger, pair, assessor, now, self._settings.lease_s, why)
                            for pair, why in chosen
                        ]
                    )
                )
        return [record.event.pair for record in self._written(turn)]

    def _choose(self, count: int, assessor: str, by_query: bool) -> list[Offer]:
        check_open(self._ledger)
        return self._queue.choose(self._ledger, self.selection, self._clock(), count, assessor, by_query)

    def lesson(self) -> Lesson | None:
        """Next lesson for the model to learn; None where there is nothing."""
        with self._log.state:
            return self._count.lesson()

    def teach(self, state: int, estimator: RelevanceEstimator) -> None:
        """Go on with what the model learned from a state, by `Lesson.learned`; the log says from where on."""
        self._count.teach(state, estimator)
        self.lessons.keep(self._count.lesson_of(state), estimator)
        with self._log.turn() as turn:
            while turn.goes_on():
                now = write_time(self._clock())
                turn.write([Event("learn", now, refers=state)] if self._count.unsaid == state else [])
        self._count.count(self._settings.patience_s, Reach.AT_HAND)

    def tell(self, said: Judgment | Event) -> Record:
        """Take in a judgment, or another event but a lease: checked first, then written to the log, then counted.

        What was sent before, by its key, is not written again: it is answered as it was, marked as replayed.
        """
        return self.tell_all([said], vouched=False)[0]

    def tell_all(self, said: Iterable[Judgment | Event], vouched: bool = True) -> list[Record]:
        """Take in several at once, all or none.

        vouched  whether they count although nobody handed their pairs to the assessors, or others have them now, as
                 somebody vouches for them
        """
        now, scale = write_time(self._clock()), self._collection.scale
        events = [one if isinstance(one, Event) else judgment_event(one, scale, now) for one in said]
        if any(event.kind in LEASES for event in events):
            raise InputError("a lease cannot be told: ask for pairs instead")
        with self._log.turn() as turn:
            while turn.goes_on():
                turn.write(self._admitted(events, vouched))
        return self._written(turn)

    def undo(self, assessor: str = "", number: int | None = None, key: str = "") -> Record:
        """Take back an answer of this assessor; what it replaced holds again, and the pair is theirs for another try.

        number  of the event; the last that counts where None
        """
        with self._log.turn() as turn:
            while turn.goes_on():
                undo = undoing(self._ledger, self._pool, assessor, number, key, now := self._clock())
                turn.write(self._admitted([undo, *reopened(self._ledger, undo, now, self._settings.lease_s)]))
        return self._written(turn)[0]

    def pause(self, by: str = "", reason: str = "") -> Record:
        """Neither ask nor tell until `resume`."""
        return self.tell(turn_event("pause", self._clock(), by, reason))

    def resume(self, by: str = "", reason: str = "") -> Record:
        """Open a paused or closed campaign again."""
        return self.tell(turn_event("resume", self._clock(), by, reason))

    def close(self, by: str = "", reason: str = "") -> Record:
        """Neither ask nor tell any more."""
        return self.tell(turn_event("close", self._clock(), by, reason))

    def set_aside(self, judge: str, by: str = "", reason: str = "", key: str = "") -> Record:
        """Let nothing rest on what somebody said or says until `take_back`; it is kept, they are offered nothing."""
        return self.tell(turn_event("set_aside", self._clock(), by, reason, key, judge=judge))

    def take_back(self, judge: str, by: str = "", reason: str = "", key: str = "") -> Record:
        """Let what somebody who was set aside said count again."""
        return self.tell(turn_event("take_back", self._clock(), by, reason, key, judge=judge))

    def aside(self) -> dict[str, Record]:
        """Those who are set aside, with the line that said so."""
        with self._log.state:
            return {name: self._ledger.record(number) for name, number in self._ledger.aside.items()}

    def judgments(self) -> tuple[Judgment, ...]:
        """The judgments that hold, in the order in which they were made; the collection's own come first."""
        return self.snapshot()[1]

    def snapshot(self, back: Container[str] | None = ()) -> tuple[int, tuple[Judgment, ...]]:
        """The number of a line of the log, and the judgments that hold after it.

        back  who is set aside, and whose judgments are wanted all the same; None: all of them
        """
        with self._log.state:
            return self._ledger.number, self._ledger.judgments(back)

    def log(self, after: int = 0) -> list[Record]:
        """The lines of the log whose number is higher than `after`."""
        with self._log.state:
            return [record for record in self._ledger.records() if record.number > after]

    def record(self, number: int) -> Record:
        """The line of the log that has this number."""
        with self._log.state:
            return self._ledger.record(number)

    def changes(self, after: int = 0) -> tuple[int, list[Change]]:
        """Number of the last line of the log, and changes of the pool's grades until then without the first `after`."""
        return self._count.changes(after)

    def assessors_of(self, pair: Pair) -> frozenset[str]:
        """The assessors whose judgments of a pair hold."""
        with self._log.state:
            return frozenset(self._ledger.assessors(pair))

    def log_rows(self) -> list[dict[str, Any]]:
        """The log as plain values, one row per line: number, then the fields of the event."""
        return [{"number": number} | event.row() for number, event, _ in self.log()]

    def known_as(self, said: str) -> str:
        """The name that somebody means who types it, in any case and form; all else here takes names literally."""
        with self._log.state:
            name = self._ledger.name(said)
        if said and not name:
            raise InputError(f"{said!r:.80} is not a name: no character of it is visible")
        return name

    def answers(self, assessor: str, count: int | None = None, before: int | None = None) -> list[Record]:
        """Answers that this assessor gave and has not taken back, revised answers too, oldest first.

        count, before  the last so many only, of those whose number is lower; all where None
        """
        with self._log.state:
            numbers = [one for one in self._ledger.counting(assessor) if before is None or one < before]
            return [self._ledger.record(number) for number in numbers[-count if count else 0 :]]

    def answered(self, pair: Pair, assessor: str) -> bool:
        """True if this assessor gave an answer about a pair, and has not taken it back."""
        with self._log.state:
            return self._ledger.answered(pair, assessor)

    def leases(self, assessor: str | None = None) -> list[Lease]:
        """The pairs that are with an assessor now, in the order in which they were handed out."""
        with self._log.state:
            leases = self._ledger.leases(self._clock())
        return [lease for lease in leases if assessor in (None, lease.assessor)]

    def cannot(self) -> dict[Pair, dict[str, str]]:
        """The reason why an assessor cannot judge a pair, by pair and assessor."""
        with self._log.state:
            return {
                pair: {name: str(self._ledger.record(number).event.details["reason"]) for name, number in by.items()}
                for pair, by in self._ledger.cannot.items()
            }

    def dropped(self) -> list[Pair]:
        """The pairs that left the queue: as many assessors as the limit says cannot judge them."""
        with self._log.state:
            return self._queue.dropped(self._ledger)

    def agreement(self) -> Agreement:
        """Agreement of the assessors on the pairs that two or more of them judged."""
        with self._log.state:
            grades = self._ledger.grades()
        return agreement(grades, self._collection.scale)

    def doubts(self) -> dict[str, str]:
        """The reason to doubt that an assessor listens, by name, of those where there is one."""
        with self._log.state:
            return self._ledger.listening.doubts()

    def assessors(self) -> list[str]:
        """Assessors who have answered anything, in the order of their first answers."""
        with self._log.state:
            return list(self._ledger.times)

    def pace(self, assessor: str | None = None) -> Pace:
        """Pace at which an assessor answers, or all together where None."""
        with self._log.state:
            times = {name: list(own) for name, own in self._ledger.times.items() if assessor in (None, name)}
        return pace(times.values())

    @property
    def progress(self) -> Progress:
        """Progress of the campaign."""
        with self._log.state:
            now = self.current_state
            return Progress(
                number=now.number,
                state=self.state,
                judged=now.selection.judged,
                pool=len(self._pool.pairs),
                judgments=now.judgments,
                leased=len(self.leases()),
                twice=self._queue.waiting,
                dropped=len(self.dropped()),
            )

    def _admitted(self, events: Iterable[Event], vouched: bool = False) -> list[Event]:
        """Events that may be the next lines of the log, or were sent before; an error where one may not.

        vouched  as for `tell_all`
        """
        now = self._clock()
        return [event if self._log.earlier(event) else self._checked(event, now, vouched) for event in events]

    def _checked(self, event: Event, now: datetime, vouched: bool) -> Event:
        check_next(event, self._ledger, self._pool, now, vouched)
        return event if vouched else marked(event, self._ledger, self._settings.unasked)

    def _written(self, turn: Turn) -> list[Record]:
        """Records of what was written, once they are counted; where the model learns later, so does who asks next."""
        if not self._settings.learn_later:
            self._catch_up()
            self._learn_now()
        return turn.records or []

    def _catch_up(self) -> None:
        """Count what is known of the log; where the model learns later, only what can be counted in a moment."""
        if self._settings.learn_later:
            self._count.count_soon()
        else:
            self._count.count(self._settings.patience_s, Reach.ALL)

    def _learn_now(self, forgiving: AbstractContextManager[None] | None = None) -> None:
        """Learn what there is to learn, and say so in the log.

        forgiving  what keeps the log from being written
        """
        while (lesson := self.lesson()) is not None:
            with forgiving or nullcontext():
                self.teach(lesson.number, self.lessons.learned(lesson))

    def _note(self, number: int, event: Event) -> None:
        """Take in the next line of the log."""
        changes = [change for change in self._ledger.apply(number, event) if change.pair in self._pool.positions]
        if event.kind == "learn":
            self._count.note_learning(number, event.refers)
            return
        self._count.note(number, changes, event.kind in ASIDE)
        for change in changes:
            self._queue.note(change.pair, self._ledger.assessors(change.pair))
