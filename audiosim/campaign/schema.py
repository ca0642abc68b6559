"""The layout of a database: created if missing, upgraded by Alembic if older.

A table of Alembic's names the layout of a database. A process that creates or changes tables holds a lock until
everything or nothing is done, so if two servers start together, one waits. Alembic is imported only for an upgrade.
"""

import logging
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from weakref import finalize

import sqlalchemy as sql

from audiosim.campaign.engine import (
    DatabaseFile,
    database_path,
    make_private,
    open_engine,
    open_existing,
    reporting,
    shown,
)
from audiosim.campaign.tables import BESIDE, CAMPAIGNS, LAYOUT, LAYOUTS, TABLES
from audiosim.errors import InputError
from audiosim.results.value import Result

LATEST = str(LAYOUT)
OLDEST = 4  # oldest layout that can be upgraded
LOCK = 4_155_206_311  # our number, drawn by lot, among PostgreSQL's advisory locks
MIGRATIONS = Path(__file__).parent / "migrations"
TIMEOUT_S = 60.0  # time to wait for others who make or change tables
LOG = logging.getLogger("audiosim")


@dataclass(frozen=True)
class Layout(Result):
    """The layout of a database, empty if it has no tables of audiosim, and the latest."""

    layout: str
    latest: str

    def __repr__(self) -> str:
        return f"layout {self.layout or 'none'}, the latest is {self.latest}"

    @property
    def due(self) -> bool:
        """True if an upgrade is due."""
        return self.layout != self.latest


@dataclass(frozen=True)
class Migration(Result):
    """A change of a database's layout.

    database  URL, without password and query
    before    previous layout; empty if there was none
    layout    present layout
    kept      copy of the file before the upgrade; empty if there was nothing to keep, and for PostgreSQL
    """

    database: str
    before: str
    layout: str
    kept: str = ""
    due: ClassVar = False

    def __repr__(self) -> str:
        return f"{self.database}: layout {self.layout}, was {self.before or 'none'}"


def migrate(db: str, check: bool = False) -> Migration | Layout:
    """Upgrade the tables of a database, as `serve` does when it starts.

    The upgrade is one transaction. An SQLite file is first copied, beside it; back up PostgreSQL yourself. Stop the
    services that use the database: judgments from older versions are refused after the upgrade.

    Example: `audiosim migrate --db sqlite:///demo/campaign.db`

    db     address of the database
    check  change nothing; exit with code 1 if an upgrade is due
    """
    if check:
        return Layout(layout_of_database(db), LATEST)
    with opened(db) as engine:
        return prepare_tables(engine)


def layout_of_database(url: str) -> str:
    """Layout of an existing database, empty if it has no tables of audiosim; reads only."""
    with opened(url, reading=True) as engine:
        return layout_in(engine)


def check_upgraded(url: str) -> None:
    """Raise an error if a database has an older layout: an upgrade stops its servers, so users must request it."""
    path = database_path(open_engine(url, TIMEOUT_S).url)
    layout = "" if path is not None and not path.is_file() else layout_of_database(url)
    if layout not in ("", LATEST):
        raise InputError(
            f"the database has layout {layout}, the latest is {LATEST}: stop the servers that use it, "
            "then upgrade it with audiosim migrate"
        )


@contextmanager
def opened(url: str, reading: bool = False) -> Iterator[sql.Engine]:
    """An engine for an existing database, disposed of at the end.

    reading  True to open it read-only
    """
    engine = open_existing(url, TIMEOUT_S, reading)
    try:
        with reporting(engine):
            yield engine
    finally:
        engine.dispose()


def prepare_tables(engine: sql.Engine) -> Migration:
    """Create missing tables and upgrade older ones; an error if they are newer than this version."""
    name = shown(engine.url)
    before = layout_in(engine)
    if before == LATEST:
        return Migration(name, before, LATEST)
    with locked(engine) as connection:
        before = layout_in(connection)
        kept = "" if before in ("", LATEST) else keep_copy(engine, f"layout-{before}")
        if before == "":
            _make(connection)
        elif before != LATEST:
            _upgrade(connection)
    if before not in ("", LATEST):
        back = f"the file as it was is {kept}" if kept else "to undo this, restore a backup from before"
        LOG.warning("database %s: layout %s was upgraded to %s; %s", name, before, LATEST, back)
    return Migration(name, before, LATEST, kept)


def layout_in(bound: sql.Engine | sql.Connection) -> str:
    """Layout of a database, empty if it has no tables; an error if this version does not know it."""
    if isinstance(bound, sql.Engine):
        with bound.connect() as connection:
            return layout_in(connection)
    there = sql.inspect(bound)
    # Queried first: another process may create all tables at once between the two queries.
    has_campaigns = there.has_table(CAMPAIGNS.name)
    if there.has_table(LAYOUTS.name):
        layout = str(bound.execute(sql.select(LAYOUTS.c.version_num)).scalar() or "")
    else:
        # Tables without a layout are even older: creating the missing ones beside them would damage the log.
        layout = "none" if has_campaigns else ""
    if layout and not (layout.isdigit() and OLDEST <= int(layout) <= LAYOUT):
        raise InputError(
            f"database {shown(bound.engine.url)} has layout {layout}, and this version of audiosim knows "
            f"layouts {OLDEST} to {LATEST}: use the version that wrote it, or restore a backup into a new database"
        )
    return layout


