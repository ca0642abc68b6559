"""The log of a campaign in a database: SQLite, or PostgreSQL by its URL.

Three tables. One row per collection holds the number of its last event; whoever appends takes the next numbers there
first and holds the row until all is written, so that numbers rise in the order in which events become readable.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sql
from sqlalchemy import exc
from sqlalchemy.schema import CreateTable

from audiosim.campaign.event import Event
from audiosim.campaign.store import check_keys, check_repeated, used
from audiosim.errors import InputError, StoreError

VERSION = 1  # of the tables; raised when they change
TIMEOUT_S = 10.0
DRIVERS = ("postgresql", "postgres", "postgresql+psycopg")
EXPECTED = "a URL such as sqlite:///campaign.db or postgresql://user@host/name"

METADATA = sql.MetaData()
SCHEMA = sql.Table(
    "audiosim_schema",
    METADATA,
    sql.Column("one", sql.Integer, primary_key=True, autoincrement=False),  # always 1: there is one row
    sql.Column("version", sql.Integer, nullable=False),
)
CAMPAIGNS = sql.Table(
    "audiosim_campaigns",
    METADATA,
    sql.Column("collection", sql.Text, primary_key=True),
    sql.Column("last", sql.BigInteger, nullable=False),
)
EVENTS = sql.Table(
    "audiosim_events",
    METADATA,
    sql.Column("collection", sql.Text, primary_key=True),
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("time", sql.Text, nullable=False),
    sql.Column("assessor", sql.Text, nullable=False),
    sql.Column("query", sql.Text, nullable=False),
    sql.Column("document", sql.Text, nullable=False),
    sql.Column("grades", sql.Text, nullable=False),  # JSON
    sql.Column("details", sql.Text, nullable=False),  # JSON
    sql.Column("key", sql.Text),  # NULL where there is none: of those there may be many
    sql.Column("refers", sql.BigInteger, nullable=False),
    sql.Column("until", sql.Text, nullable=False),
    sql.UniqueConstraint("collection", "assessor", "key"),
)
FIELDS = tuple(EVENTS.c[name] for name in list(EVENTS.c.keys())[2:])

_of_collection = EVENTS.c.collection == sql.bindparam("of")
READ = sql.select(EVENTS.c.number, *FIELDS).where(_of_collection, EVENTS.c.number > sql.bindparam("after"))
READ = READ.order_by(EVENTS.c.number)
KNOWN = sql.select(EVENTS.c.number, *FIELDS).where(
    _of_collection, EVENTS.c.assessor == sql.bindparam("by"), EVENTS.c.key == sql.bindparam("with")
)
TAKE = (
    sql.update(CAMPAIGNS)
    .where(CAMPAIGNS.c.collection == sql.bindparam("of"))
    .values(last=CAMPAIGNS.c.last + sql.bindparam("count"))
    .returning(CAMPAIGNS.c.last)
)
TAKE_AFTER = TAKE.where(CAMPAIGNS.c.last == sql.bindparam("after"))


class DatabaseStore:
    """The log of one collection in a database, such as sqlite:///campaign.db or postgresql://user@host/name.

    SQLite is set to write ahead and to wait for the disk; PostgreSQL does so unless its owner says otherwise. A
    failure is a StoreError and leaves nothing half written; once its cause is gone the store goes on.
    """

    def __init__(self, url: str, collection: str, timeout_s: float = TIMEOUT_S) -> None:
        """Open the log, and make its tables where there are none.

        timeout_s  how long to wait for others that write
        """
        self._collection = collection
        self._engine = open_engine(url, timeout_s)
        self._shown = self._engine.url.render_as_string()
        try:
            _prepare(self._engine)
        except exc.SQLAlchemyError as error:
            raise self._failure(error) from error

    def append(self, event: Event) -> int:
        """The number of the event, once it is safe; that of the earlier one where it was sent before."""
        try:
            with self._engine.begin() as connection:
                last = self._take(connection, 1)
                earlier = self._earlier(connection, event) if event.key else None
                if earlier is None:
                    connection.execute(sql.insert(EVENTS), [self._row(last, event)])
                    return last
                connection.rollback()  # gives the number back
        except exc.SQLAlchemyError as error:
            raise self._failure(error) from error
        check_repeated(event, earlier[1])
        return earlier[0]

    def append_all(self, events: Sequence[Event], last: int) -> list[int] | None:
        """The numbers of the events, all safe; None, and none is written, where the log has grown past `last`."""
        check_keys(events)
        numbers = list(range(last + 1, last + 1 + len(events)))
        try:
            with self._engine.begin() as connection:
                if self._take(connection, len(events), last) != last + len(events):
                    connection.rollback()
                    return None
                rows = [self._row(number, event) for number, event in zip(numbers, events, strict=True)]
                if rows:
                    connection.execute(sql.insert(EVENTS), rows)
        except exc.IntegrityError as error:
            raise self._taken(events) or self._failure(error) from error
        except exc.SQLAlchemyError as error:
            raise self._failure(error) from error
        return numbers

    def read(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        """The events whose number is higher than `after`, with their numbers."""
        try:
            with self._engine.connect() as connection:
                rows = connection.execute(READ, {"of": self._collection, "after": after}).all()
        except exc.SQLAlchemyError as error:
            raise self._failure(error) from error
        return (_numbered(row) for row in rows)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def _take(self, connection: sql.Connection, count: int, last: int | None = None) -> int:
        """Take the next numbers and keep others from doing so; the last of them, -1 where the log is past `last`."""
        chosen = {"of": self._collection, "count": count} | ({} if last is None else {"after": last})
        statement = TAKE if last is None else TAKE_AFTER
        taken = connection.execute(statement, chosen).scalar()
        if taken is None:
            self._begin(connection)
            # Also where the row is there: another may have made it since the first try.
            taken = connection.execute(statement, chosen).scalar()
        assert taken is not None or last is not None
        return -1 if taken is None else int(taken)

    def _begin(self, connection: sql.Connection) -> None:
        """Make the collection's row where there is none."""
        found = sql.select(CAMPAIGNS.c.last).where(CAMPAIGNS.c.collection == self._collection)
        if connection.execute(found).scalar() is not None:
            return
        try:
            with connection.begin_nested():
                connection.execute(sql.insert(CAMPAIGNS).values(collection=self._collection, last=0))
        except exc.IntegrityError:
            pass  # another was faster

    def _earlier(self, connection: sql.Connection, event: Event) -> tuple[int, Event] | None:
        chosen = {"of": self._collection, "by": event.assessor, "with": event.key}
        row = connection.execute(KNOWN, chosen).one_or_none()
        return None if row is None else _numbered(row)

    def _taken(self, events: Sequence[Event]) -> InputError | None:
        """The complaint about the first event whose key is used, None where none is."""
        with self._engine.connect() as connection:
            taken = [event for event in events if event.key and self._earlier(connection, event)]
        return InputError(f"{used(taken[0])} already") if taken else None

    def _row(self, number: int, event: Event) -> dict[str, Any]:
        return {
            "collection": self._collection,
            "number": number,
            "kind": event.kind,
            "time": event.time,
            "assessor": event.assessor,
            "query": event.query,
            "document": event.document,
            "grades": json.dumps(event.grades),
            "details": json.dumps(event.details),
            "key": event.key or None,
            "refers": event.refers,
            "until": event.until,
        }

    def _failure(self, error: exc.SQLAlchemyError) -> StoreError:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        return StoreError(f"database {self._shown}: {reason}")


