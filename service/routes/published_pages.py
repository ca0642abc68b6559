"""Published pages, for anybody, without a token."""

from pathlib import PurePosixPath
from urllib.parse import quote

from fastapi import HTTPException, Response
from fastapi.responses import RedirectResponse

from audiosim.service.callers.caller import PUBLIC
from audiosim.service.entrance.exchange import NumberPath, attachment, chapter
from audiosim.service.files.published_records import file_in
from audiosim.service.routes.publication import PublicationsDep

router = chapter("pages", "", dependencies=[PUBLIC], include_in_schema=False)

TYPES = {".html": "text/html", ".csv": "text/csv", ".json": "application/json"}
# A page of a bundle contains its styles, and no scripts.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}


@router.api_route("/published/{collection}", methods=["GET", "HEAD"])
def latest_publication(collection: str, store: PublicationsDep) -> Response:
    """A redirect to the latest publication of a collection."""
    number = next((one.number for one in store.published(collection) if not one.withdrawn), None)
    if number is None:
        raise HTTPException(404, "nothing is published here")
    return RedirectResponse(f"/published/{quote(collection, safe='')}/{number}/")


@router.api_route("/published/{collection}/{number}/{name:path}", methods=["GET", "HEAD"])
def published_file(collection: str, number: NumberPath, store: PublicationsDep, name: str) -> Response:
    """The page of a publication, one of its other files, or all files as a zip file."""
    whole = store.content(collection, number)
    if name == f"{collection}-{number}.zip":
        return Response(whole, headers=HEADERS | attachment(name), media_type="application/zip")
    found = file_in(whole, name or "index.html")
    if found is None:
        raise HTTPException(404, "this publication has no such file")
    kind = TYPES.get(PurePosixPath(name or "index.html").suffix, "text/plain")
    return Response(found, headers=HEADERS, media_type=f"{kind}; charset=utf-8")
