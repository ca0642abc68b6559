"""The whole service, started and stopped."""

import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import APIRouter
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from audiosim.campaign import DatabaseStore, Event
from audiosim.collection.pool import build_pool
from audiosim.errors import InputError
from audiosim.ordinal.model import load_model, save_model
from audiosim.ranking import parse_stopping_rule
from audiosim.service import app as app_module
from audiosim.service.app import address, create_app, listen
from audiosim.service.collections.campaigns import Judging


@pytest.mark.slow
def test_one_model_may_be_given_for_all_collections_or_one_for_each(small, coarse):
    def names(app):
        served = app.state.service.served
        return [served.collection(name).predictor().name for name in ("small", "coarse")]

    assert names(create_app([small, coarse])) == ["joint-fine", "joint-broad"]
    assert names(create_app([small, coarse], "mout")) == ["mout-fine", "mout-broad"]
    assert names(create_app([small, coarse], {"coarse": "uniform"})) == ["joint-fine", "uniform"]


def test_a_route_that_checks_no_token_is_not_served(small, monkeypatch):
    careless = APIRouter()
    careless.get("/careless")(lambda: "anybody may read this")
    monkeypatch.setattr(app_module, "CHAPTERS", (*app_module.CHAPTERS, careless))
    with pytest.raises(RuntimeError, match=r"^the route .*/careless.* checks no token: add it to a router"):
        create_app([small], "uniform")


def test_a_model_file_is_served_under_its_name(small, tmp_path):
    trained = replace(load_model("historical-fine"), name="trained")
    save_model(trained, tmp_path / "file.json")
    served = create_app([small], str(tmp_path / "file.json")).state.service.served
    assert served.model("trained") == trained
    own = served.collection("small").predictor()
    assert own.name == "trained"
    assert served.collection("small").predictor("trained") is own


@pytest.mark.slow
def test_a_pool_and_its_predictions_are_made_once(small):
    served = create_app([small]).state.service.served.collection("small")
    assert served.predictor("mout", 2) is served.predictor("mout", 2)
    assert served.predictor("joint") is served.predictor()
    assert served.predictor("mout", 2).own is served.predictor("mout", 2).own


def test_serving_a_database_counts_the_judgments_of_its_log(coarse, tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    pair = build_pool(coarse).pairs[0]
    log = DatabaseStore(url, "coarse")
    log.append_all([Event("judgment", "2013-05-01T12:00:00Z", "", pair.query, pair.document, {"broad": 2})], 0)
    log.close()
    served = create_app([coarse], judging=Judging(url)).state.service.served.collection("coarse")
    state = served.predictor().now()
    assert (state.number, state.judgments, state.belief.grades[0]) == (1, 1, 2)
    assert served.predictor("mout", 2).now().belief.grades[0] == 2


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("users(share=0.05)=0.9", "^satisfaction follows from"),
        ("error=0.02", "^error=0.02 cannot be guaranteed for nDCG@5 "),
    ],
)
def test_a_goal_that_measure_or_model_cannot_have_is_refused_before_anything_is_served(small, goal, said):
    with pytest.raises(InputError, match=said):
        create_app([small], "uniform", judging=Judging(measure="nDCG@5", stopping_rule=parse_stopping_rule(goal)))


def test_what_cannot_be_served_is_refused(small):
    with pytest.raises(InputError, match="^there is no collection to serve$"):
        create_app([])
    with pytest.raises(InputError, match="^two collections are called small; a collection is served under"):
        create_app([small, small])
    with pytest.raises(InputError, match="^a model is given for collection 'big', which is not among small$"):
        create_app([small], {"big": "mout"})
    with pytest.raises(InputError, match="^unknown model 'best', expected a .json file or one of"):
        create_app([small], "best")


def test_a_port_that_is_taken_is_said_in_one_line():
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(
            InputError, match=rf"^port {port} of 127.0.0.1 is taken by another program, expected a free one"
        ):
            listen("127.0.0.1", port)


def test_an_address_that_cannot_be_had_is_said_in_one_line():
    with pytest.raises(InputError, match="^port must be from 0 to 65535, got 65536$"):
        listen("127.0.0.1", 65536)
    # 192.0.2.0/24 is reserved for documentation (RFC 5737), so no machine has it.
    with pytest.raises(InputError, match=r"^cannot listen on port 0 of 192\.0\.2\.1: "):
        listen("192.0.2.1", 0)


def test_the_address_that_is_told_can_be_asked():
    with listen("127.0.0.1", 0) as listening:
        assert address(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_an_address_of_ipv6_is_told_in_brackets():
    try:
        listening = listen("::1", 0)
    except InputError:
        pytest.skip("this machine has no IPv6 loopback")
    with listening:
        assert address(listening) == f"http://[::1]:{listening.getsockname()[1]}"


@pytest.mark.slow
@pytest.mark.parametrize("wish", [signal.SIGTERM, signal.SIGINT])
def test_a_server_told_to_stop_takes_nothing_new_and_finishes_what_is_in_flight(another, wish, tmp_path, wait_until):
    with ThreadPoolExecutor(1) as threads, another.client() as http:
        assert http.get("/health/ready").status_code == 200
        slow = threads.submit(http.get, "/slow", params={"folder": str(tmp_path)})
        wait_until((tmp_path / "begun").exists)
        another.signal(wish)
        wait_until(another.refuses)
        (tmp_path / "go").touch()
        assert slow.result().json() == "done"
    assert another.wait() == 0
    log = Path(another.log).read_text(encoding="utf-8")
    assert "serving small, coarse at http://127.0.0.1:" in log
    assert log.rstrip().endswith("stopped")


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_short_answers_are_not_held_back(loop):
    # Without this option an answer, sent as head and body, waits 40 ms for an acknowledgement.
    delays = []

    class Watched(HttpToolsProtocol):
        def connection_made(self, transport):
            super().connection_made(transport)
            accepted = transport.get_extra_info("socket")
            delays.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(answer, http=Watched, lifespan="off", log_config=None, access_log=False, loop=loop)
        server, url = uvicorn.Server(config), address(listening)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            assert httpx.get(url, timeout=180).status_code == 204
        finally:
            server.should_exit = True
            thread.join()
    assert delays == [1]
