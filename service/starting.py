"""Stands in for an application while its collections and models are loaded: alive, but not ready."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from audiosim.errors import StoreError
from service.exchange import answer
from service.limits import RETRY_AFTER_S
from service.problems import RequestIds, problem
from service.wire import HealthOut

LOG = logging.getLogger("service")
LOADING = "collections and models are being loaded"
AGAIN_S = 1.0  # between two tries to reach a database
PATIENCE_S = 120.0  # with a database that is starting
SOON = {"Retry-After": str(RETRY_AFTER_S)}


class Starting:
    """An application that makes another one in a thread, and becomes it.

    make        makes the application; tried again where a database cannot be reached, which may be starting too
    made        called with it once it answers
    failed      called with what stopped it from being made
    patience_s  how long it is tried
    """

    def __init__(
        self,
        make: Callable[[], FastAPI],
        made: Callable[[FastAPI], None],
        failed: Callable[[BaseException], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._make, self._made, self._failed, self._patience_s = make, made, failed, patience_s
        self._app: ASGIApp = RequestIds(self._not_yet)
        self._reason = LOADING

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
            app = await self._try(stop)
        except Exception as error:
            self._failed(error)
            return
        if app is None:
            return
        async with app.router.lifespan_context(app):
            self._app = app
            self._made(app)
            await stop.wait()

    async def _try(self, stop: asyncio.Event) -> FastAPI | None:
        """The application, once it can be made; None where it is to stop before."""
        end = time.monotonic() + self._patience_s
        while not stop.is_set():
            try:
                return await asyncio.to_thread(self._make)
            except StoreError as error:
                if not error.passing or time.monotonic() > end:
                    raise
                self._reason = f"waiting for the database: {error}"
                LOG.warning(self._reason)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AGAIN_S)
        return None

    async def _not_yet(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _say_so(scope, self._reason)(scope, receive, send)


def _say_so(scope: Scope, reason: str) -> Response:
    if scope["path"] == "/health/live":
        return answer(HealthOut("alive"))
    if scope["path"] == "/health/ready":
        not_ready = answer(HealthOut("starting", [reason]))
        not_ready.status_code = 503
        not_ready.headers.update(SOON)
        return not_ready
    return problem(scope["state"]["request_id"], 503, f"the service is starting: {reason}", SOON)
