"""Connections to a database, SQLite or PostgreSQL by its URL: they sync to disk, and all waits are limited."""

import os
import re
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.campaign.event import utc_now
from audiosim.errors import InputError, StoreError

# The clock shared by all processes on one database.


ASK_S = 10.0  # time between two queries of the database's clock


class DatabaseClock:
    """The time of the database server, so that machines with different clocks agree on the end of a lease.

    The server is asked occasionally, as part of other requests; between requests the process's monotonic clock
    continues, so that reading the time never waits. SQLite runs on the local machine and is not asked.
    """

    def __init__(self) -> None:
        self._ahead_s: float | None = None  # lead over the monotonic clock
        self._asked = -float("inf")

    def __call__(self) -> datetime:
        """The time now, in UTC."""
        if self._ahead_s is None:
            return utc_now()
        return datetime.fromtimestamp(self._ahead_s + time.monotonic(), UTC)

    def seconds(self, connection: sql.Connection) -> float:
        """The time now, in seconds since 1970, after asking the server."""
        self.ask(connection)
        return self().timestamp()

    def ask(self, connection: sql.Connection) -> None:
        """Ask the server for its time, unless that was done recently."""
        before = time.monotonic()
        if connection.dialect.name != "postgresql" or before - self._asked < ASK_S:
            return
        there = connection.execute(sql.select(sql.func.extract("epoch", sql.func.clock_timestamp()))).scalar_one()
        self._asked = time.monotonic()
        self._ahead_s = float(there) - (before + self._asked) / 2  # assumes a time half-way through the request


DRIVERS = ("postgresql", "postgres", "postgresql+psycopg")
A_DATABASE = "expected a file that a service made, or a new one in an existing folder"
EXPECTED = "a URL such as sqlite:///campaign.db or postgresql://user@host/name"
CONNECT_S = 2  # smallest value that libpq accepts
IDLE_S = 1.0  # idle time after which a connection to PostgreSQL is tested before use
USED = "used"  # time of the last use, in the notes of a connection
# Where texts have secrets, and what is shown instead.
SECRETS = {
    r"(://[^:/@\s]*:)\S*@": r"\1***@",
    r"\?\S*": "",
    r"(?i)(pass\w*\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)": r"\1***",
}
MAKING = Lock()  # closing a file drops this process's locks on it, so nobody else may have it open by then
RESCUED = "rescued"  # suffix of data saved from a database whose file is gone


def open_engine(url: str, timeout_s: float, reading: bool = False) -> sql.Engine:
    """Engine of the database; its connections sync to disk, and wait at most `timeout_s` for writers or an answer.

    reading  True for connections that refuse to change anything
    """
    try:
        address = _parsed(url)
        if address.drivername in DRIVERS:
            return _open_postgres(address.set(drivername="postgresql+psycopg"), timeout_s, reading)
        if address.get_backend_name() == "sqlite":
            # IMMEDIATE takes the write lock at the start: upgrading a read lock half-way could deadlock with another
            # writer.
            engine = sql.create_engine(address, connect_args={"timeout": timeout_s, "isolation_level": "IMMEDIATE"})
            sql.event.listen(engine, "connect", _set_sqlite_to_read if reading else partial(_set_sqlite, timeout_s))
            path, by_uri = database_path(address), (address.database or "").startswith("file:")
            if path is not None and not by_uri:
                sql.event.listen(engine, "do_connect", OneFile(path).connect)
            elif path is not None and address.query.get("mode", "rwc") == "rwc":
                sql.event.listen(engine, "do_connect", lambda *_: make_private(path))
            return engine
    except ImportError as error:
        missing = f"{error}; install audiosim[postgres] for PostgreSQL"
        raise InputError(f"cannot use database {_shown(url)!r}: {missing}") from None
    except (exc.ArgumentError, exc.NoSuchModuleError, ValueError) as error:
        raise InputError(f"cannot use database {_shown(url)!r}: {_shown(str(error))}; expected {EXPECTED}") from None
    raise InputError(f"cannot use database {_shown(url)!r}: expected {EXPECTED}")


