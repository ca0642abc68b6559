"""Events of a campaign: the lines of its log, each with its rules."""

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from audiosim.collection.kinds import GRADES
from audiosim.collection.task import DETAILS_LIMIT, HEADPHONES, MARKS, TEXT_LIMIT
from audiosim.collection.values import SCALES, Judgment, Pair, PairedComparison, Scale, check_judgment
from audiosim.errors import InputError

ANSWERS = ("judgment", "cannot")
STATES = {"pause": "paused", "resume": "open", "close": "closed"}
ASIDE = ("set_aside", "take_back")
JUDGING, LEASES = ("judgment", "repeat"), ("lease", "again")
COMPARING = ("comparison", "compare")  # answer to a comparison, and the lease of one
HANDED = (*LEASES, "compare")
QUESTIONNAIRE = "questionnaire"
MODEL, WORDS = "model", "words"
MOMENTS = ("before", "after", HEADPHONES)  # when people answer about themselves: before and after judging, at the check
KINDS = (*ANSWERS, "repeat", "undo", *LEASES, "learn", *STATES, *ASIDE, *COMPARING, QUESTIONNAIRE, MODEL, WORDS)

UNASKED, RUSHED = MARKS
ADJUDICATION = "adjudication"  # `details["why"]` of a lease by which an organiser gave a pair to one person

NAME_LIMIT = 1000  # most characters of an identifier, a name, a key
WHOLE_LIMIT = 2**53  # largest whole number that is exact in every JSON reader

