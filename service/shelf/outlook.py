"""Outlook for organisers, beside the ranking; as it takes seconds, it is computed once per state and cached."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from audiosim.campaign import CampaignState
from audiosim.service.shelf.confidence_history import MOMENTS, Course, History
from audiosim.service.shelf.recent_changes import RecentChanges, changes_since
from audiosim.service.shelf.served_collection import ServedCollection
from audiosim.simulation.effort import SIMULATED_CAMPAIGNS, Effort, effort_from, usual_seconds
from audiosim.simulation.remaining_judgments import REMAINING_DRAWS, Remaining, remaining
from audiosim.users.leanings import Leaning, leanings

Found = TypeVar("Found")
HISTORY_S = 0.05
BESIDE_S = 1.0  # per background round of computing a course
LOOKED_AT_S = 60.0  # after a request; in this time a course is continued, and an older estimate may be returned
FIRST_LOOK = 2  # campaigns simulated while a request waits
REMAINING_S = 2.0
PLAN_S = 20.0
SLICE_S = 0.005
COARSE = 10
PLANNED_BATCH = 20  # as in `audiosim plan`


class Leisure:
    """Time budget for background work; every few milliseconds it rests as long as it worked, to serve others.

    seconds  of this thread's work
    """

    def __init__(self, seconds: float, slice_s: float = SLICE_S) -> None:
        self._slice_s = slice_s
        self._since = time.thread_time()
        self._end = self._since + seconds

    def __call__(self) -> bool:
        """True if there is time left."""
        worked = time.thread_time() - self._since
        if worked > self._slice_s:
            time.sleep(worked)
            self._since = time.thread_time()
        return time.thread_time() < self._end


class Lookahead(Generic[Found]):
    """Slow result computed from a campaign's state while judging goes on.

    A request within a minute of the last one gets the last result at once, and the next is computed in the background.
    Any other request waits for a result about the current state, as the last may be old: a preliminary one, of
    FIRST_LOOK campaigns. All campaigns are simulated in the background.

    make     computes it from a state, with a largest number of campaigns, and with checks for time left
    most     number of campaigns to simulate
    seconds  time limit for a thread's work on it
    """

    def __init__(
        self,
        one: ServedCollection,
        make: Callable[[CampaignState, Callable[[], bool], int], Found],
        most: int,
        seconds: float,
    ) -> None:
        self._one, self._make, self._most, self._seconds = one, make, most, seconds
        self.preliminary = False  # True if the last result is preliminary
        self._last: tuple[CampaignState, Found] | None = None
        self._looked_at = -math.inf
        self._answers = self._followed = 0  # immediate answers, and how many of them a new result has followed
        self._working = Lock()  # not needed to return the last result

    def at_hand(self) -> tuple[CampaignState, Found] | None:
        """The last result and its state; None if the request has to wait. `go_on` continues the work."""
        if time.monotonic() >= self._looked_at + LOOKED_AT_S:
            return None
        self._looked_at = time.monotonic()
        self._answers += 1
        return self._last

    def worked_out(self, seconds: float | None = None) -> tuple[CampaignState, Found]:
        """The result for the current state, computed once per state; it may be preliminary."""
        found = self._work_out(Leisure(self._seconds if seconds is None else seconds), FIRST_LOOK)
        self._looked_at = time.monotonic()
        self._answers += self.preliminary
        return found

    def go_on(self, proceed: Callable[[], bool]) -> None:
        """Compute the next result if the last one was returned to a request.

        proceed  called repeatedly; True to continue
        """
        answers = self._answers
        if answers > self._followed:
            leisure = Leisure(self._seconds)
            self._work_out(lambda: proceed() and leisure(), self._most)
            self._followed = answers  # only after success: a failure is retried

    def _work_out(self, proceed: Callable[[], bool], campaigns: int) -> tuple[CampaignState, Found]:
        with self._working:
            self._one.campaign.refresh()
            current, preliminary = self._one.campaign.current_state, campaigns < self._most
            known = self._last is not None and self._last[0].number == current.number
            if not known or self.preliminary > preliminary:
                self._last = current, self._make(current, proceed, campaigns)
                self.preliminary = preliminary
            assert self._last is not None
            return self._last


class Outlook:
    """Outlook of a campaign: its course so far, and the effort left.

    remaining  the model's estimate of the judgments until the stopping rule is met
    plan       effort of one listener until the stopping rule is met
    """

    def __init__(self, one: ServedCollection) -> None:
        self._one = one
        self._history = History(one, MOMENTS)
        self._looked_at = -math.inf
        self._selection_at = lru_cache(maxsize=2)(self._history.selection_at)
        self.remaining = Lookahead(one, self._remaining, REMAINING_DRAWS, REMAINING_S)
        self.plan = Lookahead(one, self._plan, SIMULATED_CAMPAIGNS, PLAN_S)

    def is_of(self, one: ServedCollection | None) -> bool:
        """True if it belongs to this very collection, not to one served before."""
        return self._one is one

    def course(self, seconds: float = HISTORY_S) -> Course:
        """Growth of the confidence, as far as it has been computed; `go_on` continues it in the background."""
        self._looked_at = time.monotonic()
        self._one.campaign.refresh()
        return self._history.course(Leisure(seconds))

    def since(self, moment: datetime) -> RecentChanges:
        """Changes since a moment."""
        return changes_since(self._one, moment, self._selection_at)

    def go_on(self, proceed: Callable[[], bool]) -> None:
        """Continue the course that a client watches, for the client's next request.

        proceed  called before each moment; True to continue
        """
        if time.monotonic() < self._looked_at + LOOKED_AT_S:
            leisure = Leisure(BESIDE_S)
            self._history.course(lambda: proceed() and leisure())

    def _remaining(self, current: CampaignState, proceed: Callable[[], bool], campaigns: int) -> Remaining:
        """The model's estimate of the judgments until the stopping rule is met.

        Simulations predict again after ten judgments, or after a whole batch if that is longer. This is much faster
        than after each judgment, and ends a few judgments late. The model does not learn from the simulated judgments.
        """
        rng = np.random.default_rng([self._one.judging.settings.seed, current.number])
        chosen = replace(current.selection, batch=max(COARSE, current.selection.batch))
        return remaining(chosen, self._one.judging.stopping_rule, rng, campaigns, proceed)

    def _plan(self, current: CampaignState, proceed: Callable[[], bool], campaigns: int) -> Effort:
        """Effort of one listener to reach the goal, as in `audiosim plan`."""
        one, campaign = self._one, self._one.campaign
        rng = np.random.default_rng([one.judging.settings.seed, current.number])
        _, judgments = campaign.snapshot()
        chosen = replace(current.selection, batch=max(PLANNED_BATCH, current.selection.batch))
        return effort_from(
            replace(one.collection, judgments=judgments),
            chosen,
            one.judging.stopping_rule,
            campaigns=campaigns,
            seconds=usual_seconds(campaign.pace()),
            listeners=1,
            deeper=lambda pool: one.predictor(None, pool.cutoff).estimator.plain,
            rng=rng,
            proceed=proceed,
        )

    def leanings(self) -> tuple[int, dict[str, Leaning]]:
        """The number of a state, and the leaning of each assessor in it."""
        campaign = self._one.campaign
        number, judgments = campaign.snapshot()
        selection = campaign.selection
        belief, positions = selection.belief, selection.pool.positions
        expectation = belief.probabilities @ belief.level_grades  # from the other judgments
        expected = {pair: float(expectation[positions[pair]]) for pair in selection.graded}
        return number, leanings(judgments, self._one.collection.scale.maximum, expected)


class Outlooks:
    """The requested outlooks of a service, one per collection as currently served."""

    def __init__(self) -> None:
        self._made: dict[str, Outlook] = {}
        self._making = Lock()

    def of(self, one: ServedCollection) -> Outlook:
        """The outlook of a collection, the same object until the collection is replaced."""
        name = one.collection.identifier
        with self._making:
            found = self._made.get(name)
            if found is None or not found.is_of(one):
                found = self._made[name] = Outlook(one)
            return found

    def current(self, served: Mapping[str, ServedCollection]) -> list[tuple[str, Outlook]]:
        """Outlooks of the served collections, by identifier; all others are dropped."""
        with self._making:
            self._made = {name: one for name, one in self._made.items() if one.is_of(served.get(name))}
            return list(self._made.items())