def without_transactions(engine: sql.Engine) -> sql.Engine:
    """The engine for single read-only statements: PostgreSQL gets one request for each, not three."""
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def version_of(connection: sql.Connection) -> tuple[int, int] | None:
    """For SQLite: numbers that change with each write by other connections, of any process, and by this one."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        return None
    return connection.exec_driver_sql("PRAGMA data_version").scalar_one(), driver.total_changes


def database_path(address: sql.URL) -> Path | None:
    """The file of an SQLite database by its URL, which may contain a URI; None for others, or in memory."""
    path = address.database or ""
    if address.get_backend_name() != "sqlite" or in_memory(str(address)):
        return None
    return Path(unquote(urlsplit(path).path) if path.startswith("file:") else path)


def in_memory(url: str) -> bool:
    """True if a URL names an SQLite database in memory."""
    scheme, _, path = url.partition("://")
    return scheme.partition("+")[0] == "sqlite" and (
        path.partition("?")[0] in ("", "/", "/:memory:") or ":memory:" in path or "mode=memory" in path
    )


def open_existing(url: str, timeout_s: float, reading: bool = False) -> sql.Engine:
    """An engine for an existing database; SQLite by itself would create an empty file."""
    engine = open_engine(url, timeout_s, reading)
    path = database_path(engine.url)
    if path is not None and not path.is_file():
        made = f"`audiosim serve COLLECTION --db sqlite:///{path}`"
        raise InputError(f"there is no database {path}, expected one that {made} made")
    return engine


def failure(engine: sql.Engine, error: exc.SQLAlchemyError) -> StoreError:
    """One-line error for a failure of a database."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    problem = lines[0]
    secrets = [value for name, value in engine.url.query.items() if "pass" in name.lower() or "secret" in name.lower()]
    for value in filter(None, (engine.url.password, *secrets)):  # a driver may quote what it does not understand
        problem = problem.replace(str(value), "***")
    passing = _passing(error)
    instead = "" if passing or database_path(engine.url) is None else f", {A_DATABASE}"
    return StoreError(f"database {shown(engine.url)}: {problem}{instead}", passing=passing)


def lost_connection(error: StoreError) -> bool:
    """True if a database failed because the connection to it was lost."""
    return isinstance(error.__cause__, exc.DBAPIError) and error.__cause__.connection_invalidated


def _passing(error: exc.SQLAlchemyError) -> bool:
    """True if an error may be temporary: a lock, or a server that is down or starting."""
    if not isinstance(error, exc.OperationalError):
        return False
    lock = "locked" in str(error.orig)
    return lock or type(error.orig).__module__.startswith("psycopg")


def _parsed(url: str) -> sql.URL:
    address = sql.make_url(url)
    if re.search(r"[@=\s]", address.host or ""):  # part of a password, which the host would show
        raise ValueError("unusual letters of a password are written as in %40 for @")
    return address


def shown(address: sql.URL) -> str:
    """A URL for messages: without its password and its query, which may hold another password."""
    return address.set(query={}).render_as_string()


def _shown(text: str) -> str:
    """A text that may contain a URL or a password, without passwords and without the URL's query."""
    for secret, instead in SECRETS.items():
        text = re.sub(secret, instead, text)
    return text


class OneFile:
    """Connections to one SQLite file: the first may create it, later ones find the same file or fail.

    Refuses to create a database beside the remains of another: SQLite would overwrite its write-ahead log.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._identity: tuple[int, int] | None = None

    def connect(self, dialect: sql.Dialect, _: object, __: object, named: dict[str, Any]) -> Any:
        """Make a connection; handler of an engine's event `do_connect`."""
        if self._identity is None:
            check_left_over(self._path)
        with MAKING:
            if self._identity is None:
                make_private(self._path)
        connection = dialect.loaded_dbapi.connect(f"{self._path.as_uri()}?mode=rw", **named | {"uri": True})
        identity = identity_of(self._path)
        if self._identity not in (None, identity):
            connection.close()
            raise dialect.loaded_dbapi.OperationalError("the file was replaced by another")
        self._identity = identity
        return connection


