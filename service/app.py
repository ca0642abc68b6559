"""The application: the only wiring, and how it is run."""

import errno
import logging
import signal
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import audiosim
from audiosim.campaign import CampaignState
from audiosim.corpus.collection import Collection
from audiosim.errors import InputError
from audiosim.stats.threads import stay_on_one_thread
from service.access import Access, Guarded
from service.arriving import Receiver
from service.campaigns import Judging
from service.connections import Connection
from service.document import SERVERS, TAGS, add_access, operation_id
from service.exchange import describe, failing
from service.import_store import ImportStore
from service.keeper import Keeper
from service.limits import Gate, Limited, Limits, Shared
from service.logs import Form, RequestLog, start_logging
from service.memory import keep_freed_memory
from service.metrics import Metrics
from service.observed import Observed, Seen
from service.problems import PROBLEM, answer_problems
from service.routes import (
    campaign_state,
    catalogue,
    exports,
    health,
    imports,
    model_repository,
    open_inference,
    organising,
    pages,
    predictions,
    publishing,
    receiving,
    sessions,
    sounds,
)
from service.routes import judging as judging_routes
from service.routes.campaign_state import Followers
from service.served import Served
from service.shares import Shares
from service.sign_in import Peered
from service.starting import Starting
from service.wire import ProblemOut

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

LOG = logging.getLogger("service")
GRACE_S = 30
RANKINGS, RANKINGS_WAITING = 2, 4  # by other measures than a campaign's own, which may take seconds
KEEP_ALIVE_S = 60
MOST_CONNECTIONS = 900
SWITCH_S = 0.001  # a thread computes until another gets its turn: whoever answers requests waits for each that does


def create_app(
    collections: Sequence[Collection],
    model: str | Mapping[str, str] | None = None,
    limits: Limits | None = None,
    judging: Judging | None = None,
    folders: Mapping[str, str | Path] | None = None,
    access: Access | None = None,
) -> FastAPI:
    """The service of some collections, each under its identifier, ready to answer.

    model    what predicts them, as in `--model`: one for all, or by identifier; joint where not given
    limits   how much it takes at a time
    judging  how their campaigns go; in memory if not given
    folders  where their sound files are, by identifier
    access   who may ask; everybody, from this machine alone, if not given
    """
    models = {one.identifier: model for one in collections} if isinstance(model, str) else model or {}
    app = FastAPI(
        title="audiosim",
        version=audiosim.__version__,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        responses=failing(ProblemOut, PROBLEM),
        separate_input_output_schemas=False,
        openapi_tags=TAGS,
        servers=SERVERS,
        generate_unique_id_function=operation_id,
        lifespan=_kept,
    )
    served = app.state.served = Served(collections, models, judging, folders)
    app.state.access = Access() if access is None else access
    app.state.imports = ImportStore(None if judging is None else judging.database)
    app.state.keeper = Keeper(served, app.state.access, app.state.imports)
    app.state.receiver = Receiver(served)
    app.state.followers = Followers()
    app.state.shares = Shares()
    app.state.rankings = Shared(Gate(RANKINGS, RANKINGS_WAITING, "rankings"))
    _watch(app, Limits() if limits is None else limits)
    plain = (
        predictions,
        health,
        catalogue,
        open_inference,
        model_repository,
        judging_routes,
        exports,
        imports,
        campaign_state,
        organising,
        receiving,
        publishing,
        sounds,
    )
    # Routes are tried in this order.
    _include(app, [predictions.quick, *(one.router for one in (*plain, sessions, pages))])
    describe(app, lambda document: add_access(document, app.state.access.locked))
    return app


@asynccontextmanager
async def _kept(app: FastAPI) -> AsyncIterator[None]:
    """Keep up to date what the application serves, for as long as it lives."""
    app.state.keeper.start()
    app.state.receiver.start()
    try:
        yield
    finally:
        app.state.receiver.stop()
        app.state.keeper.stop()


