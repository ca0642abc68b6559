"""task.toml of a collection's folder: the questions to assessors, their wording, and their controls.

    question = "How well does the melody fit the prompt?"   # shown above the clips
    instructions = "Listen to both clips to the end."       # shown before the start, and under Help
    consent = "I am over 18 and agree that ..."             # consent required before the start
    kept_until = 2027-12-31                                 # day after which nobody may be identified any more
    break_after = 20                                        # answers between two suggested breaks
    headphones = true                                       # people must pass a headphone check before judging
    languages = ["en", "de"]                                # only people with a browser in one of these take part
    devices = ["computer", "tablet"]                        # only these devices are admitted
    language = "es"                                         # language of these texts and of the page
    grades = "fine"                                         # or broad, or both, on the fine and broad scales
    control = "slider"                                      # or buttons
    labels = ["not at all", "perfectly"]                    # labels of all buttons, or of a slider's two ends
    steps = 11                                              # number of levels offered by the control

    [[aspect]]     # name, question, labels: each aspect has its own scale; all are judged on one page
    [[further]]    # a question about each pair, as in `serve --questions`
    [[before]]     # a question about the person, before the first pair
    [[after]]      # the same, when all is judged
    [[training]]   # query, document, grade: a pair with a known answer; text: shown after it

Every key is optional. A wrong key is a FormatError, `task.toml:12: problem`.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from audiosim.collection.values import Scale
from audiosim.errors import FormatError, InputError
from audiosim.tables.toml import line_of, read_table, written
from audiosim.text import did_you_mean, repeated, shortened

# A question to assessors, and its possible answers: about a pair, or about the person before or after judging.


TEXT_LIMIT = 4000  # most characters of a written answer
ANSWER_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
WIDEST_RANGE = 1000
DETAILS_LIMIT = 33  # most details of an event in the log, one answer to a question each
MARKS = ("unasked", "rushed")  # marks of an answer, among its details in the log
ON_ONE_PAGE = "beside"  # key of the number of candidates judged on one page
PLACE = "beside_place"  # key of the candidate's place among these, from 1
MEASURED = ("seconds", "played_s", "query_played_s", "document_played_s", ON_ONE_PAGE, PLACE)
MOMENT, CONSENT, CONSENT_TEXT = PERSONAL = ("moment", "consent", "consent_text")  # details beside a person's answers
HEADPHONES = "headphones"  # moment of the headphone check, stored like the other moments
HEADPHONE_CHECK, TRIALS_RIGHT, CHECK_ROUND = CHECKED = ("headphone_check", "trials_right", "check_round")
# Names of other fields of an answer in requests, the log and exports: a question with such a name would overwrite one.
TAKEN = (
    *("query", "document", "document_b", "assessor", "time", "key", "number", "pair", "counts"),
    *("fine", "broad", "grade", "note", "cannot", "reason", "answer", "answers", "why", "judge", "consent_to"),
    *(*MARKS, *MEASURED, *PERSONAL, *CHECKED),
)
MOST_OF_PAIR = DETAILS_LIMIT - len(MEASURED) - len(MARKS) - 1  # most questions about a pair, besides the note
MOST_OF_PERSON = DETAILS_LIMIT - len(PERSONAL)  # most questions about a person at one moment

Value = float | str


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """One question about a pair, and its possible answers.

    name      key of the answer in requests, in the log and in exports
    kind      control: buttons for a choice, a slider, or a field for a text
    text      text above the control
    levels    possible answers, in the order shown
    words     words for each level; if empty, the level itself is shown
    ends      words for both ends of a slider
    required  true if a pair cannot be judged without an answer
    grade     true if it decides the systems' scores
    """

    name: str
    kind: Literal["choice", "slider", "text"]
    text: str
    levels: tuple[Value, ...] = ()
    words: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    required: bool = False
    grade: bool = False

    def __post_init__(self) -> None:
        if not ANSWER_NAME.fullmatch(self.name):
            raise InputError(f"a question's name has only small letters, digits and _, got {self.name!r:.80}")
        if not self.text.strip():
            raise InputError(f"question {self.name} has no text")
        if self.kind == "text":
            if self.levels or self.words or self.ends:
                raise InputError(f"question {self.name}: a text has no levels, words or ends")
            return
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            raise InputError(f"question {self.name} needs two levels or more, all different, got {list(self.levels)}")
        if not all(isinstance(level, str) or math.isfinite(level) for level in self.levels):
            raise InputError(f"question {self.name}: every level must be text or a finite number")
        if self.words and len(self.words) != len(self.levels):
            raise InputError(f"question {self.name} has {len(self.words)} words for {len(self.levels)} levels")
        if len(self.ends) not in (0, 2):
            raise InputError(f"question {self.name} needs words for both ends or none, got {len(self.ends)}")

    def check(self, answer: Value) -> Value:
        """The answer, checked against this question."""
        if self.kind == "text":
            if not isinstance(answer, str) or len(answer) > TEXT_LIMIT:
                raise InputError(f"{self.name} must be a text of up to {TEXT_LIMIT} characters, got {answer!r:.80}")
        elif answer not in self.levels:
            raise InputError(f"{self.name} must be {self._expected()}, got {answer!r:.80}")
        return answer

    def _expected(self) -> str:
        if self.kind == "slider":
            return f"one of {len(self.levels)} levels from {_shown(self.levels[0])} to {_shown(self.levels[-1])}"
        return f"one of {', '.join(map(_shown, self.levels))}"


def with_levels(said: object) -> object:
    """The table of a question with its levels written out, if it has a `range = [0, 100]`."""
    if not isinstance(said, dict) or "range" not in said:
        return said
    match said["range"]:
        case [int() as low, int() as high] if low < high <= low + WIDEST_RANGE and "levels" not in said:
            rest = {name: value for name, value in said.items() if name != "range"}
            return rest | {"levels": list(range(low, high + 1))}
    raise InputError("range must be two whole numbers, rising, at most 1000 apart, in place of levels")


def _shown(level: Value) -> str:
    return level if isinstance(level, str) else f"{level:g}"


TASK_FILE = "task.toml"
DAY = "expected a day such as 2027-12-31"
MOST_ASPECTS = 8
WIDEST_ROW = 20  # most buttons for one grade
LONGEST = 4000
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
DEVICES = ("computer", "tablet", "phone")
QUESTIONS = ("further", "before", "after")
NOTHING: tuple[object, ...] = ("", [], (), None)
PLACE_OF_TASK_FILE = re.compile(r" - at `\$(?:\.(\w+))?(?:\[(\d+)\])?(?:\.(\w+))?.*`$")


class TaskAspect(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One aspect of a pair, judged on the collection's scale.

    name      name in the log, in files and in `--aspect`
    question  text above its control
    labels    labels of all buttons, or of both ends of the slider; empty: the task's
    """

    name: str
    question: str
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_aspect(self.name)
        if not self.question.strip():
            raise InputError(f"aspect {self.name} has no question")


