"""Additions to a collection while it is served: recordings and their metadata, and runs of systems."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import Depends, HTTPException, Query

from audiosim.collection.kinds import nameless
from audiosim.collection.values import Document
from audiosim.errors import InputError
from audiosim.service.access.callers import CLIENT
from audiosim.service.collections.additions import (
    LONGEST_IDENTIFIER,
    ArrivedDocument,
    ArrivedJudge,
    ArrivedRuns,
    Receiver,
    sent_documents,
)
from audiosim.service.collections.drafts import HEAD, Kind, place_of
from audiosim.service.collections.imports import Delivery
from audiosim.service.http.exchange import BYTES, JSON, chapter, reference, takes
from audiosim.service.http.limits import Entrance
from audiosim.service.operations.drafts import FileQuery, KindQuery
from audiosim.service.operations.imports import SentDep
from audiosim.service.process.loops import give_back_freed_memory
from audiosim.service.tasks.state import part
from audiosim.service.types.base import Wire
from audiosim.service.types.collections import DocumentIn, DocumentOut, FileOut, JudgeOut, RunsOut
from audiosim.text import counted

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
    BYTES: "",
}
RUN = takes("text/plain", BYTES)


def adds(kind: type[Wire]) -> dict[str, Any]:
    """Arguments of a route that adds something, unless nothing in it is new."""
    return {"status_code": 201, "responses": {200: {"description": "Nothing in it is new", "model": kind}}}


NameQuery = Annotated[str | None, Query(min_length=1, max_length=LONGEST_IDENTIFIER)]

ReplaceQuery = Annotated[bool, Query(description="whether a run may replace one that answers many more queries")]
PartialQuery = Annotated[bool, Query(description="whether a run may answer less than 90 % of the queries")]

router = chapter("arrivals")

# One addition at a time; the others wait without holding a thread.
TURNS = CapacityLimiter(1)


@dataclass
class Incoming:
    """One request that adds something to a collection; FastAPI builds it from the arguments of its route."""

    sent: SentDep
    receiver: Annotated[Receiver, part(lambda state: state.receiver)]
    entrance: Annotated[Entrance, part(lambda state: state.entrance)]

    async def take(
        self, kind: type[Answer], spell: Callable[[str, Arrived], Answer], work: Callable[[Receiver], Arrived]
    ) -> Answer:
        """Answer to an addition in its turn: status 201, or 200 if nothing is new or it was sent before.

        kind   type of the answer
        spell  makes the answer from the collection and the addition
        """
        async with TURNS:
            fresh, answer = await to_thread.run_sync(self._take, kind, spell, work)
        self.sent.response.status_code = 201 if fresh else 200
        return answer

    def _take(
        self, kind: type[Answer], spell: Callable[[str, Arrived], Answer], work: Callable[[Receiver], Arrived]
    ) -> tuple[bool, Answer]:
        sent, url = self.sent, self.sent.request.url
        said = sent.request.headers.get("content-type"), url.path, url.query
        delivery = Delivery.of(sent.collection, sent.caller.name, sent.key, sent.body, *said)
        before = sent.imports.answered(delivery)
        if before is not None:
            return False, msgspec.json.decode(before, type=kind)
        self._check_quota()
        came = work(self.receiver)
        fresh, answer = came.fresh, spell(sent.collection, came)
        if fresh:
            give_back_freed_memory()  # that of the collection as it was before
        if sent.key or (fresh and sent.caller.role != "organiser"):
            kept = replaced(delivery, kept_bytes=delivery.kept_bytes if fresh else 0)
            sent.imports.note_answer(kept, msgspec.json.encode(answer).decode())
        return fresh, answer

    def _check_quota(self) -> None:
        """Raise an error if a sender other than the organiser has used up their storage."""
        sent, most = self.sent, self.entrance.limits.sender_bytes
        if sent.caller.role != "organiser" and sent.imports.kept_bytes(sent.caller.name) + len(sent.body) > most:
            raise HTTPException(413, f"one sender may store {most:,} bytes at most (the setting upload-limit)")


IncomingDep = Annotated[Incoming, Depends()]


@router.post(
    "/collections/{collection}/documents",
    dependencies=[CLIENT],
    **adds(DocumentOut),
    **takes(*SUFFIXES, json=reference("DocumentIn")),
)
async def take_document(
    incoming: IncomingDep, document: NameQuery = None, artist: NameQuery = None, genre: NameQuery = None
) -> DocumentOut:
    """Add a recording, or metadata of one; its relevance to any query is then predicted.

    JSON is metadata alone. A file of sound is described like the collection's others; its identifier and metadata are
    then in the address, `?document=new1&artist=Somebody&genre=jazz`. Known metadata cannot be changed; a conflicting
    value is refused.
    """
    kind = incoming.sent.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON:
        if (document, artist, genre) != (None, None, None):
            raise HTTPException(422, "metadata may be in the body or in the address, not in both")
        known, sound = DocumentIn.taken(incoming.sent.body).to_domain(), None
    elif kind in SUFFIXES:
        if document is None:
            raise HTTPException(422, "expected ?document=IDENTIFIER, the identifier of the recording")
        known, sound = Document(document, artist, genre), incoming.sent.body
    else:
        raise HTTPException(415, f"expected {JSON} or a file of sound ({', '.join(SUFFIXES)}), got {kind!r:.80}")
    name, suffix = incoming.sent.collection, SUFFIXES.get(kind, "")
    return await incoming.take(
        DocumentOut, DocumentOut.from_domain, lambda to: to.take_document(name, known, sound, suffix)
    )


@router.post("/collections/{collection}/runs", **adds(RunsOut), **RUN)
async def take_runs(
    incoming: IncomingDep,
    system: NameQuery = None,
    team: NameQuery = None,
    replace: ReplaceQuery = False,
    partial: PartialQuery = False,
) -> RunsOut:
    """Add the run of a new system or replace a changed one, as `audiosim join` does, during a campaign; judgments stay.

    The file holds one run or several, in any form that a collection's folder accepts. `system` names the system if the
    file holds one run, `team` its makers. A run that answers less than 90 % of the queries is refused unless `partial`
    is true; one that answers far fewer than the run it replaces is refused unless `replace` is true.
    """
    name, text = incoming.sent.collection, incoming.sent.body
    return await incoming.take(
        RunsOut, RunsOut.from_domain, lambda to: to.take_runs(name, text, system, team, replace, partial)
    )


@router.post("/collections/{collection}/judges/{judge}", **adds(JudgeOut), **RUN)
async def take_judge(incoming: IncomingDep, judge: str) -> JudgeOut:
    """Add the grades of a machine that judges, or replace its earlier ones; judgments stay.

    The table has the form of `judges/NAME.tsv` in a collection's folder: a header, then query, document, and grade or
    score, separated by tabs. A machine's grades are evidence about people's grades, not judgments.
    """
    name, text = incoming.sent.collection, incoming.sent.body
    return await incoming.take(JudgeOut, JudgeOut.from_domain, lambda to: to.take_judge(name, judge, text))


# Files that an organiser adds to a served collection; name and first line decide the kind of each.

LINE = re.compile(r"line (\d+): ")


@dataclass
class Dropped:
    """One request that adds a file; FastAPI builds it from its route. Each method answers with one line."""

    sent: SentDep
    receiver: Annotated[Receiver, part(lambda state: state.receiver)]
    replace: ReplaceQuery = False
    partial: PartialQuery = False

    def runs(self, place: PurePosixPath) -> str:
        """Runs that join, or replace earlier ones."""
        came = self.receiver.take_runs(
            self.sent.collection, self.sent.body, None, None, self.replace, self.partial, place.name
        )
        return f"{', '.join(run.system for run in came.runs)}: {counted(came.new, 'new pair')}{_unchanged(came.fresh)}"

    def judge(self, place: PurePosixPath) -> str:
        """Grades of the machine named by the file."""
        came = self.receiver.take_judge(self.sent.collection, place.stem, self.sent.body)
        return f"machine {place.stem}: {counted(came.graded, 'pair')} graded{_unchanged(came.fresh)}"

    def documents(self, _: PurePosixPath) -> str:
        """Metadata of documents."""
        given = sent_documents(self.sent.body, self.sent.one.collection.documents)
        new = self.receiver.take_metadata(self.sent.collection, given)
        return f"{counted(len(given), 'document')}, {new:,} with something new"

    def recording(self, place: PurePosixPath) -> str:
        """The recording of the document named by the file."""
        came = self.receiver.take_document(
            self.sent.collection, Document(place.stem), self.sent.body, place.suffix.lower()
        )
        return f"document {place.stem}{_unchanged(came.fresh)}"

    def answers(self, place: PurePosixPath) -> str:
        """Judgments or comparisons of people."""
        file = self.sent.answers(nameless(place.name, self.sent.body))
        return f"in the log: {counted(file.lines or 0, 'answer')}" if file.ended else "being imported: see below"


WAYS: dict[Kind, Callable[[Dropped, PurePosixPath], str]] = {
    "runs": Dropped.runs,
    "judge": Dropped.judge,
    "documents": Dropped.documents,
    "recording": Dropped.recording,
    "judgments": Dropped.answers,
    "comparisons": Dropped.answers,
}


@router.post("/collections/{collection}/files", status_code=201, **RUN)
async def add_file(dropped: Annotated[Dropped, Depends()], name: FileQuery, kind: KindQuery = None) -> FileOut:
    """Add a file to a served collection: runs, metadata, a machine's grades, a recording, judgments or comparisons."""
    found, place = place_of(name, kind, dropped.sent.body[:HEAD])
    path = PurePosixPath(place.removesuffix(".gz"))
    if found not in WAYS:
        raise InputError(f"{name}: {path.name} belongs to a new collection, not to one that is served")
    async with TURNS:
        said = await to_thread.run_sync(_named, name, lambda: WAYS[found](dropped, path))
    return FileOut(name, found, said)


def _unchanged(fresh: bool) -> str:
    return "" if fresh else "; nothing new"


def _named(name: str, work: Callable[[], str]) -> str:
    """Result of some work, whose errors name the file."""
    try:
        return work()
    except InputError as error:
        said = str(error)
        placed = LINE.match(said)
        raise InputError(f"{name}:{placed[1]}: {said[placed.end() :]}" if placed else f"{name}: {said}") from None
