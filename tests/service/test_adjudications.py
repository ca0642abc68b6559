"""Giving a disputed pair to a person over HTTP; tokens determine who is invited."""

import json

import msgspec
import pytest

from audiosim.errors import InputError
from audiosim.service.access.tokens import TokenStore
from audiosim.service.client import Client

COARSE = "/v1/collections/coarse"
QUEUE = f"{COARSE}/adjudications"


@pytest.fixture
def started(commanded, folders, tmp_path):
    """Starts a server on one database at each call, and returns a function that sends requests as a person."""
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    store = TokenStore(url)
    made = {name: store.create(name, "assessor", "coarse") for name in ("ann", "bob", "carol")}
    made |= {"me": store.create("me", "organiser"), "sam": store.create("sam", "assessor", "small")}
    store.close()

    def start(use):
        with (
            commanded(folders, tmp_path / "log", "--db", url, AUDIOSIM_UNASKED="count") as server,
            server.client() as http,
        ):

            def ask(method, path, who, status, **more):
                answer = http.request(method, path, headers={"Authorization": f"Bearer {made[who]}"}, **more)
                assert answer.status_code == status, answer.text
                return answer.json()

            return use(ask)

    return start


@pytest.mark.slow
def test_a_pair_waits_for_the_person_asked_across_a_restart_and_its_decision_is_listed(started):
    def before(ask):
        (found,) = ask("POST", f"{COARSE}/next", "ann", 200, json={})["pairs"]
        ask(
            "POST",
            f"{COARSE}/judgments",
            "ann",
            201,
            json={"query": found["query"], "document": found["document"], "grade": 0},
        )
        (row,) = (one for one in ask("GET", f"{COARSE}/log", "me", 200)["events"] if one["kind"] == "judgment")
        # The organiser has the names of the pair, ann its aliases.
        pair = {"query": row["query"], "document": row["document"]}
        asked = ask("POST", QUEUE, "me", 201, json={**pair, "assessor": "carol"})
        assert ask("POST", QUEUE, "me", 200, json={**pair, "assessor": "carol"}) == asked | {"replayed": True}
        for name, message in (
            (
                "ann",
                f"ann has judged document {pair['document']} for query {pair['query']} already: expected a person "
                "who has not",
            ),
            ("sam", "sam is not invited to judge coarse: invite them first"),
            ("zoe", "zoe is not invited to judge coarse: invite them first"),
        ):
            assert ask("POST", QUEUE, "me", 422, json={**pair, "assessor": name})["detail"] == message
        nowhere = ask("POST", QUEUE, "me", 422, json={**pair, "document": "nowhere", "assessor": "carol"})
        assert "nowhere" in nowhere["detail"]
        ask("POST", QUEUE, "ann", 403, json={**pair, "assessor": "carol"})
        ask("GET", QUEUE, "carol", 403)
        return pair, asked["number"]

    def after(ask):
        expected = {"number": number, **pair, "assessor": "carol", "status": "waiting", "grade": None}
        (waiting,) = ask("GET", QUEUE, "me", 200)["adjudications"]
        assert waiting == expected | {"time": waiting["time"]}
        (handed,) = ask("POST", f"{COARSE}/next", "carol", 200, json={})["pairs"]
        assert (handed["why"], handed["second"], handed["again"]) == ("adjudication", True, False)
        body = {"query": handed["query"], "document": handed["document"], "grade": 2}
        ask("POST", f"{COARSE}/judgments", "carol", 201, json=body)
        (decided,) = ask("GET", QUEUE, "me", 200)["adjudications"]
        assert decided == waiting | {"status": "judged", "grade": 2}

    pair, number = started(before)
    started(after)


def test_the_client_gives_a_pair_to_a_person_and_lists_it(another):
    with Client(another.url) as client:
        (pair,) = client.next("coarse", assessor="ann").pairs
        client.judge("coarse", pair.query, pair.document, broad=1, assessor="ann")
        asked = client.organiser.ask_adjudication("coarse", pair.query, pair.document, "carol")
        again = client.organiser.ask_adjudication("coarse", pair.query, pair.document, "carol")
        assert (again.number, again.replayed) == (asked.number, True)
        (waiting,) = client.organiser.adjudications("coarse").adjudications
        assert (waiting.number, waiting.assessor, waiting.status) == (asked.number, "carol", "waiting")
        assert (waiting.query, waiting.document) == (pair.query, pair.document)
        with pytest.raises(InputError, match="ann has judged document .* already: expected a person who has not"):
            client.organiser.ask_adjudication("coarse", pair.query, pair.document, "ann")


@pytest.mark.slow
def test_the_command_gives_a_pair_to_a_person_and_lists_what_was_decided(run, another):
    where = f"{another.url}/v1/collections/coarse"
    code, said, _ = run("adjudicate", where)
    assert (code, said) == (0, "coarse: no pair has been given to anyone\n")
    with Client(another.url) as client:
        (pair,) = client.next("coarse", assessor="ann").pairs
        client.judge("coarse", pair.query, pair.document, broad=1, assessor="ann")
        code, said, _ = run("adjudicate", where, pair.query, pair.document, "carol", "--format", "json")
        (waiting,) = json.loads(said)["adjudications"]
        listed = client.organiser.adjudications("coarse").adjudications
        assert [msgspec.to_builtins(one) for one in listed] == [waiting]
        client.judge("coarse", pair.query, pair.document, broad=2, assessor="carol")
    decided = waiting | {"status": "judged", "grade": 2}
    assert json.loads(run("adjudicate", where, "--format", "json")[1])["adjudications"] == [decided]
    table = run("adjudicate", where)[1]
    assert all(text in table for text in (pair.query, pair.document, "carol", "judged"))
    code, _, said = run("adjudicate", where, pair.query, pair.document, "ann")
    assert code == 1
    assert f"ann has judged document {pair.document} for query {pair.query} already: expected a person who" in said


def test_the_command_refuses_half_a_pair_and_an_address_of_no_collection(run):
    code, _, said = run("adjudicate", "http://127.0.0.1:9/v1/collections/coarse", "q1")
    assert code == 2
    assert "expected QUERY DOCUMENT ASSESSOR, or none of them" in " ".join(said.replace("│", " ").split())
    code, _, said = run("adjudicate", "http://127.0.0.1:9")
    expected = "expected the address of a collection, such as http://127.0.0.1:9/v1/collections/NAME"
    assert (code, said) == (1, f"audiosim: http://127.0.0.1:9: {expected}\n")
