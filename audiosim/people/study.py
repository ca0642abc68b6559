"""A study in which people compare two lists: the examples for each person, and the valid answers.

As in Urbano (2013), 3.2.2 and 3.2.3. Each person begins with traps, examples with a known answer, and gets more of
them later. People who get too many wrong are turned away: none of their answers count, and others get their
examples. Examples come in random order, with the lists on random sides, up to a limit for each person.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from audiosim.errors import FormatError, InputError
from audiosim.people.answers import CHOICES, ListPair
from audiosim.results.plots import draw_bars
from audiosim.results.value import Result
from audiosim.tables.text import read_lines

if TYPE_CHECKING:
    from altair import LayerChart


# People who may take part in a study: a file with one name or code per line.


LONGEST_NAME = 200
NAME_EXPECTED = f"a name of 1 to {LONGEST_NAME} printable characters"


def plain_name(worker: str) -> str:
    """A name without needless spaces."""
    return " ".join(worker.split())


def is_name(name: str) -> bool:
    """True if a text can be a person's name."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def read_invited(path: str | Path) -> tuple[str, ...]:
    """The people in a file, each line checked."""
    path, found = Path(path), []
    for number, line in read_lines(path, "a name or code per line"):
        name = plain_name(line)
        if not is_name(name):
            raise FormatError(path, number, f"expected {NAME_EXPECTED}, found {name[:20]!r} ... of {len(name)}")
        if name.startswith("#"):
            raise FormatError(path, number, f"expected a name or code, which does not begin with #, found {name!r:.60}")
        found.append(name)
    return tuple(found)


ENTRY = 4  # number of traps at the beginning, and smallest number before a person is turned away
NEWCOMERS = 1000  # most people at a time who were shown something and have answered nothing yet
SIDES = {"a": "b", "b": "a"}


@dataclass(frozen=True, slots=True)
class StudyRules:
    """Rules of a study.

    limit       most answers per person, without traps
    opinions    number of answers that each example needs
    trap_share  share of traps among later examples
    trust       share of traps that a person must get right
    lease_s     seconds for which an example waits for its answer
    seed        seed of the random order
    """

    limit: int = 100
    opinions: int = 1
    trap_share: float = 0.2
    trust: float = 0.7
    lease_s: float = 1800.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.limit < 1 or self.opinions < 1 or self.seed < 0:
            raise InputError("a study needs a limit and a number of opinions of at least 1, and a seed of at least 0")
        if not 0 <= self.trap_share < 1 or not 0 <= self.trust <= 1 or not self.lease_s > 0:
            raise InputError("expected a share of traps from 0 to below 1, a trust from 0 to 1 and a lease above 0 s")


@dataclass(frozen=True, slots=True)
class ListStudy:
    """Examples to answer, traps, and rules.

    header  columns of the file of examples, without the answer
    """

    header: str
    examples: tuple[ListPair, ...]
    traps: tuple[ListPair, ...] = ()
    rules: StudyRules = StudyRules()

    def __post_init__(self) -> None:
        if not self.examples:
            raise InputError("a study needs at least one example")
        for trap in self.traps:
            if trap.answer not in CHOICES:
                raise InputError(f"a trap needs a known answer, {', '.join(CHOICES)}; got {trap.answer!r}")

    @property
    def documents(self) -> frozenset[str]:
        """Documents that may be shown, without queries."""
        return frozenset(one for pair in (*self.examples, *self.traps) for one in (*pair.a, *pair.b))

    @property
    def queries(self) -> frozenset[str]:
        """The queries that may be shown."""
        return frozenset(pair.query for pair in (*self.examples, *self.traps))


@dataclass(frozen=True, slots=True)
class Showing:
    """An example or a trap in the form shown to a person.

    place    its place among the examples, or the traps
    swapped  True if list b is shown as service A
    """

    place: int
    trap: bool
    swapped: bool

    def in_file(self, shown: str) -> str:
        """An answer about services A and B, converted to the lists a and b of the file."""
        return SIDES.get(shown, shown) if self.swapped else shown


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """An answer about an example or a trap, in the file's terms."""

    worker: str
    showing: Showing
    answer: str
    seconds: float = 0.0
    comment: str = ""
    time: str = ""


