"""Additions to a collection while it is served: recordings and their metadata, and runs of systems."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Annotated, Any, TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, HTTPException, Query, Request, Response

from audiosim.corpus.model import Document
from audiosim.service.callers.caller import CLIENT, CallerDep
from audiosim.service.entrance.exchange import JSON, BodyDep, CollectionDep, chapter, reference
from audiosim.service.entrance.limits import Entrance
from audiosim.service.files.additions import LONGEST_IDENTIFIER, ArrivedDocument, ArrivedJudge, ArrivedRuns, Receiver
from audiosim.service.files.deliveries import Delivery
from audiosim.service.operation.service_state import part
from audiosim.service.process.memory import give_back_freed_memory
from audiosim.service.routes.imports import ImportsDep
from audiosim.service.routes.judging import KeyHeader
from audiosim.service.wire.arrival_types import DocumentIn, DocumentOut, JudgeOut, RunsOut

Arrived = TypeVar("Arrived", ArrivedDocument, ArrivedRuns, ArrivedJudge)
Answer = TypeVar("Answer", DocumentOut, RunsOut, JudgeOut)
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
    JSON: {"schema": reference("DocumentIn")},
    **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in SUFFIXES},
}
RUN = {
    "text/plain": {"schema": {"type": "string"}},
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
}
KNOWN: dict[int | str, dict[str, Any]] = {200: {"description": "Nothing in it is new"}}
NameQuery = Annotated[str | None, Query(min_length=1, max_length=LONGEST_IDENTIFIER)]

ReplaceQuery = Annotated[bool, Query(description="whether a run may replace one that answers many more queries")]
PartialQuery = Annotated[bool, Query(description="whether a run may answer less than 90 % of the queries")]

router = chapter("arrivals")

# One addition at a time; the others wait without holding a thread.
TURNS = CapacityLimiter(1)


@dataclass
class Incoming:
    """One request that adds something to a collection; FastAPI builds it from the arguments of its route."""

    request: Request
    response: Response
    caller: CallerDep
    one: CollectionDep
    body: BodyDep
    receiver: Annotated[Receiver, part(lambda state: state.receiver)]
    sent_before: ImportsDep
    entrance: Annotated[Entrance, part(lambda state: state.entrance)]
    key: KeyHeader = ""

    @property
    def collection(self) -> str:
        """Identifier of the collection."""
        return self.one.collection.identifier

    async def take(
        self, kind: type[Answer], spell: Callable[[str, Arrived], Answer], work: Callable[[Receiver], Arrived]
    ) -> Answer:
        """Answer to an addition in its turn: status 201, or 200 if nothing is new or it was sent before.

        kind   type of the answer
        spell  makes the answer from the collection and the addition
        """

        def done(receiver: Receiver) -> tuple[bool, Answer]:
            came = work(receiver)
            return came.fresh, spell(self.collection, came)

        async with TURNS:
            fresh, answer = await to_thread.run_sync(self._take, kind, done)
        self.response.status_code = 201 if fresh else 200
        return answer

    def _take(self, kind: type[Answer], work: Callable[[Receiver], tuple[bool, Answer]]) -> tuple[bool, Answer]:
        said = self.request.headers.get("content-type"), self.request.url.path, self.request.url.query
        sent = Delivery.of(self.collection, self.caller.name, self.key, self.body, *said)
        before = self.sent_before.answered(sent)
        if before is not None:
            return False, msgspec.json.decode(before, type=kind)
        self._check_quota()
        fresh, answer = work(self.receiver)
        if fresh:
            give_back_freed_memory()  # that of the collection as it was before
        if self.key or (fresh and self.caller.role != "organiser"):
            kept_bytes = sent.kept_bytes if fresh else 0
            self.sent_before.note_answer(replaced(sent, kept_bytes=kept_bytes), msgspec.json.encode(answer).decode())
        return fresh, answer

    def _check_quota(self) -> None:
        """Raise an error if a sender other than the organiser has used up their storage."""
        most = self.entrance.limits.sender_bytes
        if self.caller.role == "organiser":
            return
        if self.sent_before.kept_bytes(self.caller.name) + len(self.body) > most:
            raise HTTPException(413, f"one sender may store {most:,} bytes at most (--upload-limit)")


IncomingDep = Annotated[Incoming, Depends()]


@router.post(
    "/collections/{collection}/documents",
    dependencies=[CLIENT],
    status_code=201,
    responses=KNOWN,
    openapi_extra={"requestBody": {"required": True, "content": DOCUMENT}},
)
async def take_document(
    incoming: IncomingDep, document: NameQuery = None, artist: NameQuery = None, genre: NameQuery = None
) -> DocumentOut:
    """Add a recording, or metadata of one; its relevance to any query is then predicted.

    JSON is metadata alone. A file of sound is described like the collection's others; its identifier and metadata are
    then in the address, `?document=new1&artist=Somebody&genre=jazz`. Known metadata cannot be changed; a conflicting
    value is refused.
    """
    kind = incoming.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON:
        if (document, artist, genre) != (None, None, None):
            raise HTTPException(422, "metadata may be in the body or in the address, not in both")
        known, sound = DocumentIn.taken(incoming.body).to_domain(), None
    elif kind in SUFFIXES:
        if document is None:
            raise HTTPException(422, "expected ?document=IDENTIFIER, the identifier of the recording")
        known, sound = Document(document, artist, genre), incoming.body
    else:
        raise HTTPException(415, f"expected {JSON} or a file of sound ({', '.join(SUFFIXES)}), got {kind!r:.80}")
    name, suffix = incoming.collection, SUFFIXES.get(kind, "")
    return await incoming.take(
        DocumentOut, DocumentOut.from_domain, lambda to: to.take_document(name, known, sound, suffix)
    )


@router.post(
    "/collections/{collection}/runs",
    status_code=201,
    responses=KNOWN,
    openapi_extra={"requestBody": {"required": True, "content": RUN}},
)
async def take_runs(
    incoming: IncomingDep,
    system: NameQuery = None,
    team: NameQuery = None,
    replace: ReplaceQuery = False,
    partial: PartialQuery = False,
) -> RunsOut:
    """Add the run of a new system, or replace one that has changed, while the campaign goes on; judgments stay.

    The file holds one run or several, in any form that a collection's folder accepts. `system` names the system if the
    file holds one run, `team` its makers. A run that answers less than 90 % of the queries is refused unless `partial`
    is true; one that answers far fewer than the run it replaces is refused unless `replace` is true.
    """
    name, text = incoming.collection, incoming.body
    return await incoming.take(
        RunsOut, RunsOut.from_domain, lambda to: to.take_runs(name, text, system, team, replace, partial)
    )


@router.post(
    "/collections/{collection}/judges/{judge}",
    status_code=201,
    responses=KNOWN,
    openapi_extra={"requestBody": {"required": True, "content": RUN}},
)
async def take_judge(incoming: IncomingDep, judge: str) -> JudgeOut:
    """Add the grades of a machine that judges, or replace its earlier ones; judgments stay.

    The table has the form of `judges/NAME.tsv` in a collection's folder: a header, then query, document, and grade or
    score, separated by tabs. A machine's grades are evidence about people's grades, not judgments.
    """
    name, text = incoming.collection, incoming.body
    return await incoming.take(JudgeOut, JudgeOut.from_domain, lambda to: to.take_judge(name, judge, text))
