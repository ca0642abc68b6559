"""Judging over HTTP: leases, records and refusals."""

from datetime import UTC, datetime, timedelta

import httpx
import numpy as np
import pytest

from audiosim.collection.pool import build_pool
from audiosim.joint.estimators import make_estimator
from audiosim.service.collections.aliases import renamed

SMALL = "/v1/collections/small"


@pytest.fixture(scope="module")
def server(commanded, folders, tmp_path_factory):
    """A server of both collections with a database, where any pair may need a second judgment."""
    root = tmp_path_factory.mktemp("judging")
    with commanded(folders, root / "log", "--db", f"sqlite:///{root / 'campaign.db'}", AUDIOSIM_TWICE="1") as running:
        yield running


@pytest.fixture(scope="module")
def http(server):
    with httpx.Client(base_url=server.url, timeout=180) as client:
        yield client


def post(http, path, status, key=None, **body):
    answer = http.post(path, json=body, headers={} if key is None else {"Idempotency-Key": key})
    assert answer.status_code == status, answer.text
    return answer.json()


def free_pair(http, assessor, collection="coarse"):
    (pair,) = post(http, f"/v1/collections/{collection}/next", 200, assessor=assessor)["pairs"]
    return {"query": pair["query"], "document": pair["document"]}


@pytest.mark.slow
def test_pairs_are_leased_and_nobody_else_gets_them(http, coarse):
    names = ("lea", "leo", "lou")
    leased = {name: post(http, "/v1/collections/coarse/next", 200, assessor=name, count=5)["pairs"] for name in names}
    pairs = [(pair["query"], pair["document"]) for mine in leased.values() for pair in mine]
    assert len(set(pairs)) == 15
    assert set(pairs) <= set(build_pool(coarse).pairs)
    again = post(http, "/v1/collections/coarse/next", 200, assessor="lea", count=5)
    assert [pair["document"] for pair in again["pairs"]] == [pair["document"] for pair in leased["lea"]]
    assert again["pairs"][0]["until"] >= leased["lea"][0]["until"]
    assert leased["lea"][0]["query_sound"] is None
    assert leased["lea"][0]["document_peaks"] is None


def test_pairs_of_one_query_may_be_asked_for(http):
    pairs = post(http, "/v1/collections/coarse/next", 200, assessor="quentin", count=4, by_query=True)["pairs"]
    assert len({pair["query"] for pair in pairs}) == 1


def test_a_second_opinion_is_said_to_be_one(http, small):
    # Two assessors have judged half of the pool; each pair that one assessor judges now waits for another assessor.
    first = free_pair(http, "one", "small")
    post(http, f"{SMALL}/judgments", 201, **first, assessor="one", fine=10)
    second = post(http, f"{SMALL}/next", 200, assessor="two")["pairs"][0]
    assert {"query": second["query"], "document": second["document"]} == first
    assert second["second"] is True


def test_a_judgment_is_written_once_and_answered_the_same_when_it_is_sent_again(http):
    pair = free_pair(http, "ann")
    said = {**pair, "assessor": "ann", "broad": 2, "fine": 81, "played_s": 12.5, "note": "a cover\nof it"}
    first = post(http, "/v1/collections/coarse/judgments", 201, key="k 1", **said)
    again = post(http, "/v1/collections/coarse/judgments", 200, key="k 1", **said)
    assert again.pop("replayed") is True
    assert again == first
    assert first["broad"] == 2
    assert first["fine"] == 81
    assert first["details"] == {"played_s": 12.5, "note": "a cover\nof it"}
    other = post(http, "/v1/collections/coarse/judgments", 422, key="k 1", **{**said, "broad": 1})
    assert other["detail"] == "the key 'k 1' of ann is used for another event"


