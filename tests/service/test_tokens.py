"""Tokens: stored data, access, and the command."""

import asyncio
import hashlib
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sql
from starlette.routing import Match

from audiosim.campaign.tables import TABLES
from audiosim.errors import InputError, StoreError
from audiosim.service.access.access import (
    Access,
    Caller,
    DeniedError,
    check_allowed,
    check_origin,
    client_of,
    host_of,
    is_loopback,
)
from audiosim.service.access.callers import scopes_of
from audiosim.service.access.tokens import Token, TokenStore
from audiosim.service.app import create_app
from audiosim.service.settings import Settings

NOON = datetime(2013, 5, 1, 12, tzinfo=UTC)


class Watch:
    """Two clocks that stand still until a test moves them."""

    def __init__(self):
        self.s = 0.0

    def seconds(self):
        return self.s

    def time(self):
        return NOON + timedelta(seconds=self.s)


@pytest.fixture
def watch():
    return Watch()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return f"sqlite:///{tmp_path / 't.db'}" if request.param == "sqlite" else request.getfixturevalue("empty_postgres")


@pytest.fixture
def store(tmp_path, watch):
    one = TokenStore(f"sqlite:///{tmp_path / 'tokens.db'}", watch.time)
    yield one
    one.close()


@pytest.fixture
def access(store, watch):
    store.create("olga", "organiser")
    return Access(tokens=store, clock=watch.seconds, now=watch.time)


def test_of_a_token_only_its_hash_is_kept(tmp_path, store):
    secret = store.create("ann", "assessor", "small", 30)
    assert re.fullmatch(r"audiosim_[A-Za-z0-9_-]{43}", secret)
    assert store.tokens() == [
        Token(
            "ann",
            "assessor",
            "small",
            "2013-05-01T12:00:00.000Z",
            "2013-05-31T12:00:00.000Z",
            hashlib.sha256(secret.encode()).hexdigest(),
        )
    ]
    store.close()
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_tokens_are_made_listed_and_revoked_in_every_database(url):
    store = TokenStore(url)
    secrets = {store.create(name, "client") for name in ("b", "a")}
    assert len(secrets) == 2
    assert [token.name for token in store.tokens()] == ["a", "b"]
    with pytest.raises(InputError, match="^there is a token of a already; withdraw it first, or take another name$"):
        store.create("a", "client")
    store.revoke("a")
    store.revoke("b")
    with pytest.raises(InputError, match="^there is no token of 'a'$"):
        store.revoke("a")
    assert store.tokens() == []
    store.close()


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "two\nlines"])
def test_a_token_needs_a_name(store, name):
    with pytest.raises(InputError, match="^a token needs a name of 1 to 200 printable characters, got"):
        store.create(name, "client")


def test_a_token_has_one_of_three_roles_and_a_sound_length_of_life(store):
    with pytest.raises(InputError, match="^unknown role 'king', expected assessor, organiser, client$"):
        store.create("ann", "king")
    for days in (0, -1, 1e9):
        with pytest.raises(InputError, match="^a token may last for more than 0 and up to 36500 days, got"):
            store.create("ann", "client", days=days)


def test_a_database_that_fails_is_named(tmp_path):
    (tmp_path / "t.db").write_bytes(b"no database, but long enough to be taken for one" * 30)
    with pytest.raises(StoreError, match="t.db: file is not a database"):
        TokenStore(f"sqlite:///{tmp_path / 't.db'}")


def test_a_token_says_who_asks(access, store):
    secret = store.create("ann", "assessor", "small")
    access.reload()
    assert access.identify(secret, "10.0.0.1") == Caller("assessor", "ann", "small")
    assert access.identify(None, "10.0.0.1") == Caller("public")


def test_a_token_that_has_ended_is_refused(access, store, watch):
    secret = store.create("ann", "assessor", days=1)
    access.reload()
    watch.s = 86_399
    assert access.identify(secret, "a").name == "ann"
    watch.s = 86_400
    with pytest.raises(DeniedError, match="^this token is unknown, or has ended$") as denied:
        access.identify(secret, "a")
    assert denied.value.status_code == 401
    assert denied.value.headers["WWW-Authenticate"].startswith("Bearer ")


