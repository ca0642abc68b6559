"""Tasks of a service beside answering: it follows its logs and its tokens, and has its models learn.

Who asks then finds all of it done, and waits for no database.
"""

import logging
import pickle
import threading
from collections.abc import Iterator
from contextlib import suppress

from audiosim.campaign import DatabaseStore, Lesson
from audiosim.errors import AudiosimError, RewoundError, StoreError
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.relearning import Relearning
from service.access import Access
from service.served import Served, ServedCollection
from service.teaching import Learner

LOG = logging.getLogger("service")
POLL_S = 0.25
IDLE_S = 1.0  # without a line written, until the write-ahead log is folded in


class Keeper:
    """Keeps what is served up to date, in two threads: one reads, one has models learn."""

    def __init__(self, served: Served, access: Access) -> None:
        self._served, self._access = served, access
        self._stopping = threading.Event()
        self._learner: Learner | None = None
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._teach)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, and what is being learned too; it is learned again where the log is next opened."""
        self._stopping.set()
        if self._learner is not None:
            self._learner.stop()

    def reasons(self) -> Iterator[str]:
        """The reasons why not all may be asked."""
        for name, one in self._served.collections.items():
            if one.campaign.trouble:
                yield f"{name}: {one.campaign.trouble}"

    def _follow(self) -> None:
        while not self._stopping.wait(POLL_S):
            if self._access.stale:
                with suppress(StoreError):  # what is known holds until they can be read again
                    self._access.reload()
            for one in list(self._served.collections.values()):
                with suppress(StoreError):  # `trouble` says so
                    one.campaign.sync()
                    if isinstance(one.store, DatabaseStore):
                        one.store.fold(IDLE_S)

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
        learned = self._learned(name, lesson)
        while not self._stopping.is_set():
            try:
                one.campaign.teach(lesson.number, learned)
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
