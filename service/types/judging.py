"""The wire types of judging: requests of assessors and organisers, and the answers to them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from msgspec import Meta, field

from audiosim.campaign import Campaign, Event, Lease, Record
from audiosim.campaign.event import QUESTIONNAIRE, RUSHED, STATES, Clock, parse_time, write_time
from audiosim.campaign.settings import MOST_BESIDE
from audiosim.campaign.state import ComparisonLease
from audiosim.collection.kinds import GRADES, MOST_SECONDS, prompt_of
from audiosim.collection.task import (
    CONSENT,
    CONSENT_TEXT,
    DETAILS_LIMIT,
    MEASURED,
    MOMENT,
    MOST_OF_PERSON,
    Question,
    TaskTable,
)
from audiosim.collection.values import Pair
from audiosim.errors import InputError
from audiosim.service.collections.aliases import Called, by_name
from audiosim.service.collections.questions import REASONS, TRIALS, Questions, Screening
from audiosim.service.collections.served import ServedCollection
from audiosim.service.collections.sounds import Peaks
from audiosim.service.types.base import OnWire, Strict, Wire

MOST_ASKED = 100
LATE_DAYS = 60  # an older answer must be a mistake of the client
AHEAD_S = 60.0  # tolerated lead of a client's clock
NOT_HANDED = "kept but not used: never handed to its assessor, as `next` does; the setting unasked = count uses it too"

Name = Annotated[str, Meta(max_length=1000)]
Text = Annotated[str, Meta(max_length=4000)]
Seconds = Annotated[float, Meta(ge=0, le=MOST_SECONDS)]
Number = Annotated[int, Meta(ge=1, le=2**53)]


class NextComparisonsIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Request for comparisons to answer.

    assessor  name of the person; a token names its holder
    count     number of comparisons
    """

    assessor: Name | None = None
    count: Annotated[int, Meta(ge=1, le=MOST_ASKED)] = 1


class NextIn(NextComparisonsIn, forbid_unknown_fields=True, omit_defaults=True):
    """Request for pairs to judge.

    count     number of pairs
    by_query  true for pairs that share as few queries as possible
    """

    by_query: bool = False


class JudgmentIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Judgment of a pair by an assessor: a grade, or the reason for none.

    The judgment is logged with the seconds that it took.

    assessor           name of the person; a token names its holder
    fine               grade from 0 to 100
    broad              grade 0, 1 or 2
    grade              grade on the collection's scale, whatever it is
    cannot             reason why the pair cannot be judged, instead of a grade
    time               time in ISO 8601, UTC; now if not given
    seconds            seconds taken; if several candidates were judged on one page, this one's share
    played_s           seconds listened in all; does not show that both clips were heard
    query_played_s     seconds listened to the query; without these two an answer is marked as rushed if the campaign
                       sets a listening time
    document_played_s  seconds listened to the document
    beside             number of candidates judged on one page
    beside_place       place of this one among them, from 1
    note               note of the assessor
    answers            answers by the names of their questions; a grade or a note may be here or in its own field
    """

    query: Name
    document: Name
    assessor: Name | None = None
    fine: float | None = None
    broad: float | None = None
    grade: float | None = None
    cannot: Text | None = None
    time: Name | None = None
    seconds: Seconds | None = None
    played_s: Seconds | None = None
    query_played_s: Seconds | None = None
    document_played_s: Seconds | None = None
    beside: Annotated[int, Meta(ge=1, le=MOST_BESIDE)] | None = None
    beside_place: Annotated[int, Meta(ge=1, le=MOST_BESIDE)] | None = None
    note: Text | None = None
    answers: Annotated[dict[Name, float | Text], Meta(max_length=DETAILS_LIMIT)] = field(default_factory=dict)

    def to_domain(self, assessor: str, key: str, clock: Clock, questions: Questions) -> Event:
        """The event of this judgment.

        key        of the request
        questions questions of the collection
        """
        if self.beside_place is not None and self.beside_place > (self.beside or 0):
            got = f"got {self.beside_place} of {self.beside or 0}"
            raise InputError(f"beside_place is a place among the beside candidates, {got}")
        said = self._said()
        grades = {name: said.pop(name) for name in GRADES if name in said}
        if self.cannot is None and questions.aspects:
            grades = questions.graded(grades, said)
        if (self.cannot is None) == (not grades):
            raise InputError("expected a grade in fine, broad or grade, or a reason in cannot, and not both")
        details = {name: value for name in MEASURED if (value := getattr(self, name)) is not None}
        reason = {} if self.cannot is None else {"reason": self.cannot}
        answers = questions.check(said, bool(grades))
        kind, time = "judgment" if grades else "cannot", time_of_answer(self.time, clock)
        return Event(kind, time, assessor, self.query, self.document, grades, details | answers | reason, key)

    def _said(self) -> dict[str, Any]:
        """The answers by question, from `answers` and from separate fields."""
        fields = {name: value for name in (*GRADES, "note") if (value := getattr(self, name)) is not None}
        twice = next((name for name in fields if name in self.answers), None)
        if twice is not None:
            raise InputError(f"{twice} occurs twice: in its own field, and in answers")
        return fields | self.answers


def time_of_answer(said: str | None, clock: Clock) -> str:
    """Time of an answer, as written in the log; an error for an impossible time."""
    now = clock()
    if said is None:
        return write_time(now)
    when = parse_time(said)
    if (when - now).total_seconds() > AHEAD_S:
        raise InputError(f"time {said} is in the future; it is now {write_time(now)}")
    if (now - when).days >= LATE_DAYS:
        raise InputError(f"time {said} is more than {LATE_DAYS} days ago; it is now {write_time(now)}")
    return write_time(when)


class UndoIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Answer to withdraw.

    assessor  name of the person; a token names its holder
    number    number of the answer's line in the log; the assessor's last if not given
    """

    assessor: Name | None = None
    number: Number | None = None


class QuestionnaireIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Answers of a person to questions about themselves.

    moment        "before" or "after" judging, or "headphones" for the result of their headphone check
    assessor      name of the person; a token names its holder
    answers       answers by the names of their questions
    consent       true if they agreed to the task's consent text
    consent_to    the text that they read; if it has changed since, the answers are refused
    trials_right  number of the six trials of the headphone check that they had right
    """

    moment: Literal["before", "after", "headphones"]
    assessor: Name | None = None
    answers: Annotated[dict[Name, float | Text], Meta(max_length=MOST_OF_PERSON)] = field(default_factory=dict)
    consent: bool = False
    consent_to: Text | None = None
    trials_right: Annotated[int, Meta(ge=0, le=TRIALS)] | None = None

    def to_domain(self, assessor: str, key: str, clock: Clock, questions: Questions) -> Event:
        """The event of these answers; an error if answers are wrong or missing, or there is no consent."""
        answers = questions.check_person(self.moment, self.answers, self.consent, self.consent_to)
        agreed: dict[str, bool | str] = {CONSENT: True, CONSENT_TEXT: questions.consent_text} if self.consent else {}
        details = {MOMENT: self.moment, **agreed, **answers}
        return Event(QUESTIONNAIRE, write_time(clock()), assessor, details=details, key=key)


class TurnIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Reason why a campaign is paused, resumed or closed."""

    reason: Text = ""


class SessionIn(Strict, forbid_unknown_fields=True):
    """A token to keep in a cookie.

    token  the token
    """

    token: Name


class SessionOut(Wire):
    """Owner of the token.

    name        name of the owner; null without a token
    role        role of the owner; null without a token
    collection  collection of the token; empty for all
    open        true if the service needs no token
    """

    name: str | None
    role: str | None
    collection: str
    open: bool


