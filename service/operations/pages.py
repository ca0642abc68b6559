"""The pages for people, and their files; they need no build step, and load nothing from elsewhere.

The address of a file contains a hash of all files, so browsers may cache the file for ever. A module that imports
another by a relative address gets the one of the same release.
"""

import gzip
import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from fastapi import HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from audiosim.collection.task import TaskTable
from audiosim.service.access.callers import PUBLIC
from audiosim.service.http.exchange import ServedDep, chapter
from audiosim.service.http.languages import ENGLISH, chosen_language, in_language

router = chapter("pages", "", dependencies=[PUBLIC], include_in_schema=False)

FOLDER = Path(__file__).resolve().parents[1] / "pages"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept-Language"}
FOR_EVER = "public, max-age=31536000, immutable"
HASH_DIGITS = 16
LanguageQuery = Annotated[str, Query(max_length=40)]
ANY_TASK = TaskTable()
RANKING = "organise/ranking.html"  # the table of two pages
MISSING = "There is no collection “{name}” here"  # heading of missing.html
LEVEL = 6  # of compression; a higher one would save a few percent of 2 MB, and make the first reader wait


@dataclass(frozen=True, slots=True)
class Release:
    """All files of the pages.

    version    hash of names and contents
    files      the files that browsers load, compressed by gzip, by path in the folder
    templates  the pages themselves, by name
    """

    version: str
    files: Mapping[str, bytes]
    templates: Mapping[str, str]

    @classmethod
    def read(cls, folder: Path) -> "Release":
        """The files of a folder."""
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        found = {path.relative_to(folder): path.read_bytes() for path in paths}
        ranking = found.get(Path(RANKING), b"").decode()
        listed = "".join(f"{path.as_posix()} {hashlib.sha256(found[path]).hexdigest()}\n" for path in found)
        files = {
            path.as_posix(): gzip.compress(content, LEVEL, mtime=0)
            for path, content in found.items()
            if path.suffix in TYPES
        }
        templates = {
            path.stem: content.decode().replace("{{ranking}}\n", ranking)
            for path, content in found.items()
            if path.suffix == ".html"
        }
        version = hashlib.sha256(listed.encode()).hexdigest()[:HASH_DIGITS]
        return cls(version, MappingProxyType(files), MappingProxyType(templates))

    def fill(self, name: str, collection: str = "", language: str = ENGLISH, task: TaskTable = ANY_TASK) -> str:
        """A page in a language, for a collection if one is named, with the people wanted by its task."""
        filled = in_language(self.templates[name], language).replace("{{static}}", f"/static/{self.version}")
        for key, wanted in (("languages", task.languages), ("devices", task.devices)):
            filled = filled.replace(f"{{{{{key}}}}}", html.escape(" ".join(wanted)))
        return filled.replace("{{collection}}", html.escape(collection))


@lru_cache(maxsize=1)
def shipped() -> Release:
    """The pages that come with the service."""
    return Release.read(FOLDER)


@router.get("/")
async def start() -> Response:
    """The start page: the collections, each with the links that the reader's role allows."""
    return _sent("start")


@router.get("/create")
async def create() -> Response:
    """The page on which organisers make a collection."""
    return _sent("create")


@router.get("/docs")
async def docs() -> Response:
    """The page on which programmers try out operations."""
    return _sent("docs")


@router.get("/judge/{collection}")
def judge(request: Request, collection: str, served: ServedDep, lang: LanguageQuery = "") -> Response:
    """The judging page, in the language of the address, of the task or of the browser."""
    known = collection in served.collections.names
    task = served.collections.task_of(collection) if known else ANY_TASK
    language = chosen_language(lang, task.language, request.headers.get("accept-language", ""))
    if not known:
        return _missing(collection, language)
    return HTMLResponse(shipped().fill("judge", collection, language, task), headers=HEADERS)


@router.get("/join/{collection}/{code}")
def join_page(request: Request, collection: str, code: str, served: ServedDep, lang: LanguageQuery = "") -> Response:
    """The judging page for a person with an open link, identified by the code in its address."""
    return judge(request, collection, served, lang)


@router.get("/organise/{collection}")
def organise(collection: str, served: ServedDep) -> Response:
    """The page on which an organiser follows a campaign."""
    return _page("organise", collection, collection in served.collections.names)


@router.get("/results/{collection}")
def results(collection: str, served: ServedDep) -> Response:
    """The page of results for people with a link to it; the page requests them with the link's token."""
    return _page("results", collection, collection in served.collections.names)


def _page(name: str, collection: str, known: bool) -> Response:
    return _sent(name, collection) if known else _missing(collection)


def nowhere(said: str = "") -> Response:
    """The page at an address where nothing is.

    said  what there is to say about it, such as "nothing is published here"
    """
    heading = html.escape(f"{said[:1].upper()}{said[1:]}") if said else "There is no page at this address"
    page = shipped().fill("missing").replace(MISSING, heading)
    return HTMLResponse(page, 404, HEADERS)


def _missing(collection: str, language: str = ENGLISH) -> Response:
    named = f"<bdi>{html.escape(collection)}</bdi>"  # inserted last: a name may look like a mark of the template
    return HTMLResponse(shipped().fill("missing", language=language).replace("{name}", named), 404, HEADERS)


def _sent(name: str, collection: str = "", language: str = ENGLISH) -> Response:
    return HTMLResponse(shipped().fill(name, collection, language), headers=HEADERS)


@router.get("/static/{version}/{name:path}")
def send_file(request: Request, version: str, name: str) -> Response:
    """A file that a page loads."""
    release = shipped()
    if version != release.version or name not in release.files:
        raise HTTPException(404, "this file is of another release; load it again")
    packed, kind = release.files[name], TYPES[Path(name).suffix]
    headers = {"Cache-Control": FOR_EVER, "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), headers=headers, media_type=kind)
    return Response(packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=kind)
