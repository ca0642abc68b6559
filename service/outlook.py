"""Outlook for organisers beside the ranking; it takes seconds, so it is made once for each state and kept."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from audiosim.campaign import CampaignState
from audiosim.simulation.effort import SECONDS, SIMULATED_CAMPAIGNS, Effort, effort_from
from audiosim.simulation.remaining import REMAINING_DRAWS, Remaining, remaining
from audiosim.users.drift import Leaning, leanings
from service.history import MOMENTS, Course, History
from service.served import ServedCollection

Found = TypeVar("Found")
HISTORY_S = 0.05
BESIDE_S = 1.0  # of a course, in one round beside the requests
LOOKED_AT_S = 60.0  # after it was asked for, a course goes on, and an estimate is told though it is not the latest
FIRST_LOOK = 2  # campaigns that somebody waits for
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


class Lookahead(Generic[Found]):
    """Result that takes seconds to work out of a campaign's state, while judgments go on to come.

    Who asks within a minute of the last is told the last at once, and the next is worked out beside the requests;
    anybody else waits for that of the state now, as the last may be of long ago. They wait for a preliminary one, of
    FIRST_LOOK campaigns; all are played beside the requests.

    make     works it out of a state, playing so many campaigns at most, and asks whether there is time left
    most     campaigns that are played
    seconds  of a thread's work that it may take
    """

    def __init__(
        self,
        one: ServedCollection,
        make: Callable[[CampaignState, Callable[[], bool], int], Found],
        most: int,
        seconds: float,
    ) -> None:
        self._one, self._make, self._most, self._seconds = one, make, most, seconds
        self.preliminary = False  # whether the last is
        self._last: tuple[CampaignState, Found] | None = None
        self._looked_at = -math.inf
        self._answers = self._followed = 0  # answers at once, and those after which the next was worked out
        self._working = Lock()  # who is told the last does not wait for it

    def at_hand(self) -> tuple[CampaignState, Found] | None:
        """The last, and the state that it is of; None where somebody has to wait. It goes on, see `go_on`."""
        if time.monotonic() >= self._looked_at + LOOKED_AT_S:
            return None
        self._looked_at = time.monotonic()
        self._answers += 1
        return self._last

    def worked_out(self, seconds: float | None = None) -> tuple[CampaignState, Found]:
        """That of the state now, worked out once for each state, and perhaps preliminary."""
        found = self._work_out(Leisure(self._seconds if seconds is None else seconds), FIRST_LOOK)
        self._looked_at = time.monotonic()
        self._answers += self.preliminary
        return found

    def go_on(self, proceed: Callable[[], bool]) -> None:
        """Work out the next where somebody was told the last.

        proceed  asked again and again whether to go on
        """
        answers = self._answers
        if answers > self._followed:
            leisure = Leisure(self._seconds)
            self._work_out(lambda: proceed() and leisure(), self._most)
            self._followed = answers  # only now: what failed is tried again

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
    """Outlook of a campaign: where it came from and how far it has to go.

    remaining  how many more judgments the model thinks that the goal takes
    plan       the effort that the goal takes one listener
    """

    def __init__(self, one: ServedCollection) -> None:
        self._one = one
        self._history = History(one, MOMENTS)
        self._looked_at = -math.inf
        self.remaining = Lookahead(one, self._remaining, REMAINING_DRAWS, REMAINING_S)
        self.plan = Lookahead(one, self._plan, SIMULATED_CAMPAIGNS, PLAN_S)

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

    def _remaining(self, current: CampaignState, proceed: Callable[[], bool], campaigns: int) -> Remaining:
        """The number of judgments that the goal still takes, in the model's opinion.

        It is asked again after ten judgments, or after a whole batch where that is longer: many times faster than
        after each, and a few judgments late. It learns nothing from the judgments that it makes up.
        """
        rng = np.random.default_rng([self._one.judging.settings.seed, current.number])
        chosen = replace(current.selection, batch=max(COARSE, current.selection.batch))
        return remaining(chosen, self._one.judging.stopping_rule, rng, campaigns, proceed)

    def _plan(self, current: CampaignState, proceed: Callable[[], bool], campaigns: int) -> Effort:
        """The effort that the goal takes one listener: what `audiosim plan` says of the state."""
        one, campaign = self._one, self._one.campaign
        rng = np.random.default_rng([one.judging.settings.seed, current.number])
        _, judgments = campaign.snapshot()
        chosen = replace(current.selection, batch=max(PLANNED_BATCH, current.selection.batch))
        return effort_from(
            replace(one.collection, judgments=judgments),
            chosen,
            one.judging.stopping_rule,
            campaigns=campaigns,
            seconds=campaign.pace().median_s or SECONDS,
            listeners=1,
            deeper=lambda pool: one.predictor(None, pool.cutoff).estimator.plain,
            rng=rng,
            proceed=proceed,
        )

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
