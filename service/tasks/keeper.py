"""Background tasks of a service: they follow its logs and tokens, and let its models learn.

Requests thus find everything done, and need not wait for a database.
"""

import gc
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from audiosim.campaign import DatabaseStore, Lesson
from audiosim.campaign.event import utc_now
from audiosim.errors import RewoundError, StoreError
from audiosim.joint.estimators import RelevanceEstimator
from audiosim.service.access.access import Access
from audiosim.service.access.links import OpenLinkStore
from audiosim.service.collections.imports import ImportStore, import_next
from audiosim.service.collections.outlook import Outlooks
from audiosim.service.collections.served import ServedCollection
from audiosim.service.collections.shelf import Served
from audiosim.service.process.loops import Loop, SpareMemory, give_back_freed_memory
from audiosim.service.tasks.cards import Cards

LOG = logging.getLogger("service")
LOGS = "the logs"
POLL_S = 0.25
REST = 3.0  # pause before the next round of counting, as a multiple of the last round's duration
LONGEST_REST_S = 2.0
LOOK_S = 5.0  # between two searches for files left by another service
IDLE_S = 1.0  # without a new line, until the write-ahead log is folded in
PROBE_S = 5.0  # between two checks that the logs are writable
TIDY = 10  # closed collections after which memory is given back
TIDY_S = 0.5  # between two looks at the memory
FORGET_S = 60.0  # between two searches for data to be deleted
FOLD_S = 5.0  # between two such foldings under constant load


