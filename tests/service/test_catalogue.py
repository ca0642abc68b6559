"""The service's description of itself."""

import msgspec
import pytest

from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE
from audiosim.ordinal.model import load_model, model_names
from audiosim.service.types import predictions as wire


def test_the_service_says_that_it_lives_and_is_ready(http):
    assert http.get("/health/live").json() == {"status": "alive"}
    assert http.get("/health/ready").json() == {"status": "ready"}


def test_every_published_model_is_listed_with_its_numbers(http):
    listed = http.get("/v1/models").json()
    assert [model["name"] for model in listed] == model_names()
    model = load_model("mout-broad")
    shown = http.get("/v1/models/mout-broad").json()
    assert shown in listed
    for key in ("name", "version", "scale", "fallback", "source"):
        assert shown[key] == getattr(model, key)
    for key in ("levels", "features", "terms", "coefficients", "thresholds"):
        assert tuple(shown[key]) == getattr(model, key)


def test_every_collection_is_listed_with_its_size(http, small):
    pool = build_pool(small)
    listed = http.get("/v1/collections").json()
    assert [collection["identifier"] for collection in listed] == ["small", "coarse"]
    assert listed[0] == {
        "identifier": "small",
        "name": "The small one",
        "scale": {"name": "fine"},
        "cutoff": 4,
        "systems": ["S0", "S1", "S2", "S3", "S4"],
        "queries": 6,
        "pool": len(pool.pairs),
        "pool_hash": pool.content_hash,
        "judgments": len(small.judgments),
        "model": {"name": "joint-fine", "version": load_model("joint-fine").version},
        "measure": "CG@4",
        "state": 0,
        "correlated": True,
    }
    # The levels of a scale are listed once, not with every collection that uses it.
    scales = {one["name"]: one for one in http.get("/v1/scales").json()}
    assert scales["fine"] == {"name": "fine", "levels": list(FINE.levels)}
    assert {collection["scale"]["name"] for collection in listed} == set(scales)
    assert http.get("/v1/collections/small").json() == listed[0] | {"scale": scales["fine"]}


def test_a_collection_is_shown_as_another_model_and_cutoff_see_it(http, small):
    pool = build_pool(small, 2)
    shown = http.get("/v1/collections/small", params={"model": "uniform", "cutoff": 2}).json()
    assert (shown["cutoff"], shown["pool"], shown["pool_hash"]) == (2, len(pool.pairs), pool.content_hash)
    assert shown["model"]["name"] == "uniform"


def references(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key == "$ref" else references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_the_openapi_document_describes_what_goes_in_and_out_and_every_reference_leads_somewhere(http):
    document = http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert {reference.rpartition("/")[2] for reference in references(document)} <= set(schemas)
    route = document["paths"]["/v1/collections/{collection}/predictions"]["post"]
    assert route["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/PredictionsIn")
    assert route["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/PredictionsOut")
    assert "application/problem+json" in route["responses"]["default"]["content"]
    assert schemas["PredictionsIn"]["required"] == ["query", "document"]
    assert schemas["PredictionsIn"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/models", list[wire.ModelOut]),
        ("/v1/collections", list[wire.CollectionOut]),
        ("/v1/scales", list[wire.ScaleOut]),
        ("/health/ready", wire.HealthOut),
    ],
)
def test_answers_keep_the_types_that_are_described(http, path, kind):
    msgspec.json.decode(http.get(path).content, type=kind)