Clock = Callable[[], datetime]
Plain = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Event:
    """One event in a campaign.

    kind      judgment; cannot: the assessor cannot judge the pair, for the reason in `details["reason"]`; undo: an
              earlier answer of the same assessor no longer counts; lease: the pair is the assessor's until a time;
              again: a lease of a pair that they judged before; repeat: their answer to that, which shows noise and
              replaces nothing; comparison: the more relevant of two documents, `document` or `details["document_b"]`,
              given by `details["answer"]`: a, b or =; compare: a lease of such a comparison; learn: from here on the
              results of learning from an earlier state count; pause, resume, close: of the whole campaign; set_aside:
              from here on the answers of the person in `details["judge"]` are ignored, until take_back;
              questionnaire: a person's answers to questions about themselves, before or after judging as given by
              `details["moment"]`, or the result of their headphone check; model: from here on the campaign has the
              model named in `details["model"]`, empty for the service's own choice; words: from here on people read
              the texts among the details, see `words`
    time      time of the event: ISO 8601, UTC
    assessor  author; empty if not named
    query, document  the pair; empty for an event without one
    grades    grades of a judgment, by `fine`, `broad` or `grade`, which stands for any scale
    details   further plain values, such as played_s, note, seconds, reason
    key       if an assessor uses a key twice, the same event was sent twice; empty: none
    refers    number of the event that an undo withdraws, or after which the model learned; otherwise 0
    until     end of a lease: ISO 8601, UTC; otherwise empty
    """

    kind: str
    time: str
    assessor: str = ""
    query: str = ""
    document: str = ""
    grades: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Plain] = field(default_factory=dict)
    key: str = ""
    refers: int = 0
    until: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"unknown kind of event {self.kind!r}, expected {', '.join(KINDS)}")
        for name in ("assessor", "query", "document", "key"):
            _check_text(name, getattr(self, name), NAME_LIMIT)
        began = parse_time(self.time)
        self._check_pair()
        object.__setattr__(self, "grades", {name: _checked(name, grade) for name, grade in self.grades.items()})
        if bool(self.grades) != (self.kind in JUDGING):
            raise InputError(f"{self.kind} with {len(self.grades)} grades: a judgment has one or more, the rest none")
        object.__setattr__(self, "details", _checked_details(self.details))
        if self.kind == "cannot" and not str(self.details.get("reason", "")).strip():
            raise InputError("cannot judge without a reason: expected one in the details")
        if self.kind in COMPARING:
            self._check_comparison()
        if self.kind == QUESTIONNAIRE and self.details.get("moment") not in MOMENTS:
            raise InputError(f"questionnaire needs a moment: expected {' or '.join(MOMENTS)} in the details")
        if self.kind == MODEL and not isinstance(self.details.get("model"), str):
            raise InputError("model needs a name: expected model in the details, empty for the service's own")
        if self.kind == WORDS and not all(isinstance(text, str) for text in self.details.values()):
            raise InputError("words needs texts: expected them by name in the details")
        if self.kind in ASIDE and not self.judge.strip():
            raise InputError(f"{self.kind} needs a name: expected judge in the details")
        if not (_whole(self.refers) and self.refers > 0 if self.kind in ("undo", "learn") else self.refers == 0):
            raise InputError(
                f"{self.kind} refers to {self.refers!r}: undo and learn refer to an event's number, the rest to 0"
            )
        self._check_lease(began)

    def _check_pair(self) -> None:
        if self.kind in (*ANSWERS, *JUDGING, *LEASES, *COMPARING):
            if not self.query.strip() or not self.document.strip():
                raise InputError(f"{self.kind} needs a query and a document, got {self.query!r} and {self.document!r}")
        elif self.query or self.document:
            raise InputError(f"{self.kind} takes no pair, got {self.query!r} and {self.document!r}")

    def _check_comparison(self) -> None:
        other = self.details.get("document_b")
        if not isinstance(other, str) or not other.strip():
            raise InputError(f"{self.kind} needs a second document: expected document_b in the details")
        _check_text("document_b", other, NAME_LIMIT)
        if self.kind == "comparison" and "answer" not in self.details:
            raise InputError("comparison without an answer: expected a, b or = in the details")
        _ = self.comparison  # refuses one document twice, and unknown answers

    def _check_lease(self, began: datetime) -> None:
        if self.kind not in HANDED:
            if self.until:
                raise InputError(f"{self.kind} does not last, got until {self.until!r}")
            return
        if not self.assessor:
            raise InputError("a lease needs an assessor")
        if parse_time(self.until) <= began:
            raise InputError(f"a lease must end after it begins, got {self.time} to {self.until}")

    @property
    def counts(self) -> bool:
        """True unless the event is marked because its assessor was never handed the pair."""
        return not self.details.get(UNASKED)

    @property
    def judge(self) -> str:
        """The person set aside or taken back; empty for other events."""
        return str(self.details.get("judge") or "") if self.kind in ASIDE else ""

    @property
    def pair(self) -> Pair:
        return Pair(self.query, self.document)

    @property
    def comparison(self) -> PairedComparison:
        """The comparison that was answered; if it was only handed out, with the answer `=`."""
        seconds = self.details.get("seconds")
        taken = float(seconds) if isinstance(seconds, int | float) and seconds >= 0 else None
        answer, other = self.details.get("answer", "="), self.details["document_b"]
        return PairedComparison(self.query, self.document, str(other), str(answer), self.assessor, taken)

    def grade_on(self, scale: Scale) -> float | None:
        """The grade on a collection's scale, or None."""
        return self.grades.get(scale.name, self.grades.get("grade"))

    def judgment_on(self, scale: Scale) -> Judgment:
        """The judgment on a collection's scale; an error if it has no valid grade there."""
        grade = self.grade_on(scale)
        if self.grades.get("grade", grade) != grade:
            raise InputError(
                f"grade {self.grades['grade']:g} contradicts {scale.name} {grade:g}: both are on the same scale"
            )
        if grade is None:
            raise InputError(f"expected a grade on the {scale.name} scale, got only {' and '.join(self.grades)}")
        return Judgment(self.query, self.document, scale.check(grade), self.assessor, self.time)

    def of_aspect(self, name: str) -> "Event":
        """The event with the grade of one aspect, taken from the details, in place of the mean."""
        grade = self.details.get(name)
        if self.kind not in JUDGING or isinstance(grade, str | bool | None):
            return self
        return replace(self, grades={"grade": float(grade)})

    def repeats(self, other: "Event") -> bool:
        """True if this repeats the other event: equal in all but the time and the marks."""
        marked = {name: value for name, value in other.details.items() if name in MARKS}
        kind = other.kind if (self.kind, other.kind) == JUDGING else self.kind  # the campaign turned it into a repeat
        return replace(self, kind=kind, time=other.time, details={**self.details, **marked}) == other

    def row(self) -> dict[str, Any]:
        """All fields as plain values, a column for each scale; None or empty for missing ones."""
        return {
            "time": self.time,
            "kind": self.kind,
            "query": self.query or None,
            "document": self.document or None,
            "assessor": self.assessor,
            **{name: self.grades.get(name) for name in GRADES},
            "refers": self.refers or None,
            "until": self.until or None,
            "key": self.key or None,
            "details": dict(self.details),
        }


class Record(NamedTuple):
    """An event with its number in the log.

    replayed  True if the log already held it before it was sent this time
    """

    number: int
    event: Event
    replayed: bool = False


