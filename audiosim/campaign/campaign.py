"""A campaign: an append-only log of assessors' answers, and the selection that follows from it."""

from collections.abc import Callable, Container, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime

from audiosim.campaign.comparisons import ComparisonQueue
from audiosim.campaign.decisions import Adjudications, Decisions
from audiosim.campaign.event import (
    HANDED,
    MODEL,
    WORDS,
    Clock,
    Event,
    Record,
    judgment_event,
    turn_event,
    utc_now,
    write_time,
)
from audiosim.campaign.learning import CampaignState, Count, Counter, Lesson, Lessons, Progress, Reach, Stretch
from audiosim.campaign.log import Log, identify
from audiosim.campaign.queue import Offer, Queue
from audiosim.campaign.rules import check_next, check_open, lease_of, marked, reopened, undoing
from audiosim.campaign.settings import CampaignSettings
from audiosim.campaign.state import Change, Lease, Ledger, before_log
from audiosim.campaign.store import MemoryStore, Store
from audiosim.campaign.timing import Pace, pace
from audiosim.collection.collection import Collection
from audiosim.collection.pool import Pool, build_pool, check_collection
from audiosim.collection.values import Judgment, Pair
from audiosim.errors import InputError, StoreError
from audiosim.joint.estimators import NameOrFile, RelevanceEstimator, make_estimator
from audiosim.measures.measure import Measure, as_measure
from audiosim.people.agreement import Agreement, agreement
from audiosim.ranking import Selection
from audiosim.ranking.ranking import Ranking


