"""An organiser changes texts of a running campaign: title, task, prompts; and adds queries."""

import shutil

import pytest

from audiosim.campaign.reader import with_log
from audiosim.collection.collection import Collection, prompts_of
from audiosim.collection.written import write_run
from audiosim.errors import InputError
from audiosim.service.access.callers import scopes_of
from audiosim.service.client import Client
from audiosim.service.operations import texts

SMALL = "/v1/collections/small"
TASK = """question = "Which is closer?"
consent = "I agree to be counted."
control = "buttons"
labels = ["far", "rather far", "between", "rather near", "near"]
steps = 5
kept_until = 2027-12-31
break_after = 20

[[before]]
name = "years"
kind = "slider"
text = "Years of lessons?"
range = [0, 40]
required = true

[[training]]
query = "q1"
document = "d01"
grade = 0
text = "Far apart."
"""


@pytest.fixture
def folder(folders, tmp_path):
    """The small collection with its own task."""
    made = shutil.copytree(folders[0], tmp_path / "small")
    (made / "task.toml").write_text(TASK, encoding="utf-8")
    return made


@pytest.fixture
def served(commanded, folder, tmp_path):
    """A client of a server with this folder and no database."""
    with commanded([folder], tmp_path / "log", "--model", "uniform") as server, Client(server.url) as client:
        yield client


def judge(client, grade=80, assessor="zoe"):
    (pair,) = client.next("small", assessor=assessor).pairs
    client.judge("small", pair.query, pair.document, fine=grade, assessor=assessor)
    return pair


def asked(http):
    """Heading, instructions, consent and scale of the page."""
    said = http.get(f"{SMALL}/questions").json()
    grade = said["questions"][0]
    return [said["heading"], said["instructions"], said["consent"]], [grade["levels"], grade["words"]]


@pytest.mark.slow
def test_changed_texts_are_read_by_everybody_and_judgments_and_scale_stay(
    commanded, folder, tmp_path, wait_until, check_close
):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    new = {
        "title": "Evening",
        "question": "Which fits „better“?",
        "instructions": 'Two\nlines, "quoted".',
        "languages": "en, de",
    }
    with (
        commanded([folder], tmp_path / "one", "--db", url) as one,
        commanded([folder], tmp_path / "two", "--db", url) as two,
        Client(one.url) as client,
        one.client() as http,
        two.client() as other,
    ):
        judge(client)
        texts_before, scale = asked(http)
        assert texts_before == ["Which is closer?", "", "I agree to be counted."]
        judged, ranking = http.get(f"{SMALL}/judgments?format=csv").text, http.get(f"{SMALL}/ranking").json()
        done = client.organiser.change_texts("small", **new, reason="people asked", key="once")
        assert client.organiser.change_texts("small", **new, reason="people asked", key="once").replayed
        assert (done.kind, done.details) == ("words", new | {"reason": "people asked"})
        expected = ([new["question"], new["instructions"], "I agree to be counted."], scale)
        assert asked(http) == expected
        wait_until(lambda: asked(other) == expected)
        assert other.get(f"{SMALL}/texts").json()["title"] == "Evening"
        assert http.get(f"{SMALL}/judgments?format=csv").text == judged
        check_close(http.get(f"{SMALL}/ranking").json() | {"state": 0}, ranking | {"state": 0})
        judge(client, assessor="yan")
    with commanded([folder], tmp_path / "again", "--db", url) as again, again.client() as http:
        assert asked(http) == expected
        found = http.get(f"{SMALL}/texts").json()
        assert {name: found[name] for name in new} == new
        assert found["changed"]["number"] == done.number
        assert [one["name"] for one in http.get("/v1/collections").json()] == ["Evening"]
    exported = with_log(url, Collection.load(folder))
    exported.save(tmp_path / "exported")
    table = Collection.load(tmp_path / "exported").assessor_task.table
    before = Collection.load(folder).assessor_task.table
    assert (exported.name, table.languages) == ("Evening", ("en", "de"))
    kept = ("control", "labels", "steps", "kept_until", "break_after", "before", "training", "consent")
    assert [getattr(table, name) for name in kept] == [getattr(before, name) for name in kept]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"labels": ["a", "b"]},
            "labels belongs to the scale, which a campaign cannot change, as its grades are on it: make another",
        ),
        ({"title": "x", "scale": "broad"}, "scale belongs to the scale, which a campaign cannot change"),
        ({}, "expected a text to change: title, question, instructions, consent, language or languages"),
        ({"question": "Which is closer?"}, "these are the present texts: nothing was changed"),
        ({"title": " "}, "expected a title of 1 to 200 printable characters, got ''"),
        ({"languages": "English"}, "languages: expected a code such as es or pt-BR, found 'English'"),
        ({"consent": "x" * 4001}, "consent"),
        ({"words": "x"}, "words"),
    ],
)
def test_what_would_harm_the_judgments_or_is_no_text_is_refused_in_one_line(shared, wrong, message):
    before = shared.get(f"{SMALL}/texts").json()
    refused = shared.post(f"{SMALL}/texts", json=wrong)
    assert refused.status_code in (409, 422)
    assert message in refused.json()["detail"]
    assert shared.get(f"{SMALL}/texts").json() == before