def make_private(path: Path) -> None:
    """Create an empty file that only its owner may read, unless it exists; SQLite gives -wal and -shm its mode."""
    with suppress(OSError):  # the reason is told by whoever opens it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def check_left_over(path: Path) -> None:
    """Raise an error if a database is missing or empty, but its remains are beside it."""
    rescued, ahead = path.with_name(f"{path.name}.{RESCUED}"), path.with_name(f"{path.name}-wal")
    kept, running = rescued.exists(), ahead.exists()  # checked before the database, which is created before its log
    try:
        there = path.stat().st_size > 0
    except OSError:
        there = False
    if there:
        return
    if kept:
        raise InputError(f"{path} is gone, and {rescued} has its contents: rename that to {path.name}, or move it away")
    if running:  # even if empty: a running service may still write to it
        raise InputError(
            f"{path} is gone, and {ahead} belongs to it: put {path.name} back beside it, "
            f"or move {ahead.name} away to start over"
        )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, unchanged by renaming; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _set_sqlite(timeout_s: float, connection: Any, _: object) -> None:
    give_up = time.monotonic() + timeout_s
    cursor = connection.cursor()
    # If two connections set a new file's journal to WAL, SQLite refuses one immediately, as both might wait forever.
    while not _turns_to_wal(cursor, time.monotonic() < give_up):
        time.sleep(0.01)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _turns_to_wal(cursor: Any, patient: bool) -> bool:
    """False if another connection holds the file at this moment; an error in that case, unless patient."""
    try:
        cursor.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if patient and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True


