"""A question to assessors, and its possible answers: about a pair, or about the person before or after judging."""

import math
import re
from typing import Literal

from msgspec import Struct

from audiosim.errors import InputError

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

    `name` is the answer's key in requests, in the log and in exports. `text` is shown above the control: buttons for a
    `choice`, a `slider`, or a field for a `text`. `levels` are the possible answers in the order shown, with `words`
    for each (if empty, the level itself is shown) and words for the `ends` of a slider. If `required`, a pair
    cannot be judged without an answer. A `grade` decides the systems' scores.
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