class RecordOut(Wire, omit_defaults=True):
    """A line of a campaign's log.

    An assessor's past answer has the addresses of its pair's clips; a comparison, those of its first document's.

    kind      kind of the line, such as judgment, cannot, comparison or pause
    assessor  name of the person whom it is about
    grade     grade on the collection's scale
    refers    number of an earlier line that this one is about
    details   what else belongs to it, such as seconds, a note or a reason
    key       key of the request that wrote it
    replayed  true if an earlier request had written it
    counts    false for an answer about a pair that was never handed to its assessor: `next` hands out pairs
    sentence  why the answer does not count, and what to do; left out if it counts
    """

    number: int
    kind: str
    time: str
    assessor: str
    query: str | None = None
    document: str | None = None
    fine: float | None = None
    broad: float | None = None
    grade: float | None = None
    refers: int | None = None
    details: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    key: str | None = None
    replayed: bool = False
    counts: bool = True
    sentence: str | None = None
    query_text: str | None = None
    query_sound: str | None = None
    query_peaks: str | None = None
    document_sound: str | None = None
    document_peaks: str | None = None

    @classmethod
    def from_domain(cls, record: Record, called: Called = by_name) -> "RecordOut":
        row = record.event.row()
        row.pop("until")
        row |= {name: called(row[name]) for name in ("query", "document") if row.get(name)}
        if "document_b" in record.event.details:
            row["details"] = {**row["details"], "document_b": called(str(row["details"]["document_b"]))}
        row["sentence"] = None if record.event.counts else NOT_HANDED
        return cls(number=record.number, replayed=record.replayed, counts=record.event.counts, **row)


class StatusOut(Wire):
    """State of a campaign.

    by      name of the person who changed it last; null if unknown
    since   time of that change; null if unknown
    reason  their reason; null if unknown
    """

    collection: str
    status: str
    by: str | None
    since: str | None
    reason: str | None

    @classmethod
    def from_domain(cls, collection: str, campaign: Campaign) -> "StatusOut":
        last = campaign.turn
        if last is None:
            return cls(collection, campaign.state, None, None, None)
        said = last.details.get("reason")
        reason = None if said is None else str(said)
        return cls(collection, STATES[last.kind], last.assessor or None, last.time, reason)


class Addresses(Wire):
    """Prompt of a pair's query, and addresses of its clips and of their waveforms."""

    query_text: str | None
    query_sound: str | None
    query_peaks: str | None
    document_sound: str | None
    document_peaks: str | None


class TrainingOut(Addresses):
    """A training pair, with its known answer.

    grade  known grade
    top    highest grade of the scale
    text   text to show after the answer
    """

    grade: float
    top: float
    text: str


class AskedOut(Wire, kw_only=True):
    """Questions about each pair, and the texts around them.

    task          meaning of the grades in words; may be empty
    heading       text above the clips: the question of task.toml, or else the task
    questions     the questions, in order
    instructions  text before the start
    consent       text to agree to before the start
    before        questions about the person before judging
    after         questions about the person after judging
    comparisons   part of the questions that are comparisons: some, only or none
    """

    task: str = ""
    heading: str = ""
    questions: Sequence[Question] = ()
    instructions: str = ""
    consent: str = ""
    before: Sequence[Question] = ()
    after: Sequence[Question] = ()
    comparisons: str = "none"


