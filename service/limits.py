"""Limits on a request that apply before anything is parsed: bytes, time, predictions at once."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from anyio import to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.problems import refusal

RETRY_AFTER_S = 1
LARGE_BYTES = 2**18
Result = TypeVar("Result")
TOGETHER = "the service is busy: the requests in flight are too large together; ask again later"
PREDICTING = ("/predictions", "/prior", "/infer")


@dataclass(frozen=True)
class Limits:
    """Limits of how much is taken; what goes beyond is refused at once.

    body_bytes    of one request
    held_bytes    of the bodies of all requests at a time
    header_bytes  of all headers of a request
    target_bytes  of its path and of its query, each
    silence_s     how long a sender may be silent in the middle of a body
    body_s        how long a whole body may take
    linger_s      how long a sender that was refused is listened to
    at_work       predictions computed at a time
    waiting       predictions that wait for those
    """

    body_bytes: int = 8 * 2**20
    held_bytes: int = 256 * 2**20
    header_bytes: int = 16 * 2**10
    target_bytes: int = 4 * 2**10
    silence_s: float = 10
    body_s: float = 60
    linger_s: float = 5
    at_work: int = os.cpu_count() or 1
    waiting: int = 32


class RefusedError(HTTPException):
    """A request is beyond a limit.

    unread  whether more of it may be coming
    """

    def __init__(self, status: int, detail: str, unread: bool = True) -> None:
        busy = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}
        super().__init__(status, detail, {**busy, "Connection": "close"} if unread else busy)
        self.unread = unread


class Gate:
    """Lets some at work and some wait; the next one is refused.

    Of large ones one works at a time: each holds up all else while its body is decoded and its answer encoded.

    what  they are, for the refusal
    """

    def __init__(self, at_work: int, waiting: int, what: str = "predictions") -> None:
        self._free, self._alone = asyncio.Semaphore(at_work), asyncio.Semaphore(1)
        self._most_waiting, self._what = waiting, what
        self.here = self.at_work = 0

    @property
    def waiting(self) -> int:
        """Number of those that wait."""
        return self.here - self.at_work

    @asynccontextmanager
    async def turn(self, large: bool = False) -> AsyncIterator[None]:
        """Wait for one's turn, and hold it."""
        if self.waiting >= self._most_waiting and (self._free.locked() or (large and self._alone.locked())):
            detail = f"the service is busy: {self.waiting} {self._what} are waiting already; ask again later"
            raise RefusedError(503, detail, unread=False)
        self.here += 1
        try:
            async with self._alone if large else nullcontext(), self._free:
                self.at_work += 1
                try:
                    yield
                finally:
                    self.at_work -= 1
        finally:
            self.here -= 1


class Shared:
    """Work that takes seconds, done in threads behind a gate, and once for all who ask for the same.

    What was begun is finished, whoever goes away in the meantime.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._doing: dict[Hashable, asyncio.Task[Any]] = {}

    async def do(self, what: Hashable, work: Callable[[], Result]) -> Result:
        """Result of the work.

        what  names it: who asks for it while it waits or is done shares it
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


class Limited:
    """Keeps an application's requests within limits; it gets a body only when the whole of it has arrived."""

    def __init__(self, app: ASGIApp, limits: Limits, gate: Gate) -> None:
        self._app, self._limits, self._gate = app, limits, gate
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        try:
            if self._check_head(scope):
                await self._read(receive, body)
                receive = _replayed(bytes(body), receive)
            predicts = scope["method"] == "POST" and scope["path"].endswith(PREDICTING)
            async with self._gate.turn(len(body) > LARGE_BYTES) if predicts else nullcontext():
                await self._app(scope, receive, send)
        except RefusedError as refused:
            await self._refuse(refused, scope, receive, send)
        finally:
            self._held -= len(body)

    def _check_head(self, scope: Scope) -> bool:
        """True if a body follows; what is wrong already is refused."""
        limits, headers = self._limits, Headers(scope=scope)
        length = headers.get("content-length", "0")
        if len(scope["query_string"]) > limits.target_bytes or len(scope["raw_path"]) > limits.target_bytes:
            raise RefusedError(414, f"a path and a query may have {limits.target_bytes} bytes at most, each")
        if int(length) > limits.body_bytes:
            raise self._too_large()
        if any(value.lower() != "identity" for value in headers.getlist("content-encoding")):
            raise RefusedError(415, "a body must be sent as it is, without a content encoding")
        if sum(len(name) + len(value) for name, value in headers.raw) > limits.header_bytes:
            raise RefusedError(431, f"the headers may have {limits.header_bytes} bytes at most")
        return length != "0" or "transfer-encoding" in headers

    async def _read(self, receive: Receive, body: bytearray) -> None:
        clock, limits, more = asyncio.get_running_loop().time, self._limits, True
        try:
            async with asyncio.timeout(limits.body_s), asyncio.timeout(limits.silence_s) as silence:
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    chunk, more = message.get("body", b""), message.get("more_body", False)
                    body += chunk
                    self._held += len(chunk)
                    if len(body) > limits.body_bytes:
                        raise self._too_large(unread=more)
                    if self._held > limits.held_bytes:
                        raise RefusedError(503, TOGETHER)
                    silence.reschedule(clock() + limits.silence_s)
        except TimeoutError:
            detail = f"a body may not pause for {limits.silence_s:g} s or take {limits.body_s:g} s"
            raise RefusedError(408, detail) from None

    def _too_large(self, unread: bool = True) -> RefusedError:
        return RefusedError(413, f"a body may have {self._limits.body_bytes} bytes at most", unread)

    async def _refuse(self, refused: RefusedError, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer at once and close; but listen a while, as many senders read no answer before they have sent all."""
        answer = refusal(scope, refused.status_code, refused.detail, refused.headers)
        await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        heard, more = 0, refused.unread and refused.status_code != 408
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_s):
                while more and heard <= 4 * self._limits.body_bytes:
                    message = await receive()
                    heard, more = heard + len(message.get("body", b"")), message.get("more_body", False)
        await send({"type": "http.response.body", "body": b""})


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, for an application to read again; then whatever comes next."""
    rest: list[Message] = [{"type": "http.request", "body": body}]

    async def replay() -> Message:
        return rest.pop() if rest else await receive()

    return replay
