"""Judging: pairs to judge, answers to them, and past answers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Body, Depends, Header, HTTPException, Query, Request, Response

from audiosim.campaign import Record
from audiosim.campaign.event import RUSHED, Event
from audiosim.collection.task import HEADPHONES
from audiosim.errors import InputError
from audiosim.service.access.access import address_of
from audiosim.service.access.callers import ANYONE, ASSESSOR, Caller, CallerDep
from audiosim.service.access.links import OpenLinkStore
from audiosim.service.collections.aliases import Called, by_name, renamed
from audiosim.service.collections.questions import check_result, reason_screened, screening
from audiosim.service.collections.quotas import Shares, answers_given
from audiosim.service.collections.served import ServedCollection
from audiosim.service.http.exchange import CollectionDep, FreshDep, chapter
from audiosim.service.tasks.state import part
from audiosim.service.types.judging import (
    AnswersOut,
    JudgmentIn,
    NextIn,
    NextOut,
    QuestionnaireIn,
    QuestionsOut,
    RecordOut,
    StatusOut,
    UndoIn,
    addresses_of,
    leased,
)

SHARE_S = 60  # until pairs leased to others may be free again
MOST_SHOWN = 1000

router = chapter("judging")
SharesDep = Annotated[Shares, part(lambda state: state.shares)]
OpenLinksDep = Annotated[OpenLinkStore, part(lambda state: state.open_links)]

S = TypeVar("S", bound=msgspec.Struct)

KeyHeader = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=1000,
        description="made by the client; a request repeated with the same key is answered but not recorded again",
    ),
]
AskQuery = Annotated[
    str | None,
    Query(max_length=1000, description="fine, broad or both: ask for fewer or more grades than the scale usually does"),
]
AssessorQuery = Annotated[str | None, Query(max_length=1000, description="name of the assessor; a token names its own")]

CountQuery = Annotated[int, Query(ge=1, le=MOST_SHOWN, description="largest number of answers")]
BeforeQuery = Annotated[int | None, Query(ge=1, le=2**53, description="only answers with a lower number")]

WRITES: dict[str, Any] = {
    "status_code": 201,
    "response_description": "Written, and safe",
    "responses": {200: {"description": "An earlier request wrote it: the same record", "model": RecordOut}},
}


def written(record: Record, response: Response, called: Called = by_name) -> RecordOut:
    """A stored record, with status 201, or 200 if it was stored before; it names only what its author may know."""
    if record.replayed:
        response.status_code = 200
    return RecordOut.from_domain(record, called)


def named_assessor(caller: Caller, one: ServedCollection, said: str | None) -> str:
    """Name of the judging assessor; an error if nobody is named.

    A name from a token or a proxy is taken literally, because "Ann" and "ann" may be two people there. A
    typed name is matched to a known assessor regardless of case and Unicode form.
    """
    assessor = caller.assessor(said)
    if not assessor.strip():
        raise InputError("expected the name of an assessor")
    return assessor if caller.role == "assessor" else one.campaign.known_as(assessor)


@dataclass(frozen=True, slots=True)
class Writing:
    """A request that adds a line to the log of a collection, and its key."""

    caller: Caller
    response: Response
    one: ServedCollection
    key: str

    @property
    def called(self) -> Called:
        """The names of queries and documents that the caller may know."""
        return self.one.called(self.caller.role)

    def assessor(self, said: str | None) -> str:
        """Name of the judging assessor, as `named_assessor` finds it."""
        return named_assessor(self.caller, self.one, said)

    def with_names(self, said: S, *fields: str) -> S:
        """Body of the request with its aliases replaced by names; an assessor's other words are never looked up."""
        names = {field: self.one.meant(self.caller.role, getattr(said, field)) for field in fields}
        for field, name in names.items():
            if name is None:
                raise InputError(f"{field}: expected an identifier handed out here, got {getattr(said, field)!r:.200}")
        return msgspec.structs.replace(said, **names)

    @contextmanager
    def unnamed(self, *names: str) -> Iterator[None]:
        """Replace the names of queries and documents in errors by those that the caller may know."""
        try:
            yield
        except InputError as error:
            error.args = (renamed(str(error), names, self.called),)
            raise

    def written(self, record: Record) -> RecordOut:
        """A stored record, as `written` answers it."""
        return written(record, self.response, self.called)


