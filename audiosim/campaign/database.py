"""The log of a campaign in a database: SQLite, or PostgreSQL by its URL."""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import finalize

import sqlalchemy as sql
from sqlalchemy import exc

import audiosim
from audiosim.campaign.engine import (
    DatabaseClock,
    DatabaseFile,
    check_writable,
    failure,
    lost_connection,
    open_engine,
    open_existing,
    reporting,
    shown,
    version_of,
    without_transactions,
)
from audiosim.campaign.event import Event, utc_now, write_time
from audiosim.campaign.schema import layout_in, prepare_tables
from audiosim.campaign.store import FIRST, MOST_NOTES, check_keys, link, used
from audiosim.campaign.tables import BESIDE, CAMPAIGNS, CARDS, EVENTS, FIELDS, LAYOUT, LESSONS, event_of, row_of
from audiosim.errors import InputError, RewoundError, StoreError

# SQL statements that read and write a log.


_of_collection = EVENTS.c.collection == sql.bindparam("of")
READ = (
    sql.select(EVENTS.c.number, EVENTS.c.digest, *FIELDS)
    .where(_of_collection, EVENTS.c.number >= sql.bindparam("since"))
    .order_by(EVENTS.c.number)
)
KNOWN = sql.select(EVENTS.c.number).where(
    _of_collection, EVENTS.c.assessor == sql.bindparam("by"), EVENTS.c.key == sql.bindparam("with")
)
DIGEST = sql.select(EVENTS.c.digest).where(_of_collection, EVENTS.c.number == sql.bindparam("at"))
WRITE_ON = (
    sql.update(CAMPAIGNS)
    .where(
        CAMPAIGNS.c.collection == sql.bindparam("of"),
        CAMPAIGNS.c.last == sql.bindparam("after"),
        CAMPAIGNS.c.digest == sql.bindparam("known"),
    )
    .values(last=sql.bindparam("until"), digest=sql.bindparam("head"))
)

UNCHANGED = "lines"  # notes of a connection: what it read last, if that was at most one line
LAST = sql.select(CAMPAIGNS.c.last).where(CAMPAIGNS.c.collection == sql.bindparam("of"))


TIMEOUT_S = 10.0
SHARED = "secret of this database"  # key of a note
NEVER_DROPPED = "9999-12-31T23:59:59Z"  # time of notes to keep for good: the latest are kept, in older versions too
REPAIR = "restore a backup that audiosim verify accepts"

Written = TypeVar("Written")


class Head(NamedTuple):
    """The last known line of a log, its number and its digest; 0 and FIRST before the first line."""

    number: int
    digest: str


