"""State of a campaign over HTTP, equal to that of the library and the command."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import audiosim
from audiosim.campaign import judgments_in
from audiosim.ranking.verdicts import Verdicts

SMALL, COARSE = "/v1/collections/small", "/v1/collections/coarse"


@pytest.fixture(scope="module")
def server(commanded, folders, tmp_path_factory):
    root = tmp_path_factory.mktemp("standing")
    options = (
        "--db",
        f"sqlite:///{root / 'campaign.db'}",
        "--stopping-rule",
        "judgments=3",
        "--model",
        "mjud",
    )
    with commanded(folders, root / "log", *options, AUDIOSIM_CANNOT_LIMIT="1") as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as one:
        yield one


def lease(client, collection, assessor):
    (pair,) = client.post(f"/v1/collections/{collection}/next", json={"assessor": assessor}).json()["pairs"]
    return {"query": pair["query"], "document": pair["document"], "assessor": assessor}


def tell(client, collection, **said):
    answer = client.post(f"/v1/collections/{collection}/judgments", json=said)
    assert answer.status_code == 201
    return answer.json()


def judge(client, collection, assessor, **said):
    return tell(client, collection, **lease(client, collection, assessor), **said)


@pytest.mark.parametrize("measure", ["CG@4", "nDCG@3", "DCG@2", "RBP(p=0.8)@4", "P(min=40)@3", "AP(min=40)@4"])
def test_a_ranking_is_what_estimate_says_of_the_same_judgments(client, server, small, measure):
    record = judge(client, "small", "ann", fine=40)
    ranking = client.get(f"{SMALL}/ranking", params={"measure": measure}).json()
    assert ranking["state"] == record["number"]
    url = f"sqlite:///{server.log.parent / 'campaign.db'}"
    here = Verdicts(audiosim.estimate(replace(small, judgments=judgments_in(url, small)), "mjud", measure)).to_dict()
    assert {name: ranking[name] for name in here} == json.loads(json.dumps(here))
    assert client.get(f"{SMALL}/ranking", params={"measure": measure}).json() == ranking


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("XAP@5", "unknown measure 'XAP'"),
        ("CG@", "unknown measure 'CG@'"),
        ("CG@1001", "the cutoff of a measure may be 1000 here"),
    ],
)
def test_a_measure_that_there_is_not_is_refused(client, measure, message):
    refused = client.get(f"{SMALL}/ranking", params={"measure": measure})
    assert refused.status_code == 422
    assert message in refused.json()["detail"]


def test_a_campaign_says_how_far_it_is(client, coarse):
    start = client.get("/v1/collections/coarse/campaign").json()
    assert (start["status"], start["judged"], start["goal"]["reached"]) == ("open", 0, False)
    for assessor in ("ann", "ann", "bob"):
        judge(client, "coarse", assessor, broad=1)
    said = judge(client, "coarse", "cal", cannot="silence")
    client.post("/v1/collections/coarse/next", json={"assessor": "dan", "count": 2})
    shown = client.get("/v1/collections/coarse/campaign").json()
    assert shown["state"] > said["number"]
    assert (shown["judged"], shown["judgments"], shown["leased"]) == (3, 3, 2)
    assert shown["goal"] == {"goal": "judgments=3", "level": 3, "reached": True}
    assert shown["measure"] == "CG@4"
    assert {name: pace["answers"] for name, pace in shown["assessors"].items()} == {"ann": 2, "bob": 1, "cal": 1}
    assert shown["pace"]["answers"] == 4
    assert shown["agreement"]["pairs"] == 0
    pair = {"query": said["query"], "document": said["document"]}
    assert shown["cannot"] == [{**pair, "assessor": "cal", "reason": "silence"}]
    assert shown["dropped"] == [pair]
    assert {lease["assessor"] for lease in shown["leases"]} == {"dan"}


def listen(server, count, last=None, begun=None):
    """The first events of a campaign, as read by a client without any library.

    begun  a barrier, passed after the first event; if `last` is given, as soon as the service answers
    """
    events, event = [], {}
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with server.client() as client, client.stream("GET", f"{SMALL}/events", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        if last is not None:
            begun.wait(60)
        for line in answer.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                event[name] = value
            elif event:
                events.append({**event, "data": json.loads(event["data"])})
                event = {}
                if len(events) == 1 and last is None:
                    begun.wait(60)
                if len(events) == count:
                    break
    return events


@pytest.mark.slow
def test_several_clients_hear_of_every_change(client, server):
    held, begun = lease(client, "small", "eve"), threading.Barrier(4)
    with ThreadPoolExecutor(3) as threads:
        heard = [threads.submit(listen, server, 2, begun=begun) for _ in range(3)]
        begun.wait(60)
        record = tell(client, "small", **held, fine=70)
        events = [one.result() for one in heard]
    assert events[0] == events[1] == events[2]
    before, after = events[0]
    assert int(before["id"]) == before["data"]["state"] < int(after["id"]) == record["number"]
    assert after["event"] == "change"
    ranking, last = client.get(f"{SMALL}/ranking").json(), after["data"]
    assert {name: last[name] for name in ("state", "confidence", "judged")} == {
        name: ranking[name] for name in ("state", "confidence", "judged")
    }


@pytest.mark.slow
def test_a_client_that_comes_back_hears_only_what_is_new(client, server):
    state, begun = client.get(SMALL).json()["state"], threading.Barrier(2)
    with ThreadPoolExecutor(1) as threads:
        heard = threads.submit(listen, server, 1, state, begun)
        begun.wait(60)
        time.sleep(1)  # twice as long as a change takes to be reported
        assert not heard.done()
        client.post(f"{SMALL}/next", json={"assessor": "fay"})
        assert int(heard.result()[0]["id"]) > state


@pytest.mark.slow
def test_a_server_that_stops_lets_those_go_who_listen(commanded, folders, tmp_path):
    begun = threading.Barrier(2)
    with commanded(folders[:1], tmp_path / "log") as server, ThreadPoolExecutor(1) as threads:
        heard = threads.submit(listen, server, 99, begun=begun)
        begun.wait(60)
        assert server.stop() == 0
        # If cut off after a grace period, it would end with an error instead of the end of the answer.
        assert len(heard.result()) == 1


def test_of_many_assessors_a_part_is_told_at_a_time(client, coarse):
    names = [f"many {i:02}" for i in range(12)]
    for name in names:
        (pair,) = client.post(f"{COARSE}/next", json={"assessor": name}).json()["pairs"]
        said = {"query": pair["query"], "document": pair["document"], "assessor": name, "cannot": "no sound"}
        assert client.post(f"{COARSE}/judgments", json=said).status_code == 201
        client.post(f"{COARSE}/next", json={"assessor": name})
    whole = client.get(f"{COARSE}/campaign").json()
    assert whole["totals"] == {name: len(whole[name]) for name in ("assessors", "cannot", "dropped", "leases")}
    assert whole["totals"]["assessors"] >= 12
    for name in ("assessors", "cannot", "leases"):
        parts = []
        for first in range(0, whole["totals"][name] + 5, 5):
            part = client.get(f"{COARSE}/campaign", params={"count": 5, "first": first}).json()
            assert part["totals"] == whole["totals"]
            assert len(part[name]) <= 5
            parts += part[name]
        assert parts == list(whole[name])


def test_answers_of_an_assessor_are_told_in_parts(client, coarse):
    for i in range(7):
        (pair,) = client.post(f"{COARSE}/next", json={"assessor": "patient"}).json()["pairs"]
        said = {"query": pair["query"], "document": pair["document"], "assessor": "patient", "broad": i % 3}
        assert client.post(f"{COARSE}/judgments", json=said).status_code == 201
    whole = client.get(f"{COARSE}/answers?assessor=patient").json()
    assert (len(whole["answers"]), whole["more"]) == (7, False)
    got, more, before = [], True, {}
    while more:
        part = client.get(f"{COARSE}/answers", params={"assessor": "patient", "count": 3, **before}).json()
        assert 1 <= len(part["answers"]) <= 3
        got, more, before = part["answers"] + got, part["more"], {"before": part["answers"][0]["number"]}
    assert got == whole["answers"]
