"""State of a campaign: the selection that follows from its log, and the lessons of its model."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from typing import NamedTuple, Protocol

from audiosim.campaign.changes import Change
from audiosim.campaign.stretch import Counter, Learning, Lesson, Stretch, lesson_until
from audiosim.relevance.estimators import RelevanceEstimator
from audiosim.relevance.moments import is_moment
from audiosim.selection import Selection

AT_ONCE = 100  # with more changes than this, restarting the selection is faster than updating it
KEPT = 2  # most estimators kept, besides the first
COUNT_S = 0.05  # time to wait for a count by another thread before a request is answered


class CampaignState(NamedTuple):
    """State of a campaign: the selection after a number of lines of its log.

    judgments  number of judgments in force on pairs of the pool; a pair judged by two assessors counts twice
    """

    number: int
    selection: Selection
    judgments: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a campaign.

    number     number of the last line of the log
    state      open, paused or closed
    judged     pairs of the pool with a judgment
    pool       pairs of the pool
    judgments  number of judgments in force; a pair judged by two assessors counts twice
    leased     pairs leased to an assessor now
    twice      pairs that wait for a second assessor
    dropped    pairs that left the queue, as too many assessors cannot judge them
    """

    number: int
    state: str
    judged: int
    pool: int
    judgments: int
    leased: int
    twice: int
    dropped: int


class Reach(Enum):
    """Limit of a count: judgments only; also available results of learning; everything, learning if needed."""

    JUDGMENTS = 0
    AT_HAND = 1
    ALL = 2


class LessonNotes(Protocol):
    """Store of estimators that have learned, to find earlier ones and keep new ones."""

    def recall(self, lesson: Lesson) -> RelevanceEstimator | None:
        """The estimator that learned a lesson; None if there is none."""
        ...

    def keep(self, lesson: Lesson, learned: RelevanceEstimator) -> None:
        """Keep an estimator that has learned."""
        ...