class Keeper:
    """Keeps the served data current; each task has a loop of its own, so that a slow one does not delay the others.

    Access control does not depend on a log: tokens are read separately.
    """

    def __init__(
        self,
        served: Served,
        access: Access,
        imports: ImportStore,
        outlooks: Outlooks,
        cards: Cards,
        open_links: OpenLinkStore,
    ) -> None:
        self._served, self._collections, self._access = served, served.collections, access
        self._imports, self._outlooks = imports, outlooks
        self._open_links = open_links
        self._cards, self._tidied, self._errands = cards, 0, served.judging.errands
        self._troubled: set[str] = set()  # collections whose logs are known to fail
        self._probe = 0.0  # time of the next check that the logs are writable
        self._loops: list[Loop] = []
        self._following = self._loop("following the logs", self._follow, longest_rest_s=LONGEST_REST_S)
        self._reading = self._loop("reading the tokens", self._read_tokens, longest_rest_s=LONGEST_REST_S)
        self._teaching = self._loop("teaching the models", self._teach)
        self._importing = self._loop("importing", self._import, imports.came)
        self._recalling = self._loop("recalling the courses", self._recall)
        self._estimating = self._loop("estimating the effort left", self._estimate)
        self._looking = self._loop("looking at the collections", self._look)
        self._forgetting = self._loop("forgetting people", self._forget)
        self._spare = SpareMemory()
        self._loop("giving back memory", self._tidy)

    def _loop(self, *what: Any, **more: Any) -> Loop:
        self._loops.append(Loop(*what, **more))
        return self._loops[-1]

    def start(self) -> None:
        """Start the loops."""
        self._errands.start()
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        """Stop the loops, and learning in progress, which is repeated when the log is next opened."""
        for loop in self._loops:
            loop.stop()
        self._errands.stop()

    def rescue(self) -> None:
        """Save the data of a deleted database file; this process is the last to have it."""
        for one in self._collections.open.values():
            kept = one.store.rescue() if isinstance(one.store, DatabaseStore) else None
            if kept is not None:
                LOG.warning(
                    "the database file is gone; its contents are in %s: rename that before the next start", kept
                )
                return  # all collections share one file

    def reasons(self) -> Iterator[str]:
        """Reasons why the service is not fully ready: the failing part, a colon, and the problem."""
        for name, one in self._collections.open.items():
            if one.campaign.trouble:
                yield f"{LOGS}: {name}: {one.campaign.trouble}"
        for loop in self._loops:
            yield from loop.reasons()

    def _follow(self) -> float:
        began, there = time.monotonic(), self._collections.open
        for loop in (self._following, self._teaching, self._recalling, self._estimating):
            loop.forget_all_but(there)  # closed collections have no failing tasks
        for name, one in there.items():
            with self._following.attempt(name), suppress(StoreError):  # `trouble` reports it
                one.campaign.sync()
                if isinstance(one.store, DatabaseStore):
                    one.store.fold(IDLE_S, FOLD_S)
            self._tell_trouble(name, one.campaign.trouble)
        if began >= self._probe:
            self._probe_writing()
            self._probe = time.monotonic() + (0.0 if any(self._following.reasons()) else PROBE_S)
        return min(max(POLL_S, REST * (time.monotonic() - began)), LONGEST_REST_S)

    def _tidy(self) -> float:
        self._spare()  # every judgment frees the previous belief, in fragments
        return TIDY_S

    def _tell_trouble(self, name: str, trouble: str) -> None:
        """Write a trouble with a log once, until it has gone."""
        if trouble and name not in self._troubled:
            LOG.error("%s: %s: %s", LOGS, name, trouble)
        (self._troubled.add if trouble else self._troubled.discard)(name)

    def _probe_writing(self) -> None:
        """Check that judgments can be written before anybody judges."""
        for name, one in self._collections.open.items():
            if isinstance(one.store, DatabaseStore):
                with self._following.attempt(name, "writing"):
                    one.store.check_writable()

    def _read_tokens(self) -> float:
        if self._access.stale:
            self._access.reload()  # on failure the previous list stays in use
        return POLL_S

    def _import(self) -> float:
        busy, waiting = False, self._imports.waiting()
        self._importing.forget_all_but(waiting)
        for name in waiting:
            if name in self._collections.names:
                with self._importing.attempt(name), self._collections.held(name) as one:
                    busy |= import_next(one, self._imports, self._importing.stopping.wait)
        return 0.0 if busy else LOOK_S

    def _recall(self) -> float:
        for name, outlook in self._outlooks.current(self._collections.open):
            with self._recalling.attempt(name):
                outlook.go_on(lambda: not self._recalling.stopping.is_set())
        return POLL_S

    def _estimate(self) -> float:
        began = time.monotonic()
        for name, outlook in self._outlooks.current(self._collections.open):
            with self._estimating.attempt(name):
                outlook.remaining.go_on()
        return max(POLL_S, time.monotonic() - began)  # no request waits for this

    def _teach(self) -> float:
        for name, one in self._collections.open.items():
            with self._teaching.attempt(name):
                if one.reworded:
                    self._served.follow_texts(name)
                if one.stale:
                    self._served.follow_choice(name)
                elif one.campaign.lesson() is not None:
                    with self._collections.held(name) as kept:
                        self._teach_one(kept)
        return POLL_S

    def _look(self) -> float:
        """Load a collection that was never open, then rest for as long as that took; clean up after closed ones."""
        began = time.monotonic()
        more = self._cards.look_at_next()
        if self._collections.closed >= self._tidied + (TIDY if more else 1):
            self._tidied = self._collections.closed
            self._collections.let_go()
            gc.collect()  # an open collection has reference cycles
            give_back_freed_memory()
        return time.monotonic() - began if more else LOOK_S

    def _forget(self) -> float:
        """Delete the identities of a collection's participants after the last day on which it may keep them."""
        for name, one in self._collections.open.items():
            task = one.collection.assessor_task
            until = None if task is None else task.table.kept_until
            with self._forgetting.attempt(name):
                if until is not None and utc_now().date() > until and (count := self._open_links.forget(name)):
                    LOG.info("%s: forgot who %d people were, kept until %s", name, count, until)
        return FORGET_S

    def _teach_one(self, one: ServedCollection) -> None:
        lesson = one.campaign.lesson()
        if lesson is None or self._teaching.stopping.is_set():
            return
        learned = one.campaign.lessons.recall(lesson) or self._learned(lesson)
        while not self._teaching.stopping.is_set():
            try:
                one.campaign.teach(lesson.number, learned)
                give_back_freed_memory()
                break
            except RewoundError:
                break
            except StoreError:
                self._teaching.stopping.wait(POLL_S)

    def _learned(self, lesson: Lesson) -> RelevanceEstimator:
        """The estimator after learning; computed here if that is quick."""
        return self._errands.run_now(lambda: lesson.learned, lesson.shared) if lesson.long else lesson.learned()
