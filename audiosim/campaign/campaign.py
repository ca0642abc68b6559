"""A campaign: an append-only log of what assessors say, and the selection that it adds up to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import RLock
from typing import Any, NamedTuple

from audiosim.campaign.admission import check, check_open
from audiosim.campaign.event import Clock, Event, Record, judgment_event, utc_now, write_time
from audiosim.campaign.ledger import Change, Lease, Ledger, learned_from, tell_all
from audiosim.campaign.pace import Pace, pace
from audiosim.campaign.queue import Queue
from audiosim.campaign.second import SecondOpinions
from audiosim.campaign.store import MemoryStore, Store, check_repeated, used
from audiosim.corpus.collection import Collection
from audiosim.corpus.model import Judgment, Pair
from audiosim.corpus.pool import build_pool
from audiosim.errors import InputError
from audiosim.expected.ranking import Ranking
from audiosim.measures.measure import Measure, as_measure
from audiosim.relevance.estimators import RelevanceEstimator, built_in
from audiosim.selection import Rule, Selection
from audiosim.users.listeners import Agreement, agreement

LEASE_S = 1800.0
CANNOT_LIMIT = 2
AT_ONCE = 100  # so many changes behind, starting the selection anew is faster than telling it


class Standing(NamedTuple):
    """Where a campaign stands: the selection after so many lines of its log."""

    number: int
    selection: Selection


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign is.

    number     of the last line of the log
    state      open, paused or closed
    judged     pairs of the pool with a judgment
    pool       pairs of the pool
    judgments  that hold, a pair judged by two assessors counted twice
    leased     pairs that are with an assessor now
    twice      pairs that wait for a second assessor
    dropped    pairs that left the queue, as too many assessors cannot judge them
    """

    number: int
    state: str
    judged: int
    pool: int
    judgments: int
    leased: int
    twice: int
    dropped: int


