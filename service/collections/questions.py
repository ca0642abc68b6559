"""Questions to assessors about a pair, defined once for the page that asks and the service that checks.

The judging page builds its form from them, answers are checked against them, and each answer is stored in the log and
in exports under its question's name. A new question is one more entry: in `STANDARD`, or in the file of the service's
setting `questions`.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from audiosim.campaign import Campaign
from audiosim.campaign.event import QUESTIONNAIRE, Clock, Event, Plain, write_time
from audiosim.collection.aspects import mean_of
from audiosim.collection.collection import Collection
from audiosim.collection.kinds import GRADES
from audiosim.collection.task import (
    CHECK_ROUND,
    CONSENT_TEXT,
    HEADPHONE_CHECK,
    HEADPHONES,
    MOMENT,
    MOST_OF_PAIR,
    TAKEN,
    TRIALS_RIGHT,
    AssessorTask,
    Question,
    TaskTable,
    Value,
    offered,
    with_levels,
)
from audiosim.collection.values import BINARY, BROAD, FINE, Scale
from audiosim.errors import ClosedError, InputError, placed
from audiosim.tables.toml import read_toml
from audiosim.text import repeated

# Headphone check: results of a person, and whether they may judge.
#
# In each of six trials the page asks for the softest of three tones. One of the other two is in antiphase between the
# channels, and sounds softer only over loudspeakers. Woods, Siegel, Traer & McDermott (2017),
# doi:10.3758/s13414-017-1361-2.


TRIALS, ENOUGH = 6, 5  # as published
ROUNDS = 2

Screening = Literal["due", "again", "passed", "failed"]


def last_check(campaign: Campaign, assessor: str) -> Event | None:
    """The last headphone check of a person; None before the first."""
    number = campaign.questionnaires.get(assessor, {}).get(HEADPHONES)
    return None if number is None else campaign.record(number).event


def screening(campaign: Campaign, assessor: str) -> Screening:
    """State of a person's headphone check: due, to repeat, passed or failed."""
    last = last_check(campaign, assessor)
    if last is None:
        return "due"
    if last.details.get(HEADPHONE_CHECK) == "passed":
        return "passed"
    return "failed" if _round_of(last) >= ROUNDS else "again"


def check_result(campaign: Campaign, assessor: str, right: int | None, key: str, clock: Clock) -> Event:
    """The event of a finished check; an error after the last.

    right  number of trials with the right answer
    """
    if right is None:
        raise InputError(f"expected {TRIALS_RIGHT}: the number of trials that were right, from 0 to {TRIALS}")
    if (state := screening(campaign, assessor)) in ("passed", "failed"):
        raise ClosedError(f"the headphone check is over: {assessor} {state} it")
    last = last_check(campaign, assessor)
    details: dict[str, Plain] = {MOMENT: HEADPHONES, HEADPHONE_CHECK: "passed" if right >= ENOUGH else "failed"}
    details |= {TRIALS_RIGHT: right, CHECK_ROUND: 1 if last is None else _round_of(last) + 1}
    return Event(QUESTIONNAIRE, write_time(clock()), assessor, details=details, key=key)


def reason_screened(campaign: Campaign, assessor: str) -> str:
    """Reason why a person gets no pairs; empty once they have passed the headphone check."""
    state = screening(campaign, assessor)
    if state == "failed":
        return f"{assessor} is screened out: the headphone check was failed twice"
    return "" if state == "passed" else f"{assessor} has not passed the headphone check yet, which comes first"


def _round_of(event: Event) -> int:
    said = event.details.get(CHECK_ROUND)
    return said if isinstance(said, int) else 1


MOST_BUTTONS = 8
ENDS = ("Least similar", "Most similar")
ENDS_OF_ANY = ("Lowest", "Highest")  # ends for an organiser's own question, which may not be about similarity
BETWEEN = "In between"
YOUR_GRADE = "Your grade"
ASKS = ("fine", "broad", "both")


