"""An organiser's view beside the ranking: a campaign's history, remaining effort, assessors and invitations."""

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import Body, Query, Request
from starlette.requests import ClientDisconnect

from audiosim.campaign.event import ASIDE, MODEL, STATES, WORDS, parse_time, utc_now, write_time
from audiosim.campaign.self_checks import self_checks
from audiosim.errors import InputError
from audiosim.service.access.links import NAME
from audiosim.service.access.tokens import Token, TokenStore, check_new_name
from audiosim.service.collections.outlook import Outlooks
from audiosim.service.http.exchange import NO_STORE, CollectionDep, FreshDep, chapter
from audiosim.service.operations.judging import BeforeQuery, CountQuery
from audiosim.service.operations.sessions import AccessDep
from audiosim.service.tasks.state import part
from audiosim.service.types.campaign import (
    AssessorsOut,
    ChangesOut,
    CourseOut,
    InvitationIn,
    InvitationOut,
    InvitationsOut,
    InvitedOut,
    LogOut,
    PlanOut,
    ProgressOut,
    RemainingOut,
    WithdrawalIn,
)
from audiosim.service.types.judging import RecordOut

Found = TypeVar("Found")
OutlooksDep = Annotated[Outlooks, part(lambda state: state.outlooks)]
SinceQuery = Annotated[
    str | None,
    Query(max_length=100, description="a time in UTC, such as 2013-05-01T12:00:00Z; default 24 hours ago"),
]
ListenersQuery = Annotated[int, Query(ge=1, le=10_000, description="listeners who judge at the same time")]
router = chapter("organising")

# One at a time of what takes seconds; most waiting requests find their result cached.
HISTORIES, ESTIMATES = CapacityLimiter(1), CapacityLimiter(1)
ACTS = (*STATES, *ASIDE, MODEL, WORDS)  # kinds of lines that organisers write


@router.get("/collections/{collection}/course")
async def show_course(request: Request, one: CollectionDep, outlooks: OutlooksDep) -> CourseOut:
    """Show the growth of confidence with the judgments, at some 200 moments, and the moment when the rule was met."""
    course = await _in_turn(HISTORIES, request, lambda: outlooks.of(one).course())
    return CourseOut.from_domain(one, course)


@router.get("/collections/{collection}/changes")
async def show_changes(
    request: Request, one: CollectionDep, outlooks: OutlooksDep, since: SinceQuery = None
) -> ChangesOut:
    """Show changes since a moment: answers and people, moved ranks, newly settled pairs, and what organisers did.

    The default moment is 24 hours ago. The model is trained again as of that moment, which takes a while in a large
    campaign.
    """
    moment = utc_now() - timedelta(days=1) if since is None else parse_time(since)
    found = await _in_turn(HISTORIES, request, lambda: outlooks.of(one).since(moment))
    acts = [RecordOut.from_domain(each) for each in one.campaign.log(found.before) if each.event.kind in ACTS]
    return ChangesOut.of(found, collection=one.collection.identifier, since=write_time(moment), acts=acts)


@router.get("/collections/{collection}/remaining")
def show_remaining(one: CollectionDep, outlooks: OutlooksDep) -> RemainingOut:
    """Forecast the number of further judgments until the stopping rule is met, with an interval.

    The answer is the last forecast, with its `state`, while the next is computed; `preliminary` without figures until
    there is one.
    """
    return RemainingOut.from_domain(one, outlooks.of(one).remaining.at_hand())


@router.get("/collections/{collection}/plan")
async def show_plan(
    request: Request, one: CollectionDep, outlooks: OutlooksDep, listeners: ListenersQuery = 1
) -> PlanOut:
    """Forecast the judgments until the stopping rule is met, the systems that stay tied, and the gain by other designs.

    This is the answer of `audiosim plan`, with the judgments of `remaining`, and `preliminary` without figures until
    there is a forecast.
    """
    planned = await _in_turn(ESTIMATES, request, outlooks.of(one).plan)
    return PlanOut.from_domain(one, planned, listeners)


