"""Tasks of a service beside answering: it follows its logs and its tokens, and has its models learn.

Who asks then finds all of it done, and waits for no database.
"""

import logging
import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

from audiosim.campaign import DatabaseStore, Lesson
from audiosim.errors import AudiosimError, RewoundError, StoreError
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.relearning import Relearning
from service.access import Access
from service.import_store import ImportStore
from service.importing import import_next
from service.memory import give_back_freed_memory
from service.served import Served, ServedCollection
from service.teaching import Learner

LOG = logging.getLogger("service")
POLL_S = 0.25
REST = 3.0  # times as long as it took to count what was new, until that is done again
LONGEST_REST_S = 2.0
LOOK_S = 5.0  # between two looks for files that another service has left
IDLE_S = 1.0  # without a line written, until the write-ahead log is folded in


class Keeper:
    """Keeps what is served up to date, in three threads: one reads, one has models learn, one takes in files."""

    def __init__(self, served: Served, access: Access, imports: ImportStore) -> None:
        self._served, self._access, self._imports = served, access, imports
        self._stopping = threading.Event()
        self._learner: Learner | None = None
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._teach, self._import)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, and what is being learned too; it is learned again where the log is next opened."""
        self._stopping.set()
        self._imports.came.set()
        if self._learner is not None:
            self._learner.stop()

    def reasons(self) -> Iterator[str]:
        """The reasons why not all may be asked."""
        for name, one in self._served.collections.items():
            if one.campaign.trouble:
                yield f"{name}: {one.campaign.trouble}"

    def _follow(self) -> None:
        took_s = 0.0
        while not self._stopping.wait(min(max(POLL_S, REST * took_s), LONGEST_REST_S)):
            began = time.monotonic()
            if self._access.stale:
                with suppress(StoreError):  # what is known holds until they can be read again
                    self._access.reload()
            for one in list(self._served.collections.values()):
                with suppress(StoreError):  # `trouble` says so
                    one.campaign.sync()
                    if isinstance(one.store, DatabaseStore):
                        one.store.fold(IDLE_S)
            took_s = time.monotonic() - began

    def _import(self) -> None:
        while not self._stopping.is_set():
            self._imports.came.clear()
            busy = False
            for one in list(self._served.collections.values()):
                with suppress(StoreError):
                    busy |= import_next(one, self._imports, self._stopping.wait)
            if not busy:
                self._imports.came.wait(LOOK_S)

    def _teach(self) -> None:
        while not self._stopping.wait(POLL_S):
            for name, one in list(self._served.collections.items()):
                try:
                    self._teach_one(name, one)
                except AudiosimError as error:
                    LOG.warning("%s: the model could not learn: %s", name, error)

    def _teach_one(self, name: str, one: ServedCollection) -> None:
        lesson = one.campaign.lesson()
        if lesson is None or self._stopping.is_set():
            return
        learned = one.campaign.lessons.recall(lesson) or self._learned(name, lesson)
        while not self._stopping.is_set():
            try:
                one.campaign.teach(lesson.number, learned)
                give_back_freed_memory()
                break
            except RewoundError:
                break
            except StoreError:
                self._stopping.wait(POLL_S)

    def _learned(self, name: str, lesson: Lesson) -> RelevanceEstimator:
        """The estimator that has learned, here where there is nothing to learn or no way to learn it elsewhere."""
        if not isinstance(lesson.estimator, Relearning):
            return lesson.learned()
        try:
            self._learner = Learner(lesson)
            return self._learner.learned()
        except (TypeError, AttributeError, ValueError, pickle.PickleError) as error:
            LOG.warning("%s: the model learns within the service, not in a process of its own: %s", name, error)
            return lesson.learned()
