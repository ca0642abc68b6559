"""No form of an address reaches an operation without the right that its plain form needs."""

import http.client
import re
import socket
from collections.abc import Iterator
from itertools import islice

import pytest

from audiosim.service.access.tokens import TokenStore

METHODS = ("get", "post", "put", "patch", "delete")
EACH = 8  # of the forms of an address; each operation is asked for others
REFUSED = {301, 307, 308, 400, 401, 403, 404, 405, 414, 421}  # a redirection is followed as a new request
PUBLIC = "/health/live"


def forms(path: str) -> Iterator[str]:
    """Other forms of a path: encoded, relative, of another case, with something at its end."""
    starts = [place for place, sign in enumerate(path) if sign == "/"]
    for place in starts:
        for instead in ("%2F", "%2f", "%252F", "\\", "%5C", "//", "/./", "/%2e/", "/x/../", "/x/%2e%2e/", "/..;/"):
            yield path[:place] + instead + path[place + 1 :]
    ends = (
        "/",
        "//",
        "/.",
        ".",
        "%2E",
        "..",
        "/..",
        "%20",
        "%00",
        "%0A",
        ";x",
        "?",
        "%3F",
        "%23",
        "/%2e%2e",
        "%E2%80%8B",
    )
    yield from (path + end for end in ends)
    for start in (PUBLIC, "/pages", "/openapi.json", "/docs", "/v1/collections/coarse", "/v1/session"):
        for way in ("/..", "/%2e%2e", "%2F.."):
            yield start + way * start.count("/") + path
    last = path.rpartition("/")[2]
    yield from (path.upper(), path.title(), path.replace(last, last.swapcase()))
    names = (
        "SMALL",
        "Small",
        "small.",
        "small%20",
        "%73mall",
        "\N{FULLWIDTH LATIN SMALL LETTER S}mall",
        "coarse%2F..%2Fsmall",
    )
    yield from (path.replace("small", name) for name in names)
    yield f"http://127.0.0.1{path}"
    yield "".join(f"%{ord(sign):02x}" if sign.isalpha() else sign for sign in path)


@pytest.fixture(scope="module")
def secured(commanded, folders, tmp_path_factory):
    """A service with tokens, and the tokens: of each role, and of an organiser of the collection coarse alone."""
    url = f"sqlite:///{tmp_path_factory.mktemp('access') / 'campaign.db'}"
    store = TokenStore(url)
    tokens = {role: store.create(role, role) for role in ("assessor", "client")}
    tokens["organiser of another"] = store.create("other", "organiser", "coarse")
    store.close()
    with commanded(folders, tmp_path_factory.mktemp("log") / "log", "--db", url) as running:
        yield running, {"public": None, **tokens}


@pytest.mark.slow
def test_no_form_of_an_address_reaches_an_operation_without_the_right_for_it(secured):
    running, tokens = secured
    host, port = running.url.removeprefix("http://").split(":")

    def status(method, path, secret):
        bearer = "" if secret is None else f"authorization: Bearer {secret}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nhost: {host}\r\n{bearer}content-type: application/json\r\n"
        with socket.create_connection((host, int(port)), timeout=60) as there:
            there.sendall(f"{head}connection: close\r\ncontent-length: 2\r\n\r\n{{}}".encode())
            answer = http.client.HTTPResponse(there, method=method)
            answer.begin()
            return answer.status

    with running.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    asked, reached = 0, []
    for number, (path, operations) in enumerate(paths.items()):
        plain = re.sub(r"{[^}]*}", "x", path.replace("{collection}", "small"))
        for method in (one.upper() for one in operations if one in METHODS):
            for who, secret in tokens.items():
                if status(method, plain, secret) not in (401, 403):
                    continue
                for form in islice(forms(plain), number % EACH, None, EACH):
                    asked += 1
                    if status(method, form, secret) not in REFUSED:
                        reached.append((method, form, who))
    assert not reached
    assert asked > 1000
