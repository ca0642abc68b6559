"""Adjudications: disputed pairs that an organiser hands to one person for one more opinion.

A request is a lease of a millisecond in the log, with the reason ADJUDICATION: programs without adjudications read
it as a lease that has ended.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, NamedTuple

from audiosim.campaign.admission import check_open, lease_of
from audiosim.campaign.event import ADJUDICATION, Clock, Event, Record
from audiosim.campaign.ledger import Ledger
from audiosim.campaign.log import Log
from audiosim.campaign.queue import Queue
from audiosim.corpus.model import Pair
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError

ASKED_S = 0.001  # the shortest lease that a log can hold


class Adjudication(NamedTuple):
    """Pair that an organiser gave to a person to judge.

    number  number of the log line with the first request
    status  waiting; judged: their judgment counts; cannot: they cannot judge it; set aside: none of their answers count
    grade   grade of their judgment; None without one
    """

    number: int
    time: str
    pair: Pair
    assessor: str
    status: Literal["waiting", "judged", "cannot", "set aside"]
    grade: float | None


class Adjudications:
    """The adjudications of a campaign.

    write  writes events to the campaign's log and counts them
    """

    def __init__(
        self,
        write: Callable[[Callable[[], list[Event]]], list[Record]],
        log: Log,
        ledger: Ledger,
        pool: Pool,
        queue: Queue,
        clock: Clock,
    ) -> None:
        self._write, self._log, self._ledger = write, log, ledger
        self._pool, self._queue, self._clock = pool, queue, clock

    def ask(self, pair: Pair, assessor: str) -> Record:
        """Put a pair first in a person's queue; if it is waiting there already, return the line of that request."""
        records = self._write(lambda: self._asked(pair, assessor))
        return records[0] if records else self._first(pair, assessor)._replace(replayed=True)

    def all(self) -> list[Adjudication]:
        """All adjudications, in the order of the requests."""
        with self._log.state:
            asked = self._ledger.adjudications
            return [self._adjudication(pair, name, number) for name in asked for pair, number in asked[name].items()]

    def _asked(self, pair: Pair, assessor: str) -> list[Event]:
        ledger, now = self._ledger, self._clock()
        self._pool.locate([pair])
        what = f"document {pair.document} for query {pair.query}"
        if assessor in ledger.aside:
            raise InputError(f"{assessor} is set aside: expected a person whose judgments count")
        if assessor in ledger.assessors(pair):
            raise InputError(f"{assessor} has judged {what} already: expected a person who has not")
        if assessor in ledger.cannot.get(pair, {}):
            raise InputError(f"{assessor} cannot judge {what}: expected somebody else")
        if not self._queue.answerable(ledger, assessor)[self._pool.positions[pair]]:
            raise InputError(f"{what} is no longer handed out: too many people cannot judge it, or it cannot be played")
        check_open(ledger)
        if pair in ledger.adjudications.get(assessor, {}):
            return []
        return [lease_of(ledger, pair, assessor, now, self._lasting(pair, assessor, now), ADJUDICATION)]

    def _lasting(self, pair: Pair, assessor: str, now: datetime) -> float:
        """Duration of the requesting lease, in seconds: the time left if the person already has the pair."""
        lease = self._ledger.lease(pair, now)
        left = 0.0 if lease is None or lease.assessor != assessor else (lease.until - now).total_seconds()
        return max(left, ASKED_S)

    def _first(self, pair: Pair, assessor: str) -> Record:
        with self._log.state:
            return self._ledger.record(self._ledger.adjudications[assessor][pair])

    def _adjudication(self, pair: Pair, assessor: str, number: int) -> Adjudication:
        grade = self._ledger.said(pair).get(assessor)
        time = self._ledger.record(number).event.time
        if assessor in self._ledger.aside:
            return Adjudication(number, time, pair, assessor, "set aside", None)
        if assessor in self._ledger.cannot.get(pair, {}):
            return Adjudication(number, time, pair, assessor, "cannot", None)
        return Adjudication(number, time, pair, assessor, "waiting" if grade is None else "judged", grade)
