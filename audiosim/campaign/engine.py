"""The way to a database, SQLite or PostgreSQL by its URL: waits for the disk, and for nothing else without end."""

import os
import re
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import exc

from audiosim.errors import InputError, StoreError

DRIVERS = ("postgresql", "postgres", "postgresql+psycopg")
EXPECTED = "a URL such as sqlite:///campaign.db or postgresql://user@host/name"
CONNECT_S = 2  # the least that libpq knows
RESCUED = "rescued"  # suffix of what is kept of a database whose file is gone


def open_engine(url: str, timeout_s: float, reading: bool = False) -> sql.Engine:
    """Engine of the database: its connections wait for the disk, and so long for other writers or for an answer.

    reading  whether its connections refuse to change anything
    """
    try:
        address = sql.make_url(url)
        if address.drivername in DRIVERS:
            return _open_postgres(address.set(drivername="postgresql+psycopg"), timeout_s, reading)
        if address.get_backend_name() == "sqlite":
            # IMMEDIATE: who means to write waits for other writers before, not half-way.
            engine = sql.create_engine(address, connect_args={"timeout": timeout_s, "isolation_level": "IMMEDIATE"})
            sql.event.listen(engine, "connect", _set_sqlite_to_read if reading else _set_sqlite)
            if (path := database_path(address)) is not None:
                sql.event.listen(engine, "do_connect", OneFile(path).connect)
            return engine
    except ImportError as error:
        missing = f"{error}; audiosim[postgres] installs what PostgreSQL needs"
        raise InputError(f"cannot use database {_shown(url)!r}: {missing}") from None
    except (exc.ArgumentError, exc.NoSuchModuleError, ValueError) as error:
        raise InputError(f"cannot use database {_shown(url)!r}: {_shown(str(error))}; expected {EXPECTED}") from None
    raise InputError(f"cannot use database {_shown(url)!r}: expected {EXPECTED}")


def database_path(address: sql.URL) -> Path | None:
    """The file that the URL of an SQLite database names; None for others, in memory, or where a URI names it."""
    path = address.database or ""
    named = address.get_backend_name() == "sqlite" and path not in ("", ":memory:") and not path.startswith("file:")
    return Path(path) if named else None


def open_existing(url: str, timeout_s: float, reading: bool = False) -> sql.Engine:
    """An engine for a database that must be there: SQLite by itself would make an empty file."""
    engine = open_engine(url, timeout_s, reading)
    path = database_path(engine.url)
    if path is not None and not path.is_file():
        raise InputError(f"there is no database {path}")
    return engine


def failure(engine: sql.Engine, error: exc.SQLAlchemyError) -> StoreError:
    """Error that says in one line what went wrong with a database."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return StoreError(f"database {engine.url.render_as_string()}: {lines[0]}", passing=_passing(error))


def _passing(error: exc.SQLAlchemyError) -> bool:
    """True if an error may be gone in a while: a lock, a server that is not there or just starting."""
    if not isinstance(error, exc.OperationalError):
        return False
    lock = "locked" in str(error.orig)
    return lock or type(error.orig).__module__.startswith("psycopg")


def _shown(url: str) -> str:
    """A text that may hold a URL, without its password."""
    return re.sub(r"(://[^:/@\s]*:)[^@\s]*@", r"\1***@", url)


class OneFile:
    """Connections to an SQLite file which is never another: the first may make it, those after it find it or fail.

    Beside what is left of a database that is gone none is made: SQLite would overwrite its write-ahead log.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._identity: tuple[int, int] | None = None

    def connect(self, dialect: sql.Dialect, _: object, __: object, named: dict[str, Any]) -> Any:
        """Make a connection, as the event `do_connect` of an engine has it."""
        if self._identity is None:
            check_left_over(self._path)
        made = "rwc" if self._identity is None else "rw"
        uri = f"{self._path.as_uri()}?mode={made}"
        connection = dialect.loaded_dbapi.connect(uri, **named | {"uri": True})
        identity = identity_of(self._path)
        if self._identity not in (None, identity):
            connection.close()
            raise dialect.loaded_dbapi.OperationalError("the file was replaced by another")
        self._identity = identity
        return connection


