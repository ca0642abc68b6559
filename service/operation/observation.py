"""Observation of every request: gives it an identifier and its answer the common headers, and reports its outcome."""

import logging
import re
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from audiosim.service.interface.problems import refusal

LOG = logging.getLogger("service")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
NO_ROUTE = "none"
REQUEST_ID = "X-Request-ID"
GIVEN_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
# Pages may not run inline scripts, be framed, load from elsewhere, or be embedded elsewhere.
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


@dataclass(frozen=True, slots=True)
class Seen:
    """One request and its answer.

    method  "other" for an unknown one
    route   template, such as /v1/models/{model}; "none" if no route matched
    status  of the answer; 499 if the client disconnected first
    bytes   of the answer's body
    rows    rows predicted
    remote  address of the client
    role    of the client's token, if tokens are used
    """

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    bytes: int
    rows: int
    remote: str
    role: str | None


class Observed:
    """Gives every request an identifier, or keeps the client's own if valid, and returns it with the answer.

    Every answer also gets the security headers for browsers, unless it has its own. An unexpected exception is a bug:
    it is logged under the identifier and answered with 500.

    finished   called after each request
    in_flight  context held while a request is answered
    """

    def __init__(
        self,
        app: ASGIApp,
        finished: Sequence[Callable[[Seen], object]] = (),
        in_flight: AbstractContextManager[object] | None = None,
    ) -> None:
        self._app, self._finished, self._in_flight = app, finished, in_flight or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        own = [*SECURITY, (REQUEST_ID.lower().encode(), request_id.encode())]
        status, size, start = 499, 0, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ())]
                message["headers"] = [*headers, *(one for one in own if one[0] not in {name for name, _ in headers})]
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            with self._in_flight:
                await self._app(scope, receive, watched)
        except ClientDisconnect:
            LOG.info("request %s: the client went away", request_id)
        except Exception:
            LOG.exception("request %s: %s %r failed", request_id, scope["method"], scope["path"])
            if status == 499:  # nothing is sent yet
                bug = refusal(scope, 500, "this is a bug in the service; its log has more under the request id")
                await bug(scope, receive, watched)
        finally:
            state, client = scope["state"], scope.get("client")
            seen = Seen(
                request_id=request_id,
                method=scope["method"] if scope["method"] in METHODS else "other",
                route=getattr(scope.get("route"), "path_format", NO_ROUTE),
                status=status,
                seconds=time.perf_counter() - start,
                bytes=size,
                rows=state.get("rows", 0),
                remote=client[0] if client else "",
                role=state.get("role"),
            )
            for tell in self._finished:
                tell(seen)
