"""Nothing sent to an assessor's browser reveals the recordings: bodies and headers of all answers in a session."""

import shutil
from contextlib import contextmanager
from itertools import chain

import httpx
import numpy as np
import pytest
import soundfile

from audiosim.collection.collection import Collection
from audiosim.collection.values import FINE, Document, Run
from audiosim.service.access.access import Access
from audiosim.service.access.callers import scopes_of
from audiosim.service.access.tokens import TokenStore
from audiosim.service.app import create_app

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

PATIENCE = 1200  # tenths of a second
SYSTEMS = ("chroma-winner", "timbre-loser")
DOCUMENTS = ("Zappelmann_-_Nachtfahrt", "Quexbold_-_Meeresrauschen", "Wibberly_-_Fernlicht", "Ollapotz_-_Dampfkessel")
QUERY = "Vrenschtow_-_Sonnenaufgang"
TAG = "Kristallklangarchiv"
SECRETS = [*SYSTEMS, *chain.from_iterable(name.split("_-_") for name in (QUERY, *DOCUMENTS)), TAG, "geheimordner"]


def listening(tmp_path):
    """A collection with revealing names everywhere."""
    folder = tmp_path / "listening"
    known = {}
    (folder / "geheimordner").mkdir(parents=True)
    for number, name in enumerate((QUERY, *DOCUMENTS)):
        artist, title = name.split("_-_")
        path = folder / "geheimordner" / f"{name}.wav"
        with soundfile.SoundFile(path, "w", 22_050, 2) as sound:
            sound.title, sound.artist, sound.comment = title, artist, TAG
            sound.write(0.3 * np.sin(np.arange(2 * 22_050) * (0.05 + 0.02 * number))[:, None].repeat(2, axis=1))
        assert TAG.encode() in path.read_bytes()  # there is something to hide
        known[name] = Document(name, artist=artist, path=f"geheimordner/{name}.wav")
    runs = tuple(
        Run(system, {QUERY: order}) for system, order in zip(SYSTEMS, (DOCUMENTS[:3], DOCUMENTS[1:]), strict=True)
    )
    Collection("listening", "listening", FINE, 3, runs, known).save(tmp_path / "saved")
    shutil.copytree(tmp_path / "saved", folder, dirs_exist_ok=True)
    return folder


@contextmanager
def started(commanded, tmp_path, *options):
    """A server of that collection, the token of an assessor, and one of an organiser."""
    folder = listening(tmp_path)
    database = f"sqlite:///{tmp_path / 'invited.db'}"
    store = TokenStore(database)
    tokens = store.create("Ann", "assessor"), store.create("Olga", "organiser")
    store.close()
    with commanded([folder], tmp_path / "log", *options, "--db", database, AUDIOSIM_LISTEN="0") as running:
        yield running, *tokens


@pytest.fixture
def invited(commanded, tmp_path):
    """The server, with two candidates on a page."""
    with started(commanded, tmp_path, "--candidates", 2) as found:
        yield found


def recorded(page):
    """Everything that a page receives from now on: address, headers and body of each answer."""
    found = []

    def pass_on(route):
        answer = route.fetch()
        found.append((route.request.url, answer.headers, answer.body()))
        route.fulfill(response=answer)

    page.context.route("**/*", pass_on)
    return found


def leaks(found):
    """Secrets found in answers, and their addresses."""
    return [
        (secret, url)
        for url, headers, body in found
        for secret in SECRETS
        if secret.lower() in f"{url}{headers}".lower() or secret.lower().encode() in body.lower()
    ]


def test_a_browser_learns_nothing_of_system_artist_or_title(browse, invited):
    server, token, organiser = invited
    page = browse()
    found = recorded(page)
    page.goto(f"/judge/listening?listen=0&batch=2#token={token}")
    page.locator("#skip-training").click()
    expect(page.locator("#several-where")).to_have_text("Pairs 1 to 2 of 2")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    for key in ("a", "1", "ArrowRight", "b", "2", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator("#batch-title")).to_have_text("Batch done")
    with server.client() as http:
        http.headers["Authorization"] = f"Bearer {organiser}"
        for _ in range(PATIENCE):
            events = http.get("/v1/collections/listening/log").json()["events"]
            kept = [one for one in events if one["kind"] == "judgment"]
            if len(kept) == 2:
                break
            page.wait_for_timeout(100)  # lets the page's own requests pass
    assert {one["query"] for one in kept} == {QUERY}  # aliases stay in the browser; the log has the names
    assert {one["document"] for one in kept} <= set(DOCUMENTS)
    page.reload()
    expect(page.locator("#start-title")).to_have_text("Welcome back")
    page.goto("/")
    page.wait_for_load_state("networkidle")
    page.context.unroute_all(behavior="ignoreErrors")
    sounds = [(headers, body) for url, headers, body in found if "/sound?" in url]
    assert len(sounds) >= 3
    assert {(one["last-modified"], one["content-type"]) for one, _ in sounds} == {
        ("Thu, 01 Jan 1970 00:00:00 GMT", "audio/flac")
    }
    assert all(body.startswith(b"fLaC") for _, body in sounds)
    assert leaks(found) == []


