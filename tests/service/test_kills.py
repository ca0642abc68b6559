"""A server is killed while requests of every kind are being sent; everything it acknowledged is kept exactly once.

`AUDIOSIM_KILLS=1000` kills it a thousand times.
"""

import json
import os
import random
import shutil
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest

from audiosim.campaign.archive import verify
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("AUDIOSIM_KILLS", "4"))
COARSE = "/v1/collections/coarse"
LINES = 5  # of a file of judgments
TURNS = ("set_aside", "take_back")
PAUSE_S = {"run": 0.5, "document": 0.2, "aside": 0.1}  # all other kinds send without a pause


class Sender:
    """Sends things of one kind endlessly, each under its own key until acknowledged; remembers the acknowledged ones.

    acknowledged  answers, by the number of the thing
    """

    def __init__(self, kind, pairs, port, seed):
        self.kind, self._pairs, self._rng = kind, pairs, random.Random(seed)
        self._url = f"http://127.0.0.1:{port}{COARSE}"
        self.acknowledged, self.troubles, self.sent = {}, [], 0

    def send_all(self, stop):
        with httpx.Client(timeout=180) as http:
            while not stop.is_set():
                self.sent += 1
                getattr(self, f"_{self.kind}")(http, self.sent, stop)
                stop.wait(PAUSE_S.get(self.kind, 0))

    def _post(self, http, number, stop, path, key="", **what):
        while not stop.is_set():
            try:
                answer = http.post(
                    f"{self._url}/{path}", headers={"Idempotency-Key": f"{self.kind}{key}-{number}"}, **what
                )
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if answer.status_code in (200, 201, 202):
                return answer.json()
            if answer.status_code != 503:
                self.troubles.append(f"{self.kind} {answer.status_code} {answer.text}")
                return None
            time.sleep(0.02)
        return None

    def _note(self, number, answer):
        if answer is not None:
            self.acknowledged[number] = answer

    def _said(self, number, assessor):
        pair = self._rng.choice(self._pairs)
        return {"query": pair.query, "document": pair.document, "broad": number % 3, "assessor": assessor}

    def _judgment(self, http, number, stop):
        self._note(number, self._post(http, number, stop, "judgments", json=self._said(number, "ann")))

    def _undo(self, http, number, stop):
        given = self._post(http, number, stop, "judgments", "-given", json=self._said(number, "ben"))
        if given is not None:
            asked = {"assessor": "ben", "number": given["number"]}
            self._note(number, self._post(http, number, stop, "undo", json=asked))

    def _import(self, http, number, stop):
        rows = [f"{q},{d},{number % 3},i{number}\n" for q, d in self._rng.sample(self._pairs, LINES)]
        text = "query,document,broad,assessor\n" + "".join(rows)
        self._note(number, self._post(http, number, stop, "judgments/import", content=text))

    def _run(self, http, number, stop):
        queries = sorted({pair.query for pair in self._pairs})
        names = [f"d{place:02}" for place in range(20)]
        text = "".join(
            f"{query} Q0 {name} {rank} {9 - rank} R{number}\n"
            for query in queries
            for rank, name in enumerate(self._rng.sample(names, 4))
        )
        self._note(number, self._post(http, number, stop, "runs", content=text))

    def _document(self, http, number, stop):
        said = {"document": f"came {number}", "artist": f"somebody {number}"}
        self._note(number, self._post(http, number, stop, "documents", json=said))

    def _aside(self, http, number, stop):
        """Cid judges; then Cid's answers are set aside at even numbers and taken back at odd ones."""
        path = "judgments" if number == 1 else TURNS[number % 2].replace("_", "-")
        said = self._said(number, "cid") if number == 1 else {"judge": "cid"}
        self._note(number, self._post(http, number, stop, path, json=said))


