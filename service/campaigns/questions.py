"""Questions to assessors about a pair: defined once, for the page that asks and the service that checks.

The judging page builds its form from them, answers are checked against them, and each answer is stored in the log and
in exports under its question's name. A new question is one more entry: in `STANDARD`, or in the file of `audiosim serve
--questions`.
"""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from audiosim.campaign.event import TEXT_LIMIT
from audiosim.corpus.judgments import GRADES
from audiosim.corpus.model import BINARY, BROAD, FINE, Scale
from audiosim.errors import InputError
from audiosim.messages import repeated

MOST_BUTTONS = 8
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
ASKS = ("fine", "broad", "both")

Value = float | str


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """One question about a pair, and its possible answers.

    `name` is the answer's in requests, in the log and in exports; `text` stands above the control: buttons for a
    `choice`, a `slider`, or a field for a `text`. `levels` are the answers there are, in the order shown, with `words`
    for each (an empty one stands for the level itself) and words for the `ends` of a slider. Where `required`, a pair
    is judged with an answer only; a `grade` is what the systems are scored by.
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
        if not NAME.fullmatch(self.name):
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
        """The answer, checked to be one to this question."""
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


BROADLY = Question(
    "broad",
    "choice",
    "Broadly",
    BROAD.levels,
    ("Not similar", "Somewhat similar", "Very similar"),
    required=True,
    grade=True,
)
FINELY = Question(
    "fine",
    "slider",
    "Finely, from 0 to 100",
    FINE.levels,
    ends=("nothing alike", "sounds the same"),
    required=True,
    grade=True,
)
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

    scale  of the collection, whose grade is always asked for
    own    the organiser's questions, beside the standard ones
    """

    scale: Scale
    own: tuple[Question, ...] = ()

    def asked(self, ask: str | None = None) -> tuple[Question, ...]:
        """The questions in the order in which they are asked.

        ask  "fine", "broad" or "both", where the organiser wants fewer or more grades than the scale usually asks for
        """
        return (*self._grades(ask), *self.own, *STANDARD)

    def _grades(self, ask: str | None) -> tuple[Question, ...]:
        both = (BROADLY, FINELY)
        if ask is None:
            usual = {FINE.name: both, BROAD.name: (BROADLY,)}
            return usual.get(self.scale.name, (_own_grade(self.scale),))
        if ask not in ASKS:
            raise InputError(f"unknown setting ask={ask!r:.80}, expected {', '.join(ASKS)}")
        chosen = both if ask == "both" else tuple(one for one in both if one.name == ask)
        if self.scale.name not in {one.name for one in chosen}:
            raise InputError(f"ask={ask} leaves out the grade that counts, on the {self.scale.name} scale")
        return chosen

    def check(self, answers: Mapping[str, Value], judged: bool) -> dict[str, Value]:
        """The answers, checked to belong to questions and to be complete; grades are checked by their scales.

        judged  True if there is a grade, so that required answers must be present
        """
        known = {one.name: one for one in (*self.own, *STANDARD)}
        for name, answer in answers.items():
            if name not in known:
                expected = ", ".join((*GRADES, *known))
                raise InputError(f"unknown question {name!r:.80}, expected one of {expected}")
            known[name].check(answer)
        wanted = (one for one in self.own if judged and one.required)
        missing = next((one for one in wanted if not str(answers.get(one.name, "")).strip()), None)
        if missing is not None:
            raise InputError(f"expected an answer to {missing.name}: {missing.text}")
        return dict(answers)


def _own_grade(scale: Scale) -> Question:
    """The question for a grade on a scale other than fine and broad."""
    ends = ("Least similar", "Most similar")
    if len(scale.levels) > MOST_BUTTONS:
        return Question("grade", "slider", "Your grade", scale.levels, ends=ends, required=True, grade=True)
    between = [""] * (len(scale.levels) - 2)
    words = ("Not similar", "Similar") if scale == BINARY else (ends[0], *between, ends[1])
    return Question("grade", "choice", "Your grade", scale.levels, words, required=True, grade=True)


def read_questions(path: Path, taken: Sequence[str]) -> tuple[Question, ...]:
    """The questions of a TOML file: one [[question]] each, with the fields of `Question`.

    A slider may have `range = [0, 100]` instead of levels.

    taken  names not available for answers, as fields of a judgment have them
    """
    try:
        found = _converted(tomllib.loads(path.read_text(encoding="utf-8")))
        _check_names([one.name for one in found], {*taken, *GRADES, *(one.name for one in STANDARD)})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, InputError) as error:
        raise InputError(f"{path}: {error}") from None
    return found


def _converted(said: Mapping[str, object]) -> tuple[Question, ...]:
    tables = said.get("question")
    if set(said) != {"question"} or not isinstance(tables, list):
        raise InputError(f"expected only [[question]] tables, got {', '.join(said) or 'nothing'}")
    found = tuple(msgspec.convert(_ranged(one), Question) for one in tables)
    if any(one.grade for one in found):
        raise InputError("grade = true is only for grades on the collection's scale")
    return found


def _ranged(said: object) -> object:
    if not isinstance(said, dict) or "range" not in said:
        return said
    match said["range"]:
        case [int() as low, int() as high] if low < high <= low + 1000 and "levels" not in said:
            rest = {name: value for name, value in said.items() if name != "range"}
            return rest | {"levels": list(range(low, high + 1))}
    raise InputError("range must be two whole numbers, rising, at most 1000 apart, and stands in place of levels")


def _check_names(names: Sequence[str], taken: set[str]) -> None:
    for name in names:
        if name in taken:
            raise InputError(f"the name {name} is taken, give the question another one")
    if (twice := repeated(names)) is not None:
        raise InputError(f"two questions are called {twice}")


def _shown(level: Value) -> str:
    return level if isinstance(level, str) else f"{level:g}"
