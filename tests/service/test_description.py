"""The OpenAPI document states chapters, tokens and defaults, and promises no more than is sent."""

import re
from collections import Counter
from pathlib import Path

import pytest

from audiosim import Collection
from audiosim.service.access.access import Access
from audiosim.service.app import create_app

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "fixtures" / "demo"


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


@pytest.mark.slow
def test_a_client_need_not_send_what_has_a_default_and_may_rely_on_what_is_always_sent():
    """Generators make a property with a default one that must be sent, or that is never absent."""
    said = document(locked=False)
    schemas = said["components"]["schemas"]
    properties = [one for schema in schemas.values() for one in schema.get("properties", {}).values()]
    assert not [one for one in properties if "default" in one or "description" not in one]
    assert schemas["EvaluateIn"]["required"] == ["runs"]
    assert schemas["EvaluateIn"]["properties"]["test"]["description"].endswith(" By default t.")
    assert "group" not in schemas["SystemOut"]["required"]  # left out where it is empty
    assert schemas["DifferenceOut"]["required"] == list(schemas["DifferenceOut"]["properties"])
    addresses = [one for methods in said["paths"].values() for operation in methods.values()
                 for one in operation.get("parameters", []) if one["in"] == "path"]  # fmt: skip
    assert addresses  # a client knows collections that did not exist when it was generated
    assert not [one for one in addresses if "enum" in one["schema"]]


@pytest.mark.slow
def test_whatever_pages_may_ask_is_described():
    app = create_app([Collection.load(DEMO)])
    asked = {(path.path_format, method.lower()) for path in app.routes for method in path.methods}
    said = {(path, method) for path, methods in app.openapi()["paths"].items() for method in methods}
    pages = {"/", "/create", "/docs", "/openapi.json", "/static/{version}/{name}", "/join/{collection}/{code}"}
    pages |= {f"/{name}/{{collection}}" for name in ("judge", "organise", "results")}
    assert asked - said == {(page, "get") for page in pages}
