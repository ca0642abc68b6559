"""Waiting times of assessors while many judge at once and the model learns, and the server's costs.

    python benchmarks/judging_load.py COLLECTION [--assessors 50] [--organisers 1] [--seconds 300] [--pause 3]
                                      [--log campaign.db] [--arrivals 10] [--postgres] [--tokens] [--limit 150]

The server is started by the command, with nothing judged. Each assessor asks for a pair, pauses (for a random time up
to twice the given one), judges it, and continues; meanwhile /health/live is requested ten times a second. Each
organiser requests everything that their page does every few seconds. `--log` names a database to start
from, of which a copy is used; with `--arrivals`, a run or the metadata of a listed document is added every so many
seconds, to a copy of the collection. `--postgres` keeps the log in a new PostgreSQL server, which waits for the disk,
in place of SQLite. `--tokens` gives everybody a token, so that judging is blind. `--note` is kept with the figures.
Limits at the 99th percentile: for judgments and pairs as given, for health 50 ms; for memory 500 MB at any moment. The
processes that learn and forecast are counted apart, because they end after seconds.

On a busy machine the times show how busy it is. So they come with the time for which the server's threads were ready to
run and waited for a processor; the processor time of a request does not depend on it.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figures
from own_postgres import Cluster, programs

from audiosim.collection.collection import Collection
from audiosim.collection.values import retrieved_by
from audiosim.service.access.tokens import TokenStore
from audiosim.stats.arrays import Array

TIMES: dict[str, list[float]] = defaultdict(list)
TROUBLES: list[str] = []
ASKED, HEALTH_MS = ("next", "judgment"), 50
ORGANISED = (
    "campaign",
    "ranking",
    "assessors",
    "progress",
    "judges?machines=false",
    "course",
    "remaining",
    "plan",
)  # what the organiser's page requests
MEMORY_MB = 500  # limit for the server
BESIDE_MS = 1000  # limit for requests that assessors do not wait for
ARRIVING = ("run", "document")
LOOK_S = 5.0  # between two visits of an organiser


class Asking:
    """A connection to the server, as cheap as possible in Python, so that the load is not the client's."""

    def __init__(self, port: int, secret: str | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._headers = {} if secret is None else {"authorization": f"Bearer {secret}"}

    def __call__(self, what: str, method: str, path: str, body: object = None) -> Any:
        """The value of an answer; an empty one after a refusal."""
        return json.loads(self.said(what, method, path, body) or "{}")

    def said(self, what: str, method: str, path: str, body: object = None) -> bytes:
        """The body of an answer; nothing after a refusal."""
        start = time.perf_counter()
        sent = body if body is None or isinstance(body, str) else json.dumps(body)
        kind = "text/plain" if isinstance(body, str) else "application/json"
        try:
            answer = self._answer(method, path, sent, kind)
        except ConnectionError:  # closed by the server after a minute without a request
            self._connection.close()
            answer = self._answer(method, path, sent, kind)
        said = answer.read()
        TIMES[what].append(time.perf_counter() - start)
        if answer.status not in (200, 201):
            TROUBLES.append(f"{what} {answer.status} {said!r:.200}")
            return b""
        return said

    def _answer(self, method: str, path: str, sent: str | None, kind: str) -> http.client.HTTPResponse:
        self._connection.request(method, path, sent, {"content-type": kind, **self._headers})
        return self._connection.getresponse()


def judge(ask: Asking, collection: str, name: str, column: str, pause: float, stop: threading.Event) -> None:
    """Judge at random until `stop` is set."""
    rng, path = random.Random(name), f"/v1/collections/{collection}"
    stop.wait(rng.uniform(0, 2 * pause))
    while not stop.is_set():
        pairs = ask("next", "POST", f"{path}/next", {"assessor": name}).get("pairs", [])
        if not pairs:
            stop.wait(1)
        for pair in pairs:
            if stop.wait(rng.uniform(0, 2 * pause)):
                return  # not all at the same moment
            said = {"query": pair["query"], "document": pair["document"], "assessor": name}
            ask("judgment", "POST", f"{path}/judgments", said | {column: rng.choice([0, 1, 2])})


def watch(port: int, stop: threading.Event) -> None:
    """Request the service's liveness."""
    ask = Asking(port)
    while not stop.wait(0.1):
        ask("health/live", "GET", "/health/live")


def organise(ask: Asking, collection: str, stop: threading.Event) -> None:
    """Request everything on the organiser's page repeatedly."""
    while not stop.wait(LOOK_S):
        for what in ORGANISED:
            ask(what, "GET", f"/v1/collections/{collection}/{what}")


def send(ask: Asking, collection: Collection, pause: float, stop: threading.Event) -> None:
    """Send runs and metadata in turn."""
    rng, path = random.Random(1), f"/v1/collections/{collection.identifier}"
    retrieved = retrieved_by(collection.runs)
    documents = sorted(set().union(*retrieved.values()))
    count = 0
    while not stop.wait(pause):
        count += 1
        if count % 2:
            lines = (
                f"{query} Q0 {document} {rank} {9 - rank} new{count}\n"
                for query in retrieved
                for rank, document in enumerate(rng.sample(documents, 5), 1)
            )
            ask("run", "POST", f"{path}/runs", "".join(lines))
        else:
            ask("document", "POST", f"{path}/documents", {"document": documents[count], "artist": f"somebody {count}"})


def memory_mb(pid: int) -> float:
    """Resident memory of a process; 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def children_of(pid: int) -> list[int]:
    """Processes that a process has started."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that ended
            found += [int(child) for child in path.read_text(encoding="utf-8").split()]
    return found


def watch_memory(pid: int, seen: list[tuple[float, float]], stop: threading.Event) -> None:
    """Note the memory of a process, and of those that it started, every second."""
    while not stop.wait(1):
        seen.append((memory_mb(pid), sum(map(memory_mb, children_of(pid)))))


def processor_s(pid: int) -> tuple[float, float]:
    """Seconds for which the threads of a process ran, and for which they were ready and waited for a processor."""
    parts = []
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            parts.append([int(part) / 1e9 for part in path.read_text(encoding="utf-8").split()[:2]])
        except OSError:  # a thread that ended
            continue
    ran, waited = np.sum(parts, axis=0).tolist()
    return ran, waited


@contextmanager
def database(folder: Path, asked: argparse.Namespace) -> Iterator[str]:
    """The URL of the requested database."""
    if not asked.postgres:
        if asked.log:
            shutil.copy(asked.log, folder / "campaign.db")
        yield f"sqlite:///{folder}/campaign.db"
        return
    found = programs()
    if found is None:
        sys.exit("PostgreSQL is not installed: apt-get install postgresql")
    with tempfile.TemporaryDirectory(prefix="pg") as open_to_all:
        cluster = Cluster(found, Path(open_to_all))
        cluster.start(durable=True)
        try:
            yield cluster.url
        finally:
            cluster.stop()


def main() -> None:
    """Run the load and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--assessors", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--pause", type=float, default=3)
    parser.add_argument("--organisers", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--arrivals", type=float, default=0, help="seconds between two additions; 0 for none")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--tokens", action="store_true")
    parser.add_argument("--limit", type=float, default=150, help="milliseconds")
    parser.add_argument("--note", default="", help="remark about the machine, kept with the figures")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, database(folder := Path(name), asked) as url:
        log, served, secrets = folder / "log", asked.collection, dict[str, str]()
        if asked.arrivals:
            served = shutil.copytree(served, folder / served.resolve().name)
        if asked.tokens:
            tokens = TokenStore(url)
            secrets = {f"a{number}": tokens.create(f"a{number}", "assessor") for number in range(asked.assessors)}
            secrets["organiser"] = tokens.create("organiser", "organiser")
        command = [sys.executable, "-m", "audiosim", "serve", str(served), "--port", "0", "--db", url]
        with log.open("wb") as stream:
            process = subprocess.Popen(command, stderr=stream, env=os.environ | {"AUDIOSIM_JUDGMENTS": "none"})
        try:
            while not (found := re.search(r"serving (\S+) at http://\S+:(\d+);", log.read_text(encoding="utf-8"))):
                time.sleep(0.1)
            play(int(found[2]), found[1], asked, process.pid, secrets)
        finally:
            process.terminate()
            process.wait()


def play(port: int, collection: str, asked: argparse.Namespace, pid: int, secrets: dict[str, str]) -> None:
    """Judge for the requested time, and show the measurements."""

    def asking(name: str = "organiser") -> Asking:
        return Asking(port, secrets.get(name))

    path = f"/v1/collections/{collection}"
    scale, stop = asking()("", "GET", path)["scale"]["name"], threading.Event()
    column = scale if scale in ("fine", "broad") else "grade"
    memory: list[tuple[float, float]] = []
    threads = [threading.Thread(target=watch, args=(port, stop))]
    threads.append(threading.Thread(target=watch_memory, args=(pid, memory, stop)))
    threads += [threading.Thread(target=organise, args=(asking(), collection, stop)) for _ in range(asked.organisers)]
    if asked.arrivals:
        given = (asking(), Collection.load(asked.collection), asked.arrivals, stop)
        threads.append(threading.Thread(target=send, args=given))
    for number in range(asked.assessors):
        name = f"a{number}"
        threads.append(threading.Thread(target=judge, args=(asking(name), collection, name, column, asked.pause, stop)))
    ran, waited = processor_s(pid)
    for thread in threads:
        thread.start()
    time.sleep(asked.seconds)
    stop.set()
    for thread in threads:
        thread.join()
    took = [now - before for now, before in zip(processor_s(pid), (ran, waited), strict=True)]
    lines = asking().said("", "GET", f"{path}/judgments?format=log").splitlines()
    show(asked, took, sum(b'"kind": "learn"' in line for line in lines), np.array(memory))


def show(asked: argparse.Namespace, took: list[float], learned: int, memory: Array) -> None:
    """Print and keep the figures.

    took         seconds that the server ran, and waited for a processor
    learned      number of times that the model learned
    memory       (seconds, 2) memory of the server, and of the processes that it started, in MB
    """
    load = Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]
    requests = sum(map(len, TIMES.values()))
    part = " ".join(compress(("postgres", "organisers"), (asked.postgres, asked.organisers)))
    with Figures("judging_load", part) as figures:
        more = (*(ORGANISED if asked.organisers else ()), *(ARRIVING if asked.arrivals else ()))
        limits = dict.fromkeys(ASKED, asked.limit) | {"health/live": HEALTH_MS} | dict.fromkeys(more, BESIDE_MS)
        for what, limit in limits.items():
            times = 1000 * np.array(TIMES[what])
            share = np.mean(times <= limit)
            figures.add(f"{what}, median", float(np.median(times)))
            note = f"{len(times)} requests, {share:.1%} within the limit, longest {times.max():.0f} ms"
            figures.add(f"{what}, 99th percentile", float(np.quantile(times, 0.99)), limit=limit, note=note)
        figures.add("processor time of a request", 1000 * took[0] / requests, note="of all kinds, learning beside")
        figures.add(
            "ready to run and without a processor",
            1000 * took[1] / requests,
            note="; ".join(filter(None, (f"machine at load {load}", asked.note))),
        )
        figures.add("learned", float(learned), "times", note=f"{asked.assessors} assessors, {asked.seconds:.0f} s")
        server, beside = memory.T
        each = ", ".join(f"{value:.0f}" for value in server[59::60])
        figures.add("highest memory", server.max(), "MB", limit=MEMORY_MB, note=f"after each minute: {each}")
        figures.add("memory at the end", server[-1], "MB", note=f"{len(TIMES['judgment']):,} judgments")
        figures.add("highest memory of processes that learn and forecast", beside.max(), "MB", note="beside the server")
        figures.add("refused", len(TROUBLES), "requests", limit=0, note="; ".join(TROUBLES[:2]))


if __name__ == "__main__":
    main()
