"""Files of judgments are imported during judging: at once, completely, across restarts, and without delaying anyone."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import httpx
import numpy as np
import pytest

from audiosim.campaign import Campaign, DatabaseStore
from audiosim.campaign.engine import open_engine
from audiosim.campaign.tables import IMPORTS
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Run
from audiosim.errors import BusyError, InputError
from audiosim.service.collections.imports import SILENT_S, Delivery, ImportStore

COARSE = "/v1/collections/coarse"
LARGE = "/v1/collections/large"
IMPORT = "judgments/import"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A folder with a collection of 6,000 pairs."""
    rng = np.random.default_rng(5)
    names = [f"d{i:03}" for i in range(200)]
    rankings = [{f"q{q}": tuple(map(str, rng.permutation(names)[:100])) for q in range(40)} for _ in range(3)]
    folder = tmp_path_factory.mktemp("large") / "large"
    Collection("large", "large", FINE, 100, tuple(Run(f"S{i}", one) for i, one in enumerate(rankings))).save(folder)
    return folder


def lines_of(folder, count):
    pairs = build_pool(Collection.load(folder)).pairs[:count]
    return "query,document,fine,assessor\n" + "".join(f"{q},{d},{i % 101},a{i % 7}\n" for i, (q, d) in enumerate(pairs))


def log_of(http, path):
    return [json.loads(line) for line in http.get(f"{path}/judgments?format=log").text.splitlines()]


@pytest.mark.slow
def test_a_long_file_is_taken_at_once_and_told_how_far_it_is(commanded, large, folders, tmp_path, wait_until):
    text = lines_of(large, 5000)
    options = ("--db", f"sqlite:///{tmp_path / 'campaign.db'}", "--model", "uniform")
    with commanded([large, folders[1]], tmp_path / "log", *options) as server, server.client() as http:
        taken = http.post(f"{LARGE}/{IMPORT}", content=text)
        assert taken.status_code == 202
        assert taken.json()["status"] in ("waiting", "running")
        assert taken.headers["location"] == f"{LARGE}/imports/{taken.json()['number']}"
        seen, slow, stop, begun = [], [], threading.Event(), time.monotonic()

        def read(path):
            with server.client() as own:
                while not stop.wait(0.05):  # more requests would only take the processor from the import
                    start = time.monotonic()
                    assert own.get(path).status_code == 200
                    slow.append((time.monotonic() - start, path))

        def judge():  # in the collection of the import, and in another one of the same database
            with server.client() as own:
                for path, column in ((LARGE, "fine"), (COARSE, "broad")):
                    (pair,) = own.post(f"{path}/next", json={"assessor": "ann"}).json()["pairs"]
                    said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", column: 1}
                    assert own.post(f"{path}/judgments", json=said).status_code == 201

        with ThreadPoolExecutor(4) as threads:
            paths = (f"{LARGE}/ranking", f"{LARGE}/campaign", f"{COARSE}/ranking")
            jobs = [threads.submit(judge), *(threads.submit(read, path) for path in paths)]

            def ended():
                seen.append(http.get(taken.headers["location"]).json())
                return seen[-1]["status"] == "done"

            try:
                wait_until(ended)
                took_s = time.monotonic() - begun
            finally:
                stop.set()
        for job in jobs:
            job.result()
        assert seen[-1]["written"] == seen[-1]["lines"] == 5000
        assert [one["written"] for one in seen] == sorted(one["written"] for one in seen)
        assert len({one["written"] for one in seen}) > 2  # progress was reported in between
        assert max(slow)[0] < max(5, took_s / 2)  # for a busy machine; reading used to wait for the whole file
        (listed,) = http.get(f"{LARGE}/imports").json()
        assert {**listed, "state": seen[-1]["state"]} == seen[-1]
        wait_until(lambda: http.get(f"{LARGE}/ranking").json()["judged"] >= 5000)  # counted a little later
        events = [row for row in log_of(http, LARGE) if row["kind"] == "judgment" and row["assessor"] != "ann"]
        assert [(row["query"], row["document"], row["fine"], row["assessor"]) for row in events] == [
            (q, d, float(grade), name) for q, d, grade, name in (line.split(",") for line in text.splitlines()[1:])
        ]


