"""Publications over HTTP: a public page with its bundle, which only an organiser can make or withdraw."""

import io
import json
import re
import zipfile

import pytest

from audiosim.errors import InputError
from audiosim.service.access.callers import scopes_of
from audiosim.service.collections.publications import MOST_BYTES, PublicationStore, file_in
from audiosim.service.collections.served import NotServedError
from audiosim.service.operations import publication

PLACE = "/v1/collections/small/publications"


@pytest.fixture(scope="module")
def server(commanded, folders, tmp_path_factory):
    root = tmp_path_factory.mktemp("published")
    with commanded(folders[:1], root / "log", "--db", f"sqlite:///{root / 'campaign.db'}") as running:
        yield running


@pytest.mark.slow
def test_a_publication_is_read_by_anybody_and_names_nobody(server):
    with server.client() as client:
        assert client.get("/published/small").status_code == 404
        pair = client.post("/v1/collections/small/next", json={"assessor": "catherine", "count": 1}).json()["pairs"][0]
        said = {"query": pair["query"], "document": pair["document"], "grade": 40, "assessor": "catherine"}
        assert client.post("/v1/collections/small/judgments", json=said | {"note": "I am catherine"}).is_success
        asked = {"authors": ["Ann Smith", "B. <b>"], "licence": "CC-BY-4.0", "words": "Four systems.\n\nTwo people."}
        made = client.post(PLACE, json=asked)
        assert made.status_code == 201, made.text
        one = made.json()
        assert (one["number"], one["page"], one["withdrawn"]) == (1, "/published/small/1/", None)
        page = client.get(one["page"])
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers.get_list("content-security-policy") == [page.headers["content-security-policy"]]
        assert "script-src" not in page.headers["content-security-policy"]  # the default is none
        for words in ("Ann Smith", "B. &lt;b&gt;", "<p>Two people.</p>", "CC-BY-4.0", "Who judged"):
            assert words in page.text
        assert "last wording" not in page.text  # no question was changed
        whole = client.get(one["bundle"]).content
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            files = {name.split("/")[1]: archive.read(name) for name in archive.namelist()}
        assert all(b"catherine" not in content for content in files.values())
        assert all(b'"assessor": "person-' in line for line in files["log.jsonl"].splitlines())
        assert b",person-1," in files["judgments.csv"]
        assert client.get(f"{one['page']}judgments.csv").content == files["judgments.csv"]
        assert client.get(f"{one['page']}../../../etc/passwd").status_code == 404
        assert client.get(f"{one['page']}nothing.csv").json()["detail"] == "this publication has no such file"
        assert client.get("/published/small", follow_redirects=True).text == page.text
        assert b"catherine" in file_in(_named(client), "log.jsonl")
        listed = client.post(f"{PLACE}/withdraw", json={"number": 1}).json()["publications"]
        assert [(entry["number"], entry["withdrawn"] is None) for entry in listed] == [(2, True), (1, False)]
        gone = client.get(one["page"])
        assert (gone.status_code, gone.json()["detail"]) == (404, "this publication was withdrawn by its organiser")
        twice = client.post(f"{PLACE}/withdraw", json={"number": 1})
        assert twice.json()["detail"] == "small has no publication 1 that could be withdrawn"
        assert client.get(PLACE).json()["publications"] == listed


@pytest.mark.slow
def test_a_publication_has_the_wordings_with_which_grades_were_asked_for(commanded, folders, tmp_path):
    options = ("--db", f"sqlite:///{tmp_path / 'campaign.db'}")
    with commanded(folders[:1], tmp_path / "log", *options) as running, running.client() as client:

        def published():
            page = client.get(client.post(PLACE, json={}).json()["page"]).text
            return re.search("<dt>What they were asked</dt><dd>(.*?)</dd>", page)[1]

        def reword(question):
            assert client.post("/v1/collections/small/texts", json={"question": question}).is_success

        def judge():
            (pair,) = client.post("/v1/collections/small/next", json={"assessor": "ann"}).json()["pairs"]
            said = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "grade": 40}
            assert client.post("/v1/collections/small/judgments", json=said).status_code == 201

        reword("Is it close?")  # before the first judgment: nobody was asked otherwise
        judge()
        assert published() == "Is it close?"
        reword("Is it near?")
        reword("Is it alike?")
        assert published().startswith("Is it alike? This is the last wording. ")
        assert published().endswith(" when the question was “Is it close?”.")  # nobody was asked whether it is near


def _named(client):
    made = client.post(PLACE, json={"named": True}).json()
    return client.get(made["bundle"]).content


def test_a_licence_or_author_that_is_none_is_refused(server):
    with server.client() as client:
        for wrong in ({"licence": "mine"}, {"authors": [""]}, {"authors": ["\u202e\n"]}, {"unknown": 1}):
            assert client.post(PLACE, json=wrong).status_code == 422, wrong


def test_it_is_the_organiser_s():
    scopes = {route.path: scopes_of(route) for route in publication.router.routes}
    assert set(map(frozenset, scopes.values())) == {frozenset({"organiser"})}


def test_a_service_that_keeps_nothing_publishes_nothing():
    store = PublicationStore(None)
    with pytest.raises(InputError, match="this service keeps nothing, so it cannot publish: start it with a database"):
        store.publish("small", "ann", 1, b"")
    assert store.published("small") == []
    with pytest.raises(NotServedError, match="there is no such publication"):
        store.content("small", 1)


def test_a_bundle_too_large_for_a_page_is_refused(tmp_path):
    store = PublicationStore(f"sqlite:///{tmp_path / 'campaign.db'}")
    with pytest.raises(InputError, match=r"the bundle has 52,428,801 bytes, and a page may have 52,428,800: download"):
        store.publish("small", "ann", 1, bytes(MOST_BYTES + 1))
    assert store.publish("small", "ann", 1, b"one").number == 1
    store.withdraw("small", 1)
    assert store.publish("small", "ann", 1, b"two").number == 2  # numbers are never reused
    assert store.content("small", 2) == b"two"


@pytest.mark.slow
def test_the_record_says_what_was_published(server):
    with server.client() as client:
        made = client.post(PLACE, json={}).json()
        value = json.loads(client.get(f"{made['page']}record.json").content)
        assert made["judgments"] >= value["judged"] > 0
