"""Limits on a request that apply before any parsing: bytes, concurrent predictions.

There is none on time: a proxy in front, such as Caddy with deploy/Caddyfile, cuts off those who send slowly.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable, Set
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from audiosim.service.access.access import Access

RETRY_AFTER_S = 1
LARGE_BYTES = 2**18
AT_ONCE = 8  # requests worked on at once; more would hold more states, and be no faster on few processors
Result = TypeVar("Result")
TOGETHER = "the service is busy: the requests in progress are too large together; ask again later"


@dataclass(frozen=True)
class Limits:
    """Limits on requests; anything beyond is refused at once.

    body_bytes    of one request
    sender_bytes  of all recordings and metadata stored for one sender; the organiser has no limit
    held_bytes    of all request bodies in memory
    header_bytes  of all headers of a request
    target_bytes  of its path, and of its query
    linger_s      time for which a refused sender may continue to send
    at_work       concurrent predictions
    waiting      predictions that may wait for a turn
    """

    body_bytes: int = 8 * 2**20
    sender_bytes: int = 2 * 10**9
    held_bytes: int = 256 * 2**20
    header_bytes: int = 16 * 2**10
    target_bytes: int = 4 * 2**10
    linger_s: float = 5
    at_work: int = os.cpu_count() or 1
    waiting: int = 32


class RefusedError(HTTPException):
    """Refusal of a request beyond a limit.

    ends  True if the connection is closed as well
    """

    def __init__(self, status: int, detail: str, ends: bool = True) -> None:
        busy = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}
        super().__init__(status, detail, {**busy, "Connection": "close"} if ends else busy)


class Gate:
    """Admits a number of tasks, lets further ones wait, and refuses the rest.

    Large tasks run one at a time, because decoding and encoding one blocks everything else.

    what  kind of task, for the error message
    """

    def __init__(self, at_work: int, waiting: int, what: str = "predictions") -> None:
        self._free, self._alone = CapacityLimiter(at_work), CapacityLimiter(1)
        self._most_waiting, self._what = waiting, what

    @property
    def at_work(self) -> int:
        """Number of running tasks."""
        return int(self._free.borrowed_tokens)

    @property
    def waiting(self) -> int:
        """Number of waiting tasks."""
        return self._free.statistics().tasks_waiting + self._alone.statistics().tasks_waiting

    @asynccontextmanager
    async def turn(self, large: bool = False) -> AsyncIterator[None]:
        """Wait for a turn, and hold it."""
        free = self._free.available_tokens and not (large and self._alone.borrowed_tokens)
        if not free and self.waiting >= self._most_waiting:
            detail = f"the service is busy: {self.waiting} {self._what} are waiting already; ask again later"
            raise RefusedError(503, detail, ends=False)
        async with self._alone if large else nullcontext(), self._free:
            yield


class Shared:
    """Long computations, done in threads behind a gate, and once for all requests with the same key.

    Work in progress is finished even if its clients disconnect.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._doing: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, what: Hashable, work: Callable[[], Result]) -> Result:
        """Result of the work.

        what  key of the work; requests with the same key share its result while it waits or runs
        """
        task = self._doing.get(what)
        if task is None:
            task = self._doing[what] = asyncio.create_task(self._work(work))
            task.add_done_callback(lambda _: self._doing.pop(what))
        result: Result = await asyncio.shield(task)
        return result

    async def _work(self, work: Callable[[], Result]) -> Result:
        async with self._gate.turn():
            return await to_thread.run_sync(work)


class WholeRequest(Request):
    """A request with its complete body; JSON is left for the wire type to decode."""

    def __init__(self, request: Request, whole: bytes) -> None:
        super().__init__(request.scope, request.receive)
        self._whole = whole

    async def body(self) -> bytes:
        return self._whole

    async def json(self) -> bytes:
        return self._whole


class Entrance:
    """Admits requests from allowed callers within the limits.

    A route gets a request only with its complete body. No byte of the body is read before the caller is known to be
    allowed.

    changes  half of the threads: requests that change something wait for one another, and leave the rest to readers
    """

    def __init__(self, access: Access, limits: Limits) -> None:
        self._access, self.limits, self._held = access, limits, 0
        self.changes = CapacityLimiter(AT_ONCE // 2)

    @asynccontextmanager
    async def admitted(self, request: Request, scopes: Set[str]) -> AsyncIterator[WholeRequest]:
        """A request with its body, counted against the limit until it is answered.

        scopes  of its route
        """
        length, body, state = request.headers.get("content-length", "0"), bytearray(), request.scope["state"]
        state["unread"] = length != "0" or "transfer-encoding" in request.headers
        self._access.admit(request, scopes)
        self._check_head(request, int(length))
        try:
            if state["unread"]:
                await self._read(request, body)
            yield WholeRequest(request, bytes(body))
        finally:
            self._held -= len(body)

    def _check_head(self, request: Request, length: int) -> None:
        """Refuse a request whose head is already invalid."""
        limits, headers, scope = self.limits, request.headers, request.scope
        if len(scope["query_string"]) > limits.target_bytes or len(scope["raw_path"]) > limits.target_bytes:
            raise RefusedError(414, f"a path and a query may have {limits.target_bytes} bytes at most, each")
        if length > limits.body_bytes:
            raise RefusedError(413, f"a body may have {limits.body_bytes} bytes at most")
        if any(value.lower() != "identity" for value in headers.getlist("content-encoding")):
            raise RefusedError(415, "a body must be sent as it is, without a content encoding")
        if sum(len(name) + len(value) for name, value in headers.raw) > limits.header_bytes:
            raise RefusedError(431, f"the headers may have {limits.header_bytes} bytes at most")

    async def _read(self, request: Request, body: bytearray) -> None:
        limits, more = self.limits, True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk, more = message.get("body", b""), message.get("more_body", False)
            request.scope["state"]["unread"] = more
            body += chunk
            self._held += len(chunk)
            if len(body) > limits.body_bytes:
                raise RefusedError(413, f"a body may have {limits.body_bytes} bytes at most")
            if self._held > limits.held_bytes:
                raise RefusedError(503, TOGETHER)


class Lingering(Response):
    """An answer given before the body is complete; the sender may continue for a while before the connection closes.

    Many clients read no answer until they have sent everything.
    """

    def __init__(self, answer: Response, limits: Limits) -> None:
        super().__init__(answer.body, answer.status_code, {**answer.headers, "connection": "close"})
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        heard, more = 0, True
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_s):
                while more and heard <= 4 * self._limits.body_bytes:
                    message = await receive()
                    heard, more = heard + len(message.get("body", b"")), message.get("more_body", False)
        await send({"type": "http.response.body", "body": b""})


class Doors(Protocol):
    """The parts of a service's state that every request passes.

    entrance  admission of requests
    gate      limit on concurrent predictions
    """

    entrance: Entrance
    gate: Gate


def doors_of(request: Request) -> Doors:
    """The parts that a request passes, of the service that received it."""
    state: Doors = request.app.state.service
    return state


async def _predict_in_turn(request: Request) -> AsyncIterator[None]:
    async with doors_of(request).gate.turn(len(await request.body()) > LARGE_BYTES):
        yield


IN_TURN = Depends(_predict_in_turn)  # of a route that predicts