async def _writing(caller: CallerDep, response: Response, one: CollectionDep, key: KeyHeader = "") -> Writing:
    return Writing(caller, response, one, key)


WritingDep = Annotated[Writing, Depends(_writing)]


@router.get("/collections/{collection}/questions", dependencies=[ANYONE])
def show_questions(caller: CallerDep, one: CollectionDep, ask: AskQuery = None) -> QuestionsOut:
    """The questions that an assessor answers about each pair; the judging page is built from this answer."""
    return QuestionsOut.from_domain(one, one.questions.asked(ask), one.called(caller.role))


@router.get("/collections/{collection}/status", dependencies=[ANYONE])
def show_status(one: FreshDep) -> StatusOut:
    """State of the campaign; if judging is paused or closed: who did it, when and why."""
    return StatusOut.from_domain(one.collection.identifier, one.campaign)


@router.post("/collections/{collection}/next", dependencies=[ASSESSOR])
def lease_pairs(
    request: Request,
    caller: CallerDep,
    one: CollectionDep,
    shares: SharesDep,
    links: OpenLinksDep,
    asked: Annotated[NextIn, Body()],
) -> NextOut:
    """The pairs to judge next: those of `audiosim next`, leased to the assessor; another request extends the leases."""
    assessor = named_assessor(caller, one, asked.assessor)
    check_admitted(one, assessor)
    allowed = allowance(links, one, assessor)
    if not allowed:
        return NextOut(assessor, one.campaign.current_state.number, 0, [])
    count = min(asked.count, allowed, fair_share(request, caller, one, shares, assessor))
    pairs = one.campaign.ask(count, assessor, asked.by_query)
    if not pairs and one.mute:
        _check_heard(one, caller)
    leases = {lease.pair: lease for lease in one.campaign.leases(assessor)}
    held = [leased(one, leases[pair], one.called(caller.role)) for pair in pairs if pair in leases]
    left = max(len(held), min(allowed, one.campaign.left(assessor)))
    return NextOut(assessor, one.campaign.current_state.number, left, held)


def check_admitted(one: ServedCollection, assessor: str) -> None:
    """Raise an error if people must pass a headphone check first."""
    if one.questions.screens:
        one.campaign.refresh()
        if why := reason_screened(one.campaign, assessor):
            raise HTTPException(403, why)


def quota_of(links: OpenLinkStore, one: ServedCollection, assessor: str) -> int | None:
    """Number of answers that an assessor may give; None: unlimited."""
    link = links.link_of(one.collection.identifier, assessor)
    return None if link is None else link.judgments or None


def allowance(links: OpenLinkStore, one: ServedCollection, assessor: str) -> int:
    """Number of further questions that an assessor's quota allows; without a quota larger than any request."""
    quota = quota_of(links, one, assessor)
    if quota is None:
        return sys.maxsize
    one.campaign.refresh()
    return max(0, quota - answers_given(one.campaign, assessor))


def fair_share(request: Request, caller: Caller, one: ServedCollection, shares: Shares, assessor: str) -> int:
    """Number of pairs that an assessor may lease; an error if it is 0."""
    invited = caller.role == "assessor"
    share = shares.left(one.campaign, assessor, "" if invited else address_of(request))
    if share < 1:
        detail = "assessors at this address hold half of the pairs; some of these must be judged first"
        raise HTTPException(429, detail, {"Retry-After": str(SHARE_S)})
    return share


def _check_heard(one: ServedCollection, caller: Caller) -> None:
    """Raise an error if no sound of the collection is available."""
    if len(one.mute) == len(one.campaign.selection.pool.pairs):
        why = "the organiser knows why" if caller.role == "assessor" else one.coverage
        raise HTTPException(409, f"no pair can be heard: {why}")


def _rushed(one: ServedCollection, event: Event) -> Event:
    """A judgment, marked if its assessor heard a clip for less than the required time.

    A revised answer is not marked, because its assessor has heard the clips before.
    """
    if event.kind != "judgment" or one.listen_s == 0:
        return event
    said = (event.details.get(side) for side in ("query_played_s", "document_played_s"))
    heard = [seconds if isinstance(seconds, int | float) else None for seconds in said]
    if one.sounds.heard(event.query, (event.document,), heard, one.listen_s):
        return event
    if one.campaign.answered(event.pair, event.assessor):
        return event
    return replace(event, details={**event.details, RUSHED: True})


