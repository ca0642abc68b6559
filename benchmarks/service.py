"""Speed of the service, compared with MLServer serving a model of the same size, and its behaviour under load.

    python benchmarks/service.py [FOLDER] [--mlserver PYTHON]

FOLDER is a collection such as the public files of MIREX 2011; if it is missing, everything is skipped. PYTHON is that
of an environment with `mlserver mlserver-sklearn "uvloop<0.22"`; without it, the comparison is skipped.

The client sends prepared requests on plain sockets, the next on a connection as soon as the answer has arrived. It
parses only the status and the length of an answer, so that its printed share of one processor is small. Servers are
measured in turn, in several rounds; the middle one counts. Health is requested by a separate process.
"""

import argparse
import json
import multiprocessing
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import Figures

from audiosim import Collection
from audiosim.collection.pool import build_pool

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirex2011"
FEATURES = ("fSYS", "OV", "fART", "sGEN", "fGEN")
LEVELS = 10
ROUNDS = 3
COUNTS = {1: 1200, 100: 800, 5000: 60}
LIMITS = {1: 4, 100: 4, 5000: 3}
CONNECTIONS = (1, 4)
ASSESSORS, JUDGMENTS, PER_MINUTE = 20, 15, 1000
TRAIN = """
import sys, joblib, numpy as np
from sklearn.linear_model import LogisticRegression
rng = np.random.default_rng(0)
joblib.dump(LogisticRegression(max_iter=500).fit(rng.random((2000, 5)), np.arange(2000) % 10), sys.argv[1])
"""


