"""Needs of an organiser beside the ranking: a campaign's course, what is left, who judges how, invitations."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import Body, Query, Request, Response
from starlette.requests import ClientDisconnect

from audiosim.campaign import CampaignState
from audiosim.campaign.event import utc_now
from audiosim.campaign.self_checks import self_checks
from audiosim.errors import InputError
from audiosim.service.callers.tokens import Token, TokenStore
from audiosim.service.entrance.exchange import CollectionDep, chapter
from audiosim.service.operation.service_state import part
from audiosim.service.routes.judging import BeforeQuery, CountQuery
from audiosim.service.routes.sessions import AccessDep
from audiosim.service.shelf.outlook import Lookahead, Outlooks
from audiosim.service.wire.judgment_types import RecordOut
from audiosim.service.wire.organisation_types import (
    AssessorsOut,
    HistoryOut,
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

Found = TypeVar("Found")
OutlooksDep = Annotated[Outlooks, part(lambda state: state.outlooks)]
ListenersQuery = Annotated[int, Query(ge=1, le=10_000, description="who judge at the same time")]
router = chapter("organising")

# One at a time works, for a second or for some; the others wait, and mostly find it done.
HISTORIES, ESTIMATES = CapacityLimiter(1), CapacityLimiter(1)


@router.get("/collections/{collection}/history")
async def show_history(request: Request, one: CollectionDep, outlooks: OutlooksDep) -> HistoryOut:
    """Show how the confidence grew with the judgments, at some 200 moments or more, and when the goal was met."""
    course = await _in_turn(HISTORIES, request, lambda: outlooks.of(one).course())
    return HistoryOut.from_domain(one, course)


@router.get("/collections/{collection}/remaining")
async def show_remaining(request: Request, one: CollectionDep, outlooks: OutlooksDep) -> RemainingOut:
    """Predict how many more judgments the goal takes, by the model, with an interval.

    A request within a minute gets the last estimate at once, of the `state` that it names, while the next
    is worked out.
    """
    current, found, preliminary = await _estimated(request, lambda: outlooks.of(one).remaining)
    return RemainingOut.from_domain(one, current, found, preliminary)


@router.get("/collections/{collection}/plan")
async def show_plan(
    request: Request, one: CollectionDep, outlooks: OutlooksDep, listeners: ListenersQuery = 1
) -> PlanOut:
    """Predict the judgments that the goal takes, the systems that stay tied, and what other designs would give.

    What `audiosim plan` says; it takes a while, as campaigns are played on with grades that the model draws.
    Whoever asks again within a minute is told the last plan at once, of the `state` that it names, while the next is
    worked out.
    """
    current, found, preliminary = await _estimated(request, lambda: outlooks.of(one).plan)
    return PlanOut.from_domain(one, current, replace(found, listeners=listeners), preliminary)


@router.get("/collections/{collection}/assessors")
def show_assessors(one: CollectionDep, outlooks: OutlooksDep) -> AssessorsOut:
    """List assessors who grade higher or lower than others, and those whose answers are doubtful; see also `judges`."""
    one.campaign.refresh()
    number, found = outlooks.of(one).leanings()
    doubts, aside = one.campaign.doubts(), list(one.campaign.aside())
    known = one.judging.settings.known_grades
    checks = self_checks(one.campaign.log(), one.collection.scale, known).values()
    doubts |= {check.assessor: "; ".join(check.warnings) for check in checks if check.warnings}
    rows = [check.to_dict() for check in checks]
    return AssessorsOut(one.collection.identifier, number, list(found.values()), doubts, aside, rows)


@router.get("/collections/{collection}/progress")
def show_progress(one: CollectionDep) -> ProgressOut:
    """Show how much of the pool is judged, by query and by system."""
    one.campaign.refresh()
    return ProgressOut.from_domain(one.collection.identifier, one.campaign.current_state)


@router.get("/collections/{collection}/log")
def show_log(one: CollectionDep, count: CountQuery = 100, before: BeforeQuery = None, leases: bool = False) -> LogOut:
    """The last lines of the campaign's log, or those before a number; without leases, which are many, unless asked."""
    one.campaign.refresh()
    records = [
        record
        for record in one.campaign.log()
        if (before is None or record.number < before) and (leases or record.event.kind not in ("lease", "compare"))
    ]
    events = [RecordOut.from_domain(record) for record in records[-count:]]
    return LogOut(one.collection.identifier, one.campaign.number, len(records) > count, events)