@pytest.mark.slow
def test_an_assessor_who_asks_by_hand_learns_nothing_either(invited, tmp_path):
    server, token, organiser = invited
    folder = tmp_path / "listening" / "geheimordner"
    received = []

    def keep(answer: httpx.Response) -> None:
        answer.read()
        received.append((str(answer.request.url), dict(answer.headers), answer.content))

    one = "/v1/collections/listening"
    with server.client() as http:
        http.headers["Authorization"] = f"Bearer {token}"
        http.event_hooks["response"].append(keep)
        for path in ("/v1/collections", one, f"{one}/questions", f"{one}/status", f"{one}/answers"):
            assert http.get(path).status_code == 200
        first, second = http.post(f"{one}/next", json={"count": 2}).json()["pairs"]
        said = {"query": first["query"], "document": first["document"]}
        assert http.post(f"{one}/judgments", json={**said, "fine": 40}).json()["document"] == first["document"]
        assert http.post(f"{one}/judgments", json={**said, "fine": 400}).status_code == 422
        assert http.post(f"{one}/judgments", json={**said, "document": "no such"}).status_code == 422
        key = {"Idempotency-Key": "once"}
        kept = http.post(f"{one}/judgments", json={**said, "fine": 50}, headers=key).json()["number"]
        asked = {"moment": "before", "answers": {"age": "30"}}
        assert http.post(f"{one}/undo", json={}, headers=key).status_code == 422
        assert http.post(f"{one}/undo", json={"number": kept + 1}).status_code == 422
        assert http.post(f"{one}/questionnaire", json=asked).status_code == 422
        assert http.post(f"{one}/questionnaire", json={"moment": "before"}, headers=key).status_code == 422
        assert http.post(f"{one}/questionnaire", json={"moment": "before"}).status_code == 422
        assert http.post(f"{one}/undo", json={}).status_code == 201
        assert http.post(f"{one}/undo", json={"number": kept}).status_code == 422
        assert http.post(f"{one}/undo", json={}).status_code == 201
        for address in (second["document_sound"], second["document_peaks"], second["query_sound"]):
            assert http.get(address).status_code == 200
        assert http.get(f"{one}/ranking").status_code == 403
        sounds = {path: path.read_bytes() for path in folder.iterdir()}
        for path in sounds:
            path.write_bytes(b"no sound any more")
        for address in (second["document_sound"], second["document_peaks"]):
            broken = http.get(address)
            assert broken.status_code == 422
            assert str(folder) not in broken.text
        for path, sound in sounds.items():
            path.write_bytes(sound)
        assert leaks(received) == []
        guessed, unknown = (
            http.post(f"{one}/judgments", json={**said, "document": name, "fine": 40}).json()
            for name in (DOCUMENTS[0], "no such")
        )
        assert guessed["detail"].replace(DOCUMENTS[0], "no such") == unknown["detail"]
        assert [http.get(f"/v1/documents/{name}/sound").status_code for name in (DOCUMENTS[0], "no such")] == [404, 404]
        received.clear()  # drops the assessor's own requests
        http.headers["Authorization"] = f"Bearer {organiser}"
        assert leaks(received) == []
        plain = http.post(f"{one}/next", json={"assessor": "Ann", "count": 2}).json()["pairs"]
        assert {pair["query"] for pair in plain} == {QUERY}  # the organiser reads names
        whole = http.get(plain[0]["document_sound"])
        assert TAG.encode() in whole.content
        assert leaks(received) != []


ONE = "/v1/collections/listening"
PLACES = {"collection": "listening", "number": "1", "version": "x"}
AT_LAST = ("DELETE", "/v1/session")  # ends the session
COMPARISONS = ("/v1/collections/{collection}/comparisons/next", "/v1/collections/{collection}/comparisons")


def reachable():
    """Method and path of each route of the application that is open with an assessor's token, or without a token."""
    app = create_app([Collection("one", "one", FINE, 1, (Run("S", {"q": ("d",)}),))], access=Access(locked=True))
    return {
        (method, route.path)
        for route in app.routes
        if scopes_of(route) & {"assessor", "public"}
        for method in route.methods | ({"HEAD"} if "GET" in route.methods else set())
    }