class Count:
    """Computes the state after the lines of a log; one thread may note lines while another counts them.

    Noting is quick; callers ensure that only one thread notes at a time. Counting asks the estimator, which may be
    slow. Any number of threads may request a count: one thread counts, and the state is that of the last counted line.
    """

    def __init__(
        self,
        first: Selection,
        estimator: RelevanceEstimator,
        judgments: int,
        notes: LessonNotes,
        ready: bool = False,
        count_long: Counter = Stretch.counted,
    ) -> None:
        """Begin before the first line.

        first      the selection before the first line, without any learning
        estimator  the estimator before it learns from any judgment
        judgments  number of the collection's own judgments on pairs of the pool
        notes      notes of lessons
        ready      True to compute a state's weights before it is visible, because many will request them at once
        count_long runs a slow count
        """
        self._notes, self._count_long = notes, count_long
        self._first, self._base, self._ready = first, estimator, ready
        self._long = False  # True during a long count
        self._noted = 0  # number of the last noted line
        self._changes: list[Change] = []  # changes of pairs in the pool
        self._judgments = [judgments]  # judgments in force, before the first change and after each
        self._learnings: list[Learning] = []
        self._moments: list[int] = []  # lines with a lesson
        self._judged, self._compared = first.judged, len(first.comparisons)
        self._counted, self._learned = 0, 0  # numbers of changes and learnings in the selection
        self._noting, self._counting = Lock(), Lock()
        self.current_state = CampaignState(0, first, judgments)
        self.chooser = first  # selection that chooses pairs: the latest that needs no further learning for that
        self._estimators = {0: first.estimator}

    def changes(self, after: int = 0) -> tuple[int, list[Change]]:
        """The number of the last line, and all changes until then after the first `after`."""
        with self._noting:
            return self._noted, self._changes[after:]

    def note(self, number: int, changes: Iterable[Change], anew: bool = False) -> None:
        """Note a line and the changes of pairs that follow from it.

        anew  True if the model must learn again because it learned from judgments that no longer count
        """
        with self._noting:
            for change in changes:
                self._note_change(change)
            if anew:
                self._moments.append(number)
            self._noted = number

    def note_learning(self, number: int, state: int) -> None:
        """Note a line that names the state from which the model has learned."""
        with self._noting:
            self._learnings.append(Learning(len(self._changes), number, state))
            self._noted = number

    def _note_change(self, change: Change) -> None:
        self._changes.append(change)
        if change.comparison is not None:
            self._judgments.append(self._judgments[-1])
            self._compared += change.more
            if change.more == 1 and is_moment(self._compared):
                self._moments.append(change.number)
            return
        self._judgments.append(self._judgments[-1] + change.more)
        self._judged += (change.assessors > 0) - (change.assessors > change.more)
        if change.assessors == change.more == 1 and is_moment(self._judged):
            self._moments.append(change.number)

    def lesson(self) -> Lesson | None:
        """Next lesson: first those named in the log, then new ones; None if there is none."""
        missing = [one.state for one in self._learnings[self._learned :] if one.state not in self._estimators]
        if not missing and self.unsaid and not self.knows(self.unsaid):
            missing = [self.unsaid]
        return self.lesson_of(missing[0]) if missing else None

    @property
    def unsaid(self) -> int:
        """The last line after which learning was due, if the log does not record it; else 0."""
        last = self._moments[-1] if self._moments else 0
        return 0 if any(one.state >= last for one in self._learnings[-1:]) else last

    def knows(self, state: int) -> bool:
        """True if an estimator has already learned from a state."""
        return state in self._estimators

    def teach(self, state: int, estimator: RelevanceEstimator) -> None:
        """Accept the estimator that learned from a state; the log records the line from which it counts."""
        self._estimators[state] = estimator

    def count(self, wait_s: float, reach: Reach = Reach.JUDGMENTS) -> bool:
        """Bring the state up to the last noted line; False if another thread is still busy with it after `patience_s`.

        reach  limit of the count: it stops at a line that requires learning, unless the limit includes that
        """
        while self._behind(reach):
            if not self._counting.acquire(timeout=wait_s):
                return False
            try:
                self._go_on(reach)
            finally:
                self._long = False
                self._counting.release()
        return True

    def count_soon(self) -> bool:
        """Count for a thread that answers requests: it leaves long work to others and does not wait for them."""
        many = len(self._changes) - self._counted > AT_ONCE
        return not (many or self._long) and self.count(COUNT_S)

    def _behind(self, reach: Reach) -> bool:
        waits = self._learned < len(self._learnings) and self._learnings[self._learned].place == self._counted
        if waits and self._ends(self._learnings[self._learned], reach):
            return self.current_state.number < self._learnings[self._learned].number - 1
        return self.current_state.number != self._noted

    def _ends(self, one: Learning, reach: Reach) -> bool:
        return reach is Reach.JUDGMENTS or (reach is Reach.AT_HAND and not self.knows(one.state))

    def _go_on(self, reach: Reach) -> None:
        """Count to the last line noted at the start, or to a lesson that is not available."""
        with self._noting:
            noted, end, learnings = self._noted, len(self._changes), self._learnings[:]
        stop = next((one for one in learnings[self._learned :] if self._ends(one, reach)), None)
        if stop is not None:
            noted, end = stop.number - 1, stop.place
            learnings = learnings[: learnings.index(stop)]
        begun: Selection | None = self.current_state.selection
        place, past = self._counted, self._learned
        self._long = end - place > AT_ONCE or past < len(learnings)
        if end - place > AT_ONCE:
            # After a whole batch only the grades count, not their order.
            begun, place = None, end - end % self._first.batch
            past = sum(one.place <= place for one in learnings)
        selection = self._counted_to(end, learnings, begun, place, past)
        self._counted, self._learned = end, len(learnings)
        self.current_state = CampaignState(noted, selection, self._judgments[end])
        if not self._ready or selection.knows_people:
            self.chooser = selection
        for state in sorted(self._estimators)[1:-KEPT]:
            del self._estimators[state]

    def _counted_to(
        self, end: int, learnings: list[Learning], begun: Selection | None, place: int, past: int
    ) -> Selection:
        """Selection after a number of changes and these learnings; for the rest see `Stretch`."""
        changes, known = self._changes[:end], dict(self._estimators)
        stretch = Stretch(
            self._first, self._base, known, begun, changes, learnings, place, past, self._ready, self._long
        )
        for state in known.keys() - stretch.needed:  # each takes tens of megabytes and may go to another process
            del known[state]
        for state in stretch.missing:
            if (found := self._notes.recall(stretch.lesson(state))) is not None:
                known[state] = found
        selection, learned = self._count_long(stretch) if self._long else stretch.counted()
        for state, estimator in learned.items():
            self._notes.keep(stretch.lesson(state), estimator)
        self._estimators |= known | learned
        return selection

    def prepare(self) -> None:
        """Let the current selection choose pairs, after learning the model of people that this needs.

        Nothing is done during a lesson, because its result includes that model.
        """
        selection = self.current_state.selection
        if not self.unsaid and self._learned == len(self._learnings) and not selection.knows_people:
            selection.weights_by(selection.panel.judges[0])
            # Others may have counted on meanwhile.
            self.chooser = now if (now := self.current_state.selection).knows_people else selection

    def lesson_of(self, state: int) -> Lesson:
        """Lesson of the state after a line."""
        return lesson_until(state, self._first, self._base, self._changes)
