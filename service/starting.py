"""Stands in for an application while its collections and models are loaded: alive, but not ready."""

import asyncio
from collections.abc import Callable

from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service.exchange import answer
from service.limits import RETRY_AFTER_S
from service.problems import RequestIds, problem
from service.wire import HealthOut

LOADING = "collections and models are being loaded"
SOON = {"Retry-After": str(RETRY_AFTER_S)}


class Starting:
    """An application that makes another one in a thread, and becomes it.

    make    makes the application
    made    called with it once it answers
    failed  called with what stopped it from being made
    """

    def __init__(
        self, make: Callable[[], FastAPI], made: Callable[[FastAPI], None], failed: Callable[[BaseException], None]
    ) -> None:
        self._make, self._made, self._failed = make, made, failed
        self._app: ASGIApp = RequestIds(_not_yet)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        stop = asyncio.Event()
        life = asyncio.create_task(self._become(stop))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        stop.set()
        await life
        await send({"type": "lifespan.shutdown.complete"})

    async def _become(self, stop: asyncio.Event) -> None:
        try:
            app = await asyncio.to_thread(self._make)
        except Exception as error:
            self._failed(error)
            return
        async with app.router.lifespan_context(app):
            self._app = app
            self._made(app)
            await stop.wait()


async def _not_yet(scope: Scope, receive: Receive, send: Send) -> None:
    await _say_so(scope)(scope, receive, send)


def _say_so(scope: Scope) -> Response:
    if scope["path"] == "/health/live":
        return answer(HealthOut("alive"))
    if scope["path"] == "/health/ready":
        not_ready = answer(HealthOut("starting", [LOADING]))
        not_ready.status_code = 503
        not_ready.headers.update(SOON)
        return not_ready
    return problem(scope["state"]["request_id"], 503, f"the service is starting: {LOADING}", SOON)
