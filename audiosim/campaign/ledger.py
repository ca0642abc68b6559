"""Ledger of a campaign: the sum of the lines of its log."""

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from audiosim.campaign.event import ANSWERS, ASIDE, LEASES, RUSHED, STATES, Event, Record, parse_time
from audiosim.campaign.listening import Listening
from audiosim.campaign.names import name_key, normal_name
from audiosim.corpus.grades import mean_grade
from audiosim.corpus.model import Judgment, Pair, Scale
from audiosim.corpus.pool import Pool
from audiosim.errors import InputError
from audiosim.relevance.judges import Panel


class Change(NamedTuple):
    """Change of the grade of a pair, or of who gave it: what a line of the log means for the belief.

    A line that sets somebody aside means as many as there are pairs that they judged.

    number     of the line
    pair       of any pool
    grade      mean over the assessors whose judgments of it hold from here on; NaN where there are none
    assessors  how many they are
    more       by how many more than before: -1, 0 or 1
    assessor   whose judgment changed
    own        what they say of it from here on; NaN: nothing
    """

    number: int
    pair: Pair
    grade: float
    assessors: int
    more: int
    assessor: str = ""
    own: float = math.nan


class Lease(NamedTuple):
    """A pair that is one assessor's until a time.

    again  whether they judged it before, and are to judge it once more
    why    reason for asking a second opinion; empty where nothing is said
    """

    pair: Pair
    assessor: str
    until: datetime
    again: bool = False
    why: str = ""


def grades_after(before: Mapping[Pair, float], changes: Iterable[Change]) -> dict[Pair, float]:
    """Grades of the judged pairs after changes, in the order in which the pairs were first judged.

    before  the same before them
    """
    grades = dict(before)
    for change in changes:
        if change.assessors:
            grades[change.pair] = change.grade
        else:
            grades.pop(change.pair, None)
    return grades


def panel_after(before: Panel, pool: Pool, changes: Iterable[Change]) -> Panel:
    """People who judged, and what they said of a pool's pairs, after changes."""
    places, highest = pool.positions, pool.scale.maximum
    return before.after_all((places[change.pair], change.assessor, change.own / highest) for change in changes)