class DatabaseStore:
    """The log of one collection in a database, such as sqlite:///campaign.db or postgresql://user@host/name.

    SQLite is set to write ahead and to sync to disk; PostgreSQL does so by default. A failure is a StoreError and
    leaves nothing half written; the store works again once the cause is gone. If the log no longer holds the last line
    that this store has seen, at its number, that is a RewoundError.
    """

    def __init__(self, url: str, collection: str, timeout_s: float = TIMEOUT_S, *, reading: bool = False) -> None:
        """Open the log, creating or migrating its tables if need be.

        timeout_s  time limit for other writers, and for an answer
        reading    True to open it read-only: the database must exist, and nothing is created or migrated
        """
        self._collection = collection
        self._engine = (open_existing if reading else open_engine)(url, timeout_s, reading)
        finalize(self, self._engine.dispose)
        self._reading = without_transactions(self._engine)
        self._head, self._lock = Head(0, FIRST), Lock()
        self._lately, self._folded = -float("inf"), time.monotonic()
        self.clock = DatabaseClock()
        with reporting(self._engine):
            self._layout = layout_in(self._engine) if reading else prepare_tables(self._engine).layout
            self._file = DatabaseFile(self._engine)
            with self._engine.connect() as connection:
                self.clock.ask(connection)

    @property
    def head(self) -> Head:
        """The last line that this store read or wrote."""
        return self._head

    def append_all(self, events: Sequence[Event], last: int) -> list[int] | None:
        check_keys(events)
        if last > self._head.number:  # known from elsewhere
            self.read(last)
        known = self._head

        def append(connection: sql.Connection) -> Head | None:
            tries = 2 if last == known.number else 0  # the second one once the campaign has a row
            for _ in range(tries):
                if (head := self._write_on(connection, known, events)) is not None:
                    return head
                self._begin(connection)
            self._check_grown(connection, known, last)
            connection.rollback()
            return None

        try:
            head = self._written(append)
        except exc.IntegrityError as error:
            raise self._taken(events) or failure(self._engine, error) from error
        if head is None:
            return None
        self._know(head)
        return list(range(last + 1, last + 1 + len(events)))

    def read(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        """The events after a number, with their numbers; each is checked against the chain."""
        if not self._layout:
            return iter(())
        known = self._head
        since = min(after, known.number)
        try:
            least, rows = self._lines_since(since)
        except StoreError as error:
            if not lost_connection(error):
                raise
            least, rows = self._lines_since(since)
        events = list(self._checked(rows, since, known))
        if since == 0 and len(events) < least:
            raise StoreError(
                f"{self._shown()} ends at line {len(events)}, but its campaign's row names line {least}: {REPAIR}"
            )
        return iter([(number, event) for number, event in events if number > after])

    def _lines_since(self, since: int) -> tuple[int, Sequence[Any]]:
        """The least number that the last line may have, and the rows of the lines from a number on."""
        with reporting(self._engine):
            self._file.check()
            with self._reading.connect() as connection:
                state = since, version_of(connection)
                then, least, rows = connection.info.get(UNCHANGED, (None, 0, ()))
                if state[1] is None or then != state:
                    least = self._last(connection) if since == 0 else since  # read first: lines may be added
                    self.clock.ask(connection)
                    rows = connection.execute(READ, {"of": self._collection, "since": since}).all()
                    if len(rows) < 2:  # nothing new, as nearly always
                        connection.info[UNCHANGED] = state, least, rows
                return least, rows

    def fold(self, idle_s: float = 0.0, at_least_s: float = float("inf")) -> None:
        """Checkpoint SQLite's write-ahead log into the file itself, so that the file can be copied.

        idle_s      completely, after so long without a write
        at_least_s  partially, without blocking anybody, at this interval under constant load
        """
        now = time.monotonic()
        idle = now - self._lately >= idle_s
        if idle or now - self._folded >= at_least_s:
            self._folded = now
            with reporting(self._engine):
                self._file.fold(self._engine, idle)

    def check_writable(self) -> None:
        """Raise an error if the log is not writable, before a judgment would fail."""
        with reporting(self._engine):
            self._file.check()
            check_writable(self._engine, self._file.path)

    def check_file(self) -> None:
        """Raise an error if its file was moved, removed or replaced."""
        self._file.check()

    def lines(self) -> dict[str, int]:
        """The number of the last line of each log in this database, by collection."""
        if not self._layout:
            return {}
        with reporting(self._engine), self._engine.connect() as connection:
            rows = connection.execute(sql.select(CAMPAIGNS.c.collection, CAMPAIGNS.c.last))
            return {str(name): int(last) for name, last in rows}

    def cards(self) -> dict[str, str]:
        """The cards stored in this database, by collection."""
        with reporting(self._engine):
            self._file.check()
            if not sql.inspect(self._engine).has_table(CARDS.name):
                return {}
            with self._engine.connect() as connection:
                return {str(name): str(card) for name, card in connection.execute(sql.select(*CARDS.c))}

    def keep_card(self, card: str) -> None:
        """Store the card of this collection in place of an earlier one."""
        row = {"collection": self._collection, "card": card}
        with suppress(exc.IntegrityError), reporting(self._engine):  # if another server is faster, its card will do
            self._file.check()
            BESIDE.create_all(self._engine, [CARDS])
            with self._engine.begin() as connection:
                connection.execute(sql.delete(CARDS).where(CARDS.c.collection == self._collection))
                connection.execute(sql.insert(CARDS).values(row))

    def rescue(self) -> Path | None:
        """Save the data of a deleted file, while this process still has it open; return the new path."""
        with reporting(self._engine):
            return self._file.rescue(self._engine)

    def described(self) -> tuple[str, str]:
        """Description of the collection and rules in the campaign's row, as stored; empty if missing."""
        if not self._layout:
            return "", ""
        found = sql.select(CAMPAIGNS.c.about, CAMPAIGNS.c.rules).where(CAMPAIGNS.c.collection == self._collection)
        with reporting(self._engine), self._engine.connect() as connection:
            row = connection.execute(found).one_or_none()
        return ("", "") if row is None else (row.about, row.rules)

    def describe(self, about: str, rules: str) -> None:
        own = sql.update(CAMPAIGNS).where(CAMPAIGNS.c.collection == self._collection)

        def describe(connection: sql.Connection) -> None:
            self._begin(connection)
            connection.execute(own.values(about=about, rules=rules))

        self._written(describe)

    def note(self, key: str) -> str | None:
        """The note with a key, or None."""
        chosen = sql.select(LESSONS.c.learned).where(LESSONS.c.key == key)
        with reporting(self._engine), self._engine.connect() as connection:
            return connection.execute(chosen).scalar()

    def write_note(self, key: str, text: str) -> None:
        """Store a note; the oldest are dropped beyond MOST_NOTES."""
        others = sql.select(LESSONS.c.key).where(LESSONS.c.key != key)
        latest = others.order_by(LESSONS.c.time.desc()).limit(MOST_NOTES - 1)
        with reporting(self._engine), self._engine.begin() as connection:
            connection.execute(sql.delete(LESSONS).where((LESSONS.c.key == key) | LESSONS.c.key.not_in(latest)))
            connection.execute(sql.insert(LESSONS).values(key=key, time=write_time(utc_now()), learned=text))

    def secret(self) -> str:
        """Hexadecimal random number that all servers of this database share; created on the first request."""
        found = self.note(SHARED)
        if found is None:
            row = {"key": SHARED, "time": NEVER_DROPPED, "learned": secrets.token_hex(32)}
            with suppress(exc.IntegrityError), reporting(self._engine), self._engine.begin() as connection:
                connection.execute(sql.insert(LESSONS).values(row))  # another server may be faster
            found = self.note(SHARED)
        assert found is not None
        return found

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        self._engine.dispose()
        self._engine.clear_compiled_cache()

    def _written(self, write: Callable[[sql.Connection], Written]) -> Written:
        """Result of a transaction; nothing is acknowledged if its file was deleted or replaced.

        It is repeated once if the connection is lost before the end, for instance because the server restarted.
        """
        for again in (True, False):
            ending = False
            try:
                with reporting(self._engine):
                    self._file.check()
                    with self._engine.begin() as connection:
                        found = write(connection)
                        ending = True
                    self._file.check()
                    self._lately = time.monotonic()
                    return found
            except StoreError as error:
                if ending or not again or not lost_connection(error):
                    raise
        raise AssertionError

    def _checked(self, rows: Sequence[Any], since: int, known: Head) -> Iterator[tuple[int, Event]]:
        """The events of rows; the first row is line `since`, if that is a line."""
        before = Head(0, FIRST)
        for number, digest, *fields in rows:
            event = self._event(number, fields)
            if number == since and since:
                before = Head(number, digest)
            elif number != before.number + 1 or digest != link(before.digest, number, event):
                if since and before.number == 0:
                    break
                raise StoreError(
                    f"{self._shown()}: line {number} was altered, or does not follow line {before.number}: {REPAIR}"
                )
            before = Head(number, digest)
            if number == known.number and digest != known.digest:
                raise self._rewound(f"line {number} is another")
            yield number, event
        if before.number < known.number:
            raise self._rewound(f"line {known.number} is gone")
        self._know(before)

    def _event(self, number: int, fields: Sequence[Any]) -> Event:
        """The event of a line; unknown fields of later versions are ignored."""
        try:
            return event_of(fields)
        except (InputError, ValueError, TypeError) as error:
            raise StoreError(
                f"{self._shown()}: line {number} cannot be read by audiosim {audiosim.__version__}: {error}; "
                f"use the version that wrote it, or {REPAIR}"
            ) from error

    def _know(self, head: Head) -> None:
        with self._lock:
            self._head = max(self._head, head)

    def _check_grown(self, connection: sql.Connection, known: Head, past: int) -> None:
        """Raise an error unless the log extends the known one, and goes on past a line."""
        (number, digest), last = known, self._last(connection)
        if 0 < number <= last and connection.execute(DIGEST, {"of": self._collection, "at": number}).scalar() != digest:
            raise self._rewound(f"line {number} is another")
        if last <= max(past, number - 1):
            raise self._rewound(f"it ends at line {last}")

    def _rewound(self, reason: str) -> RewoundError:
        return RewoundError(f"{self._shown()} went back: {reason}; restart")

    def _shown(self) -> str:
        return f"database {shown(self._engine.url)}: the log of {self._collection}"

    def _last(self, connection: sql.Connection) -> int:
        return int(connection.execute(LAST, {"of": self._collection}).scalar() or 0)

    def _begin(self, connection: sql.Connection) -> None:
        """Create the collection's row if need be."""
        if connection.execute(LAST, {"of": self._collection}).scalar() is not None:
            return
        with suppress(exc.IntegrityError), connection.begin_nested():  # another process may be faster
            connection.execute(sql.insert(CAMPAIGNS).values(collection=self._collection, last=0, digest=FIRST))

    def _write_on(self, connection: sql.Connection, known: Head, events: Sequence[Event]) -> Head | None:
        """Write events after the last known line; return the last of them, or None if that is not the last line."""
        head, rows = self._rows(known, events)
        said = {"of": self._collection, "after": known.number, "known": known.digest}
        if not connection.execute(WRITE_ON, {**said, "until": head.number, "head": head.digest}).rowcount:
            return None
        if rows:
            connection.execute(sql.insert(EVENTS), rows)
        return head

    def _rows(self, after: Head, events: Sequence[Event]) -> tuple[Head, list[dict[str, Any]]]:
        """The last of some events after a line, and their rows."""
        rows = []
        for event in events:
            number = after.number + 1
            after = Head(number, link(after.digest, number, event))
            rows.append({"collection": self._collection, **row_of(event), **after._asdict(), "layout": LAYOUT})
        return after, rows

    def _taken(self, events: Sequence[Event]) -> InputError | None:
        """Error for the first event whose key is taken, or None."""
        with self._engine.connect() as connection:
            for event in events:
                chosen = {"of": self._collection, "by": event.assessor, "with": event.key}
                if event.key and connection.execute(KNOWN, chosen).first():
                    return InputError(f"{used(event)} already")
        return None