@router.get("/collections/{collection}/assessors")
def show_assessors(one: FreshDep, outlooks: OutlooksDep) -> AssessorsOut:
    """List assessors who grade higher or lower than others, and assessors with doubtful answers; see also `judges`."""
    number, found = outlooks.of(one).leanings()
    doubts, aside = one.campaign.doubts(), list(one.campaign.aside())
    known = one.judging.settings.known_grades
    checks = self_checks(one.campaign.log(), one.collection.scale, known).values()
    doubts |= {check.assessor: "; ".join(check.warnings) for check in checks if check.warnings}
    rows = [check.to_dict() for check in checks]
    return AssessorsOut(one.collection.identifier, number, list(found.values()), doubts, aside, rows)


@router.get("/collections/{collection}/progress")
def show_progress(one: FreshDep) -> ProgressOut:
    """Show how much of the pool is judged, by query and by system."""
    return ProgressOut.from_domain(one.collection.identifier, one.campaign.current_state)


@router.get("/collections/{collection}/log")
def show_log(one: FreshDep, count: CountQuery = 100, before: BeforeQuery = None, leases: bool = False) -> LogOut:
    """The last lines of the campaign's log, or those before a number; leases only on request, because they are many."""
    records = [
        record
        for record in one.campaign.log()
        if (before is None or record.number < before) and (leases or record.event.kind not in ("lease", "compare"))
    ]
    events = [RecordOut.from_domain(record) for record in records[-count:]]
    return LogOut(one.collection.identifier, one.campaign.number, len(records) > count, events)


@router.get("/collections/{collection}/invitations")
def show_invitations(access: AccessDep, one: CollectionDep) -> InvitationsOut:
    """List the people invited to judge this collection."""
    tokens = access.tokens
    return InvitationsOut(tokens is not None, _invited(tokens, one.collection.identifier))


@router.post("/collections/{collection}/invitations", dependencies=[NO_STORE], status_code=201)
def invite(access: AccessDep, one: CollectionDep, asked: Annotated[InvitationIn, Body()]) -> InvitationOut:
    """Make a link with which a person judges this collection under a name.

    If the service uses tokens, the link contains one, valid until it expires or the invitation is withdrawn.
    """
    collection, tokens = one.collection.identifier, access.tokens
    check_new_name(asked.name, "an invitation")
    if tokens is None:
        return InvitationOut(asked.name, _link(collection, name=asked.name), None)
    secret = tokens.create(asked.name, "assessor", collection, asked.days)
    access.reload()
    expires = next(token.expires for token in tokens.tokens() if token.name == asked.name)
    return InvitationOut(asked.name, _link(collection, token=secret), expires or None)


@router.post("/collections/{collection}/invitations/withdraw")
def withdraw(access: AccessDep, one: CollectionDep, asked: Annotated[WithdrawalIn, Body()]) -> InvitationsOut:
    """Withdraw a person's invitation at once; their judgments stay."""
    collection, tokens = one.collection.identifier, access.tokens
    if tokens is None or asked.name not in {token.name for token in _assessors(tokens, collection)}:
        raise InputError(f"{asked.name!r} is not invited to judge {collection}")
    tokens.revoke(asked.name)
    access.reload()
    return InvitationsOut(True, _invited(tokens, collection))


async def _in_turn(turns: CapacityLimiter, request: Request, work: Callable[[], Found]) -> Found:
    """Run work in a thread at the request's turn, unless its client has disconnected by then."""
    async with turns:
        if await request.is_disconnected():
            raise ClientDisconnect
        return await to_thread.run_sync(work)


def _assessors(tokens: TokenStore, collection: str) -> list[Token]:
    """The tokens that allow judging this collection and nothing else."""
    return [token for token in tokens.tokens() if (token.role, token.collection) == ("assessor", collection)]


def _invited(tokens: TokenStore | None, collection: str) -> list[InvitedOut]:
    # People who joined by open links may be many; they are listed there.
    found = [] if tokens is None else [one for one in _assessors(tokens, collection) if not NAME.fullmatch(one.name)]
    return [InvitedOut.from_domain(token, not token.valid(utc_now())) for token in found]


def _link(collection: str, **said: str) -> str:
    """Link to the judging page; the part after # is never sent to a server, so no server logs the token."""
    return f"/judge/{quote(collection, safe='')}#{urlencode(said, quote_via=quote)}"
