"""Report of record of a campaign, as a bundle to download and as a page for anybody to read."""

from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import quote

from fastapi import Body, HTTPException, Query, Response
from fastapi.responses import RedirectResponse

from audiosim.service.access.callers import PUBLIC, CallerDep
from audiosim.service.collections.publications import PublicationStore, bundle_of, file_in
from audiosim.service.http.exchange import CollectionDep, NumberPath, attachment, chapter, sends
from audiosim.service.operations.campaign import MeasureQuery, RankingsDep
from audiosim.service.tasks.state import part
from audiosim.service.types.collections import PublicationIn, PublicationsOut, PublicationWithdrawalIn, PublishedOut

router = chapter("campaign")
ZIP = "application/zip"

SuccessQuery = Annotated[float, Query(ge=0, le=1, description="share of users above which a result list is a success")]
PublicationsDep = Annotated[PublicationStore, part(lambda state: state.publications)]


@router.get("/collections/{collection}/report", **sends("A zip file", ZIP))
async def publish_record(
    one: CollectionDep, rankings: RankingsDep, measure: MeasureQuery = None, success: SuccessQuery = 0.5
) -> Response:
    """The bundle of `audiosim report`, with the judgments so far and the campaign's log.

    It holds a page that opens without the service, tables, judgments, log, checksums and CITATION.cff. The log leaves
    out people's answers about themselves. Making a bundle takes seconds: a few are made at a time, and further requests
    are refused.
    """
    wanted = one.measure(measure)
    _, content = await rankings.do((one, "record", wanted, success), lambda: bundle_of(one, wanted, success))
    headers = attachment(f"{one.collection.identifier}-record.zip")
    return Response(content, headers=headers, media_type=ZIP)


@router.get("/collections/{collection}/publications")
def show_publications(store: PublicationsDep, one: CollectionDep) -> PublicationsOut:
    """List the publications of this collection."""
    return _all_publications(store, one.collection.identifier)


@router.post("/collections/{collection}/publications", status_code=201)
async def publish_page(
    caller: CallerDep,
    store: PublicationsDep,
    rankings: RankingsDep,
    one: CollectionDep,
    asked: Annotated[PublicationIn, Body()],
) -> PublishedOut:
    """Publish the results so far: a page that anybody can read without a token, with the bundle to download.

    Each publication has its own number and does not change with later judgments.
    """
    store.check_lasting()  # before a bundle is made for seconds
    imprint, measure = asked.to_domain(), one.measure(None)

    def publish() -> PublishedOut:
        judgments, content = bundle_of(one, measure, imprint=imprint, named=asked.named)
        return PublishedOut.from_domain(store.publish(one.collection.identifier, caller.name, judgments, content))

    return await rankings.do((one, "publication", imprint, asked.named), publish)


@router.post("/collections/{collection}/publications/withdraw")
def withdraw_publication(
    store: PublicationsDep, one: CollectionDep, asked: Annotated[PublicationWithdrawalIn, Body()]
) -> PublicationsOut:
    """Withdraw a publication: its page and its bundle are deleted here; copies elsewhere remain."""
    collection = one.collection.identifier
    store.withdraw(collection, asked.number)
    return _all_publications(store, collection)


def _all_publications(store: PublicationStore, collection: str) -> PublicationsOut:
    return PublicationsOut(collection, [PublishedOut.from_domain(one) for one in store.published(collection)])


# Published pages, for anybody, without a token.


published_pages_router = chapter("results", "", dependencies=[PUBLIC])

TYPES = {".html": "text/html", ".csv": "text/csv", ".json": "application/json"}
OTHER = "text/plain"
# A page of a bundle contains its styles, and no scripts.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}


@published_pages_router.get(
    "/published/{collection}",
    response_class=RedirectResponse,
    status_code=307,
    responses={307: {"description": "The address of its page is in the header Location"}},
)
def latest_publication(collection: str, store: PublicationsDep) -> Response:
    """Lead to the latest publication of a collection."""
    number = next((one.number for one in store.published(collection) if not one.withdrawn), None)
    if number is None:
        raise HTTPException(404, "nothing is published here")
    return RedirectResponse(f"/published/{quote(collection, safe='')}/{number}/")


@published_pages_router.get(
    "/published/{collection}/{number}/{name:path}",
    **sends("The file", *TYPES.values(), OTHER, ZIP),
)
def published_file(collection: str, number: NumberPath, store: PublicationsDep, name: str) -> Response:
    """Send a file of a publication: its page index.html, the whole record.json, or all of them as a zip file."""
    whole = store.content(collection, number)
    if name == f"{collection}-{number}.zip":
        return Response(whole, headers=HEADERS | attachment(name), media_type=ZIP)
    found = file_in(whole, name or "index.html")
    if found is None:
        raise HTTPException(404, "this publication has no such file")
    kind = TYPES.get(PurePosixPath(name or "index.html").suffix, OTHER)
    return Response(found, headers=HEADERS, media_type=f"{kind}; charset=utf-8")
