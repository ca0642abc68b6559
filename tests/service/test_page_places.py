"""A candidate's place on a page is sent by the page, kept in log and exports, and its effect shown to organisers."""

import json

import pytest
from typer.testing import CliRunner

from audiosim.cli import app
from audiosim.service.app import create_app
from audiosim.service.collections.campaigns import Judging

COARSE = "/v1/collections/coarse"


@pytest.fixture
def http(coarse, tmp_path, in_process):
    """A client of a service with a database, without judgments."""
    with in_process(create_app([coarse], judging=Judging(f"sqlite:///{tmp_path / 'campaign.db'}"))) as client:
        yield client


def judged(http, who, place, grade, pair, beside=3):
    said = {"query": pair["query"], "document": pair["document"], "assessor": who, "broad": grade, "beside": beside}
    return http.post(f"{COARSE}/judgments", json=said | ({} if place is None else {"beside_place": place}))


@pytest.mark.slow
def test_the_effect_of_places_is_told_by_service_and_command_and_the_place_is_kept(http, coarse, tmp_path):
    for who in ("ann", "bob", "cid"):
        for page in range(6):
            pairs = http.post(f"{COARSE}/next", json={"assessor": who, "count": 3, "by_query": True}).json()["pairs"]
            for place, pair in enumerate(pairs, start=1):
                grade = min(2, place - (page % 3 > 0))  # rises by almost two steps from the first place to the third
                assert judged(http, who, place, grade, pair).status_code == 201
    alone = http.get(f"{COARSE}/judges?machines=false").json()["order_effects"]
    found = http.get(f"{COARSE}/judges").json()["order_effects"][-1]
    assert (found["effect"], found["count"], found["by_chance"]) == ("position", 3, False)
    assert alone[-1] == found
    assert 0.5 < found["value"] < 1
    assert found["sentence"].startswith("Effect of the place on a page of 3 people, on average: +0.")
    log = [json.loads(row) for row in http.get(f"{COARSE}/judgments?format=log").text.splitlines()]
    places = [row["details"]["beside_place"] for row in log if row["kind"] == "judgment"]
    rows = [json.loads(row) for row in http.get(f"{COARSE}/judgments?format=jsonl").text.splitlines()]
    assert sorted(row["details"]["beside_place"] for row in rows) == sorted(places)
    assert '""beside_place"": 3' in http.get(f"{COARSE}/judgments?format=csv").text
    coarse.save(tmp_path / "coarse")
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    command = ["order-effects", str(tmp_path / "coarse"), "--judgments", url, "--format", "json"]
    printed = json.loads(CliRunner().invoke(app, command).stdout)[-1]
    assert printed["value"] == pytest.approx(found["value"], rel=1e-12)


def test_a_place_beyond_the_page_is_refused_and_one_that_is_not_told_is_left_out(http):
    pairs = http.post(f"{COARSE}/next", json={"assessor": "ann", "count": 2}).json()["pairs"]
    beyond = judged(http, "ann", 4, 1, pairs[0])
    assert (beyond.status_code, beyond.json()["detail"]) == (
        422,
        "beside_place is a place among the beside candidates, got 4 of 3",
    )
    assert judged(http, "ann", 1, 1, pairs[0], beside=None).json()["detail"].endswith("got 1 of 0")
    assert judged(http, "ann", None, 1, pairs[1]).json()["details"] == {"beside": 3}
