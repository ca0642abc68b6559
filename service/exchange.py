"""One exchange: the body of a request as bytes, decoded; the answer encoded; both described for OpenAPI."""

import re
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response

from service import wire
from service.served import Served

MOST_BYTES = 32 * 2**20
DEEPEST_CUTOFF = 1000
COMPONENTS = "#/components/schemas/{name}"
NOT_FINITE = re.compile(rb"(NaN|Infinity)\b")
PLACE = re.compile(r"\(byte (\d+)\)")

Body = TypeVar("Body")


async def read_body(request: Request) -> bytes:
    """The body, if it is within the limit; one beyond it is refused before it is parsed."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MOST_BYTES:
            chunks.append(chunk)
        # A sender hears of a refusal only once it has sent all, so what is sent is thrown away, to a point.
        elif size > 4 * MOST_BYTES:
            break
    if size > MOST_BYTES:
        raise HTTPException(413, f"a body may have {MOST_BYTES} bytes at most")
    return b"".join(chunks)


async def read_served(request: Request) -> Served:
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
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise HTTPException(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = PLACE.search(str(error))
        if place and NOT_FINITE.match(body, int(place[1])):
            raise HTTPException(422, f"every number must be finite {place[0]}") from None
        raise HTTPException(400, f"the body is not JSON: {error}") from None


def answer(value: object) -> Response:
    """A wire value, or a list of them, as JSON."""
    return Response(msgspec.json.encode(value), media_type="application/json")


def described(answers: Any, takes: Any = None) -> dict[str, Any]:
    """What OpenAPI says of a route, to be spread over its decorator.

    answers, takes  wire types; None where the route takes no body
    """
    body = {"requestBody": {"required": True, "content": _content(takes)}}
    wrong = {"description": "What went wrong", "content": _content(wire.ProblemOut, "application/problem+json")}
    return {
        "responses": {200: {"description": "Done", "content": _content(answers)}, "default": wrong},
        "openapi_extra": None if takes is None else body,
    }


def describe_types(app: FastAPI) -> None:
    """Add the wire types to the OpenAPI document of an application."""
    plain = app.openapi
    structs = [kind for kind in vars(wire).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    schemas = _schemas([kind for kind in structs if kind is not msgspec.Struct])[1]

    def with_types() -> dict[str, Any]:
        document = plain()
        document.setdefault("components", {}).setdefault("schemas", {}).update(schemas)
        return document

    # The way that FastAPI's documentation gives for extending the document.
    app.openapi = with_types  # type: ignore[method-assign]


def _content(kind: Any, media_type: str = "application/json") -> dict[str, Any]:
    return {media_type: {"schema": _schemas([kind])[0][0]}}


def _schemas(kinds: list[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(kinds, ref_template=COMPONENTS)