def _numbered(row: Any) -> tuple[int, Event]:
    number, kind, time, assessor, query, document, grades, details, key, refers, until = row
    event = Event(
        kind, time, assessor, query, document, json.loads(grades), json.loads(details), key or "", refers, until
    )
    return number, event


def open_engine(url: str, timeout_s: float) -> sql.Engine:
    """What reaches the database: its connections wait for the disk, and for other writers so long."""
    try:
        address = sql.make_url(url)
        if address.drivername in DRIVERS:
            address = address.set(drivername="postgresql+psycopg")
            engine = sql.create_engine(
                address, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args={"connect_timeout": 10}
            )
            sql.event.listen(engine, "connect", partial(_set_postgres, timeout_s))
        elif address.get_backend_name() == "sqlite":
            # IMMEDIATE: who means to write waits for other writers before, not half-way.
            engine = sql.create_engine(address, connect_args={"timeout": timeout_s, "isolation_level": "IMMEDIATE"})
            sql.event.listen(engine, "connect", _set_sqlite)
        else:
            raise InputError(f"cannot use database {_shown(url)!r}: expected {EXPECTED}")
    except ImportError as error:
        missing = f"{error}; audiosim[postgres] installs what PostgreSQL needs"
        raise InputError(f"cannot use database {_shown(url)!r}: {missing}") from None
    except (exc.ArgumentError, exc.NoSuchModuleError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot use database {_shown(url)!r}: {_shown(str(error))}; expected {EXPECTED}") from None
    return engine


def _shown(url: str) -> str:
    """A text that may hold a URL, without its password."""
    return re.sub(r"(://[^:/@\s]*:)[^@\s]*@", r"\1***@", url)


def _set_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _set_postgres(timeout_s: float, connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT set_config('lock_timeout', %s, false)", (f"{round(1000 * timeout_s)}ms",))
    # An owner may have traded safety for speed; stronger settings than "on" stay.
    unsafe = "current_setting('synchronous_commit') IN ('off', 'local')"
    cursor.execute(f"SELECT set_config('synchronous_commit', 'on', false) WHERE {unsafe}")
    cursor.close()
    connection.commit()


def _prepare(engine: sql.Engine) -> None:
    """Make the tables where there are none; an error where they are of another version."""
    version = _version(engine)
    if version is None:
        try:
            _make_tables(engine)
        except exc.SQLAlchemyError:  # another process may make them at this moment
            if _version(engine) is None:
                raise
        version = _version(engine)
    if version != VERSION:
        raise InputError(
            f"database {engine.url.render_as_string()} holds campaigns in version {version} of its tables, "
            f"expected version {VERSION}"
        )


def _version(engine: sql.Engine) -> int | None:
    with engine.connect() as connection:
        if not sql.inspect(connection).has_table(SCHEMA.name):
            return None
        return connection.execute(sql.select(SCHEMA.c.version)).scalar()


def _make_tables(engine: sql.Engine) -> None:
    with engine.begin() as connection:
        for table in METADATA.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
        connection.execute(sql.insert(SCHEMA).values(one=1, version=VERSION))