class QuestionsOut(AskedOut, kw_only=True):
    """Questions about each pair of a collection, and the texts around them.

    reasons       reasons to choose from if a pair cannot be judged
    listen_s      least listening time for each clip, in seconds; an answer after less is marked
    language      code of the language of these texts
    training      pairs with known answers, to begin with
    candidates    most candidates side by side on a page
    kept_until    day, ISO 8601, after which nobody can be identified any more; null if not given
    break_after   number of answers after which the page suggests a break; null for never
    headphones    true if only people who passed the headphone check get pairs
    devices       computer, tablet or phone: only people on one of these take part; none for any
    """

    collection: str
    reasons: list[str]
    listen_s: float
    language: str = ""
    training: list[TrainingOut] = field(default_factory=list)
    candidates: int = 1
    kept_until: str | None = None
    break_after: int | None = None
    headphones: bool = False
    devices: Sequence[str] = ()

    @classmethod
    def from_domain(
        cls, served: ServedCollection, asked: Sequence[Question], called: Called = by_name
    ) -> "QuestionsOut":
        collection = served.collection
        table = TaskTable() if collection.assessor_task is None else collection.assessor_task.table
        lessons = [
            TrainingOut(
                **addresses_of(served, Pair(one.query, one.document), called),
                grade=one.grade,
                top=served.questions.scale.maximum,
                text=one.text,
            )
            for one in table.training
        ]
        return cls.of(
            table,
            collection=collection.identifier,
            questions=asked,
            reasons=REASONS,
            listen_s=served.listen_s,
            task=collection.task,
            comparisons=served.campaign.comparisons.allowed,
            heading=table.question or collection.task,
            training=lessons,
            candidates=served.judging.settings.candidates,
            kept_until=None if table.kept_until is None else table.kept_until.isoformat(),
        )


class AnswersOut(Wire):
    """An assessor's answers that were not withdrawn, oldest first.

    more            true if there are earlier ones
    answers         the answers
    comparisons     their latest comparisons of two documents, oldest first; only if no number is given
    questionnaires  moments, before or after, at which they answered questions about themselves
    headphones      state of their headphone check: due, again, passed or failed; null if there is none
    """

    assessor: str
    state: int
    more: bool
    answers: list[RecordOut]
    questionnaires: list[str] = field(default_factory=list)
    headphones: Screening | None = None
    comparisons: list[RecordOut] = field(default_factory=list)


def addresses_of(served: ServedCollection, pair: Pair, called: Called) -> dict[str, str | None]:
    """Fields of `Addresses` for a pair; `called` gives the name of each document in them."""
    query = served.collection.query_document(pair.query)
    return {
        "query_text": prompt_of(served.collection.documents, query) or None,
        "query_sound": _address(served, query, "sound", called),
        "query_peaks": _address(served, query, "peaks", called),
        "document_sound": _address(served, pair.document, "sound", called),
        "document_peaks": _address(served, pair.document, "peaks", called),
    }


def _address(served: ServedCollection, document: str, what: str, called: Called) -> str | None:
    if document not in served.sounds:
        return None
    query = urlencode({"collection": served.collection.identifier})
    return f"/v1/documents/{quote(called(document), safe='')}/{what}?{query}"


class LeasedOut(Addresses):
    """A pair leased to an assessor, with its prompt and the addresses of its clips.

    until   end of the lease, ISO 8601, UTC
    second  true for a second opinion on a pair that someone else has judged
    again   true for a pair that the assessor judged before; the new answer does not replace the old one
    why     reason for a second opinion: `tells more` than an unjudged pair would, or `noise` to measure how much people
            vary; empty if it was drawn at random; `adjudication` for a pair that the organiser gave to this person
    """

    query: str
    document: str
    until: str
    second: bool
    again: bool
    why: str


class NextOut(Wire):
    """The pairs to judge.

    left   number of pairs that remain for the assessor now, including those given here
    pairs  the pairs, most informative first
    """

    assessor: str
    state: int
    left: int
    pairs: list[LeasedOut]


def leased(served: ServedCollection, lease: Lease, called: Called) -> LeasedOut:
    """A lease in the form sent to clients."""
    return LeasedOut(
        query=called(lease.pair.query),
        document=called(lease.pair.document),
        until=write_time(lease.until),
        again=lease.again,
        why=lease.why,
        second=bool(served.campaign.assessors_of(lease.pair) - {lease.assessor}),
        **addresses_of(served, lease.pair, called),
    )


