"""Requests beyond a limit are refused at once with a reason; requests within it are answered completely."""

import asyncio
import json
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request, Response

from audiosim.service.access.access import Access
from audiosim.service.http.exchange import WireRoute
from audiosim.service.http.limits import AT_ONCE, IN_TURN, Entrance, Gate, Limits, Shared
from audiosim.service.http.observation import Observed
from audiosim.service.http.problems import answer_problems

LIMITS = Limits(
    body_bytes=1000,
    held_bytes=1500,
    header_bytes=400,
    target_bytes=100,
    linger_s=0.3,
    at_work=1,
    waiting=1,
)


class Echo:
    """A minimal application: answers with the body's length, and with predictions only when a test lets it."""

    def __init__(self, limits=LIMITS):
        self.go = threading.Event()
        self.app = app = FastAPI()
        app.state.service = SimpleNamespace(
            entrance=Entrance(Access(), limits), gate=Gate(limits.at_work, limits.waiting)
        )
        answer_problems(app)
        app.add_middleware(Observed)
        app.router.route_class = WireRoute
        app.get("/")(self.answer)
        app.api_route("/a", methods=["GET", "POST"])(self.answer)
        app.get("/health/live")(self.answer)
        app.post("/predictions", dependencies=[IN_TURN])(self.answer)
        app.get("/table")(lambda: Response("read"))
        app.post("/table")(self.wait)

    async def answer(self, request: Request) -> Response:
        while request.url.path == "/predictions" and not self.go.is_set():
            await asyncio.sleep(0.01)
        return Response(str(len(await request.body())), media_type="text/plain")

    def wait(self) -> Response:
        self.go.wait(60)
        return Response("written")


@contextmanager
def running(app):
    """The port of an application served by a thread of this process."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def echo():
    return Echo()


@pytest.fixture
def gate(echo):
    return echo.app.state.service.gate


@pytest.fixture
def port(echo):
    with running(echo.app) as port:
        yield port


@pytest.fixture
def client(port):
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=180) as http:
        yield http


def talk(port, *pieces):
    """Answer of a server to these bytes, until it closes the connection."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=180) as connection:
        for piece in pieces:
            connection.sendall(piece)
        while heard := connection.recv(65536):
            said += heard
    return said


def check_refused(said, status, detail):
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), said
    assert b"connection: close" in head.lower()
    assert json.loads(body)["detail"] == detail


TOO_LARGE = "a body may have 1000 bytes at most"
HEAD = b"POST /a HTTP/1.1\r\nHost: localhost\r\n"


def test_a_body_within_the_limit_arrives_whole(client):
    assert client.post("/a", content=b"x" * 1000).text == "1000"
    assert client.post("/a", content=(b"x" * 10 for _ in range(100))).text == "1000"
    assert client.get("/a").text == "0"


