"""Watches every request: what it was, what came of it, how long it took; tells those who count and those who log."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
NO_ROUTE = "none"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request and its answer.

    method  "other" for one that HTTP does not know
    route   template, such as /v1/models/{model}; "none" where no route took the request
    status  of the answer; 499 where the client went away before there was one
    bytes   of the answer's body
    rows    predicted
    remote  address of the client
    role    of the client's token, where there are tokens
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
    """Tells what was seen of each request of an application.

    started, finished  called before and after each
    """

    def __init__(self, app: ASGIApp, started: Callable[[], None], finished: Callable[[Seen], None]) -> None:
        self._app, self._started, self._finished = app, started, finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, size, start = 499, 0, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                size += len(message.get("body", b""))
            await send(message)

        self._started()
        try:
            await self._app(scope, receive, watched)
        finally:
            self._finished(_seen(scope, status, time.perf_counter() - start, size))


def _seen(scope: Scope, status: int, seconds: float, size: int) -> Seen:
    state, client = scope.get("state", {}), scope.get("client")
    return Seen(
        request_id=state.get("request_id", ""),
        method=scope["method"] if scope["method"] in METHODS else "other",
        route=getattr(scope.get("route"), "path_format", NO_ROUTE),
        status=status,
        seconds=seconds,
        bytes=size,
        rows=state.get("rows", 0),
        remote=client[0] if client else "",
        role=state.get("role"),
    )
