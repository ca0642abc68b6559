"""Links to live results show the ranking, open nothing else, and end when they are revoked."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from audiosim.errors import InputError
from audiosim.service.access.access import Access
from audiosim.service.access.tokens import TokenStore

COARSE = "/v1/collections/coarse"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('links') / 'campaign.db'}"


@pytest.fixture(scope="module")
def locked(commanded, folders, tmp_path_factory, database):
    """A server that requires tokens; sends requests with the organiser's token, or another one."""
    store = TokenStore(database)
    secrets = {"olga": store.create("olga", "organiser"), "ann": store.create("ann", "assessor")}
    secrets["sam"] = store.create("sam", "organiser", "small")
    store.close()
    with (
        commanded(folders, tmp_path_factory.mktemp("links") / "log", "--db", database) as running,
        httpx.Client(base_url=running.url, timeout=180) as client,
    ):

        def call(method, path, who="olga", **more):
            headers = {"Authorization": f"Bearer {secrets.get(who, who)}"}
            return client.request(method, path, headers=headers, **more)

        yield call


def token_of(made):
    assert made.status_code == 201, made.text
    link = urlsplit(made.json()["link"])
    assert link.path == "/results/coarse"
    assert link.query == ""
    (token,) = parse_qs(link.fragment)["token"]
    return token


def test_a_link_shows_what_the_ranking_says(locked):
    token = token_of(locked("POST", f"{COARSE}/links", json={"name": "board"}))
    shown = locked("GET", f"{COARSE}/results", token)
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    ranking, found = locked("GET", f"{COARSE}/ranking").json(), shown.json()
    same = ("systems", "pairs", "confidence", "judged", "pool", "measure", "state", "sentence", "about", "fit")
    assert {key: found[key] for key in same} == {key: ranking[key] for key in same}
    assert (found["status"], found["words"]) == ("open", "these queries")


# Every documented operation, requested with the names of an example, so that future routes are included.
@pytest.mark.slow
def test_a_link_opens_one_operation_and_nothing_else(locked):
    token = token_of(locked("POST", f"{COARSE}/links", json={"name": "everything"}))
    document = locked("GET", "/openapi.json").json()
    opened = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            filled = path.replace("{collection}", "coarse").replace("{model}", "uniform")
            for one in operation.get("parameters", []):
                filled = filled.replace(f"{{{one['name']}}}", str(one.get("example", "x")))
            body = {"token": token} if path == "/v1/session" else {"name": "x"}
            answer = locked(method.upper(), filled, token, json=body)
            if answer.status_code != 403:
                opened.add((operation["operationId"], answer.status_code))
    without_token = {("live", 200), ("ready", 200), ("close_session", 200)}  # removes a cookie, if there is one
    without_token |= {("show_entry", 422), ("join_campaign", 422)}  # of open links, which need a code
    without_token |= {("latest_publication", 404), ("published_file", 404)}  # for everybody, and nothing is published
    assert opened - without_token == {("show_results", 200)}
    assert len(document["paths"]) > 40


def test_a_link_is_of_one_collection_and_makes_no_session(locked):
    token = token_of(locked("POST", f"{COARSE}/links", json={"name": "one"}))
    assert locked("GET", "/v1/collections/small/results", token).status_code == 403
    session = locked("POST", "/v1/session", token, json={"token": token})
    assert session.status_code == 403
    assert "set-cookie" not in session.headers
    assert session.json()["detail"] == "this token is part of a link to results, which opens nothing else"


def test_those_who_judge_see_no_results_and_make_no_links(locked):
    for method, path in [("GET", "results"), ("GET", "links"), ("POST", "links"), ("POST", "links/revoke")]:
        assert locked(method, f"{COARSE}/{path}", "ann", json={"name": "x"}).status_code == 403, path
        assert locked(method, f"{COARSE}/{path}", "sam", json={"name": "x"}).status_code == 403, path


def test_links_are_listed_without_their_tokens_and_end_at_once_when_they_are_revoked(locked):
    token = token_of(locked("POST", f"{COARSE}/links", json={"name": "press", "days": 2}))
    shown = locked("GET", f"{COARSE}/links")
    press = next(one for one in shown.json()["links"] if one["name"] == "press")
    ends = datetime.fromisoformat(press["expires"]) - datetime.now(UTC)
    assert timedelta(days=2) - timedelta(minutes=5) < ends <= timedelta(days=2)
    assert token not in shown.text
    assert "audiosim_" not in shown.text
    again = locked("POST", f"{COARSE}/links", json={"name": "press"})
    assert again.json()["detail"] == "there is a link for press already; revoke it first, or take another name"
    assert locked("GET", f"{COARSE}/results", token).status_code == 200
    left = locked("POST", f"{COARSE}/links/revoke", json={"name": "press"})
    assert "press" not in [one["name"] for one in left.json()["links"]]
    assert locked("GET", f"{COARSE}/results", token).status_code == 401
    gone = locked("POST", f"{COARSE}/links/revoke", json={"name": "press"})
    assert gone.status_code == 422
    assert gone.json()["detail"] == "there is no link for 'press' to the results of coarse"


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x", "days": 0}, {"name": "x", "role": "organiser"}])
def test_a_link_that_makes_no_sense_is_refused(locked, body):
    assert locked("POST", f"{COARSE}/links", json=body).status_code == 422


def test_where_there_are_no_tokens_a_link_holds_none(http):
    made = http.post(f"{COARSE}/links", json={"name": "board"})
    assert made.json() == {"name": "board", "link": "/results/coarse", "expires": None}
    assert http.get(f"{COARSE}/results").status_code == 200
    assert http.get(f"{COARSE}/links").json() == {"tokens": False, "links": []}
    refused = http.post(f"{COARSE}/links/revoke", json={"name": "board"})
    assert refused.json()["detail"] == "this service has no tokens, so no link can be revoked"


def test_links_outlive_the_store_and_stand_apart_from_tokens(tmp_path):
    url = f"sqlite:///{tmp_path / 't.db'}"
    first, second = TokenStore(url), TokenStore(url)
    assert second.links() == []
    secret = first.share("board", "coarse")
    assert first.tokens() == []
    assert not first.was_used()
    assert [(one.name, one.collection, one.role) for one in second.links()] == [("board", "coarse", "reader")]
    assert TokenStore(url, reading=True).links() == second.links()
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert first.share("board", "small") != secret
    with pytest.raises(InputError, match="there is no link for 'board' to the results of other"):
        second.unshare("board", "other")
    first.close()
    second.close()


def test_where_all_tokens_have_ended_a_link_is_nobody_who_gets_in(tmp_path):
    store = TokenStore(f"sqlite:///{tmp_path / 't.db'}")
    store.create("olga", "organiser")
    store.share("board", "coarse")
    store.revoke("olga")
    assert Access(tokens=store).deserted
    with pytest.raises(InputError, match="unknown role 'reader'"):
        store.create("ann", "reader")
    store.close()