class Ending(StrEnum):
    """Reasons to show a person no further examples."""

    TURNED_AWAY = "turned away"
    LIMIT = "limit"
    COMPLETE = "complete"
    LATER = "later"


@dataclass(slots=True)
class _Person:
    said: dict[tuple[bool, int], StudyAnswer] = field(default_factory=dict)
    lease: tuple[Showing, float] | None = None

    def kept(self, trap: bool) -> list[StudyAnswer]:
        return [one for (is_trap, _), one in self.said.items() if is_trap is trap]


class StudyProgress:
    """Progress of a study: the answers by person, and the examples currently shown.

    It follows from the answers in their order; leases are kept only in memory.
    """

    def __init__(self, study: ListStudy, answers: Iterable[StudyAnswer] = ()) -> None:
        self.study = study
        self._people: dict[str, _Person] = {}
        self._answered = [0] * len(study.examples)  # answers that count, of each example
        for one in answers:
            self.note(one)

    def note(self, answer: StudyAnswer) -> None:
        """Add an answer; a person's second answer to the same example replaces the first."""
        person = self._people.setdefault(answer.worker, _Person())
        self._tally(answer.worker, -1)
        person.said[answer.showing.trap, answer.showing.place] = answer
        person.lease = None
        self._tally(answer.worker, 1)

    def _tally(self, worker: str, more: int) -> None:
        """Add a person's answers to those of each example, or with -1 take them away, if they count."""
        if self.counts(worker):
            for one in self._people[worker].kept(trap=False):
                self._answered[one.showing.place] += more

    def showing(self, worker: str) -> Showing | None:
        """The example or trap last shown to a person, if unanswered."""
        person = self._people.get(worker)
        return None if person is None or person.lease is None else person.lease[0]

    def said(self, worker: str, showing: Showing) -> bool:
        """True if a person has already answered this."""
        return (showing.trap, showing.place) in self._people.get(worker, _Person()).said

    def right(self, worker: str) -> tuple[int, int]:
        """Number of traps that a person answered correctly, and number of traps answered."""
        person = self._people.get(worker, _Person())
        traps = person.kept(trap=True)
        return sum(one.answer == self.study.traps[one.showing.place].answer for one in traps), len(traps)

    def given(self, worker: str) -> int:
        """Number of a person's answers to examples."""
        return len(self._people.get(worker, _Person()).kept(trap=False))

    def counts(self, worker: str) -> bool:
        """True if a person's answers count, because they were not turned away."""
        right, answered = self.right(worker)
        return answered < self._entry or right >= self.study.rules.trust * answered - 1e-9

    def most(self, worker: str, now_s: float) -> int:
        """Largest number of examples and traps that a person may answer in all; fewer if others answer meanwhile."""
        person, rules, (_, checked) = self._people.get(worker, _Person()), self.study.rules, self.right(worker)
        given, traps = self.given(worker), len(self.study.traps) if rules.trap_share else self._entry
        wanting, _ = self._open(worker, person, now_s)
        return given + min(wanting, max(0, rules.limit - given)) + max(traps, checked)

    @property
    def workers(self) -> list[str]:
        """People with an answer, in order of their first answers."""
        return [name for name, person in self._people.items() if person.said]

    @property
    def accepted(self) -> list[StudyAnswer]:
        """The valid answers to examples, person by person."""
        return [one for name in self.workers if self.counts(name) for one in self._people[name].kept(trap=False)]

    def next_for(self, worker: str, now_s: float) -> Showing | Ending:
        """The next example for a person; the same one until they answer it or their lease ends.

        Names are easy to invent. People without an answer are therefore forgotten when their lease ends, and while
        there are `NEWCOMERS` of them, new names are asked to come later.

        now_s  time in seconds, by any clock that never goes back
        """
        if not self.counts(worker):
            return Ending.TURNED_AWAY
        if worker not in self._people and self._newcomers(now_s) >= NEWCOMERS:
            return Ending.LATER
        person = self._people.get(worker, _Person())
        if person.lease is None or (person.lease[1] <= now_s and not person.lease[0].trap):
            person.lease = None
            found = self._choose(worker, person, now_s)
            if isinstance(found, Ending):
                return found
            person.lease = found, now_s + self.study.rules.lease_s
            self._people[worker] = person
        return person.lease[0]

    def _newcomers(self, now_s: float) -> int:
        """Number of people without an answer who have a lease; people with an expired lease are forgotten."""
        new = {name: person.lease for name, person in self._people.items() if not person.said}
        ended = [name for name, lease in new.items() if lease is None or lease[1] <= now_s]
        for name in ended:
            del self._people[name]
        return len(new) - len(ended)

    @property
    def _entry(self) -> int:
        return min(ENTRY, len(self.study.traps))

    def _choose(self, worker: str, person: _Person, now_s: float) -> Showing | Ending:
        rules = self.study.rules
        draw = np.random.default_rng([rules.seed, zlib.crc32(worker.encode()), len(person.said)])
        traps = [place for place in range(len(self.study.traps)) if (True, place) not in person.said]
        is_trap, swapped = bool(draw.random() < rules.trap_share), bool(draw.random() < 0.5)
        if len(self.study.traps) - len(traps) < self._entry:
            return Showing(int(draw.choice(traps)), True, swapped)
        if len(person.kept(trap=False)) >= rules.limit:
            return Ending.LIMIT
        wanting, free = self._open(worker, person, now_s)
        if not free:
            return Ending.LATER if wanting else Ending.COMPLETE
        return Showing(int(draw.choice(traps if is_trap and traps else free)), is_trap and bool(traps), swapped)

    def _open(self, worker: str, person: _Person, now_s: float) -> tuple[int, list[int]]:
        """Number of examples left for this person; and those of them that are not shown to anybody else now."""
        leases = [other.lease for name, other in self._people.items() if name != worker and other.lease is not None]
        shown = Counter(showing.place for showing, until in leases if until > now_s and not showing.trap)
        opinions, said = self.study.rules.opinions, person.said
        wanting = [at for at, count in enumerate(self._answered) if count < opinions and (False, at) not in said]
        free = [at for at in wanting if self._answered[at] + shown[at] < opinions]
        return len(wanting), free


