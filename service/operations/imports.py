"""Judgments and comparisons uploaded as files: stored at once, written to the log while judging goes on."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Request, Response

from audiosim.collection.kinds import REQUIRED, kind_of
from audiosim.errors import InputError
from audiosim.service.access.callers import Caller, CallerDep
from audiosim.service.collections.imports import FAILED, Delivery, Import, ImportStore
from audiosim.service.collections.served import ServedCollection
from audiosim.service.http.exchange import BYTES, BodyDep, CollectionDep, NumberPath, bodies, chapter
from audiosim.service.operations.judging import KeyHeader
from audiosim.service.tasks.state import part
from audiosim.service.types.campaign import ImportOut

WAIT_S = 0.5  # for a short file
TABLES = "text/tab-separated-values", BYTES
FILES = bodies("text/csv", "text/plain", "application/jsonl", *TABLES)
TAKEN: dict[str, Any] = {
    "response_description": "The log has the whole file",
    "responses": {
        202: {"description": "Stored safely; the address in Location shows the progress", "model": ImportOut}
    },
}
ImportsDep = Annotated[ImportStore, part(lambda state: state.imports)]

router = chapter("organising")


@router.post(
    "/collections/{collection}/judgments/import",
    openapi_extra={"requestBody": {"required": True, "content": FILES}},
    **TAKEN,
)
def import_judgments(
    request: Request,
    caller: CallerDep,
    response: Response,
    one: CollectionDep,
    imports: ImportsDep,
    body: BodyDep,
    key: KeyHeader = "",
) -> ImportOut:
    """Import a file of judgments or of comparisons, as `audiosim import` does: all of it or nothing.

    A file that takes longer than half a second is answered with 202: it is stored safely, and the import survives
    restarts.
    """
    return _taken(request, caller, response, one, imports, body, key, "judgments")


@router.post(
    "/collections/{collection}/comparisons/import",
    openapi_extra={"requestBody": {"required": True, "content": bodies(*TABLES)}},
    **TAKEN,
)
def import_comparisons(
    request: Request,
    caller: CallerDep,
    response: Response,
    one: CollectionDep,
    imports: ImportsDep,
    body: BodyDep,
    key: KeyHeader = "",
) -> ImportOut:
    """Import a comparisons.tsv, as `audiosim import` does: all of it or nothing; the import survives restarts."""
    one.campaign.comparisons.check_taken()
    if kind_of(body) != "comparisons":
        raise InputError(f"line 1: expected a header with {', '.join(REQUIRED)}, separated by tabs")
    return _taken(request, caller, response, one, imports, body, key, "comparisons")


def take_answers(collection: str, sender: str, imports: ImportStore, body: bytes, key: str) -> Import:
    """An import of a file of judgments or comparisons, finished or in progress; an error if it failed.

    key  key of the request; empty: none
    """
    sent = replace(Delivery.of(collection, sender, key, body), kept_bytes=0)  # the file is not kept after reading
    file = imports.wait(imports.add(sent, body), WAIT_S)
    if file.status == FAILED:
        raise InputError(file.problem)
    return file


def _taken(
    request: Request,
    caller: Caller,
    response: Response,
    one: ServedCollection,
    imports: ImportStore,
    body: bytes,
    key: str,
    kind: Literal["judgments", "comparisons"],
) -> ImportOut:
    file = take_answers(one.collection.identifier, caller.name, imports, body, key)
    if not file.ended:
        response.status_code = 202
        response.headers["Location"] = f"{request.url.path.removesuffix(f'/{kind}/import')}/imports/{file.number}"
    return _out(one, file)


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