def _set_sqlite_to_read(connection: Any, _: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def _open_postgres(address: sql.URL, timeout_s: float, reading: bool) -> sql.Engine:
    from psycopg import Connection, OperationalError

    class Patient(Connection[Any]):
        """A connection that counts as lost after its server was silent for too long.

        A hanging server keeps its connections open, and libpq by itself would wait forever.
        """

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return super().wait(_until(gen, 2 * timeout_s), *arguments, **named)
            except TimeoutError:
                self.pgconn.finish()
                raise OperationalError(f"the server did not answer within {2 * timeout_s:g} s") from None

    def connect(_: object, __: object, arguments: Any, named: Any) -> Any:
        return Patient.connect(*arguments, **named)

    # Behind a pooler the next transaction may run in another session: nothing is kept in one, such as prepared
    # statements or settings.
    options = {"connect_timeout": max(CONNECT_S, round(timeout_s)), "prepare_threshold": None}
    engine = sql.create_engine(address, isolation_level="READ COMMITTED", connect_args=options)
    sql.event.listen(engine, "do_connect", connect)
    sql.event.listen(engine, "checkin", _note_use)
    sql.event.listen(engine, "checkout", partial(_check_idle, engine.dialect))
    sql.event.listen(engine, "begin", partial(_set_transaction, timeout_s))
    return engine.execution_options(postgresql_readonly=True) if reading else engine


def _note_use(_: Any, record: Any) -> None:
    record.info[USED] = time.monotonic()


def _check_idle(dialect: sql.Dialect, connection: Any, record: Any, _: object) -> None:
    """Replace a connection that was lost while idle, for instance by a restart of the server.

    Testing before each use, as `pool_pre_ping` does, would double the time for which a writer holds the log.
    """
    if time.monotonic() - record.info.get(USED, -float("inf")) < IDLE_S:
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise exc.DisconnectionError(str(error)) from error


def _until(generator: Generator[Any, Any, Any], patience_s: float) -> Generator[Any, Any, Any]:
    """Result of one of psycopg's generators; gives up if nothing is ready within the time limit."""
    heard = time.monotonic()
    try:
        state = next(generator)
        while True:
            ready = yield state
            if ready:
                heard = time.monotonic()
            elif time.monotonic() > heard + patience_s:
                raise TimeoutError
            state = generator.send(ready)
    except StopIteration as ended:
        return ended.value


def _set_transaction(timeout_s: float, connection: sql.Connection) -> None:
    """Set the waits of a transaction, for a lock and for the disk; handler of an engine's event `begin`."""
    if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
        return
    # The administrator may have traded safety for speed; settings stronger than "on" stay.
    connection.exec_driver_sql(
        "SELECT set_config('lock_timeout', %s, true), set_config('synchronous_commit',"
        " CASE WHEN setting IN ('off', 'local') THEN 'on' ELSE setting END, true)"
        " FROM current_setting('synchronous_commit') AS setting",
        (f"{round(1000 * timeout_s)}ms",),
    )


@contextmanager
def reporting(engine: sql.Engine) -> Iterator[None]:
    """Convert failures of a database to StoreErrors, except that a row already exists."""
    try:
        yield
    except exc.IntegrityError:
        raise
    except exc.SQLAlchemyError as error:
        raise failure(engine, error) from error


def check_writable(engine: sql.Engine, path: Path | None) -> None:
    """Raise a StoreError if a database is readable but not writable.

    path  path of an SQLite file; None for others
    """
    name = f"database {shown(engine.url)}"
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            if path is not None and not all(os.access(one, os.W_OK) for one in (path, path.parent)):
                raise StoreError(f"{name}: {path} or its folder is readable but not writable")
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # rolled back on return of the connection: nothing is written
            # On a read-only file SQLite allows this without an error, and refuses the first statement.
            version = int(connection.exec_driver_sql("PRAGMA user_version").scalar() or 0)
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")
        elif connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
            raise StoreError(f"{name}: it is read-only: a replica, or set to read-only")


class DatabaseFile:
    """The file of an SQLite database, as it was when opened.

    After a move, removal or replacement, processes that have it open hold a file without a path, and SQLite
    continues to write to it. Other databases, and databases in memory, have no file and always pass.
    """

    def __init__(self, engine: sql.Engine) -> None:
        self._path: Path | None = None
        if engine.dialect.name == "sqlite":
            with engine.connect() as connection:
                _, _, path = connection.exec_driver_sql("PRAGMA database_list").first() or (0, "main", "")
            self._path = Path(path) if path else None
        self._identity = self._now()

    @property
    def path(self) -> Path | None:
        """The file, or None."""
        return self._path

    def check(self) -> None:
        """Raise an error if the path no longer leads to the file that was opened."""
        if self.is_gone:
            raise StoreError(
                f"database file {self._path} was moved, removed or replaced: put it back, with its -wal file, "
                f"or stop the service, which then saves its contents to {self._path}.{RESCUED}"
            )

    @property
    def is_gone(self) -> bool:
        """True if the path no longer leads to the file that was opened."""
        return self._path is not None and self._now() != self._identity

    def rescue(self, engine: sql.Engine) -> Path | None:
        """Save the data of the open connections to a new file if theirs is gone; return its path.

        The write-ahead log is moved away: it belongs to the lost file, and would corrupt any other.
        """
        if self._path is None or not self.is_gone:
            return None
        rescued = self._path.with_name(f"{self._path.name}.{RESCUED}")
        if rescued.exists():
            rescued = self._path.with_name(f"{rescued.name}-{time.time_ns()}")
        with engine.connect() as connection:
            outside = connection.execution_options(isolation_level="AUTOCOMMIT")
            make_private(rescued)
            outside.exec_driver_sql("VACUUM INTO ?", (str(rescued),))
        for suffix in ("-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + suffix).rename(f"{self._path}{suffix}.{RESCUED}")
        return rescued

    def fold(self, engine: sql.Engine, wait: bool = True) -> bool:
        """Checkpoint the write-ahead log into the file itself; True if it is empty afterwards.

        wait  True to wait for readers and writers, and empty the log; False to copy only as much as blocks nobody
        """
        if self._path is None:
            return True
        self.check()
        with suppress(OSError):
            if not self._path.with_name(f"{self._path.name}-wal").stat().st_size:
                return True
        with engine.connect() as connection:
            busy = connection.exec_driver_sql(f"PRAGMA wal_checkpoint({'TRUNCATE' if wait else 'PASSIVE'})").one()[0]
        return wait and not busy

    def _now(self) -> tuple[int, int] | None:
        return None if self._path is None else identity_of(self._path)