def _include(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Add routes, and keep which methods each address answers to: a route by itself knows only its own."""
    methods: dict[str, set[str]] = defaultdict(set)
    for router in routers:
        app.include_router(router)
        for route in router.routes:
            assert isinstance(route, Route)
            methods[route.path_format].update(route.methods or ())
    app.state.methods = {path: ", ".join(sorted(known)) for path, known in methods.items()}


def _watch(app: FastAPI, limits: Limits) -> None:
    """Put in front of an application, from the inside out: limits, access, problems, metrics and logs."""
    gate = Gate(limits.at_work, limits.waiting)
    app.state.log = None
    served: Served = app.state.served

    def states() -> dict[str, CampaignState]:
        return {name: one.campaign.current_state for name, one in served.collections.items()}

    figures = app.state.metrics = Metrics(gate, states)

    def finished(seen: Seen) -> None:
        figures.finished(seen)
        if app.state.log is not None:
            app.state.log(seen)

    app.add_middleware(Limited, limits, gate)
    app.add_middleware(Guarded, app.state.access)
    answer_problems(app)
    app.add_middleware(Observed, figures.started, finished)


def run_server(
    make: FastAPI | Callable[[], FastAPI],
    host: str = "127.0.0.1",
    port: int = 8000,
    log: Form = "text",
    proxies: Sequence[str] = (),
    show: Callable[[str], object] | None = None,
    collector: str | None = None,
) -> None:
    """Answer on an address until the process is told to stop (SIGINT, SIGTERM); what is in flight is finished first.

    To be called from the main thread, as signals are.

    make  the application, or what makes it: then the service lives at once, and is ready when that is done
    port  0 for any that is free; the start line, on stderr, says which
    log   one line per request on stderr, for people or as JSON
    proxies  addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed; nobody's others
    collector  of OpenTelemetry that is sent a trace of each request; None: there is none
    show  called with the address of the start page when it can be opened, such as `webbrowser.open`
    """
    telemetry = None
    if collector is not None:
        from service.telemetry import Telemetry

        telemetry = Telemetry(collector)
    listening = listen(host, port)
    start_logging(log)
    keep_freed_memory()
    stay_on_one_thread()
    with listening, _stopping_cleanly():
        made = (lambda: make) if isinstance(make, FastAPI) else make
        wrapped = partial(_wrapped, proxies=proxies, traced=None if telemetry is None else telemetry.traced)
        _run(lambda: _checked(made, host), listening, log, wrapped, show)
    if telemetry is not None:
        telemetry.stop()
    LOG.info("stopped")


def _run(
    make: Callable[[], FastAPI],
    listening: socket.socket,
    log: Form,
    wrapped: Callable[[ASGIApp], ASGIApp],
    show: Callable[[str], object] | None,
) -> None:
    failures: list[BaseException] = []

    def made(app: FastAPI) -> None:
        sys.setswitchinterval(SWITCH_S)
        app.state.log = RequestLog(log, sys.stderr)
        server.let_go.append(app.state.followers.let_go)
        LOG.info("serving %s at %s; Ctrl-C stops", ", ".join(app.state.served.collections), address(listening))
        for page in _pages(app, near(listening)):
            LOG.info(page)
        for collection in (one.collection for one in app.state.served.collections.values()):
            for reading in collection.readings:
                LOG.log(logging.WARNING if reading.doubtful else logging.INFO, "read: %s", reading.line)
            for guess in collection.guesses:
                LOG.info("%s: %s", collection.identifier, guess)
        for note in _notes(app):
            LOG.warning(note)
        if show is not None:
            threading.Thread(target=show, args=(f"{near(listening)}/",), daemon=True).start()

    def failed(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    server = _Server(_config(wrapped(Starting(make, made, failed))))
    server.run(sockets=[listening])
    if failures:
        raise failures[0]


class _Server(uvicorn.Server):
    """Waits, when it stops, for what is in flight.

    let_go  called before, each: ends what would never end by itself
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.let_go: list[Callable[[], None]] = []

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for let_go in self.let_go:
            let_go()
        await super().shutdown(sockets)


def _pages(app: FastAPI, root: str) -> Iterator[str]:
    """Pages where people begin."""
    yield f"start page: {root}/"
    for name in map(quote, app.state.served.collections):
        yield f"assessors judge at {root}/judge/{name}; organisers follow at {root}/organise/{name}"


def _notes(app: FastAPI) -> Iterator[str]:
    """Notes for whoever starts a service."""
    if app.state.access.deserted:
        yield "there is no token that is good, and tokens are needed: nobody gets in until audiosim token makes one"
    if not app.state.access.locked:
        yield "there are no tokens: everybody on this machine may do everything; audiosim token makes one"
    if any(one.judging.database is None for one in app.state.served.collections.values()):
        yield "there is no database: judgments are lost when the service stops; --db names one"
    for name, one in app.state.served.collections.items():
        if one.coverage:
            yield f"{name}: {one.coverage}"


def _checked(make: Callable[[], FastAPI], host: str) -> FastAPI:
    """The application that is made, if it may listen there."""
    app = make()
    app.state.access.check_host(host)
    return app


def _wrapped(app: ASGIApp, proxies: Sequence[str], traced: Callable[[ASGIApp], ASGIApp] | None) -> ASGIApp:
    """An application that knows from where it is asked, and through which proxies."""
    if proxies:
        app = cast("ASGIApp", ProxyHeadersMiddleware(cast("ASGI3Application", app), list(proxies)))
    return Peered(app) if traced is None else traced(Peered(app))


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        cast("ASGI3Application", app),
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whose they are is noted first: see Peered
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an address that cannot be had is an error of one line."""
    if not 0 <= port <= 65535:
        raise InputError(f"port must be from 0 to 65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is taken by another program; give another port") from None
        raise InputError(f"cannot listen on port {port} of {host}: {error.strerror}") from None
    # Connections inherit this; without it a short answer, sent as head and body, waits 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address(listening: socket.socket) -> str:
    """The root address of what listens there."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def near(listening: socket.socket) -> str:
    """The root address for a browser of this machine, which cannot go to 0.0.0.0."""
    host, port = listening.getsockname()[:2]
    return f"http://localhost:{port}" if host in ("0.0.0.0", "::") else address(listening)  # noqa: S104  to compare


@contextmanager
def _stopping_cleanly() -> Iterator[None]:
    """Take SIGTERM for what Ctrl-C is, and either for a wish that was granted."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
