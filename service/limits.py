"""Limits on a request that apply before anything is parsed: bytes, time, predictions at once."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.problems import refusal

RETRY_AFTER_S = 1
LARGE_BYTES = 2**18
Result = TypeVar("Result")
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
        self.at_work = self.waiting = 0

    @asynccontextmanager
    async def turn(self, large: bool = False) -> AsyncIterator[None]:
        """Wait for one's turn, and hold it."""
        needed = [self._alone, self._free] if large else [self._free]
        if self.waiting >= self._most_waiting and any(one.locked() for one in needed):
            detail = f"the service is busy: {self.waiting} {self._what} are waiting already; ask again later"
            raise RefusedError(503, detail, unread=False)
        async with AsyncExitStack() as held:
            self.waiting += 1
            try:
                for one in needed:
                    await held.enter_async_context(one)
            finally:
                self.waiting -= 1
            self.at_work += 1
            try:
                yield
            finally:
                self.at_work -= 1


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
        chunks: list[bytes] = []
        try:
            try:
                if self._check_head(scope):
                    await self._read(receive, chunks)
                    receive = _replayed(b"".join(chunks), receive)
                await self._work(scope, receive, send, sum(map(len, chunks)))
            finally:
                self._held -= sum(map(len, chunks))
        except RefusedError as refused:
            await _refuse(refused, scope, receive, send, self._limits)

    async def _work(self, scope: Scope, receive: Receive, send: Send, size: int) -> None:
        predicts = scope["method"] == "POST" and scope["path"].endswith(PREDICTING)
        async with self._gate.turn(size > LARGE_BYTES) if predicts else nullcontext():
            await self._app(scope, receive, send)

    def _check_head(self, scope: Scope) -> bool:
        """True if a body follows; what is wrong already is refused."""
        limits, size, follows = self._limits, 0, False
        if len(scope["query_string"]) > limits.target_bytes or len(scope["raw_path"]) > limits.target_bytes:
            raise RefusedError(414, f"a path and a query may have {limits.target_bytes} bytes at most, each")
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            if name == b"content-length":
                follows = follows or value != b"0"
                if int(value) > limits.body_bytes:
                    raise self._too_large()
            elif name == b"transfer-encoding":
                follows = True
            elif name == b"content-encoding" and value.lower() != b"identity":
                raise RefusedError(415, "a body must be sent as it is, without a content encoding")
        if size > limits.header_bytes:
            raise RefusedError(431, f"the headers may have {limits.header_bytes} bytes at most")
        return follows

    async def _read(self, receive: Receive, chunks: list[bytes]) -> None:
        clock, limits, size = asyncio.get_running_loop().time, self._limits, 0
        end = clock() + limits.body_s
        try:
            async with asyncio.timeout(limits.silence_s) as patience:
                while True:
                    message = await receive()
                    size += self._take(message, chunks)
                    if size > limits.body_bytes:
                        raise self._too_large(unread=message.get("more_body", False))
                    if not message.get("more_body"):
                        return
                    patience.reschedule(min(clock() + limits.silence_s, end))
        except TimeoutError:
            raise RefusedError(
                408, f"a body may not pause for {limits.silence_s:g} s or take {limits.body_s:g} s"
            ) from None

    def _take(self, message: Message, chunks: list[bytes]) -> int:
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        chunks.append(chunk)
        self._held += len(chunk)
        if self._held > self._limits.held_bytes:
            raise RefusedError(
                503, "the service is busy: the requests in flight are too large together; ask again later"
            )
        return len(chunk)

    def _too_large(self, unread: bool = True) -> RefusedError:
        return RefusedError(413, f"a body may have {self._limits.body_bytes} bytes at most", unread=unread)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, for an application to read again; then whatever comes next."""
    rest: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return rest.pop() if rest else await receive()

    return replay


async def _refuse(refused: RefusedError, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
    """Answer at once and close; but listen for a while, as many senders read no answer before they have sent all."""
    answer = refusal(scope, refused.status_code, refused.detail, refused.headers)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    if refused.unread and refused.status_code != 408:
        await _hear_out(receive, limits)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _hear_out(receive: Receive, limits: Limits) -> None:
    heard, more = 0, True
    try:
        async with asyncio.timeout(limits.linger_s):
            while more and heard <= 4 * limits.body_bytes:
                message = await receive()
                heard += len(message.get("body", b""))
                more = bool(message.get("more_body"))
    except TimeoutError:
        return
