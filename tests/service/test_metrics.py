"""Statements of /metrics and the log about requests, read by Prometheus' parser and a JSON parser."""

import io
import json
import logging
import re
import sys
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import ClientDisconnect

from audiosim.campaign import Campaign
from audiosim.collection.pool import build_pool
from audiosim.collection.values import Judgment
from audiosim.service.http.limits import Gate
from audiosim.service.http.observation import JsonLines, Metrics, Observed, Seen, request_log

FEATURES = {"features": {"aSYS": [50.0, 60.0], "aART": [70.0, None], "fSYS": [0.5, 0.5]}}
SEEN = Seen("id-1", "POST", "/v1/models/{model}/predictions", 200, 0.0123, 456, 2, "127.0.0.1", "client")


def figures(text):
    """Values by name and labels."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sorted(sample.labels.items())): sample.value for sample in samples}


def scraped(http):
    answer = http.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return figures(answer.text)


@pytest.fixture
def fresh(another):
    with another.client() as http:
        yield http


def count(found, route, method, status):
    return found.get(("audiosim_requests_total", ("method", method), ("route", route), ("status", str(status))), 0)


@pytest.mark.slow
def test_requests_are_counted_by_route_method_and_status(fresh):
    for name in ("mout-fine", "mjud-fine", "nobody"):
        fresh.get(f"/v1/models/{name}")
    found = scraped(fresh)
    assert count(found, "/v1/models/{model}", "GET", 200) == 2
    assert count(found, "/v1/models/{model}", "GET", 404) == 1
    assert found["audiosim_request_seconds_count", ("route", "/v1/models/{model}")] == 3
    assert found["audiosim_requests_in_flight",] == 1
    assert count(scraped(fresh), "/metrics", "GET", 200) == 1


@pytest.mark.slow
def test_predicted_rows_are_counted(fresh, small):
    assert fresh.post("/v1/models/mjud-fine/predictions", json=FEATURES).status_code == 200
    pairs = build_pool(small).pairs[:5]
    body = {"query": [query for query, _ in pairs], "document": [document for _, document in pairs]}
    assert fresh.post("/v1/collections/small/predictions", json=body).status_code == 200
    found = scraped(fresh)
    assert found["audiosim_predicted_rows_total", ("route", "/v1/models/{model}/predictions")] == 2
    assert found["audiosim_predicted_rows_total", ("route", "/v1/collections/{collection}/predictions")] == 5


@pytest.mark.slow
def test_the_progress_of_every_collection_is_told(fresh, small, coarse):
    found = scraped(fresh)
    judged = len({judgment.pair for judgment in small.judgments})
    pairs = len(build_pool(small).pairs)
    assert found["audiosim_judgments", ("collection", "small")] == len(small.judgments)
    assert found["audiosim_judged_share", ("collection", "small")] == judged / pairs
    assert found["audiosim_pool_pairs", ("collection", "small")] == pairs
    assert found["audiosim_judgments", ("collection", "coarse")] == 0


@pytest.mark.slow
def test_paths_and_methods_that_nobody_serves_do_not_make_figures_of_their_own(fresh):
    for number in range(20):
        fresh.get(f"/wp-admin/{number}")
        fresh.request(f"HACK{number}", "/v1/models")
    found = scraped(fresh)
    assert count(found, "none", "GET", 404) == 20
    assert not any("wp-admin" in str(key) or "HACK" in str(key) for key in found)
    assert len([key for key in found if key[0] == "audiosim_requests_total"]) <= 3


@pytest.mark.slow
def test_bugs_are_counted_as_errors(fresh):
    assert fresh.get("/bug").status_code == 500
    assert scraped(fresh)["audiosim_errors_total", ("route", "/bug")] == 1


@pytest.mark.slow
def test_what_is_running_is_told(fresh):
    found = [key for key in scraped(fresh) if key[0] == "audiosim_build_info"]
    assert dict(found[0][1:])["python"] == ".".join(map(str, sys.version_info[:3]))


def test_a_confidence_that_is_known_is_told_and_one_that_is_not_is_left_out(small):
    asked, not_asked = Campaign(small, "uniform"), Campaign(small, "uniform")
    confidence = asked.confidence
    metrics = Metrics(Gate(1, 1), lambda: {"a": asked.current_state, "b": not_asked.current_state})
    found = figures(metrics.text().decode())
    assert found["audiosim_confidence", ("collection", "a")] == confidence
    assert ("audiosim_confidence", ("collection", "b")) not in found
    asked.tell(Judgment(*asked.ask()[0], 50.0))
    assert figures(metrics.text().decode())["audiosim_confidence", ("collection", "a")] == confidence


def test_a_time_falls_into_the_buckets_at_and_above_it():
    metrics = Metrics(Gate(1, 1), dict)
    metrics.finished(SEEN)
    found = figures(metrics.text().decode())
    buckets = {dict(key[1:])["le"]: value for key, value in found.items() if key[0].endswith("_bucket")}
    assert (buckets["0.01"], buckets["0.025"], buckets["+Inf"]) == (0, 1, 1)


def test_a_client_that_went_away_before_the_answer_is_told_as_such():
    seen = []

    async def gone(scope, receive, send):
        raise ClientDisconnect

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}, "client": None}
    with pytest.raises(StopIteration):
        Observed(gone, [seen.append])(scope, None, None).send(None)
    assert seen[0].status == 499


def test_a_request_is_one_line_of_json():
    stream = io.StringIO()
    request_log("json", stream)(SEEN)
    text = stream.getvalue()
    assert text.count("\n") == 1
    line = json.loads(text)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "request_id": "id-1",
        "method": "POST",
        "route": "/v1/models/{model}/predictions",
        "status": 200,
        "ms": 12.3,
        "bytes": 456,
        "rows": 2,
        "remote": "127.0.0.1",
        "role": "client",
    }


def test_a_request_is_one_line_for_people():
    stream = io.StringIO()
    request_log("text", stream)(replace(SEEN, status=503))
    pattern = (
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ERROR service: request id-1: "
        r"POST /v1/models/\{model\}/predictions 503 in 12\.3 ms, 456 bytes to 127\.0\.0\.1 client\n"
    )
    assert re.fullmatch(pattern, stream.getvalue())


def test_other_lines_are_json_too_with_their_traceback():
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        record = logging.LogRecord("service", logging.ERROR, "", 0, "%s failed\n", ("this",), sys.exc_info())
    text = JsonLines().format(record)
    line = json.loads(text)
    assert "\n" not in text
    assert (line["level"], line["logger"], line["message"]) == ("error", "service", "this failed\n")
    assert "ZeroDivisionError: division by zero" in line["traceback"]


@pytest.mark.slow
def test_a_request_is_found_in_the_log_and_neither_its_token_nor_its_body_is(another):
    with another.client() as http:
        headers = {"X-Request-ID": "find-me", "Authorization": "Bearer keep-this-secret"}
        http.post("/v1/models/mjud-fine/predictions", json=FEATURES, headers=headers)
        http.post("/v1/models/mjud-fine/predictions?q=private", json=FEATURES, headers=headers)
    assert another.stop() == 0
    log = another.log.read_text(encoding="utf-8")
    for status in (200, 422):
        assert f"request find-me: POST /v1/models/{{model}}/predictions {status} in " in log
    assert not any(secret in log for secret in ("keep-this-secret", "aSYS", "private"))
