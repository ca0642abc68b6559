"""Ledger of a campaign: the state after all lines of its log."""

import math
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from audiosim.campaign.event import (
    ADJUDICATION,
    ANSWERS,
    ASIDE,
    LEASES,
    MODEL,
    QUESTIONNAIRE,
    RUSHED,
    STATES,
    WORDS,
    Event,
    Record,
    name_key,
    normal_name,
    parse_time,
)
from audiosim.campaign.timing import Listening, SecondsTaken
from audiosim.collection.values import Judgment, Pair, PairedComparison, Scale, mean_grade
from audiosim.errors import InputError

# Comparisons in a campaign's log: those handed out, and the valid answers.


What = TypeVar("What", bound=Hashable)
Said = TypeVar("Said")
Compares = tuple[str, str, frozenset[str]]  # assessor, query, and the two documents in either order


class ComparisonLease(NamedTuple):
    """A comparison leased to an assessor until a time."""

    query: str
    document_a: str
    document_b: str
    assessor: str
    until: datetime


def what_compares(one: PairedComparison) -> Compares:
    """Person, query and documents of a comparison, in whichever order the documents are shown."""
    return one.assessor, one.query, frozenset((one.document_a, one.document_b))


class Comparisons:
    """Comparisons of a campaign, line by line of its log.

    The last answer of an assessor about two documents that was not withdrawn is valid; the collection's own comparisons
    count as answers before all others.
    """

    def __init__(self, own: Iterable[PairedComparison] = ()) -> None:
        self._own = {what_compares(one): one for one in own}
        self._answers: dict[Compares, dict[int, Event]] = {}  # answers not withdrawn, oldest first
        self._leases: dict[Compares, ComparisonLease] = {}
        self._handed: dict[Compares, float] = {}  # time of first handing out, in seconds since 1970
        self._shown: dict[tuple[Pair, str], float] = {}  # the same of each pair in them, by person

    def answer(self, number: int, event: Event) -> None:
        """Add an answer."""
        what = what_compares(event.comparison)
        self._answers.setdefault(what, {})[number] = event
        self._leases.pop(what, None)

    def undo(self, number: int, event: Event) -> None:
        """Withdraw an answer, the event of a line."""
        self._answers[what_compares(event.comparison)].pop(number, None)

    def revises(self, number: int, event: Event) -> bool:
        """True if another answer would be valid without this one, the event of a line."""
        what = what_compares(event.comparison)
        return what in self._own or [*self._answers[what]] != [number]

    def hand(self, event: Event) -> None:
        """Add a lease."""
        one = event.comparison
        what = what_compares(one)
        began = parse_time(event.time).timestamp()
        self._handed.setdefault(what, began)
        for pair in one.pairs:
            self._shown.setdefault((pair, one.assessor), began)
        self._leases.pop(what, None)
        until = parse_time(event.until)
        self._leases[what] = ComparisonLease(one.query, one.document_a, one.document_b, one.assessor, until)

    def holding(self, what: Compares) -> PairedComparison | None:
        """The valid answer; None if there is none."""
        last = next(reversed(self._answers.get(what, {}).values()), None)
        if last is None:
            return self._own.get(what)
        return last.comparison if last.counts else None

    def number(self, what: Compares) -> int:
        """Line of the last answer that was not withdrawn; 0 without any, when the collection's own is valid."""
        return next(reversed(self._answers.get(what, {})), 0)

    def of(self, assessor: str) -> Collection[Compares]:
        """All comparisons that a person made and did not withdraw."""
        answered = (what for what, by in self._answers.items() if by)
        return dict.fromkeys(what for what in (*self._own, *answered) if what[0] == assessor)

    def handed(self, event: Event) -> float | None:
        """Time at which a comparison was first handed to its assessor, in seconds since 1970; None: never."""
        return self._handed.get(what_compares(event.comparison))

    def shown(self, pair: Pair, assessor: str) -> float | None:
        """Time at which a pair was first handed to a person in a comparison, in seconds since 1970; None: never."""
        return self._shown.get((pair, assessor))

    def leases(self, now: datetime) -> list[ComparisonLease]:
        """The current leases, in the order in which they were handed out."""
        return [lease for lease in self._leases.values() if lease.until > now]

    def in_force(self, aside: Container[str] = ()) -> tuple[PairedComparison, ...]:
        """The valid comparisons, the collection's own first, then in the order in which they were made.

        aside  people whose answers do not count
        """
        last = {what: next(reversed(by)) for what, by in self._answers.items() if by}
        own = [what for what in self._own if what not in last]
        found = (self.holding(what) for what in (*own, *sorted(last, key=last.__getitem__)) if what[0] not in aside)
        return tuple(one for one in found if one is not None)