BROADLY = Question(
    "broad",
    "choice",
    "Overall",
    BROAD.levels,
    ("Not similar", "Somewhat similar", "Very similar"),
    required=True,
    grade=True,
)
FINELY = Question(
    "fine",
    "slider",
    "Exact score, 0-100",
    FINE.levels,
    ends=("nothing alike", "sounds the same"),
    required=True,
    grade=True,
)
# Each of them where it is the only grade.
GRADES_ALONE = {one.name: msgspec.structs.replace(one, text=YOUR_GRADE) for one in (BROADLY, FINELY)}
# Asked about every pair, after its grades and the organiser's own questions.
STANDARD = (Question("note", "text", "Add a note"),)
# Reasons on the page why a pair cannot be judged; a program may give any.
REASONS = (
    "a clip does not play",
    "a clip is broken or silent",
    "a clip is not music",
    "I took part in one of the recordings",
)


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions to the assessors of a collection.

    scale  scale of the collection; its grade is always asked for
    own    the organiser's questions, beside the standard ones
    task   task.toml of the collection, or None
    heading  the organiser's own question, which need not be about similarity; empty: the usual one
    """

    scale: Scale
    own: tuple[Question, ...] = ()
    task: AssessorTask | None = None
    heading: str = ""

    @classmethod
    def of(cls, collection: Collection, own: tuple[Question, ...] = ()) -> "Questions":
        """The questions about a collection; an error if a name is taken.

        own  questions of the service, beside those of the collection's task
        """
        task = collection.assessor_task
        if task is None:
            return cls(collection.scale, own, heading=collection.task)
        further = task.table.further
        check_question_names([*(one.name for one in (*further, *own, *task.asked_of_people)), *task.aspects])
        asked = (*task.aspects, *further, *own)
        if len(asked) > MOST_OF_PAIR:
            raise InputError(f"expected up to {MOST_OF_PAIR} questions about each pair, got {len(asked)}")
        scale = collection.scale if collection.aspects is None else collection.aspects.scale
        return cls(scale, (*further, *own), task, task.table.question or collection.task)

    def asked(self, ask: str | None = None) -> tuple[Question, ...]:
        """The questions in the order of the page.

        ask  "fine", "broad" or "both", if the organiser wants other grades than the scale's usual ones
        """
        return (*self._grades(ask), *self.own, *STANDARD)

    def _grades(self, ask: str | None) -> tuple[Question, ...]:
        both, own = (BROADLY, FINELY), bool(self.heading)
        if self.aspects and ask is not None:
            raise InputError(f"ask={ask!r:.80}: assessors grade {', '.join(self.aspects)} here; leave it out")
        if self.task is not None and ask is None:
            if found := task_grades(self.task, self.scale, own):
                return found
            ask = self.task.table.grades or None
        if ask is None:
            ask = self.scale.name
            if ask not in GRADES_ALONE:
                return (_graded("grade", YOUR_GRADE, self.scale.levels, "", _ends(self.scale.levels, own)),)
        if ask not in ASKS:
            raise InputError(f"unknown setting ask={ask!r:.80}, expected {', '.join(ASKS)}")
        chosen = both if ask == "both" else (GRADES_ALONE[ask],)
        if self.scale.name not in {one.name for one in chosen}:
            raise InputError(f"ask={ask} leaves out the grade that counts, on the {self.scale.name} scale")
        levels = {"fine": FINE.levels, "broad": BROAD.levels}
        return (
            tuple(_graded(one.name, one.text, levels[one.name], "", ENDS_OF_ANY) for one in chosen) if own else chosen
        )

    @property
    def aspects(self) -> tuple[str, ...]:
        """Names of the aspects graded on one page; none if a pair has one grade."""
        return () if self.task is None else self.task.aspects

    def graded(self, grades: Mapping[str, float], answers: Mapping[str, object]) -> dict[str, float]:
        """The grades of a judgment by scale; with several aspects, the mean of their grades among the answers."""
        if not self.aspects:
            return dict(grades)
        said = [answers.get(name) for name in self.aspects]
        if grades or not all(isinstance(one, int | float) for one in said):
            raise InputError(f"expected a grade of each of {', '.join(self.aspects)}, in answers, and no other")
        checked = [self.scale.check(float(one)) for one in said if isinstance(one, int | float)]
        return {"grade": mean_of(checked, self.scale)}

    def check(self, answers: Mapping[str, Value], judged: bool) -> dict[str, Value]:
        """The answers, checked to be complete and to belong to questions; grades are checked by their scales.

        judged  True if there is a grade, so that required answers must be present
        """
        graded = {one.name: one for one in (self._grades(None) if self.aspects else ())}
        known = graded | {one.name: one for one in (*self.own, *STANDARD)}
        _check_answers(answers, known, (*(() if self.aspects else GRADES), *known))
        _check_complete(answers, self.own if judged else ())
        return dict(answers)

    def check_person(
        self, moment: str, answers: Mapping[str, Value], consent: bool, read: str | None = None
    ) -> dict[str, Value]:
        """A person's answers about themselves, checked to be complete and to belong to the questions.

        moment   before or after judging
        consent  True if they agreed to the task's consent text
        read     the consent text that they read; None: not stated
        """
        table = TaskTable() if self.task is None else self.task.table
        asked = {one.name: one for one in (table.before if moment == "before" else table.after)}
        if not asked and not (moment == "before" and table.consent):
            raise InputError(f"no questions are asked {moment} judging here: task.toml has none")
        if moment == "before" and table.consent and not consent:
            raise InputError("expected consent: true, as the task asks for it")
        if consent and read not in (None, table.consent):
            raise InputError("the consent text has changed since it was read: read it again")
        _check_answers(answers, asked, asked)
        _check_complete(answers, asked.values())
        return dict(answers)

    @property
    def screens(self) -> bool:
        """True if people must pass a headphone check."""
        return self.task is not None and self.task.table.headphones

    @property
    def consent_text(self) -> str:
        """SHA-256 of the consent text, by which the log identifies it; empty if there is none."""
        text = "" if self.task is None else self.task.table.consent
        return hashlib.sha256(text.encode()).hexdigest() if text else ""

    def filled(self, moment: str, details: Mapping[str, object]) -> bool:
        """True unless a person must answer again at a moment, because the consent text changed."""
        return moment != "before" or details.get(CONSENT_TEXT, "") == self.consent_text


def _check_answers(answers: Mapping[str, Value], asked: Mapping[str, Question], expected: Iterable[str]) -> None:
    """Raise an error unless every answer is valid for its question.

    expected  names for the message
    """
    for name, answer in answers.items():
        if name not in asked:
            raise InputError(f"unknown question {name!r:.80}, expected one of {', '.join(expected) or 'none'}")
        asked[name].check(answer)


def _check_complete(answers: Mapping[str, Value], asked: Iterable[Question]) -> None:
    """Raise an error if a required answer is missing."""
    missing = (one for one in asked if one.required and not str(answers.get(one.name, "")).strip())
    if (first := next(missing, None)) is not None:
        raise InputError(f"expected an answer to {first.name}: {first.text}")


def task_grades(task: AssessorTask, scale: Scale, own: bool) -> tuple[Question, ...]:
    """The questions for grades in a task's words; none if the task keeps the usual ones.

    own  True if the question above the clips is the organiser's own
    """
    table, levels = task.table, offered(task, scale)
    if table.aspect:
        return tuple(
            _graded(one.name, one.question, levels, table.control, one.labels or table.labels or ENDS_OF_ANY)
            for one in table.aspect
        )
    if not (table.control or table.labels or table.steps):
        return ()
    name = scale.name if scale.name in GRADES else "grade"
    return (_graded(name, YOUR_GRADE, levels, table.control, table.labels or _ends(levels, own)),)


def _graded(name: str, text: str, levels: Sequence[float], control: str, labels: Sequence[str]) -> Question:
    """The question for a grade on these levels, with labels for every button or for both ends.

    control  buttons or slider; empty: chosen by the number of levels

    Of three buttons with the usual words at both ends, the middle one has a word, too.
    """
    if control == "slider" or (not control and len(levels) > MOST_BUTTONS):
        return Question(name, "slider", text, tuple(levels), ends=(labels[0], labels[-1]), required=True, grade=True)
    middle = (BETWEEN if len(levels) == 3 and labels in (ENDS, ENDS_OF_ANY) else "",) * (len(levels) - 2)
    words = tuple(labels) if len(labels) == len(levels) else (labels[0], *middle, labels[-1])
    return Question(name, "choice", text, tuple(levels), words, required=True, grade=True)


def _ends(levels: Sequence[float], own: bool) -> tuple[str, str]:
    """Words for the lowest and the highest of some levels.

    own  True for an organiser's own question
    """
    if tuple(levels) == BINARY.levels:
        return ("No", "Yes") if own else ("Not similar", "Similar")
    return ENDS_OF_ANY if own else ENDS


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a TOML file: one [[question]] each, with the fields of `Question`.

    A slider may have `range = [0, 100]` instead of levels.
    """
    _, table = read_toml(path)
    with placed(path, (msgspec.ValidationError, InputError)):
        found = _converted(table)
        check_question_names([one.name for one in found])
    return found


def _converted(said: Mapping[str, object]) -> tuple[Question, ...]:
    tables = said.get("question")
    if set(said) != {"question"} or not isinstance(tables, list):
        raise InputError(f"expected only [[question]] tables, got {', '.join(said) or 'nothing'}")
    found = tuple(msgspec.convert(with_levels(one), Question) for one in tables)
    if any(one.grade for one in found):
        raise InputError("grade = true is only for grades on the collection's scale")
    return found


def check_question_names(names: Sequence[str]) -> None:
    """Raise an error if two questions share a name, or one has the name of another field of an answer."""
    for name in names:
        if name in TAKEN:
            raise InputError(f"the name {name} is taken, give the question another one")
    if (twice := repeated(names)) is not None:
        raise InputError(f"two questions are called {twice}")
