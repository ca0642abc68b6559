"""Logs of every kind; a private PostgreSQL server, if its programs are installed."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sql

from audiosim.campaign import DatabaseStore, Event, MemoryStore
from audiosim.campaign.tables import BESIDE, TABLES

NAMES = (f"tiny {number}" for number in itertools.count())
NOON = "2013-05-01T12:00:00Z"


class Watch:
    """A clock that moves only when told to."""

    def __init__(self):
        self.now = datetime(2013, 5, 1, 12, tzinfo=UTC)

    def __call__(self):
        return self.now

    def forward(self, seconds):
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def watch():
    return Watch()


def said(query="q1", document="a", grade=90.0, assessor="ann", **more):
    """A judgment on the fine scale, made at noon."""
    return Event("judgment", NOON, assessor, query, document, {"fine": grade}, **more)


@pytest.fixture(name="said")
def _said():
    return said


def append(store, event):
    """Write an event after the last line, whoever wrote it; its number."""
    numbers, last = None, 0
    while numbers is None:
        last = max((number for number, _ in store.read(last)), default=last)
        numbers = store.append_all([event], last)
    return numbers[0]


@pytest.fixture(name="append")
def _append():
    return append


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """The URL of a database, of every kind."""
    return f"sqlite:///{tmp_path / 'log.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def database_to_make(database):
    """The URL of a database without our tables, of every kind."""
    engine = sql.create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
    TABLES.drop_all(engine)
    BESIDE.drop_all(engine)
    engine.dispose()
    return database


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request, tmp_path):
    """A log of every kind, for the tests of their common contract."""
    if request.param == "memory":
        yield MemoryStore()
        return
    url = f"sqlite:///{tmp_path / 'log.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres")
    database = DatabaseStore(url, next(NAMES))
    yield database
    database.close()
