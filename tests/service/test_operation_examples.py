"""Every operation of the document has a summary in words and an example; a real server can do every example."""

import json
import shutil

import pytest

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.service.access.access import Access
from audiosim.service.app import create_app

DEMO = package_files.folder("fixtures") / "demo"
# Operations that must come before each of these; the rest are requested in the document's order.
BEFORE = {
    "undo_answer": ["add_judgment"],
    "show_import": ["import_judgments"],
    "send_kept_model": ["keep_model"],
    "delete_kept_model": ["send_kept_model"],
    "take_file": ["begin_draft"],
    "remove_file": ["show_draft", "set_draft", "take_file", "send_file_of_draft", "check_draft", "plan_draft"],
    "discard_draft": ["remove_file"],
    "latest_publication": ["publish_page"],
    "withdraw_publication": ["latest_publication", "published_file"],
}
AFTER = {
    "discard_draft": ["begin_draft", "take_file", "create_collection"],
    "close": ["resume"],
    "train_model": ["cancel_training"],
    "unload_repository_model": ["load_repository_model"],
}
STREAM = "follow_changes"
REFUSED = {  # without tokens, invitations and links have none; the demo has no task of its own
    "add_questionnaire": "no questions are asked after judging here: task.toml has none",
    "show_entry": "there is no such link: it may have been cut off when it was copied",
    "join_campaign": "there is no such link: it may have been cut off when it was copied",
    "forget_person": "ann did not join by an open link: only people who joined by an open link can be deleted; "
    "the log keeps the name of an invited person, and audiosim backup --without writes a copy without it",
    "withdraw": "'ann' is not invited to judge demo",
    "revoke_link": "this service has no tokens, so no link can be revoked",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory, commanded):
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(DEMO, folder / "demo")
    with commanded(
        [folder / "demo"], folder / "log", "--db", f"sqlite:///{folder / 'campaign.db'}", "--home", folder / "home"
    ) as server:
        yield server


def operations(document):
    """Operations by name: (method, path, operation)."""
    return {
        one["operationId"]: (method, path, one)
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    }


def send(http, method, path, operation, whole=True):
    """Send the example of an operation, with the names in its address as the document has them."""
    query = {}
    for parameter in operation.get("parameters", []):
        value = parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(value))
        elif "example" in parameter:
            query[parameter["name"]] = value
    assert "{" not in path, f"{path}: a name in it has no example"
    content, headers = None, {}
    if "requestBody" in operation:
        media_type, body = next(
            (kind, media["example"])
            for kind, media in operation["requestBody"]["content"].items()
            if "example" in media
        )
        content = body if isinstance(body, str) else json.dumps(body)
        headers = {"content-type": media_type}
    with http.stream(method, path, params=query, content=content, headers=headers) as response:
        if operation["operationId"] == STREAM and whole:
            return response.status_code, next(response.iter_text())
        return response.status_code, response.read().decode("utf-8", "replace")


@pytest.mark.slow
def test_a_server_does_what_every_example_asks_for(server):
    with server.client() as http:
        known, done = operations(http.get("/openapi.json").json()), {}

        def ask(name):
            for needed in BEFORE.get(name, []):
                if needed not in done:
                    ask(needed)
            done[name] = status, _ = send(http, *known[name])
            if known[name][0] == "get":
                assert send(http, "HEAD", *known[name][1:], whole=False) == (status, ""), name
            for needed in AFTER.get(name, []):
                ask(needed)

        for name in known:
            if name not in done:
                ask(name)
        for name, (_, _, one) in known.items():
            answered = str(done[name][0])
            assert answered in one["responses"], f"{name} answered {answered}, which is not documented"
    refused = {
        name: json.loads(said).get("detail", said) for name, (status, said) in done.items() if not 200 <= status < 400
    }
    assert refused == REFUSED
    assert len(done) == len(known) > 50


@pytest.mark.slow
def test_summaries_are_words_and_short():
    document = create_app([Collection.load(DEMO)], access=Access(locked=True)).openapi()
    summaries = {name: one["summary"] for name, (_, _, one) in operations(document).items()}
    assert {name: said for name, said in summaries.items() if not 8 <= len(said) <= 120} == {}
    assert [name for name, said in summaries.items() if said.lower() == name.replace("_", " ")] == []
    assert summaries["lease_pairs"] == "The pairs to judge next"


@pytest.mark.slow
def test_every_property_and_parameter_has_words():
    document = create_app([Collection.load(DEMO)], access=Access(locked=True)).openapi()
    bare = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, one in schema.get("properties", {}).items()
        if not one.get("description")
    ]
    bare += [
        f"{name} {one['name']}"
        for name, (_, _, operation) in operations(document).items()
        for one in operation.get("parameters", [])
        if not one.get("description")
    ]
    assert bare == []


@pytest.mark.slow
def test_an_error_names_the_field_that_is_wrong(server):
    with server.client() as http:

        def detail(method, path, **what):
            response = http.request(method, f"/v1/collections/demo/{path}", **what)
            assert response.status_code == 422
            return response.json()["detail"]

        assert detail("GET", "answers", params={"assessor": "ann", "count": "many"}).startswith("count: ")
        assert detail("POST", "next", json={"count": "two"}) == "count: expected a whole number, got a text"
        assert detail("POST", "judgments", json={"query": "q01"}) == "expected the field `document`"
        judged = {"query": "q01", "document": "d020", "assessor": "ann", "played_s": -1, "grade": 3}
        assert detail("POST", "judgments", json=judged) == "played_s: expected a number of at least 0.0"