class Campaign:
    """The judgments of a collection so far, and what they add up to.

    Its log is its state: opened again on the same log, it is where it was. Judgments that the collection came with
    count as made before the log began. Other campaigns, in other processes too, may be open on the same log: each
    takes in what the others wrote before it asks or tells. Threads may share a campaign.
    """

    def __init__(
        self,
        collection: Collection,
        model: str | RelevanceEstimator | None = None,
        measure: str | Measure = "CG@5",
        store: Store | None = None,
        batch: int = 1,
        *,
        clock: Clock = utc_now,
        lease_s: float = LEASE_S,
        twice: float = 0.0,
        cannot_limit: int = CANNOT_LIMIT,
        rule: str | Rule | None = None,
        seed: int = 0,
    ) -> None:
        """Open the campaign on a log, in memory where none is given, and replay what it holds.

        model, measure  as for `audiosim.estimate`
        batch           after how many judgments the estimator is asked again
        clock           gives the time, with its zone
        lease_s         how long a pair that was asked for stays with its assessor, in seconds
        twice           share of the pairs that a second assessor judges too
        cannot_limit    a pair that so many assessors cannot judge leaves the queue
        rule            what makes a pair worth judging, as for `Selection.start`
        seed            draws the pairs to judge twice, and what the selection draws
        """
        if lease_s <= 0:
            raise InputError(f"a lease must last longer than 0 seconds, got {lease_s:g}")
        measure = as_measure(measure)
        self._collection = collection
        self._pool = build_pool(collection, measure.cutoff)
        self._store = MemoryStore() if store is None else store
        self._clock, self._lease_s = clock, lease_s
        self._ledger = Ledger(collection.scale, collection.judgments)
        self._queue = Queue(self._pool, SecondOpinions(twice, seed), cannot_limit)
        for pair, told in self._ledger.told.items():
            self._queue.note(pair, told)
        self._changes: list[Change] = []  # of pairs in the pool
        self._counted = 0  # how many of them the selection knows
        self._lock = RLock()
        estimator = built_in(self._pool, model)
        self._start = partial(Selection.start, self._pool, measure, estimator, batch=batch, rule=rule, seed=seed)
        self._standing = Standing(0, self._start(judgments=collection.judgments))
        self.sync()

    @property
    def standing(self) -> Standing:
        """Where the campaign stands: one state of the judgments, named by its number."""
        return self._standing

    @property
    def selection(self) -> Selection:
        """The selection now."""
        return self._standing.selection

    @property
    def confidence(self) -> float:
        """The confidence in the ranking now."""
        return self.selection.confidence

    @property
    def ranking(self) -> Ranking:
        """What the systems' scores are expected to be now."""
        return self.selection.ranking

    @property
    def state(self) -> str:
        """The campaign is open, paused or closed."""
        return self._ledger.state

    def sync(self) -> int:
        """Take in what others wrote to the log; the number of its last line."""
        with self._lock:
            self._take(self._store.read(self._ledger.number))
            return self._ledger.number

    def ask(self, count: int = 1, assessor: str = "", by_query: bool = False) -> list[Pair]:
        """The pairs most worth judging, best first; fewer where fewer are left.

        assessor  who will judge them: first those that are his already, then those that wait for his second judgment,
                  then the best of those that are nobody's. They are his until the lease ends, which asking again puts
                  off. Without a name nothing is leased, and nothing offered that is somebody's.
        by_query  pairs of as few queries as will do, as for `Selection.ask`
        """

        def choose() -> list[Pair]:
            check_open(self._ledger)
            return self._queue.choose(self._ledger, self.selection, self._clock(), count, assessor, by_query)

        if assessor:
            records = self._write(lambda: [self._lease(pair, assessor) for pair in choose()])
            return [record.event.pair for record in records]
        with self._lock:
            self.sync()
            return choose()

    def tell(self, said: Judgment | Event) -> Record:
        """Take in a judgment, or another event but a lease: checked first, then written to the log, then counted.

        What was sent before, by its key, is not written again: it is answered as it was, marked as replayed.
        """
        return self.tell_all([said])[0]

    def tell_all(self, said: Iterable[Judgment | Event]) -> list[Record]:
        """Take in several at once, all or none."""
        events = [self._event(one) for one in said]
        if any(event.kind == "lease" for event in events):
            raise InputError("a lease is not told: ask for pairs")
        return self._write(lambda: events)

    def undo(self, assessor: str = "", number: int | None = None, key: str = "") -> Record:
        """Take back an answer of this assessor; what it replaced holds again, and the pair is his for another try.

        number  of the event; the last that counts where None
        """
        return self._write(lambda: self._undo(assessor, number, key))[0]

    def pause(self, by: str = "", reason: str = "") -> Record:
        """Neither ask nor tell until `resume`."""
        return self.tell(self._turn("pause", by, reason))

    def resume(self, by: str = "", reason: str = "") -> Record:
        """Open a paused or closed campaign again."""
        return self.tell(self._turn("resume", by, reason))

    def close(self, by: str = "", reason: str = "") -> Record:
        """Neither ask nor tell any more."""
        return self.tell(self._turn("close", by, reason))

    def judgments(self) -> tuple[Judgment, ...]:
        """The judgments that hold, in the order in which they were made; the collection's own come first."""
        with self._lock:
            return self._ledger.judgments()

    def log(self, after: int = 0) -> list[Record]:
        """The lines of the log whose number is higher than `after`."""
        with self._lock:
            return [record for record in self._ledger.records() if record.number > after]

    def log_rows(self) -> list[dict[str, Any]]:
        """The log as plain values, one row per line: number, then the fields of the event."""
        return [{"number": record.number} | record.event.row() for record in self.log()]

    def answers(self, assessor: str) -> list[Record]:
        """What this assessor answered and has not taken back, revised answers too, oldest first."""
        with self._lock:
            return [self._ledger.record(number) for number in self._ledger.counting(assessor)]

    def leases(self, assessor: str | None = None) -> list[Lease]:
        """The pairs that are with an assessor now, in the order in which they were handed out."""
        with self._lock:
            leases = self._ledger.leases(self._clock())
        return [lease for lease in leases if assessor in (None, lease.assessor)]

    def cannot(self) -> dict[Pair, dict[str, str]]:
        """The reason why an assessor cannot judge a pair, by pair and assessor."""
        with self._lock:
            return {
                pair: {name: str(self._ledger.record(number).event.details["reason"]) for name, number in by.items()}
                for pair, by in self._ledger.cannot.items()
            }

    def dropped(self) -> list[Pair]:
        """The pairs that left the queue: as many assessors as the limit says cannot judge them."""
        with self._lock:
            return self._queue.dropped(self._ledger)

    def agreement(self) -> Agreement:
        """How far the assessors agree on the pairs that two or more of them judged."""
        with self._lock:
            grades = self._ledger.grades()
        return agreement(grades, self._collection.scale)

    def assessors(self) -> list[str]:
        """Who has answered anything, in the order of their first answers."""
        with self._lock:
            return list(self._ledger.times)

    def pace(self, assessor: str | None = None) -> Pace:
        """How fast an assessor answers, or all together where None."""
        with self._lock:
            times = {name: list(own) for name, own in self._ledger.times.items() if assessor in (None, name)}
        return pace(times.values())

    @property
    def progress(self) -> Progress:
        """How far the campaign is."""
        with self._lock:
            number, selection = self._standing
            return Progress(
                number=number,
                state=self.state,
                judged=selection.judged,
                pool=len(self._pool.pairs),
                judgments=sum(map(len, selection.told.values())),
                leased=len(self.leases()),
                twice=self._queue.waiting,
                dropped=len(self.dropped()),
            )

    def _write(self, make: Callable[[], Sequence[Event]]) -> list[Record]:
        """Write events to the log and count them; where others were faster, see what they wrote and make them anew.

        make  gives the events, as they are to be now
        """
        with self._lock:
            while True:
                self.sync()
                events = make()
                earlier = [self._earlier(event) for event in events]
                new = [event for event, known in zip(events, earlier, strict=True) if known is None]
                for event in new:
                    check(event, self._ledger, self._pool, self._clock())
                numbers = self._store.append_all(new, self._ledger.number) if new else []
                if numbers is not None:
                    break
            self._take(zip(numbers, new, strict=True))
            fresh = (Record(number, event) for number, event in zip(numbers, new, strict=True))
            return [next(fresh) if known is None else known for known in earlier]

    def _earlier(self, event: Event) -> Record | None:
        """The record of the same event sent before."""
        known = self._ledger.earlier(event.assessor, event.key)
        if known is not None:
            check_repeated(event, known.event)
        return known

    def _take(self, lines: Iterator[tuple[int, Event]]) -> None:
        """Take lines of the log in. What the estimator fails to count now is counted the next time."""
        for number, event in lines:
            change = self._ledger.apply(number, event)
            if change is not None and change.pair in self._pool.positions:
                self._changes.append(change)
                self._queue.note(change.pair, self._ledger.told.get(change.pair, {}))
        if self._ledger.number != self._standing.number or self._counted < len(self._changes):
            self._standing = Standing(self._ledger.number, self._count())

    def _count(self) -> Selection:
        """The selection after all changes."""
        selection, counted = self.selection, self._counted
        if len(self._changes) - counted > AT_ONCE:
            # After a whole batch only the grades count, not how they came.
            counted = len(self._changes) - len(self._changes) % selection.batch
            selection = self._start_after(self._changes[:counted])
        for change in self._changes[counted:]:
            selection = _tell(selection, change)
        self._counted = len(self._changes)
        return selection

    def _start_after(self, changes: Sequence[Change]) -> Selection:
        told = tell_all(self._collection.judgments, changes)
        settled = (Judgment(*pair, grade, name) for pair, said in told.items() for name, grade in said.items())
        learned = learned_from(self._pool, self._collection.judgments, changes)
        return self._start(judgments=settled, learned=learned)

    def _event(self, said: Judgment | Event) -> Event:
        now = write_time(self._clock())
        return judgment_event(said, self._collection.scale, now) if isinstance(said, Judgment) else said

    def _lease(self, pair: Pair, assessor: str) -> Event:
        now = self._clock()
        until = write_time(now + timedelta(seconds=self._lease_s))
        return Event("lease", write_time(now), assessor, *pair, until=until)

    def _turn(self, kind: str, by: str, reason: str) -> Event:
        return Event(kind, write_time(self._clock()), by, details={"reason": reason} if reason else {})

    def _undo(self, assessor: str, number: int | None, key: str) -> list[Event]:
        now = self._clock()
        earlier = self._ledger.earlier(assessor, key)
        if earlier is not None:
            if earlier.event.kind != "undo" or number not in (None, earlier.event.refers):
                raise InputError(f"{used(earlier.event)} for another event")
            return [earlier.event]
        number = self._ledger.latest(assessor) if number is None else number
        if number is None:
            raise InputError(f"{assessor or 'nobody'} has no answer to undo")
        undo = Event("undo", write_time(now), assessor, key=key, refers=number)
        check(undo, self._ledger, self._pool, now)
        pair = self._ledger.record(number).event.pair
        held = self._ledger.lease(pair, now)
        free = assessor and (held is None or held.assessor == assessor)
        return [undo, self._lease(pair, assessor)] if free else [undo]


def _tell(selection: Selection, change: Change) -> Selection:
    """The selection after a change of one grade."""
    if change.grade is None:
        return selection.withdraw(change.pair, change.assessor)
    return selection.tell(Judgment(*change.pair, change.grade, change.assessor))
