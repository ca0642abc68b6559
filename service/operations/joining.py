"""Open links: addresses by which anybody becomes an assessor, each with their own name."""

from typing import Annotated
from urllib.parse import quote

from fastapi import Body, HTTPException, Query, Request

from audiosim.errors import ClosedError
from audiosim.service.access.access import address_of, client_of
from audiosim.service.access.callers import ASSESSOR, PUBLIC, CallerDep
from audiosim.service.access.links import JoiningLimits, OpenLink, OpenLinkStore
from audiosim.service.collections.questions import screening
from audiosim.service.collections.quotas import answers_given, is_done
from audiosim.service.collections.served import ServedCollection
from audiosim.service.http.exchange import NO_STORE, CollectionDep, FreshDep, chapter
from audiosim.service.operations.judging import AssessorQuery, OpenLinksDep, named_assessor, quota_of
from audiosim.service.operations.sessions import KEPT_S, AccessDep
from audiosim.service.tasks.state import part
from audiosim.service.types.people import (
    ClosingIn,
    CompletionOut,
    EntryOut,
    JoinIn,
    JoinOut,
    OpenLinkIn,
    OpenLinkOut,
    OpenLinksOut,
    ParticipantOut,
    ParticipantsOut,
)

router = chapter("organising")

JoiningDep = Annotated[JoiningLimits, part(lambda state: state.joining)]
CodeQuery = Annotated[str, Query(max_length=200, description="code of the open link, from its address")]
TOKEN_DAYS = KEPT_S / 86_400  # as long as a browser keeps it; opening the link again gives another token


@router.get("/collections/{collection}/open-links")
def show_open_links(links: OpenLinksDep, one: CollectionDep) -> OpenLinksOut:
    """List the addresses by which anybody may join this campaign, with the number of people who joined."""
    return _all_open_links(links, one.collection.identifier)


@router.post("/collections/{collection}/open-links", status_code=201)
def make_open_link(links: OpenLinksDep, one: CollectionDep, asked: Annotated[OpenLinkIn, Body()]) -> OpenLinkOut:
    """Make an address by which anybody may join this campaign, up to a number of people.

    Everybody who opens it judges under a separate name, drawn at random.
    """
    return _shown(links, links.create(asked.to_domain(one.collection.identifier), asked.days))


@router.post("/collections/{collection}/open-links/close")
def close_open_link(links: OpenLinksDep, one: CollectionDep, asked: Annotated[ClosingIn, Body()]) -> OpenLinksOut:
    """Close an open link: it admits nobody new, and people who have joined continue."""
    collection = one.collection.identifier
    links.close_link(asked.name, collection)
    return _all_open_links(links, collection)


@router.get("/collections/{collection}/participants", dependencies=[NO_STORE])
def show_participants(links: OpenLinksDep, one: FreshDep) -> ParticipantsOut:
    """List the people who joined by open links, with their identifiers on other platforms."""
    collection = one.collection.identifier
    by_code = {link.code: link for link in links.links(collection)}
    rows = []
    for person in links.participants(collection):
        link = by_code[person.code]
        answers, screened = answers_given(one.campaign, person.name), _screened_out(one, person.name)
        done = is_done(one.campaign, person.name, answers, link.judgments or None)
        said = person.name, link.name, person.reference or None, person.created
        rows.append(ParticipantOut(*said, answers, done, screened))
    return ParticipantsOut(collection, rows)


@router.get("/collections/{collection}/join", dependencies=[PUBLIC])
def show_entry(
    request: Request, links: OpenLinksDep, limits: JoiningDep, one: CollectionDep, code: CodeQuery
) -> EntryOut:
    """Show what an open link needs to know about a person."""
    _wait(limits.asks(client_of(address_of(request))))
    link = links.link(one.collection.identifier, code)
    return EntryOut(link.parameter, _reason(links, link, one) or None)


@router.get("/collections/{collection}/completion", dependencies=[ASSESSOR, NO_STORE])
def show_completion(
    caller: CallerDep, links: OpenLinksDep, one: FreshDep, assessor: AssessorQuery = None
) -> CompletionOut:
    """Show whether a person is done, and if so their completion code for the platform they came from."""
    name = named_assessor(caller, one, assessor)
    link, quota = links.link_of(one.collection.identifier, name), quota_of(links, one, name)
    answers = answers_given(one.campaign, name)
    done = is_done(one.campaign, name, answers, quota)
    screened = _screened_out(one, name)
    code, back = ("", "")
    if link is not None and screened:
        code, back = link.screened_out, link.screened_return_to
    elif link is not None and done:
        code, back = link.completion, link.return_to
    return CompletionOut(name, answers, quota, done, code or None, back or None, screened)


@router.post("/collections/{collection}/join", dependencies=[PUBLIC, NO_STORE])
def join_campaign(
    request: Request,
    access: AccessDep,
    links: OpenLinksDep,
    limits: JoiningDep,
    one: CollectionDep,
    asked: Annotated[JoinIn, Body()],
) -> JoinOut:
    """Join a campaign by an open link, or continue after a break.

    If the service uses tokens, the answer holds a new one, which replaces the person's earlier one.
    """
    collection, client = one.collection.identifier, client_of(address_of(request))
    _wait(limits.asks(client))
    link, person = links.known(collection, asked.code, asked.reference, asked.device)
    if person is None:
        if why := _reason(links, link, one):
            raise ClosedError(why)
        _wait(limits.comes(client))
        person = links.join(link, asked.reference, asked.device)
    if access.tokens is None:
        return JoinOut(person.name, None)
    secret = access.tokens.renew(person.name, collection, TOKEN_DAYS)
    access.reload()
    return JoinOut(person.name, secret)


def _screened_out(one: ServedCollection, name: str) -> bool:
    return one.questions.screens and screening(one.campaign, name) == "failed"


def _reason(links: OpenLinkStore, link: OpenLink, one: ServedCollection) -> str:
    """Reason why a link admits nobody new; empty if it is open."""
    return links.reason_closed(link) or ("judging has ended" if one.campaign.state == "closed" else "")


def _wait(seconds: int) -> None:
    if seconds:
        detail = "too many people came from this address or by open links; try again later"
        raise HTTPException(429, detail, {"Retry-After": str(seconds)})


def _all_open_links(links: OpenLinkStore, collection: str) -> OpenLinksOut:
    return OpenLinksOut(collection, [_shown(links, link) for link in links.links(collection)])


def _shown(links: OpenLinkStore, link: OpenLink) -> OpenLinkOut:
    path = f"/join/{quote(link.collection, safe='')}/{link.code}"
    none = {name: getattr(link, name) or None for name in ("expires", "judgments")}
    return OpenLinkOut.of(link, link=path, ended=links.reason_closed(link) or None, **none)