def check_left_over(path: Path) -> None:
    """An error where a database is gone, or empty, and what it held is beside it."""
    rescued, ahead = path.with_name(f"{path.name}.{RESCUED}"), path.with_name(f"{path.name}-wal")
    kept, running = rescued.exists(), ahead.exists()  # before the database: who makes one writes it before its log
    try:
        there = path.stat().st_size > 0
    except OSError:
        there = False
    if there:
        return
    if kept:
        raise InputError(
            f"{path} is gone, and {rescued} holds what was in it: rename it to {path.name}, or move it away"
        )
    if running:  # also where it is empty: a service that is still running may write to it
        raise InputError(
            f"{path} is gone, and {ahead} belongs to it: put {path.name} back beside it, "
            f"or move {ahead.name} away to begin anew"
        )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and number of a file, which it keeps when it is renamed; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _set_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _set_sqlite_to_read(connection: Any, _: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def _open_postgres(address: sql.URL, timeout_s: float, reading: bool) -> sql.Engine:
    from psycopg import Connection, OperationalError

    class Patient(Connection[Any]):
        """A connection whose server may be silent for a while; then it counts as lost.

        A server that hangs keeps its connections, and libpq by itself would wait for ever.
        """

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return super().wait(_until(gen, 2 * timeout_s), *arguments, **named)
            except TimeoutError:
                self.pgconn.finish()
                raise OperationalError(f"the server did not answer within {2 * timeout_s:g} s") from None

    def connect(_: object, __: object, arguments: Any, named: Any) -> Any:
        return Patient.connect(*arguments, **named)

    wait_s = max(CONNECT_S, round(timeout_s))
    engine = sql.create_engine(
        address, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args={"connect_timeout": wait_s}
    )
    sql.event.listen(engine, "do_connect", connect)
    sql.event.listen(engine, "connect", partial(_set_postgres, timeout_s, reading))
    return engine


def _until(generator: Generator[Any, Any, Any], patience_s: float) -> Generator[Any, Any, Any]:
    """Result of a generator of psycopg, until nothing was ready for so long."""
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


def _set_postgres(timeout_s: float, reading: bool, connection: Any, _: object) -> None:
    cursor = connection.cursor()
    if reading:
        cursor.execute("SELECT set_config('default_transaction_read_only', 'on', false)")
    cursor.execute("SELECT set_config('lock_timeout', %s, false)", (f"{round(1000 * timeout_s)}ms",))
    # An owner may have traded safety for speed; stronger settings than "on" stay.
    unsafe = "current_setting('synchronous_commit') IN ('off', 'local')"
    cursor.execute(f"SELECT set_config('synchronous_commit', 'on', false) WHERE {unsafe}")
    cursor.close()
    connection.commit()


@contextmanager
def reporting(engine: sql.Engine) -> Iterator[None]:
    """Have what goes wrong with a database end as the StoreError that it means, but for a row that is there already."""
    try:
        yield
    except exc.IntegrityError:
        raise
    except exc.SQLAlchemyError as error:
        raise failure(engine, error) from error


def check_writable(engine: sql.Engine, path: Path | None) -> None:
    """A StoreError where a database may be read and not written to.

    path  of an SQLite file; None for others
    """
    shown = f"database {engine.url.render_as_string()}"
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            if path is not None and not all(os.access(one, os.W_OK) for one in (path, path.parent)):
                raise StoreError(f"{shown}: {path} or its folder may be read and not written to")
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # ended by giving the connection back; nothing is written
            # Of a file opened for reading alone SQLite begins that without a word, and refuses the first statement.
            version = int(connection.exec_driver_sql("PRAGMA user_version").scalar() or 0)
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")
        elif connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
            raise StoreError(f"{shown}: it is read-only: a replica, or set to read-only")


class DatabaseFile:
    """The file of an SQLite database, as it was when it was opened.

    Who moves, removes or replaces it leaves those who have it open with a file that nobody finds again; SQLite itself
    goes on writing to it. Of other databases, and of one in memory, nothing is known and nothing is wrong.
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
        """The file; None where there is none."""
        return self._path

    def check(self) -> None:
        """An error where the file is no longer the one that was opened."""
        if self.is_gone:
            raise StoreError(
                f"database file {self._path} was moved, removed or replaced: put it back, with its -wal file, "
                f"or stop the service, which then writes what it holds to {self._path}.{RESCUED}"
            )

    @property
    def is_gone(self) -> bool:
        """True if the file is no longer the one that was opened."""
        return self._path is not None and self._now() != self._identity

    def rescue(self, engine: sql.Engine) -> Path | None:
        """Write what the open connections hold to a file of its own, if theirs is gone; where that is.

        The write-ahead log beside it is put aside: it fits the file that is gone, and would spoil any other.
        """
        if self._path is None or not self.is_gone:
            return None
        rescued = self._path.with_name(f"{self._path.name}.{RESCUED}")
        if rescued.exists():
            rescued = self._path.with_name(f"{rescued.name}-{time.time_ns()}")
        with engine.connect() as connection:
            outside = connection.execution_options(isolation_level="AUTOCOMMIT")
            outside.exec_driver_sql("VACUUM INTO ?", (str(rescued),))
        for suffix in ("-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(self._path.name + suffix).rename(f"{self._path}{suffix}.{RESCUED}")
        return rescued

    def fold(self, engine: sql.Engine, wait: bool = True) -> bool:
        """Write what waits in the write-ahead log into the file itself; whether nothing waits any more.

        wait  for those who read or write, and empty the log; else as much is written as is in nobody's way
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