@pytest.mark.slow
def test_a_file_goes_on_where_the_server_was_killed_and_nothing_is_doubled(commanded, large, tmp_path, port):
    text = lines_of(large, 3000)
    options = ("--port", port, "--db", f"sqlite:///{tmp_path / 'campaign.db'}", "--model", "uniform")
    with ExitStack() as stack, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=180) as http:
        server = stack.enter_context(commanded([large], tmp_path / "log 0", *options))
        number = http.post(f"{LARGE}/{IMPORT}", content=text, headers={"Idempotency-Key": "mine"}).json()["number"]
        for kill in range(2):  # of the process that began, and of the one that went on
            server.kill()
            server = stack.enter_context(commanded([large], tmp_path / f"log {kill + 1}", *options))
            now = http.get(f"{LARGE}/imports/{number}").json()
            assert now["status"] != "failed"  # after a slow start it may already be done
        give_up = time.monotonic() + SILENT_S + 180
        while now["status"] != "done":
            assert time.monotonic() < give_up
            time.sleep(0.2)
            now = http.get(f"{LARGE}/imports/{number}").json()
        again = http.post(f"{LARGE}/{IMPORT}", content=text, headers={"Idempotency-Key": "mine"})
        assert (again.status_code, again.json()["number"]) == (200, number)
        seen = [
            (row["query"], row["document"], row["fine"]) for row in log_of(http, LARGE) if row["kind"] == "judgment"
        ]
        assert seen == [(q, d, float(g)) for q, d, g, _ in (line.split(",") for line in text.splitlines()[1:])]


@pytest.mark.slow
def test_a_file_waits_while_the_campaign_is_paused_and_others_hold_its_pairs_in_vain(
    commanded, folders, coarse, tmp_path, wait_until
):
    pairs = build_pool(coarse).pairs[:20]
    with commanded(folders[1:], tmp_path / "log") as server, server.client() as http:
        for i in range(3):
            http.post(f"{COARSE}/next", json={"assessor": f"a{i}", "count": 10})
        http.post(f"{COARSE}/pause")
        taken = http.post(f"{COARSE}/{IMPORT}", content="".join(f"{q} 0 {d} 1\n" for q, d in pairs))
        assert taken.status_code == 202
        wait_until(lambda: http.get(taken.headers["location"]).json()["problem"].startswith("the campaign is paused"))
        http.post(f"{COARSE}/resume")
        wait_until(lambda: http.get(taken.headers["location"]).json()["status"] == "done")
        wait_until(lambda: http.get(f"{COARSE}/campaign").json()["judged"] == 20)


def test_of_a_file_with_one_wrong_line_nothing_is_written(commanded, folders, coarse, tmp_path, imported):
    pairs = build_pool(coarse).pairs
    lines = [f"{q} 0 {d} 1\n" for q, d in pairs[1:]]
    with commanded(folders[1:], tmp_path / "log") as server, server.client() as http:
        for wrong, message in (
            (
                f"{pairs[0].query} 0 nobody 1\n{pairs[0].query} 0 other 1\n",
                f"line {len(lines) + 1}: no system retrieved document nobody for query {pairs[0].query} in its top 4; "
                f"2 of {len(lines) + 2} lines cannot be imported for this reason: leave them out, or serve a folder",
            ),
            (f"{pairs[0].query} 0 nobody 1\n", f"line {len(lines) + 1}: no system retrieved document nobody for query"),
            (
                f"{pairs[0].query} 0 {pairs[0].document} 7\n",
                f"line {len(lines) + 1}: grade 7 is not on the broad scale",
            ),
        ):
            assert imported(http, f"{COARSE}/{IMPORT}", "".join([*lines, wrong]))["problem"].startswith(message)
            assert log_of(http, COARSE) == []
        failed = http.get(f"{COARSE}/imports").json()
        assert [(one["status"], one["written"]) for one in failed] == [("failed", 0)] * 3
        assert http.get(f"{COARSE}/imports/99").status_code == 422


