"""The application: connects the parts of the service, and runs them."""

import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from anyio import to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import audiosim
from audiosim.collection.check import inspect
from audiosim.collection.collection import Collection
from audiosim.errors import InputError
from audiosim.service.access.access import Access
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.drafts import Home
from audiosim.service.collections.open import KEEP_OPEN, CollectionSource
from audiosim.service.collections.shelf import Served
from audiosim.service.http.document import SERVERS, TAGS, describe
from audiosim.service.http.exchange import ModelRoute, WireRoute
from audiosim.service.http.limits import AT_ONCE, Limits
from audiosim.service.http.observation import Form, Observed, request_log, start_logging
from audiosim.service.http.problems import answer_problems
from audiosim.service.operations import additions as collection_additions
from audiosim.service.operations import campaign as campaign_state
from audiosim.service.operations import (
    catalogue,
    comparing,
    evaluation,
    exports,
    health,
    imports,
    joining,
    organising,
    pages,
    personal_data,
    predictions,
    publication,
    sessions,
    sounds,
    texts,
)
from audiosim.service.operations import drafts as new_collections
from audiosim.service.operations import judges as panel
from audiosim.service.operations import judging as judging_routes
from audiosim.service.operations import models as campaign_model
from audiosim.service.operations import publication as published_pages
from audiosim.service.operations import ranking as drill_down
from audiosim.service.operations import results as result_links
from audiosim.service.operations import sounds as pictures
from audiosim.service.process.loops import keep_freed_memory
from audiosim.service.process.time_limit import GRACE_S, Server
from audiosim.service.startup import Starting
from audiosim.service.tasks.state import ServiceState, state_of
from audiosim.stats.threads import stay_on_one_thread
from audiosim.text import as_option, reason, spell_advice

LOG = logging.getLogger("service")
KEEP_ALIVE_S = 60
MOST_CONNECTIONS = 900
SWITCH_S = 0.001  # longest turn of a computing thread; the thread that answers requests waits that long
CHAPTERS = (
    predictions.router,
    health.router,
    catalogue.router,
    evaluation.router,
    judging_routes.router,
    comparing.router,
    exports.router,
    imports.router,
    campaign_state.router,
    drill_down.router,
    panel.router,
    campaign_model.router,
    texts.router,
    organising.router,
    joining.router,
    personal_data.router,
    new_collections.router,
    collection_additions.router,
    result_links.router,
    publication.router,
    sounds.router,
    pictures.pictures_router,
    sessions.router,
    pages.router,
    published_pages.published_pages_router,
)  # their routes are tried in this order


def create_app(
    collections: Sequence[Collection | CollectionSource],
    model: str | Mapping[str, str] | None = None,
    limits: Limits | None = None,
    judging: Judging | None = None,
    folders: Mapping[str, str | Path] | None = None,
    access: Access | None = None,
    keep_open: int = KEEP_OPEN,
    home: Home | None = None,
) -> FastAPI:
    """The service of some collections, each under its identifier, ready to answer requests.

    collections  loaded collections, or sources to load them from
    model    as in `--model`: one for all, including later collections, or by identifier; default joint
    limits   limits on requests
    judging  settings of their campaigns; by default, logs are in memory
    folders  folders of their sound files, by identifier
    access   access rules; by default everybody may do everything, but only from this machine
    keep_open  number of collections open at a time; further ones are opened on request
    home     folder in which organisers make collections; its collections are served too
    """
    if home is not None:
        own = [CollectionSource.of_folder(folder, partial(Collection.load, folder)) for folder in home.collections()]
        collections = [*collections, *own]
    default, models = (model, {}) if isinstance(model, str) else (None, model or {})
    app = FastAPI(
        title="audiosim",
        version=audiosim.__version__,
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        openapi_tags=TAGS,
        servers=SERVERS,
        lifespan=_running,
    )
    served = Served(collections, models, judging, folders, keep_open, home is not None, default)
    access = Access() if access is None else access
    state = app.state.service = ServiceState(served, home, access, limits or Limits())
    app.add_middleware(Observed, state.finished, state.metrics.in_flight)
    answer_problems(app, pages.nowhere)
    _add_routes(app)
    describe(app, served, access)
    return app


def _add_routes(app: FastAPI) -> None:
    """Add the routes of all chapters, each of which must declare who may use it."""
    # FastAPI would look up each route of an included router twice.
    for router in (predictions.quick, *CHAPTERS):
        app.router.routes += router.routes
    open_to_all = [route for route in app.routes if not isinstance(route, WireRoute | ModelRoute)]
    if open_to_all:  # not an assertion, which `python -O` would leave out
        raise RuntimeError(f"the route {open_to_all[0]} checks no token: add it to a router whose routes are WireRoute")
    app.router.route_class = WireRoute


@asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    """Run the application's background tasks while it lives."""
    # Each request in progress may hold a state of its own, with the opinions of everybody.
    to_thread.current_default_thread_limiter().total_tokens = AT_ONCE
    with state_of(app).running():
        yield


