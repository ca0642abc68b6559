"""The service of a study: a page on which people compare two result lists, and a log of their answers."""

import asyncio
import hashlib
import logging
import math
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Literal, TypeVar
from urllib.parse import quote

import msgspec
from annotated_types import Ge, Le
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from audiosim.collection.collection import Collection
from audiosim.errors import InputError, StoreError
from audiosim.people.study import (
    NAME_EXPECTED,
    Ending,
    Showing,
    StudyAnswer,
    StudyProgress,
    StudyRules,
    is_name,
    plain_name,
    read_invited,
)
from audiosim.people.study_log import StudyLog, read_study
from audiosim.service.app import listen, near, owner_only, server_config, stopping_cleanly
from audiosim.service.collections.sounds import ALLOW, Sounds, check_sound, known_sound
from audiosim.service.http.exchange import answer
from audiosim.service.http.observation import Observed, request_log, start_logging
from audiosim.service.http.problems import refusal
from audiosim.service.operations.pages import send_file, shipped
from audiosim.service.operations.sounds import sound_response, unplaced
from audiosim.service.process.time_limit import Server
from audiosim.service.types.base import decode

LOG = logging.getLogger("service")
Wire = TypeVar("Wire")
BODY_BYTES, BODY_S = 64 * 2**10, 60.0
LONGEST_COMMENT, LONGEST_S = 2000, 86_400.0


class StudyNextIn(msgspec.Struct, forbid_unknown_fields=True):
    """A person's request for an example."""

    worker: str


class StudyAnswerIn(msgspec.Struct, forbid_unknown_fields=True):
    """A person's answer to an example.

    key      key of the example
    answer   the better service, as shown, or both good or bad
    seconds  time since the example was shown
    """

    worker: str
    key: str
    answer: Literal["a", "b", "good", "bad"]
    seconds: float = 0.0
    comment: str = ""


class StudyShownOut(msgspec.Struct):
    """The next example for a person, or the reason why there is none.

    state     task, or the reason why there is none: turned away, limit, complete, later
    answered  number of answers that this person has given
    most      largest number of answers that they may give in all
    key       key to return with the answer
    query, a, b  addresses of the clips; lists start with the best rank
    code      completion code, if the person has answered at least once and is done
    """

    state: str
    answered: int
    most: int
    key: str = ""
    query: str = ""
    a: Sequence[str] = ()
    b: Sequence[str] = ()
    code: str = ""


class StudyDesk:
    """Hands out examples and takes answers.

    code    completion code for people from a crowdsourcing platform
    people  people who may take part, by name or code; None: everybody who can open the page
    """

    def __init__(
        self,
        progress: StudyProgress,
        log: StudyLog,
        collection: Collection,
        sounds: Sounds,
        code: str = "",
        people: Iterable[str] | None = None,
    ) -> None:
        self._progress, self._log, self._collection, self._code = progress, log, collection, code
        self._people = None if people is None else {plain_name(name): _mark(plain_name(name)) for name in people}
        self._marks = frozenset(self._people.values() if self._people else ())
        study = progress.study
        queries = {collection.query_document(query) for query in study.queries}
        self._clips = {one: path for one in sorted({*study.documents, *queries}) if (path := sounds.path(one))}
        missing = sorted({*study.documents, *queries} - self._clips.keys())
        if missing:
            raise InputError(f"no sound of {len(missing)} documents of the study, such as {missing[0]}: {ALLOW}")
        self._keys: dict[str, tuple[str, Showing]] = {}
        self._answered: dict[str, str] = {}

    def admit(self, worker: str) -> str:
        """The name of a person who may take part, without needless spaces; an error for anybody else."""
        name = plain_name(worker)
        if not is_name(name):
            raise HTTPException(422, f"worker: expected {NAME_EXPECTED}")
        if self._people is not None and name not in self._people:
            raise HTTPException(403, "this study is only for people with an invitation; use the link in yours")
        return name

    def show(self, worker: str) -> StudyShownOut:
        """The lists for a person to compare next."""
        shown, most = self._progress.next_for(worker, monotonic()), self._progress.most(worker, monotonic())
        answered = self._progress.given(worker) + self._progress.right(worker)[1]
        if isinstance(shown, Ending):
            done = shown in (Ending.LIMIT, Ending.COMPLETE) and answered > 0
            return StudyShownOut(shown.value, answered, most, code=self._code if done else "")
        if worker not in self._keys:  # keep no key of a person who left without an answer
            self._keys = {name: kept for name, kept in self._keys.items() if self._progress.showing(name) is not None}
        key, before = self._keys.get(worker, ("", None))
        if before != shown:
            key = secrets.token_hex(8)
            self._keys[worker] = key, shown
        pair = (self._progress.study.traps if shown.trap else self._progress.study.examples)[shown.place]
        lists = [[self._address(worker, document) for document in listed] for listed in (pair.a, pair.b)]
        a, b = reversed(lists) if shown.swapped else lists
        query = self._address(worker, self._collection.query_document(pair.query))
        return StudyShownOut("task", answered, most, key, query, a, b)

    def _address(self, worker: str, document: str) -> str:
        return f"clips/{quote(document)}" if self._people is None else f"clips/{self._people[worker]}/{quote(document)}"

    def clip(self, place: str) -> Path | None:
        """The sound file for an address; None if there is none, or if no invited person has that address."""
        if self._people is None:
            return self._clips.get(place)
        mark, _, document = place.partition("/")
        return self._clips.get(document) if mark in self._marks else None

    def take(self, said: StudyAnswerIn) -> StudyShownOut:
        """Store an answer once, however often it is sent; return the next example."""
        if self._answered.get(said.worker) == said.key:
            return self.show(said.worker)
        key, shown = self._keys.get(said.worker, ("", None))
        if shown is None or key != said.key or self._progress.showing(said.worker) != shown:
            raise HTTPException(409, "this example is no longer yours: it timed out, or the service was restarted")
        seconds = min(max(said.seconds, 0.0), LONGEST_S) if math.isfinite(said.seconds) else 0.0
        now = datetime.now(UTC).isoformat(timespec="seconds")
        comment = said.comment[:LONGEST_COMMENT]
        kept = StudyAnswer(said.worker, shown, shown.in_file(said.answer), round(seconds, 1), comment, now)
        self._log.add(kept)
        self._progress.note(kept)
        self._answered[said.worker] = said.key
        return self.show(said.worker)


