"""Results for readers who neither judge nor organise, and the links to these results."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import Body
from fastapi.concurrency import run_in_threadpool

from audiosim.campaign.event import utc_now
from audiosim.errors import InputError
from audiosim.service.access.callers import RESULTS_READER
from audiosim.service.access.tokens import TokenStore
from audiosim.service.http.exchange import NO_STORE, CollectionDep, chapter
from audiosim.service.operations.campaign import verdict_fields
from audiosim.service.operations.sessions import AccessDep
from audiosim.service.types.campaign import LinkedOut, LinkIn, LinkOut, LinksOut, ResultsOut, RevocationIn

router = chapter("results")


@router.get("/collections/{collection}/results", dependencies=[RESULTS_READER, NO_STORE])
async def show_results(one: CollectionDep) -> ResultsOut:
    """Show the ranking and the progress of judging: everything that a link to the results gives access to."""

    def show() -> ResultsOut:
        number, verdicts = one.verdicts(None, None)
        return ResultsOut.from_domain(one, number, verdict_fields(verdicts))

    return await run_in_threadpool(show)


@router.get("/collections/{collection}/links")
def show_links(access: AccessDep, one: CollectionDep) -> LinksOut:
    """List the links to the results of this collection, without their tokens."""
    return _all_links(access.tokens, one.collection.identifier)


@router.post("/collections/{collection}/links", dependencies=[NO_STORE], status_code=201)
def share_results(access: AccessDep, one: CollectionDep, asked: Annotated[LinkIn, Body()]) -> LinkOut:
    """Make a link to the live results of this collection, read-only.

    If the service uses tokens, the link contains one, which opens only that page until it expires or is revoked.
    """
    collection, tokens = one.collection.identifier, access.tokens
    if tokens is None:
        return LinkOut(asked.name, _page(collection), None)
    secret = tokens.share(asked.name, collection, asked.days)
    access.reload()
    made = next(link for link in tokens.links() if (link.name, link.collection) == (asked.name, collection))
    return LinkOut(asked.name, f"{_page(collection)}#{urlencode({'token': secret})}", made.expires or None)


@router.post("/collections/{collection}/links/revoke")
def revoke_link(access: AccessDep, one: CollectionDep, asked: Annotated[RevocationIn, Body()]) -> LinksOut:
    """Revoke a link to the results: it no longer opens them."""
    collection, tokens = one.collection.identifier, access.tokens
    if tokens is None:
        raise InputError("this service has no tokens, so no link can be revoked")
    tokens.unshare(asked.name, collection)
    access.reload()
    return _all_links(tokens, collection)


def _all_links(tokens: TokenStore | None, collection: str) -> LinksOut:
    held = [] if tokens is None else [link for link in tokens.links() if link.collection == collection]
    return LinksOut(tokens is not None, [LinkedOut.from_domain(link, not link.valid(utc_now())) for link in held])


def _page(collection: str) -> str:
    """The page of results; the part after # is never sent to a server, so no server logs the token."""
    return f"/results/{quote(collection, safe='')}"
