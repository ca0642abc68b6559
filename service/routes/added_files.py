"""Files that an organiser adds to a served collection; name and first line decide the kind of each."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

from anyio import to_thread
from fastapi import Depends

from audiosim.corpus.judgments import nameless
from audiosim.corpus.model import Document
from audiosim.errors import InputError
from audiosim.messages import counted
from audiosim.service.callers.caller import CallerDep
from audiosim.service.drafts.draft_files import HEAD, Kind, place_of
from audiosim.service.entrance.exchange import BodyDep, CollectionDep, chapter
from audiosim.service.files.additions import Receiver
from audiosim.service.files.sent_tables import sent_documents
from audiosim.service.operation.service_state import part
from audiosim.service.routes.collection_additions import TURNS, PartialQuery, ReplaceQuery
from audiosim.service.routes.imports import ImportsDep, take_answers
from audiosim.service.routes.judging import KeyHeader
from audiosim.service.routes.new_collections import FileQuery, KindQuery
from audiosim.service.wire.arrival_types import FileOut

router = chapter("arrivals", include_in_schema=False)

LINE = re.compile(r"line (\d+): ")


@dataclass
class Dropped:
    """One request that adds a file; FastAPI builds it from its route. Each method answers with one line."""

    caller: CallerDep
    one: CollectionDep
    receiver: Annotated[Receiver, part(lambda state: state.receiver)]
    imports: ImportsDep
    body: BodyDep
    replace: ReplaceQuery = False
    partial: PartialQuery = False
    key: KeyHeader = ""

    @property
    def collection(self) -> str:
        """Identifier of the collection."""
        return self.one.collection.identifier

    def runs(self, place: PurePosixPath) -> str:
        """Runs that join, or replace earlier ones."""
        came = self.receiver.take_runs(self.collection, self.body, None, None, self.replace, self.partial, place.name)
        return f"{', '.join(run.system for run in came.runs)}: {counted(came.new, 'new pair')}{_unchanged(came.fresh)}"

    def judge(self, place: PurePosixPath) -> str:
        """Grades of the machine named by the file."""
        came = self.receiver.take_judge(self.collection, place.stem, self.body)
        return f"machine {place.stem}: {counted(came.graded, 'pair')} graded{_unchanged(came.fresh)}"

    def documents(self, _: PurePosixPath) -> str:
        """Metadata of documents."""
        given = sent_documents(self.body, self.one.collection.documents)
        new = self.receiver.take_metadata(self.collection, given)
        return f"{counted(len(given), 'document')}, {new:,} with something new"

    def recording(self, place: PurePosixPath) -> str:
        """The recording of the document named by the file."""
        came = self.receiver.take_document(self.collection, Document(place.stem), self.body, place.suffix.lower())
        return f"document {place.stem}{_unchanged(came.fresh)}"

    def answers(self, place: PurePosixPath) -> str:
        """Judgments or comparisons of people."""
        body = nameless(place.name, self.body)
        file = take_answers(self.collection, self.caller.name, self.imports, body, self.key)
        return f"{counted(file.lines or 0, 'answer')} imported" if file.ended else "being imported: see below"


WAYS: dict[Kind, Callable[[Dropped, PurePosixPath], str]] = {
    "runs": Dropped.runs,
    "judge": Dropped.judge,
    "documents": Dropped.documents,
    "recording": Dropped.recording,
    "judgments": Dropped.answers,
    "comparisons": Dropped.answers,
}


@router.post("/collections/{collection}/files", status_code=201)
async def add_file(dropped: Annotated[Dropped, Depends()], name: FileQuery, kind: KindQuery = None) -> FileOut:
    """Add a file to a served collection: runs, metadata, a machine's grades, a recording, judgments or comparisons."""
    found, place = place_of(name, kind, dropped.body[:HEAD])
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