def judgment_event(
    judgment: Judgment, scale: Scale, now: str, more: Mapping[str, float] = {}, details: Mapping[str, Plain] = {}
) -> Event:
    """The event of a judgment; one without a time gets the current time.

    more     its grades on other scales
    details  of the event
    """
    if check_judgment(judgment).aspect:
        raise InputError(
            f"a campaign takes all aspects of a pair at once, got {judgment.aspect} alone of document "
            f"{judgment.document} for query {judgment.query}: put these judgments into the collection's folder"
        )
    grades = {**more, scale.name if scale.name in GRADES else "grade": judgment.grade}
    return Event("judgment", judgment.time or now, judgment.assessor, *judgment.pair, grades, details)


def comparison_event(one: PairedComparison, now: str) -> Event:
    """The event of a comparison that was made elsewhere."""
    details: dict[str, Plain] = {"document_b": one.document_b, "answer": one.answer}
    if one.seconds is not None:
        details["seconds"] = one.seconds
    return Event("comparison", now, one.assessor, one.query, one.document_a, details=details)


def check_aspects(events: Iterable[Event], names: Sequence[str]) -> None:
    """Raise an error if a judgment lacks the grade of an aspect.

    names  names of the campaign's aspects
    """
    for event in events:
        missing = [name for name in names if name not in event.details] if event.kind in JUDGING else []
        if missing:
            raise InputError(
                f"a pair has a grade of each aspect here: expected {', '.join(names)} of document {event.document} for "
                f"query {event.query}, got none of {', '.join(missing)}"
            )


def turn_event(kind: str, now: datetime, by: str, reason: str = "", key: str = "", **about: Plain) -> Event:
    """The event of an organiser's action, such as pause, or set_aside for a `judge`."""
    return Event(kind, write_time(now), by, details={**about, **({"reason": reason} if reason else {})}, key=key)


def utc_now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


def write_time(when: datetime) -> str:
    """A time as ISO 8601 in UTC, such as 2013-05-01T12:00:00.000Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The time in an ISO 8601 text in UTC."""
    try:
        when = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        when = None
    if when is None or when.utcoffset() != timedelta(0):
        raise InputError(f"expected a time in UTC such as 2013-05-01T12:00:00Z, got {text!r}")
    return when


def _checked(name: str, grade: float) -> float:
    if name not in GRADES:
        raise InputError(f"unknown scale {name!r} of a grade, expected {', '.join(GRADES)}")
    if isinstance(grade, bool) or not isinstance(grade, int | float) or not math.isfinite(grade) or grade < 0:
        raise InputError(f"expected a finite number from 0 for {name}, got {grade!r}")
    return SCALES[name].check(grade) if name in SCALES else float(grade)


def _checked_details(details: Mapping[str, Plain]) -> dict[str, Plain]:
    if len(details) > DETAILS_LIMIT:
        raise InputError(f"an event has at most {DETAILS_LIMIT} details, got {len(details)}")
    for name, value in details.items():
        _check_text("the name of a detail", name, NAME_LIMIT)
        if isinstance(value, str):
            _check_text(name, value, TEXT_LIMIT, among="\n\t")
        elif not (value is None or isinstance(value, bool) or _whole(value) or _finite(value)):
            raise InputError(f"expected text, a finite number, true, false or nothing for {name}, got {value!r:.80}")
    return dict(details)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= WHOLE_LIMIT


def _finite(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _check_text(name: str, value: str, limit: int, among: str = "") -> None:
    """Check that every database and every file can store a text.

    among  allowed control characters
    """
    if not isinstance(value, str):
        raise InputError(f"expected text for {name}, got {value!r:.80}")
    if len(value) > limit:
        raise InputError(f"{name} has {len(value)} characters, expected at most {limit}")
    if not value.isprintable():
        wrong = [sign for sign in value if unicodedata.category(sign) in ("Cc", "Cs") and sign not in among]
        if wrong:
            raise InputError(f"{name} holds the character {wrong[0]!r}, which is not text")


# Names typed by assessors: spellings that differ in case or Unicode form count as one name.


UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def normal_name(said: str) -> str:
    """A name in Unicode's compatibility form (NFKC), without invisible characters, with single spaces."""
    shown = "".join(sign for sign in unicodedata.normalize("NFKC", said) if unicodedata.category(sign) not in UNSEEN)
    return " ".join(shown.split())


def name_key(said: str) -> str:
    """Key shared by all spellings of a name that differ only in case and form."""
    return unicodedata.normalize("NFKC", normal_name(said).casefold())