@dataclass(frozen=True, eq=False, repr=False)
class StudyOutcome(Result):
    """The valid answers of a study, and the people who gave them.

    file  file of the answers; None: not written
    """

    _columns: ClassVar = ("worker", "answers", "traps", "right", "counts")

    study: ListStudy
    accepted: Sequence[StudyAnswer]
    people: Sequence[Mapping[str, Any]]
    file: str | Path | None = None

    @classmethod
    def of(cls, progress: StudyProgress) -> "StudyOutcome":
        """The outcome of a study so far."""
        people = [
            {
                "worker": name,
                "answers": progress.given(name),
                "traps": progress.right(name)[1],
                "right": progress.right(name)[0],
                "counts": progress.counts(name),
            }
            for name in progress.workers
        ]
        return cls(progress.study, progress.accepted, people)

    def __repr__(self) -> str:
        turned_away = sum(not one["counts"] for one in self.people)
        return (
            f"{self.answered:,} of {len(self.study.examples):,} examples answered by {len(self.people)} people, "
            f"{turned_away} of whom were turned away"
        )

    @property
    def answered(self) -> int:
        """Number of examples with a valid answer."""
        return len({one.showing.place for one in self.accepted})

    def lines(self) -> list[str]:
        """The lines of a file for `read_answers`, with the person, their seconds and their comment."""
        return [
            f"answer\t{self.study.header}\tworker\tseconds\tcomment",
            *(
                f"{one.answer}\t{self.study.examples[one.showing.place].line}\t{_cell(one.worker)}\t{one.seconds:.0f}"
                f"\t{_cell(one.comment)}"
                for one in self.accepted
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Counts and people as plain values, ready for JSON."""
        return {"examples": len(self.study.examples), "answered": self.answered, "people": list(self.people)}

    def rows(self) -> list[dict[str, Any]]:
        """One row per person: answers, traps shown and answered correctly, and the validity of the answers."""
        return [dict(one) for one in self.people]

    def plot(self) -> "LayerChart":
        """Plot the share of traps that each person answered correctly."""
        shares = [one["right"] / one["traps"] if one["traps"] else 0.0 for one in self.people]
        return draw_bars([one["worker"] for one in self.people], shares, "traps answered correctly")


def _cell(text: str) -> str:
    return " ".join(text.split())
