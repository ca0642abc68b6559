"""Queue of uploaded judgment files: stored with the logs until all their judgments are written.

An accepted file is safe: if the service stops before the end, the next start continues.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from threading import Condition, Event
from typing import Any

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.campaign.engine import DatabaseClock
from audiosim.campaign.event import (
    UNASKED,
    check_aspects,
    comparison_event,
    judgment_event,
    name_key,
    utc_now,
    write_time,
)
from audiosim.campaign.event import Event as JudgmentEvent
from audiosim.campaign.schema import TablesBeside
from audiosim.campaign.state import what_compares
from audiosim.campaign.tables import DELIVERIES, IMPORTS
from audiosim.collection.kinds import GRADES, judged, kind_of, numbered_comparisons, numbers_in, text_of
from audiosim.collection.pool import Pool
from audiosim.collection.task import MEASURED
from audiosim.collection.values import PairedComparison, Scale
from audiosim.errors import BusyError, ClosedError, InputError, RewoundError, StoreError, placed
from audiosim.service.collections.served import ServedCollection
from audiosim.service.process.time_limit import reading_s, sent_file, within
from audiosim.tables.table import Table
from audiosim.tables.text import parse_json
from audiosim.text import counted, one_line, shortened

# Deliveries: files sent with a key each, and the answers to them.
#
# A key belongs to its sender. The same content under a key gets the same answer again. Other content is an error:
# the old answer, "done", would hide that this file was never stored.


@dataclass(frozen=True, slots=True)
class Delivery:
    """One file that was sent.

    sender  name of the caller; empty if unnamed
    key     of the request; empty: none
    digest  SHA-256 of the whole delivery
    kept_bytes  number of its bytes that are stored
    """

    collection: str
    sender: str
    key: str
    digest: str
    kept_bytes: int = 0

    @classmethod
    def of(cls, collection: str, sender: str, key: str, body: bytes, *said: str | None) -> "Delivery":
        """The delivery of a body.

        said  further parts of the address that identify the file
        """
        digest = hashlib.sha256(json.dumps(said).encode())
        digest.update(body)
        return cls(collection, sender, key, digest.hexdigest(), len(body))


def earlier(connection: sql.Connection, sent: Delivery) -> str | None:
    """Answer to an earlier delivery with the same key, or None; an error if its content was different."""
    if not sent.key:
        return None
    own = (DELIVERIES.c.collection == sent.collection) & (DELIVERIES.c.sender == sent.sender)
    asked = sql.select(DELIVERIES.c.digest, DELIVERIES.c.answer).where(own, DELIVERIES.c.key == sent.key)
    if (row := connection.execute(asked).one_or_none()) is None:
        return None
    if row.digest not in ("", sent.digest):
        raise InputError(
            f"the Idempotency-Key {sent.key!r:.80} was used for other content; nothing of this file was stored: "
            "send it by a key of its own"
        )
    return str(row.answer)


def keep(connection: sql.Connection, sent: Delivery, answer: str) -> None:
    """Store a delivery and its answer; an IntegrityError if its key is taken."""
    row = {name: getattr(sent, name) for name in ("collection", "sender", "digest")} | {"key": sent.key or None}
    row |= {"bytes": sent.kept_bytes, "time": write_time(utc_now()), "answer": answer}
    connection.execute(sql.insert(DELIVERIES).values(row))


WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
ENDED = (DONE, FAILED)
SILENT_S = 10.0  # without a sign of life from a file's worker, until another may take over
MOST_WAITING = 20  # files of one collection
SHOWN = 20
READINGS = ("being read", "being read again: the service stopped meanwhile", "being read for the last time")

SAID = tuple(column for column in IMPORTS.c if column.name not in ("body", "worker", "seen"))


@dataclass(frozen=True, slots=True)
class Import:
    """A file of judgments sent to a campaign.

    number   of the file
    prefix   prefix of the keys of its judgments; a slash and the judgment's number in the file follow
    by       sender; empty if unnamed
    time     time of sending; ISO 8601, UTC
    status   waiting, running, done or failed
    lines    number of its judgments; None until it is read
    written  number of them already in the log
    problem  reason for its failure or delay, or empty
    """

    number: int
    collection: str
    prefix: str
    by: str
    time: str
    status: str
    lines: int | None
    written: int
    problem: str

    @property
    def ended(self) -> bool:
        """True if it is done, or has failed."""
        return self.status in ENDED


class ImportStore:
    """The files, in a database table beside those of the campaigns, or in memory.

    The table is created for the first file, because a database without it may be read-only.
    """

    def __init__(self, url: str | None) -> None:
        """Open the store.

        url  of the database; None for one of its own
        """
        self._tables, self._clock = TablesBeside(url, IMPORTS, DELIVERIES), DatabaseClock()
        self.close = self._tables.close
        self._worker = secrets.token_hex(8)
        self._reading: set[int] = set()  # files that this process has begun to read
        self.came = Event()  # set when a file arrives at this process
        self._ended = Condition()

    def add(self, sent: Delivery, body: bytes) -> Import:
        """Store a file safely before returning; returns the earlier one if its key was already used."""
        try:
            with self._tables.adding() as connection:
                if (known := earlier(connection, sent)) is not None:
                    return _found(connection, sent.collection, int(known))
                file = self._insert(connection, sent, body)
                keep(connection, sent, str(file.number))
        except exc.IntegrityError:  # the same file arrived twice at the same moment
            return self.add(sent, body)
        self.came.set()
        return file

    def _insert(self, connection: sql.Connection, sent: Delivery, body: bytes) -> Import:
        open_ = sql.select(sql.func.count()).where(IMPORTS.c.collection == sent.collection, _open)
        if connection.execute(open_).scalar_one() >= MOST_WAITING:
            raise BusyError(f"{MOST_WAITING} files for {sent.collection} are waiting already; send it again later")
        row = {"collection": sent.collection, "by": sent.sender, "time": write_time(utc_now()), "body": body}
        row |= {"prefix": f"import-{secrets.token_hex(8)}", "problem": "", "worker": ""}
        new = sql.insert(IMPORTS).values(status=WAITING, written=0, seen=0.0, **row)
        return Import(**connection.execute(new.returning(*SAID)).one()._mapping)

    def answered(self, sent: Delivery) -> str | None:
        """Answer to an earlier file of another kind with the same key, or None."""
        with self._tables.connected() as connection:
            return earlier(connection, sent)

    def note_answer(self, sent: Delivery, answer: str) -> None:
        """Store the answer to a file of another kind, and the number of bytes kept."""
        with suppress(exc.IntegrityError), self._tables.adding() as connection:  # or sent to another server as well
            keep(connection, sent, answer)

    def kept_bytes(self, sender: str) -> int:
        """Bytes stored from a sender."""
        total = sql.select(sql.func.sum(DELIVERIES.c.bytes)).where(DELIVERIES.c.sender == sender)
        return int(self._tables.read(total)[0][0] or 0)

    def get(self, collection: str, number: int) -> Import:
        """The file with a number."""
        with self._tables.connected() as connection:
            return _found(connection, collection, number)

    def wait(self, file: Import, seconds: float) -> Import:
        """The file once it has ended, or after so many seconds."""
        with self._ended:
            self._ended.wait_for(lambda: self.get(file.collection, file.number).ended, seconds)
        return self.get(file.collection, file.number)

    def recent(self, collection: str) -> list[Import]:
        """The last files, the latest first."""
        chosen = sql.select(*SAID).where(IMPORTS.c.collection == collection).order_by(IMPORTS.c.number.desc())
        return [Import(**row._mapping) for row in self._tables.read(chosen.limit(SHOWN))]

    def waiting(self) -> list[str]:
        """Collections with files waiting or being written."""
        return [str(name) for (name,) in self._tables.read(sql.select(IMPORTS.c.collection).where(_open).distinct())]

    def take(self, collection: str) -> tuple[Import, bytes] | None:
        """Take over the first file that nobody works on, with its content; None if there is none."""
        now = self._now()
        silent = (IMPORTS.c.seen < now - SILENT_S) | (IMPORTS.c.seen > now + SILENT_S)  # clocks may be set back
        free = (IMPORTS.c.worker == self._worker) | silent
        first = sql.select(sql.func.min(IMPORTS.c.number)).where(IMPORTS.c.collection == collection, _open)
        mine = sql.update(IMPORTS).where(IMPORTS.c.number == first.scalar_subquery(), free)
        with self._tables.changing() as connection:
            chosen = mine.values(worker=self._worker, seen=now, status=RUNNING).returning(*SAID, IMPORTS.c.body)
            row = connection.execute(chosen).one_or_none()
        if row is None:
            return None
        said = dict(row._mapping)
        body = said.pop("body")
        return Import(**said), body

    def note_reading(self, file: Import) -> None:
        """Note that a file is being read; an InputError if the service stopped each time it was.

        The file itself may be the reason: reading it again at each start would never end.
        """
        if file.lines is not None or file.number in self._reading:
            return
        times = 1 + READINGS.index(file.problem) if file.problem in READINGS else 0
        if times == len(READINGS):
            raise InputError(f"the service stopped {times} times while reading it: expected a simpler or smaller file")
        self.note(file.number, problem=READINGS[times])
        self._reading.add(file.number)

    def note(self, number: int, **now: Any) -> None:
        """Record the progress of a file, and a sign of life."""
        self._change(number, {**now, "seen": self._now()})

    def end(self, number: int, status: str, problem: str = "") -> None:
        """Record that a file is done, or why it failed, and delete its content."""
        self._change(number, {"status": status, "problem": problem, "body": b""})
        with self._ended:
            self._ended.notify_all()

    def _now(self) -> float:
        """Seconds since 1970 by the clock that all servers of the database share."""
        with self._tables.connected() as connection:
            return self._clock.seconds(connection)

    def _change(self, number: int, values: Mapping[str, Any]) -> None:
        self._tables.change(sql.update(IMPORTS).where(IMPORTS.c.number == number).values(**values))


def _found(connection: sql.Connection, collection: str, number: int) -> Import:
    which = sql.select(*SAID).where(IMPORTS.c.collection == collection, IMPORTS.c.number == number)
    if (row := connection.execute(which).one_or_none()) is None:
        raise InputError(f"there is no import {number} of {collection}")
    return Import(**row._mapping)


_open = IMPORTS.c.status.not_in(ENDED)


# Import of a file of judgments or comparisons: checked as a whole, then written to the log in parts.
#
# Assessors and readers meanwhile wait for at most one part.


PART = 100  # answers written at a time
REST_S = 0.005  # between two parts, for other writers
OUTSIDE = "cannot be imported for this reason: leave them out, or serve a folder that has the whole file from the start"
AGAIN_S = 0.5  # before the next attempt, after a failure to write the log or in a paused campaign


def import_next(
    one: ServedCollection,
    imports: ImportStore,
    pause: Callable[[float], bool],
    limit_s: Callable[[int], float] = reading_s,
) -> bool:
    """Import the next waiting file; True if there was one.

    pause    waits for a number of seconds; True if the service stops: the next start then continues the import
    limit_s  seconds for reading a file of so many bytes; a file that takes longer has failed
    """
    if (taken := imports.take(one.collection.identifier)) is None:
        return False
    file, body = taken
    try:
        imports.note_reading(file)
        events = within(limit_s(len(body)), lambda: events_of(file, body, one))
        _write(one, imports, file, events, pause)
    except InputError as error:
        imports.end(file.number, FAILED, str(error))
    except StoreError:
        raise  # continued once the database answers
    except Exception as error:
        # The sender gets the error; retrying for ever would block all files behind this one.
        imports.end(file.number, FAILED, f"a bug in the service: {one_line(error)}")
        raise
    return True


def _write(
    one: ServedCollection,
    imports: ImportStore,
    file: Import,
    events: Sequence[JudgmentEvent],
    pause: Callable[[float], bool],
) -> None:
    """Write the remaining events of a file, until the end or until the service stops."""
    written, wait_s = file.written, 0.0
    last = {_about(event): event for event in events}  # the one of several that decides
    while written < len(events) and not pause(wait_s):
        try:
            part = events[written : written + PART]
            one.campaign.tell_all([some for some in part if not one.campaign.holds(last[_about(some)], file.time)])
        except RewoundError:
            return  # the next start continues here
        except (ClosedError, StoreError) as error:
            imports.note(file.number, lines=len(events), problem=str(error))
            wait_s = AGAIN_S
        else:
            written = min(len(events), written + PART)
            imports.note(file.number, lines=len(events), written=written, problem="")
            wait_s = REST_S
    if written >= len(events):
        imports.end(file.number, DONE)


def events_of(file: Import, body: bytes, one: ServedCollection) -> list[JudgmentEvent]:
    """The judgments or comparisons of a file as log events; an error, with its line, if any of them is invalid."""
    compared, known_as = kind_of(body) == "comparisons", cache(one.campaign.known_as)
    if compared:
        one.campaign.comparisons.check_taken()
    events: list[JudgmentEvent] = []
    with sent_file(body, "judgments") as path:
        said = _comparisons_in(path, file.time) if compared else _judgments_in(path, file.time, one.collection.scale)
        for line, make in said:
            with placed(f"line {line}"):
                events.append(replace(make(), key=f"{file.prefix}/{len(events) + 1}"))
                known_as(events[-1].assessor)  # an error if the name has no visible character
                _check_aspects(events[-1], file, one)
    _check_pool([line for line, _ in said], events, one.campaign.selection.pool)
    return events


def _check_pool(lines: Sequence[int], events: Sequence[JudgmentEvent], pool: Pool) -> None:
    """Refuse answers about pairs outside the pool: how many they are, the first, and what takes them."""
    pairs = [event.comparison.pairs if event.kind == "comparison" else (event.pair,) for event in events]
    if outside := [place for place, some in enumerate(pairs) if not pool.positions.keys() >= set(some)]:
        with placed(f"line {lines[outside[0]]}", more=f"; {len(outside):,} of {counted(len(lines), 'line')} {OUTSIDE}"):
            pool.locate(pairs[outside[0]])


def _check_aspects(event: JudgmentEvent, file: Import, one: ServedCollection) -> None:
    """Refuse a judgment without a grade of each aspect, or with another grade than their mean, unless it is known."""
    aspects, grade = one.collection.aspects, event.grade_on(one.collection.scale)
    if aspects is not None and event.kind == "judgment" and not one.campaign.holds(event, file.time):
        check_aspects([event], aspects.names)
        if one.questions.graded({}, event.details) not in ({}, {"grade": grade}):
            raise InputError(f"grade {grade:g} is not the mean of {', '.join(aspects.names)}")


Lines = list[tuple[int, partial[JudgmentEvent]]]  # numbers of lines, each with what makes its event


def _judgments_in(path: Path, now: str, scale: Scale) -> Lines:
    """The judgments in a file, and its pairs that cannot be judged, in the order of their lines."""
    _, judgments, rows, cannot = judged(path, scale)
    grades = _filled({name: numbers_in(rows, name) for name in GRADES[1:] if name in rows.columns}, len(rows))
    said = zip(rows.row_numbers, judgments, grades, _details(rows, note="note"), strict=True)
    found: Lines = [(line, partial(judgment_event, one, scale, now, *more)) for line, one, *more in said]
    about = [cannot.texts(name) for name in ("time", "assessor", "query", "document")]
    refused = zip(cannot.row_numbers, *about, _details(cannot, note="note", reason="cannot"), strict=True)
    for line, time, who, query, document, details in refused:
        found.append((line, partial(JudgmentEvent, "cannot", time or now, who, query, document, details=details)))
    return sorted(found, key=itemgetter(0))


def _details(table: Table, **texts: str) -> list[dict[str, Any]]:
    """The details of the answer in each row of an export.

    texts  column of each detail that is a text
    """
    plain = str if table.head is None else text_of
    found: dict[str, list[Any]] = {name: numbers_in(table, name) for name in MEASURED if name in table.columns}
    found |= {name: list(map(plain, table.texts(column, trimmed=False))) for name, column in texts.items()}
    more = [_object(table, row, cell) for row, cell in enumerate(table.cells("details"))] or [{}] * len(table)
    return [one | filled for one, filled in zip(more, _filled(found, len(table)), strict=True)]


def _object(table: Table, row: int, cell: Any) -> dict[str, Any]:
    """The details in a cell, without the mark of answers that do not count, which are not imported."""
    found, line = cell or "{}", table.row_numbers[row]
    found = parse_json(Path(), line, found, "an object in details") if isinstance(found, str) else found
    if not isinstance(found, dict):
        raise table.error(row, f"expected an object in details, found {shortened(str(cell))}")
    return {name: value for name, value in found.items() if name != UNASKED}


def _filled(columns: Mapping[str, Sequence[Any]], count: int) -> list[dict[str, Any]]:
    """The cells of each of so many rows that are not empty."""
    rows = (zip(columns, cells, strict=True) for cells in zip(*columns.values(), strict=True))
    return [{name: cell for name, cell in row if cell not in (None, "")} for row in rows] or [{}] * count


def _comparisons_in(path: Path, now: str) -> Lines:
    """The comparisons in a file with their lines, repeated ones once; contradictory answers are an error."""
    found: dict[Any, tuple[int, PairedComparison]] = {}
    for line, answer in numbered_comparisons(path):
        person, query, documents = what_compares(answer)
        # Answers without a name may come from several people.
        what = (name_key(person), query, documents) if person else line
        first, said = found.setdefault(what, (line, answer))
        if _better(said) != _better(answer):
            about = f"{answer.document_a} and {answer.document_b} for query {query}"
            raise InputError(f"line {line}: another answer of {person} on {about} is on line {first}, expected one")
    if not found:
        raise InputError("the file has no comparisons: expected a line below the header")
    return [(line, partial(comparison_event, answer, now)) for line, answer in found.values()]


def _about(event: JudgmentEvent) -> object:
    """The person, and what their answer is about."""
    return what_compares(event.comparison) if event.kind == "comparison" else (event.assessor, event.pair)


def _better(one: PairedComparison) -> str:
    """The more relevant document, empty if both are equal."""
    return {"a": one.document_a, "b": one.document_b}.get(one.answer, "")