@contextmanager
def locked(engine: sql.Engine) -> Iterator[sql.Connection]:
    """A transaction during which no other process can create or change tables."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(LOCK)))
        yield connection


def _make(connection: sql.Connection) -> None:
    """Create all tables at once, as the migrations would."""
    TABLES.create_all(connection)
    connection.execute(sql.insert(LAYOUTS).values(version_num=LATEST))


def _upgrade(connection: sql.Connection) -> None:
    """Run the migrations that are due, in the transaction of the connection."""
    from alembic import command, config

    settings = config.Config()
    settings.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    settings.attributes["connection"] = connection
    command.upgrade(settings, "head")


class TablesBeside:
    """Some tables of a service, beside the logs: made with their first row, and empty for readers until then.

    A database without them may be read-only.

    folder  folder of files that end with this process
    """

    def __init__(self, url: str | None, *tables: sql.Table, timeout_s: float = 2.0) -> None:
        """Open the database.

        url  of the database; None for one that ends with this process
        """
        self.folder = Path(tempfile.gettempdir()) / f"audiosim-{secrets.token_hex(8)}"
        self._tables, self._own, self._there = tables, url is None, False
        self._engine = open_engine(url or f"sqlite:///{self.folder}/tables.db", timeout_s)
        finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        finalize(self, self._engine.dispose)

    @contextmanager
    def connected(self) -> Iterator[sql.Connection]:
        """A connection that reads."""
        with reporting(self._engine), self._present().connect() as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[sql.Connection]:
        """A transaction that changes or removes rows."""
        with reporting(self._engine), self._present().begin() as connection:
            yield connection

    def read(self, wanted: sql.Select[Any]) -> Sequence[sql.Row[Any]]:
        """The rows of a query."""
        with self.connected() as connection:
            return connection.execute(wanted).all()

    def change(self, wanted: sql.Update | sql.Delete) -> int:
        """Change or remove rows; return their number."""
        with self.changing() as connection:
            return connection.execute(wanted).rowcount

    @contextmanager
    def adding(self) -> Iterator[sql.Connection]:
        """A transaction that adds rows, one at a time in all processes."""
        with reporting(self._engine):
            if self._own:
                self.make_folder()
            if not self._there and self._tables[0].metadata is TABLES:
                prepare_tables(self._engine)
            with locked(self._engine) as connection:
                if not self._there:
                    BESIDE.create_all(connection, [one for one in self._tables if one.metadata is BESIDE])
                yield connection
            self._there = True

    def make_folder(self) -> None:
        """Make the folder, for this user alone."""
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _present(self) -> sql.Engine:
        """The database, or an empty one until some server has made the tables."""
        if not self._there and not (self._own and not self.folder.exists()):
            self._there = sql.inspect(self._engine).has_table(self._tables[-1].name)
        return self._engine if self._there else _nothing()


@cache
def _nothing() -> sql.Engine:
    """A database with empty tables."""
    threads = {"check_same_thread": False}
    engine = sql.create_engine("sqlite://", connect_args=threads, poolclass=sql.pool.QueuePool)
    tables = [*TABLES.sorted_tables, *BESIDE.sorted_tables]
    made = ";".join(str(sql.schema.CreateTable(one).compile(engine)) for one in tables)

    def make(connection: Any, _: object) -> None:
        connection.executescript(made)

    sql.event.listen(engine, "connect", make)
    return engine


def keep_copy(engine: sql.Engine, suffix: str) -> str:
    """Copy an SQLite database to a file beside it; return the path, empty if the database is not a file.

    suffix  suffix of the copy's name, with a number if that name is taken
    """
    path = DatabaseFile(engine).path
    if path is None:
        return ""
    name = f"{path.name}.{suffix}"
    copies = (path.with_name(f"{name}-{number}" if number else name) for number in count())
    copy = next(one for one in copies if not one.exists())
    with engine.connect() as connection:
        outside = connection.execution_options(isolation_level="AUTOCOMMIT")
        try:
            make_private(copy)
            outside.exec_driver_sql("VACUUM INTO ?", (str(copy),))
        except sql.exc.SQLAlchemyError:
            with suppress(OSError):
                copy.unlink()
            raise
    return str(copy)


def campaigns_in(url: str) -> list[tuple[str, str, str]]:
    """Collection, description and rules of each campaign of an existing database; reads only."""
    with opened(url, reading=True) as engine:
        if not layout_in(engine):
            return []
        with engine.connect() as connection:
            chosen = sql.select(CAMPAIGNS.c.collection, CAMPAIGNS.c.about, CAMPAIGNS.c.rules)
            chosen = chosen.order_by(CAMPAIGNS.c.collection)
            return [(name, about, rules) for name, about, rules in connection.execute(chosen)]
