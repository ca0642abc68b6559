"""Real servers in processes of their own, on loopback, each on a free port of its choice."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import numpy as np
import pytest

from audiosim.corpus.collection import Collection
from audiosim.corpus.model import BROAD, FINE, Document, Judgment, Run, Scale
from audiosim.corpus.pool import build_pool

SCRIPT = """
import sys
import time

from audiosim.corpus.collection import Collection
from service.app import create_app, run_server

model, *folders = sys.argv[1:]
app = create_app([Collection.load(folder) for folder in folders], model or None)


@app.get("/bug")
def bug() -> None:
    raise ZeroDivisionError("a bug on purpose")


@app.get("/slow")
def slow() -> str:
    time.sleep(1)
    return "done"


run_server(app, port=0)
"""


@dataclass(frozen=True)
class Server:
    """A service in another process.

    log  file with what it said on stderr
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self) -> int:
        """Tell it to stop and wait for its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextmanager
def commanded(folders: list[Path], log: Path, *options: object, **variables: str) -> Iterator[Server]:
    """A server as the command starts it, with more options and variables of the environment."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "audiosim.cli",
        "serve",
        *map(str, [*folders, "--port", 0, *options]),
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream, env=os.environ | variables)
    try:
        yield Server(_wait_for_start(process, log), log, process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session", name="commanded")
def _commanded():
    return commanded


@contextmanager
def serving(folders: list[Path], log: Path, model: str = "") -> Iterator[Server]:
    """A server of these folders for as long as the `with` lasts; without a model, the default ones."""
    command = [sys.executable, "-W", "error", "-c", SCRIPT, model, *map(str, folders)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream)
    try:
        yield Server(_wait_for_start(process, log), log, process)
    finally:
        process.kill()
        process.wait()


def _wait_for_start(process: subprocess.Popen[bytes], log: Path) -> str:
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up and process.poll() is None:
        started = re.search(r"serving .* at (http://\S+);", log.read_text(encoding="utf-8"))
        if started:
            return started[1]
        time.sleep(0.05)
    pytest.fail(f"the server did not start: {log.read_text(encoding='utf-8')}")


def _build(identifier: str, scale: Scale, seed: int) -> Collection:
    """Five systems of three teams, six queries, cutoff 4; two documents in ten have no genre, and as many no artist."""
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
    """Fine scale, half of the pool judged, by two assessors each."""
    return _judged(_build("small", FINE, 1), 0.5, 2)


@pytest.fixture(scope="session")
def coarse() -> Collection:
    """Broad scale, nothing judged."""
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
def another(folders: list[Path], tmp_path: Path) -> Iterator[Server]:
    """A server that the test may stop."""
    with serving(folders, tmp_path / "log") as running:
        yield running


@pytest.fixture
def relay(another: Server, folders: list[Path], tmp_path: Path) -> Iterator[Server]:
    """A server of the small collection that asks another for its predictions."""
    with serving(folders[:1], tmp_path / "relay", f"remote:{another.url}") as running:
        yield running


@pytest.fixture
def mirex_server(mirex2011: Collection, tmp_path: Path) -> Iterator[Server]:
    """A server of MIREX 2011, where the real data is at hand."""
    mirex2011.save(tmp_path / "mirex2011")
    with serving([tmp_path / "mirex2011"], tmp_path / "log") as running:
        yield running


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[httpx.Client]:
    """A plain HTTP client of the server."""
    with httpx.Client(base_url=server.url, timeout=30) as client:
        yield client


class Canned(ThreadingHTTPServer):
    """A server of another kind: gives these answers in turn, the last for ever; None breaks the connection."""

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
        """Say nothing of clients that went away."""


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
        """Say nothing."""


@pytest.fixture
def canned():
    """A maker of servers of another kind."""
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