@router.post("/collections/{collection}/judgments", dependencies=[ASSESSOR], **WRITES)
def add_judgment(writing: WritingDep, said: Annotated[JudgmentIn, Body()]) -> RecordOut:
    """Record an assessor's judgment of a pair; an earlier one stays in the log but no longer counts."""
    said, one = writing.with_names(said, "query", "document"), writing.one
    assessor, clock = writing.assessor(said.assessor), one.judging.clock_of(one.store)
    event = said.to_domain(assessor, writing.key, clock, one.questions)
    with writing.unnamed(said.query, said.document):
        return writing.written(one.campaign.tell(_rushed(one, event)))


@router.post("/collections/{collection}/undo", dependencies=[ASSESSOR], **WRITES)
def undo_answer(writing: WritingDep, asked: Annotated[UndoIn, Body()]) -> RecordOut:
    """Withdraw an answer by its number, or the assessor's last; an answer it replaced counts again."""
    assessor = writing.assessor(asked.assessor)
    return writing.written(writing.one.campaign.undo(assessor, asked.number, writing.key))


@router.get("/collections/{collection}/answers", dependencies=[ASSESSOR])
def show_answers(
    caller: CallerDep,
    one: CollectionDep,
    assessor: AssessorQuery = None,
    count: CountQuery = MOST_SHOWN,
    before: BeforeQuery = None,
) -> AnswersOut:
    """An assessor's answers that were not withdrawn, with the addresses of their clips.

    These are the latest answers, or those before a number.
    """
    name = named_assessor(caller, one, assessor)
    number = one.campaign.refresh()
    found = one.campaign.answers(name, count + 1, before)
    called = one.called(caller.role)
    about = {moment: one.campaign.record(n).event for moment, n in _questionnaires(one, name).items()}
    about.pop(HEADPHONES, None)
    filled = [moment for moment, event in about.items() if one.questions.filled(moment, event.details)]
    screened = screening(one.campaign, name) if one.questions.screens else None
    given = [] if before else one.campaign.comparisons.answers(name)[-count:]
    rows, compared = ([_past(one, record, called) for record in records] for records in (found[-count:], given))
    return AnswersOut(name, number, len(found) > count, rows, filled, screened, compared)


def _past(one: ServedCollection, record: Record, called: Called) -> RecordOut:
    """An answer, with the addresses of the clips of its pair, or of the first pair of a comparison."""
    return msgspec.structs.replace(
        RecordOut.from_domain(record, called), **addresses_of(one, record.event.pair, called)
    )


@router.post("/collections/{collection}/questionnaire", dependencies=[ASSESSOR], **WRITES)
def add_questionnaire(writing: WritingDep, said: Annotated[QuestionnaireIn, Body()]) -> RecordOut:
    """Record a person's answers about themselves, before or after judging; later answers replace earlier ones.

    After judging has ended, people who judged may still answer the closing questions once. A headphone check may be
    repeated once.
    """
    one, name = writing.one, writing.assessor(said.assessor)
    one.campaign.refresh()
    if said.moment == HEADPHONES:
        return writing.written(_checked(one, name, said, writing.key))
    event = said.to_domain(name, writing.key, one.judging.clock_of(one.store), one.questions)
    number = _questionnaires(one, name).get(said.moment)
    if number is not None and (there := one.campaign.record(number)).event.details == event.details:
        return writing.written(there._replace(replayed=True))
    return writing.written(one.campaign.tell(event))


def _checked(one: ServedCollection, name: str, said: QuestionnaireIn, key: str) -> Record:
    """Record the result of a person's headphone check."""
    if not one.questions.screens:
        raise InputError("no headphone check is asked for here: task.toml has none")
    number = _questionnaires(one, name).get(HEADPHONES)
    if number is not None and key and (there := one.campaign.record(number)).event.key == key:
        return there._replace(replayed=True)
    return one.campaign.tell(check_result(one.campaign, name, said.trials_right, key, one.judging.clock_of(one.store)))


def _questionnaires(one: ServedCollection, name: str) -> dict[str, int]:
    """Numbers of a person's last answers about themselves, by moment."""
    return dict(one.campaign.questionnaires.get(name, {}))