def test_predictions_rest_on_the_judgments_of_the_campaign_and_name_its_state(http, coarse):
    pool = build_pool(coarse)
    pair = free_pair(http, "pia")
    record = post(http, "/v1/collections/coarse/judgments", 201, **pair, assessor="pia", broad=1)
    exported = http.get("/v1/collections/coarse/judgments?format=csv").text.splitlines()[1:]
    grades = {}
    for line in exported:
        query, document, grade, *_ = line.split(",")
        grades.setdefault((query, document), []).append(float(grade))
    means = {key: sum(values) / len(values) for key, values in grades.items()}
    for model in ("mjud", "mout"):
        expected = make_estimator(pool, model).predict(pool.spread(means)).expectation
        columns = {"query": [q for q, _ in pool.pairs], "document": [d for _, d in pool.pairs]}
        answer = post(http, f"/v1/collections/coarse/predictions?model={model}", 200, **columns)
        judged = pool.spread(means)
        assert answer["state"] == record["number"]
        assert answer["judgments"] == len(exported)
        assert answer["expectation"] == np.where(np.isnan(judged), expected, judged).tolist()


def test_cannot_judge_is_an_answer_and_may_be_taken_back(http):
    pair = free_pair(http, "cal")
    said = post(http, "/v1/collections/coarse/judgments", 201, **pair, assessor="cal", cannot="only noise")
    assert said["kind"] == "cannot"
    shown = http.get("/v1/collections/coarse/campaign").json()
    assert {**pair, "assessor": "cal", "reason": "only noise"} in shown["cannot"]
    undone = post(http, "/v1/collections/coarse/undo", 201, key="u1", assessor="cal")
    assert undone["refers"] == said["number"]
    assert post(http, "/v1/collections/coarse/undo", 200, key="u1", assessor="cal")["number"] == undone["number"]
    assert http.get("/v1/collections/coarse/answers?assessor=cal").json()["answers"] == []


def test_an_answer_is_undone_by_its_number_and_what_it_replaced_counts_again(http):
    pair = free_pair(http, "una")
    path = "/v1/collections/coarse/judgments"
    first = post(http, path, 201, **pair, assessor="una", broad=0)
    second = post(http, path, 201, **pair, assessor="una", broad=2)
    answers = http.get("/v1/collections/coarse/answers?assessor=una").json()
    assert [answer["number"] for answer in answers["answers"]] == [first["number"], second["number"]]
    post(http, "/v1/collections/coarse/undo", 201, assessor="una", number=second["number"])
    line = f"{pair['query']},{pair['document']},0,una,{first['time']}"
    rows = http.get(f"{path}?format=csv").text.splitlines()
    assert [row for row in rows if row.startswith(f"{line},")]
    refused = post(http, "/v1/collections/coarse/undo", 422, assessor="una", number=10**6)
    assert refused["detail"] == "event 1000000 is not a valid answer of una"


def test_another_assessors_lease_is_respected(http):
    pair = free_pair(http, "holder")
    refused = post(http, "/v1/collections/coarse/judgments", 403, **pair, assessor="thief", broad=0)
    assert refused["detail"].startswith(f"document {pair['document']} for query {pair['query']} is with another asses")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"query": "q0"}', "expected the field `document`"),
        (b'{"query": "q0", "document": "%s", "assessor": "a"}', "expected a grade in fine, broad or grade"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1, "cannot": "x"}', "expected a grade in fine"),
        (b'{"query": "q0", "document": "%s", "fine": 1}', "expected the name of an assessor"),
        (b'{"query": "q0", "document": "%s", "assessor": " ", "fine": 1}', "expected the name of an assessor"),
        (b'{"query": "q0", "document": "nobody", "assessor": "a", "fine": 1}', "no system retrieved document nobody"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 50.5}', "grade 50.5 is not on the fine scale"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 101}', "grade 101 is not on the fine scale"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "broad": 1}', "expected a grade on the fine scale"),
        (
            b'{"query": "q0", "document": "%s", "assessor": "a", "fine": "1"}',
            "fine: expected a number or null, got a text",
        ),
        (
            b'{"query": "q0", "document": "%s", "assessor": "a", "fine": true}',
            "fine: expected a number or null, got true or false",
        ),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": NaN}', "every number must be finite"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": Infinity}', "every number must be finite"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1e999}', "fine: number out of range"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1, "played_s": -1}', "played_s: expected"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1, "grades": 2}', "unknown"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1, "fine": 2}', "the key 'fine' occurs twice"),
        (rb'{"query": "q0", "document": "\ud800", "assessor": "a", "fine": 1}', "the body contains a lone surrogate, "),
        (rb'{"query": "q0", "document": "d\u0000", "assessor": "a", "fine": 1}', "document holds the character"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1, "time": "noon"}', "expected a time in UTC"),
        (b'{"query": "q0", "document": "%s", "assessor": "a", "fine": 1, "time": "9999-01-01T00:00:00Z"}', "time 9999"),
    ],
)  # fmt: skip
def test_a_judgment_that_is_none_is_refused(http, small, body, message):
    document = next(pair.document for pair in build_pool(small).pairs if pair.query == "q0")
    filled = body.replace(b"%s", document.encode())
    answer = http.post(f"{SMALL}/judgments", content=filled)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"].startswith(message)