@pytest.fixture(scope="module")
def shared(commanded, folders, tmp_path_factory):
    """A plain HTTP client of a server that refuses all these requests."""
    root = tmp_path_factory.mktemp("refusing")
    made = shutil.copytree(folders[0], root / "small")
    (made / "task.toml").write_text(TASK, encoding="utf-8")
    with commanded([made], root / "log") as server, server.client() as http:
        yield http


@pytest.mark.slow
def test_whoever_agreed_to_an_earlier_consent_is_asked_again(commanded, folder, tmp_path):
    with (
        commanded([folder], tmp_path / "log", "--model", "uniform") as server,
        Client(server.url) as client,
        server.client() as http,
    ):

        def moments():
            return http.get(f"{SMALL}/answers?assessor=ann").json()["questionnaires"]

        said = {"assessor": "ann", "moment": "before", "consent": True, "answers": {"years": 3}}
        assert http.post(f"{SMALL}/questionnaire", json=said).status_code == 201
        assert moments() == ["before"]
        client.organiser.change_texts("small", consent="I agree to be heard.")
        assert moments() == []
        read_before = http.post(f"{SMALL}/questionnaire", json=said | {"consent_to": "I agree to be counted."})
        expected = "the consent text has changed since it was read: read it again"
        assert (read_before.status_code, read_before.json()["detail"]) == (422, expected)
        assert moments() == []
        said["consent_to"] = "I agree to be heard."
        assert http.post(f"{SMALL}/questionnaire", json=said).status_code == 201
        assert moments() == ["before"]


@pytest.mark.slow
def test_a_prompt_is_changed_while_people_judge(commanded, folder, tmp_path, database, wait_until):
    with (
        commanded([folder], tmp_path / "one", "--db", database) as one,
        commanded([folder], tmp_path / "two", "--db", database) as two,
        Client(one.url) as client,
        Client(two.url) as other,
    ):
        pair = judge(client)
        text = "Fast,\nwith a \\ in it."
        client.organiser.change_prompt("small", pair.query, text, "clearer")
        assert client.organiser.prompts("small").prompts == {pair.query: text}
        wait_until(lambda: other.organiser.prompts("small").prompts == {pair.query: text})
        handed = other.next("small", count=100, assessor="yan").pairs
        assert {one.query_text for one in handed if one.query == pair.query} == {text}
        with pytest.raises(InputError, match="unknown query 'nowhere'"):
            client.organiser.change_prompt("small", "nowhere", "x")
        with pytest.raises(InputError, match="the prompt is empty, expected text"):
            client.organiser.change_prompt("small", pair.query, " ")
        with pytest.raises(InputError, match="these are the present texts: nothing was changed"):
            client.organiser.change_prompt("small", pair.query, text)
    with commanded([folder], tmp_path / "again", "--db", database) as again, Client(again.url) as client:
        assert client.organiser.prompts("small").prompts == {pair.query: text}
    assert prompts_of(with_log(database, Collection.load(folder))) == {pair.query: text}


def runs_of(collection, queries, tmp_path):
    """The text of its runs with these queries; new ones have the first query's results."""
    path = tmp_path / "runs.trec"
    first = next(iter(collection.runs[0].rankings))
    changed = [
        type(run)(run.system, {query: run.rankings.get(query, run.rankings[first]) for query in queries})
        for run in collection.runs
    ]
    write_run(path, changed)
    return path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_queries_are_added_during_a_campaign_and_a_judged_one_stays(served, small, tmp_path):
    own = list(small.runs[0].rankings)
    pair = judge(served)
    served.add_document("small", "qnew", prompt="A new one.")
    more = served.add_runs("small", runs_of(small, [*own, "qnew"], tmp_path))
    assert more.new > 0
    handed = [pair for name in ("yan", "bob") for pair in served.next("small", count=100, assessor=name).pairs]
    assert "qnew" in {one.query for one in handed}
    fewer = runs_of(small, [*(query for query in own if query != pair.query), "qnew"], tmp_path)
    refused = f"query {pair.query} has judgments, and no run would answer it any more: keep it in one of the runs"
    with pytest.raises(InputError, match=refused):
        served.add_runs("small", fewer, replace=True, partial=True)


def test_the_routes_are_the_organiser_s():
    scopes = {route.path: scopes_of(route) for route in texts.router.routes}
    assert set(map(frozenset, scopes.values())) == {frozenset({"organiser"})}
