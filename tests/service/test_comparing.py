"""Comparisons over HTTP: handed out, answered, taken back, exported; in one process, as nothing here needs two."""

import pytest

from audiosim.campaign import CampaignSettings
from audiosim.corpus.comparisons import read_comparisons
from audiosim.corpus.pool import build_pool
from audiosim.service.app import create_app
from audiosim.service.campaigns.campaigns import WAIT_S, Judging

COARSE = "/v1/collections/coarse"


@pytest.fixture(scope="module")
def http(coarse, in_process):
    """A service of one collection whose campaign asks for comparisons alone."""
    settings = CampaignSettings(learn_later=True, patience_s=WAIT_S, unasked="mark", comparisons="only")
    with in_process(create_app([coarse], judging=Judging(settings=settings))) as client:
        yield client


def post(http, path, status=200, key=None, **body):
    answer = http.post(f"{COARSE}/{path}", json=body, headers={} if key is None else {"Idempotency-Key": key})
    assert answer.status_code == status, answer.text
    return answer.json()


def exported(http, tmp_path):
    answer = http.get(f"{COARSE}/comparisons")
    assert answer.headers["content-type"].startswith("text/tab-separated-values")
    file = tmp_path / "comparisons.tsv"
    file.write_text(answer.text)
    return read_comparisons(file)


def test_comparisons_are_handed_out_answered_once_taken_back_and_exported(http, tmp_path):
    found = post(http, "comparisons/next", assessor="lea", count=2)
    assert found["kind"] == "comparison"
    first, second = found["comparisons"]
    assert {first["query"], first["document_a"], first["document_b"]}.isdisjoint({second["document_a"]})
    said = {name: first[name] for name in ("query", "document_a", "document_b")} | {"answer": "b", "assessor": "Lea"}
    record = post(http, "comparisons", 201, "k1", **said, seconds=17.5, query_played_s=3, a_played_s=2, b_played_s=1)
    assert (record["kind"], record["assessor"], record["details"]["played_s"]) == ("comparison", "lea", 6)
    assert "unasked" not in record["details"]
    again = post(http, "comparisons", 200, "k1", **said, seconds=17.5, query_played_s=3, a_played_s=2, b_played_s=1)
    assert (again["number"], again["replayed"]) == (record["number"], True)
    (one,) = exported(http, tmp_path)
    assert (one.document_b, one.answer, one.assessor, one.seconds) == (first["document_b"], "b", "lea", 17.5)
    # what was never handed out is kept, and marked as not counting
    marked = post(http, "comparisons", 201, **said | {"assessor": "eve"})
    assert marked["details"]["unasked"] is True
    assert len(exported(http, tmp_path)) == 1
    ranking = http.get(f"{COARSE}/ranking").json()
    assert ranking["comparisons"] == 1
    assert http.get(f"{COARSE}/answers", params={"assessor": "lea"}).json()["answers"] == []
    assert post(http, "undo", 201, assessor="lea")["refers"] == record["number"]
    assert exported(http, tmp_path) == ()
    kinds = [one["kind"] for one in http.get(f"{COARSE}/log").json()["events"]]
    assert kinds == ["comparison", "comparison", "undo"]  # without what was handed out
    log = http.get(f"{COARSE}/judgments", params={"format": "log"}).text
    assert '"kind": "comparison"' in log
    assert http.get(f"{COARSE}/judgments", params={"format": "csv"}).text.count("\n") == 1  # a comparison is no grade


def test_what_is_no_comparison_is_refused(http):
    first, *_ = post(http, "comparisons/next", assessor="leo")["comparisons"]
    said = {name: first[name] for name in ("query", "document_a", "document_b")} | {"assessor": "leo"}
    assert "answer" in post(http, "comparisons", 422, **said)["detail"]
    assert "'c'" in post(http, "comparisons", 422, **said, answer="c")["detail"]
    twice = said | {"document_b": said["document_a"], "answer": "a"}
    assert "expected two documents to compare" in post(http, "comparisons", 422, **twice)["detail"]
    away = said | {"document_b": "elsewhere", "answer": "a"}
    assert "elsewhere" in post(http, "comparisons", 422, **away)["detail"]
    http.post(f"{COARSE}/pause", json={})
    assert "paused" in post(http, "comparisons", 409, **said, answer="a")["detail"]
    assert "paused" in post(http, "comparisons/next", 409, assessor="leo")["detail"]
    http.post(f"{COARSE}/resume", json={})


def test_invented_names_of_one_address_do_not_hold_every_comparison(coarse, in_process):
    settings = CampaignSettings(learn_later=True, patience_s=WAIT_S, comparisons="only")
    path = f"{COARSE}/comparisons/next"
    with in_process(create_app([coarse], judging=Judging(settings=settings))) as client:
        answers = [client.post(path, json={"assessor": f"name {number}", "count": 20}) for number in range(20)]
    held = [len(answer.json()["comparisons"]) for answer in answers if answer.status_code == 200]
    assert held[0] > 0
    assert sum(held) <= (len(build_pool(coarse).pairs) + 1) // 2
    assert answers[-1].status_code == 429
    assert "half of the pairs" in answers[-1].json()["detail"]
