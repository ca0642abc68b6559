"""The OpenAPI document beyond the routes: what its chapters are about, and who may ask what, by which token."""

from typing import Any

from fastapi.routing import APIRoute

from service.access import COOKIE, PUBLIC, roles_for

TAGS = [
    {"name": "predictions", "description": "Relevance of pairs that nobody judged, or of rows of features."},
    {"name": "health", "description": "Whether the service lives and may be asked; figures for Prometheus."},
    {"name": "catalogue", "description": "Collections and models that are served; a model file is read again."},
    {"name": "Open Inference Protocol", "description": "The models, as clients of that protocol ask for them."},
    {"name": "judging", "description": "Pairs to judge, and what assessors say of them."},
    {"name": "campaign", "description": "How far judging is, what the systems' ranking is; pause, resume, close."},
    {"name": "organising", "description": "Assessors, invitations, the log, and files of judgments."},
    {"name": "arrivals", "description": "Recordings and runs that come while judging goes on."},
    {"name": "sound", "description": "What can be heard, and its waveform."},
    {"name": "session", "description": "A token in a cookie, for pages."},
]
SERVERS = [{"url": "/", "description": "The service that this document comes from"}]
SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `audiosim token create`, or of the institution's issuer where there is one.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "The same in a cookie: POST /v1/session.",
    },
}


def operation_id(route: APIRoute) -> str:
    """Name of an operation, such as `lease_pairs`: what generated clients call it."""
    return route.name


def add_access(document: dict[str, Any], locked: bool) -> None:
    """Say by which token each operation may be asked, and by whom.

    locked  whether tokens are needed: while they are not, nothing is said of the operations
    """
    document["components"]["securitySchemes"] = SCHEMES
    if not locked:
        return
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            roles, _ = roles_for(method.upper(), path)
            operation["security"] = [] if roles is PUBLIC else [{name: []} for name in SCHEMES]
            if roles is not PUBLIC:
                said = operation.get("description", "").strip()
                operation["description"] = f"{said}\n\nFor the roles {', '.join(sorted(roles))}.".strip()