@dataclass(frozen=True)
class Load:
    """Results of a closed loop of requests."""

    per_second: float
    times_ms: list[float]
    client_share: float

    def quantile(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        return sorted(self.times_ms)[min(len(self.times_ms) - 1, int(share * len(self.times_ms)))]


def request(path: str, body: bytes, **headers: str) -> bytes:
    """A POST as bytes."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


GET_LIVE = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def receive(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 20)
        if not more:
            raise ConnectionError(f"the server hung up after {data[:200]!r}")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)[1])
    pieces, missing = [body], length - len(body)
    while missing > 0:
        pieces.append(connection.recv(1 << 20))
        missing -= len(pieces[-1])
    return int(head[9:12]), b"".join(pieces)


def ask(connection: socket.socket, asked: bytes) -> float:
    """Milliseconds until the answer arrives."""
    start = time.perf_counter()
    connection.sendall(asked)
    receive(connection)
    return (time.perf_counter() - start) * 1000


@contextmanager
def connected(port: int, count: int = 1) -> Iterator[list[socket.socket]]:
    """Connections to a server."""
    with ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(count)]
        for one in made:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield made


def closed_loop(port: int, asked: bytes, count: int, connections: int) -> Load:
    """Send the next request as soon as the last answer has arrived, on each connection."""
    times: list[float] = []
    with connected(port, connections) as made:
        sent = [0.0] * connections
        start, own = time.perf_counter(), time.process_time()
        for place in range(count + connections):
            here = place % connections
            if place >= connections:
                status, body = receive(made[here])
                times.append((time.perf_counter() - sent[here]) * 1000)
                assert status == 200, body[:300]
            if place < count:
                sent[here] = time.perf_counter()
                made[here].sendall(asked)
        taken = time.perf_counter() - start
    return Load(count / taken, times, (time.process_time() - own) / taken)


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, ready: str) -> Iterator[dict[str, float]]:
    """A server for the duration of the `with`, with the seconds until it listened and until it was ready."""
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            while "ready" not in seconds:
                status = _status(port, ready)
                if status is not None:
                    seconds.setdefault("listens", time.perf_counter() - start)
                if status == 200:
                    seconds["ready"] = time.perf_counter() - start
                if process.poll() is not None or time.perf_counter() - start > 60:
                    log.seek(0)
                    raise SystemExit(f"{command[0]} did not start: {log.read()[-2000:].decode()}")
                time.sleep(0.01)
            yield seconds
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _status(port: int, path: str) -> int | None:
    try:
        with connected(port) as (one,):
            one.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            return receive(one)[0]
    except (OSError, TypeError):
        return None


def serving(folder: Path, port: int) -> list[str]:
    """The command that serves a collection."""
    return [str(Path(sys.executable).with_name("audiosim")), "serve", str(folder), "--port", str(port)]


def mlserver(python: Path, folder: Path, port: int, workers: int) -> list[str]:
    """The command that serves a logistic regression with MLServer, made in a folder."""
    subprocess.run([python, "-c", TRAIN, folder / "model.joblib"], check=True)
    settings = {"debug": False, "host": "127.0.0.1", "http_port": port, "parallel_workers": workers}
    settings |= {"grpc_port": free_port(), "metrics_port": free_port()}
    model = {"name": "m", "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": "./model.joblib"}}
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "model-settings.json").write_text(json.dumps(model))
    return [str(python.with_name("mlserver")), "start", str(folder)]


def ours(rows: int) -> bytes:
    """A request to our service for the level probabilities of rows of features."""
    table = np.random.default_rng(0).random((rows, len(FEATURES)))
    columns = {name: table[:, place].tolist() for place, name in enumerate(FEATURES)}
    body = {"features": columns, "include": ["probabilities"]}
    return request("/v1/models/mout-fine/predictions", json.dumps(body).encode())


def theirs(rows: int) -> bytes:
    """The same request to MLServer."""
    table = np.random.default_rng(0).random((rows, len(FEATURES)))
    tensor = {"name": "x", "shape": list(table.shape), "datatype": "FP64", "data": table.ravel().tolist()}
    body = {"inputs": [tensor], "outputs": [{"name": "predict_proba"}]}
    return request("/v2/models/m/infer", json.dumps(body).encode())


def rates(servers: Mapping[str, tuple[int, bytes]], count: int, connections: int) -> dict[str, list[Load]]:
    """The loads of each server, taken in turn."""
    found: dict[str, list[Load]] = {name: [] for name in servers}
    for port, asked in servers.values():
        closed_loop(port, asked, 10, connections)
    for _ in range(ROUNDS):
        for name, (port, asked) in servers.items():
            found[name].append(closed_loop(port, asked, count // ROUNDS, connections))
    return found


def compare(folder: Path, python: Path | None, figures: Figures) -> None:
    """Requests per second, compared with MLServer's with and without its worker process."""
    if python is None or not python.exists():
        print("MLServer: skipped (give --mlserver PYTHON)")
        return
    with ExitStack() as stack:
        port = free_port()
        stack.enter_context(running(serving(folder, port), port, "/health/ready"))
        peers: dict[str, int] = {}
        for name, workers in (("MLServer", 1), ("MLServer, no workers", 0)):
            peers[name] = free_port()
            work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            command = mlserver(python, work, peers[name], workers)
            stack.enter_context(running(command, peers[name], "/v2/models/m/ready"))
        shown: list[tuple[str | float | None, ...]] = []
        for rows, count in COUNTS.items():
            for connections in CONNECTIONS:
                servers = {"audiosim": (port, ours(rows))} | {
                    name: (peer, theirs(rows)) for name, peer in peers.items()
                }
                shown += _rows_of_rates(rows, connections, rates(servers, count, connections))
        title = f"requests, probabilities of {LEVELS} levels from {len(FEATURES)} features, median of {ROUNDS} rounds"
        columns = ["", "a second", "p50 ms", "p99 ms", "share of the client", "times as many by us", "at least"]
        figures.table(title, columns, shown)


def _rows_of_rates(
    rows: int, connections: int, found: Mapping[str, list[Load]]
) -> Iterator[tuple[str | float | None, ...]]:
    own = statistics.median(load.per_second for load in found["audiosim"])
    for name, loads in found.items():
        rate = statistics.median(load.per_second for load in loads)
        whole = Load(rate, [one for load in loads for one in load.times_ms], loads[0].client_share)
        beside = (None, None) if name == "audiosim" else (own / rate, LIMITS[rows])
        what = f"{rows:,} rows, {connections} connections, {name}"
        yield what, rate, whole.quantile(0.5), whole.quantile(0.99), whole.client_share, *beside


def by_identifier(collection: Collection, port: int, figures: Figures) -> None:
    """Measure five thousand pairs of the pool, with one client."""
    asked = pairs(collection, 5000)
    closed_loop(port, asked, 20, 1)
    load = closed_loop(port, asked, 400, 1)
    figures.add("5,000 pairs by identifier, one client, p50", load.quantile(0.5), "ms", 5)
    figures.add("5,000 pairs by identifier, one client, p99", load.quantile(0.99), "ms", 25)


def pairs(collection: Collection, count: int) -> bytes:
    """A request about pairs of the pool, repeated if it has fewer."""
    known = build_pool(collection).pairs
    chosen = [known[place % len(known)] for place in range(count)]
    body = {"query": [query for query, _ in chosen], "document": [document for _, document in chosen]}
    return request(f"/v1/collections/{collection.identifier}/predictions", json.dumps(body).encode())


def health_under(name: str, port: int, work: Callable[[], object], figures: Figures) -> None:
    """Time until health answers while a separate process does other work."""
    other = multiprocessing.get_context("fork").Process(target=work)
    times: list[float] = []
    other.start()
    with connected(port) as (one,):
        while other.is_alive():
            times.append(ask(one, GET_LIVE))
            time.sleep(0.002)
    other.join()
    load = Load(0, times, 0)
    most = f"p50 {load.quantile(0.5):.1f}, most {max(times):.1f} of {len(times)}"
    figures.add(f"health while {name}, p99", load.quantile(0.99), "ms", 50, most)


def most_rows(port: int) -> int:
    """Largest number of rows in a request, from the service's OpenAPI document."""
    with connected(port) as (one,):
        one.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        document = json.loads(receive(one)[1])
    return int(document["components"]["schemas"]["PredictionsIn"]["properties"]["query"]["maxItems"])


def refused(port: int, asked: bytes, count: int) -> None:
    """Send a body that is too large several times, each on a new connection."""
    for _ in range(count):
        with connected(port) as (one,):
            one.sendall(asked)
            assert receive(one)[0] in {413, 422}


def under_load(collection: Collection, port: int, figures: Figures) -> None:
    """Health while the largest requests are answered, and while too large ones are refused."""
    rows = most_rows(port)
    health_under("nothing else is asked", port, lambda: time.sleep(1), figures)
    most = pairs(collection, rows)
    health_under(f"{rows:,} pairs are predicted, 4 clients", port, lambda: closed_loop(port, most, 60, 4), figures)
    table = ours(rows)
    health_under(f"{rows:,} rows are predicted, 4 clients", port, lambda: closed_loop(port, table, 16, 4), figures)
    names = b'{"query": [' + b'"q0000000",' * 2_000_000 + b'"q"], "document": []}'
    path = f"/v1/collections/{collection.identifier}/predictions"
    health_under("2 million rows are refused", port, lambda: refused(port, request(path, names), 20), figures)
    short = b'{"features": {"fSYS": [' + b"1," * 2_000_000 + b"1]}}"
    path = "/v1/models/mout-fine/predictions"
    health_under("2 million short rows are refused", port, lambda: refused(port, request(path, short), 20), figures)


def scrape(port: int, figures: Figures) -> None:
    """Time to scrape the metrics."""
    with connected(port) as (one,):
        times = [ask(one, b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") for _ in range(50)]
    figures.add("/metrics, p50", statistics.median(times), "ms", 10)


def post(connection: socket.socket, path: str, body: object, **headers: str) -> tuple[int, bytes]:
    """Send one request."""
    connection.sendall(request(path, json.dumps(body).encode(), **headers))
    return receive(connection)


def assess(name: str, address: tuple[int, str], times: list[float], errors: list[str]) -> None:
    """One assessor: asks for a pair and judges it, at an even pace."""
    port, path = address
    pause = 60 * ASSESSORS / PER_MINUTE
    with connected(port) as (one,):
        for number in range(JUDGMENTS):
            due = time.perf_counter() + pause
            status, body = post(one, f"{path}/next", {"assessor": name, "count": 1})
            pair = json.loads(body)["pairs"][0] if status == 200 else {"query": "", "document": ""}
            judged = {"query": pair["query"], "document": pair["document"], "assessor": name, "fine": 50}
            start = time.perf_counter()
            status, body = post(one, f"{path}/judgments", judged, Idempotency_Key=f"{name}-{number}")
            times.append((time.perf_counter() - start) * 1000)
            if status != 201:
                errors.append(f"{status} {body[:200]!r}")
            time.sleep(max(0.0, due - time.perf_counter()))


def judging(collection: Collection, port: int, figures: Figures) -> None:
    """Many assessors judge while predictions run."""
    path = f"/v1/collections/{collection.identifier}"
    times: list[float] = []
    errors: list[str] = []
    threads = [
        threading.Thread(target=assess, args=(f"assessor {number}", (port, path), times, errors))
        for number in range(ASSESSORS)
    ]
    asked, stop = pairs(collection, 1000), threading.Event()

    def predict() -> None:
        while not stop.is_set():
            closed_loop(port, asked, 20, 1)

    background = threading.Thread(target=predict)
    start = time.perf_counter()
    for thread in (background, *threads):
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    rate = 60 * len(times) / (time.perf_counter() - start)
    stop.set()
    background.join()
    load = Load(rate, times, 0)
    of = f"{len(times)} judgments of {ASSESSORS} assessors while predictions run, "
    figures.add(f"{of}errors", len(errors), "", 0)
    figures.add(f"{of}p99", load.quantile(0.99), "ms", 150, f"p50 {load.quantile(0.5):.1f}; {rate:.0f} a minute")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--mlserver", type=Path)
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"skipped: there is no {options.folder}")
        return
    with Figures("service") as figures:
        measure(options, figures)


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Add all figures."""
    collection = Collection.load(options.folder)
    port = free_port()
    with running(serving(options.folder, port), port, "/health/ready") as seconds:
        figures.add("start: listens after", seconds["listens"], "s")
        figures.add("start: ready after", seconds["ready"], "s", 3)
        with connected(port) as (one,):
            figures.add("first prediction", ask(one, pairs(collection, 10)))
        by_identifier(collection, port, figures)
        under_load(collection, port, figures)
        scrape(port, figures)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = ["env", "AUDIOSIM_JUDGMENTS=none", *serving(options.folder, port)]
        command += ["--db", f"sqlite:///{folder}/campaign.db"]
        with running(command, port, "/health/ready"):
            judging(collection, port, figures)
    compare(options.folder, options.mlserver, figures)


if __name__ == "__main__":
    main()
