"""Pictures of recordings, for organisers."""

from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import Query, Response

from audiosim.errors import InputError
from audiosim.service.callers.caller import NotServedError
from audiosim.service.entrance.exchange import CollectionDep, chapter
from audiosim.service.routes.sounds import CACHED, unplaced
from audiosim.service.shelf.recording_pictures import recording_picture

router = chapter("sound")

JPEG = "image/jpeg"
DRAWERS = CapacityLimiter(1)
DocumentQuery = Annotated[str | None, Query(max_length=1000, description="whose recording")]
OfQuery = Annotated[str | None, Query(max_length=1000, description="a query, instead of a document")]


@router.get(
    "/collections/{collection}/picture",
    response_class=Response,
    responses={200: {"content": {JPEG: {"schema": {"type": "string", "format": "binary"}}}}},
)
async def show_picture(one: CollectionDep, document: DocumentQuery = None, query: OfQuery = None) -> Response:
    """The mel spectrogram of a document's or a query's recording, drawn by librosa."""
    if (document is None) == (query is None):
        raise InputError("name one recording: ?document=NAME or ?query=NAME")
    said = f"document {document!r:.200}" if query is None else f"query {query!r:.200}"
    name = document or "" if query is None else one.collection.query_document(query)
    path = one.sounds.path(name)
    if path is None:
        raise NotServedError(f"there is no sound of {said}")
    with unplaced(said, path, "drawn", path.name):
        drawn = await to_thread.run_sync(recording_picture, path, limiter=DRAWERS)
    return Response(drawn, headers=CACHED, media_type=JPEG)