def lost_or_doubled(senders, log, collection):
    """Acknowledged things that are not stored exactly once, by kind."""
    keys, rows = Counter(row["key"] for row in log if row["key"]), {row["number"]: row for row in log}
    lines = Counter(row["assessor"] for row in log if row["kind"] == "judgment")
    systems = Counter(run.system for run in collection.runs)
    found = {
        "judgment": lambda number, told: keys[f"judgment-{number}"] == 1 and rows[told["number"]]["kind"] == "judgment",
        "undo": lambda number, told: keys[f"undo-{number}"] == 1 and rows[told["number"]]["kind"] == "undo",
        "aside": lambda number, told: (
            keys[f"aside-{number}"] == 1
            and rows[told["number"]]["kind"] == ("judgment" if number == 1 else TURNS[number % 2])
        ),
        "import": lambda number, _: lines[f"i{number}"] == LINES,
        "run": lambda number, _: systems[f"R{number}"] == 1,
        "document": lambda number, _: collection.documents[f"came {number}"].artist == f"somebody {number}",
    }
    given = [(one.kind, number, told) for one in senders for number, told in one.acknowledged.items()]
    return [(kind, number) for kind, number, told in given if not found[kind](number, told)]


def test_nothing_acknowledged_of_any_kind_is_lost_or_doubled_when_the_server_is_killed(
    commanded, folders, coarse, tmp_path, port, wait_until, request
):
    folder, database = tmp_path / "coarse", f"sqlite:///{tmp_path / 'campaign.db'}"
    shutil.copytree(folders[1], folder)
    rng, pairs, stop = random.Random(KILLS), build_pool(coarse).pairs, threading.Event()
    kinds = ("judgment", "undo", "aside", "import", "run", "document")
    own = {
        "judgment": pairs[::2],
        "aside": pairs[::2],
        "undo": pairs[1::2],
    }  # an assessor who takes an answer back gets the pair again
    senders = [Sender(kind, own.get(kind, pairs), port, seed) for seed, kind in enumerate(kinds)]
    options = ("--port", port, "--db", database, "--model", "uniform")

    def acknowledged():
        return [len(one.acknowledged) for one in senders]

    with ThreadPoolExecutor(len(senders)) as threads, ExitStack() as stack:
        server = stack.enter_context(commanded([folder], tmp_path / "log", *options))
        jobs = [threads.submit(one.send_all, stop) for one in senders]
        try:
            for kill in range(KILLS):
                before = acknowledged()
                # In every fourth run all kinds make progress first; in the others the server dies young.
                needed = all if kill % 4 == 0 else any
                wait_until(lambda b=before, n=needed: n(map(int.__lt__, b, acknowledged())))
                time.sleep(rng.uniform(0, 0.3))  # at any stage of a request
                server.kill()
                stack.close()
                server = stack.enter_context(commanded([folder], tmp_path / "log", *options))
            before = acknowledged()
            wait_until(lambda: all(map(int.__lt__, before, acknowledged())))
        finally:
            stop.set()
        for job in jobs:
            job.result()
        with server.client() as http:
            wait_until(lambda: all(one["status"] == "done" for one in http.get(f"{COARSE}/imports").json()))
            ranked = {one["system"] for one in http.get(f"{COARSE}/ranking").json()["systems"]}
            aside = http.get(f"{COARSE}/assessors").json()["aside"]
            log = []

            def settled():
                log[:] = map(json.loads, http.get(f"{COARSE}/judgments?format=log").text.splitlines())
                return verify(database)[0]["events"] == len(log)

            wait_until(settled)  # what was given up when sending stopped, after a 503, may still be written
    assert not [trouble for one in senders for trouble in one.troubles]
    collection = Collection.load(folder)
    assert lost_or_doubled(senders, log, collection) == []
    turns = [row["kind"] for row in log if row["kind"] in TURNS]
    assert turns == [TURNS[place % 2] for place in range(len(turns))]
    assert aside == ["cid"] * (len(turns) % 2)
    assert ranked == {run.system for run in collection.runs}
    counted = {f"{kind}s": count for kind, count in zip(kinds, acknowledged(), strict=True)}
    request.node.user_properties += [("kills", KILLS), *counted.items()]
