"""The application: the only wiring, and how it is run."""

import errno
import logging
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version

import uvicorn
from fastapi import FastAPI

from audiosim.corpus.collection import Collection
from audiosim.errors import InputError
from service.exchange import describe_types
from service.problems import answer_problems
from service.routes import catalogue, health, predictions
from service.served import Served

LOG = logging.getLogger("service")
GRACE_S = 30
KEEP_ALIVE_S = 60


def create_app(collections: Sequence[Collection], model: str | Mapping[str, str] | None = None) -> FastAPI:
    """The service of some collections, each under its identifier, ready to answer.

    model  what predicts them, as in `--model`: one for all, or by identifier; not given, the default of each scale
    """
    models = {one.identifier: model for one in collections} if isinstance(model, str) else model or {}
    app = FastAPI(title="audiosim", version=version("audiosim"), redirect_slashes=False)
    app.state.served = Served(collections, models)
    answer_problems(app)
    for router in (health.router, catalogue.router, predictions.router):
        app.include_router(router)
    describe_types(app)
    return app


def run_server(app: FastAPI, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Answer on an address until the process is told to stop (SIGINT, SIGTERM); what is in flight is finished first.

    To be called from the main thread, as signals are.

    port  0 for any that is free; the start line, on stderr, says which
    """
    listening = listen(host, port)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    with listening, _stopping_cleanly():
        LOG.info("serving %s at %s; Ctrl-C stops", ", ".join(app.state.served.collections), address(listening))
        uvicorn.Server(config).run(sockets=[listening])
    LOG.info("stopped")


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
