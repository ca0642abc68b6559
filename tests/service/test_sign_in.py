"""Sign-in by an institution, with names from a proxy or tokens of an issuer; and attempts to impersonate either."""

import asyncio
import base64
import hmac
import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from audiosim.errors import InputError
from service.access.callers import Caller, DeniedError
from service.access.issuer import FRESH_S, LONGEST_S, Issuer
from service.access.sign_in import Grant, Person, SignIn

jwt = pytest.importorskip("jwt", reason="PyJWT is not installed: audiosim[oidc]")

SMALL = "/v1/collections/small"
GRANTS = ["organiser=olga@example.org", "client@small=group:staff", "assessor=*"]


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
    assert SignIn(map(Grant.parse, GRANTS)).admit(person) == Caller(role, person.name, collection)


def test_nobody_gets_in_whom_no_grant_suits():
    with pytest.raises(DeniedError, match="ann has no role here: --grant gives one"):
        SignIn([Grant.parse("client=otto")]).admit(Person("ann"))


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
    asked = SignIn(map(Grant.parse, GRANTS), "X-Remote-User", "X-Groups", ["10.0.0.0/16"])
    assert asked.vouched(Headers({"X-Remote-User": "olga@example.org"}), peer) is None


@pytest.mark.parametrize("peer", ["10.0.3.4", "::ffff:10.0.3.4"])
def test_a_proxy_says_name_and_groups(peer):
    asked = SignIn(map(Grant.parse, GRANTS), "X-Remote-User", "X-Groups", ["10.0.0.0/16"])
    raw = [(b"x-remote-user", "Jürgen".encode()), (b"x-groups", b"staff, music"), (b"x-groups", b"choir")]
    assert asked.vouched(Headers(raw=raw), peer) == Person("Jürgen", frozenset({"staff", "music", "choir"}))
    assert asked.vouched(Headers({"X-Remote-User": " "}), peer) is None
    with pytest.raises(DeniedError, match="the header X-Remote-User occurs twice"):
        asked.vouched(Headers(raw=[(b"x-remote-user", b"olga@example.org"), (b"x-remote-user", b"ann")]), peer)


@pytest.mark.slow
def test_what_would_let_anybody_in_or_nobody_is_refused_at_the_start(run, folders):
    for options, message in (
        (
            ["--login-header", "X-User", "--grant", "assessor=*"],
            "anybody could send X-User: name the proxy",
        ),
        (["--login-header", "X-User", "--trusted-proxy", "127.0.0.1"], "nobody could sign in: give people a role"),
        (["--grant", "assessor=*"], "--grant and --groups-header need --login-header or --oidc-issuer"),
        (
            ["--oidc-issuer", "http://login.example.org", "--grant", "assessor=*"],
            "an issuer is the address of a service",
        ),
    ):
        code, _, said = run("serve", folders[0], "--port", 0, *options)
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
    options = ["--login-header", "X-Remote-User", "--trusted-proxy", "127.0.0.2"]
    options += [one for grant in GRANTS for one in ("--grant", grant)]
    with commanded(folders[:1], tmp_path / "log", *options) as server:
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
    options = ["--login-header", "X-Remote-User", "--trusted-proxy", "127.0.0.1", "--grant", "assessor=*"]
    with commanded(folders[:1], tmp_path / "log", *options) as server, server.client() as client:
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


ISSUER = """
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        if Path(sys.argv[1], "endless").is_file():
            return self.go_on()
        path = Path(sys.argv[1], self.path.rsplit("/", 1)[-1])
        body = path.read_bytes() if path.is_file() else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        with Path(sys.argv[1], "asked").open("a") as log:
            log.write(self.path + "\\n")

    def go_on(self):
        size, pause = json.loads(Path(sys.argv[1], "endless").read_text())
        self.send_response(200)
        self.end_headers()
        for sent in range(size, 600_000_000, size):
            try:
                self.wfile.write(b" " * size)
            except OSError:
                break
            time.sleep(pause)
        with Path(sys.argv[1], "sent").open("a") as log:
            log.write(f"{sent}\\n")

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Answer)
print(server.server_port, flush=True)
server.serve_forever()
"""