class Campaign:
    """The judgments of a collection so far, and their consequences.

    The log is the whole state: a campaign reopened on it continues. The collection's own judgments count as made
    before it began, except those exported from it. Other campaigns, even in other processes, may be open on the same
    log: each first reads the lines of the others. Threads may share a campaign. If the log loses lines, every later
    request is refused.

    own  the collection's judgments without those of the log
    """

    def __init__(
        self,
        collection: Collection,
        model: NameOrFile | RelevanceEstimator | None = None,
        measure: str | Measure = "CG",
        store: Store | None = None,
        settings: CampaignSettings | None = None,
        *,
        clock: Clock = utc_now,
        withheld: Container[Pair] = (),
        known: Iterable[Record] = (),
        count_long: Counter = Stretch.counted,
        pool: Pool | None = None,
    ) -> None:
        """Open the campaign on a log, by default in memory, and replay the log.

        model, measure  as for `audiosim.estimate`
        settings        rules of the campaign
        clock           returns the current time, with its zone
        withheld        pairs that are not offered, such as pairs that cannot be played
        known           first lines of the log, already read by another campaign on this very store
        count_long      runs slow counts, for example in another process
        pool            pool of the collection down to the measure's cutoff; None: built here
        """
        check_collection(collection)
        settings, measure = settings or CampaignSettings(), as_measure(measure, collection.cutoff)
        self._collection, self._settings, self._clock = collection, settings, clock
        self._pool = build_pool(collection, measure.cutoff) if pool is None else pool
        store = MemoryStore() if store is None else store
        known = [Record(*line) for line in store.read()] if collection.judgments else known
        self.own = before_log(collection.judgments, (record.event for record in known))
        self._ledger = Ledger(collection.scale, self.own, collection.comparisons)
        self._log, self.lessons = Log(store, self._ledger, self._note, settings.patience_s), Lessons(store)
        self._queue = Queue(self._pool, settings, withheld)
        for pair in self._ledger.judged:
            self._queue.note(pair, self._ledger.assessors(pair))
        self.questionnaires = self._ledger.questionnaires  # numbers of lines, by person and moment
        estimator, parts = make_estimator(self._pool, model), (self._log, self._ledger, self._pool, self._queue)
        self.comparisons = ComparisonQueue(*parts, settings, clock, estimator, lambda: self.selection)
        self.adjudications = Adjudications(self._write, *parts, clock)
        self.model_choices = Decisions(MODEL, self.tell, self._log, self._ledger, clock)
        self.rewording = Decisions(WORDS, self.tell, self._log, self._ledger, clock)
        first = Selection.start(
            self._pool, measure, self.lessons.after(self._pool, estimator, self.own), self.own, settings.batch,
            settings.selection_rule, settings.seed, True, False, settings.distribution, settings.about,
        )  # fmt: skip
        self._count = Count(first, estimator, self.lessons, settings.learn_later, count_long)
        self._log.sync(known)
        identify(store, collection, self._ledger.judged, settings.adopt, self._pool)
        self._count.count(settings.patience_s, Reach.ALL)
        self._learn_now(suppress(StoreError))  # a log that is not writable may still be readable

    @property
    def current_state(self) -> CampaignState:
        """State of the judgments now, identified by the number of its last line."""
        return self._count.current_state

    @property
    def selection(self) -> Selection:
        """The selection now."""
        return self.current_state.selection

    @property
    def confidence(self) -> float | None:
        """The confidence in the ranking now; None if there is nothing to rank."""
        return self.selection.confidence

    @property
    def ranking(self) -> Ranking:
        """Ranking of the systems now, with the check of the model: the basis of all published statements."""
        return self.selection.ranking

    def __repr__(self) -> str:
        judged = f"{len(self._ledger.judged)} of {len(self._pool.pairs)} pairs judged"
        return f"Campaign of {self._collection.name}, {self.state}: {judged}"

    @property
    def state(self) -> str:
        """State of the campaign: open, paused or closed."""
        return self._ledger.state

    @property
    def turn(self) -> Event | None:
        """The last event that paused, opened again or closed the campaign; None if it has been open from the start."""
        return self._ledger.turn

    @property
    def number(self) -> int:
        """The number of the last known line of the log."""
        return self._ledger.number

    @property
    def trouble(self) -> str:
        """Problem with the log; empty if its last use succeeded within a second."""
        return self._log.trouble

    def sync(self) -> int:
        """Read new lines by others; return the number of the last line."""
        self._log.sync()
        self._count.count(self._settings.patience_s, Reach.AT_HAND if self._settings.learn_later else Reach.ALL)
        self._count.prepare()
        return self.number

    def refresh(self) -> int:
        """Read new lines by others if that is possible at once; return the number of the last known line.

        While somebody is writing, or the log does not answer, only the known lines are used.
        """
        self._log.refresh()
        self._catch_up()
        return self.number

    def ask(self, count: int = 1, assessor: str = "", by_query: bool = False) -> list[Pair]:
        """The most informative pairs to judge, best first; fewer if fewer are left.

        assessor  person who will judge them: first pairs leased to them already, then pairs waiting for a second
                  judgment, then the best free ones, preferably of queries that no other assessor has begun: see
                  `WholeQueries`. The pairs are leased to them; asking again extends the lease. Without a name nothing
                  is leased, and leased pairs are not offered.
        by_query  pairs from as few queries as possible, as for `Selection.ask`
        """
        self._catch_up()
        self._count.chooser.weights_by(assessor or None)  # slow but cached, so computed before taking the turn
        if not assessor:
            self.sync()
            with self._log.state:
                return [offer.pair for offer in self._choose(count, assessor, by_query)]
        # Chosen again if others wrote meanwhile: another server may have leased these pairs.
        leased = self._write(lambda: self._leases(count, assessor, by_query))
        return [record.event.pair for record in leased]

    def _leases(self, count: int, assessor: str, by_query: bool) -> list[Event]:
        chosen, now = self._choose(count, assessor, by_query), self._clock()
        return self._admitted(
            [lease_of(self._ledger, pair, assessor, now, self._settings.lease_s, why) for pair, why in chosen]
        )

    def _choose(self, count: int, assessor: str, by_query: bool) -> list[Offer]:
        check_open(self._ledger)
        return self._queue.choose(self._ledger, self._count.chooser, self._clock(), count, assessor, by_query)

    def lesson(self) -> Lesson | None:
        """Next lesson for the model to learn, or None."""
        with self._log.state:
            return self._count.lesson()

    def teach(self, state: int, estimator: RelevanceEstimator) -> None:
        """Use the outcome of `Lesson.learned` for a state; the log records the line from which it counts."""
        # The result first, then its line in the log: a kill in between loses seconds of learning. In the other order
        # every server would have to learn the lesson named in the line before it could continue counting.
        self._count.teach(state, estimator)
        self.lessons.keep(self._count.lesson_of(state), estimator)
        now = write_time(self._clock())
        # Another server may have recorded the same learning first; the log needs it once.
        self._log.write(lambda: [Event("learn", now, refers=state)] if self._count.unsaid == state else [])
        self._count.count(self._settings.patience_s, Reach.AT_HAND)

    def tell(self, said: Judgment | Event) -> Record:
        """Add a judgment, or another event except a lease: check it, write it to the log, then count it.

        An event sent again with its key is not written again: the first record is returned, marked as replayed.
        """
        return self.tell_all([said], vouched=False)[0]

    def tell_all(self, said: Iterable[Judgment | Event], vouched: bool = True) -> list[Record]:
        """Add several events at once, all or none.

        vouched  True for judgments from a trusted source: they count even if their pairs were never handed to the
                 assessors, or are now leased to others
        """
        now, scale = write_time(self._clock()), self._collection.scale
        events = [one if isinstance(one, Event) else judgment_event(one, scale, now) for one in said]
        if any(event.kind in HANDED for event in events):
            raise InputError("a lease cannot be recorded: ask for pairs instead")
        return self._write(lambda: self._admitted(events, vouched))

    def undo(self, assessor: str = "", number: int | None = None, key: str = "") -> Record:
        """Withdraw an answer of this assessor; the one it replaced is valid again, or the pair is leased to them again.

        number  number of the event; None: their last valid answer
        """

        def undone() -> list[Event]:
            undo = undoing(self._ledger, self._pool, assessor, number, key, now := self._clock())
            return self._admitted([undo, *reopened(self._ledger, undo, now, self._settings.lease_s)])

        return self._write(undone)[0]

    def pause(self, by: str = "", reason: str = "") -> Record:
        """Pause the campaign: no pairs are handed out and no answers accepted until `resume`."""
        return self.tell(turn_event("pause", self._clock(), by, reason))

    def resume(self, by: str = "", reason: str = "") -> Record:
        """Reopen a paused or closed campaign."""
        return self.tell(turn_event("resume", self._clock(), by, reason))

    def close(self, by: str = "", reason: str = "") -> Record:
        """Close the campaign: no more pairs are handed out and no more answers accepted."""
        return self.tell(turn_event("close", self._clock(), by, reason))

    def set_aside(self, judge: str, by: str = "", reason: str = "", key: str = "") -> Record:
        """Ignore a person's answers until `take_back`; they are kept, and the person is offered no pairs."""
        return self.tell(turn_event("set_aside", self._clock(), by, reason, key, judge=judge))

    def take_back(self, judge: str, by: str = "", reason: str = "", key: str = "") -> Record:
        """Count the answers of a person who was set aside again."""
        return self.tell(turn_event("take_back", self._clock(), by, reason, key, judge=judge))

    def aside(self) -> dict[str, Record]:
        """The people set aside, with the log line that did so."""
        with self._log.state:
            return {name: self._ledger.record(number) for name, number in self._ledger.aside.items()}

    def judgments(self) -> tuple[Judgment, ...]:
        """The valid judgments, in the order in which they were made; the collection's own come first."""
        return self.snapshot()[1]

    def snapshot(self, back: Container[str] | None = ()) -> tuple[int, tuple[Judgment, ...]]:
        """The number of a line of the log, and the valid judgments after it.

        back  people set aside whose judgments are included; None: all of them
        """
        with self._log.state:
            return self._ledger.number, self._ledger.judgments(back)

    def log(self, after: int = 0) -> list[Record]:
        """The lines of the log after a number."""
        with self._log.state:
            return [record for record in self._ledger.records() if record.number > after]

    def record(self, number: int) -> Record:
        """The line of the log with this number."""
        with self._log.state:
            return self._ledger.record(number)

    def changes(self, after: int = 0) -> tuple[int, list[Change]]:
        """Number of the last line of the log, and the changes of the pool's grades after the first `after`."""
        return self._count.changes(after)

    def assessors_of(self, pair: Pair) -> frozenset[str]:
        """The assessors with a valid judgment of a pair."""
        with self._log.state:
            return frozenset(self._ledger.assessors(pair))

    def known_as(self, said: str) -> str:
        """The stored name for a typed name, in any case and Unicode form; all other methods take names literally."""
        with self._log.state:
            name = self._ledger.name(said)
        if said and not name:
            raise InputError(f"{said!r:.80} is not a name: it has no visible character")
        return name

    def answers(self, assessor: str, count: int | None = None, before: int | None = None) -> list[Record]:
        """Answers about pairs by this assessor that were not withdrawn, including revised ones, oldest first.

        count, before  only the last `count`, with numbers below `before`; None: all
        """
        with self._log.state:
            numbers = [one for one in self._ledger.counting(assessor) if before is None or one < before]
            records = [self._ledger.record(number) for number in numbers]
        return [record for record in records if record.event.kind != "comparison"][-count if count else 0 :]

    def holds(self, event: Event, now: str) -> bool:
        """True if an answer says nothing that the log or the collection does not say; see `Ledger.holds`."""
        with self._log.state:
            return self._ledger.holds(event, now)

    def answered(self, pair: Pair, assessor: str) -> bool:
        """True if this assessor has a valid answer about a pair."""
        with self._log.state:
            return self._ledger.answered(pair, assessor)

    def leases(self, assessor: str | None = None) -> list[Lease]:
        """The pairs leased now, in the order in which they were handed out."""
        with self._log.state:
            leases = self._ledger.leases(self._clock())
        return [lease for lease in leases if assessor in (None, lease.assessor)]

    def left(self, assessor: str) -> int:
        """Number of pairs without a judgment that an assessor may be handed now, including those on lease to them."""
        with self._log.state:
            return int(self._queue.free(self._ledger, self.selection, self._clock(), assessor).sum())

    def cannot(self) -> dict[Pair, dict[str, str]]:
        """The reason why an assessor cannot judge a pair, by pair and assessor."""
        with self._log.state:
            return {
                pair: {name: str(self._ledger.record(number).event.details["reason"]) for name, number in by.items()}
                for pair, by in self._ledger.cannot.items()
            }

    def dropped(self) -> list[Pair]:
        """The pairs that left the queue because too many assessors cannot judge them."""
        with self._log.state:
            return self._queue.dropped(self._ledger)

    def agreement(self) -> Agreement:
        """Agreement of the assessors on the pairs that two or more of them judged."""
        with self._log.state:
            grades = self._ledger.grades()
        return agreement(grades, self._collection.scale)

    def doubts(self) -> dict[str, str]:
        """Reasons to doubt that an assessor listens, by name."""
        with self._log.state:
            return self._ledger.listening.doubts()

    def assessors(self) -> list[str]:
        """Assessors with at least one answer, in the order of their first answers."""
        with self._log.state:
            return list(self._ledger.times)

    def pace(self, assessor: str | None = None) -> Pace:
        """Pace of an assessor's answers; None: of all assessors together."""
        with self._log.state:
            times = {name: list(own) for name, own in self._ledger.times.items() if assessor in (None, name)}
        return pace(times.values())

    @property
    def progress(self) -> Progress:
        """Progress of the campaign."""
        with self._log.state:
            now = self.current_state
            return Progress(
                number=now.number, state=self.state, judged=now.selection.judged, pool=len(self._pool.pairs),
                judgments=now.judgments, leased=len(self.leases()), twice=self._queue.waiting,
                dropped=len(self.dropped()),
            )  # fmt: skip

    def _admitted(self, events: Iterable[Event], vouched: bool = False) -> list[Event]:
        """Events that may follow in the log, or were sent before; an error if one may not. `vouched`: as above."""
        now = self._clock()
        return [event if self._log.earlier(event) else self._checked(event, now, vouched) for event in events]

    def _checked(self, event: Event, now: datetime, vouched: bool) -> Event:
        check_next(event, self._ledger, self._pool, now, vouched)
        return event if vouched else marked(event, self._ledger, self._settings.unasked)

    def _write(self, events: Callable[[], list[Event]]) -> list[Record]:
        """Write events to the log and count them; if the model learns later, the next request counts them."""
        records = self._log.write(events)
        if not self._settings.learn_later:
            self._catch_up()
            self._learn_now()
        return records

    def _catch_up(self) -> None:
        """Count the known lines of the log; if the model learns later, only those that are quick to count."""
        if self._settings.learn_later:
            self._count.count_soon()
        else:
            self._count.count(self._settings.patience_s, Reach.ALL)

    def _learn_now(self, forgiving: AbstractContextManager[None] | None = None) -> None:
        """Learn every pending lesson, and record it in the log.

        forgiving  context that suppresses errors of writing to the log
        """
        while (lesson := self.lesson()) is not None:
            with forgiving or nullcontext():
                self.teach(lesson.number, self.lessons.learned(lesson))

    def _note(self, number: int, event: Event) -> None:
        """Add the next line of the log."""
        # The ledger keeps changes outside the pool too: a later run may retrieve these pairs.
        changes = [change for change in self._ledger.apply(number, event) if change.pair in self._pool.positions]
        if event.kind == "learn":
            self._count.note_learning(number, event.refers)
            return
        self._count.note(number, changes)
        for change in changes:
            self._queue.note(change.pair, self._ledger.assessors(change.pair))
