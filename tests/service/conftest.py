"""Real servers in separate processes on loopback, each on a free port."""

import asyncio
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sql

from audiosim.campaign.tables import BESIDE, TABLES
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import BROAD, FINE, Document, Judgment, Run, Scale

PATIENCE_S = 180  # limit for any wait; a busy machine may be slow

STARTING_S = 180  # limit for the start of a server, which is mostly computing

FORKS = multiprocessing.get_context("forkserver")  # its imports in advance: see tests/conftest.py

BEGIN = """
import gc
import os
import sys
import warnings

gc.freeze()  # as in tests/conftest.py
os.dup2(os.open(log, os.O_WRONLY), 2)
os.environ.update(variables)
sys.dont_write_bytecode = True  # where files may not grow, what is kept of a module would be cut off
sys.argv = ["audiosim", *map(str, arguments)]
warnings.simplefilter("error")
from tests.forked import fork_learners
fork_learners()
"""

COMMAND = """
from audiosim.cli import main

main()
"""

SCRIPT = """
import time
from pathlib import Path

from audiosim.collection.collection import Collection
from audiosim.service.app import create_app, run_server

_, model, port, *folders = sys.argv
app = create_app([Collection.load(folder) for folder in folders], model or None)


@app.get("/bug")
def bug() -> None:
    raise ZeroDivisionError("a bug on purpose")


@app.get("/slow")
def slow(folder: str) -> str:
    Path(folder, "begun").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.01)
    return "done"


run_server(app, port=int(port))
"""


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for a condition, asked less often as time passes; fails the test if it never holds."""
    begun = time.monotonic()
    while not holds():
        waited = time.monotonic() - begun
        assert waited < PATIENCE_S, "waited for in vain"
        time.sleep(min(max(0.01, waited / 10), 0.2))  # asking a server costs more than the wait


class InProcess:
    """A client of an application in this process, without its background tasks."""

    def __init__(self, app):
        there = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
        self._runner, self._client = asyncio.Runner(), httpx.AsyncClient(transport=there, base_url="http://localhost")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run(self._client.aclose())
        self._runner.close()

    def run(self, work):
        """Run a coroutine to its end."""
        return self._runner.run(work)

    def send(self, method, path, **what):
        """Send a request asynchronously."""
        return self._client.request(method, path, **what)

    def get(self, path, **what):
        """Send a GET request."""
        return self.run(self.send("GET", path, **what))

    def post(self, path, **what):
        """Send a POST request."""
        return self.run(self.send("POST", path, **what))

    def delete(self, path, **what):
        """Send a DELETE request."""
        return self.run(self.send("DELETE", path, **what))


@pytest.fixture(scope="session")
def in_process():
    """Makes a client of an application in this process."""
    return InProcess


@pytest.fixture(scope="session", name="wait_until")
def _wait_until():
    return wait_until


def imported(http: httpx.Client, path: str, content: str | bytes, **more: Any) -> dict[str, Any]:
    """The import of a file once it has ended; reading may take longer than the half second until the answer."""
    answer = http.post(path, content=content, **more)
    if answer.status_code == 422:
        return {"status": "failed", "written": 0, "problem": answer.json()["detail"]}
    assert answer.status_code in (200, 202), answer.text
    if answer.status_code == 202:
        address = answer.headers["location"]
        wait_until(lambda: http.get(address).json()["status"] in ("done", "failed"))
        return dict(http.get(address).json())
    return dict(answer.json())


@pytest.fixture(scope="session", name="imported")
def _imported():
    return imported


def check_close(one: object, other: object) -> None:
    """Check that two answers are equal up to rounding.

    The last bits of the joint model depend on the order of judgments, and on the position of matrices in memory when
    linear algebra runs.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys()
        for name in one:
            check_close(one[name], other[name])
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            check_close(mine, yours)
    elif isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    else:
        assert one == other


@pytest.fixture(scope="session", name="check_close")
def _check_close():
    return check_close


