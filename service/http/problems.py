"""Errors as RFC 9457 problems."""

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from audiosim.errors import (
    BusyError,
    ClosedError,
    InputError,
    LeaseError,
    MissingPackageError,
    ServiceError,
    StoreError,
)
from audiosim.service.access.callers import NOBODY, OPEN, NotServedError, scopes_of
from audiosim.service.http.exchange import JSON
from audiosim.service.http.limits import Lingering, doors_of
from audiosim.service.types.base import A_BODY
from audiosim.service.types.predictions import ProblemOut
from audiosim.text import brief, refused_in_words, spell_advice

LOG = logging.getLogger("service")
PROBLEM = "application/problem+json"
FORM = "application/x-www-form-urlencoded"  # what curl says of any body
RETRY_AFTER_S = 2
UNTOLD = "the service cannot do this now; ask again in a moment. Its organiser finds the reason in its log"
STATUSES: dict[type[Exception], int] = {
    NotServedError: 404,
    LeaseError: 403,
    ClosedError: 409,
    InputError: 422,
    StoreError: 503,
    ServiceError: 502,
    MissingPackageError: 501,
}
# The router's own messages, in our words.
NOTHING = "Not Found"
ROUTER = {
    NOTHING: "nothing is served at this address, expected one of those at /docs, such as /v1/collections",
    "Method Not Allowed": "this address does not answer to this method",
}


def answer_problems(app: FastAPI, nowhere: Callable[[str], Response] | None = None) -> None:
    """Make an application answer every error as a problem.

    nowhere  page for browsers at addresses outside /v1 where nothing is served, from a sentence on it, empty if there
             is none; None: a problem there, too
    """
    app.state.nowhere = nowhere
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_arguments)
    for kind in STATUSES:
        app.add_exception_handler(kind, _of_ours)


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers, route = dict(error.headers or {}), request.scope.get("route")
    browser = error.status_code == 404 and _for_people(request)
    if error.detail in ROUTER and not hasattr(request.state, "caller"):  # the caller is not determined yet
        try:
            scopes = {NOBODY.role} if browser else scopes_of(route)
            async with doors_of(request).entrance.admitted(request, scopes):
                pass
        except HTTPException as refused:
            return await _of_http(request, refused)
    if browser:
        return _page(request, "" if error.detail == NOTHING else error.detail)
    status, detail = error.status_code, ROUTER.get(error.detail, error.detail)
    if status == 405 and route is not None:
        known = set().union(*(one.methods for one in request.app.routes if one.path == route.path))
        headers["Allow"] = ", ".join(sorted(known | ({"HEAD"} if "GET" in known else set())))
        detail += f", expected {headers['Allow']}"
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if status == 400 and sent not in ("", JSON, FORM):  # JSON is read under any name; other bodies say what they are
        status, detail = 415, f"expected {JSON}, got {sent!r:.80}"
    answer = refusal(request.scope, status, detail, headers)
    return Lingering(answer, doors_of(request).entrance.limits) if request.scope["state"]["unread"] else answer


def _for_people(request: Request) -> bool:
    """True if a browser asks for a page rather than a program for data."""
    asked = "text/html" in request.headers.get("accept", "") and request.url.path[:4] != "/v1/"
    return asked and request.app.state.nowhere is not None


def _page(request: Request, said: str) -> Response:
    page: Response = request.app.state.nowhere(said)
    return page


async def _of_arguments(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["loc"] == ("body",):
        return refusal(request.scope, 400, f"the body is not JSON: it is empty, {A_BODY}")
    # A location is the part of the request ("query"), then the name there, then the place within a list or a union.
    named = first["loc"][min(1, len(first["loc"]) - 1)]
    return refusal(request.scope, 422, f"{named}: {refused_in_words(first)}")


async def _of_ours(request: Request, error: Exception) -> Response:
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    if status == 404 and _for_people(request):
        return _page(request, str(error))
    headers, detail = {}, spell_advice(str(error), _as_field)
    if isinstance(error, StoreError):
        LOG.error("request %s: %s", request.scope["state"]["request_id"], error)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        caller = getattr(request.state, "caller", NOBODY)
        if caller.role != OPEN.role and not isinstance(error, BusyError):
            detail = UNTOLD  # it may name paths and servers
    return refusal(request.scope, status, detail, headers)


def _as_field(argument: str, value: str) -> str:
    """An argument as it is sent; in capitals, the value is the sender's."""
    if value == "True":
        return f"?{argument}=true"
    return f'"{argument}" in the body' if value.isupper() else f'"{argument}": "{value}"'


def refusal(scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer for an error."""
    detail = brief(detail)  # it may quote a whole body
    problem = ProblemOut("about:blank", HTTPStatus(status).phrase, status, detail, scope["state"]["request_id"])
    return Response(msgspec.json.encode(problem), status, headers, PROBLEM)
