"""Training of models on served collections: one at a time, in a process of its own."""

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Literal, NamedTuple

import msgspec
import sqlalchemy as sql
from msgspec.structs import replace

from audiosim.campaign.engine import DatabaseClock
from audiosim.campaign.event import utc_now, write_time
from audiosim.campaign.schema import TablesBeside
from audiosim.campaign.tables import TRAININGS, KeptModel
from audiosim.collection.collection import Collection
from audiosim.errors import AudiosimError, ClosedError, InputError, ServiceError, StoreError
from audiosim.service.process.learning import Errand, ErrandProgress, tell_progress
from audiosim.text import one_line
from audiosim.training.plan import Plan
from audiosim.training.train import train

# Trainings recorded in the database, so that one interrupted by a restart is shown as such and can be restarted.


Status = Literal["running", "done", "failed", "cancelled", "interrupted"]
RUNNING: Status = "running"
DONE: Status = "done"
FAILED: Status = "failed"
CANCELLED: Status = "cancelled"
INTERRUPTED: Status = "interrupted"
SILENT_S = 10.0  # without a sign of life; the training then counts as interrupted


class TrainingState(msgspec.Struct, frozen=True):
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
    status: Status = RUNNING
    done: int = 0
    total: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()


class TrainingStore:
    """The last training of each collection, by any server of a database; its table is made with the first one."""

    def __init__(self, url: str) -> None:
        self._tables, self._clock = TablesBeside(url, TRAININGS), DatabaseClock()
        self.close, self._worker = self._tables.close, secrets.token_hex(8)

    def note(self, state: TrainingState) -> None:
        """Record the state of this process's training, with a sign of life, in place of earlier trainings there."""
        collection = state.collections[0]
        row = {"collection": collection, "worker": self._worker, "state": msgspec.json.encode(state).decode()}
        with self._tables.adding() as connection:
            connection.execute(sql.delete(TRAININGS).where(TRAININGS.c.collection == collection))
            connection.execute(sql.insert(TRAININGS).values(**row, seen=self._clock.seconds(connection)))

    def last(self, collection: str) -> TrainingState | None:
        """The last training in which a collection takes part; interrupted if its server is silent."""
        with self._tables.connected() as connection:
            rows = connection.execute(sql.select(TRAININGS.c.state, TRAININGS.c.seen)).all()
            now = self._clock.seconds(connection)
        found = [(msgspec.json.decode(state, type=TrainingState), seen) for state, seen in rows]
        mine = [one for one in found if collection in one[0].collections]
        if not mine:
            return None
        state, seen = max(mine, key=lambda one: one[0].began)
        silent = state.status == RUNNING and abs(now - seen) > SILENT_S  # clocks may be set back
        return replace(state, status=INTERRUPTED) if silent else state


BEAT_S = 2.0  # between signs of life of a training
LOG = logging.getLogger("service")
Keep = Callable[[bytes, str, str], KeptModel]


class Trained(NamedTuple):
    """Outcome of a training: a model file, or the problem; and notes on omissions."""

    content: bytes
    problem: str
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Training as by `audiosim train`, on collections with the judgments of their campaigns."""

    collections: tuple[Collection, ...]
    plan: Plan

    def trained(self) -> Trained:
        """The outcome; this may take minutes."""
        notes: list[str] = []
        try:
            found = train(list(self.collections), self.plan, notes.append, tell_progress)
        except InputError as error:
            return Trained(b"", str(error), tuple(notes))
        return Trained(msgspec.json.encode(found.to_dict()), "", (*notes, found.findings.unseen))


class Trainings:
    """The current training, or the last one.

    keep   keeps the file of a trained model
    store  record of trainings for other servers, and for after a restart; None: none
    """

    def __init__(self, keep: Keep, store: TrainingStore | None = None) -> None:
        self._keep, self._store, self._turn = keep, store, Lock()
        self._errand: Errand[Trained] | None = None
        self._state: TrainingState | None = None

    @property
    def busy(self) -> bool:
        """True while this process trains a model."""
        return self._errand is not None

    def last(self, collection: str) -> TrainingState | None:
        """State of the last training in which a collection takes part, by any server; None before the first."""
        mine = self._state if self._state is not None and collection in self._state.collections else None
        noted = None if self._store is None else self._store.last(collection)
        return noted if noted is not None and (mine is None or noted.began > mine.began) else mine

    def start(self, job: TrainingJob, features: str, by: str) -> TrainingState:
        """Start a training; an error while another one runs."""
        plan, names = job.plan, tuple(one.identifier for one in job.collections)
        with self._turn:
            if self._errand is not None and self._state is not None:
                raise ClosedError(f"{self._state.name} is being trained: wait for it, or cancel it")
            state = TrainingState(plan.name, features, plan.folds, plan.eliminate, names, by, write_time(utc_now()))
            self._state, self._errand = state, (errand := Errand(job.trained, progress=self._go_on))
        Thread(target=self._wait_for, args=[errand, state], name="training a model", daemon=True).start()
        Thread(target=self._beat, args=[errand], name="noting a training", daemon=True).start()
        return state

    def cancel(self, collection: str) -> TrainingState:
        """Cancel the training of a collection, and drop its model."""
        with self._turn:
            if self._errand is None or self._state is None:
                there = self.last(collection)
                if there is not None and there.status == RUNNING:
                    raise ClosedError(f"{there.name} is being trained by another server, where it can be cancelled")
                raise ClosedError("no model is being trained")
            if collection not in self._state.collections:
                raise InputError(f"{collection} takes no part in the training under way")
            return self._end(CANCELLED)

    def stop(self) -> None:
        """Cancel the training when the service ends."""
        with self._turn:
            if self._errand is not None:
                self._end(INTERRUPTED)
        if self._store is not None:
            self._store.close()

    def _end(self, status: str) -> TrainingState:
        assert self._errand is not None
        assert self._state is not None
        self._errand.stop()
        self._errand, self._state = None, replace(self._state, status=status)
        self._note()
        return self._state

    def _note(self) -> None:
        """Record the state in the database; a failure is harmless, as the next sign of life repeats it."""
        if self._store is not None and self._state is not None:
            try:
                self._store.note(self._state)
            except StoreError as error:
                LOG.warning("the training of %s cannot be noted: %s", self._state.name, error)

    def _beat(self, errand: Errand[Trained]) -> None:
        """Give signs of life while the training runs; other servers take silence for its end."""
        while True:
            with self._turn:
                if self._errand is not errand:
                    return
                self._note()
            time.sleep(BEAT_S)

    def _go_on(self, progress: ErrandProgress) -> None:
        with self._turn:
            if self._errand is not None and self._state is not None:
                self._state = replace(self._state, done=progress.done, total=progress.total)

    def _wait_for(self, errand: Errand[Trained], begun: TrainingState) -> None:
        """Wait for the end of a training, and keep its model unless it was cancelled."""
        problem, notes = "the process that trains was ended", tuple[str, ...]()
        try:
            _, problem, notes = found = errand.result()
            if self._errand is errand and not problem:
                self._keep(found.content, begun.by, f"trained on {', '.join(begun.collections)}")
        except ServiceError:
            pass
        except AudiosimError as error:
            problem = str(error)
        except Exception as error:
            problem = f"a bug in the service: {one_line(error)}"
            raise
        finally:
            with self._turn:
                if self._errand is errand and self._state is not None:
                    status = FAILED if problem else DONE
                    self._errand = None
                    self._state = replace(self._state, status=status, problem=problem, notes=notes)
                    self._note()
