"""Stand-in for an application during the loading of its collections and models: alive, but not ready."""

import asyncio
import html
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from audiosim.errors import StoreError
from audiosim.service.http.exchange import answer
from audiosim.service.http.limits import RETRY_AFTER_S
from audiosim.service.http.observation import Observed
from audiosim.service.http.problems import refusal
from audiosim.service.types.predictions import HealthOut

LOG = logging.getLogger("service")
LOADING = "collections and models are being loaded"
WAITING = "waiting for the database"
AGAIN_S = 1.0  # between two attempts to reach a database
PATIENCE_S = 120.0  # limit for a database to start
SOON = {"Retry-After": str(RETRY_AFTER_S)}
PAGE = Path(__file__).resolve().parent / "pages" / "starting.html"  # reloads itself until the service is ready


class Starting:
    """An application that builds another in a thread, then delegates to it.

    make    builds the application; retried for PATIENCE_S while a database is unreachable, as it may be starting too
    made    called with the finished application
    failed  called with the error if the application cannot be built
    """

    def __init__(
        self,
        make: Callable[[], FastAPI],
        made: Callable[[FastAPI], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._make, self._made, self._failed = make, made, failed
        self._app: ASGIApp = Observed(self._not_yet)
        self._life = Router(lifespan=self._lived)
        self._reason = LOADING

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._life if scope["type"] == "lifespan" else self._app)(scope, receive, send)

    @asynccontextmanager
    async def _lived(self, _: object) -> AsyncIterator[None]:
        stop = asyncio.Event()
        life = asyncio.create_task(self._become(stop))
        yield
        stop.set()
        await life

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
        """The finished application; None if the service is stopped first."""
        end = time.monotonic() + PATIENCE_S
        while not stop.is_set():
            try:
                return await asyncio.to_thread(self._make)
            except StoreError as error:
                if not error.passing or time.monotonic() > end:
                    raise
                self._reason = WAITING
                LOG.warning("%s: %s", WAITING, error)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AGAIN_S)
        return None

    async def _not_yet(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = refusal(scope, 503, f"the service is starting: {self._reason}", SOON)
        if "text/html" in Headers(scope=scope).get("accept", ""):
            page = PAGE.read_text("utf-8").replace("{{reason}}", html.escape(self._reason.capitalize()))
            said = HTMLResponse(page, 503, SOON)
        if scope["path"] == "/health/live":
            said = answer(HealthOut("alive"))
        if scope["path"] == "/health/ready":
            said = answer(HealthOut("starting", [self._reason]), 503, SOON)
        await said(scope, receive, send)
