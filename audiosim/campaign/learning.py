"""State of a campaign: the selection that follows from its log, and the lessons of its model."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from importlib import resources
from threading import Lock
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy
from scipy import sparse

import audiosim
from audiosim.campaign.state import Change, comparisons_after, judgments_after
from audiosim.collection.pool import Pool
from audiosim.collection.values import Judgment, PairedComparison, mean_grades
from audiosim.errors import StoreError
from audiosim.joint.estimators import (
    Relearning,
    RelevanceEstimator,
    Resuming,
    comparing,
    learned_from,
    relearned,
)
from audiosim.joint.moments import FIRST_LEARNING, comparisons_learned, is_moment, is_moment_of_comparing, last_moment
from audiosim.joint.people import Panel
from audiosim.ranking import Selection
from audiosim.stats.arrays import Array

# Stretch of a campaign's log and the selection at its end, as values that another process can compute with.


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
        estimator = comparing(self.estimator, self.comparisons, learn=True)
        return estimator if few else relearned(estimator, self.grades)

    @property
    def long(self) -> bool:
        """True if learning takes longer than starting a process for it."""
        judged = int(np.count_nonzero(~np.isnan(self.grades)))
        long = bool(self.comparisons) or takes_long(judged, 1, len(self.grades))
        return long and isinstance(self.estimator, Relearning)

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
        """Lines of the estimators needed for the count, at most one: 0 is before any lesson of the log."""
        anew = self.begun is None or self.past < len(self.learnings)
        return {self.learnings[-1].state if self.learnings else 0} if anew else set()

    @property
    def missing(self) -> list[int]:
        """Lines up to which an estimator must still learn."""
        return sorted(self.needed - self.known.keys())

    def counted(self) -> Counted:
        """Selection at the end; this may take seconds."""
        learned = {state: self.lesson(state).learned() for state in self.missing}
        selection, place = self._last_anew({**self.known, **learned})
        for change in self.changes[place:]:
            said = change.assessor, change.own
            selection = selection.judge(self.first.pool.positions[change.pair], change.grade, said)
        if self.ready:
            _ = selection.weights
            if self.stated:
                _ = selection.ranking.at_large
        return Counted(selection, learned)

    @property
    def shared(self) -> tuple[object, ...]:
        """Parts that the result refers to."""
        return self.first.pool, self.first.expected, *_and_its_parts(self.base)

    def _last_anew(self, known: Mapping[int, RelevanceEstimator]) -> tuple[Selection, int]:
        """The selection where it last begins anew, or at the beginning, and that place: earlier ones leave no trace."""
        # A result of learning counts from its place in the log, however late it is computed here, so that replays
        # agree. So does all that is not a new grade: expectation propagation needs the set of comparisons, not their
        # order, and a grade that is revised or withdrawn begins the selection anew.
        added = enumerate(self.changes[self.place :], self.place + 1)
        anew = [place for place, one in added if not one.new or one.comparison is not None]
        anew += [one.place for one in self.learnings[self.past :]]
        if self.begun is not None and not anew:
            return self.begun, self.place
        place, begun = max(anew, default=self.place), self.begun
        before = (begun.changes if begun else 0) - self.place
        estimators = [known[state] for state in self.needed] or ([begun.estimator] if begun else [])
        return self._anew(estimators[0], place, before + place), place

    def _anew(self, estimator: RelevanceEstimator, place: int, changes: int) -> Selection:
        """The selection after the changes before a place, from all grades at once, as after a whole batch."""
        judged = judgments_after(self.first.log or (), self.changes[:place])
        compared = comparisons_after(self.first.comparisons, self.changes[:place])
        found = self.first.anew(estimator, mean_grades(judged), Panel.of(self.first.pool, judged), compared)
        return replace(found, changes=changes)

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
    known = learned_from(first.pool, judgments_after(first.log or (), until))
    return Lesson(state, base, first.pool.spread(known), comparisons_after(first.comparisons, until))


Counter = Callable[[Stretch], Counted]


WORTHWHILE = 200  # changed grades; computing with more takes longer than starting a process
OF_PEOPLE = 50_000  # the same limit for rankings from each person's answers: pairs times people
AT_ONCE = 100  # with more changes than this, restarting the selection is faster than updating it
KEPT = 2  # most estimators kept, besides the first
COUNT_S = 0.05  # time to wait for a count by another thread before a request is answered


def takes_long(answers: int, people: int, pairs: int) -> bool:
    """True if computing from answers by some people takes longer than starting a process, or hundreds of megabytes."""
    return answers >= WORTHWHILE or people * pairs >= OF_PEOPLE


class CampaignState(NamedTuple):
    """State of a campaign: the selection after a number of lines of its log."""

    number: int
    selection: Selection

    @property
    def judgments(self) -> int:
        """Number of judgments in force on pairs of the pool; a pair judged by two assessors counts twice."""
        return len(self.selection.panel.place)


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


class Count:
    """Computes the state after the lines of a log; one thread may note lines while another counts them.

    Noting is quick; callers ensure that only one thread notes at a time. Counting asks the estimator, which may be
    slow. Any number of threads may request a count: one thread counts, and the state is that of the last counted line.
    """

    def __init__(
        self,
        first: Selection,
        estimator: RelevanceEstimator,
        notes: "Lessons",
        ready: bool = False,
        count_long: Counter = Stretch.counted,
    ) -> None:
        """Begin before the first line.

        first      the selection before the first line, without any learning
        estimator  the estimator before it learns from any judgment
        notes      notes of lessons
        ready      True to compute a state's weights before it is visible, because many will request them at once
        count_long runs a slow count
        """
        self._notes, self._count_long = notes, count_long
        self._first, self._base, self._ready = first, estimator, ready
        self._long = False  # True during a long count, and until another thread does what a request left to it
        self._noted = 0  # number of the last noted line
        self._changes: list[Change] = []  # changes of pairs in the pool
        self._learnings: list[Learning] = []
        self._moments: list[int] = []  # lines with a lesson
        self._judged, self._compared = first.judged, len(first.comparisons)
        self._bound = 0  # last line of the grades that models learn from
        self._comparers = {one.assessor for one in first.comparisons}
        self._counted, self._learned = 0, 0  # numbers of changes and learnings in the selection
        self._noting, self._counting = Lock(), Lock()
        # A copy, so that what is computed about the first state goes when the next is counted.
        self.current_state = CampaignState(0, replace(first))
        # Selection that chooses pairs: the latest that needs no further learning for that.
        self.chooser = self.current_state.selection
        self._estimators = {0: first.estimator}

    def changes(self, after: int = 0) -> tuple[int, list[Change]]:
        """The number of the last line, and all changes until then after the first `after`."""
        with self._noting:
            return self._noted, self._changes[after:]

    def note(self, number: int, changes: Iterable[Change]) -> None:
        """Note a line and the changes of pairs that follow from it."""
        with self._noting:
            begun, graded = len(self._changes), last_moment(self._judged)
            for change in changes:
                self._note_change(change)
            # Whatever is not new may change what was learned from: the grades up to `bound`, or the comparisons.
            old = [change for change in self._changes[begun:] if not change.new]
            within = [one for one in old if one.comparison is None and one.answered <= self._bound]
            due = bool(old and ((graded and within) or graded != last_moment(self._judged)))
            if due and any(one.more for one in old):
                self._bound = number  # or earlier: then models learn the same once more
            if any(one.comparison for one in old):
                held = [comparisons_after(self._first.comparisons, self._changes[:end]) for end in (begun, None)]
                self._comparers = {one.assessor for one in held[1]}
                before, after = (some[: comparisons_learned(some)] for some in held)
                due |= before != after
            if due:
                self._moments.append(number)
            self._noted = number

    def note_learning(self, number: int, state: int) -> None:
        """Note a line that names the state from which the model has learned.

        It counts if that is a moment of learning here: the log may have begun without the collection's judgments.
        """
        with self._noting:
            if state in self._moments:
                self._learnings.append(Learning(len(self._changes), number, state))
            self._noted = number

    def _note_change(self, change: Change) -> None:
        self._changes.append(change)
        if change.comparison is not None:
            self._compared += change.more
            another = change.comparison.assessor not in self._comparers
            self._comparers.add(change.comparison.assessor)
            due = is_moment_of_comparing(self._compared, another)
        else:
            self._judged += (change.assessors > 0) - (change.assessors > change.more)
            due = change.assessors == 1 and is_moment(self._judged)
        if due and change.new:
            self._moments.append(change.number)
            self._bound = change.number if change.comparison is None else self._bound

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

    def count(self, wait_s: float, reach: Reach = Reach.JUDGMENTS, soon: bool = False) -> bool:
        """Bring the state up to the last noted line; False if another thread is still busy with it after `wait_s`.

        reach  limit of the count: it stops at a line that requires learning, unless the limit includes that
        soon   False also if a model of many people must be learned first, which is left to another thread
        """
        while self._behind(reach):
            if not self._counting.acquire(timeout=wait_s):
                return False
            left = False
            try:
                left = not self._go_on(reach, soon)
            finally:
                self._long = left
                self._counting.release()
            if left:
                return False
        return True

    def count_soon(self) -> bool:
        """Count for a thread that answers requests: it leaves long work to others and does not wait for them."""
        many = len(self._changes) - self._counted > AT_ONCE
        return not (many or self._long) and self.count(COUNT_S, soon=True)

    def _behind(self, reach: Reach) -> bool:
        waits = self._learned < len(self._learnings) and self._learnings[self._learned].place == self._counted
        if waits and self._ends(self._learnings[self._learned], reach):
            return self.current_state.number < self._learnings[self._learned].number - 1
        return self.current_state.number != self._noted

    def _ends(self, one: Learning, reach: Reach) -> bool:
        return reach is Reach.JUDGMENTS or (reach is Reach.AT_HAND and not self.knows(one.state))

    def _go_on(self, reach: Reach, soon: bool) -> bool:
        """Count to the last line noted at the start, or to a lesson that is not available; False as for `count`."""
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
        if (
            self._ready
            and not selection.knows_people
            and takes_long(0, len(selection.panel.judges), len(selection.pool.pairs))
        ):
            if soon:
                return False
            self._long = True
            selection = self._counted_to(end, learnings, selection, end, len(learnings))
        self._counted, self._learned = end, len(learnings)
        self.current_state = CampaignState(noted, selection)
        if not self._ready or selection.knows_people:
            self.chooser = selection
        for state in sorted(self._estimators)[1:-KEPT]:
            del self._estimators[state]
        return True

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


# Stored lessons: results of learning saved beside the log, so that reopening it does not repeat the learning.
#
# The key of a lesson is the digest of everything it depends on: the estimator's previous state, to the last bit, the
# grades, and the learning code. If any of these differs, the lesson is learned again.


LEARNING = ("audiosim.joint", "audiosim.stats")  # packages with code that affects the result


@runtime_checkable
class Notebook(Protocol):
    """A store for notes, by key, beside a log."""

    def note(self, key: str) -> str | None:
        """The note with a key, or None."""
        ...

    def write_note(self, key: str, text: str) -> None:
        """Store a note; old ones may be dropped."""
        ...


class Lessons:
    """Lessons of a campaign, looked up beside its log before they are learned.

    The notes only save time: without access to them everything works the same.
    """

    def __init__(self, store: object) -> None:
        self._notes = store if isinstance(store, Notebook) else None

    def after(self, pool: Pool, estimator: RelevanceEstimator, judgments: Iterable[Judgment]) -> RelevanceEstimator:
        """The estimator after learning from judgments made before the log began, in their order."""
        first = learned_from(pool, tuple(judgments))
        return self.learned(Lesson(0, estimator, pool.spread(first), pool.comparisons)) if first else estimator

    def learned(self, lesson: Lesson) -> RelevanceEstimator:
        """The estimator after a lesson: from the note, or learned now, which may take seconds, and noted."""
        found = self.recall(lesson)
        if found is None:
            found = lesson.learned()
            self.keep(lesson, found)
        return found

    def recall(self, lesson: Lesson) -> RelevanceEstimator | None:
        """The estimator after a lesson, from its note, or None."""
        if self._notes is None or not isinstance(lesson.estimator, Resuming):
            return None
        with suppress(StoreError):
            text = self._notes.note(lesson_key(lesson))
            if text is None:
                return None
            estimator = comparing(lesson.estimator, lesson.comparisons)
            return estimator.resumed(lesson.grades, json.loads(text)) if isinstance(estimator, Resuming) else None
        return None

    def keep(self, lesson: Lesson, learned: RelevanceEstimator) -> None:
        """Store the result of a lesson."""
        if self._notes is None or not isinstance(lesson.estimator, Resuming) or not isinstance(learned, Resuming):
            return
        with suppress(StoreError):
            self._notes.write_note(lesson_key(lesson), json.dumps(learned.learned))


def lesson_key(lesson: Lesson) -> str:
    """SHA-256 of everything a lesson depends on, hexadecimal."""
    assert isinstance(lesson.estimator, Resuming)
    digest = hashlib.sha256(_program().encode())
    _take_in(digest, lesson.estimator.basis)
    _take_in(digest, lesson.grades)
    if lesson.comparisons:
        _take_in(digest, lesson.comparisons)
    return digest.hexdigest()


def _take_in(digest: Any, value: Any) -> None:
    """Feed a value, its type and its structure to a digest; an unknown type is an error."""
    # Type and length go in first, so that no two structures feed the same bytes.
    digest.update(f"{type(value).__name__}:".encode())
    if is_dataclass(value):
        for field in fields(value):
            _take_in(digest, getattr(value, field.name))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, sparse.csr_array):
        _take_in(digest, (value.shape, value.indptr, value.indices, value.data))
    elif isinstance(value, Mapping):
        _take_in(digest, tuple(value.items()))
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)}".encode())
        for one in value:
            _take_in(digest, one)
    elif value is None or isinstance(value, str | float | int | np.generic):
        digest.update(repr(value).encode())
    else:
        raise TypeError(f"no digest of a {type(value).__name__}")


@cache
def _program() -> str:
    """Digest of the learning code and of the versions of its dependencies."""
    # Other versions may round differently, and a replayed campaign must equal the original to the last bit.
    digest = hashlib.sha256(f"{audiosim.__version__} {np.__version__} {scipy.__version__}".encode())
    for package in LEARNING:
        with resources.as_file(resources.files(package)) as folder:
            for file in sorted(folder.rglob("*.py")):
                digest.update(file.read_bytes())
    return digest.hexdigest()