# Changes caused by the lines of a campaign's log, and the judgments and comparisons after them.


class Change(NamedTuple):
    """Change of a pair's grade, or of its assessors: the effect of a log line on the belief.

    A line that sets a person aside gives one change for each pair that they judged.

    number     number of the line
    pair       pair of any pool
    grade      mean over the assessors with a valid judgment of it from here on; NaN without any
    assessors  number of these assessors
    more       difference to the previous number: -1, 0 or 1
    assessor   person with the changed judgment
    own        their grade of it from here on; NaN: none
    comparison  answer to a comparison, valid from here on, instead of a grade: `pair` is then its first pair
    withdrawn  True if this answer is no longer valid
    answered   line of this answer, of a revised grade that of the first answer; 0: the collection's own
    """

    number: int
    pair: Pair
    grade: float
    assessors: int
    more: int
    assessor: str = ""
    own: float = math.nan
    comparison: PairedComparison | None = None
    withdrawn: bool = False
    answered: int = 0

    @property
    def new(self) -> bool:
        """True if this adds an answer behind all others; else it revises or withdraws one, or brings one back."""
        return self.more == 1 and self.answered == self.number


def judgments_after(own: Iterable[Judgment], changes: Iterable[Change]) -> list[Judgment]:
    """Valid judgments after all changes so far, in the order of an export: a revised one keeps its place.

    own  the collection's judgments
    """
    before = {(one.pair, one.assessor): one.grade for one in own}
    said = (
        ((change.pair, change.assessor), change.answered, None if math.isnan(change.own) else change.own)
        for change in changes
        if change.comparison is None
    )
    return [Judgment(*pair, grade, assessor) for (pair, assessor), grade in _in_force(before, said)]


def comparisons_after(own: Iterable[PairedComparison], changes: Iterable[Change]) -> tuple[PairedComparison, ...]:
    """Valid comparisons after all changes so far, in the order of an export: the last answers as they were given.

    own  the collection's comparisons
    """
    said = (
        (what_compares(one), change.answered, None if change.withdrawn else one)
        for change in changes
        if (one := change.comparison) is not None
    )
    return tuple(one for _, one in _in_force({what_compares(one): one for one in own}, said))


def _in_force(own: Mapping[What, Said], changes: Iterable[tuple[What, int, Said | None]]) -> list[tuple[What, Said]]:
    """Valid answers with what they are about: those before all changes in their order, then the others by their lines.

    changes  what each is about, the line of the answer, and the answer; None: it is no longer valid
    """
    held, places = {what: (0, one) for what, one in own.items()}, {what: place for place, what in enumerate(own)}
    for what, line, one in changes:
        if one is None:
            held.pop(what, None)
        else:
            held[what] = line, one
    ordered = sorted(held.items(), key=lambda one: (one[1][0], places.get(one[0], 0)))
    return [(what, one) for what, (_, one) in ordered]


class Lease(NamedTuple):
    """A pair leased to an assessor until a time.

    again  True if they judged it before and should judge it again
    why    reason for asking a second opinion, or ADJUDICATION; or empty
    """

    pair: Pair
    assessor: str
    until: datetime
    again: bool = False
    why: str = ""


def before_log(own: Sequence[Judgment], events: Iterable[Event]) -> Sequence[Judgment]:
    """A collection's own judgments without those of its log, told by their times: these count as the log has them."""
    made = {(one.pair, one.assessor, one.time) for one in events if one.kind == "judgment"} if own else ()
    kept = tuple(one for one in own if (one.pair, one.assessor, one.time) not in made)
    return own if len(kept) == len(own) else kept