@dataclass(frozen=True)
class Server:
    """A service in another process.

    log  file with its output on stderr
    """

    url: str
    log: Path
    process: BaseProcess

    def client(self) -> httpx.Client:
        """A plain HTTP client of it, with the patience of a test."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE_S, verify=False)

    def says(self, text: str) -> bool:
        """Wait until its log has a text."""
        wait_until(lambda: text in self.log.read_text(encoding="utf-8"))
        return True

    def signal(self, wish: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, wish)

    def wait(self) -> int | None:
        """Wait for the exit status."""
        self.process.join(PATIENCE_S)
        return self.process.exitcode

    def stop(self) -> int | None:
        """Tell it to stop and wait for its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def refuses(self) -> bool:
        """True if it accepts no connections."""
        try:
            socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])), PATIENCE_S).close()
        except ConnectionRefusedError:
            return True
        return False

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.join()


@contextmanager
def _started(code: str, log: Path, arguments: list[object], variables: dict[str, str]) -> Iterator[BaseProcess]:
    log.write_bytes(b"")
    names = {"log": str(log), "arguments": arguments, "variables": variables}
    process = FORKS.Process(target=exec, args=(BEGIN + code, names))  # no daemon, which might start no workers
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


@contextmanager
def _running(code: str, log: Path, arguments: list[object], variables: dict[str, str]) -> Iterator[Server]:
    with _started(code, log, arguments, variables) as process:
        yield Server(_wait_for_start(process.is_alive, log), log, process)


@contextmanager
def commanded(
    folders: list[Path], log: Path, *options: object, verb: str = "serve", port: int = 0, **variables: str
) -> Iterator[Server]:
    """A server started by the command, with further options and environment variables."""
    with _running(COMMAND, log, [verb, *folders, "--port", port, *options], variables) as server:
        yield server


@pytest.fixture(scope="session", name="commanded")
def _commanded():
    return commanded


@contextmanager
def starting(folders: list[Path], log: Path, *options: object) -> Iterator[BaseProcess]:
    """The process of such a server, which need not start serving."""
    with _started(COMMAND, log, ["serve", *folders, *options], {}) as process:
        yield process


@pytest.fixture(scope="session", name="starting")
def _starting():
    return starting


@contextmanager
def programmed(
    command: list[object], log: Path, folder: Path | None = None, **variables: str
) -> Iterator[httpx.Client]:
    """A client of a server run by another program: of another version, or with another clock.

    folder  working folder of the program
    """
    with log.open("wb") as stream:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stderr=stream, env=os.environ | variables)
    try:
        with httpx.Client(base_url=_wait_for_start(lambda: process.poll() is None, log), timeout=PATIENCE_S) as http:
            yield http
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session", name="programmed")
def _programmed():
    return programmed


@pytest.fixture
def empty_postgres(postgres: str) -> str:
    """The URL of a PostgreSQL database without tables."""
    engine = sql.create_engine(postgres.replace("postgresql:", "postgresql+psycopg:"))
    TABLES.drop_all(engine)
    BESIDE.drop_all(engine)
    engine.dispose()
    return postgres


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of every kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campaign.db'}"
    return str(request.getfixturevalue("empty_postgres"))


@contextmanager
def serving(folders: list[Path], log: Path, model: str = "", port: int = 0) -> Iterator[Server]:
    """A server of these folders for as long as the `with` lasts; without a model, the default ones."""
    with _running(SCRIPT, log, [model, port, *folders], {}) as server:
        yield server


def _wait_for_start(alive: Callable[[], bool], log: Path) -> str:
    give_up = time.monotonic() + STARTING_S
    while time.monotonic() < give_up and alive():
        started = re.search(r"serving .* at (http://[^;\s]+)", log.read_text(encoding="utf-8"))
        if started:
            return started[1]
        time.sleep(0.01)
    pytest.fail(f"the server did not start: {log.read_text(encoding='utf-8')}")


@contextmanager
def kept_port() -> Iterator[int]:
    """A port reserved for our server, even while it is down.

    Linux lets two programs have one port if both agree and only one listens. A merely free port may be taken a moment
    later, even by a client of ours that connects there and so ends up talking to itself.
    """
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        if sys.platform != "linux":
            kept.close()
        yield port


