"""The typed client, with a real service and with servers of other kinds."""

import json
import socket

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audiosim.collection.pool import build_pool
from audiosim.errors import InputError, ServiceError
from audiosim.joint.estimators import make_estimator
from audiosim.ordinal.model import load_model, model_names
from audiosim.service.client import Client

PROBLEM = b'{"type":"about:blank","title":"t","status":%d,"detail":"no more coal","request_id":"r"}'


@pytest.fixture
def client(server):
    with Client(server.url) as client:
        yield client


def test_the_client_tells_what_is_served(client, small):
    assert [model.name for model in client.models()] == model_names()
    assert tuple(client.model("mout-fine").coefficients) == load_model("mout-fine").coefficients
    assert [collection.identifier for collection in client.collections()] == ["small", "coarse"]
    assert client.collection("small").pool_hash == build_pool(small).content_hash
    assert client.collection("small", model="mout", cutoff=2).model.name == "mout-fine"


def test_the_client_tells_the_levels_of_each_scale_once(client, small, coarse):
    told = [(scale.name, tuple(scale.levels)) for scale in client.scales()]
    assert told == sorted({(one.scale.name, tuple(one.scale.levels)) for one in (small, coarse)})
    assert {one.scale.name for one in client.collections()} == {name for name, _ in told}


def test_the_client_shows_the_results_that_a_link_opens(client):
    found, ranking = client.results("coarse"), client.ranking("coarse")
    assert (found.systems, found.confidence, found.state) == (ranking.systems, ranking.confidence, ranking.state)


def test_the_client_predicts_pairs(client, small):
    pool = build_pool(small)
    known = {pool.pairs[0]: 30.0}
    prediction = make_estimator(pool, "mout").predict(pool.spread(known))
    answer = client.predict("small", pool.pairs[:2], grades=known, model="mout", probabilities=True)
    assert answer.status == ["judged", "predicted"]
    assert answer.expectation == [30.0, prediction.expectation[1]]
    assert answer.probabilities == prediction.probabilities[:2].tolist()
    assert client.predict("small", pool.pairs).judgments == len(small.judgments)


def test_the_client_predicts_rows_of_features(client):
    answer = client.predict_features("mjud-fine", {"fSYS": [0.2, 0.2], "aSYS": [50, None], "aART": [60, 60]})
    assert answer.status == ["predicted", "unknown"]
    assert answer.probabilities is None


def test_a_refusal_is_an_input_error_that_says_who_refuses_and_why(client, server):
    with pytest.raises(InputError, match=f"^{server.url} refuses: unknown collection 'big', expected one of small, co"):
        client.collection("big")
    with pytest.raises(InputError, match=f"^{server.url} refuses: unknown model 'a/b', expected one of"):
        client.collection("small", model="a/b")
    with pytest.raises(InputError, match="refuses: judgments: grade 101 is beyond the fine scale"):
        client.predict("small", [], grades={("q0", "d00"): 101.0})


def test_a_name_with_odd_characters_stays_one_name(client):
    with pytest.raises(InputError, match=r"unknown collection 'a\?b#c d%', expected one of"):
        client.collection("a?b#c d%")


@pytest.mark.slow
def test_a_service_that_is_not_there_is_said_in_one_line():
    with socket.socket() as deaf:  # bound but not listening, so that nobody else gets the port
        deaf.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with Client(url) as client, pytest.raises(ServiceError, match=f"^{url} cannot be reached: .*refused"):
            client.models()


def test_a_service_that_says_nothing_is_not_waited_for_for_ever():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            Client(url, timeout_s=0.1) as client,
            pytest.raises(ServiceError, match=f"^{url} cannot be asked: timed o"),
        ):
            client.models()


def test_an_address_that_is_none_is_refused():
    with pytest.raises(InputError, match="^not an address: http://a:b: "):
        Client("http://a:b")
    with Client("localhost") as client, pytest.raises(ServiceError, match="^localhost cannot be asked: "):
        client.models()


def test_a_connection_that_breaks_is_tried_again(canned):
    flaky = canned(None, None, (200, b"[]"))
    with Client(flaky.url) as client:
        assert client.collections() == []
    assert flaky.asked == 3


@pytest.mark.slow
def test_a_connection_that_keeps_breaking_is_given_up(canned):
    broken = canned(None)
    with Client(broken.url) as client, pytest.raises(ServiceError, match=f"^{broken.url} cannot be reached: "):
        client.models()
    assert broken.asked == 4


@pytest.mark.slow
def test_a_failure_of_the_service_is_not_blamed_on_the_caller(canned):
    failing = canned((503, PROBLEM % 503))
    with Client(failing.url) as client, pytest.raises(ServiceError, match="failed with status 503: no more coal$"):
        client.models()


@pytest.mark.parametrize("answer", [(200, b"<html>"), (200, b'[{"name": 1}]'), (200, b'["\xff"]')])
def test_what_is_not_an_audiosim_service_is_said(canned, answer):
    other = canned(answer)
    with Client(other.url) as client, pytest.raises(ServiceError, match="does not answer as audiosim does: "):
        client.models()


def test_an_error_page_of_something_else_is_said_with_its_status(canned):
    other = canned((404, b"<html>"))
    with Client(other.url) as client, pytest.raises(ServiceError, match="not answer as audiosim does: status 404$"):
        client.models()


@pytest.mark.slow
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_travel_without_losing_a_bit(values):
    travelled = msgspec.json.decode(msgspec.json.encode(values), type=list[float])
    assert np.array(travelled).tobytes() == np.array(values).tobytes()
    assert np.array(json.loads(msgspec.json.encode(values)), dtype=float).tobytes() == np.array(values).tobytes()