@pytest.mark.slow
def test_the_command_sends_a_file_and_says_how_it_ended(commanded, folders, coarse, tmp_path, run):
    pairs = build_pool(coarse).pairs[:3]
    (tmp_path / "right.qrels").write_text("".join(f"{q} 0 {d} 2\n" for q, d in pairs), encoding="utf-8")
    (tmp_path / "wrong.qrels").write_text(f"{pairs[0].query} 0 nobody 2\n", encoding="utf-8")
    with commanded(folders[1:], tmp_path / "log") as server, server.client() as http:
        assert run("import", server.url + COARSE, tmp_path / "right.qrels") == (
            0,
            "coarse has the file's 3 judgments\n",
            "",
        )
        assert [row["document"] for row in log_of(http, COARSE)] == [pair.document for pair in pairs]
        code, out, err = run("import", server.url + COARSE, tmp_path / "wrong.qrels")
        assert (code, out) == (1, "")
        assert err.startswith(f"audiosim: {server.url} refuses: line 1: no system retrieved document nobody for query")
        code, _, err = run("import", server.url, tmp_path / "right.qrels")
        expected = f"{server.url}: expected the address of a collection, such as {server.url}/v1/collections/NAME"
        assert (code, err) == (1, f"audiosim: {expected}\n")


@pytest.fixture
def imports(database):
    store = ImportStore(database)
    yield store
    store.close()


def test_a_file_is_of_one_process_until_that_falls_silent(imports, database):
    sent = Delivery.of("mine", "ann", "one key", b"a file")
    file = imports.add(sent, b"a file")
    assert imports.add(sent, b"a file") == file
    assert imports.take("other") is None
    other = ImportStore(database)
    taken, body = imports.take("mine")
    assert (taken.number, taken.status, bytes(body)) == (file.number, "running", b"a file")
    assert other.take("mine") is None
    engine = open_engine(database, 10)
    with engine.begin() as connection:  # as if the process at work had been silent for that long
        connection.execute(IMPORTS.update().values(seen=IMPORTS.c.seen - SILENT_S - 1))
    engine.dispose()
    assert other.take("mine")[0].number == file.number
    other.note(file.number, lines=3, written=2)
    assert (imports.get("mine", file.number).written, imports.get("mine", file.number).ended) == (2, False)
    other.end(file.number, "done")
    assert imports.wait(file, 1).ended
    assert other.take("mine") is None
    with pytest.raises(InputError, match=f"^there is no import {file.number} of other$"):
        other.get("other", file.number)
    other.close()


def test_another_file_by_a_used_key_is_refused_and_keys_are_their_senders_own(imports):
    first = imports.add(Delivery.of("mine", "ann", "one key", b"a file"), b"a file")
    other = Delivery.of("mine", "ann", "one key", b"another")
    with pytest.raises(InputError, match="^the Idempotency-Key 'one key' was used for other content; nothing of this"):
        imports.add(other, b"another")
    for sent in (replace(other, sender="bob"), replace(other, collection="theirs"), replace(other, key="two")):
        assert imports.add(sent, b"another").number > first.number
    assert [file.by for file in imports.recent("mine")] == ["ann", "bob", "ann"]


def test_too_many_files_that_wait_are_refused(tmp_path):
    imports = ImportStore(None)
    sent = Delivery.of("mine", "ann", "", b"a file")
    for _ in range(20):
        imports.add(sent, b"a file")
    with pytest.raises(BusyError, match="^20 files for mine are waiting already; send it again later$"):
        imports.add(sent, b"a file")
    imports.close()


@pytest.mark.slow
def test_what_was_imported_counts_when_the_log_is_opened_again(commanded, folders, coarse, tmp_path):
    url, pairs = f"sqlite:///{tmp_path / 'campaign.db'}", build_pool(coarse).pairs
    with commanded(folders[1:], tmp_path / "log", "--db", url) as server, server.client() as http:
        done = http.post(f"{COARSE}/{IMPORT}", content="".join(f"{q} 0 {d} 2\n" for q, d in pairs))
        assert done.status_code in (200, 202)
        while http.get(f"{COARSE}/imports").json()[0]["status"] != "done":
            time.sleep(0.05)
    store = DatabaseStore(url, "coarse")
    assert Campaign(coarse, "uniform", store=store).progress.judged == len(pairs)
    store.close()
