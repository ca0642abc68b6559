"""Judgments and comparisons uploaded as files: stored at once, written to the log while judging goes on."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from audiosim.collection.kinds import REQUIRED, kind_of
from audiosim.errors import InputError
from audiosim.service.access.callers import CallerDep
from audiosim.service.collections.imports import FAILED, Delivery, Import, ImportStore
from audiosim.service.http.exchange import BYTES, BodyDep, CollectionDep, NumberPath, chapter, takes
from audiosim.service.operations.judging import KeyHeader
from audiosim.service.tasks.state import part
from audiosim.service.types.campaign import ImportOut

WAIT_S = 0.5  # for a short file
TABLES = "text/tab-separated-values", BYTES
TAKEN: dict[str, Any] = {
    "response_description": "The log has the whole file",
    "responses": {
        202: {"description": "Stored safely; the address in Location shows the progress", "model": ImportOut}
    },
}
ImportsDep = Annotated[ImportStore, part(lambda state: state.imports)]

router = chapter("organising")


@dataclass
class Sent:
    """One request that sends a file to a collection; FastAPI builds it from the arguments of its route."""

    request: Request
    response: Response
    caller: CallerDep
    one: CollectionDep
    body: BodyDep
    imports: ImportsDep
    key: KeyHeader = ""

    @property
    def collection(self) -> str:
        """Identifier of the collection."""
        return self.one.collection.identifier

    def answers(self, body: bytes) -> Import:
        """An import of a file of judgments or comparisons, finished or in progress; an error if it failed."""
        # The file is not kept after reading.
        sent = replace(Delivery.of(self.collection, self.caller.name, self.key, body), kept_bytes=0)
        file = self.imports.wait(self.imports.add(sent, body), WAIT_S)
        if file.status == FAILED:
            raise InputError(file.problem)
        return file

    def imported(self) -> ImportOut:
        """The import of the body: status 202 with its address if it is in progress."""
        file = self.answers(self.body)
        if not file.ended:
            self.response.status_code = 202
            path = self.request.url.path.rsplit("/", 2)[0]
            self.response.headers["Location"] = f"{path}/imports/{file.number}"
        return _out(self.one, file)


SentDep = Annotated[Sent, Depends()]


@router.post(
    "/collections/{collection}/judgments/import",
    **takes("text/csv", "text/plain", "application/jsonl", *TABLES),
    **TAKEN,
)
def import_judgments(sent: SentDep) -> ImportOut:
    """Import a file of judgments or of comparisons, as `audiosim import` does: all of it or nothing.

    A file that takes longer than half a second is answered with 202: it is stored safely, and the import survives
    restarts.
    """
    return sent.imported()


@router.post("/collections/{collection}/comparisons/import", **takes(*TABLES), **TAKEN)
def import_comparisons(sent: SentDep) -> ImportOut:
    """Import a comparisons.tsv, as `audiosim import` does: all of it or nothing; the import survives restarts."""
    sent.one.campaign.comparisons.check_taken()
    if kind_of(sent.body) != "comparisons":
        raise InputError(f"line 1: expected a header with {', '.join(REQUIRED)}, separated by tabs")
    return sent.imported()


@router.get("/collections/{collection}/imports")
def list_imports(imports: ImportsDep, one: CollectionDep) -> list[ImportOut]:
    """List the uploaded files of judgments and comparisons, the latest first, with the progress of each."""
    return [_out(one, file) for file in imports.recent(one.collection.identifier)]


@router.get("/collections/{collection}/imports/{number}")
def show_import(imports: ImportsDep, one: CollectionDep, number: NumberPath) -> ImportOut:
    """Show the progress of an uploaded file of judgments or comparisons."""
    return _out(one, imports.get(one.collection.identifier, number))


def _out(one: CollectionDep, file: Import) -> ImportOut:
    return ImportOut.from_domain(file, one.campaign.current_state.number)
