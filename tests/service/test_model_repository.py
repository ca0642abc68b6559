"""The index of models, as in Triton's extension_model_repository.md, requested by Triton's own client."""

import warnings
from dataclasses import replace

import pytest

from audiosim.relevance.model_files import load_model, model_names, save_model
from service.app import create_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tritonclient import http as triton
    from tritonclient.utils import InferenceServerException

INDEX = "/v2/repository/index"
LOAD, UNLOAD = (f"/v2/repository/models/{{}}/{verb}" for verb in ("load", "unload"))
TRAINED = replace(load_model("mjud-fine"), name="trained")
ROW = {"features": {"aSYS": [50.0], "aART": [70.0], "fSYS": [0.5]}}


@pytest.fixture(scope="module")
def running(commanded, folders, tmp_path_factory):
    """A real server of the small collection with a model file; the service's client, Triton's client, and the file."""
    folder = tmp_path_factory.mktemp("repository")
    save_model(TRAINED, folder / "trained.json")
    options = ["--model", folder / "trained.json"]
    with commanded(folders[:1], folder / "log", *options) as server, server.client() as http:
        asking = triton.InferenceServerClient(server.url.removeprefix("http://"))
        yield asking, http, folder / "trained.json"
        asking.close()


@pytest.fixture
def trained(running):
    """The same server, with the first model in the file and all models loaded."""
    client, http, path = running
    save_model(TRAINED, path)
    assert http.post("/v1/collections/small/reload").status_code == 200
    for one in client.get_model_repository_index():
        client.load_model(one["name"])
    return running


def test_the_index_has_every_model_with_the_fields_of_the_protocol(trained):
    # $repository_index_response: name, version, state and reason, each a string.
    models = {name: load_model(name) for name in model_names()} | {"trained": load_model(str(trained[2]))}
    assert trained[0].get_model_repository_index() == [
        {"name": name, "version": model.version, "state": "READY", "reason": ""} for name, model in models.items()
    ]


def test_what_is_unloaded_is_not_answered_for_until_it_is_loaded(trained):
    client, http, _ = trained
    client.unload_model("trained")
    assert not client.is_model_ready("trained")
    assert http.post("/v1/models/trained/predictions", json=ROW).status_code == 404
    assert "trained" not in [one["name"] for one in http.get("/v1/models").json()]
    (found,) = [one for one in client.get_model_repository_index() if one["name"] == "trained"]
    assert (found["state"], found["reason"]) == ("UNAVAILABLE", "unloaded")
    assert http.get("/v1/collections/small/ranking").status_code == 200
    client.unload_model("trained", unload_dependents=True)
    client.load_model("trained")
    assert client.is_model_ready("trained")
    assert http.post("/v1/models/trained/predictions", json=ROW).status_code == 200


def test_those_that_are_ready_can_be_asked_for_alone(trained):
    client, http, _ = trained
    client.unload_model("mout-fine")
    everything, ready = (http.post(INDEX, json=body).json() for body in ({}, {"ready": True}))
    assert http.post(INDEX, json={"ready": False}).json() == http.post(INDEX).json() == everything
    assert [one["name"] for one in everything if one not in ready] == ["mout-fine"]


def test_a_model_file_that_changed_is_served_after_a_load(trained):
    client, http, path = trained
    other = replace(load_model("mout-fine"), name="trained")
    save_model(other, path)
    client.load_model("trained")
    (found,) = [one for one in client.get_model_repository_index() if one["name"] == "trained"]
    assert found["version"] == other.version
    assert http.get("/v1/collections/small").json()["model"] == {"name": "trained", "version": other.version}


def test_a_model_file_that_is_wrong_leaves_the_old_one_in_place(trained):
    client, http, path = trained
    before = client.get_model_repository_index()
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InferenceServerException, match=r"^\[400\] .*trained\.json:1: expected a model file of format"):
        client.load_model("trained")
    assert client.get_model_repository_index() == before
    assert http.post("/v1/models/trained/predictions", json=ROW).status_code == 200


def test_a_file_that_is_another_model_s_by_now_is_said(trained):
    client, _, path = trained
    save_model(replace(load_model("mjud-fine"), name="other"), path)
    with pytest.raises(InferenceServerException, match=r"^\[404\] unknown model 'trained', expected one of .*other"):
        client.load_model("trained")
    assert client.is_model_ready("other")


def test_what_is_wrong_is_said_in_the_protocol_s_form(trained):
    client, http, _ = trained
    for ask in (client.load_model, client.unload_model):
        with pytest.raises(InferenceServerException, match=r"^\[404\] unknown model 'nobody', expected one of"):
            ask("nobody")
    with pytest.raises(InferenceServerException, match=r"^\[400\] unknown parameter 'config': a model is loaded from"):
        client.load_model("trained", config="{}")
    for body, said in (
        (b"{", "the body is not JSON"),
        (b"[]", "Expected `object`"),
        (b'{"ready": 1}', "Expected `bool`"),
    ):
        answer = http.post(INDEX, content=body)
        assert (answer.status_code, answer.json()["error"][: len(said)]) == (400, said)
    assert http.post(LOAD.format("trained")).status_code == http.post(UNLOAD.format("trained")).status_code == 200
    assert http.get(INDEX).json() == {"error": "this address does not answer to this method"}


@pytest.mark.slow
def test_the_document_describes_the_index_and_what_may_be_asked(small):
    app = create_app([small])
    paths, schemas = app.openapi()["paths"], app.openapi()["components"]["schemas"]
    (content,) = paths[INDEX]["post"]["requestBody"]["content"].values()
    assert content["schema"]["$ref"].endswith("/IndexIn")
    assert set(schemas["IndexedModel"]["required"]) == {"name", "version", "state", "reason"}
    assert {LOAD.format("{model}"), UNLOAD.format("{model}")} <= set(paths)
