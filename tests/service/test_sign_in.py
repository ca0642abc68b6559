"""Sign-in by an institution, with names from a proxy, and attempts to impersonate others."""

import json
import socket
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from audiosim.errors import InputError
from audiosim.service.access.callers import Caller, DeniedError
from audiosim.service.access.sign_in import Grant, Person, SignIn

SMALL = "/v1/collections/small"
GRANTS = ["organiser=olga@example.org", "client@small=group:staff", "assessor=*"]
SETTINGS = {
    "AUDIOSIM_LOGIN_HEADER": "X-Remote-User",
    "AUDIOSIM_TRUSTED_PROXY": "127.0.0.1",
    "AUDIOSIM_GRANT": " ".join(GRANTS),
}


def by_header(*grants):
    return SignIn(map(Grant.parse, grants), "X-Remote-User", "X-Groups", ["10.0.0.0/16"])


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (Person("olga@example.org", frozenset({"staff"})), ("organiser", "")),
        (Person("otto", frozenset({"staff"})), ("client", "small")),
        (Person("staff"), ("assessor", "")),
        (Person("group:staff"), ("assessor", "")),
    ],
)
def test_the_first_grant_that_suits_somebody_counts(person, expected):
    role, collection = expected
    assert by_header(*GRANTS).admit(person) == Caller(role, person.name, collection)


def test_nobody_gets_in_whom_no_grant_suits():
    with pytest.raises(DeniedError, match="ann has no role here: the setting grant gives one"):
        by_header("client=otto").admit(Person("ann"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("assessor", "a grant is ROLE=WHO or ROLE@COLLECTION=WHO"),
        ("assessor=", "a grant is ROLE=WHO"),
        ("judge=ann", "unknown role 'judge' in grant 'judge=ann', expected assessor, organiser, client"),
    ],
)
def test_a_grant_that_is_none_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        Grant.parse(text)


@pytest.mark.parametrize("peer", ["203.0.113.7", "", "testclient", "10.1.0.1", "::1"])
def test_a_name_from_anybody_but_a_trusted_proxy_counts_for_nothing(peer):
    asked = by_header(*GRANTS)
    assert asked.vouched(Headers({"X-Remote-User": "olga@example.org"}), peer) is None


@pytest.mark.parametrize("peer", ["10.0.3.4", "::ffff:10.0.3.4"])
def test_a_proxy_says_name_and_groups(peer):
    asked = by_header(*GRANTS)
    raw = [(b"x-remote-user", "Jürgen".encode()), (b"x-groups", b"staff, music"), (b"x-groups", b"choir")]
    assert asked.vouched(Headers(raw=raw), peer) == Person("Jürgen", frozenset({"staff", "music", "choir"}))
    assert asked.vouched(Headers({"X-Remote-User": " "}), peer) is None
    with pytest.raises(DeniedError, match="the header X-Remote-User occurs twice"):
        asked.vouched(Headers(raw=[(b"x-remote-user", b"olga@example.org"), (b"x-remote-user", b"ann")]), peer)


@pytest.mark.slow
def test_what_would_let_anybody_in_or_nobody_is_refused_at_the_start(run, folders, monkeypatch):
    for settings, message in (
        (
            {"LOGIN_HEADER": "X-User", "GRANT": "assessor=*"},
            "anybody could send X-User: name the proxy",
        ),
        ({"LOGIN_HEADER": "X-User", "TRUSTED_PROXY": "127.0.0.1"}, "nobody could sign in: give people a role"),
        ({"GRANT": "assessor=*"}, "grant and groups-header need login-header, which identifies people"),
    ):
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(f"AUDIOSIM_{name}", value)
            code, _, said = run("serve", folders[0], "--port", 0)
        assert (code, said.count("\n")) == (1, 1)
        assert message in said


def lent(server, source, *headers):
    """Status of a request for the campaign from an address of this machine, with these headers."""
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), source_address=(source, 0)) as wire:
        lines = [f"GET {SMALL}/campaign HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", *headers]
        wire.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while more := wire.recv(65536):
            answer += more
    return int(answer.split(b" ", 2)[1])