class LocalIssuer:
    """An issuer in its own process, with keys in the files of a folder."""

    def __init__(self, folder):
        self.folder, self.keys = folder, {}
        folder.mkdir()

    @contextmanager
    def running(self, port=0):
        process = subprocess.Popen(
            [sys.executable, "-c", ISSUER, self.folder, str(port)], stdout=subprocess.PIPE, text=True
        )
        try:
            self.url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
            about = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            (self.folder / "openid-configuration").write_text(json.dumps(about), encoding="utf-8")
            yield self
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def offer(self, *names, make=None):
        """Make any new keys, and offer only these.

        make  a private key; RSA of 2,048 bits if not given
        """
        from cryptography.hazmat.primitives.asymmetric import rsa

        for name in names:
            self.keys.setdefault(name, (make or (lambda: rsa.generate_private_key(65537, 2048)))())
        public = [{**described(self.keys[name].public_key()), "kid": name, "use": "sig"} for name in names]
        self.say({"keys": public})
        return public

    def say(self, document, what="keys"):
        text = document if isinstance(document, str) else json.dumps(document)
        (self.folder / what).write_text(text, encoding="utf-8")

    def go_on_for_ever(self, size, pause):
        """Answer endlessly with `size` bytes at a time, pausing after each."""
        self.say([size, pause], "endless")

    def token(self, key, algorithm="RS256", **claims):
        now = time.time()
        said = {"iss": self.url, "aud": "audiosim", "sub": "ann", "iat": now, "exp": now + 300} | claims
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, self.keys[key], algorithm, headers={"kid": key})

    @property
    def asked(self):
        """Number of times its keys were fetched."""
        path = self.folder / "asked"
        return path.read_text(encoding="utf-8").count("/keys") if path.exists() else 0


def described(public):
    """A key as a JWK without `alg`, by PyJWT."""
    algorithms = jwt.algorithms.get_default_algorithms()
    kinds = ("RS256", "ES256", "EdDSA")
    for kind in kinds:
        with suppress(TypeError, AttributeError, jwt.InvalidKeyError):
            return json.loads(algorithms[kind].to_jwk(public))
    raise AssertionError(public)


