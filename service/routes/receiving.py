"""Arrivals at a collection while it is served: recordings and their metadata, and runs of systems."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, HTTPException, Query, Request, Response

from audiosim.corpus.model import Document
from service.arriving import LONGEST_IDENTIFIER, Receiver
from service.exchange import COMPONENTS, JSON, BodyDep, CollectionDep, WireRoute
from service.wire_arrivals import DocumentIn, DocumentOut, RunsOut

Found = TypeVar("Found")
SUFFIXES = {
    "audio/aac": ".aac",
    "audio/aiff": ".aiff",
    "audio/flac": ".flac",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/opus": ".opus",
    "audio/wav": ".wav",
    "audio/x-aiff": ".aiff",
    "audio/x-flac": ".flac",
    "audio/x-m4a": ".m4a",
    "audio/x-wav": ".wav",
    "application/octet-stream": "",
}
DOCUMENT: dict[str, Any] = {
    JSON: {"schema": {"$ref": COMPONENTS.format(name="DocumentIn")}},
    **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in SUFFIXES},
}
RUN = {"text/plain": {"schema": {"type": "string"}}}
KNOWN: dict[int | str, dict[str, Any]] = {200: {"description": "Nothing of it is new"}}
NameQuery = Annotated[str | None, Query(min_length=1, max_length=LONGEST_IDENTIFIER)]

router = APIRouter(prefix="/v1", tags=["arrivals"], route_class=WireRoute)

# One thing at a time is taken in; the others wait, and hold no thread.
TURNS = CapacityLimiter(1)


@router.post(
    "/collections/{collection}/documents",
    status_code=201,
    responses=KNOWN,
    openapi_extra={"requestBody": {"required": True, "content": DOCUMENT}},
)
async def take_document(
    request: Request,
    response: Response,
    one: CollectionDep,
    body: BodyDep,
    document: NameQuery = None,
    artist: NameQuery = None,
    genre: NameQuery = None,
) -> DocumentOut:
    """Take in a recording, or what is known of one: from then on its relevance to any query is predicted.

    As JSON, metadata alone. As a file of sound, which is described as the collection's others are; its identifier and
    metadata are then in the address, `?document=new1&artist=Somebody&genre=jazz`. What is known of a document stays:
    that it is otherwise is refused.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    name = one.collection.identifier
    if kind == JSON:
        if (document, artist, genre) != (None, None, None):
            raise HTTPException(422, "metadata may be in the body or in the address, not in both")
        known = DocumentIn.taken(body).to_domain()
        came = await _in_turn(lambda: _receiver(request).take_document(name, known))
    elif kind in SUFFIXES:
        if document is None:
            raise HTTPException(422, "expected ?document=IDENTIFIER, which the recording is to be called")
        known, suffix = Document(document, artist, genre), SUFFIXES[kind]
        came = await _in_turn(lambda: _receiver(request).take_document(name, known, body, suffix))
    else:
        raise HTTPException(415, f"expected {JSON} or a file of sound ({', '.join(SUFFIXES)}), got {kind!r:.80}")
    response.status_code = 201 if came.fresh else 200
    return DocumentOut.from_domain(name, came)


@router.post(
    "/collections/{collection}/runs",
    status_code=201,
    responses=KNOWN,
    openapi_extra={"requestBody": {"required": True, "content": RUN}},
)
async def take_runs(
    request: Request,
    response: Response,
    one: CollectionDep,
    body: BodyDep,
    system: NameQuery = None,
    team: NameQuery = None,
) -> RunsOut:
    """Take in the run of a new system, or of one whose run has changed, while the campaign goes on; judgments stay.

    A file of one run or several, in any form that a collection's folder may have it. `system` names the system where
    the file holds one run, and `team` whose it is.
    """
    name = one.collection.identifier
    came = await _in_turn(lambda: _receiver(request).take_runs(name, body, system, team))
    response.status_code = 201 if came.fresh else 200
    return RunsOut.from_domain(name, came)


def _receiver(request: Request) -> Receiver:
    receiver = request.app.state.receiver
    assert isinstance(receiver, Receiver)
    return receiver


async def _in_turn(work: Callable[[], Found]) -> Found:
    async with TURNS:
        return await to_thread.run_sync(work)