def test_a_revoked_token_is_refused_once_the_tokens_are_read_anew(access, store, watch):
    secret = store.create("ann", "assessor")
    access.reload()
    assert not access.stale
    store.revoke("ann")
    watch.s = 2.1
    assert access.stale
    access.reload()
    with pytest.raises(DeniedError, match="^this token is unknown"):
        access.identify(secret, "a")


def test_revoking_the_last_token_does_not_open_the_door(access, store):
    store.revoke("olga")
    access.reload()
    assert access.locked
    assert access.identify(None, "a").role == "public"


def test_guessing_is_slowed_down_for_its_address_alone(access, store, watch):
    secret = store.create("ann", "assessor")
    access.reload()
    assert access.identify(secret, "shared").name == "ann"
    for moment in range(10):
        watch.s = moment
        with pytest.raises(DeniedError, match="^this token is unknown"):
            access.identify(f"guess {moment}", "shared")
    with pytest.raises(DeniedError, match="^too many wrong tokens from this address; try again later$") as denied:
        access.identify("guess", "shared")
    assert denied.value.status_code == 429
    assert 0 < int(denied.value.headers["Retry-After"]) <= 60
    assert access.identify(secret, "shared").name == "ann"
    other = store.create("bob", "assessor")
    access.reload()
    assert access.identify(other, "shared").name == "bob"  # a new caller with a valid token
    with pytest.raises(DeniedError, match="^this token is unknown"):
        access.identify("guess", "elsewhere")
    watch.s = 61
    with pytest.raises(DeniedError, match="^this token is unknown"):
        access.identify("guess", "shared")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("", "testclient", False),
    ],
)
def test_a_client_is_an_address_or_a_network_of_ipv6(one, other, same):
    assert (client_of(one) == client_of(other)) is same


def test_without_tokens_only_a_loopback_address_may_be_listened_on(store):
    assert Access(tokens=store).identify(None, "a") == Caller("organiser")
    for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost"):
        assert is_loopback(host)
        Access(host, tokens=store)
    for host in ("0.0.0.0", "::", "192.168.0.1", "example.org"):
        with pytest.raises(InputError, match=f"^refusing to listen on {host} without tokens: create one with audiosim"):
            Access(host, tokens=store)
    Access("127.0.0.1", ["localhost", "127.0.0.2", "::1"], store)
    for name in ("judge.example.org", "*", "192.168.0.1"):
        with pytest.raises(
            InputError, match=f"^refusing the host name {re.escape(name)} without tokens: everybody who reaches"
        ):
            Access("127.0.0.1", ["localhost", name], store)
    store.create("olga", "organiser")
    Access("0.0.0.0", ["*"], tokens=store)


def test_a_database_that_ever_held_a_token_needs_tokens_for_good(url, watch):
    before = TokenStore(url, watch.time)
    TABLES.drop_all(before._engine)  # the tests share one server
    before.close()
    store = TokenStore(url, watch.time)
    assert not store.was_used()
    assert Access(tokens=store).identify(None, "a") == Caller("organiser")
    store.create("olga", "organiser", days=1)
    store.revoke("olga")
    store.close()
    again = TokenStore(url, watch.time)
    access = Access(tokens=again, clock=watch.seconds, now=watch.time)
    assert again.tokens() == []
    assert (access.locked, access.deserted) == (True, True)
    assert access.identify(None, "a") == Caller("public")
    Access("0.0.0.0", tokens=again)
    again.create("olga", "organiser", days=1)
    access.reload()
    assert not access.deserted
    watch.s = 90_000
    assert access.deserted
    again.close()


@pytest.mark.parametrize("text", ["", "proxy.example.org", "10.0.0.1/8", "0.0.0.0/0", "::/0", "*"])
def test_a_trusted_proxy_is_an_address_or_a_network_but_not_everybody(text):
    with pytest.raises(InputError, match="expected an address or a network of a proxy|would trust everyone"):
        Settings.read({"trusted_proxy": [text]}, {})
    proxies = ("127.0.0.1", "10.0.0.0/8", "2001:db8::/32")
    assert Settings.read({}, {"AUDIOSIM_TRUSTED_PROXY": " ".join(proxies)}).trusted_proxy == proxies


