"""The OpenAPI document's parts beyond the routes: chapters, wire types, and the tokens that each operation accepts."""

import json
import re
from collections.abc import Set
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute

from audiosim.service.access.access import COOKIE, Access
from audiosim.service.access.callers import GENERAL, NOBODY, scopes_of
from audiosim.service.collections.shelf import Served
from audiosim.service.http.examples import RequestExample, examples_of, simplest_first
from audiosim.service.http.exchange import COMPONENTS
from audiosim.service.types.base import OnWire
from audiosim.text import field_list, sentence

TAGS = [
    {"name": "predictions", "description": "Relevance of unjudged pairs, or of rows of features."},
    {"name": "health", "description": "Liveness and readiness of the service; metrics for Prometheus."},
    {"name": "evaluation", "description": "Systems scored or ranked from tables in the body, without a folder."},
    {"name": "catalogue", "description": "Served collections and models; reloading of model files."},
    {"name": "judging", "description": "Pairs to judge, and assessors' answers."},
    {"name": "campaign", "description": "Progress of judging, ranking of the systems; pause, resume, close."},
    {"name": "creating", "description": "New collections: from tables, or from files that are sent to a draft."},
    {"name": "organising", "description": "Assessors, invitations, the log, and files of judgments."},
    {"name": "results", "description": "Read-only results, and the links to them."},
    {"name": "arrivals", "description": "Recordings and runs added while judging goes on."},
    {"name": "sound", "description": "Recordings, with waveforms and pictures."},
    {"name": "session", "description": "A token in a cookie, for pages."},
]
SUMMARY_END = re.compile(r"[;:.](?:\s|$)|, (?=which |whether |where |and what )")
SERVERS = [{"url": "/", "description": "The service that sent this document"}]
SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `audiosim token create`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "The same token in a cookie, set by POST /v1/session.",
    },
}
# Refusals by status, and the operations that may answer so.
REFUSALS = {
    400: "The body is not JSON.",
    401: "The token is missing or unknown, or has ended.",
    403: "The caller may not do this, or not for this person or pair.",
    404: "Something that the address names is not here.",
    409: "The campaign's state, or an earlier request, forbids it.",
    413: "The body, or what the sender has stored, is too large.",
    414: "The path or the query is too long.",
    415: "The body has another media type or an encoding.",
    422: "A parameter or a value is wrong: the detail says which, and what was expected.",
    429: "Too many requests: the header Retry-After says when to ask again.",
    503: "The service cannot do this now: the header Retry-After says when to ask again.",
}
OF_ALL, OF_NAMES, OF_VALUES, OF_CHANGES = {401, 403, 429}, {404, 503}, {414, 422}, {409}
OF_BODIES = {400, 413, 415, 422, 503}
MEANINGS = {  # of parameters; others mean what the field of the same name does in bodies
    "draft": "identifier of the collection that is being made",
    "artist": "artist of the recording, if known",
    "genre": "genre of the recording, if known",
    "judge": "name of a person or machine that judges",
    "leases": "true: include the lines about pairs handed out",
    "machines": "false: people only, which is faster",
    "number": "number of the import",
    "system": "name of the system; by default the name in the run",
    "team": "team of the system, if it is new",
}


def describe(app: FastAPI, served: Served, access: Access) -> None:
    """Add the parts that FastAPI cannot know: wire types, names of the served collections, and access rules."""
    plain = app.openapi

    locked = access.locked  # when the document was made

    def whole() -> dict[str, Any]:
        nonlocal locked
        if locked != access.locked:
            locked, app.openapi_schema = access.locked, None
        if app.openapi_schema is None:
            document = plain()
            components = document.setdefault("components", {})
            kinds = {kind.__name__: kind for kind in _kinds(OnWire)}
            schemas = msgspec.json.schema_components(kinds.values(), ref_template=COMPONENTS)[1]
            described = {name: _described(one, kinds.get(name)) for name, one in schemas.items()}
            components.setdefault("schemas", {}).update(described)
            components["securitySchemes"] = SCHEMES
            roles = {one.unique_id: scopes_of(one) - {GENERAL} for one in app.routes if isinstance(one, APIRoute)}
            examples = examples_of(served, for_all=locked)
            operations = [(method, one) for methods in document["paths"].values() for method, one in methods.items()]
            for method, operation in operations:
                _name_what_is_served(operation, served)
                _add_refusals(method, operation)
                _summarise(operation)
                _show(operation, examples.get(operation["operationId"]))
                if locked:
                    _add_access(operation, roles[operation["operationId"]])
        return plain()

    # The way that FastAPI's documentation gives for extending the document.
    app.openapi = whole  # type: ignore[method-assign]


