"""The way to a database, SQLite or PostgreSQL by its URL: waits for the disk, and for nothing else without end."""

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
        if self._path is not None and self._now() != self._identity:
            raise StoreError(
                f"database file {self._path} was moved, removed or replaced: "
                "put it back, with its -wal file, or restart"
            )

    def fold(self, engine: sql.Engine) -> bool:
        """Write all that waits in the write-ahead log into the file itself; whether nothing waits any more."""
        if self._path is None:
            return True
        self.check()
        with suppress(OSError):
            if not self._path.with_name(f"{self._path.name}-wal").stat().st_size:
                return True
        with engine.connect() as connection:
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
        return not busy

    def _now(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino
