"""One exchange: the body of a request as bytes, decoded; the answer encoded; both described for OpenAPI."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from service import inference_protocol, wire, wire_judging, wire_organising, wire_standing
from service.served import DEEPEST_CUTOFF, Served

MOST_VALUES = 500_000
JSON = "application/json"
PROBLEM = "application/problem+json"
COMPONENTS = "#/components/schemas/{name}"
NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")
PLACE = re.compile(r"\(byte (\d+)\)")

Body = TypeVar("Body")


class DirectRoute(APIRoute):
    """A route whose function takes the request and answers it: described as any other, quicker than any other.

    FastAPI resolves nothing for it, neither arguments nor dependencies of routers. Who may ask is seen to before
    any route: `service.guarded`.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


async def read_body(request: Request) -> bytes:
    """The body, which `service.limits` has kept within limits."""
    return await request.body()


async def read_served(request: Request) -> Served:
    """What the application serves."""
    return served_by(request)


def served_by(request: Request) -> Served:
    """What the application serves."""
    served = request.app.state.served
    assert isinstance(served, Served)
    return served


BodyDep = Annotated[bytes, Depends(read_body)]
ServedDep = Annotated[Served, Depends(read_served)]
ModelQuery = Annotated[str | None, Query(alias="model", description="another model for the collection's scale")]
CutoffQuery = Annotated[
    int | None, Query(ge=1, le=DEEPEST_CUTOFF, description="depth of the pool; the collection's if not given")
]


def decode(body: bytes, kind: type[Body]) -> Body:
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
    """What is wrong with the encoding of a body that should be JSON in UTF-8, or nothing."""
    if body.startswith(b"\xef\xbb\xbf"):
        return "it starts with a byte order mark, which JSON has not"
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or body[1:4:2] == b"\0\0" or body[:3:2] == b"\0\0":
        return "it looks like UTF-16 or UTF-32, expected UTF-8"
    return ""


def answer(value: object) -> Response:
    """A wire value, or a list of them, as JSON."""
    return Response(msgspec.json.encode(value), media_type=JSON)


def described(
    answers: Any,
    takes: Any = None,
    parameters: Sequence[Mapping[str, Any]] = (),
    wrong: Any = wire.ProblemOut,
    needs_body: bool = True,
) -> dict[str, Any]:
    """What OpenAPI says of a route, to be spread over its decorator.

    answers, takes  wire types; None where the route takes no body
    parameters      of a DirectRoute, which FastAPI does not know by itself
    wrong           wire type of an error; a problem if not given
    needs_body      whether what the route takes must be there
    """
    more: dict[str, Any] = {"parameters": list(parameters)} if parameters else {}
    if takes is not None:
        more["requestBody"] = {"required": needs_body, "content": _content(takes)}
    problem = _content(wrong, PROBLEM if wrong is wire.ProblemOut else JSON)
    return {
        "responses": {
            200: {"description": "Done", "content": _content(answers)},
            "default": {"description": "What went wrong", "content": problem},
        },
        "openapi_extra": more or None,
    }


def path_parameters(**described: str) -> list[dict[str, Any]]:
    """What OpenAPI says of parameters in a path: what each is."""
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "description": text}
        for name, text in described.items()
    ]


def describe_types(app: FastAPI) -> None:
    """Add the wire types to the OpenAPI document of an application."""
    plain = app.openapi
    known = [
        kind
        for module in (wire, wire_judging, wire_organising, wire_standing, inference_protocol)
        for kind in vars(module).values()
    ]
    structs = [kind for kind in known if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    schemas = _schemas([kind for kind in structs if kind is not msgspec.Struct])[1]

    def with_types() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            document.setdefault("components", {}).setdefault("schemas", {}).update(schemas)
            _name_what_is_served(document, app.state.served)
        return plain()

    # The way that FastAPI's documentation gives for extending the document.
    app.openapi = with_types  # type: ignore[method-assign]


def _name_what_is_served(document: dict[str, Any], served: Served) -> None:
    """Say which values the parameters of paths may have."""
    known = {"collection": list(served.collections), "model": list(served.models)}
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    for parameter in (one for operation in operations for one in operation.get("parameters", [])):
        if parameter["in"] == "path" and parameter["name"] in known:
            parameter["schema"]["enum"] = known[parameter["name"]]


def _content(kind: Any, media_type: str = JSON) -> dict[str, Any]:
    return {media_type: {"schema": _schemas([kind])[0][0]}}


def _schemas(kinds: list[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(kinds, ref_template=COMPONENTS)