def _mark(name: str) -> str:
    """Part of the addresses of an invited person's clips; it is as hard to guess as the name, but can be logged."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def create_study_app(desk: StudyDesk, finished: Sequence[Callable[..., object]] = ()) -> ASGIApp:
    """The application: the page, its requests, and the clips."""

    async def page(_: Request) -> Response:
        return HTMLResponse(shipped().fill("study"), headers={"Cache-Control": "no-cache"})

    async def show(request: Request) -> Response:
        asked = await _body(request, StudyNextIn)
        return answer(desk.show(desk.admit(asked.worker)))

    async def take(request: Request) -> Response:
        said = await _body(request, StudyAnswerIn)
        said.worker = desk.admit(said.worker)
        return answer(desk.take(said), 201)

    def clip(request: Request) -> Response:
        path = desk.clip(request.path_params["document"])
        if path is None or not path.is_file():
            raise HTTPException(404, "the study has no such clip")
        with unplaced("this clip", path, "played", "the file"):
            if not known_sound(path):
                check_sound(path)
        return sound_response(request, path)

    def static(request: Request) -> Response:
        return send_file(request, request.path_params["version"], request.path_params["name"])

    app = Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/next", show, methods=["POST"]),
            Route("/answers", take, methods=["POST"]),
            Route("/clips/{document:path}", clip, methods=["GET"]),
            Route("/static/{version}/{name:path}", static, methods=["GET"]),
        ],
        exception_handlers={
            HTTPException: _of_http,
            InputError: _of_input,
            StoreError: _of_store,
        },
    )
    return Observed(app, finished)


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal(request.scope, error.status_code, error.detail, error.headers)


async def _of_input(request: Request, error: Exception) -> Response:
    return refusal(request.scope, 422, str(error))


async def _of_store(request: Request, error: Exception) -> Response:
    """Log the file and its problem for the organiser; tell participants only what to do."""
    LOG.error("%s", error)
    return refusal(request.scope, 503, "answers cannot be saved at the moment; try again")


async def _body(request: Request, kind: type[Wire]) -> Wire:
    """The JSON of a request; only as application/json, which other sites' pages cannot send without permission."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "expected application/json")
    whole = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                whole += chunk
                if len(whole) > BODY_BYTES:
                    raise HTTPException(413, f"a body may have {BODY_BYTES} bytes at most")
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {BODY_S:g} s") from None
    return decode(bytes(whole), kind)


def serve_study(
    collection: str | Path,
    examples: str | Path,
    log: str | Path,
    *,
    traps: str | Path | None = None,
    limit: int = 100,
    opinions: Annotated[int, Ge(1)] = 1,
    trap_share: float = 0.2,
    trust: float = 0.7,
    people: str | Path | None = None,
    completion_code: str = "",
    sounds: Sequence[str | Path] = (),
    host: str = "127.0.0.1",
    port: Annotated[int, Ge(0), Le(65535)] = 8000,
    seed: int = 0,
    show: Callable[[str], object] | None = None,
) -> None:
    """Serve the page on which people compare two lists of results, and keep their answers.

    Examples come in random order, each list on either side. People begin with four traps and meet more on the way;
    a person who gets too many wrong is turned away, and others answer in their place. A log of the same study is
    continued. A crowdsourcing platform names the person in the address: `?worker=ID`, or as Prolific and Mechanical
    Turk write it.

    examples    file of `audiosim study sample`
    log         file to which each answer is added at once
    traps       examples with a known answer in the column `answer`, which detect careless people
    limit       largest number of answers per person, without traps
    opinions    answers that each example needs
    trap_share  share of traps among the examples after the first four
    trust       share of traps that a person must get right
    people      file of people who may take part, one name or code per line; each gets a link with their own after
                ?worker=
    completion_code  code shown to people who are done, for their platform
    sounds      further folders whose recordings may be played
    host        address to listen on; without --people everyone who can open it can take part
    port        port to listen on; 0 for any
    seed        seed of the random order
    show        called with the address of the page when it can be opened

    Example: `audiosim study serve demo answers.tsv --traps traps.tsv --log study.jsonl`
    """
    invited = None if people is None else read_invited(people)
    study = read_study(examples, traps, StudyRules(limit, opinions, trap_share, trust, seed=seed))
    read = Collection.load(collection, "none")
    found = Sounds(read, collection, sounds)
    with owner_only():
        kept, progress = StudyLog.open(log, study)
    start_logging("text")
    try:
        desk = StudyDesk(progress, kept, read, found, completion_code, invited)
        listening = listen(host, port)
        root = near(listening)
        LOG.info(f"people compare lists at {root}/; Ctrl-C stops; answers are added to {log}")
        if not study.traps:
            LOG.warning("there are no traps: careless answers count like all others; --traps FILE names some")
        if show is not None:
            threading.Thread(target=show, args=(f"{root}/",), daemon=True).start()
        app = create_study_app(desk, [request_log("text", sys.stderr)])
        with listening, stopping_cleanly():
            Server(server_config(app)).run(sockets=[listening])
    finally:
        kept.close()
    LOG.info("stopped")
