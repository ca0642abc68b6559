"""One exchange: what a route takes and gives, decoded, encoded and described by FastAPI from the route itself.

Wire types are those of msgspec, which decodes them several times faster than they could be validated after `json`.
"""

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, Self, TypeVar, get_type_hints

import msgspec
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.routing import APIRoute
from msgspec import Struct
from pydantic_core import CoreSchema, core_schema

from audiosim.relevance.published import Model
from service.served import DEEPEST_CUTOFF, Served, ServedCollection

MOST_VALUES = 500_000
MOST_STRICT_BYTES = 64 * 2**10
JSON = "application/json"
COMPONENTS = "#/components/schemas/{name}"
NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")
PLACE = re.compile(r"\(byte (\d+)\)")

Value = TypeVar("Value")


class Wire(Struct):
    """A value as it stands in a body: routes take and give it as they would any model that FastAPI knows."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        encoded = core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins)
        return core_schema.no_info_plain_validator_function(cls.taken, serialization=encoded, ref=cls.__name__)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"title": cls.__name__}  # `describe` fills it in

    @classmethod
    def taken(cls, value: bytes | Self) -> Self:
        """A body decoded; a value as it is."""
        return decode(value, cls) if isinstance(value, bytes) else value

    @classmethod
    def of(cls, value: object, **more: object) -> Self:
        """The fields of another value that have the names of this one's, and what is said besides."""
        return cls(**{name: getattr(value, name) for name in cls.__struct_fields__ if name not in more}, **more)


class Strict(Wire):
    """A value that becomes part of a log for ever: what JSON leaves open is refused, and so is a long body.

    Of a key that stands twice readers take the first value or the last (RFC 8259, section 4), so that what was meant
    is not known. A lone surrogate is JSON, but no text.
    """

    @classmethod
    def taken(cls, value: bytes | Self) -> Self:
        """A short body decoded; a value as it is."""
        return _decode_strictly(value, cls) if isinstance(value, bytes) else value


class _UndecodedRequest(Request):
    async def json(self) -> bytes:
        return await self.body()


class WireRoute(APIRoute):
    """A route whose body comes to its wire type as bytes."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_bytes(request: Request) -> Response:
            return await handle(_UndecodedRequest(request.scope, request.receive))

        return handle_bytes


def kept(name: str) -> Any:
    """Dependency on what an application keeps under a name."""

    async def find(request: Request) -> object:
        return getattr(request.app.state, name)

    return Depends(find)


# These are coroutines so that FastAPI runs them at once, and not in a thread.
async def read_body(request: Request) -> bytes:
    """The body, which `service.limits` has kept within limits."""
    return await request.body()


ServedDep = Annotated[Served, kept("served")]


async def named_collection(served: ServedDep, collection: str) -> ServedCollection:
    """The collection that the address names."""
    return served.collection(collection)


async def named_model(served: ServedDep, model: str) -> Model:
    """The model that the address names."""
    return served.model(model)


class ModelRoute(WireRoute):
    """A route that takes a request, a model and what is asked of it: FastAPI describes it, and resolves nothing for it.

    To resolve arguments takes longer than to predict from a row of features.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        kind, endpoint = get_type_hints(self.endpoint)["asked"], self.endpoint

        async def handle(request: Request) -> Response:
            model = request.app.state.served.model(request.path_params["model"])
            response = await endpoint(request, model, kind.taken(await request.body()))
            assert isinstance(response, Response)
            return response

        return handle


BodyDep = Annotated[bytes, Depends(read_body)]
CollectionDep = Annotated[ServedCollection, Depends(named_collection)]
ModelDep = Annotated[Model, Depends(named_model)]
ModelQuery = Annotated[str | None, Query(alias="model", description="another model for the collection's scale")]
CutoffQuery = Annotated[
    int | None, Query(ge=1, le=DEEPEST_CUTOFF, description="depth of the pool; the collection's if not given")
]


def decode(body: bytes, kind: type[Value]) -> Value:
    """The value that a body of JSON spells: 400 where it is not JSON, 422 where it is not such a value."""
    # Decoding holds up every other thread, and a value takes some 50 ns: many more than this would be felt by all.
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
    """Hint at what is wrong with the encoding of a body that should be JSON in UTF-8, or nothing."""
    if body.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark, which JSON has not"
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
        return decode(body, kind)  # which says what is wrong
    try:
        return decode(body, kind)
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise HTTPException(422, "the body holds a lone surrogate, which is no text") from None


def _check_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise HTTPException(422, f"the key {twice!r:.80} stands twice")
    return found


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A wire value, or a list of them, as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def failing(kind: type[Wire], media_type: str) -> dict[int | str, dict[str, Any]]:
    """Answers that routes give when something goes wrong, for their OpenAPI document."""
    schema = {"$ref": COMPONENTS.format(name=kind.__name__)}
    return {"default": {"description": "What went wrong", "content": {media_type: {"schema": schema}}}}


def describe(app: FastAPI, complete: Callable[[dict[str, Any]], object]) -> None:
    """Fill the wire types, and the names of what is served, into the OpenAPI document of an application.

    complete  adds the rest
    """
    plain = app.openapi

    def with_types() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            schemas = msgspec.json.schema_components(_kinds(Wire), ref_template=COMPONENTS)[1]
            document.setdefault("components", {}).setdefault("schemas", {}).update(schemas)
            _name_what_is_served(document, app.state.served)
            complete(document)
        return plain()

    # The way that FastAPI's documentation gives for extending the document.
    app.openapi = with_types  # type: ignore[method-assign]


def _kinds(kind: type[Wire]) -> list[type[Wire]]:
    below = [one for other in kind.__subclasses__() for one in _kinds(other)]
    return [*below, kind] if kind.__struct_fields__ else below


def _name_what_is_served(document: Mapping[str, Any], served: Served) -> None:
    """Say which values the parameters of paths may have."""
    known = {"collection": list(served.collections), "model": list(served.models)}
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    for parameter in (one for operation in operations for one in operation.get("parameters", [])):
        if parameter["in"] == "path" and parameter["name"] in known:
            parameter["schema"]["enum"] = known[parameter["name"]]