class Ledger:
    """The state of a campaign: its log, line by line; nothing but `apply` changes it.

    One line costs the same however long the log is, but for one that sets somebody aside. Of what an assessor answered
    about a pair the last answer that is not undone holds; judgments that the collection came with are answers before
    all others.

    scale   of the collection
    number  of the last line, 0 before the first
    state   open, paused or closed
    aside   the numbers of the events that set somebody aside and hold, by name: nothing rests on what they say
    cannot  the numbers of the events that say "cannot judge" and hold, by pair and assessor
    listening  what assessors claim to have heard
    times   when each assessor answered, in the order of the log, in seconds since 1970
    """

    def __init__(self, scale: Scale, judgments: Iterable[Judgment] = ()) -> None:
        judgments = tuple(judgments)
        self.scale = scale
        self.number = 0
        self.state = "open"
        self.aside: dict[str, int] = {}
        self.cannot: dict[Pair, dict[str, int]] = {}
        self.times: dict[str, list[float]] = {}
        self._given = {(judgment.pair, judgment.assessor): judgment for judgment in judgments}
        self._holding: dict[Pair, dict[str, int]] = {}  # event by assessor; 0: what the collection came with
        for pair, assessor in self._given:
            self._holding.setdefault(pair, {})[assessor] = 0
        self._events: dict[int, Event] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._answers: dict[tuple[Pair, str], list[int]] = {}  # that are not undone, oldest first
        self._counting: dict[str, dict[int, None]] = {}  # the same, of all pairs, by assessor
        self._repeats: dict[str, dict[int, Pair]] = {}  # that are not undone, by assessor
        self._leases: dict[Pair, Lease] = {}
        self._handed: dict[tuple[Pair, str], float] = {}  # ever; when first, in seconds since 1970
        self.listening = Listening()
        self._names = {name_key(judgment.assessor): judgment.assessor for judgment in reversed(judgments)}
        self._literal = {judgment.assessor for judgment in judgments}

    def apply(self, number: int, event: Event) -> list[Change]:
        """Take the next line in; the changes of grades that it means."""
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
        elif event.kind == "undo":
            change = self._undo(event)
        elif event.kind == "repeat":
            self._take_repeat(number, event)
        elif event.kind in LEASES:
            self._lease(event)
        elif event.kind in STATES:
            self.state = STATES[event.kind]
        return [] if change is None else [change]

    def _turn(self, number: int, event: Event) -> list[Change]:
        """Set somebody aside, or take them back: all that they said is settled anew."""
        if event.kind == "set_aside":
            self.aside[event.judge] = number
        else:
            self.aside.pop(event.judge, None)
        settled = [self._settle(pair, event.judge) for pair in self._pairs_of(event.judge)]
        return [change for change in settled if change is not None]

    def _pairs_of(self, assessor: str) -> Iterable[Pair]:
        """Pairs of which somebody ever said anything, in the order in which they did."""
        return dict.fromkeys(pair for pair, name in (*self._given, *self._answers) if name == assessor)

    def _last(self, pair: Pair, assessor: str) -> int | None:
        """Event by which somebody said last what they say of a pair; 0: the collection came with it; None: nothing."""
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
        """Take in that somebody answered: when, what they heard, and that the pair is theirs no longer."""
        self._counting.setdefault(event.assessor, {})[number] = None
        answered = parse_time(event.time).timestamp()
        self.times.setdefault(event.assessor, []).append(answered)
        rushed = bool(event.details.get(RUSHED))
        self.listening.note(event, self._handed.get((event.pair, event.assessor)), answered, rushed)
        lease = self._leases.get(event.pair)
        if lease is not None and lease.assessor == event.assessor:
            del self._leases[event.pair]

    def _undo(self, event: Event) -> Change | None:
        if event.refers not in self._counting.get(event.assessor, {}):
            return None  # nothing of theirs that counts
        undone = self._events[event.refers]
        del self._counting[event.assessor][event.refers]
        if undone.kind == "repeat":
            del self._repeats[event.assessor][event.refers]
            return None
        self._answers[undone.pair, event.assessor].remove(event.refers)
        return self._settle(undone.pair, event.assessor)

    def _lease(self, event: Event) -> None:
        before = self._leases.get(event.pair)
        if before is not None and before.assessor != event.assessor:
            del self._leases[event.pair]  # so that it is the last of the new holder's
        self._handed.setdefault((event.pair, event.assessor), parse_time(event.time).timestamp())
        until, why = parse_time(event.until), str(event.details.get("why") or "")
        self._leases[event.pair] = Lease(event.pair, event.assessor, until, event.kind == "again", why)

    def _settle(self, pair: Pair, assessor: str) -> Change | None:
        """Make the answer that holds now the one that is known."""
        number = None if assessor in self.aside else self._last(pair, assessor)
        if number and self._events[number].kind == "cannot":
            self.cannot.setdefault(pair, {})[assessor] = number
        elif assessor in self.cannot.get(pair, {}):
            del self.cannot[pair][assessor]
            if not self.cannot[pair]:
                del self.cannot[pair]
        before = self._grade(pair, assessor, self._holding.get(pair, {}).get(assessor))
        grade = self._grade(pair, assessor, number)
        self._hold(pair, assessor, None if grade is None else number)
        if grade == before:
            return None
        more = (grade is not None) - (before is not None)
        own = math.nan if grade is None else grade
        said = mean_grade(self._said(pair)), len(self.assessors(pair))
        return Change(self.number, pair, *said, more, assessor, own)

    def _hold(self, pair: Pair, assessor: str, number: int | None) -> None:
        """Note which event of an assessor says the grade of a pair that holds; None: none does."""
        held = self._holding.setdefault(pair, {})
        if number is not None:
            held[assessor] = number
        else:
            held.pop(assessor, None)
        if not held:
            del self._holding[pair]

    def _said(self, pair: Pair) -> dict[str, float]:
        """The grades of a pair that hold, by assessor."""
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
        """The pairs with a judgment that holds, in the order in which they were first judged."""
        return self._holding.keys()

    def assessors(self, pair: Pair) -> Collection[str]:
        """The assessors whose judgments of a pair hold."""
        return self._holding.get(pair, {}).keys()

    def name(self, said: str) -> str:
        """The name under which an assessor is known: as it is said, or else in another case or form."""
        if said in self._literal:
            return said
        return self._names.get(name_key(said)) or normal_name(said)

    def judged_anything(self, assessor: str) -> bool:
        """True if anybody of this very name has ever judged, here or before the campaign."""
        return assessor in self.times or any(name == assessor for _, name in self._given)

    def handed(self, pair: Pair, assessor: str) -> bool:
        """True if an assessor was ever handed a pair."""
        return (pair, assessor) in self._handed

    def check_heard(self, event: Event, now: datetime) -> None:
        """An error where an answer claims more listening than there was time for."""
        answered, handed = parse_time(event.time).timestamp(), self._handed.get((event.pair, event.assessor))
        self.listening.check(event, handed, answered, now.timestamp())

    def repeats(self, assessor: str) -> list[Pair]:
        """Pairs that somebody judged twice."""
        return list(self._repeats.get(assessor, {}).values())

    def held(self, assessor: str) -> list[Lease]:
        """The leases of somebody that were not answered, ended ones too as long as nobody else has the pair."""
        return [lease for lease in self._leases.values() if lease.assessor == assessor]

    def asked_again(self, pair: Pair, assessor: str) -> bool:
        """True if somebody was handed a pair once more that they had judged, and has not answered yet."""
        lease = self._leases.get(pair)
        return lease is not None and lease.again and lease.assessor == assessor

    def answered(self, pair: Pair, assessor: str) -> bool:
        """True if an assessor gave an answer about a pair that is not undone."""
        return bool(self._answers.get((pair, assessor)))

    def earlier(self, assessor: str, key: str) -> Record | None:
        """The event that an assessor sent with a key, None where there is none."""
        number = self._keys.get((assessor, key))
        return None if number is None else Record(number, self._events[number], replayed=True)

    def record(self, number: int) -> Record:
        """The event of a number."""
        return Record(number, self._events[number])

    def records(self) -> Iterator[Record]:
        """The whole log."""
        return (Record(number, event) for number, event in self._events.items())

    def counting(self, assessor: str) -> list[int]:
        """The numbers of the assessor's answers that are not undone, oldest first."""
        return list(self._counting.get(assessor, {}))

    def counts(self, assessor: str, number: int) -> bool:
        """True if a number is one of the assessor's answers that are not undone."""
        return number in self._counting.get(assessor, {})

    def latest(self, assessor: str) -> int | None:
        """The number of the assessor's last answer that is not undone."""
        return next(reversed(self._counting.get(assessor, {})), None)

    def leases(self, now: datetime) -> list[Lease]:
        """The leases that have not ended, in the order in which the pairs were handed out."""
        return [lease for lease in self._leases.values() if lease.until > now]

    def lease(self, pair: Pair, now: datetime) -> Lease | None:
        """The lease of a pair, None where it is nobody's."""
        lease = self._leases.get(pair)
        return lease if lease is not None and lease.until > now else None

    def in_force(self, back: Container[str] | None = ()) -> Iterator[tuple[Pair, str, int]]:
        """Pair, assessor and number of every judgment that holds; 0: the collection came with it.

        In the order in which they were made.

        back  who is set aside, and counted all the same; None: all of them
        """
        held = [(number, pair, name) for pair, by in self._holding.items() for name, number in by.items()]
        for name in (one for one in self.aside if back is None or one in back):
            said = ((self._last(pair, name), pair) for pair in self._pairs_of(name))
            held += [
                (of, pair, name) for of, pair in said if of is not None and self._grade(pair, name, of) is not None
            ]
        first = {(pair, name) for number, pair, name in held if not number}
        for pair, assessor in self._given:
            if (pair, assessor) in first:
                yield pair, assessor, 0
        for number, pair, assessor in sorted(one for one in held if one[0]):
            yield pair, assessor, number

    def judgments(self, back: Container[str] | None = ()) -> tuple[Judgment, ...]:
        """The judgments that hold, and those of people in `back` who are set aside, in the order of `in_force`."""
        return tuple(
            self._events[number].judgment_on(self.scale) if number else self._given[pair, assessor]
            for pair, assessor, number in self.in_force(back)
        )

    def grades(self) -> dict[Pair, dict[str, Mapping[str, float]]]:
        """All grades that hold, on every scale, by pair and assessor."""
        grades: dict[Pair, dict[str, Mapping[str, float]]] = {}
        for pair, assessor, number in self.in_force():
            own = self._events[number].grades if number else {self.scale.name: self._given[pair, assessor].grade}
            grades.setdefault(pair, {})[assessor] = own
        return grades
