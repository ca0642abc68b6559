"""Outlook for organisers beside the ranking; it takes seconds, so it is made once for each state and kept."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock

import numpy as np

from audiosim.campaign import CampaignState
from audiosim.simulation.effort import SECONDS, SIMULATED_CAMPAIGNS, Effort, effort_from
from audiosim.simulation.remaining import REMAINING_DRAWS, Remaining, remaining
from audiosim.users.drift import Leaning, leanings
from service.history import MOMENTS, Course, History
from service.served import ServedCollection

HISTORY_S = 0.05
BESIDE_S = 1.0  # of a course, in one round beside the requests
LOOKED_AT_S = 60.0  # after it was asked for, a course goes on
REMAINING_S = 2.0
PLAN_S = 20.0
SLICE_S = 0.005
COARSE = 10
PLANNED_BATCH = 20  # as `audiosim plan` has it


class Leisure:
    """Time to work for, with a rest as long as the work after every few milliseconds: others are served in between.

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


class Outlook:
    """Outlook of a campaign: where it came from and how far it has to go."""

    def __init__(self, one: ServedCollection) -> None:
        self._one = one
        self._history = History(one, MOMENTS)
        self._looked_at = -math.inf
        self._lock = Lock()
        self._last: tuple[CampaignState, Remaining] | None = None
        self._plan: tuple[CampaignState, Effort] | None = None

    def is_of(self, one: ServedCollection | None) -> bool:
        """True if it is of this very collection, and not of one that was served before."""
        return self._one is one

    def course(self, seconds: float = HISTORY_S) -> Course:
        """Growth of the confidence, as far as it is known in no time; it goes on beside the requests, see `go_on`."""
        self._looked_at = time.monotonic()
        self._one.campaign.refresh()
        return self._history.course(Leisure(seconds))

    def go_on(self, proceed: Callable[[], bool]) -> None:
        """Work at a course that somebody looks at: whoever asks next finds it.

        proceed  asked before each moment whether to go on
        """
        if time.monotonic() < self._looked_at + LOOKED_AT_S:
            leisure = Leisure(BESIDE_S)
            self._history.course(lambda: proceed() and leisure())

    def remaining(self, seconds: float = REMAINING_S) -> tuple[CampaignState, Remaining]:
        """State of the campaign, and how many more judgments the model thinks that its goal takes.

        It is asked again after ten judgments, or after a whole batch where that is longer: many times faster than
        after each, and a few judgments late. It learns nothing from the judgments that it makes up.
        """
        with self._lock:
            self._one.campaign.refresh()
            current = self._one.campaign.current_state
            if self._last is None or self._last[0].number != current.number:
                rng = np.random.default_rng([self._one.judging.settings.seed, current.number])
                now = current.selection
                chosen = replace(now, batch=max(COARSE, now.batch))
                self._last = (
                    current,
                    remaining(chosen, self._one.judging.stopping_rule, rng, REMAINING_DRAWS, Leisure(seconds)),
                )
            return self._last

    def plan(self, listeners: int = 1, seconds: float = PLAN_S) -> tuple[CampaignState, Effort]:
        """State of the campaign, and the effort that its goal takes: what `audiosim plan` says of it now."""
        with self._lock:
            one, campaign = self._one, self._one.campaign
            campaign.refresh()
            current = campaign.current_state
            if self._plan is None or self._plan[0].number != current.number:
                rng = np.random.default_rng([one.judging.settings.seed, current.number])
                _, judgments = campaign.snapshot()
                chosen = replace(current.selection, batch=max(PLANNED_BATCH, current.selection.batch))
                found = effort_from(
                    replace(one.collection, judgments=judgments),
                    chosen,
                    one.judging.stopping_rule,
                    campaigns=SIMULATED_CAMPAIGNS,
                    seconds=campaign.pace().median_s or SECONDS,
                    listeners=1,
                    deeper=lambda pool: one.predictor(None, pool.cutoff).estimator.plain,
                    rng=rng,
                    proceed=Leisure(seconds),
                )
                self._plan = current, found
            return self._plan[0], replace(self._plan[1], listeners=listeners)

    def leanings(self) -> tuple[int, dict[str, Leaning]]:
        """The number of a state, and how the grades of each assessor lie in it."""
        campaign = self._one.campaign
        number, judgments = campaign.snapshot()
        selection = campaign.selection
        expectation, positions = selection.belief.expectation, selection.pool.positions
        expected = {pair: float(expectation[positions[pair]]) for pair in selection.graded}
        return number, leanings(judgments, self._one.collection.scale.maximum, expected)


class Outlooks:
    """The outlooks of a service that were asked for, one for each collection as it is served now."""

    def __init__(self) -> None:
        self._made: dict[str, Outlook] = {}
        self._making = Lock()

    def of(self, one: ServedCollection) -> Outlook:
        """The outlook of a collection, the same until that is served anew."""
        name = one.collection.identifier
        with self._making:
            found = self._made.get(name)
            if found is None or not found.is_of(one):
                found = self._made[name] = Outlook(one)
            return found

    def current(self, served: Mapping[str, ServedCollection]) -> list[tuple[str, Outlook]]:
        """Those of what is served now, by the collection's identifier; all others are forgotten."""
        with self._making:
            self._made = {name: one for name, one in self._made.items() if one.is_of(served.get(name))}
            return list(self._made.items())
