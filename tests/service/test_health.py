"""Starting, readiness and stopping."""

import asyncio
import re
import socket
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from audiosim.errors import InputError
from audiosim.ordinal.model import load_model, save_model
from audiosim.service.app import create_app
from audiosim.service.startup import LOADING, Starting


class Slow:
    """Makes an application when a test lets it."""

    def __init__(self, make):
        self.go, self.made, self.failed = threading.Event(), threading.Event(), []
        self._make = make

    def __call__(self):
        self.go.wait(60)
        return self._make()

    def starting(self):
        return Starting(self, lambda _: self.made.set(), self.failed.append)


@pytest.fixture
def serve():
    """A maker of servers in threads of this process; returns the port."""
    running = []

    def start(app):
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_config=None, access_log=False, ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        running.append((server, thread))
        return httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=180)

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.mark.slow
def test_a_service_that_loads_lives_but_is_not_ready(serve, small):
    slow = Slow(lambda: create_app([small]))
    with serve(slow.starting()) as http:
        assert http.get("/health/live").json() == {"status": "alive"}
        not_ready = http.get("/health/ready")
        assert not_ready.status_code == 503
        assert not_ready.json() == {"status": "starting", "reasons": [LOADING]}
        refused = http.get("/v1/collections", headers={"X-Request-ID": "early"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["detail"] == f"the service is starting: {LOADING}"
        page = http.get("/organise/small", headers={"Accept": "text/html,*/*;q=0.8"})
        assert page.status_code == 503
        assert LOADING in page.text.lower()
        assert '<meta http-equiv="refresh" content="2">' in page.text  # reloads by itself
        assert refused.json()["request_id"] == refused.headers["x-request-id"] == "early"
        slow.go.set()
        assert slow.made.wait(60)
        assert http.get("/health/ready").json() == {"status": "ready"}
        assert http.get("/v1/collections/small").status_code == 200


def test_an_application_that_starts_late_has_its_own_beginning_and_end(serve):
    heard = []

    async def life(app):
        heard.append("begins")
        yield
        heard.append("ends")

    slow = Slow(lambda: FastAPI(lifespan=asynccontextmanager(life)))
    slow.go.set()
    with serve(slow.starting()):
        assert slow.made.wait(60)
        assert heard == ["begins"]


def test_what_stops_a_service_from_being_made_is_told():
    problem = InputError("no such collection")

    def fail():
        raise problem

    slow = Slow(fail)
    slow.go.set()

    async def live():
        said = []

        async def receive():
            await asyncio.sleep(0)
            return {"type": "lifespan"}

        async def send(message):
            said.append(message["type"])

        await slow.starting()({"type": "lifespan"}, receive, send)
        return said

    assert asyncio.run(live()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert slow.failed == [problem]


FAILS = """
begin()
from audiosim.errors import InputError
from audiosim.ordinal.model import load_model, save_model
from audiosim.service.app import run_server

def make():
    raise InputError("nothing to serve")

try:
    run_server(make, port=0)
except InputError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_server_that_cannot_load_what_it_serves_ends_with_the_error(together):
    ((code, printed),) = together(FAILS, {})
    assert (code, printed.splitlines()[-1]) == (0, "nothing to serve")
    assert "Traceback" not in printed


def test_a_service_that_is_loaded_is_alive_and_ready(http):
    assert http.get("/health/live").json() == {"status": "alive"}
    assert http.get("/health/ready").json() == {"status": "ready"}
    for path in ("/health/live", "/health/ready"):  # as monitors ask
        asked = http.head(path)
        assert (asked.status_code, asked.content) == (200, b"")
    assert http.post("/health/live").status_code == 405


@pytest.fixture
def trained(serve, small, tmp_path):
    """A served collection whose model is a file that the test can write."""
    path = tmp_path / "trained.json"
    save_model(replace(load_model("mout-fine"), name="trained"), path)
    with serve(create_app([small], str(path))) as http:
        yield http, path


RELOAD = "/v1/collections/small/reload"


@pytest.mark.slow
def test_a_model_file_that_changed_is_served_after_a_reload(trained):
    http, path = trained
    before = http.get("/v1/collections/small").json()["model"]
    other = replace(load_model("mjud-fine"), name="trained")
    save_model(other, path)
    assert http.get("/v1/collections/small").json()["model"] == before
    answer = http.post(RELOAD)
    assert answer.status_code == 200
    assert answer.json()["model"] == {"name": "trained", "version": other.version}
    assert http.get("/v1/collections/small").json()["model"]["version"] == other.version
    assert http.get("/v1/models/trained").json()["version"] == other.version
    pair = {"query": ["q0"], "document": ["d00"]}
    assert http.post("/v1/collections/small/predictions", json=pair).json()["model"]["version"] == other.version


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"name": }', r"trained\.json:2: not JSON"),
        ("{}", r"trained\.json:1: expected a model file of format"),
    ],
)
def test_a_model_file_that_is_wrong_leaves_the_old_one_in_place(trained, text, message):
    http, path = trained
    before = http.get("/v1/collections/small").json()["model"]
    path.write_text(text, encoding="utf-8")
    answer = http.post(RELOAD)
    assert answer.status_code == 422
    assert re.search(message, answer.json()["detail"])
    assert http.get("/v1/collections/small").json()["model"] == before
    assert http.get("/v1/models/trained").json()["version"] == before["version"]


@pytest.mark.slow
def test_what_was_judged_is_still_judged_after_a_reload(trained, small):
    http, _ = trained
    judged = {"query": (pair := small.judgments[0].pair)[0], "document": pair[1], "assessor": "ann", "fine": 42}
    assert (
        http.post("/v1/collections/small/judgments", json=judged, headers={"Idempotency-Key": "a"}).status_code == 201
    )
    before = http.get("/v1/collections/small").json()["judgments"]
    assert before == len(small.judgments) + 1
    assert http.post(RELOAD).json()["judgments"] == before


@pytest.mark.slow
def test_reloading_a_collection_that_is_not_served_is_not_found(trained):
    assert trained[0].post("/v1/collections/big/reload").status_code == 404
