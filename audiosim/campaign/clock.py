"""The clock shared by all processes on one database."""

import time
from datetime import UTC, datetime

import sqlalchemy as sql

from audiosim.campaign.event import utc_now

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

    def ask(self, connection: sql.Connection) -> None:
        """Ask the server for its time, unless that was done recently."""
        before = time.monotonic()
        if connection.dialect.name != "postgresql" or before - self._asked < ASK_S:
            return
        there = connection.execute(sql.select(sql.func.extract("epoch", sql.func.clock_timestamp()))).scalar_one()
        self._asked = time.monotonic()
        self._ahead_s = float(there) - (before + self._asked) / 2  # assumes a time half-way through the request
