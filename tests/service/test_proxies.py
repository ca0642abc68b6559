"""Behind a proxy: trusted statements about the origin of a request, and the service without tokens."""

import pytest

from audiosim.service.access.tokens import TokenStore

SMALL = "/v1/collections/small"


@pytest.fixture
def database(tmp_path):
    return f"sqlite:///{tmp_path / 'campaign.db'}"


@pytest.fixture
def secret(database):
    store = TokenStore(database)
    made = store.create("olga", "organiser")
    store.close()
    return made


def guess(client, number, headers):
    return client.get(SMALL, headers={"Authorization": f"Bearer guess {number}", **headers}).status_code


@pytest.mark.slow
def test_wrong_tokens_are_counted_by_client_and_not_by_proxy(commanded, folders, database, secret, tmp_path):
    options = ("--db", database, "--allowed-host", "judge.example.org", "--trusted-proxy", "127.0.0.1")
    with commanded(folders[:1], tmp_path / "log", *options) as server, server.client() as client:
        own, other = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "198.51.100.1"}
        assert [guess(client, number, own) for number in range(11)] == [401] * 10 + [429]
        assert guess(client, 11, other) == 401
        # A client's own entry is left of the proxy's and is not trusted.
        invented = {"X-Forwarded-For": "192.0.2.99, 203.0.113.7"}
        assert guess(client, 12, invented) == 429
        bearer = {"Authorization": f"Bearer {secret}"}
        assert client.get(SMALL, headers={**own, **bearer}).status_code == 200


@pytest.mark.slow
def test_of_a_client_that_comes_by_tls_the_cookie_is_for_tls(commanded, folders, database, secret, tmp_path):
    options = ("--db", database, "--trusted-proxy", "127.0.0.1")
    with commanded(folders[:1], tmp_path / "log", *options) as server, server.client() as client:
        opened = client.post("/v1/session", json={"token": secret}, headers={"X-Forwarded-Proto": "https"})
        assert "Secure" in opened.headers["set-cookie"]
        assert "Secure" not in client.post("/v1/session", json={"token": secret}).headers["set-cookie"]


@pytest.mark.slow
def test_invented_headers_count_for_nothing(commanded, folders, database, secret, tmp_path):
    with commanded(folders[:1], tmp_path / "log", "--db", database) as server, server.client() as client:
        headers = [
            {"X-Forwarded-For": f"203.0.113.{number}", "Forwarded": f"for=203.0.113.{number}"} for number in range(12)
        ]
        assert [guess(client, number, one) for number, one in enumerate(headers)] == [401] * 10 + [429] * 2
        opened = client.post("/v1/session", json={"token": secret}, headers={"X-Forwarded-Proto": "https"})
        assert "Secure" not in opened.headers["set-cookie"]


@pytest.mark.parametrize("name", ["judge.example.org", "*"])
def test_a_name_beyond_this_machine_without_tokens_is_refused_in_one_line(run, folders, database, name):
    code, _, said = run("serve", folders[0], "--db", database, "--allowed-host", name, "--port", 0)
    assert code == 1
    assert said == (
        f"audiosim: refusing the host name {name} without tokens: everybody who reaches it could do everything; "
        "create one with audiosim token create, or leave --allowed-host out\n"
    )


@pytest.mark.slow
def test_revoking_the_last_token_and_starting_again_lets_nobody_in(commanded, folders, database, secret, tmp_path, run):
    assert run("token", "revoke", "olga", "--db", database)[0] == 0
    with commanded(folders[:1], tmp_path / "log", "--db", database) as server, server.client() as client:
        assert server.says("nobody can sign in until audiosim token creates one")
        assert client.post(f"{SMALL}/campaign/close", json={}).status_code == 401
        assert client.get("/v1/session").json()["open"] is False
    elsewhere = f"sqlite:///{tmp_path / 'other.db'}"
    options = ("--db", database, "--tokens", elsewhere)
    with commanded(folders[:1], tmp_path / "second", *options) as server, server.client() as client:
        assert client.get(SMALL).status_code == 401


@pytest.mark.slow
def test_a_database_in_memory_is_called_what_it_is(commanded, folders, tmp_path, run):
    with commanded(folders[:1], tmp_path / "log", "--db", "sqlite://") as server, server.client() as client:
        assert server.says(
            "note: --db sqlite:// is memory, not a file: everything in it is lost when the service stops"
        )
        said = {"assessor": "ann", "query": "q0", "document": "d00", "fine": 3}
        pair = client.post(f"{SMALL}/next", json={"assessor": "ann"}).json()["pairs"][0]
        judgment = said | {"query": pair["query"], "document": pair["document"]}
        assert client.post(f"{SMALL}/judgments", json=judgment).status_code == 201
    code, _, err = run("token", "create", "--db", "sqlite:///:memory:", "--role", "client", "--name", "c")
    expected = "so the token would be lost at once: expected a file, or PostgreSQL"
    assert (code, err.splitlines()[-1]) == (1, f"audiosim: --db sqlite:///:memory: is in memory, {expected}")
