"""Stretch of a campaign's log and the selection at its end, as values that another process can compute with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from audiosim.arrays import Array
from audiosim.campaign.changes import Change, ComparisonsInForce, comparisons_after, grades_after, panel_after
from audiosim.corpus.model import PairedComparison
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.moments import FIRST_LEARNING
from audiosim.relevance.relearning import after_comparisons, relearned
from audiosim.selection import Selection


@dataclass(frozen=True, eq=False)
class Lesson:
    """Material that a campaign's model learns from: the grades after a line of the log.

    number     number of that line
    estimator  estimator before it learns from any judgment of the log
    grades     (n,) grades of the pool's pairs, NaN where unjudged
    comparisons  comparisons at that time
    """

    number: int
    estimator: RelevanceEstimator
    grades: Array
    comparisons: tuple[PairedComparison, ...] = ()

    def learned(self) -> RelevanceEstimator:
        """The estimator that has learned, which may take seconds; the given one if too few judgments are left."""
        few = np.count_nonzero(~np.isnan(self.grades)) < FIRST_LEARNING
        estimator = after_comparisons(self.estimator, self.comparisons)
        return estimator if few else relearned(estimator, self.grades)

    @property
    def shared(self) -> tuple[object, ...]:
        """Parts that the learned estimator refers to."""
        return _and_its_parts(self.estimator)


class Learning(NamedTuple):
    """Mark in the log: from here on, the estimator that learned from the state after a line is used."""

    place: int  # index among the changes
    number: int
    state: int


class Counted(NamedTuple):
    """Selection at the end of a stretch, with the estimators learned on the way, by their lines."""

    selection: Selection
    learned: dict[int, RelevanceEstimator]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Stretch of a log to count.

    first      the selection before the log
    base       the estimator before it learns from any judgment of the log
    known      estimators that have learned, by the last line that they learned from
    begun      the selection at the beginning; None to start from scratch there, as after a whole batch
    changes    changes of grades, all from the start of the log to the end of the stretch
    learnings  likewise
    place      number of changes before the stretch
    past       number of learnings before it
    ready      True to compute the selection's weights, because many will request them at once
    stated     True to compute its ranking, which is needed next
    """

    first: Selection
    base: RelevanceEstimator
    known: Mapping[int, RelevanceEstimator]
    begun: Selection | None
    changes: Sequence[Change]
    learnings: Sequence[Learning]
    place: int
    past: int
    ready: bool
    stated: bool

    @property
    def needed(self) -> set[int]:
        """Lines of the estimators needed for the count: 0 is before any lesson of the log."""
        at_start = {self.learnings[self.past - 1].state if self.past else 0} if self.begun is None else set()
        return at_start | {one.state for one in self.learnings[self.past :]}

    @property
    def missing(self) -> list[int]:
        """Lines up to which an estimator must still learn."""
        return sorted(self.needed - self.known.keys())

    def counted(self) -> Counted:
        """Selection at the end; this may take seconds."""
        learned = {state: self.lesson(state).learned() for state in self.missing}
        known, place, past = {**self.known, **learned}, self.place, self.past
        selection = self._start(known) if self.begun is None else self.begun
        held, taken = ComparisonsInForce(self.first.comparisons), 0
        while place < len(self.changes) or past < len(self.learnings):
            # A result of learning counts from its place in the log, however late it is computed here, so that replays
            # agree.
            if past < len(self.learnings) and self.learnings[past].place == place:
                selection, past = selection.taught(known[self.learnings[past].state]), past + 1
            else:
                change = self.changes[place]
                # All comparisons up to the next learning in one step: expectation propagation needs their set, not
                # their order.
                if change.comparison is not None:
                    end = self._last_compared(place, past)
                    held.take(self.changes[taken:end])
                    selection, place, taken = selection.compared(held.ordered(), end - place), end, end
                    continue
                said = change.assessor, change.own
                selection = selection.judge(self.first.pool.positions[change.pair], change.grade, said)
                place += 1
        if self.ready:
            _ = selection.weights
            if self.stated:
                _ = selection.ranking.at_large
        return Counted(selection, learned)

    @property
    def shared(self) -> tuple[object, ...]:
        """Parts that the result refers to."""
        return self.first.pool, self.first.expected, *_and_its_parts(self.base)

    def _last_compared(self, place: int, past: int) -> int:
        """The end of consecutive comparisons from a place, without learning in between: one step counts them."""
        stop = self.learnings[past].place if past < len(self.learnings) else len(self.changes)
        while place < stop and self.changes[place].comparison is not None:
            place += 1
        return place

    def _start(self, known: Mapping[int, RelevanceEstimator]) -> Selection:
        # Starting from scratch predicts from all grades at once, like the original campaign after a whole batch.
        state = self.learnings[self.past - 1].state if self.past else 0
        changes = self.changes[: self.place]
        panel = panel_after(self.first.panel, self.first.pool, changes)
        compared = comparisons_after(self.first.comparisons, changes)
        return self.first.anew(known[state], grades_after(self.first.graded, changes), panel, compared)

    def lesson(self, state: int) -> Lesson:
        """Lesson of the state after a line."""
        return lesson_until(state, self.first, self.base, self.changes)


def _and_its_parts(estimator: RelevanceEstimator) -> tuple[object, ...]:
    # An estimator that has learned shares the pool and the prior of the one before it.
    return estimator, *(part for part in getattr(estimator, "__dict__", {}).values() if part is not None)


def lesson_until(state: int, first: Selection, base: RelevanceEstimator, changes: Sequence[Change]) -> Lesson:
    """Lesson of the state after a line.

    first, base, changes  as of `Stretch`
    """
    until = [change for change in changes if change.number <= state]
    grades = first.pool.spread(grades_after(first.graded, until))
    return Lesson(state, base, grades, comparisons_after(first.comparisons, until))


Counter = Callable[[Stretch], Counted]
