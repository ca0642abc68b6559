"""The clock that all who share a database go by."""

import time
from datetime import UTC, datetime

import sqlalchemy as sql

from audiosim.campaign.event import utc_now

ASK_S = 10.0  # between two times that the database is asked


class DatabaseClock:
    """The time by the clock of a database's server: machines whose clocks differ agree on when a lease ends.

    The server is asked now and then, by whoever talks to it anyway; in between the steady clock of this process counts
    on, so that nobody waits to know the time. SQLite has the clock of the machine, which is not asked.
    """

    def __init__(self) -> None:
        self._ahead_s: float | None = None  # of the steady clock
        self._asked = -float("inf")

    def __call__(self) -> datetime:
        """The time now, in UTC."""
        if self._ahead_s is None:
            return utc_now()
        return datetime.fromtimestamp(self._ahead_s + time.monotonic(), UTC)

    def ask(self, connection: sql.Connection) -> None:
        """Ask for the time, unless that was done a moment ago."""
        before = time.monotonic()
        if connection.dialect.name != "postgresql" or before - self._asked < ASK_S:
            return
        there = connection.execute(sql.select(sql.func.extract("epoch", sql.func.clock_timestamp()))).scalar_one()
        self._asked = time.monotonic()
        self._ahead_s = float(there) - (before + self._asked) / 2  # the answer is of half-way
