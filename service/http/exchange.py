"""Requests and answers: a route checks the caller, decodes the body, and encodes the answer.

Wire types are msgspec's, which decodes and checks bodies several times faster than validation after `json` would.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Annotated, Any, Protocol, get_args, get_origin, get_type_hints

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from audiosim.errors import InputError
from audiosim.ordinal.model import Model
from audiosim.service.access.callers import scopes_of
from audiosim.service.collections.served import DEEPEST_CUTOFF, ServedCollection
from audiosim.service.collections.shelf import Served
from audiosim.service.http.limits import LARGE_BYTES, Doors, doors_of
from audiosim.text import did_you_mean, repeated

JSON, BYTES = "application/json", "application/octet-stream"
API = "/v1"


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def _admitting(route: APIRoute, handle: Handler) -> Handler:
    scopes, ours, known = scopes_of(route), route.path.startswith(API), _query_names(route.dependant)
    changes = not {"GET", "HEAD"} & (route.methods or set()) and not iscoroutinefunction(route.endpoint)  # in a thread

    async def handle_whole(request: Request) -> Response:
        entrance = doors_of(request).entrance
        async with entrance.admitted(request, scopes) as whole, entrance.changes if changes else nullcontext():
            if ours and request.scope["query_string"]:  # pages accept any parameters in their address
                _check_query(request, known)
            return await handle(whole)

    return handle_whole


def _query_names(dependant: Dependant) -> dict[str, bool]:
    """Names of the parameters that a route and its dependencies read from the address; True if it has many values."""
    kinds = {one.alias: one.field_info.annotation for one in dependant.query_params}
    names = {name: list in [get_origin(one) for one in (kind, *get_args(kind))] for name, kind in kinds.items()}
    for inner in dependant.dependencies:
        names |= _query_names(inner)
    return names


def _check_query(request: Request, known: Mapping[str, bool]) -> None:
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        expected = f"expected {', '.join(sorted(known))}" if known else "this address takes none"
        raise InputError(f"unknown parameter {unknown!r:.80}: {expected}{did_you_mean(unknown, known)}")
    if (twice := repeated(name for name, _ in request.query_params.multi_items() if not known[name])) is not None:
        raise InputError(f"{twice} is in the address twice, expected it once")


class WireRoute(APIRoute):
    """A route for the roles that its dependencies name; its wire type decodes the body's bytes."""

    def get_route_handler(self) -> Handler:
        return _admitting(self, super().get_route_handler())


def chapter(tag: str, prefix: str = API, kind: type[APIRoute] = WireRoute, **more: Any) -> APIRouter:
    """A router for related routes; by default only the organiser may use them."""
    named = {"generate_unique_id_function": lambda route: route.name}  # name of the operation in generated clients
    return APIRouter(prefix=prefix, tags=[tag], route_class=kind, **{"responses": FAILING, **named, **more})


def reference(name: str) -> dict[str, str]:
    """Schema of a wire type in the OpenAPI document."""
    return {"$ref": COMPONENTS.format(name=name)}


def failing(name: str, media_type: str) -> dict[int | str, dict[str, Any]]:
    """Error answers of routes, for the OpenAPI document."""
    return {"default": {"description": "What went wrong", "content": {media_type: {"schema": reference(name)}}}}


def bodies(*media_types: str, json: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Texts, or files of other media types, for the OpenAPI document; every generator of clients knows BYTES.

    json  schema of a body that may also be JSON
    """
    texts = [kind for kind in media_types if kind.startswith(("text/", "application/jsonl", "application/x-ndjson"))]
    files = [kind for kind in (*media_types, BYTES) if kind not in texts and set(texts) < set(media_types)]
    text, file = {"schema": {"type": "string"}}, {"schema": {"type": "string", "format": "binary"}}
    return ({JSON: {"schema": json}} if json else {}) | dict.fromkeys(texts, text) | dict.fromkeys(files, file)


def takes(*media_types: str, json: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Arguments of a route that reads a text or a file; see `bodies`."""
    return {"openapi_extra": {"requestBody": {"required": True, "content": bodies(*media_types, json=json)}}}


def sends(
    said: str,
    *media_types: str,
    json: Mapping[str, str] | None = None,
    refused: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Arguments of a route that sends a text or a file; see `bodies`.

    said     description of what is sent
    refused  reasons for refusals that no other route has, by status
    """
    answers = {status: FAILING["default"] | {"description": reason} for status, reason in refused.items()}
    answers[200] = {"description": said, "content": bodies(*media_types, json=json)}
    return {"response_class": Response, "responses": answers}


COMPONENTS = "#/components/schemas/{name}"
FAILING = failing("ProblemOut", "application/problem+json")


class Serving(Doors, Protocol):
    """The parts of a service's state that requests about collections and models need."""

    served: Served


# Coroutines, because FastAPI would run plain functions in a thread.
async def find_served(request: Request) -> Served:
    """Everything that is served."""
    state: Serving = request.app.state.service
    return state.served


async def read_body(request: Request) -> bytes:
    """The body, already checked against the limits."""
    return await request.body()


ServedDep = Annotated[Served, Depends(find_served)]


async def named_collection(served: ServedDep, collection: str) -> ServedCollection:
    """The collection in the address."""
    one = served.collections.at_hand(collection)
    return await run_in_threadpool(served.collection, collection) if one is None else one


def fresh_collection(one: Annotated[ServedCollection, Depends(named_collection)]) -> ServedCollection:
    """The named collection, with all lines of its log that others have written."""
    one.campaign.refresh()
    return one


async def named_model(served: ServedDep, model: str) -> Model:
    """The model in the address."""
    return served.model(model)


class ModelRoute(APIRoute):
    """A route that resolves its own arguments (request, model and body); FastAPI only documents it.

    Resolving the arguments would take longer than predicting from a row of features.
    """

    def get_route_handler(self) -> Handler:
        kind, endpoint = get_type_hints(self.endpoint)["asked"], self.endpoint

        async def handle(request: Request) -> Response:
            state: Serving = request.app.state.service
            body = await request.body()
            async with state.gate.turn(len(body) > LARGE_BYTES):
                response = await endpoint(request, state.served.model(request.path_params["model"]), kind.taken(body))
            assert isinstance(response, Response)
            return response

        return _admitting(self, handle)


async def _forbid_storing(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


NO_STORE = Depends(_forbid_storing)  # of a route whose answers no cache may keep
BodyDep = Annotated[bytes, Depends(read_body)]
NumberPath = Annotated[int, Path(ge=1, le=2**53)]
CollectionDep = Annotated[ServedCollection, Depends(named_collection)]
FreshDep = Annotated[ServedCollection, Depends(fresh_collection)]
ModelDep = Annotated[Model, Depends(named_model)]
ModelQuery = Annotated[str | None, Query(alias="model", description="another model for the collection's scale")]
CutoffQuery = Annotated[
    int | None, Query(ge=1, le=DEEPEST_CUTOFF, description="depth of the pool; the collection's if not given")
]


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A wire value, or a list of them, as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def attachment(name: str) -> dict[str, str]:
    """The header that makes browsers save an answer under a file name; forbidden characters become _."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return {"Content-Disposition": f'attachment; filename="{plain}"'}