@router.get("/collections/{collection}/invitations")
def show_invitations(access: AccessDep, one: CollectionDep) -> InvitationsOut:
    """List who is invited to judge this collection."""
    tokens = access.tokens
    return InvitationsOut(tokens is not None, _invited(tokens, one.collection.identifier))


@router.post("/collections/{collection}/invitations", status_code=201)
def invite(
    access: AccessDep, response: Response, one: CollectionDep, asked: Annotated[InvitationIn, Body()]
) -> InvitationOut:
    """Make a link with which somebody judges this collection under a name.

    Where there are tokens it holds one, which ends after some days or when it is withdrawn.
    """
    collection, tokens = one.collection.identifier, access.tokens
    response.headers["Cache-Control"] = "no-store"
    if tokens is None:
        if not asked.name.strip() or not asked.name.isprintable():
            raise InputError(f"an invitation needs a name of printable characters, got {asked.name!r:.80}")
        return InvitationOut(asked.name, _link(collection, name=asked.name), None)
    secret = tokens.create(asked.name, "assessor", collection, asked.days)
    access.reload()
    expires = next(token.expires for token in tokens.tokens() if token.name == asked.name)
    return InvitationOut(asked.name, _link(collection, token=secret), expires or None)


@router.post("/collections/{collection}/invitations/withdraw")
def withdraw(access: AccessDep, one: CollectionDep, asked: Annotated[WithdrawalIn, Body()]) -> InvitationsOut:
    """End somebody's invitation now; what they judged stays."""
    collection, tokens = one.collection.identifier, access.tokens
    if tokens is None or asked.name not in {token.name for token in _assessors(tokens, collection)}:
        raise InputError(f"{asked.name!r} is not invited to judge {collection}")
    tokens.revoke(asked.name)
    access.reload()
    return InvitationsOut(True, _invited(tokens, collection))


async def _estimated(request: Request, find: Callable[[], Lookahead[Found]]) -> tuple[CampaignState, Found, bool]:
    """The result at hand, at once; else the one that is worked out in turn; and whether it is preliminary."""
    estimate = await to_thread.run_sync(find)
    preliminary = estimate.preliminary  # asked first: one that is made in between is called so once more
    at_hand = estimate.at_hand()
    if at_hand is None:
        at_hand = await _in_turn(ESTIMATES, request, estimate.worked_out)
        preliminary = estimate.preliminary
    return *at_hand, preliminary


async def _in_turn(turns: CapacityLimiter, request: Request, work: Callable[[], Found]) -> Found:
    """Work in a thread when it is the request's turn, and not at all for one that has gone away by then."""
    async with turns:
        if await request.is_disconnected():
            raise ClientDisconnect
        return await to_thread.run_sync(work)


def _assessors(tokens: TokenStore, collection: str) -> list[Token]:
    """The tokens by which one may judge this collection and nothing else."""
    return [token for token in tokens.tokens() if (token.role, token.collection) == ("assessor", collection)]


def _invited(tokens: TokenStore | None, collection: str) -> list[InvitedOut]:
    found = [] if tokens is None else _assessors(tokens, collection)
    return [InvitedOut.from_domain(token, not token.valid(utc_now())) for token in found]


def _link(collection: str, **said: str) -> str:
    """Link to the judging page; what follows its mark # is never sent to a server, so that no log has the token."""
    return f"/judge/{quote(collection, safe='')}#{urlencode(said, quote_via=quote)}"