def run_server(
    make: FastAPI | Callable[[], FastAPI],
    host: str = "127.0.0.1",
    port: int = 8000,
    log: Form = "text",
    proxies: Sequence[str] = (),
    show: Callable[[str], object] | None = None,
) -> None:
    """Serve on an address until the process is told to stop (SIGINT, SIGTERM); finishes requests in progress.

    It ends within ten seconds: what is not finished by then is cut off.

    Call it from the main thread, because of the signals.

    make  the application, or a function that makes it: the service is alive at once, and ready once it returns
    port  0 for any free one; the first line on stderr names it
    log   one line per request on stderr, for people or as JSON
    proxies  addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are trusted; no other's are
    show  called with the address of the start page when it can be opened, such as `webbrowser.open`
    """
    listening, failures = listen(host, port), list[BaseException]()
    start_logging(log)
    keep_freed_memory()
    stay_on_one_thread()

    def checked() -> FastAPI:
        app = make if isinstance(make, FastAPI) else make()
        state_of(app).access.check_host(host)
        return app

    def made(app: FastAPI) -> None:
        sys.setswitchinterval(SWITCH_S)
        state_of(app).finished.append(request_log(log, sys.stderr))
        state_of(app).followers.stopping = lambda: server.should_exit
        for level, line in _greetings(app, listening):
            LOG.log(level, line)
        if show is not None:
            threading.Thread(target=show, args=(f"{near(listening)}/",), daemon=True).start()

    def failed(error: BaseException) -> None:
        failures.append(error)
        server.should_exit = True

    starting: ASGIApp = Starting(checked, made, failed)
    server = Server(server_config(starting, proxies))
    with owner_only(), listening, stopping_cleanly():
        server.run(sockets=[listening])
    if failures:
        raise failures[0]
    LOG.info("stopped")


def _greetings(app: FastAPI, listening: socket.socket) -> Iterator[tuple[int, str]]:
    """Lines printed at the start of a service, each with its log level: its address, how files were read, cautions."""
    state, root = state_of(app), near(listening)
    collections, access = state.served.collections, state.access
    names, there = collections.names, collections.open
    shown = ", ".join(names) if names and collections.fit else f"{len(names) or 'no'} collections"
    yield logging.INFO, f"serving {shown} at {address(listening)}; Ctrl-C stops"
    yield logging.INFO, f"start page: {root}/"
    if state.home is not None:
        yield logging.INFO, f"organisers make collections at {root}/create; they are kept in {state.home.folder}"
    for name in map(quote, names if collections.fit else ["COLLECTION"]):
        yield logging.INFO, f"assessors judge at {root}/judge/{name}; organisers follow at {root}/organise/{name}"
    for one in there.values():
        for reading in one.collection.readings:
            if not reading.doubtful:  # doubts are among the problems
                yield logging.INFO, f"read: {spell_advice(reading.line, as_option)}"
        for guess in one.collection.guesses:
            yield logging.INFO, f"{one.collection.identifier}: {guess}"
        for problem in inspect(one.collection).problems:
            yield logging.WARNING, f"{one.collection.identifier}: {problem}"
    if access.deserted:
        lost = "this service requires tokens and has no valid one: nobody can sign in until audiosim token creates one"
        yield logging.WARNING, lost
    if not access.locked:
        open_to_all = (
            "there are no tokens: everybody on this machine may do everything, and judging is not blind, as browsers "
            "get the names of what is heard; audiosim token creates one"
        )
        yield logging.WARNING, open_to_all
    judging = state.served.judging
    if judging.database is None:
        yield logging.WARNING, "there is no database: judgments are lost when the service stops; --db names one"
    if (path := judging.database_file) is not None:
        copied = f"audiosim backup --db sqlite:///{path} -o FILE copies them while it serves, cp may miss the last ones"
        yield logging.INFO, f"judgments are kept in {path}: {copied}"
    for name, one in there.items():
        if one.coverage:
            yield logging.WARNING, f"{name}: {one.coverage}"


def server_config(app: ASGIApp, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Settings of the server that answers for an application."""
    # uvicorn's type of an application is narrower than Starlette's, for the same applications.
    trusting: Any = ProxyHeadersMiddleware(app, list(proxies)) if proxies else app  # type: ignore[arg-type]
    return uvicorn.Config(
        _naming_peer(trusting),
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )


def _naming_peer(app: ASGIApp) -> ASGIApp:
    """The application, told the address at the other end of each connection, whatever forwarding headers say."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["state"]["peer"] = scope["client"][0] if scope["client"] else ""
        await app(scope, receive, send)

    return named


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; an unavailable address gives a one-line error."""
    if not 0 <= port <= 65535:
        raise InputError(f"port must be from 0 to 65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            taken = f"port {port} of {host} is taken by another program"
            raise InputError(f"{taken}, expected a free one, such as `port={port % 65535 + 1}`") from None
        raise InputError(f"cannot listen on port {port} of {host}: {reason(error)}") from None
    # Connections inherit this; otherwise a short answer, sent as head and body, waits 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address(listening: socket.socket) -> str:
    """The root address of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def near(listening: socket.socket) -> str:
    """The root address for a browser on this machine, which cannot open 0.0.0.0."""
    host, port = listening.getsockname()[:2]
    return f"http://localhost:{port}" if host in ("0.0.0.0", "::") else address(listening)  # noqa: S104  to compare


@contextmanager
def owner_only() -> Iterator[None]:
    """Let nobody but the owner of this process read the files that it writes."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, and treat either as a normal end."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
