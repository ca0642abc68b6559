"""Everything acknowledged is kept: through kills, with several servers, on a full disk and on a read-only one."""

import json
import os
import random
import resource
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

import httpx
import pytest
import sqlalchemy as sql

from audiosim.collection.pool import build_pool

pytestmark = pytest.mark.slow

WRITERS = 8
KILLS = int(os.environ.get("AUDIOSIM_KILLS", "6"))  # kills of one server, and half as many of two
COARSE = "/v1/collections/coarse"


def log_of(server):
    """The whole log as exported by the service, line by line."""
    with server.client() as client:
        text = client.get(f"{COARSE}/judgments?format=log").text
    return [json.loads(line) for line in text.splitlines()]


@dataclass
class Writer:
    """Judges endlessly, each judgment under its own key until acknowledged; remembers acknowledged ones."""

    name: str
    pairs: list
    port: int
    rng: random.Random
    acknowledged: dict = field(default_factory=dict)
    troubles: list = field(default_factory=list)

    def write(self, stop):
        count = 0
        with httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=10) as client:
            while not stop.is_set():
                count += 1
                pair = self.rng.choice(self.pairs)
                said = {"query": pair.query, "document": pair.document, "broad": count % 3, "assessor": self.name}
                self.send(client, f"{self.name}-{count}", said, stop)

    def send(self, client, key, said, stop):
        while not stop.is_set():
            try:
                answer = client.post(f"{COARSE}/judgments", json=said, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if answer.status_code in (200, 201):
                self.acknowledged[key] = answer.json()["number"]
                return
            if answer.status_code != 503:  # starting
                self.troubles.append(answer.text)
                return
            time.sleep(0.02)


@contextmanager
def writing(writers):
    stop = threading.Event()
    with ThreadPoolExecutor(len(writers)) as threads:
        jobs = [threads.submit(writer.write, stop) for writer in writers]
        try:
            yield
        finally:
            stop.set()
        for job in jobs:
            job.result()


@pytest.fixture
def more(wait_until):
    """Waits until some writers have some more acknowledgements."""

    def wait_for_more(writers, count):
        before = sum(len(writer.acknowledged) for writer in writers)
        wait_until(lambda: sum(len(writer.acknowledged) for writer in writers) >= before + count)

    return wait_for_more


@pytest.mark.slow
def check_kept(writers, log):
    """Check that each acknowledged judgment is in the log once, under its reported number."""
    assert not [trouble for writer in writers for trouble in writer.troubles]
    kept = Counter(row["key"] for row in log)
    numbers = {row["key"]: row["number"] for row in log}
    acknowledged = {key: number for writer in writers for key, number in writer.acknowledged.items()}
    assert all(kept[key] == 1 and numbers[key] == number for key, number in acknowledged.items())
    # Unacknowledged judgments may be there too: at most the last of each writer.
    assert len(set(kept) - set(acknowledged)) <= len(writers)
    assert [row["number"] for row in log] == list(range(1, len(log) + 1))
    return len(acknowledged)


def test_no_acknowledged_judgment_is_lost_or_doubled_when_the_server_is_killed(
    commanded, folders, coarse, tmp_path, database, port, more, request
):
    kills = KILLS if database.startswith("sqlite") else 2
    rng, pairs = random.Random(7), build_pool(coarse).pairs
    writers = [Writer(f"w{i}", pairs[i::WRITERS], port, random.Random(7 + i)) for i in range(WRITERS)]
    with ExitStack() as stack:
        options = ("--port", port, "--db", database)
        server = stack.enter_context(commanded(folders[1:], tmp_path / "log 0", *options))
        with writing(writers):
            for kill in range(kills):
                more(writers, rng.randrange(11, 40))
                time.sleep(rng.uniform(0, 0.05))  # at any moment of a judgment's life
                server.kill()
                server = stack.enter_context(commanded(folders[1:], tmp_path / f"log {kill + 1}", *options))
            more(writers, 10)
        log = log_of(server)
    kept = check_kept(writers, log)
    assert kept > 10 * kills
    request.node.user_properties += [("kills", kills), ("judgments", kept)]


def test_nothing_is_lost_or_doubled_while_two_servers_on_one_database_are_killed_in_turn(
    commanded, folders, coarse, tmp_path, database, ports, more, request
):
    rng, pairs = random.Random(11), build_pool(coarse).pairs
    with ExitStack() as stack:
        writers = [Writer(f"w{i}", pairs[i::WRITERS], ports[i % 2], random.Random(i)) for i in range(WRITERS)]

        def start(place, number):
            options = ("--port", ports[place], "--db", database, "--model", "uniform")
            return stack.enter_context(commanded(folders[1:], tmp_path / f"log {place} {number}", *options))

        servers = [start(0, 0), start(1, 0)]
        with writing(writers):
            for kill in range(KILLS // 2):
                more(writers, rng.randrange(5, 20))
                time.sleep(rng.uniform(0, 0.05))
                place = rng.randrange(2)
                servers[place].kill()
                servers[place] = start(place, kill + 1)
            more(writers[:1], 1)
            more(writers[1:2], 1)
        logs = [log_of(server) for server in servers]
    assert logs[0] == logs[1]
    kept = check_kept(writers, logs[0])
    assert kept > 5 * (KILLS // 2)
    request.node.user_properties += [("kills", KILLS // 2), ("judgments", kept)]


def test_two_servers_on_one_database_agree_and_lease_no_pair_twice(
    commanded, folders, coarse, tmp_path, database, wait_until
):
    with ExitStack() as stack:
        servers = [
            stack.enter_context(commanded(folders[1:], tmp_path / name, "--db", database, "--model", "mjud"))
            for name in ("one", "two")
        ]

        def judge(number):
            got = []
            with servers[number % 2].client() as client:
                for _ in range(4):
                    asked = {"assessor": f"a{number}", "count": 2}
                    for pair in client.post(f"{COARSE}/next", json=asked).json()["pairs"]:
                        got.append((pair["query"], pair["document"]))
                        said = {"query": pair["query"], "document": pair["document"], "assessor": f"a{number}"}
                        done = client.post(f"{COARSE}/judgments", json={**said, "broad": number % 3})
                        assert done.status_code == 201, done.text
            return got

        with ThreadPoolExecutor(6) as threads:
            leased = [pair for pairs in threads.map(judge, range(6)) for pair in pairs]
        assert len(leased) == 6 * 4 * 2
        assert len(set(leased)) == len(leased)

        pool = build_pool(coarse)
        columns = {"query": [q for q, _ in pool.pairs], "document": [d for _, d in pool.pairs]}
        with servers[0].client() as one, servers[1].client() as two:
            # Reads may be a moment behind writes, and a learning adds a line to the log when it ends.
            for path, body in (("ranking", None), ("campaign", None), ("predictions", columns)):

                def agree(path=path, body=body):
                    lines = len(log_of(servers[0]))
                    method = "GET" if body is None else "POST"
                    said = [http.request(method, f"{COARSE}/{path}", json=body).json() for http in (one, two)]
                    return said[0] == said[1] and said[0]["state"] == lines

                wait_until(agree)
        assert log_of(servers[0]) == log_of(servers[1])


def judged(server, key, status, document, note=""):
    said = {"query": document.query, "document": document.document, "broad": 1, "assessor": "ann"} | (
        {"note": note} if note else {}
    )
    with server.client() as client:
        answer = client.post(f"{COARSE}/judgments", json=said, headers={"Idempotency-Key": key})
    assert answer.status_code == status, answer.text
    if status == 503:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["retry-after"]
    return answer.json()


def test_a_full_disk_is_answered_with_503_and_the_server_recovers_by_itself(commanded, folders, coarse, tmp_path):
    path, pairs = tmp_path / "campaign.db", build_pool(coarse).pairs
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server:
        judged(server, "first", 201, pairs[0])
        # A simulated full disk: no file of that process may exceed the present size of the write-ahead log.
        room = (tmp_path / "campaign.db-wal").stat().st_size
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (room, unlimited[1]))
        problem = judged(server, "second", 503, pairs[1], note="x" * 4000)
        assert "campaign.db: " in problem["detail"]
        with server.client() as client:
            assert client.get("/health/live").status_code == 200
        assert [row["key"] for row in log_of(server)] == ["first"]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        assert judged(server, "second", 201, pairs[1], note="x" * 4000)["number"] == 2
        assert [row["key"] for row in log_of(server)] == ["first", "second"]


def why_not_ready(server):
    with server.client() as client:
        answer = client.get("/health/ready")
    return answer.status_code, " ".join(answer.json().get("reasons", []))


def test_a_read_only_database_is_answered_with_503_and_still_read(commanded, folders, coarse, tmp_path, wait_until):
    path, pairs = tmp_path / "campaign.db", build_pool(coarse).pairs
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}", AUDIOSIM_UNASKED="count") as server:
        judged(server, "first", 201, pairs[0])
    url = f"sqlite:///file:{path}?mode=ro&uri=true"
    with commanded(folders[1:], tmp_path / "log", "--db", url) as server:
        wait_until(lambda: why_not_ready(server)[0] == 503)  # before any judgment fails
        assert "attempt to write a readonly database" in why_not_ready(server)[1]
        problem = judged(server, "second", 503, pairs[1])
        assert "attempt to write a readonly database" in problem["detail"]
        assert [row["key"] for row in log_of(server)] == ["first"]
        with server.client() as client:
            assert client.get(f"{COARSE}/ranking").json()["judged"] == 1
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server:
        assert judged(server, "second", 201, pairs[1])["number"] == 2


def test_a_database_that_becomes_read_only_while_serving_is_answered_with_503_and_still_read(
    commanded, folders, coarse, tmp_path, cluster, wait_until
):
    """As after a failover to a replica: sessions may read and not write."""
    pairs = build_pool(coarse).pairs
    engine = sql.create_engine(
        cluster.url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT", poolclass=sql.NullPool
    )

    def turn(on):
        with engine.connect() as connection:
            name = connection.execute(sql.text("SELECT current_database()")).scalar()
            connection.execute(sql.text("SET default_transaction_read_only = off"))
            connection.execute(sql.text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {on}'))
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            connection.execute(sql.text(f"{others} AND datname = current_database()"))

    with commanded(folders[1:], tmp_path / "log", "--db", cluster.url, AUDIOSIM_UNASKED="count") as server:
        judged(server, "first", 201, pairs[0])
        turn("on")
        wait_until(lambda: "it is read-only: a replica" in why_not_ready(server)[1])
        problem = judged(server, "second", 503, pairs[1])
        assert "read-only transaction" in problem["detail"]
        with server.client() as client:
            assert client.get(f"{COARSE}/ranking").json()["judged"] == 1
            assert client.get("/health/live").status_code == 200
            assert client.get(f"{COARSE}/answers", params={"assessor": "ann"}).json()["answers"]
            refused = client.post(f"{COARSE}/judgments/import", content=f"{pairs[2].query} 0 {pairs[2].document} 1\n")
            assert refused.status_code == 503
        turn("off")
        wait_until(lambda: why_not_ready(server)[0] == 200)
        assert judged(server, "second", 201, pairs[1])["number"] == 2
        assert [row["key"] for row in log_of(server)] == ["first", "second"]


def test_a_locked_database_is_answered_with_503_and_recovers(commanded, folders, coarse, tmp_path):
    path, pairs = tmp_path / "campaign.db", build_pool(coarse).pairs
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server:
        judged(server, "first", 201, pairs[0])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert judged(server, "second", 503, pairs[1])["detail"].endswith("database is locked")
            other.execute("ROLLBACK")
        assert judged(server, "second", 201, pairs[1])["number"] == 2
