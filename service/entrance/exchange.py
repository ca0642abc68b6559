"""Requests and answers: a route checks the caller, decodes the body, and encodes the answer.

Wire types are msgspec's, which decodes and checks bodies several times faster than validation after `json` would.
"""

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, Protocol, Self, TypeVar, get_type_hints

import msgspec
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from msgspec import Struct
from pydantic_core import CoreSchema, core_schema

from audiosim.errors import InputError
from audiosim.messages import did_you_mean, repeated
from audiosim.relevance.model_files import Model
from audiosim.service.callers.caller import scopes_of
from audiosim.service.entrance.limits import LARGE_BYTES, Doors, doors_of
from audiosim.service.shelf.served_collection import DEEPEST_CUTOFF, ServedCollection
from audiosim.service.shelf.shelf import Served

MOST_VALUES = 500_000
MOST_STRICT_BYTES = 64 * 2**10
JSON = "application/json"
API = "/v1"
NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")
PLACE = re.compile(r"\(byte (\d+)\)")

Value = TypeVar("Value")


class Wire(Struct):
    """A value in a body; routes use it like any model that FastAPI knows."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        encoded = core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins)
        return core_schema.no_info_plain_validator_function(cls.taken, serialization=encoded, ref=cls.__name__)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"title": cls.__name__}  # `document.describe` fills it in

    @classmethod
    def taken(cls, value: bytes | Self) -> Self:
        """Decode a body; a value is returned unchanged."""
        return decode(value, cls) if isinstance(value, bytes) else value

    @classmethod
    def of(cls, value: object, **more: object) -> Self:
        """A value from the fields of the same names of another one, and from further fields."""
        return cls(**{name: getattr(value, name) for name in cls.__struct_fields__ if name not in more}, **more)


class Strict(Wire):
    """A value that is stored in a log for ever; ambiguous JSON and long bodies are refused.

    If a key is repeated, readers take either the first or the last value (RFC 8259, section 4), so its meaning is
    unknown. A lone surrogate is valid JSON, but not text.
    """

    @classmethod
    def taken(cls, value: bytes | Self) -> Self:
        """Decode a short body; a value is returned unchanged."""
        return _decode_strictly(value, cls) if isinstance(value, bytes) else value


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def _admitting(route: APIRoute, handle: Handler) -> Handler:
    scopes, ours, known = scopes_of(route), route.path.startswith(API), _query_names(route.dependant)

    async def handle_whole(request: Request) -> Response:
        async with doors_of(request).entrance.admitted(request, scopes) as whole:
            if ours and request.scope["query_string"]:  # pages accept any parameters in their address
                _check_query(request, known)
            return await handle(whole)

    return handle_whole


def _query_names(dependant: Dependant) -> frozenset[str]:
    """Names of the parameters that a route and its dependencies read from the address."""
    own = {one.alias for one in dependant.query_params}
    return frozenset(own.union(*map(_query_names, dependant.dependencies)))


def _check_query(request: Request, known: frozenset[str]) -> None:
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        expected = f"expected {', '.join(sorted(known))}" if known else "this address takes none"
        raise InputError(f"unknown parameter {unknown!r:.80}: {expected}{did_you_mean(unknown, known)}")


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


COMPONENTS = "#/components/schemas/{name}"
FAILING = failing("ProblemOut", "application/problem+json")


class Serving(Doors, Protocol):
    """The parts of a service's state that requests about collections and models need."""

    @property
    def served(self) -> Served:
        """Collections and models."""
        ...


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


BodyDep = Annotated[bytes, Depends(read_body)]
NumberPath = Annotated[int, Path(ge=1, le=2**53)]
CollectionDep = Annotated[ServedCollection, Depends(named_collection)]
ModelDep = Annotated[Model, Depends(named_model)]
ModelQuery = Annotated[str | None, Query(alias="model", description="another model for the collection's scale")]
CutoffQuery = Annotated[
    int | None, Query(ge=1, le=DEEPEST_CUTOFF, description="depth of the pool; the collection's if not given")
]


def decode(body: bytes, kind: type[Value]) -> Value:
    """The value in a JSON body: 400 if it is not JSON, 422 if it has the wrong form."""
    # Decoding blocks every other thread for some 50 ns per value: many more values would delay all requests.
    if len(body) > MOST_VALUES and body.count(b",") > MOST_VALUES:
        raise HTTPException(422, f"a body may hold {MOST_VALUES} values at most, this one has more commas than that")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise HTTPException(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = PLACE.search(str(error))
        if place and NOT_FINITE.match(body, int(place[1])):
            raise HTTPException(422, f"every number must be finite {place[0]}") from None
        raise HTTPException(400, f"the body is not JSON: {encoding_hint(body) or error}") from None


def encoding_hint(body: bytes) -> str:
    """Hint at the encoding problem of a body that should be JSON in UTF-8, or nothing."""
    if body.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark, expected none"
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or body[1:4:2] == b"\0\0" or body[:3:2] == b"\0\0":
        return "it looks like UTF-16 or UTF-32, expected UTF-8"
    return ""


def _decode_strictly(body: bytes, kind: type[Value]) -> Value:
    if len(body) > MOST_STRICT_BYTES:
        raise HTTPException(413, f"such a body may have {MOST_STRICT_BYTES} bytes at most, got {len(body)}")
    if hint := encoding_hint(body):
        raise HTTPException(422, f"the body is not JSON: {hint}")
    try:
        json.loads(body, object_pairs_hook=_check_unique)
    except (ValueError, RecursionError):
        return decode(body, kind)  # raises the error
    try:
        return decode(body, kind)
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise HTTPException(422, "the body contains a lone surrogate, which is not text") from None


def _check_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if (twice := repeated(name for name, _ in pairs)) is not None:
        raise HTTPException(422, f"the key {twice!r:.80} occurs twice")
    return dict(pairs)


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A wire value, or a list of them, as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def attachment(name: str) -> dict[str, str]:
    """The header that makes browsers save an answer under a file name; forbidden characters become _."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return {"Content-Disposition": f'attachment; filename="{plain}"'}