@pytest.mark.slow
def test_a_server_believes_its_proxy_and_no_other_about_who_signed_in(commanded, folders, tmp_path):
    settings = SETTINGS | {"AUDIOSIM_TRUSTED_PROXY": "127.0.0.2"}
    with commanded(folders[:1], tmp_path / "log", **settings) as server:
        olga, ann = "X-Remote-User: olga@example.org", "X-Remote-User: ann"
        assert lent(server, "127.0.0.2", olga) == 200
        assert lent(server, "127.0.0.2", ann) == 403
        assert lent(server, "127.0.0.2") == 401
        # The same name sent from any other address, whatever origin its headers claim.
        assert lent(server, "127.0.0.1", olga) == 401
        assert lent(server, "127.0.0.1", olga, "X-Forwarded-For: 127.0.0.2") == 401
        assert lent(server, "127.0.0.1", olga, "Forwarded: for=127.0.0.2") == 401
        # The proxy is still trusted when it forwards the client's address; requests with two names are refused.
        assert lent(server, "127.0.0.2", olga, "X-Forwarded-For: 203.0.113.7") == 200
        assert lent(server, "127.0.0.2", olga, ann) == 400
        # A request's own token takes precedence.
        assert lent(server, "127.0.0.2", olga, "Authorization: Bearer wrong") == 401


@pytest.mark.slow
def test_pages_know_who_signed_in_and_other_sites_cannot_use_it(commanded, folders, tmp_path):
    settings = SETTINGS | {"AUDIOSIM_GRANT": "assessor=*"}
    with commanded(folders[:1], tmp_path / "log", **settings) as server, server.client() as client:
        client.headers["X-Remote-User"] = "ann"
        who = client.get("/v1/session").json()
        assert (who["name"], who["role"], who["open"]) == ("ann", "assessor", False)
        asked, here = {"assessor": "ann", "count": 1}, {"Origin": server.url}
        assert client.post(f"{SMALL}/next", json=asked).status_code == 403  # not from our pages
        assert client.post(f"{SMALL}/next", json=asked, headers={"Origin": "https://evil.example"}).status_code == 403
        pair = client.post(f"{SMALL}/next", json=asked, headers=here).json()["pairs"][0]
        said = {"query": pair["query"], "document": pair["document"], "fine": 70}
        assert client.post(f"{SMALL}/judgments", json=said, headers=here).json()["assessor"] == "ann"
        said["assessor"] = "ben"
        assert client.post(f"{SMALL}/judgments", json=said, headers=here).status_code == 403


@pytest.mark.slow
def test_people_whose_names_look_the_same_are_different_people(commanded, folders, tmp_path):
    names = ("ann", "ANN", "Ann", "ａｎｎ")
    with commanded(folders[:1], tmp_path / "log", **SETTINGS) as server, server.client() as client:

        def ask(name, path, **body):
            headers = {"X-Remote-User": name.encode(), "Origin": server.url}
            return client.post(f"{SMALL}/{path}", json={"assessor": name} | body, headers=headers)

        given = {}
        for name in names:
            (pair,) = ask(name, "next").json()["pairs"]
            answer = ask(name, "judgments", query=pair["query"], document=pair["document"], fine=40)
            assert answer.status_code == 201, answer.text
            given[name] = pair, answer.json()["number"]
        assert len({(pair["query"], pair["document"]) for pair, _ in given.values()}) == len(names)  # nobody's twice
        for name in names:
            for other in set(names) - {name}:  # nobody can take back or give another person's answers
                assert ask(name, "undo", number=given[other][1]).status_code in (403, 422)
                pair, _ = given[other]
                said = {"query": pair["query"], "document": pair["document"], "fine": 90, "assessor": other}
                assert ask(name, "judgments", **said).status_code == 403
        assert ask("ANN", "undo", number=given["ANN"][1]).status_code == 201
        organiser = {"X-Remote-User": "olga@example.org"}
        lines = client.get(f"{SMALL}/judgments?format=log", headers=organiser).text.splitlines()
        rows = [json.loads(line) for line in lines]
        assert [row["assessor"] for row in rows if row["kind"] == "judgment"] == list(names)
        assert [row["assessor"] for row in rows if row["kind"] == "undo"] == ["ANN"]
    # A grant names one of them, and nobody with a similar-looking name.
    sign_in = by_header("organiser=ANN", "assessor=*")
    assert [name for name in names if sign_in.admit(Person(name)).role == "organiser"] == ["ANN"]