@pytest.mark.parametrize("body", [b"", b"judge", b'{"query": "\xff"}', b'{"query": "\\ud800'])
def test_what_is_not_json_is_400(http, body):
    assert http.post(f"{SMALL}/judgments", content=body).status_code == 400


def test_a_long_judgment_is_refused_before_it_is_read(http):
    answer = http.post(f"{SMALL}/judgments", content=b" " * (64 * 2**10 + 1))
    assert answer.status_code == 413
    assert answer.json()["detail"] == "such a body may have 65536 bytes at most, got 65537"


@pytest.mark.parametrize("count", [0, -1, 101, 1.5, "1", True])
def test_a_number_of_pairs_that_is_none_is_refused(http, count):
    assert http.post(f"{SMALL}/next", json={"assessor": "a", "count": count}).status_code == 422


def test_script_in_what_people_write_stays_text(http):
    pair = free_pair(http, "<script>alert(1)</script>")
    note = "<img src=x onerror=alert(2)>"
    said = {**pair, "assessor": "<script>alert(1)</script>", "broad": 0, "note": note}
    assert post(http, "/v1/collections/coarse/judgments", 201, **said)["details"] == {"note": note}
    shown = http.get("/v1/collections/coarse/campaign")
    assert shown.headers["content-type"] == "application/json"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in shown.headers["content-security-policy"]


def test_what_was_judged_late_keeps_its_time_within_reason(http):
    pair = free_pair(http, "tim")
    then = datetime.now(UTC) - timedelta(days=50)
    said = {**pair, "assessor": "tim", "broad": 0, "time": then.isoformat(timespec="seconds")}
    kept = post(http, "/v1/collections/coarse/judgments", 201, **said)["time"]
    assert datetime.fromisoformat(kept) == then.replace(microsecond=0)
    refused = post(http, "/v1/collections/coarse/judgments", 422, **said | {"time": "2013-05-01T12:00:00Z"})
    assert refused["detail"].startswith("time 2013-05-01T12:00:00Z is more than 60 days ago; it is now ")


def test_a_campaign_that_is_paused_or_closed_takes_no_answer_until_it_is_resumed(http):
    pair = free_pair(http, "paul")
    path = "/v1/collections/coarse"
    assert post(http, f"{path}/pause", 201, reason="lunch")["details"] == {"reason": "lunch"}
    refused = post(http, f"{path}/judgments", 409, **pair, assessor="paul", broad=0)
    assert refused["detail"] == "the campaign is paused: its organiser opens it by `resume`"
    assert post(http, f"{path}/next", 409, assessor="paul")["detail"] == refused["detail"]
    assert http.get(f"{path}/campaign").json()["status"] == "paused"
    assert http.post(f"{path}/close").status_code == 201
    assert post(http, f"{path}/pause", 409)["detail"] == "cannot pause the campaign: it is closed"
    assert http.post(f"{path}/resume").status_code == 201
    post(http, f"{path}/judgments", 201, **pair, assessor="paul", broad=0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("document 1 for query a in its top 1 is a document", "document <1> for query <a> in its top 1 is a document"),
        ("got 'a' and '1', a 10 of 1", "got '<a>' and '<1>', a 10 of 1"),
        ('no Winter, by AC/DC: "it\'s"', 'no <Winter>, by <AC/DC>: "<it\'s>"'),
        ("document AC/DC for query AC", "document <AC/DC> for query <AC>"),
        ("no Winterreise", "no Winterreise"),
    ],
)
def test_errors_for_assessors_replace_names_and_no_other_words(words, expected):
    assert renamed(words, ["1", "a", "Winter", "AC/DC", "AC", "it's", ""], lambda name: f"<{name}>") == expected