def examined(pair, link, token):
    """Requests to examine, by method and path of their route: an allowed status, and the content sent."""
    said = {"query": pair["query"], "document": pair["document"]}
    code = link.rpartition("/")[2]
    joining = {"code": code, "device": "0123456789abcdef"}
    collection = "/v1/collections/{collection}"
    gets = {
        "/health/live": 200,
        "/health/ready": 200,
        "/openapi.json": 200,
        "/v1/collections": 200,
        "/v1/scales": 200,
        collection: 200,
        f"{collection}/questions": 200,
        f"{collection}/status": 200,
        f"{collection}/answers": 200,
        f"{collection}/completion": 200,
        f"{collection}/personal-data": 200,
        "/v1/session": 200,
        "/": 200,
        "/create": 200,
        "/docs": 200,
        "/judge/{collection}": 200,
        "/organise/{collection}": 200,
        "/results/{collection}": 200,
        "/published/{collection}": 404,  # publications are for everybody; nothing is published here
        "/published/{collection}/{number}/{name:path}": 404,
        "/static/{version}/{name:path}": 404,
    }
    found = {("GET", path): [(status, path, {})] for path, status in gets.items()}
    found |= {
        ("GET", f"{collection}/join"): [(200, f"{collection}/join?code={code}", {})],
        ("GET", "/join/{collection}/{code}"): [(200, link, {})],
        ("GET", "/v1/documents/{document:path}/sound"): [
            (200, pair["document_sound"], {}),
            (200, pair["query_sound"], {}),
        ],
        ("GET", "/v1/documents/{document:path}/peaks"): [(200, pair["document_peaks"], {})],
        ("POST", f"{collection}/next"): [(200, f"{collection}/next", {"count": 2})],
        ("POST", f"{collection}/judgments"): [
            (201, f"{collection}/judgments", said | {"fine": 40}),
            (422, f"{collection}/judgments", said | {"fine": 400}),
        ],
        ("POST", f"{collection}/undo"): [(201, f"{collection}/undo", {}), (422, f"{collection}/undo", {"number": 1})],
        ("POST", f"{collection}/questionnaire"): [(422, f"{collection}/questionnaire", {"moment": "before"})],
        ("POST", f"{collection}/join"): [(200, f"{collection}/join", joining)],
        ("POST", "/v1/session"): [(200, "/v1/session", {"token": token})],
        ("POST", f"{collection}/forget"): [(422, f"{collection}/forget", {})],
        ("DELETE", "/v1/session"): [(200, "/v1/session", {})],
    }
    return found | {("HEAD", path): some for (method, path), some in found.items() if method == "GET"}


def ask(http, method, path, body):
    for name, value in {**PLACES, "name:path": "index.html"}.items():
        path = path.replace(f"{{{name}}}", value)
    return http.request(method, path, **({"json": body} if method == "POST" else {}))


@pytest.mark.slow
def test_every_route_that_an_assessor_reaches_says_nothing_of_what_is_heard(commanded, tmp_path):
    received, statuses = [], {}

    def keep(answer):
        answer.read()
        received.append((str(answer.request.url), dict(answer.headers), answer.content))

    with started(commanded, tmp_path) as (server, token, organiser), server.client() as http:
        olga = {"Authorization": f"Bearer {organiser}"}
        link = http.post(f"{ONE}/open-links", json={"name": "crowd"}, headers=olga).json()["link"]
        http.headers["Authorization"] = f"Bearer {token}"
        (pair,) = http.post(f"{ONE}/next", json={"count": 1}).json()["pairs"]
        http.event_hooks["response"].append(keep)
        requests = examined(pair, link, token)
        # A new route fails here until it is examined above, or among the comparisons.
        assert {*requests, *(("POST", path) for path in COMPARISONS)} == reachable()
        for (method, route), some in sorted(requests.items(), key=lambda one: one[0] == AT_LAST):
            for expected, path, body in some:
                statuses[method, route, expected] = ask(http, method, path, body).status_code
    assert {one: status for one, status in statuses.items() if one[2] != status} == {}
    assert leaks(received) == []


def test_comparisons_say_nothing_of_what_is_heard_either(commanded, tmp_path):
    received = []
    with started(commanded, tmp_path, "--comparisons", "only") as (server, token, _), server.client() as http:
        http.headers["Authorization"] = f"Bearer {token}"
        http.event_hooks["response"].append(
            lambda answer: received.append((str(answer.request.url), dict(answer.headers), answer.read()))
        )
        (found,) = http.post(f"{ONE}/comparisons/next", json={}).json()["comparisons"]
        said = {name: found[name] for name in ("query", "document_a", "document_b")}
        assert http.post(f"{ONE}/comparisons", json=said | {"answer": "a"}).status_code == 201
        assert http.post(f"{ONE}/comparisons", json=said | {"answer": "c"}).status_code == 422
    assert leaks(received) == []