@pytest.mark.parametrize(
    ("netloc", "host"),
    [("localhost:80", "localhost"), ("A.org", "a.org"), ("[::1]:8000", "::1"), ("127.0.0.1:1", "127.0.0.1"), ("", "")],
)
def test_the_host_is_read_from_its_header(netloc, host):
    assert host_of(netloc) == host


def test_only_names_of_the_service_are_answered_to(store):
    store.create("olga", "organiser")
    access = Access("127.0.0.1", ["judge.example.org"], store)
    for netloc in ("localhost:1", "127.0.0.1:8000", "[::1]:8000", "Judge.Example.org"):
        access.check_name(netloc)
    for netloc in ("evil.example", "judge.example.org.evil.example", "", "127.0.0.1.evil.example:80"):
        with pytest.raises(
            DeniedError, match="^this service is not called '.*'; --allowed-host gives it another name$"
        ):
            access.check_name(netloc)
    Access("127.0.0.1", ["*"], store).check_name("anything")


@pytest.mark.parametrize(
    ("origin", "site", "by_cookie", "allowed"),
    [
        (None, None, False, True),  # a program
        ("http://a:1", None, True, True),
        ("https://a:1", "same-origin", True, True),  # behind a proxy with TLS
        ("http://a:2", None, False, False),
        ("http://evil", None, False, False),
        ("null", None, False, False),
        ("", None, False, False),
        (None, "cross-site", False, False),
        (None, "same-site", False, False),
        (None, None, True, False),  # a browser that does not state the page's origin
    ],
)
def test_a_page_of_another_origin_changes_nothing(origin, site, by_cookie, allowed):
    if allowed:
        check_origin(origin, site, "a:1", by_cookie)
    else:
        with pytest.raises(DeniedError, match="^a page of another site may not send this$") as denied:
            check_origin(origin, site, "a:1", by_cookie)
        assert denied.value.status_code == 403


# The roles in the table of docs/service.md, row by row; c is the collection.
ALLOWED = {
    "client": ["POST predictions", "GET ranking", "GET", "POST /v1/models/m/predictions", "GET /metrics"],
    "assessor": ["POST next", "POST judgments", "POST undo", "GET answers", "GET", "GET /v1/documents/a/b/sound"],
    "organiser": ["GET campaign", "GET judgments", "POST judgments/import", "POST pause", "GET events"],
}  # fmt: skip


@pytest.fixture(scope="module")
def app(small):
    return create_app([small], "uniform", access=Access(locked=True))


def check(app, caller, method, path):
    """Check whether a caller may send this request, by its route."""
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    matches = [(route, *route.matches(scope)) for route in app.routes]
    route, found = next(((one, found) for one, match, found in matches if match is Match.FULL), (None, {}))
    check_allowed(caller, scopes_of(route), found.get("path_params", {}).get("collection"))


def parts(spelled):
    method, _, rest = spelled.partition(" ")
    path = rest if rest.startswith("/") else f"/v1/collections/c/{rest}".removesuffix("/")
    return method, path


@pytest.mark.parametrize("role", ALLOWED)
def test_each_role_may_do_its_own_and_the_organiser_everything(app, role):
    for owner, requests in ALLOWED.items():
        for request in requests:
            if role in ("organiser", owner) or parts(request) == ("GET", "/v1/collections/c"):
                check(app, Caller(role), *parts(request))
            else:
                with pytest.raises(DeniedError, match=f"^the role {role} may not do this, only .*organiser"):
                    check(app, Caller(role), *parts(request))


def test_a_token_for_one_collection_is_for_no_other(app):
    mine = Caller("organiser", "o", "c")
    for path in ("/v1/collections/c/judgments", "/v1/collections/c", "/v1/models", "/v1/documents/d/sound"):
        check(app, mine, "GET", path)
    for path in ("/v1/collections/d/judgments", "/v1/collections", "/metrics"):
        with pytest.raises(DeniedError, match="^this token is only for the collection c$"):
            check(app, mine, "GET", path)