class Asked:
    """The service's side of an issuer, with a clock set by the test."""

    def __init__(self, url):
        self.now = 1000.0
        self.issuer = Issuer(url, "audiosim", clock=lambda: self.now)

    def holder(self, token):
        """The holder of a token after the keys were fetched, or the status of the refusal."""

        async def ask():
            await self.issuer.prepare(token)
            fetching = self.issuer._fetching
            try:
                return self.issuer.holder(token)
            except DeniedError as error:
                return error.status_code
            finally:
                self.issuer.close()
                if fetching is not None:
                    await asyncio.wait([fetching])

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A running issuer for the tests of this module to set."""
    with LocalIssuer(tmp_path_factory.mktemp("issuers") / "local").running() as issuer:
        yield issuer


@pytest.fixture
def offering(local):
    """That issuer with one key, called one."""
    (local.folder / "endless").unlink(missing_ok=True)
    local.offer("one")
    return local


ANN = ("ann", frozenset())


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"])
def test_all_algorithms_of_a_key_that_names_none_are_good(offering, algorithm):
    from cryptography.hazmat.primitives.asymmetric import ec

    curve = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}.get(algorithm)
    name = "one" if curve is None else algorithm
    if curve is not None:
        offering.offer(name, make=lambda: ec.generate_private_key(curve()))
    assert Asked(offering.url).holder(offering.token(name, algorithm)) == ANN


@pytest.mark.slow
def test_a_key_for_one_algorithm_verifies_no_other(offering):
    (public,) = offering.offer("one")
    offering.say({"keys": [public | {"alg": "PS256"}]})
    assert Asked(offering.url).holder(offering.token("one", "PS256")) == ANN
    assert Asked(offering.url).holder(offering.token("one", "RS256")) is None


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["not staff", "staff", {"staff": True}, 7, None])
def test_groups_that_are_no_list_are_none(offering, groups):
    assert Asked(offering.url).holder(offering.token("one", groups=groups)) == ANN
    assert Asked(offering.url).holder(offering.token("one", groups=["staff", 7])) == ("ann", frozenset({"staff"}))


BROKEN = [
    "",
    "[]",
    "null",
    "not JSON",
    "[" * 100_000,
    '{"keys": null}',
    '{"keys": {}}',
    '{"keys": []}',
    '{"keys": [null, 7, [], "x"]}',
    '{"keys": [{"kty": "RSA"}]}',
    '{"keys": [{"kty": 7, "kid": []}]}',
    '{"keys": [{"kty": "RSA", "kid": "one", "n": 7, "e": []}]}',
    '{"keys": [{"kty": "RSA", "kid": "one", "n": "AQAB", "e": "AQAB"}]}',
    '{"keys": [{"kty": "EC", "crv": "P-256", "kid": "one", "x": "AA", "y": null}]}',
    '{"keys": [{"kty": "oct", "kid": "one", "k": "c2VjcmV0"}]}',
]


@pytest.mark.slow
@pytest.mark.parametrize("document", BROKEN)
def test_a_broken_key_document_is_an_issuer_in_trouble(offering, document, caplog):
    offering.say(document)
    assert Asked(offering.url).holder(offering.token("one")) == 503
    assert "its keys cannot be fetched" in caplog.text
    public = offering.offer("one")
    if document.startswith('{"keys": [{'):  # an unreadable key leaves the others valid
        offering.say(document.replace("[{", f"[{json.dumps(public[0])}, {{", 1))
        assert Asked(offering.url).holder(offering.token("one")) == ANN


@pytest.mark.slow
def test_a_withdrawn_key_is_good_until_keys_are_fetched_again_and_no_longer(offering):
    asked, token = Asked(offering.url), offering.token("one")
    assert asked.holder(token) == ANN
    offering.offer("two")
    asked.now += FRESH_S - 1
    assert asked.holder(token) == ANN
    asked.now += 2
    assert asked.holder(token) is None
    assert asked.holder(offering.token("two")) == ANN


@pytest.mark.slow
def test_old_keys_serve_while_the_issuer_is_in_trouble_but_not_for_ever(offering):
    asked, token = Asked(offering.url), offering.token("one")
    assert asked.holder(token) == ANN
    offering.say("broken")
    offering.keys["new"] = offering.keys["one"]
    asked.now += FRESH_S + 1
    assert asked.holder(token) == ANN
    assert asked.holder(offering.token("new")) == 503  # it may be valid: only the issuer would know
    asked.now += LONGEST_S
    assert asked.holder(token) == 503


def test_tokens_that_do_not_name_the_issuer_start_no_fetch(offering):
    before, asked = offering.asked, Asked(offering.url)
    other = jwt.encode({"iss": "https://evil.example", "aud": "audiosim", "sub": "ann"}, offering.keys["one"], "RS256")
    unsigned = jwt.encode({"iss": offering.url, "aud": "audiosim", "sub": "ann"}, None, "none")
    nested = base64.urlsafe_b64encode(b"[" * 40_000).decode()
    for token in ("a.b.c", other, unsigned, f"{nested}.e30.x", ".."):
        assert asked.holder(token) is None
    assert offering.asked == before


def test_no_more_of_a_document_is_read_than_there_may_be(offering, wait_until):
    offering.go_on_for_ever(65_536, 0.001)
    asked = Asked(offering.url)
    assert asked.holder(offering.token("one")) == 503
    log = offering.folder / "sent"
    wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
    assert int(log.read_text()) < 8_000_000  # bytes already on their way; of 600 MB


@pytest.mark.slow
def test_an_issuer_that_trickles_holds_up_neither_requests_nor_the_end(commanded, folders, tmp_path, run):
    db = f"sqlite:///{tmp_path / 'campaign.db'}"
    own = run("token", "create", "--role", "organiser", "--name", "me", "--db", db)[1].split()[-1]
    issuer = LocalIssuer(tmp_path / "issuer")
    issuer.offer("one")
    issuer.go_on_for_ever(1, 1)
    with (
        issuer.running(),
        commanded(folders[:1], tmp_path / "log", *options_for(issuer), "--db", db) as server,
        server.client() as client,
    ):
        assert status(client, issuer.token("one")) == 503
        assert status(client, own) == 200
        assert client.get("/health/live", headers={"Authorization": f"Bearer {issuer.token('one')}"}).status_code == 200
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 45  # it used to go on for a minute


def signed_by_hand(token, secret):
    """The token with a signature made only from public data: PyJWT would not make it."""
    head = base64.urlsafe_b64encode(b'{"alg": "HS256", "kid": "one"}').rstrip(b"=")
    text = head + b"." + token.split(".")[1].encode()
    return (text + b"." + base64.urlsafe_b64encode(hmac.digest(secret, text, "sha256")).rstrip(b"=")).decode()


def status(client, token, path=f"{SMALL}/questions"):
    return client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code


def options_for(issuer):
    return ["--oidc-issuer", issuer.url, *(one for grant in GRANTS for one in ("--grant", grant))]


@contextmanager
def served_with(issuer, commanded, folders, tmp_path):
    """A client of a server that trusts the tokens of a running issuer."""
    with (
        issuer.running(),
        commanded(folders[:1], tmp_path / "log", *options_for(issuer)) as server,
        server.client() as client,
    ):
        yield client


@pytest.mark.slow
def test_tokens_of_an_issuer_are_held_against_its_keys_and_claims(commanded, folders, tmp_path):
    issuer = LocalIssuer(tmp_path / "issuer")
    issuer.offer("one")
    with served_with(issuer, commanded, folders, tmp_path) as client:
        now = time.time()
        assert status(client, issuer.token("one")) == 200
        assert status(client, issuer.token("one"), f"{SMALL}/campaign") == 403  # an assessor
        assert status(client, issuer.token("one", sub="olga@example.org"), f"{SMALL}/campaign") == 200
        assert status(client, issuer.token("one", sub="otto", groups=["staff"]), "/v1/models") == 200
        other = LocalIssuer(tmp_path / "other")
        other.url = issuer.url
        other.offer("one")
        public = (issuer.folder / "keys").read_bytes()
        bad = {
            "ended": issuer.token("one", exp=now - 60),
            "without an end": issuer.token("one", exp=None),
            "for another service": issuer.token("one", aud="elsewhere"),
            "by another issuer": issuer.token("one", iss="https://evil.example"),
            "not yet good": issuer.token("one", nbf=now + 600),
            "signed by another": other.token("one"),
            "not signed": jwt.encode(
                {"iss": issuer.url, "aud": "audiosim", "sub": "ann", "exp": now + 60}, None, "none"
            ),
            "signed by the public key": signed_by_hand(issuer.token("one"), public),
        }
        assert {name: status(client, token) for name, token in bad.items()} == dict.fromkeys(bad, 401)
        assert issuer.asked == 1
        opened = client.post("/v1/session", json={"token": issuer.token("one")}).json()
        assert (opened["name"], opened["role"]) == ("ann", "assessor")


@pytest.mark.slow
def test_keys_that_an_issuer_changes_are_fetched_again_and_not_for_every_token(commanded, folders, tmp_path):
    from service.access import issuer as ours

    issuer = LocalIssuer(tmp_path / "issuer")
    issuer.offer("one")
    with served_with(issuer, commanded, folders, tmp_path) as client:
        assert [status(client, issuer.token("one")) for _ in range(5)] == [200] * 5
        before = issuer.token("one")
        issuer.offer("two")
        time.sleep(ours.AGAIN_S)
        assert status(client, issuer.token("two")) == 200
        assert status(client, before) == 401
        assert issuer.asked == 2
        issuer.keys["three"] = issuer.keys["one"]
        assert [status(client, issuer.token("three")) for _ in range(4)] == [401] * 4
        assert issuer.asked == 2  # its keys were fetched a moment ago


@pytest.mark.slow
def test_an_issuer_that_is_away_stops_neither_the_start_nor_tokens_of_our_own(commanded, folders, tmp_path, run):
    db = f"sqlite:///{tmp_path / 'campaign.db'}"
    own = run("token", "create", "--role", "organiser", "--name", "me", "--db", db)[1].split()[-1]
    issuer = LocalIssuer(tmp_path / "issuer")
    issuer.offer("one")
    with issuer.running():
        token, options = issuer.token("one"), [*options_for(issuer), "--db", db]
    with commanded(folders[:1], tmp_path / "log", *options) as server, server.client() as client:
        assert status(client, own) == 200
        assert status(client, token) == 503
        assert server.says("its keys cannot be fetched")
        assert client.get("/health/ready").status_code == 200


@pytest.mark.slow
def test_without_its_extra_an_issuer_is_refused_in_one_line(tmp_path):
    code = (
        "import sys; sys.modules['jwt'] = None; "
        "from service.access.issuer import Issuer; Issuer('https://a.example', 'us')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr.strip().endswith("audiosim[oidc] installs it")


@pytest.mark.slow
def test_people_of_an_issuer_whose_names_look_the_same_are_different_people(commanded, folders, tmp_path):
    issuer, names = LocalIssuer(tmp_path / "issuer"), ("ann", "ANN", "Ann", "ａｎｎ")
    issuer.offer("one")
    with served_with(issuer, commanded, folders, tmp_path) as client:

        def ask(name, path, **body):
            headers = {"Authorization": f"Bearer {issuer.token('one', sub=name)}"}
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
        organiser = {"Authorization": f"Bearer {issuer.token('one', sub='olga@example.org')}"}
        lines = client.get(f"{SMALL}/judgments?format=log", headers=organiser).text.splitlines()
        rows = [json.loads(line) for line in lines]
        assert [row["assessor"] for row in rows if row["kind"] == "judgment"] == list(names)
        assert [row["assessor"] for row in rows if row["kind"] == "undo"] == ["ANN"]
    # A grant names one of them, and nobody with a similar-looking name.
    sign_in = SignIn(map(Grant.parse, ("organiser=ANN", "assessor=*")))
    assert [name for name in names if sign_in.admit(Person(name)).role == "organiser"] == ["ANN"]