def test_a_body_that_declares_too_much_is_refused_before_a_byte_of_it_is_sent(port):
    said = talk(port, HEAD + b"Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
    check_refused(said, 413, TOO_LARGE)


def test_a_sender_that_reads_nothing_before_it_has_sent_all_hears_of_the_refusal():
    # Long enough to let the server send the rest and stop.
    with running(Echo(replace(LIMITS, linger_s=60)).app) as port:
        answer = httpx.post(f"http://127.0.0.1:{port}/a", content=b"x" * 3000, timeout=180)
    assert (answer.status_code, answer.json()["detail"]) == (413, TOO_LARGE)
    assert answer.headers["connection"] == "close"


def test_a_body_without_a_length_is_refused_as_soon_as_it_is_too_large(port):
    chunk = b"1f4\r\n" + b"x" * 500 + b"\r\n"
    said = talk(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3)
    check_refused(said, 413, TOO_LARGE)


def send_for_ever(port):
    with socket.create_connection(("127.0.0.1", port), timeout=180) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(100_000):
            connection.sendall(b"1f4\r\n" + b"x" * 500 + b"\r\n")


def test_a_sender_without_end_is_cut_off(port):
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        send_for_ever(port)


def test_headers_beyond_the_limit_are_refused(port):
    said = talk(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 400 + b"\r\n\r\n")
    check_refused(said, 431, "the headers may have 400 bytes at most")


@pytest.mark.parametrize("target", [b"/?" + b"q" * 101, b"/" + b"p" * 100])
def test_a_path_or_query_beyond_the_limit_is_refused(port, target):
    said = talk(port, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    check_refused(said, 414, "a path and a query may have 100 bytes at most, each")


@pytest.mark.parametrize("encoding", [b"gzip", b"br", b"gzip, identity"])
def test_a_compressed_body_is_refused_before_it_is_read(port, encoding):
    said = talk(port, HEAD + b"Content-Encoding: " + encoding + b"\r\nContent-Length: 3\r\n\r\nabc")
    check_refused(said, 415, "a body must be sent as it is, without a content encoding")


def asking(port, answers):
    """A thread that asks for a prediction."""

    def ask():
        answers.append(httpx.post(f"http://127.0.0.1:{port}/predictions", content=b"x", timeout=180))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@pytest.mark.slow
def test_beyond_those_at_work_and_those_waiting_a_prediction_is_refused_and_nothing_else_is(
    port, client, echo, gate, wait_until
):
    answers = []
    threads = [asking(port, answers)]
    wait_until(lambda: gate.at_work == 1)
    threads.append(asking(port, answers))
    wait_until(lambda: gate.waiting == 1)
    refused = client.post("/predictions", content=b"x")
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    detail = "the service is busy: 1 predictions are waiting already; ask again later"
    assert refused.json()["detail"] == detail
    assert client.get("/health/live").status_code == 200
    echo.go.set()
    for thread in threads:
        thread.join()
    assert [answer.text for answer in answers] == ["1", "1"]
    wait_until(lambda: (gate.at_work, gate.waiting) == (0, 0))
    assert client.post("/predictions", content=b"x").text == "1"


@pytest.mark.slow
def test_requests_that_are_too_large_together_are_refused_until_one_is_gone(port, client, echo, gate, wait_until):
    answers = []

    def ask():
        answers.append(httpx.post(f"http://127.0.0.1:{port}/predictions", content=b"x" * 1000, timeout=180))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: gate.at_work == 1)
    refused = client.post("/a", content=b"x" * 501)
    assert refused.status_code == 503
    assert "the requests in progress are too large together" in refused.json()["detail"]
    assert client.post("/a", content=b"x" * 500).text == "500"
    echo.go.set()
    thread.join()
    assert answers[0].text == "1000"
    assert client.post("/a", content=b"x" * 1000).text == "1000"


def test_of_the_large_predictions_one_works_at_a_time():
    async def most_at_once(large):
        gate, most = Gate(3, 10), []

        async def work():
            async with gate.turn(large):
                most.append(gate.at_work)
                await asyncio.sleep(0.01)

        await asyncio.gather(*(work() for _ in range(5)))
        assert (gate.at_work, gate.waiting) == (0, 0)
        return max(most)

    assert asyncio.run(most_at_once(large=True)) == 1
    assert asyncio.run(most_at_once(large=False)) == 3


def test_the_same_dear_work_is_done_once_for_all_and_more_of_another_kind_is_refused():
    """Thirty ask at once: ten for the same ranking, twenty for one each."""
    done, go = [], threading.Event()

    def work(what):
        assert go.wait(60)
        done.append(what)
        return what

    async def ask():
        shared = Shared(Gate(2, 4, "rankings"))
        asked = ["same"] * 10 + [f"own {i}" for i in range(20)]
        tasks = [asyncio.create_task(shared.do(what, lambda what=what: work(what))) for what in asked]
        give_up = time.monotonic() + 60
        while sum(task.done() for task in tasks) < 15 and time.monotonic() < give_up:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # nobody else is refused
        refused = [task for task in tasks if task.done()]
        assert len(refused) == 15  # of 21 different wishes two are at work and four wait
        for task in refused:
            error = task.exception()
            assert (error.status_code, error.headers["Retry-After"]) == (503, "1")
            assert error.detail == "the service is busy: 4 rankings are waiting already; ask again later"
        go.set()
        answers = [await task for task in tasks if task not in refused]
        assert answers == ["same"] * 10 + [f"own {i}" for i in range(5)]
        assert sorted(done) == sorted(set(answers))
        assert await shared.do("same", lambda: work("same")) == "same"  # later it is computed again
        return len(done)

    assert asyncio.run(ask()) == 7


def test_who_goes_away_takes_nothing_from_those_who_share(wait_until):
    go = threading.Event()

    async def ask():
        shared = Shared(Gate(1, 1))
        first, second = (asyncio.create_task(shared.do("same", lambda: go.wait(60))) for _ in range(2))
        await asyncio.sleep(0.1)
        first.cancel()
        await asyncio.sleep(0)
        go.set()
        assert await second is True

    asyncio.run(ask())


def test_while_changes_wait_readers_are_answered():
    """More changes than there are threads, each of which waits for what a reader could not speed up."""
    echo = Echo()

    async def all_of_them(root):
        async with httpx.AsyncClient(base_url=root, limits=httpx.Limits(max_connections=None), timeout=60) as http:
            changes = [asyncio.create_task(http.post("/table")) for _ in range(5 * AT_ONCE + 20)]
            read = [(await http.get("/table")).text for _ in range(3)]
            assert not any(one.done() for one in changes)
            echo.go.set()
            return read, {(await one).text for one in changes}

    with running(echo.app) as port:
        read, changed = asyncio.run(all_of_them(f"http://127.0.0.1:{port}"))
    assert (read, changed) == (["read"] * 3, {"written"})
