"""Trainings recorded in the database, so that one interrupted by a restart is shown as such and can be restarted."""

import secrets
from dataclasses import dataclass, replace

import msgspec
import sqlalchemy as sql

from audiosim.campaign.clock import DatabaseClock
from audiosim.campaign.engine import open_engine, reporting
from audiosim.campaign.schema import locked
from audiosim.campaign.tables import TRAININGS

RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = "running", "done", "failed", "cancelled", "interrupted"
TIMEOUT_S = 2.0
SILENT_S = 10.0  # without a sign of life; the training then counts as interrupted


@dataclass(frozen=True, slots=True)
class TrainingState:
    """State of a training.

    name         of the model
    features     as in `audiosim train --features`
    folds, eliminate  likewise
    collections  collections that it learns from; the first is the one where it was started
    by           name of the person who started it, or empty
    began        time, ISO 8601, UTC
    status       running, done, failed, cancelled, or interrupted by the end of its server
    done, total  fits of the validation
    problem      reason of the failure, or empty
    notes        omissions, and their reasons
    """

    name: str
    features: str
    folds: int
    eliminate: float | None
    collections: tuple[str, ...]
    by: str
    began: str
    status: str = RUNNING
    done: int = 0
    total: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()


class TrainingStore:
    """The last training of each collection, by any server of a database; its table is made with the first one."""

    def __init__(self, url: str) -> None:
        self._engine, self._clock, self._there = open_engine(url, TIMEOUT_S), DatabaseClock(), False
        self._worker = secrets.token_hex(8)

    def note(self, state: TrainingState) -> None:
        """Record the state of this process's training, with a sign of life, in place of earlier trainings there."""
        collection = state.collections[0]
        row = {"collection": collection, "worker": self._worker, "state": msgspec.json.encode(state).decode()}
        with reporting(self._engine), locked(self._engine) as connection:
            TRAININGS.create(connection, checkfirst=True)
            connection.execute(sql.delete(TRAININGS).where(TRAININGS.c.collection == collection))
            connection.execute(sql.insert(TRAININGS).values(**row, seen=self._now(connection)))

    def last(self, collection: str) -> TrainingState | None:
        """The last training in which a collection takes part; interrupted if its server is silent."""
        with reporting(self._engine), self._engine.connect() as connection:
            self._there = self._there or sql.inspect(connection).has_table(TRAININGS.name)
            if not self._there:
                return None
            rows = connection.execute(sql.select(TRAININGS.c.state, TRAININGS.c.seen)).all()
            now = self._now(connection)
        found = [(msgspec.json.decode(state, type=TrainingState), seen) for state, seen in rows]
        mine = [one for one in found if collection in one[0].collections]
        if not mine:
            return None
        state, seen = max(mine, key=lambda one: one[0].began)
        silent = state.status == RUNNING and abs(now - seen) > SILENT_S  # clocks may be set back
        return replace(state, status=INTERRUPTED) if silent else state

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _now(self, connection: sql.Connection) -> float:
        """Seconds since 1970 by the clock that all servers of the database share."""
        self._clock.ask(connection)
        return self._clock().timestamp()