class Ledger:
    """The state of a campaign: its log, line by line; only `apply` changes it.

    A line takes the same time however long the log is, except one that sets a person aside. The last answer of an
    assessor about a pair that was not withdrawn is valid; the collection's own judgments count as answers before all
    others.

    scale   scale of the collection
    number  number of the last line, 0 before the first
    state   open, paused or closed
    aside   numbers of the events that set people aside, while in force, by name: these people's answers are ignored
    cannot  numbers of the valid "cannot judge" events, by pair and assessor
    listening  listening times that assessors claim
    times   times of each assessor's answers, in the order of the log, in seconds since 1970
    comparisons  comparisons handed out and answered
    seconds  times that answers took
    questionnaires  numbers of the events with people's last answers about themselves, by name and moment
    adjudications  numbers of the first lines that gave a person a pair to adjudicate, by name and pair
    decided  number of the last line of each kind that chose the campaign's model or changed texts
    """

    def __init__(
        self, scale: Scale, judgments: Iterable[Judgment] = (), comparisons: Iterable[PairedComparison] = ()
    ) -> None:
        judgments, comparisons = tuple(judgments), tuple(comparisons)
        people = [*(one.assessor for one in judgments), *(one.assessor for one in comparisons)]
        self.scale = scale
        self.number = 0
        self.turn: Event | None = None  # the last pause, resume or close
        self.decided: dict[str, int] = {}
        self.aside: dict[str, int] = {}
        self.cannot: dict[Pair, dict[str, int]] = {}
        self.times: dict[str, list[float]] = {}
        self.questionnaires: dict[str, dict[str, int]] = {}
        self.adjudications: dict[str, dict[Pair, int]] = {}
        self._given = {(judgment.pair, judgment.assessor): judgment for judgment in judgments}
        self._holding: dict[Pair, dict[str, int]] = {}  # event by assessor; 0: the collection's own
        for pair, assessor in self._given:
            self._holding.setdefault(pair, {})[assessor] = 0
        # First of an assessor's answers in a row that graded a pair, also while they are aside; 0: likewise.
        self._began = dict.fromkeys(self._given, 0)
        self._own_places = {what: place for place, what in enumerate(self._given)}
        self._events: dict[int, Event] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._answers: dict[tuple[Pair, str], list[int]] = {}  # answers not withdrawn, oldest first
        self._counting: dict[str, dict[int, None]] = {}  # the same for all pairs, by assessor
        self._repeats: dict[str, dict[int, Pair]] = {}  # repeats not withdrawn, by assessor
        self._leases: dict[Pair, Lease] = {}
        self._handed: dict[tuple[Pair, str], float] = {}  # time of first handing out, in seconds since 1970
        self.listening = Listening()
        self.comparisons, self.seconds = Comparisons(comparisons), SecondsTaken()
        self._names = {name_key(name): name for name in reversed(people)}
        self._literal, self._before = set(people), frozenset(people)

    @property
    def state(self) -> str:
        """State of the campaign: open, paused or closed."""
        return "open" if self.turn is None else STATES[self.turn.kind]

    def apply(self, number: int, event: Event) -> list[Change]:
        """Add the next line; return the changes of grades that it causes."""
        self.number = number
        self._events[number] = event
        if event.assessor not in self._literal:
            self._literal.add(event.assessor)
            self._names.setdefault(name_key(event.assessor), event.assessor)
        if event.key:
            self._keys[event.assessor, event.key] = number
        if event.kind in ASIDE:
            return self._turn(number, event)
        change = None
        if event.kind in ANSWERS:
            change = self._answer(number, event)
        elif event.kind == "comparison":
            change = self._compare(number, event)
        elif event.kind == "compare":
            self.comparisons.hand(event)
        elif event.kind == "undo":
            change = self._undo(event)
        elif event.kind == QUESTIONNAIRE:
            self.questionnaires.setdefault(event.assessor, {})[str(event.details["moment"])] = number
        elif event.kind == "repeat":
            self._take_repeat(number, event)
        elif event.kind in LEASES:
            self._lease(number, event)
        elif event.kind in STATES:
            self.turn = event
        elif event.kind in (MODEL, WORDS):
            self.decided[event.kind] = number
        return [] if change is None else [change]

    def _turn(self, number: int, event: Event) -> list[Change]:
        """Set a person aside, or take them back, and settle all their pairs and comparisons again."""
        before = {what: self._compared(what) for what in self.comparisons.of(event.judge)}
        if event.kind == "set_aside":
            self.aside[event.judge] = number
        else:
            self.aside.pop(event.judge, None)
        ever = dict.fromkeys(pair for pair, name in (*self._given, *self._answers) if name == event.judge)
        settled = [self._settle(pair, event.judge) for pair in ever]  # in the order of answers
        settled += [self._settle_comparison(what, held) for what, held in before.items()]
        return [change for change in settled if change is not None]

    def _last(self, pair: Pair, assessor: str) -> int | None:
        """Last event with a person's answer on a pair; 0: the collection's own; None: no answer."""
        number = next(reversed(self._answers.get((pair, assessor), [])), None)
        return 0 if number is None and (pair, assessor) in self._given else number

    def _answer(self, number: int, event: Event) -> Change | None:
        self._answers.setdefault((event.pair, event.assessor), []).append(number)
        self._note_answer(number, event)
        return self._settle(event.pair, event.assessor)

    def _take_repeat(self, number: int, event: Event) -> None:
        self._repeats.setdefault(event.assessor, {})[number] = event.pair
        self._note_answer(number, event)

    def _note_answer(self, number: int, event: Event) -> None:
        """Record a person's answer: its time and listening, and the end of their lease."""
        self._counting.setdefault(event.assessor, {})[number] = None
        answered = parse_time(event.time).timestamp()
        self.times.setdefault(event.assessor, []).append(answered)
        self.seconds.note(event)
        rushed = bool(event.details.get(RUSHED))
        self.listening.note(event, self._first_handed(event), answered, rushed)
        lease = self._leases.get(event.pair)
        if lease is not None and lease.assessor == event.assessor and event.kind != "comparison":
            del self._leases[event.pair]

    def _first_handed(self, event: Event) -> float | None:
        """Time at which an answer's pair or comparison was first handed out, in seconds since 1970; None: never."""
        if event.kind == "comparison":
            return self.comparisons.handed(event)
        handed = self._handed.get((event.pair, event.assessor))
        if handed is None and event.kind == "cannot":
            return self.comparisons.shown(event.pair, event.assessor)
        return handed

    def _compare(self, number: int, event: Event) -> Change | None:
        what = what_compares(event.comparison)
        before = self._compared(what)
        self.comparisons.answer(number, event)
        self._note_answer(number, event)
        return self._settle_comparison(what, before)

    def _compared(self, what: Compares) -> tuple[PairedComparison, int] | None:
        """The valid answer to a comparison, and its line, unless its author is set aside."""
        held = None if what[0] in self.aside else self.comparisons.holding(what)
        return None if held is None else (held, self.comparisons.number(what))

    def _settle_comparison(self, what: Compares, before: tuple[PairedComparison, int] | None) -> Change | None:
        after = self._compared(what)
        held = after or before
        if held is None or after == before:
            return None
        about, line = held
        more = (after is not None) - (before is not None)
        return Change(self.number, about.pairs[0], math.nan, 0, more, what[0], math.nan, about, after is None, line)

    def _undo(self, event: Event) -> Change | None:
        if event.refers not in self._counting.get(event.assessor, {}):
            return None  # none of their answers counts
        undone = self._events[event.refers]
        del self._counting[event.assessor][event.refers]
        if undone.kind == "repeat":
            del self._repeats[event.assessor][event.refers]
            return None
        if undone.kind == "comparison":
            what = what_compares(undone.comparison)
            before = self._compared(what)
            self.comparisons.undo(event.refers, undone)
            return self._settle_comparison(what, before)
        self._answers[undone.pair, event.assessor].remove(event.refers)
        return self._settle(undone.pair, event.assessor)

    def _lease(self, number: int, event: Event) -> None:
        before, began = self._leases.get(event.pair), parse_time(event.time)
        until, why = parse_time(event.until), str(event.details.get("why") or "")
        if why == ADJUDICATION:
            self.adjudications.setdefault(event.assessor, {}).setdefault(event.pair, number)
            if before is not None and before.assessor != event.assessor and before.until > began:
                return  # requested of one person while another has it: the lease stays with the latter until it ends
        if before is not None and before.assessor != event.assessor:
            del self._leases[event.pair]  # re-inserted below, as the last of the new holder's leases
        self._handed.setdefault((event.pair, event.assessor), began.timestamp())
        self._leases[event.pair] = Lease(event.pair, event.assessor, until, event.kind == "again", why)

    def _settle(self, pair: Pair, assessor: str) -> Change | None:
        """Update the known grade to the valid answer."""
        number = self._last(pair, assessor)
        began = self._began.get((pair, assessor), number)
        if self._grade(pair, assessor, number) is None:
            self._began.pop((pair, assessor), None)
        elif began is not None:
            self._began[pair, assessor] = began
        number = None if assessor in self.aside else number
        cannot = number and self._events[number].kind == "cannot"
        _hold(self.cannot, pair, assessor, number if cannot else None)
        before = self._grade(pair, assessor, self._holding.get(pair, {}).get(assessor))
        grade = self._grade(pair, assessor, number)
        _hold(self._holding, pair, assessor, None if grade is None else number)
        if grade == before:
            return None
        more = (grade is not None) - (before is not None)
        own = math.nan if grade is None else grade
        said = mean_grade(self.said(pair)), len(self.assessors(pair))
        return Change(self.number, pair, *said, more, assessor, own, answered=began or 0)

    def said(self, pair: Pair) -> dict[str, float]:
        """The valid grades of a pair, by assessor."""
        grades = {name: self._grade(pair, name, number) for name, number in self._holding.get(pair, {}).items()}
        return {name: grade for name, grade in grades.items() if grade is not None}

    def _grade(self, pair: Pair, assessor: str, number: int | None) -> float | None:
        if number is None:
            return None
        if number == 0:
            return self._given[pair, assessor].grade
        event = self._events[number]
        grade = event.grade_on(self.scale) if event.kind == "judgment" and event.counts else None
        if grade is not None and grade not in self.scale:
            raise InputError(f"event {number} of the log: grade {grade:g} is not on the {self.scale.name} scale")
        return grade

    @property
    def judged(self) -> Collection[Pair]:
        """The pairs with a valid judgment, in the order in which they were first judged."""
        return self._holding.keys()

    def assessors(self, pair: Pair) -> Collection[str]:
        """The assessors with a valid judgment of a pair."""
        return self._holding.get(pair, {}).keys()

    def name(self, said: str) -> str:
        """The stored name of an assessor: as typed, or in another case or Unicode form."""
        if said in self._literal:
            return said
        return self._names.get(name_key(said)) or normal_name(said)

    def judged_anything(self, assessor: str) -> bool:
        """True if a person of exactly this name ever judged, here or before the campaign."""
        return assessor in self.times or assessor in self._before

    def handed(self, event: Event) -> bool:
        """True if the pair or comparison of an answer was handed to its assessor, or is one that they answered."""
        answered = (event.pair, event.assessor) in self._began
        if event.kind == "comparison":
            answered = self.comparisons.holding(what_compares(event.comparison)) is not None
        return answered or self._first_handed(event) is not None

    def check_heard(self, event: Event, now: datetime) -> None:
        """Raise an error if an answer claims more listening than the elapsed time allows."""
        answered = parse_time(event.time).timestamp()
        self.listening.check(event, self._first_handed(event), answered, now.timestamp())

    def repeats(self, assessor: str) -> list[Pair]:
        """Pairs that a person judged twice."""
        return list(self._repeats.get(assessor, {}).values())

    def held(self, assessor: str) -> list[Lease]:
        """A person's unanswered leases, including ended ones if nobody else has taken the pair."""
        return [lease for lease in self._leases.values() if lease.assessor == assessor]

    def asked_again(self, pair: Pair, assessor: str) -> bool:
        """True if a person got a pair again that they had judged, and has not answered yet."""
        lease = self._leases.get(pair)
        return lease is not None and lease.again and lease.assessor == assessor

    def answered(self, pair: Pair, assessor: str) -> bool:
        """True if an assessor has an answer about a pair that was not withdrawn."""
        return bool(self._answers.get((pair, assessor)))

    def holds(self, event: Event, now: str) -> bool:
        """True if a person's answer says nothing that their last one, unless it was withdrawn, does not say.

        now  time of answers whose own is not known
        """
        if event.kind == "comparison":
            held = self.comparisons.holding(what_compares(event.comparison))
            return held is not None and event.comparison in (held, replace(held, seconds=None))
        grade, number = event.grade_on(self.scale), self._last(event.pair, event.assessor)
        if not number:
            own = self._given.get((event.pair, event.assessor))
            alone = (len(event.grades), len(event.details)) == (1, 0)
            return own is not None and alone and grade == own.grade and event.time in (own.time, now)
        last = self._events[number]
        same = (last.kind, last.counts, last.grade_on(self.scale)) == (event.kind, True, grade)
        grades = {**last.grades, self.scale.name: grade, "grade": grade}
        further = event.grades.items() <= grades.items() and event.details.items() <= last.details.items()
        return same and further and event.time in (last.time, now)

    def revises(self, number: int) -> bool:
        """True if another answer of this person about this pair, or comparison, would be valid without this one."""
        event = self._events[number]
        if event.kind == "comparison":
            return self.comparisons.revises(number, event)
        given = (event.pair, event.assessor)
        return event.kind != "repeat" and (given in self._given or self._answers[given] != [number])

    def earlier(self, assessor: str, key: str) -> Record | None:
        """The event that an assessor sent with a key, or None."""
        number = self._keys.get((assessor, key))
        return None if number is None else Record(number, self._events[number], replayed=True)

    def record(self, number: int) -> Record:
        """The event with a number."""
        return Record(number, self._events[number])

    def records(self) -> Iterator[Record]:
        """The whole log."""
        return (Record(number, event) for number, event in self._events.items())

    def counting(self, assessor: str) -> list[int]:
        """The numbers of the assessor's answers that were not withdrawn, oldest first."""
        return list(self._counting.get(assessor, {}))

    def counts(self, assessor: str, number: int) -> bool:
        """True if a number belongs to one of the assessor's answers that were not withdrawn."""
        return number in self._counting.get(assessor, {})

    def latest(self, assessor: str) -> int | None:
        """The number of the assessor's last answer that was not withdrawn."""
        return next(reversed(self._counting.get(assessor, {})), None)

    def leases(self, now: datetime) -> list[Lease]:
        """The current leases, in the order in which the pairs were handed out."""
        return [lease for lease in self._leases.values() if lease.until > now]

    def lease(self, pair: Pair, now: datetime) -> Lease | None:
        """The lease of a pair, or None."""
        lease = self._leases.get(pair)
        return lease if lease is not None and lease.until > now else None

    def in_force(self, back: Container[str] | None = ()) -> Iterator[tuple[Pair, str, int]]:
        """Pair, assessor and number of every valid judgment; 0: the collection's own.

        In the order in which they were first made: a revised one keeps its place.

        back  people set aside whose judgments to include; None: all of them
        """
        counting = (what for what in self._began if what[1] not in self.aside or back is None or what[1] in back)
        for pair, name in sorted(counting, key=lambda what: (self._began[what], self._own_places.get(what, 0))):
            yield pair, name, self._last(pair, name) or 0

    def judgments(self, back: Container[str] | None = ()) -> tuple[Judgment, ...]:
        """The valid judgments, and those of people set aside who are in `back`, in the order of `in_force`."""
        return tuple(
            self._events[number].judgment_on(self.scale) if number else self._given[pair, assessor]
            for pair, assessor, number in self.in_force(back)
        )

    def grades(self) -> dict[Pair, dict[str, Mapping[str, float]]]:
        """All valid grades, on every scale, by pair and assessor."""
        grades: dict[Pair, dict[str, Mapping[str, float]]] = {}
        for pair, assessor, number in self.in_force():
            own = self._events[number].grades if number else {self.scale.name: self._given[pair, assessor].grade}
            grades.setdefault(pair, {})[assessor] = own
        return grades


def _hold(table: dict[Pair, dict[str, int]], pair: Pair, assessor: str, number: int | None) -> None:
    """Record the event with an assessor's valid answer about a pair; None: there is none."""
    held = table.setdefault(pair, {})
    if number is not None:
        held[assessor] = number
    else:
        held.pop(assessor, None)
    if not held:
        del table[pair]
