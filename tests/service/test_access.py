"""Access over HTTP: roles, cookies, hosts, origins, guesses."""

import http.client
import time

import pytest

from audiosim.service.access.tokens import TokenStore

SMALL = "/v1/collections/small"
JUDGMENT = {"query": "q0", "document": "d00", "fine": 1}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('access') / 'campaign.db'}"


@pytest.fixture(scope="module")
def tokens(database):
    """A token for each role, and an assessor's token for a single collection."""
    store = TokenStore(database)
    made = {role: store.create(role, role) for role in ("assessor", "organiser", "client")}
    made["coarse only"] = store.create("coral", "assessor", "coarse")
    store.close()
    return made


@pytest.fixture(scope="module")
def server(commanded, folders, database, tokens, tmp_path_factory):
    with commanded(folders, tmp_path_factory.mktemp("log") / "log", "--db", database) as running:
        yield running


@pytest.fixture
def ask(server, tokens):
    """Sends a request with a person's token: method, path, person, further arguments for httpx."""
    with server.client() as client:

        def call(method, path, who=None, headers=(), **more):
            bearer = {"Authorization": f"Bearer {tokens.get(who, who)}"} if who else {}
            return client.request(method, path, headers={**bearer, **dict(headers)}, **more)

        yield call


@pytest.mark.slow
def test_nobody_gets_in_without_a_token_but_to_what_is_public(ask):
    for path in ("/health/live", "/health/ready", "/openapi.json"):
        assert ask("GET", path).status_code == 200
    for method, path in [("GET", "/metrics"), ("GET", SMALL), ("POST", f"{SMALL}/judgments")]:
        answer = ask(method, path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'Bearer realm="audiosim"'
    assert answer.json()["detail"] == "this needs a token: Authorization: Bearer TOKEN"


def test_each_role_gets_what_is_its_own(ask):
    columns = {"query": [], "document": []}
    status = {
        who: [
            ask("POST", f"{SMALL}/predictions", who, json=columns).status_code,
            ask("GET", f"{SMALL}/ranking", who).status_code,
            ask("GET", f"{SMALL}/campaign", who).status_code,
            ask("GET", f"{SMALL}/judgments", who).status_code,
            ask("GET", f"{SMALL}/answers", who, params={"assessor": "assessor"}).status_code,
        ]
        for who in ("client", "assessor", "organiser")
    }
    assert status == {
        "client": [200, 200, 403, 403, 403],
        "assessor": [403, 403, 403, 403, 200],
        "organiser": [200, 200, 200, 200, 200],
    }


def test_an_assessor_judges_under_his_own_name_alone(ask):
    (pair,) = ask("POST", f"{SMALL}/next", "assessor", json={"count": 1}).json()["pairs"]
    said = {"query": pair["query"], "document": pair["document"], "fine": 10}
    refused = ask("POST", f"{SMALL}/judgments", "assessor", json={**said, "assessor": "somebody"})
    assert refused.status_code == 403
    assert refused.json()["detail"] == "this token is assessor's, who cannot act for 'somebody'"
    record = ask("POST", f"{SMALL}/judgments", "assessor", json=said)
    assert record.status_code == 201
    assert record.json()["assessor"] == "assessor"
    assert ask("GET", f"{SMALL}/answers?assessor=somebody", "assessor").status_code == 403


def test_a_token_for_one_collection_opens_no_other(ask):
    assert ask("POST", "/v1/collections/coarse/next", "coarse only", json={}).status_code == 200
    refused = ask("POST", f"{SMALL}/next", "coarse only", json={})
    assert refused.status_code == 403
    assert refused.json()["detail"] == "this token is only for the collection coarse"


def test_a_token_in_a_cookie_serves_pages_of_this_origin_alone(server, tokens):
    with server.client() as browser:
        opened = browser.post("/v1/session", json={"token": tokens["assessor"]})
        assert opened.json() == {"name": "assessor", "role": "assessor", "collection": "", "open": False}
        for part in ("HttpOnly", "SameSite=strict", "Path=/"):
            assert part in opened.headers["set-cookie"]
        assert browser.get("/v1/session").json()["name"] == "assessor"
        own, foreign = {"Origin": server.url}, {"Origin": "http://evil.example"}
        assert browser.post(f"{SMALL}/next", json={}, headers=own).status_code == 200
        for headers in (foreign, {}, {"Origin": "null"}, {**own, "Sec-Fetch-Site": "cross-site"}):
            refused = browser.post(f"{SMALL}/next", json={}, headers=headers)
            assert refused.status_code == 403
            assert refused.json()["detail"] == "a page of another site may not send this"
        closed = browser.delete("/v1/session", headers=own)
        assert "Max-Age=0" in closed.headers["set-cookie"]
        assert closed.json() == browser.get("/v1/session").json() == {
            "name": None, "role": None, "collection": "", "open": False,
        }  # fmt: skip


def test_a_form_of_another_site_is_refused_even_with_a_token(ask):
    headers = {"Origin": "http://evil.example", "Content-Type": "text/plain"}
    assert ask("POST", f"{SMALL}/next", "organiser", headers, content=b'{"assessor": "x"}').status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80"])
def test_a_forged_host_is_refused(ask, host):
    answer = ask("GET", SMALL, "organiser", {"Host": host})
    assert answer.status_code == 421
    assert answer.json()["detail"].startswith("this service is not called")
    assert ask("GET", "/health/live", headers={"Host": host}).status_code == 200


def test_a_request_without_a_host_is_refused(server):
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    connection.putrequest("GET", "/v1/models", skip_host=True)
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


@pytest.mark.slow
def test_a_token_made_or_revoked_while_the_service_runs_counts_within_seconds(ask, database):
    store = TokenStore(database)
    secret = store.create("brief", "client")
    assert eventually(lambda: ask("GET", "/v1/models", secret).status_code == 200)
    store.revoke("brief")
    assert eventually(lambda: ask("GET", "/v1/models", secret).status_code == 401)
    store.close()


def eventually(holds):
    give_up = time.monotonic() + 180
    while not holds() and time.monotonic() < give_up:
        time.sleep(0.5)  # slow enough not to be taken for guessing
    return holds()


def test_every_answer_forbids_browsers_what_it_is_not_for(ask):
    for answer in (ask("GET", "/health/live"), ask("GET", "/nothing"), ask("GET", "/openapi.json")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_whoever_sends_all_before_they_read_hears_that_their_token_is_wrong(server):
    # Programs that send such requests: Python's urllib, many file uploads.
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=180)
    connection.request("POST", f"{SMALL}/documents", b"x" * 8_000_000, {"Authorization": "Bearer a guess"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["connection"]) == (401, "close")
    connection.close()


@pytest.mark.slow
def test_guessing_tokens_ends_in_429(commanded, folders, database, tokens, tmp_path):
    with commanded(folders[:1], tmp_path / "log", "--db", database) as server, server.client() as client:
        status = [
            client.get(SMALL, headers={"Authorization": f"Bearer guess {number}"}).status_code for number in range(12)
        ]
        assert status == [401] * 10 + [429] * 2
        late = client.post("/v1/session", json={"token": "another guess"})
        assert late.status_code == 429
        assert 0 < int(late.headers["retry-after"]) <= 60


def test_another_address_without_tokens_is_refused_in_one_line(run, folders):
    code, _, said = run("serve", folders[0], "--host", "0.0.0.0", "--port", 0)
    assert code == 1
    assert said == (
        "audiosim: refusing to listen on 0.0.0.0 without tokens: create one with audiosim token create, "
        "or listen on 127.0.0.1\n"
    )


def test_a_service_without_tokens_or_database_says_so(server, another):
    assert another.says(
        "there are no tokens: everybody on this machine may do everything, and judging is not blind, as browsers "
        "get the names of what is heard; audiosim token creates one\n"
    )
    assert another.says("there is no database: judgments are lost when the service stops; --db names one\n")
    assert "there are no tokens" not in server.log.read_text(encoding="utf-8")


def test_an_open_service_still_refuses_pages_of_other_sites(another):
    with another.client() as client:
        refused = client.post(f"{SMALL}/next", json={"assessor": "a"}, headers={"Origin": "http://evil.example"})
        assert refused.status_code == 403
        assert client.post(f"{SMALL}/next", json={"assessor": "a"}).status_code == 200
        assert client.get("/v1/session").json()["open"] is True
