"""A client generated from the OpenAPI document works; the document states chapters and tokens."""

import importlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import httpx
import pytest

from audiosim import Collection
from service.access.access import Access
from service.access.tokens import TokenStore
from service.app import create_app

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo"
OWN = ROOT / ".venv" / "openapi" / "bin" / "openapi-python-client"  # `make test` puts it there


@pytest.fixture(scope="module")
def locked(tmp_path_factory, commanded):
    """A demo server that needs tokens, and an organiser's token."""
    folder = tmp_path_factory.mktemp("locked")
    db = f"sqlite:///{folder / 'campaign.db'}"
    store = TokenStore(db)
    token = store.create("olga", "organiser")
    store.close()
    with commanded([DEMO], folder / "log", "--db", db) as server:
        yield server, token


@pytest.fixture(scope="module")
def client_package(locked, tmp_path_factory):
    """The package generated from the server's document."""
    program = shutil.which(OWN) or shutil.which("openapi-python-client")
    if program is None:
        pytest.skip("openapi-python-client is not here: make test installs it where there is a package registry")
    folder = tmp_path_factory.mktemp("generated")
    with locked[0].client() as client:
        (folder / "openapi.json").write_bytes(client.get("/openapi.json").content)
    command = [program, "generate", "--path", "openapi.json", "--output-path", folder / "demo_client", "--meta", "none"]
    said = subprocess.run([*command, "--overwrite"], cwd=folder, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "will not be generated" not in said.stdout + said.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("demo_client")
    sys.path.remove(str(folder))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # in generated code
def test_a_generated_client_asks_judges_and_ranks(locked, client_package):
    server, token = locked
    call = lambda tag, name: importlib.import_module(f"demo_client.api.{tag}.{name}")  # noqa: E731
    models = importlib.import_module("demo_client.models")
    client = client_package.AuthenticatedClient(server.url, token, timeout=httpx.Timeout(60))
    assert call("health", "ready").sync(client=client).status == "ready"
    (shown,) = call("catalogue", "list_collections").sync(client=client)
    assert shown.name == Collection.load(DEMO).name
    leased = call("judging", "lease_pairs").sync("demo", client=client, body=models.NextIn(assessor="ann", count=2))
    pair = leased.pairs[0]
    body = models.JudgmentIn(query=pair.query, document=pair.document, assessor="ann", fine=70)
    done = call("judging", "add_judgment").sync_detailed("demo", client=client, body=body, idempotency_key="one")
    assert (done.status_code, done.parsed.assessor) == (201, "ann")
    assert call("judging", "add_judgment").sync_detailed(
        "demo", client=client, body=body, idempotency_key="one"
    ).status_code == 200  # fmt: skip
    ranking = call("campaign", "show_ranking").sync("demo", client=client, measure="CG@5")
    assert {system.system for system in ranking.systems} == {run.system for run in Collection.load(DEMO).runs}
    nobody = client_package.Client(server.url, timeout=httpx.Timeout(60))
    refused = call("campaign", "show_ranking").sync_detailed("demo", client=nobody)
    assert refused.status_code == 401
    for one in (client, nobody):
        one.get_httpx_client().close()


def document(locked):
    app = create_app([Collection.load(DEMO)], access=Access(locked=locked))
    return app.openapi()


@pytest.mark.slow
def test_every_operation_has_a_name_of_its_own_and_a_chapter_that_is_described():
    said = document(locked=False)
    operations = [one for methods in said["paths"].values() for one in methods.values()]
    assert [name for name, count in Counter(one["operationId"] for one in operations).items() if count > 1] == []
    assert {one["tags"][0] for one in operations} == {tag["name"] for tag in said["tags"]}
    assert all(len(one["tags"]) == 1 for one in operations)
    assert said["servers"] == [{"url": "/", "description": "The service that sent this document"}]


@pytest.mark.slow
def test_the_document_says_which_operations_need_a_token_and_whose():
    said = document(locked=True)
    assert set(said["components"]["securitySchemes"]) == {"token", "session"}
    named = {
        (method, path): (operation["security"], re.findall(r"For the roles (.*)\.", operation.get("description", "")))
        for path, methods in said["paths"].items()
        for method, operation in methods.items()
    }
    either = [{"token": []}, {"session": []}]
    assert named["get", "/health/live"] == ([], [])
    assert named["post", "/v1/session"] == ([], [])
    assert named["post", "/v1/collections/{collection}/next"] == (either, ["assessor, organiser"])
    assert named["get", "/v1/collections/{collection}/ranking"] == (either, ["client, organiser"])
    assert named["get", "/v1/documents/{document}/sound"] == (either, ["assessor, organiser"])
    assert named["post", "/v1/collections/{collection}/reload"] == (either, ["organiser"])


@pytest.mark.slow
def test_of_a_route_that_was_added_the_document_says_whose_it_is():
    app = create_app([Collection.load(DEMO)], access=Access(locked=True))

    @app.get("/new")
    async def new() -> None:
        """Something new."""

    assert app.openapi()["paths"]["/new"]["get"]["description"] == "Something new.\n\nFor the roles organiser."


@pytest.mark.slow
def test_where_no_tokens_are_needed_no_operation_asks_for_one():
    said = document(locked=False)
    assert not any("security" in one for methods in said["paths"].values() for one in methods.values())