def asked(app, method, path, *headers):
    """The status of an answer given before any byte of the body is read."""
    sent = []

    async def receive():
        assert sent, "the body is read"
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    head = [(b"host", b"localhost"), (b"content-length", b"10"), *headers]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    asyncio.run(app({**scope, "root_path": "", "headers": head, "client": None}, receive, send))
    return sent[0]["status"]


def test_whoever_may_not_ask_is_refused_before_a_byte_of_the_body_is_read(app):
    public = {"/", "/create", "/docs", "/openapi.json", "/v1/session", "/health/live", "/health/ready"}
    public |= {"/v1/collections/x/join"}
    pages = ("/judge/", "/join/", "/organise/", "/results/", "/published/", "/static/")
    for route in app.routes:
        for method in route.methods:
            path = re.sub(r"{\w+(:path)?}", "x", route.path)
            if path not in public and not path.startswith(pages):
                assert (asked(app, method, path), method, path) == (401, method, path)
    assert asked(app, "POST", "/nothing") == 401
    assert asked(app, "PUT", "/v1/models") == 401


def test_a_route_that_does_not_say_whom_it_is_for_is_the_organiser_s(store, small):
    app = create_app([small], "uniform", access=Access(tokens=store, locked=True))

    @app.get("/new")
    async def new() -> None:
        pass

    bearers = {role: (b"authorization", b"Bearer " + store.create(role, role).encode()) for role in ALLOWED}
    app.state.service.access.reload()
    assert asked(app, "GET", "/new") == 401
    assert [asked(app, "GET", "/new", bearers[role]) for role in ("client", "assessor")] == [403, 403]
    assert scopes_of(app.routes[-1]) == {"organiser"}


def test_an_assessor_speaks_for_himself_alone():
    ann = Caller("assessor", "ann")
    assert ann.assessor(None) == ann.assessor("ann") == "ann"
    with pytest.raises(DeniedError, match="^this token is ann's, who cannot act for 'bob'$"):
        ann.assessor("bob")
    assert Caller("organiser", "olga").assessor("bob") == "bob"


@pytest.mark.slow
def test_the_command_makes_lists_and_revokes_tokens(run, tmp_path):
    db = ("--db", f"sqlite:///{tmp_path / 't.db'}")
    code, said, _ = run("token", "create", "--role", "assessor", "--name", "ann", "--expires", "30", *db)
    assert code == 0
    assert re.fullmatch(r"audiosim_[A-Za-z0-9_-]{43}\n", said)
    _, made, _ = run("token", "create", "--role", "client", "--name", "bob", "--format", "json", *db)
    assert set(json.loads(made)) == {"name", "role", "collection", "token"}
    _, listed, _ = run("token", "list", "--format", "json", *db)
    assert [(row["name"], row["role"], row["expires"] is None) for row in json.loads(listed)] == [
        ("ann", "assessor", False),
        ("bob", "client", True),
    ]
    assert "never" in run("token", "list", *db)[1]
    assert run("token", "revoke", "ann", *db)[1] == "the token of ann is revoked\n"
    assert run("token", "revoke", "ann", *db)[::2] == (1, "audiosim: there is no token of 'ann'\n")
    run("token", "revoke", "bob", *db)
    assert run("token", "list", *db)[1] == "there are no tokens\n"


def test_a_server_database_may_hold_tokens_beside_campaigns(url):
    store = TokenStore(url)
    engine = store._engine
    assert sql.inspect(engine).has_table("audiosim_tokens")
    store.close()


@pytest.mark.parametrize("command", [("list",), ("revoke", "ann")])
def test_tokens_of_a_database_that_is_not_there_are_an_error_and_make_none(run, tmp_path, command):
    path = tmp_path / "campain.db"
    code, _, said = run("token", *command, "--db", f"sqlite:///{path}")
    assert (code, said.startswith(f"audiosim: there is no database {path}, expected one")) == (1, True)
    assert not path.exists()