class PeaksOut(Peaks, OnWire, frozen=True):
    """A waveform.

    low          lowest sample of each stretch, full scale 127
    high         highest sample of each stretch
    duration_s   length in seconds
    loudness_db  loudness in LUFS (BS.1770); null for silence
    """


# The wire types of comparisons of two documents by their closeness to a query.


HEARD = ("query_played_s", "a_played_s", "b_played_s")


class ComparisonIn(Strict, forbid_unknown_fields=True, omit_defaults=True):
    """Comparison of two documents by an assessor.

    The answer is logged with the seconds that it took.

    document_a      identifier of the document shown first
    document_b      identifier of the other document
    answer          "a" or "b" for the document closer to the query, "=" for neither
    assessor        name of the person; a token names its holder
    time            time in ISO 8601, UTC; now if not given
    seconds         seconds taken
    query_played_s  seconds listened to the query
    a_played_s      seconds listened to the first document
    b_played_s      seconds listened to the other
    note            note of the assessor
    """

    query: Name
    document_a: Name
    document_b: Name
    answer: Literal["a", "b", "="]
    assessor: Name | None = None
    time: Name | None = None
    seconds: Seconds | None = None
    query_played_s: Seconds | None = None
    a_played_s: Seconds | None = None
    b_played_s: Seconds | None = None
    note: Text | None = None

    def to_domain(self, assessor: str, key: str, clock: Clock, rushed: bool) -> Event:
        """The event of this comparison.

        key     of the request
        rushed  True to mark an answer after too little listening
        """
        names = ("seconds", *HEARD, "note")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        heard = [getattr(self, name) or 0.0 for name in HEARD]
        listened = {"played_s": round(sum(heard), 3)} if any(heard) else {}
        details = {
            "document_b": self.document_b,
            "answer": self.answer,
            **said,
            **listened,
            **({RUSHED: True} if rushed else {}),
        }
        time = time_of_answer(self.time, clock)
        return Event("comparison", time, assessor, self.query, self.document_a, details=details, key=key)


class ComparisonLeaseOut(Wire):
    """A comparison leased to an assessor, with the addresses of its clips. Chance decides which document is first.

    document_a  identifier of the document to show first
    document_b  identifier of the other document
    until       end of the lease, ISO 8601, UTC
    a_sound     address of the first document's recording; null if there is none
    a_peaks     address of its waveform; null likewise
    b_sound     address of the other document's recording; null if there is none
    b_peaks     address of its waveform; null likewise
    """

    query: str
    document_a: str
    document_b: str
    until: str
    query_text: str | None
    query_sound: str | None
    query_peaks: str | None
    a_sound: str | None
    a_peaks: str | None
    b_sound: str | None
    b_peaks: str | None

    @classmethod
    def from_domain(cls, served: ServedCollection, lease: ComparisonLease, called: Called) -> "ComparisonLeaseOut":
        a, b = (addresses_of(served, Pair(lease.query, one), called) for one in (lease.document_a, lease.document_b))
        query, document_a, document_b = map(called, lease[:3])
        said: dict[str, Any] = {name: a[name] for name in ("query_text", "query_sound", "query_peaks")}
        for side, of in (("a", a), ("b", b)):
            said |= {f"{side}_{what}": of[f"document_{what}"] for what in ("sound", "peaks")}
        return cls(query, document_a, document_b, until=write_time(lease.until), **said)


class NextComparisonsOut(Wire):
    """Kind of question that makes best use of an assessor's time.

    kind         "grade" (request pairs) or "comparison"
    grade        information per second of the best pair to grade; 0 if the campaign has no comparisons to weigh it with
    comparison   the same of the best comparison, in the same unit; 0 if the campaign has none
    left         number of questions that remain for the assessor now, including those given here
    comparisons  the comparisons to answer; empty if the kind is "grade"
    """

    assessor: str
    state: int
    kind: Literal["grade", "comparison"]
    grade: float
    comparison: float
    left: int
    comparisons: list[ComparisonLeaseOut]