@pytest.fixture
def port() -> Iterator[int]:
    """A port for one server after the other."""
    with kept_port() as port:
        yield port


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Two ports, each for one server after the other."""
    with kept_port() as one, kept_port() as other:
        yield one, other


def _build(identifier: str, scale: Scale, seed: int) -> Collection:
    """Five systems of three teams, six queries, cutoff 4; two documents in ten have no genre, and two no artist."""
    rng = np.random.default_rng(seed)
    names = [f"d{i:02}" for i in range(20)]
    queries = [f"q{i}" for i in range(6)]
    documents = {
        name: Document(
            name,
            artist=None if rng.random() < 0.2 else f"artist {rng.integers(4)}",
            genre=None if rng.random() < 0.2 else str(rng.choice(["jazz", "rock", "soul"])),
        )
        for name in [*names, *queries]
    }
    runs = tuple(
        Run(f"S{i}", {query: tuple(map(str, rng.permutation(names)[:5])) for query in queries}) for i in range(5)
    )
    teams = {"S0": "one", "S1": "one", "S2": "two", "S3": "two", "S4": "three"}
    return Collection(identifier, f"The {identifier} one", scale, 4, runs, documents, teams=teams)


def _judged(collection: Collection, share: float, assessors: int) -> Collection:
    rng = np.random.default_rng(7)
    judgments = tuple(
        Judgment(*pair, float(rng.choice(collection.scale.levels)), f"assessor {assessor}")
        for pair in build_pool(collection).pairs
        if rng.random() < share
        for assessor in range(assessors)
    )
    return replace(collection, judgments=judgments)


@pytest.fixture(scope="session")
def small() -> Collection:
    """A collection on the Fine scale, with half of the pool judged by two assessors each."""
    return _judged(_build("small", FINE, 1), 0.5, 2)


@pytest.fixture(scope="session")
def coarse() -> Collection:
    """A collection on the Broad scale, with nothing judged."""
    return _build("coarse", BROAD, 2)


@pytest.fixture(scope="session")
def folders(small: Collection, coarse: Collection, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of both collections."""
    root = tmp_path_factory.mktemp("collections")
    for collection in (small, coarse):
        collection.save(root / collection.identifier)
    return [root / "small", root / "coarse"]


@pytest.fixture(scope="session")
def server(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the small and the coarse collection."""
    with serving(folders, tmp_path_factory.mktemp("server") / "log") as running:
        yield running


@pytest.fixture
def another(folders: list[Path], tmp_path: Path, port: int) -> Iterator[Server]:
    """A server that the test may stop; its address stays reserved."""
    with serving(folders, tmp_path / "log", port=port) as running:
        yield running


@pytest.fixture
def relay(another: Server, folders: list[Path], tmp_path: Path) -> Iterator[Server]:
    """A server of the small collection that gets its predictions from another server."""
    with serving(folders[:1], tmp_path / "relay", f"remote:{another.url}") as running:
        yield running


@pytest.fixture(scope="session")
def mirex_server(mirex2011: Collection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of MIREX 2011 without judgments, if the real data are available; for tests that only read."""
    folder = tmp_path_factory.mktemp("mirex")
    replace(mirex2011, judgments=()).save(folder / "mirex2011")
    with serving([folder / "mirex2011"], folder / "log") as running:
        yield running


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    """A plain HTTP client of the server."""
    with server.client() as client:
        yield client


class Canned(ThreadingHTTPServer):
    """A fake server: gives these answers in turn, repeating the last; None breaks the connection."""

    daemon_threads = False

    def __init__(self, *answers: tuple[int, bytes] | None) -> None:
        super().__init__(("127.0.0.1", 0), CannedAnswer)
        self.answers = list(answers)
        self.asked = 0
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore disconnected clients."""


class CannedAnswer(BaseHTTPRequestHandler):
    server: Canned

    def do_GET(self) -> None:
        answer = self.server.answers[min(self.server.asked, len(self.server.answers) - 1)]
        self.server.asked += 1
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if answer is None:
            return
        self.send_response(answer[0])
        self.send_header("content-length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def canned():
    """A maker of fake servers."""
    made: list[tuple[Canned, threading.Thread]] = []

    def make(*answers: tuple[int, bytes] | None) -> Canned:
        one = Canned(*answers)
        thread = threading.Thread(target=one.serve_forever, args=(0.05,))
        thread.start()
        made.append((one, thread))
        return one

    yield make
    for one, thread in made:
        one.shutdown()
        thread.join()
        one.server_close()
