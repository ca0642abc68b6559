"""The sound of documents by their identifiers, and its waveform."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException, Query, Request, Response
from fastapi.responses import FileResponse

from audiosim.errors import InputError, SoundError
from audiosim.results.value import need
from audiosim.service.access.callers import ASSESSOR_OF_ANY, Caller, CallerDep, NotServedError
from audiosim.service.collections.shelf import Served
from audiosim.service.collections.sounds import (
    DECODING,
    LIMITS,
    RATE_HZ,
    check_sound,
    known_sound,
    peaks,
    untagged_sounds,
)
from audiosim.service.http.exchange import FAILING, CollectionDep, ServedDep, bodies, chapter, sends
from audiosim.service.types.judging import PeaksOut
from audiosim.sound.clips import NEEDED, picture_of_signal
from audiosim.sound.decode import read

router = chapter("sound", dependencies=[ASSESSOR_OF_ANY])

RANGE = re.compile(r"bytes=(?:(?P<first>\d{1,18})-(?P<last>\d{1,18})?|-(?P<final>\d{1,18}))")
TYPES = {
    ".aif": "audio/aiff",
    ".aiff": "audio/aiff",
    ".flac": "audio/flac",
    ".mp3": "audio/mpeg",
    ".oga": "audio/ogg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
}
CACHED = {"Cache-Control": "private, max-age=3600"}
DECODERS = CapacityLimiter(1)
ROOM_S = 60  # until there may be room for a copy again
CollectionQuery = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="collection of the document; by default the first that has it; needed where many are served",
    ),
]
AUDIO = {"content": bodies("audio/*")}


@router.get(
    "/documents/{document:path}/sound",
    response_class=FileResponse,
    responses={
        200: {"description": "The whole file", **AUDIO},
        206: {"description": "One range of the file", **AUDIO},
        416: FAILING["default"] | {"description": "The file has no such range."},
    },
)
async def send_sound(
    request: Request, caller: CallerDep, document: str, served: ServedDep, collection: CollectionQuery = None
) -> FileResponse:
    """The sound file of a document, or one range of its bytes; assessors get the sound without tags, as FLAC."""
    path = _path(caller, served, document, collection)
    with unplaced(_of(document), path, "sent", "the file" if caller.role == "assessor" else path.name):
        if not known_sound(path):
            await to_thread.run_sync(check_sound, path, limiter=DECODERS)
        if caller.role == "assessor":
            path = await _untagged(path)
    return sound_response(request, path)


async def _untagged(path: Path) -> Path:
    """The copy of a sound file without tags; a request that waits for other requests' decoding holds no thread."""
    try:
        copies = untagged_sounds()
        known = copies.known(path)
        return known if known is not None else await to_thread.run_sync(copies.copy_of, path, limiter=DECODERS)
    except OSError as error:
        problem = f"no copy of this sound can be made now: {error.strerror or 'it cannot be written'}"
        raise HTTPException(503, problem, {"Retry-After": str(ROOM_S)}) from error


def sound_response(request: Request, path: Path) -> FileResponse:
    """A sound file, or the requested range of its bytes."""
    size, asked = path.stat().st_size, request.headers.get("range")
    if asked is not None and "if-range" not in request.headers and not _satisfiable(asked, size):
        raise HTTPException(416, f"expected one range within the {size} bytes", {"Content-Range": f"bytes */{size}"})
    return FileResponse(path, headers=CACHED, media_type=media_type(path))


def media_type(path: Path) -> str:
    """The media type of a sound file, by its ending."""
    return TYPES.get(path.suffix.lower(), "application/octet-stream")


def _satisfiable(asked: str, size: int) -> bool:
    """True if a Range header names one range of an existing file."""
    found = RANGE.fullmatch(asked.replace(" ", ""))
    if found is None:
        return False
    if found["final"] is not None:
        return int(found["final"]) > 0 and size > 0
    first = int(found["first"])
    return first < size and (found["last"] is None or first <= int(found["last"]))


@router.get("/documents/{document:path}/peaks")
async def show_peaks(
    caller: CallerDep, response: Response, document: str, served: ServedDep, collection: CollectionQuery = None
) -> PeaksOut:
    """The waveform of a document, and its loudness."""
    path = _path(caller, served, document, collection)
    response.headers.update(CACHED)
    with unplaced(_of(document), path, "drawn", "the file" if caller.role == "assessor" else path.name):
        return PeaksOut.of(await to_thread.run_sync(peaks, path, limiter=DECODERS))


def _of(document: str) -> str:
    return f"document {document!r:.200}"


@contextmanager
def unplaced(owner: str, path: Path, done: str, shown: str) -> Iterator[None]:
    """Rewrite errors about a sound: they name the document, never the path of its file on this machine.

    owner  document or query of the sound
    done   attempted action on the sound
    shown  text in place of the file's path
    """
    try:
        yield
    except SoundError as error:
        raise SoundError(f"the sound of {owner} cannot be {done}: {str(error).replace(str(path), shown)}") from None


def _path(caller: Caller, served: Served, document: str, collection: str | None) -> Path:
    """The sound file of a document, in the collections that the caller may hear."""
    own = caller.collection
    wanted = [name for name in (own, collection) if name]
    if not wanted and not served.collections.fit:
        raise InputError("this service has many collections: say which one, ?collection=NAME")
    for name in served.collections.names:
        if all(name == other for other in wanted):
            one = served.collection(name)
            meant = one.meant(caller.role, document)
            path = None if meant is None else one.sounds.path(meant)
            if path is not None:
                return path
    raise NotServedError(f"there is no sound of {_of(document)}")


# Pictures of the sound files of a collection, drawn on request.


KEPT_PICTURES = 256  # of some 20 kB each


def recording_picture(path: Path) -> bytes:
    """JPEG file of a recording's mel spectrogram; cached until the sound file changes."""
    need(*NEEDED)
    status = path.stat()
    return _drawn(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=KEPT_PICTURES)
def _drawn(path: Path, _changed: int, _size: int) -> bytes:
    with DECODING:
        signal = read(path, RATE_HZ, LIMITS)
    return picture_of_signal(signal)


# Pictures of recordings, for organisers.


pictures_router = chapter("sound")

JPEG = "image/jpeg"
DRAWERS = CapacityLimiter(1)
DocumentQuery = Annotated[str | None, Query(max_length=1000, description="whose recording")]
OfQuery = Annotated[str | None, Query(max_length=1000, description="a query, instead of a document")]


@pictures_router.get("/collections/{collection}/picture", **sends("A picture", JPEG))
async def show_picture(one: CollectionDep, document: DocumentQuery = None, query: OfQuery = None) -> Response:
    """The mel spectrogram of a document's or a query's recording."""
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
