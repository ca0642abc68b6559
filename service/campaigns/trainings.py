"""Training of models on served collections: one at a time, in a process of its own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock, Thread
from typing import NamedTuple

import msgspec

from audiosim.campaign.event import utc_now, write_time
from audiosim.corpus.collection import Collection
from audiosim.errors import AudiosimError, ClosedError, InputError, ServiceError
from audiosim.messages import one_line
from audiosim.plugins import load_features
from audiosim.service.campaigns.errand_progress import ErrandProgress, tell_progress
from audiosim.service.campaigns.kept_models import KeptModel
from audiosim.service.campaigns.learning_process import Errand
from audiosim.training.plan import Plan
from audiosim.training.train import train

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
Keep = Callable[[bytes, str, str], KeptModel]


class Trained(NamedTuple):
    """Outcome of a training: a model file, or the problem; and notes on what was left out."""

    content: bytes
    problem: str
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Training as `audiosim train` does it, of collections with the judgments of their campaigns."""

    collections: tuple[Collection, ...]
    plan: Plan

    def trained(self) -> Trained:
        """The outcome; this may take minutes."""
        load_features()
        notes: list[str] = []
        try:
            found = train(list(self.collections), self.plan, notes.append, tell_progress)
        except InputError as error:
            return Trained(b"", str(error), tuple(notes))
        return Trained(msgspec.json.encode(found.to_dict()), "", tuple(notes))


@dataclass(frozen=True, slots=True)
class TrainingState:
    """State of a training.

    name         of the model
    features     as in `audiosim train --features`
    collections  that it learns from
    by           who began it; empty if unnamed
    began        time, ISO 8601, UTC
    status       running, done, failed or cancelled
    done, total  fits of the validation
    problem      why it failed, or empty
    notes        what was left out, and why
    """

    name: str
    features: str
    collections: tuple[str, ...]
    by: str
    began: str
    status: str = RUNNING
    done: int = 0
    total: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()


class Trainings:
    """The training under way, or the last one.

    keep  keeps the file of a trained model
    """

    def __init__(self, keep: Keep) -> None:
        self._keep, self._turn = keep, Lock()
        self._errand: Errand[Trained] | None = None
        self._state: TrainingState | None = None

    @property
    def last(self) -> TrainingState | None:
        """State of the training under way, or of the last one; None before the first."""
        return self._state

    def start(self, job: TrainingJob, features: str, by: str) -> TrainingState:
        """Begin a training; an error while another one is under way."""
        with self._turn:
            if self._errand is not None and self._state is not None:
                raise ClosedError(f"{self._state.name} is being trained: wait for it, or cancel it")
            names = tuple(one.identifier for one in job.collections)
            self._state = state = TrainingState(job.plan.name, features, names, by, write_time(utc_now()))
            self._errand = errand = Errand(job.trained, progress=self._go_on)
        Thread(target=self._wait_for, args=[errand, state], name="training a model", daemon=True).start()
        return state

    def cancel(self) -> TrainingState:
        """End the training under way; its model is dropped."""
        with self._turn:
            if self._errand is None or self._state is None:
                raise ClosedError("no model is being trained")
            self._errand.stop()
            self._errand, self._state = None, replace(self._state, status=CANCELLED)
            return self._state

    def stop(self) -> None:
        """End the training under way when the service ends."""
        if (errand := self._errand) is not None:
            errand.stop()

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
