"""Queue of uploaded judgment files: stored with the logs until all their judgments are written.

An accepted file is safe: if the service stops before the end, the next start continues.
"""

import secrets
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Event
from typing import Any
from weakref import finalize

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.campaign.clock import DatabaseClock
from audiosim.campaign.engine import open_engine, reporting
from audiosim.campaign.event import utc_now, write_time
from audiosim.campaign.schema import prepare_tables
from audiosim.campaign.tables import IMPORTS
from audiosim.errors import BusyError, InputError
from audiosim.service.files.deliveries import Delivery, bytes_of, earlier, keep

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"
ENDED = (DONE, FAILED)
SILENT_S = 10.0  # without a sign of life from a file's worker, until another may take over
MOST_WAITING = 20  # files of one collection
SHOWN = 20
TIMEOUT_S = 2.0

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
        self._own = None if url else Path(tempfile.gettempdir()) / f"audiosim-{secrets.token_hex(8)}"
        self._engine = open_engine(url or f"sqlite:///{self._own}/imports.db", TIMEOUT_S)
        finalize(self, self._engine.dispose)
        if self._own is not None:
            finalize(self, shutil.rmtree, self._own, ignore_errors=True)
        self._clock = DatabaseClock()
        self._worker = secrets.token_hex(8)
        self._there = False
        self.came = Event()  # set when a file arrives at this process
        self._ended = Condition()

    def add(self, sent: Delivery, body: bytes) -> Import:
        """Store a file safely before returning; returns the earlier one if its key was already used."""
        try:
            with reporting(self._engine):
                self._make()
                with self._engine.begin() as connection:
                    known = earlier(connection, sent)
                    if known is not None:
                        return self._found(connection, sent.collection, int(known))
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
        if not sent.key or not self._is_there():
            return None
        with reporting(self._engine), self._engine.connect() as connection:
            return earlier(connection, sent)

    def note_answer(self, sent: Delivery, answer: str) -> None:
        """Store the answer to a file of another kind, and the number of bytes kept."""
        with reporting(self._engine), suppress(exc.IntegrityError):  # the same file was sent to another server
            self._make()
            with self._engine.begin() as connection:
                keep(connection, sent, answer)

    def kept_bytes(self, sender: str) -> int:
        """Bytes stored from a sender."""
        if not self._is_there():
            return 0
        with reporting(self._engine), self._engine.connect() as connection:
            return bytes_of(connection, sender)

    def get(self, collection: str, number: int) -> Import:
        """The file with a number."""
        with reporting(self._engine), self._engine.connect() as connection:
            return self._found(connection, collection, number)

    def wait(self, file: Import, seconds: float) -> Import:
        """The file once it has ended, or after so many seconds."""
        with self._ended:
            self._ended.wait_for(lambda: self.get(file.collection, file.number).ended, seconds)
        return self.get(file.collection, file.number)

    def recent(self, collection: str) -> list[Import]:
        """The last files, the latest first."""
        if not self._is_there():
            return []
        chosen = sql.select(*SAID).where(IMPORTS.c.collection == collection).order_by(IMPORTS.c.number.desc())
        with reporting(self._engine), self._engine.connect() as connection:
            return [Import(**row._mapping) for row in connection.execute(chosen.limit(SHOWN))]

    def waiting(self) -> list[str]:
        """Collections with files waiting or being written."""
        if not self._is_there():
            return []
        chosen = sql.select(IMPORTS.c.collection).where(_open).distinct()
        with reporting(self._engine), self._engine.connect() as connection:
            return [str(name) for (name,) in connection.execute(chosen)]

    def take(self, collection: str) -> tuple[Import, bytes] | None:
        """Take over the first file that nobody works on, with its content; None if there is none."""
        if not self._is_there():
            return None
        now = self._now()
        silent = (IMPORTS.c.seen < now - SILENT_S) | (IMPORTS.c.seen > now + SILENT_S)  # clocks may be set back
        free = (IMPORTS.c.worker == self._worker) | silent
        first = sql.select(sql.func.min(IMPORTS.c.number)).where(IMPORTS.c.collection == collection, _open)
        mine = sql.update(IMPORTS).where(IMPORTS.c.number == first.scalar_subquery(), free)
        with reporting(self._engine), self._engine.begin() as connection:
            chosen = mine.values(worker=self._worker, seen=now, status=RUNNING).returning(*SAID, IMPORTS.c.body)
            row = connection.execute(chosen).one_or_none()
        if row is None:
            return None
        said = dict(row._mapping)
        body = said.pop("body")
        return Import(**said), body

    def note(self, number: int, **now: Any) -> None:
        """Record the progress of a file, and a sign of life."""
        self._change(number, {**now, "seen": self._now()})

    def end(self, number: int, status: str, problem: str = "") -> None:
        """Record that a file is done, or why it failed, and delete its content."""
        self._change(number, {"status": status, "problem": problem, "body": b""})
        with self._ended:
            self._ended.notify_all()

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _now(self) -> float:
        """Seconds since 1970 by the clock that all servers of the database share."""
        with reporting(self._engine), self._engine.connect() as connection:
            self._clock.ask(connection)
        return self._clock().timestamp()

    def _make(self) -> None:
        if self._own is not None:
            self._own.mkdir(mode=0o700, exist_ok=True)
        prepare_tables(self._engine)
        self._there = True

    def _change(self, number: int, values: Mapping[str, Any]) -> None:
        with reporting(self._engine), self._engine.begin() as connection:
            connection.execute(sql.update(IMPORTS).where(IMPORTS.c.number == number).values(**values))

    def _is_there(self) -> bool:
        if not self._there and self._own is None:
            with reporting(self._engine):
                self._there = sql.inspect(self._engine).has_table(IMPORTS.name)
        return self._there

    def _found(self, connection: sql.Connection, collection: str, number: int) -> Import:
        which = sql.select(*SAID).where(IMPORTS.c.collection == collection, IMPORTS.c.number == number)
        row = connection.execute(which).one_or_none() if self._is_there() else None
        if row is None:
            raise InputError(f"there is no import {number} of {collection}")
        return Import(**row._mapping)


_open = IMPORTS.c.status.not_in(ENDED)
