"""Collections made by organisers in the browser: files, settings, checks, plans, and the finished collection."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import Body, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse

from audiosim.campaign import DatabaseStore
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.evaluation.check import check
from audiosim.service.access.callers import CallerDep, NotServedError
from audiosim.service.collections.campaigns import WAIT_S
from audiosim.service.collections.drafts import Draft, Home, Kind
from audiosim.service.collections.open import CollectionSource
from audiosim.service.collections.shelf import Served
from audiosim.service.http.exchange import BYTES, FAILING, BodyDep, ServedDep, chapter, sends, takes
from audiosim.service.operations.sounds import media_type
from audiosim.service.tasks.state import part
from audiosim.service.types.drafts import (
    CreatedOut,
    DraftCheckOut,
    DraftFileOut,
    DraftOut,
    DraftPlanOut,
    DraftSettingsIn,
    DraftsOut,
    NewDraftIn,
    StoppingRuleIn,
)
from audiosim.service.types.evaluation import NewCollectionIn
from audiosim.simulation.plan import plan
from audiosim.text import reason, spell_advice

Found = TypeVar("Found")
router = chapter(
    "creating", responses=FAILING | {409: FAILING["default"] | {"description": "The service has no folder for them."}}
)

# One change, check or plan at a time; the others wait without holding a thread.
TURNS = CapacityLimiter(1)
PLAN_S = 20.0
NO_HOME = "this service has no folder for new collections: start it with --home DIR"
NOT_OPENED = "not opened yet"
ASKED_ANEW = {"Cache-Control": "private, no-cache"}  # another file may get this name

HomeDep = Annotated[Home | None, part(lambda state: state.home)]
FileQuery = Annotated[str, Query(min_length=1, max_length=1000)]
KindQuery = Annotated[
    Kind | None, Query(description="kind of the file; by default guessed from its name and first line")
]
WholeQuery = Annotated[int | None, Query(ge=1, description="bytes of the whole file, if this is a part")]
OffsetQuery = Annotated[int, Query(ge=0, description="bytes before this part")]


def _home(home: Home | None) -> Home:
    if home is None:
        raise HTTPException(409, NO_HOME)
    return home


@contextmanager
def _there(draft: str) -> Iterator[None]:
    """Turn disk errors into messages that name the draft instead of a path."""
    try:
        yield
    except FileNotFoundError:
        raise NotServedError(f"no collection called {draft!r:.80} is being made, or a file of it is gone") from None
    except OSError as error:
        raise InputError(f"{draft}: its files cannot be read or changed: {reason(error)}") from None
    except InputError as error:
        error.args = (_of_form(error),)
        raise


def _of_form(error: InputError) -> str:
    """The message of an error, with the page's field in place of a key of collection.toml or an argument."""
    said = str(error).replace(" in collection.toml, or ", " in ")
    return spell_advice(said, lambda field, _: f"the field {field.capitalize()} of step 2")


async def _work(home: Home | None, draft: str, work: Callable[[Home, Draft], Found]) -> Found:
    """Work on a draft, found only when the request's turn comes, as an earlier request may have removed it."""
    kept_in = _home(home)

    def now() -> Found:
        with _there(draft):
            return work(kept_in, kept_in.draft(draft))

    async with TURNS:
        return await to_thread.run_sync(now)


@router.get("/drafts")
def list_drafts(home: HomeDep) -> DraftsOut:
    """List the drafts: collections that organisers are making."""
    return DraftsOut.from_domain(home)


@router.post("/drafts", status_code=201)
def begin_draft(served: ServedDep, home: HomeDep, asked: Annotated[NewDraftIn, Body()]) -> DraftOut:
    """Begin a draft."""
    kept_in = _home(home)
    _check_free(served, asked.name)
    return DraftOut.from_domain(kept_in.begin(asked.name))


@router.get("/drafts/{draft}")
def show_draft(home: HomeDep, draft: str) -> DraftOut:
    """Show a draft: its files and settings."""
    with _there(draft):
        return DraftOut.from_domain(_home(home).draft(draft))


@router.delete("/drafts/{draft}", status_code=204)
async def discard_draft(home: HomeDep, draft: str) -> Response:
    """Discard a draft, with its files."""
    await _work(home, draft, lambda kept_in, one: kept_in.discard(one))
    return Response(status_code=204)


@router.post("/drafts/{draft}/settings")
async def set_draft(home: HomeDep, draft: str, said: Annotated[DraftSettingsIn, Body()]) -> DraftOut:
    """Replace the settings."""
    settings = said.to_domain()

    def replaced(_: Home, one: Draft) -> DraftOut:
        one.set(settings)
        return DraftOut.from_domain(one)

    return await _work(home, draft, replaced)


@router.post("/drafts/{draft}/files", status_code=201, **takes("text/plain", BYTES))
async def take_file(
    home: HomeDep,
    draft: str,
    body: BodyDep,
    name: FileQuery,
    kind: KindQuery = None,
    size: WholeQuery = None,
    offset: OffsetQuery = 0,
) -> DraftFileOut:
    """Add a file, or a part of one; it is checked as every command reads it, with the same errors."""
    whole = len(body) if size is None else size
    found = await _work(home, draft, lambda _, one: one.put_part(name, body, offset, whole, kind))
    if found is None:
        return DraftFileOut(name, kind or "", offset + len(body), partial=True)
    return DraftFileOut.of(found, partial=False)