class TrainingPair(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pair with a known answer: `grade` on the collection's scale, and a `text` that is shown after it."""

    query: str
    document: str
    grade: float
    text: str = ""


class TaskTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of a task.toml; see the module."""

    question: str = ""
    instructions: str = ""
    consent: str = ""
    kept_until: date | None = None
    break_after: int | None = None
    headphones: bool = False
    languages: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    language: str = ""
    grades: Literal["", "fine", "broad", "both"] = ""
    control: Literal["", "buttons", "slider"] = ""
    labels: tuple[str, ...] = ()
    steps: int | None = None
    aspect: tuple[TaskAspect, ...] = ()
    further: tuple[Question, ...] = ()
    before: tuple[Question, ...] = ()
    after: tuple[Question, ...] = ()
    training: tuple[TrainingPair, ...] = ()


KEYS = TaskTable.__struct_fields__


@dataclass(frozen=True)
class AssessorTask:
    """Questions to the assessors of a collection.

    table  keys of the file
    text   the file's text, so that a copy of the collection has the same file
    """

    table: TaskTable
    text: str = field(default="", repr=False)

    @property
    def aspects(self) -> tuple[str, ...]:
        """Names of the aspects; none if a pair has one grade."""
        return tuple(one.name for one in self.table.aspect)

    @property
    def asked_of_people(self) -> tuple[Question, ...]:
        """The questions about the person, before and after judging."""
        return (*self.table.before, *self.table.after)


def check_aspect(name: str) -> str:
    """The name of an aspect, checked."""
    if not ANSWER_NAME.fullmatch(name) or name == "mean":
        raise InputError(f"expected an aspect of small letters, digits and _, other than mean, got {name!r:.80}")
    return name


def read_task(path: str | Path) -> AssessorTask:
    """The task of a task.toml."""
    path = Path(path)
    text, table = read_table(path, KEYS)
    try:
        return AssessorTask(checked_table(msgspec.convert(_ranged(table), TaskTable)), text)
    except msgspec.ValidationError as error:
        problem = str(error)
        place = PLACE_OF_TASK_FILE.search(problem)
        key, number, inner = place.groups() if place else ("", None, None)
        unknown = re.search(r"unknown field `(\w+)`", problem)
        at = _place_of(text, key or "", int(number or 0), inner or (unknown[1] if unknown else ""))
        raise FormatError(path, at, _in_words(problem, key)) from None
    except _WrongKeyError as error:
        raise FormatError(path, _place_of(text, error.key, error.number, error.inner), str(error)) from None


class _WrongKeyError(InputError):
    def __init__(self, key: str, problem: str, number: int = 0, inner: str = "") -> None:
        super().__init__(problem)
        self.key, self.number, self.inner = key, number, inner


def _in_words(problem: str, key: str | None) -> str:
    plain = (
        PLACE_OF_TASK_FILE.sub("", problem)
        .replace("`", "")
        .replace("Object ", "")
        .replace("Invalid enum value", "found")
    )
    plain = plain.removeprefix("contains ").replace("Invalid RFC3339 encoded date", DAY).replace("date | null", DAY[9:])
    return f"{key}: {plain[:1].lower()}{plain[1:]}" if key else f"{plain[:1].lower()}{plain[1:]}"


def _ranged(table: dict[str, object]) -> dict[str, object]:
    found = dict(table)
    for key in QUESTIONS:
        said, made = table.get(key), list[object]()
        for number, one in enumerate(said if isinstance(said, list) else ()):
            try:
                made.append(with_levels(one))
            except InputError as error:
                raise _WrongKeyError(key, f"{key}: {error}", number, "range") from None
        if isinstance(said, list):
            found[key] = made
    return found


def checked_table(table: TaskTable) -> TaskTable:
    """The keys, checked to be consistent."""
    for key in ("question", "instructions", "consent"):
        if len(getattr(table, key)) > LONGEST:
            raise _WrongKeyError(key, f"{key}: expected up to {LONGEST} characters, found {len(getattr(table, key))}")
    _check_blocks(table)
    for key, number, least in (("steps", table.steps, 2), ("break_after", table.break_after, 1)):
        if number is not None and number < least:
            raise _WrongKeyError(key, f"{key}: expected {least} or more, found {number}")
    if len(table.aspect) == 1 or len(table.aspect) > MOST_ASPECTS:
        raise _WrongKeyError("aspect", f"aspect: expected 2 to {MOST_ASPECTS} aspects, found {len(table.aspect)}")
    if table.aspect and table.grades:
        raise _WrongKeyError("grades", "grades: each aspect has one grade on the collection's scale; leave this out")
    most_of = {"before": MOST_OF_PERSON, "after": MOST_OF_PERSON, "further": MOST_OF_PAIR - len(table.aspect)}
    for key, most in most_of.items():
        count = len(getattr(table, key))
        if count > most:
            raise _WrongKeyError(key, f"{key}: expected up to {most} questions, found {count}", most)
    named = [
        (key, number, one.name) for key in ("aspect", *QUESTIONS) for number, one in enumerate(getattr(table, key))
    ]
    twice = repeated(name for _, _, name in named)
    taken = [one for one in named if one[2] in TAKEN] or [one for one in named if one[2] == twice][1:]
    if taken:
        key, number, name = taken[0]
        raise _WrongKeyError(key, f"{key}: the name {name} is taken, expected another one", number, "name")
    for key in QUESTIONS:
        for number, one in enumerate(getattr(table, key)):
            if one.grade:
                problem = f"{key}: grade = true is only for grades on the collection's scale, found it at {one.name}"
                raise _WrongKeyError(key, problem, number, "grade")
    return table


def _check_blocks(table: TaskTable) -> None:
    """Raise an error unless all languages and devices are known ones."""
    for key, codes in (("language", [table.language] if table.language else []), ("languages", table.languages)):
        wrong = [code for code in codes if not LANGUAGE.fullmatch(code)]
        if wrong:
            raise _WrongKeyError(key, f"{key}: expected a code such as es or pt-BR, found {wrong[0]!r:.80}")
    strange = [device for device in table.devices if device not in DEVICES]
    if strange:
        problem = f"devices: expected {', '.join(DEVICES)}, found {strange[0]!r:.80}"
        raise _WrongKeyError("devices", problem + did_you_mean(strange[0], DEVICES))


def check_task(path: str | Path, task: AssessorTask, scale: Scale, known: Mapping[str, Iterable[str]]) -> None:
    """Raise an error if a task does not fit its collection.

    scale  scale of the collection's grades, of each aspect if there are several
    known  names that training pairs may have, by `query` and `document`
    """
    table = task.table
    try:
        levels = len(offered(task, scale))
        _check_control(table, levels, scale)
        _check_labels("labels", table.labels, table.control, levels)
        for number, aspect in enumerate(table.aspect):
            _check_labels("aspect", aspect.labels, table.control, levels, number)
        for number, pair in enumerate(table.training):
            _check_training(number, pair, scale, known)
    except _WrongKeyError as error:
        raise FormatError(path, _place_of(task.text, error.key, error.number, error.inner), str(error)) from None


def _check_control(table: TaskTable, levels: int, scale: Scale) -> None:
    if table.control == "buttons" and levels > WIDEST_ROW:
        found = f"found {levels} levels: set steps, or take a slider"
        raise _WrongKeyError("control", f"control: expected up to {WIDEST_ROW} buttons, {found}")
    if table.grades and scale.name not in ("fine", "broad"):
        problem = f"grades: each pair has one grade on this scale ({scale}); leave this out"
        raise _WrongKeyError("grades", problem)
    if table.grades and table.grades not in (scale.name, "both"):
        raise _WrongKeyError("grades", f"grades: expected {scale.name} or both, as the scale is {scale.name}")


def _check_training(number: int, pair: TrainingPair, scale: Scale, known: Mapping[str, Iterable[str]]) -> None:
    if pair.grade not in scale:
        problem = f"training: grade {pair.grade:g} is not on the {scale.name} scale ({scale})"
        raise _WrongKeyError("training", problem, number, "grade")
    for inner, name in (("query", pair.query), ("document", pair.document)):
        there = set(known[inner])
        if name not in there:
            problem = f"training: the collection has no {inner} {shortened(name)}{did_you_mean(name, sorted(there))}"
            raise _WrongKeyError("training", problem, number, inner)


def task_lines(table: TaskTable) -> list[str]:
    """The lines of the task.toml of a task."""
    said = msgspec.to_builtins(table)
    tables = {key: said.pop(key) for key in ("aspect", *QUESTIONS, "training")}
    lines = _lines_of(said)
    for key, some in tables.items():
        for one in some:
            lines += ["", f"[[{key}]]", *_lines_of(one)]
    return lines


def _lines_of(said: Mapping[str, object]) -> list[str]:
    filled = {name: value for name, value in said.items() if value not in NOTHING and value is not False}
    return [f"{name} = {value if name == 'kept_until' else written(value)}" for name, value in filled.items()]


def offered(task: AssessorTask, scale: Scale) -> tuple[float, ...]:
    """The levels of the scale that the control offers: all, or `steps` of them, equally spaced."""
    steps, levels = task.table.steps, scale.levels
    if steps is None or steps == len(levels):
        return levels
    between, rest = divmod(len(levels) - 1, steps - 1)
    if rest or steps > len(levels):
        raise _WrongKeyError("steps", f"steps: {steps} do not divide the scale of {scale} evenly")
    return levels[::between]


def _check_labels(key: str, labels: Sequence[str], control: str, levels: int, number: int = 0) -> None:
    allowed = {"slider": (2,), "buttons": (levels,)}.get(control, (2, levels))
    if labels and len(labels) not in allowed:
        wanted = {"slider": "2, one for each end", "buttons": f"{levels}, one for each button"}
        expected = wanted.get(control, f"2, for both ends, or {levels}, one for each level")
        raise _WrongKeyError(key, f"labels: expected {expected}, found {len(labels)}", number, "labels")


def _place_of(text: str, key: str, number: int = 0, inner: str = "") -> int:
    """The line of a key, or of the key `inner` in the table with this number; 1 if it is not found."""
    lines = text.split("\n")
    name = re.escape(key)
    tables = [at for at, line in enumerate(lines) if re.match(rf"\s*\[\[\s*{name}\s*\]\]", line)]
    if number < len(tables):
        start = tables[number]
        for at in range(start + 1, len(lines)):
            if re.match(r"\s*\[", lines[at]):
                break
            if inner and re.match(rf"\s*{re.escape(inner)}\s*=", lines[at]):
                return at + 1
        return start + 1
    return line_of(text, key or inner) if key or inner else 1
