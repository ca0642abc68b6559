"""Errors as RFC 9457 problems, and the identifier that every request and its answer carry."""

import logging
import re
import uuid
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from audiosim.errors import ClosedError, InputError, LeaseError, ServiceError, StoreError
from service.access import DeniedError
from service.served import NotServedError
from service.wire import ProblemOut

LOG = logging.getLogger("service")
REQUEST_ID = "X-Request-ID"
OPEN_INFERENCE = "/v2"
PROBLEM = "application/problem+json"
RETRY_AFTER_S = 2
# Nothing of ours runs inline, in a frame, or from elsewhere; nothing of ours is embedded elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "media-src 'self' blob:; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
GIVEN_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def answer_problems(app: FastAPI) -> None:
    """Have an application answer every error as a problem, under the request's identifier."""
    for kind in (StarletteHTTPException, RequestValidationError, InputError, ServiceError, StoreError, DeniedError):
        app.add_exception_handler(kind, _answer)
    app.add_middleware(RequestIds)


async def _answer(request: Request, error: Exception) -> Response:
    status, detail = _explain(error)
    headers = error.headers if isinstance(error, StarletteHTTPException | DeniedError) else None
    if status == 405:
        path = getattr(request.scope.get("route"), "path_format", "")
        headers = {"Allow": request.app.state.methods.get(path, (headers or {}).get("Allow", ""))}
    if isinstance(error, StoreError):
        LOG.error("request %s: %s", request.scope["state"]["request_id"], error)
        headers = {"Retry-After": str(RETRY_AFTER_S)}
    return refusal(request.scope, status, detail, headers)


def _explain(error: Exception) -> tuple[int, str]:
    match error:
        case NotServedError():
            return 404, str(error)
        case RequestValidationError():
            first = error.errors()[0]
            if first["loc"] == ("body",):
                return 400, "the body is not JSON: it is empty"
            return 422, f"{first['loc'][-1]}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        case DeniedError():
            return error.status, error.detail
        case LeaseError():
            return 403, str(error)
        case ClosedError():
            return 409, str(error)
        case InputError():
            return 422, str(error)
        case StoreError():
            return 503, str(error)
        case ServiceError():
            return 502, str(error)
        case HTTPException():
            return error.status_code, str(error.detail)
    # The router's own: no such route, or not with this method.
    assert isinstance(error, StarletteHTTPException)
    return error.status_code, ROUTER.get(error.status_code, str(error.detail))


ROUTER = {404: "nothing is served at this address", 405: "this address does not answer to this method"}


def refusal(scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that says what went wrong, in the form that the address promises."""
    if not scope["path"].startswith(OPEN_INFERENCE):
        return problem(scope["state"]["request_id"], status, detail, headers)
    body = msgspec.json.encode({"error": detail})
    # The protocol knows 400 where we say 422.
    return Response(body, 400 if status == 422 else status, headers, "application/json")


def problem(request_id: str, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that says what went wrong."""
    body = ProblemOut("about:blank", HTTPStatus(status).phrase, status, detail, request_id)
    return Response(msgspec.json.encode(body), status, headers, PROBLEM)


class RequestIds:
    """Gives every request an identifier, the client's where it sends a decent one, and every answer the same.

    Every answer also gets the headers that keep browsers from doing with it what it is not for.

    What nobody foresaw is a bug: it is logged under the identifier and answered with 500.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get(REQUEST_ID, ""))
        scope.setdefault("state", {})["request_id"] = request_id
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *SECURITY]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            LOG.info("request %s: the client went away", request_id)
        except Exception:
            LOG.exception("request %s: %s %r failed", request_id, scope["method"], scope["path"])
            if not started:
                bug = refusal(scope, 500, "this is a bug in the service; its log has more under the request id")
                await bug(scope, receive, send_with_id)


def _request_id(given: str) -> str:
    return given if GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