@router.get("/drafts/{draft}/files", **sends("The file", BYTES))
def send_file_of_draft(home: HomeDep, draft: str, name: FileQuery) -> FileResponse:
    """Send a file of the draft back, such as a recording to listen to."""
    with _there(draft):
        path = _home(home).draft(draft).find(name)
    return FileResponse(path, headers=ASKED_ANEW, media_type=media_type(path))


@router.delete("/drafts/{draft}/files", status_code=204)
async def remove_file(home: HomeDep, draft: str, name: FileQuery) -> Response:
    """Remove a file."""
    await _work(home, draft, lambda _, one: one.remove(name))
    return Response(status_code=204)


@router.get("/drafts/{draft}/check")
async def check_draft(served: ServedDep, home: HomeDep, draft: str) -> DraftCheckOut:
    """Check the whole collection, as `audiosim check` does."""
    return await _work(home, draft, lambda _, one: _checked(one, served))


def _checked(draft: Draft, served: Served) -> DraftCheckOut:
    try:
        with draft.assembled() as (found, folder):
            said = check(found, folder=folder)
            # Without the advice for a command: here the file is given another name.
            readings = [one.said.replace(f"{folder}/", "") for one in found.readings]
            asked = draft.settings.campaign.of_judging(served.judging).settings.comparisons
            return DraftCheckOut.from_domain(found, said, readings, asked)
    except InputError as error:
        return DraftCheckOut(error=_of_form(error))


@router.post("/drafts/{draft}/plan")
async def plan_draft(
    served: ServedDep, home: HomeDep, draft: str, asked: Annotated[StoppingRuleIn, Body()]
) -> DraftPlanOut:
    """Show the effort until a stopping rule is met, as `audiosim plan` does, from a few simulated campaigns."""
    return await _work(home, draft, lambda kept_in, one: _planned(kept_in, one, asked, served))


def _planned(home: Home, draft: Draft, asked: StoppingRuleIn, served: Served) -> DraftPlanOut:
    with draft.assembled() as (found, _):
        own = draft.settings.campaign
        measure = own.of_judging(served.judging).measure_of(found)
        effort = plan(
            found,
            own.model or served.default_model,
            measure,
            stopping_rule=asked.stopping_rule,
            listeners=asked.listeners,
            time_limit=PLAN_S,
        )
        pool = len(build_pool(found, measure.cutoff).pairs)
        return msgspec.convert(effort.to_dict() | {"pool": pool}, DraftPlanOut)


@router.post("/drafts/{draft}/create", status_code=201)
async def create_collection(
    request: Request, caller: CallerDep, served: ServedDep, home: HomeDep, draft: str
) -> CreatedOut:
    """Turn the draft into a collection and serve it; its campaign is paused until the organiser opens it.

    The whole draft is read first, then moved into place in one step; an error leaves nothing behind.
    """
    name = await _work(home, draft, lambda kept_in, one: _created(served, kept_in, one, caller.name))
    request.app.openapi_schema = None  # it names the collections
    return CreatedOut(name)


@router.post("/collections", status_code=201)
async def make_collection(
    request: Request, caller: CallerDep, served: ServedDep, home: HomeDep, asked: Annotated[NewCollectionIn, Body()]
) -> CreatedOut:
    """Make a collection from tables and serve it; its campaign is paused until the organiser opens it.

    Recordings are added later, or sent to a draft. An error leaves nothing behind.
    """
    kept_in, settings = _home(home), asked.settings.to_domain()

    def made() -> None:
        _check_free(served, asked.name)
        draft = kept_in.begin(asked.name)
        try:
            draft.fill(asked.collection, settings, asked.scale, asked.cutoff)
            _created(served, kept_in, draft, caller.name)
        except BaseException:
            kept_in.discard(draft)
            raise

    async with TURNS:
        await to_thread.run_sync(made)
    request.app.openapi_schema = None  # it names the collections
    return CreatedOut(asked.name)


def _created(served: Served, home: Home, draft: Draft, by: str) -> str:
    def serve(folder: Path) -> None:
        source = CollectionSource.of_folder(folder, partial(Collection.load, folder))
        served.add(source, lambda one: one.campaign.pause(by, NOT_OPENED))

    _check_free(served, draft.name)
    home.finish(draft, served.prove, serve)
    return draft.name


def _check_free(served: Served, name: str) -> None:
    if name in served.collections.names or name in _logged(served):
        raise InputError(f"there is a campaign called {name:.80} already, choose another name")


def _logged(served: Served) -> set[str]:
    """Names of the campaigns in the database, including those of removed collections."""
    if served.judging.database is None:
        return set()
    store = DatabaseStore(served.judging.database, "", WAIT_S)
    try:
        return set(store.lines())
    finally:
        store.close()