def _kinds(kind: type[OnWire]) -> list[type[OnWire]]:
    below = [one for other in kind.__subclasses__() for one in _kinds(other)]
    return [*below, kind] if getattr(kind, "__struct_fields__", ()) else below


def _described(schema: dict[str, Any], kind: type[OnWire] | None) -> dict[str, Any]:
    """A schema whose properties have the words of its docstring's list of fields, or of that of its bases."""
    if "properties" not in schema:
        return schema
    text, fields = field_list(schema.get("description", ""))
    bases = [one for one in (kind.__mro__[1:] if kind else ()) if issubclass(one, OnWire)]
    said = _meanings_of_all()
    for one in reversed(bases):
        said |= field_list(one.__doc__ or "")[1]
    said |= fields
    always_sent = not schema["title"].endswith("In") and not (kind and kind.__struct_config__.omit_defaults)
    properties = {}
    for name, one in schema["properties"].items():
        words = [sentence(said[name])] if name in said else []
        # Of a default, generators of clients make a property that must be sent, or is never absent.
        default = one.pop("default", None)
        if default not in (None, "", [], {}) and not always_sent:
            words.append(f"By default {default if isinstance(default, str) else json.dumps(default)}.")
        properties[name] = one | ({"description": " ".join(words)} if words else {})
    required = list(properties) if always_sent else schema.get("required", [])
    return schema | {"description": text, "properties": properties, "required": required}


def _meanings_of_all() -> dict[str, str]:
    """Words on the fields that mean the same in every value."""
    return field_list(OnWire.__doc__ or "")[1]


def _name_what_is_served(operation: dict[str, Any], served: Served) -> None:
    known = {"collection": served.collections.names, "model": [one.name for one in simplest_first(served)]}
    meanings = _meanings_of_all() | MEANINGS
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path" and known.get(parameter["name"]):
            parameter["example"] = known[parameter["name"]][0]  # no enum: more may be served later
        if parameter["name"] in meanings:
            parameter.setdefault("description", sentence(meanings[parameter["name"]]))


def _add_refusals(method: str, operation: dict[str, Any]) -> None:
    """Name the statuses with which an operation refuses; "default" stands for those of any address."""
    parameters, answers = operation.get("parameters", []), operation["responses"]
    reasons = (
        (True, OF_ALL),
        (any(one["in"] == "path" or one["name"] in ("collection", "model") for one in parameters), OF_NAMES),
        (parameters, OF_VALUES),
        ("requestBody" in operation, OF_BODIES),
        (method != "get", OF_CHANGES),
    )
    statuses = {status for given, some in reasons if given for status in some}
    for status in sorted(statuses - {int(one) for one in answers if one.isdecimal()}):
        answers[str(status)] = answers.get("default", {}) | {"description": REFUSALS[status]}


def _summarise(operation: dict[str, Any]) -> None:
    """Set the operation's summary to the first words of its description."""
    first = operation.get("description", operation["summary"]).split("\n\n")[0].replace("\n", " ")
    operation["summary"] = SUMMARY_END.split(first)[0].rstrip(".")


def _show(operation: dict[str, Any], example: RequestExample | None) -> None:
    """Put an example of a request where a reader, and the interactive page, look for it."""
    if example is None:
        return
    for parameter in operation.get("parameters", []):
        if parameter["name"] in example.parameters:
            parameter["example"] = example.parameters[parameter["name"]]
    for media_type, body in example.body.items():
        content = operation["requestBody"]["content"]
        content[media_type] = content[media_type] | {"example": body}


def _add_access(operation: dict[str, Any], roles: Set[str]) -> None:
    public = NOBODY.role in roles
    operation["security"] = [] if public else [{name: []} for name in SCHEMES]
    if not public:
        said = operation.get("description", "")
        operation["description"] = f"{said}\n\nFor the roles {', '.join(sorted(roles))}.".strip()
