"""Every error is a problem of RFC 9457 that describes the mistake in one line."""

import json
import re
import socket
from typing import Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from audiosim.collection.pool import build_pool
from audiosim.service.http.limits import Limits
from audiosim.service.types.base import decode
from audiosim.service.types.predictions import MOST_ROWS

MOST_BYTES = Limits().body_bytes

SMALL = "/v1/collections/small/predictions"
MODEL = "/v1/models/mjud-fine/predictions"


def check_problem(answer, status, message):
    problem = answer.json()
    assert answer.status_code == status, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail", "request_id"}
    assert problem["status"] == status
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert re.search(message, problem["detail"]), problem["detail"]
    assert "\n" not in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/v1/nothing", 404, "^nothing is served at this address, expected one of those at /docs"),
        ("GET", "/v1/models/", 404, "^nothing is served at this address, expected one of those at /docs"),
        (
            "DELETE",
            "/v1/models",
            405,
            "^this address does not answer to this method, expected GET, HEAD$",
        ),
        ("GET", SMALL, 405, "^this address does not answer to this method, expected POST$"),
        ("GET", "/v1/collections/big", 404, "^unknown collection 'big', expected one of small, coarse$"),
        ("GET", "/v1/models/mout-fin", 404, "^unknown model 'mout-fin', .*; did you mean mout-fine\\?$"),
        ("GET", "/v1/collections/small?model=mouth", 404, "^unknown model 'mouth', .*; did you mean mout\\?$"),
        ("GET", "/v1/models/mout", 404, "^unknown model 'mout', expected one of historical-broad, historical-fine"),
        (
            "GET",
            "/v1/collections/small?model=best",
            404,
            "^unknown model 'best', expected one of historical, joint, lj",
        ),
        ("GET", "/v1/collections/small?model=/m.json", 404, "^unknown model '/m.json', expected one of"),
        ("GET", "/v1/collections/small?model=remote:http://a", 404, "^unknown model 'remote:http://a', expected"),
        ("GET", "/v1/collections/small?model=mout-broad", 422, "^model mout-broad is for the broad scale, the coll"),
        ("GET", "/v1/collections/small?cutoff=0", 422, "^cutoff: expected at least 1, got '0'$"),
        ("GET", "/v1/collections/small?cutoff=1001", 422, "^cutoff: expected at most 1000, got '1001'$"),
        ("GET", "/v1/collections/small?cutoff=x", 422, "^cutoff: expected a whole number, got 'x'$"),
        (
            "GET",
            "/v1/collections/small?cutof=3",
            422,
            "^unknown parameter 'cutof': .*cutoff.*; did you mean cutoff\\?$",
        ),
        ("GET", "/v1/collections/small?cutoff=2&cutoff=3", 422, "^cutoff is in the address twice, expected it once$"),
        ("GET", "/v1/collections/small/log?leases=1&count=5&leases=1", 422, "^leases is in the address twice, expect"),
        ("POST", "/v1/collections/small/pause?by=ann", 422, "^unknown parameter 'by': this address takes none$"),
    ],
)
def test_a_wrong_address_is_a_problem(http, method, path, status, message):
    check_problem(http.request(method, path), status, message)


@pytest.mark.parametrize("path", ["/nothing", "/judging/small", "/v1", "/organise/small/more"])
def test_a_browser_at_a_wrong_address_gets_a_page_and_a_program_a_problem(http, path):
    page = http.get(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>There is no page at this address</h1>" in page.text
    assert "{" not in page.text
    check_problem(http.get(path), 404, "^nothing is served at this address, expected one of those at /docs")
    unpublished = http.get("/published/nothing", headers={"Accept": "text/html"})
    assert (unpublished.status_code, "<h1>Nothing is published here</h1>" in unpublished.text) == (404, True)
    browsed = http.get("/v1/nothing", headers={"Accept": "text/html"})
    check_problem(browsed, 404, "^nothing is served at this address, expected one of those at /docs")


@pytest.mark.parametrize(
    ("kind", "status"),
    [("text/csv; charset=utf-8", 415), ("application/json", 400), ("application/x-www-form-urlencoded", 400)],
)
def test_a_body_that_is_not_json_and_says_so_is_of_another_media_type(http, kind, status):
    refused = http.post(SMALL, content=b"query,document\nq,d\n", headers={"content-type": kind})
    assert refused.status_code == refused.json()["status"] == status
    if status == 415:
        assert refused.json()["detail"] == "expected application/json, got 'text/csv'"
    assert http.post(SMALL, content=b'{"query": [], "document": []}', headers={"content-type": kind}).is_success


def test_a_wrong_method_is_told_the_right_one(http):
    assert http.get(SMALL).headers["allow"] == "POST"


JUDGED = b'{"query": [], "document": [], "judgments": {"query": ["q"], "document": ["d"], "grade": [%s]}}'
TWICE = b'{"query": [], "document": [], "judgments": {"query": ["q", "q"], "document": ["d", "d"], "grade": [1, 2]}}'


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (SMALL, b"", 400, "^the body is not JSON: "),
        (SMALL, b"query", 400, "^the body is not JSON: .* invalid character"),
        (SMALL, b'{"query": ["\xff"], "document": []}', 400, "^the body is not JSON: 'utf-8' codec can't decode"),
        (SMALL, rb'{"query": ["\ud800aaaaaaaa"], "document": []}', 400, "^the body is not JSON: "),
        (SMALL, b'{"query": [NaNa], "document": []}', 400, "^the body is not JSON: "),
        (SMALL, b"[" * 200_000, 422, "^expected an object, got a list$"),
        (SMALL, b'{"query": ["a"]}', 422, "^expected the field `document`$"),
        (SMALL, b'{"query": [1], "document": ["a"]}', 422, r"^query\[0\]: expected a text, got a whole number$"),
        (
            SMALL,
            b'{"query": [], "documents": []}',
            422,
            "^unknown field `documents`: expected query, document, .*; did you mean document\\?$",
        ),
        (
            SMALL,
            b'{"query": [], "document": [], "judgments": {"grades": [1]}}',
            422,
            r"^judgments: unknown field `grades`: expected query, .*; did you mean grade\?$",
        ),
        (
            SMALL,
            b'{"query": [], "document": [], "include": ["all"]}',
            422,
            r"^include\[0\]: unknown value 'all': expected covariance, probabilities$",
        ),
        (
            SMALL,
            b'{"query": ["a"], "document": []}',
            422,
            "^the columns must be of one length, got query 1, document 0",
        ),
        (
            SMALL,
            JUDGED % b"1, 2",
            422,
            r"^judgments: the columns must be of one length, got query 1, document 1, grade 2",
        ),
        (SMALL, JUDGED % b"true", 422, r"^[a-z].*: expected a number, got true or false$"),
        (SMALL, JUDGED % b"101", 422, r"^judgments: grade 101 is beyond the fine scale \(101 levels from 0 to 100\)$"),
        (SMALL, JUDGED % b"-1", 422, "^judgments: grade -1 is beyond the fine scale"),
        (SMALL, JUDGED % b"NaN", 422, r"^every number must be finite \(byte \d+\)$"),
        (SMALL, TWICE, 422, "^judgments: query q, document d occurs twice, expected it once$"),
        (SMALL, b'{"query": [], "document": [], "query": []}', 422, "^the key 'query' occurs twice, expected it once$"),
        (
            SMALL,
            JUDGED.replace(b'"grade"', b'"query": ["r"], "grade"') % b"1",
            422,
            "^the key 'query' occurs twice, expected it once$",
        ),
        (MODEL, b'{"features": {"fSYS": [1], "fSYS": [2]}}', 422, "^the key 'fSYS' occurs twice, expected it once$"),
        (MODEL, b'{"features": {"fSYS": ["1"]}}', 422, r"^features.*: expected a number or null, got a text$"),
        (MODEL, b'{"features": {"fSYS": [NaN]}}', 422, "^every number must be finite"),
        (MODEL, b'{"features": {"fSYS": [Infinity]}}', 422, "^every number must be finite"),
        (MODEL, b'{"features": {"fSYS": [-Infinity]}}', 422, "^every number must be finite"),
        (MODEL, b'{"features": {"fSYS": [1e999]}}', 422, r"^features\[...\]\[0\]: number out of range$"),
        (MODEL, b'{"features": {"fSYS": [1], "aSYS": [1, 2]}}', 422, "^the columns must be of one length, got fSYS 1"),
        (MODEL, b'{"features": {"loudness": [1]}}', 422, "^unknown feature 'loudness', expected one of fSYS"),
        (
            MODEL,
            b'{"features": {"fSYS": [1]}}',
            422,
            "^model mjud-fine needs the features .*; aSYS, aART missing, expected a column of each$",
        ),
        ("/v1/models/no/predictions", b"{", 404, "^unknown model 'no', expected one of"),
        ("/v1/collections/no/predictions", b"{", 404, "^unknown collection 'no', expected one of small, coarse$"),
    ],
)
def test_a_wrong_body_is_a_problem(http, path, body, status, message):
    check_problem(http.post(path, content=body), status, message)


def test_features_that_overflow_are_a_problem_and_never_a_null(http):
    features = {name: [0.5, 1e300] for name in ("fSYS", "OV", "fART", "sGEN", "fGEN")}
    answer = http.post("/v1/models/mout-fine/predictions", json={"features": features})
    check_problem(answer, 422, "^the features of row 1 are too large to multiply$")


def test_too_many_rows_are_a_problem(http):
    body = {"query": ["q"] * (MOST_ROWS + 1), "document": ["d"] * (MOST_ROWS + 1)}
    check_problem(http.post(SMALL, json=body), 422, rf"^[a-z]+: expected a list of length at most {MOST_ROWS}$")


def test_a_body_beyond_the_limit_is_refused(http):
    check_problem(http.post(SMALL, content=b" " * (MOST_BYTES + 1)), 413, f"^a body may have {MOST_BYTES} bytes at mo")


def test_a_body_without_a_declared_length_is_refused_beyond_the_limit_too(http):
    pieces = (b" " * 2**20 for _ in range(MOST_BYTES // 2**20 + 1))
    check_problem(http.post(SMALL, content=pieces), 413, "^a body may have")


def test_a_bug_is_answered_with_an_identifier_that_finds_its_traceback_in_the_log(http, server):
    answer = http.get("/bug", headers={"X-Request-ID": "find-me"})
    check_problem(answer, 500, "^this is a bug in the service; its log has more under the request id$")
    log = server.log.read_text(encoding="utf-8")
    assert "request find-me: GET '/bug' failed" in log
    assert "ZeroDivisionError: a bug on purpose" in log
    assert "a bug on purpose" not in answer.text


@pytest.mark.slow
def test_a_service_behind_that_went_away_is_a_problem_of_the_gateway(another, relay, small):
    query, document = small.judgments[0].pair
    answer_of = {"query": [query], "document": [document], "grade": [50]}
    question = {"query": ["q0"], "document": ["d00"], "judgments": answer_of}
    shallower = f"{SMALL}?cutoff=2"
    with relay.client() as http:
        before = http.post(SMALL, json=question).json()
        assert before["model"]["name"] == "remote:joint-fine"
        assert another.stop() == 0
        assert http.post(SMALL, json=question).json() == before  # the prior is kept and conditioned here
        check_problem(http.post(shallower, json=question), 502, f"^{another.url} cannot be reached: ")


@pytest.mark.slow
def test_a_relay_calls_pairs_unknown_that_no_system_retrieved(server, relay, small):
    inside = build_pool(small).pairs[0]
    assert ("q0", "d00") not in build_pool(small).positions
    question = {"query": ["q0", inside.query], "document": ["d00", inside.document]}
    with relay.client() as http, server.client() as direct:
        assert direct.post(SMALL, json=question).json()["status"][0] == "predicted"
        answer_of = http.post(SMALL, json=question).json()
    assert answer_of["status"][0] == "unknown"
    assert answer_of["expectation"][0] is None
    assert answer_of["status"][1] in {"judged", "predicted"}
    assert answer_of["expectation"][1] is not None


@pytest.mark.slow
def test_a_client_that_goes_away_in_the_middle_is_no_bug(another):
    port = int(another.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(
            f"POST {SMALL} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: gone\r\nContent-Length: 9\r\n\r\n{{".encode()
        )
    assert another.says("request gone: the client went away")
    assert another.stop() == 0
    assert "Traceback" not in another.log.read_text(encoding="utf-8")


def test_the_clients_request_identifier_comes_back(http):
    assert http.get("/health/live", headers={"X-Request-ID": "mine:1.2-3_4"}).headers["x-request-id"] == "mine:1.2-3_4"


@pytest.mark.parametrize("given_id", ["", "two words", "x" * 129, "<script>"])
def test_a_request_identifier_that_is_not_decent_is_replaced(http, given_id):
    answer = http.get("/health/live", headers={"X-Request-ID": given_id})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["query", "document", "include", "features"]), inner)
    ),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()), st.sampled_from([SMALL, MODEL]))
def test_no_body_makes_the_service_fail(http, body, path):
    answer = http.post(path, content=body)
    assert answer.status_code in {200, 400, 422}
    assert "NaN" not in answer.text


class Leaf(msgspec.Struct, forbid_unknown_fields=True):
    kind: Literal["u", "v"] = "u"


class Tree(msgspec.Struct, forbid_unknown_fields=True):
    named: dict[str, Leaf] = {}
    listed: list[Leaf] = []
    one: Leaf | None = None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"listed": [{"kind": "z"}]}', "listed[0].kind: unknown value 'z': expected u, v"),
        (b'{"one": {"kid": "u"}}', "one: unknown field `kid`: expected kind; did you mean kind?"),
        (b'{"named": {"a": {"kind": "z"}}}', "named[...].kind: unknown value 'z'"),
    ],
)
def test_what_is_known_is_said_wherever_something_unknown_stands(body, said):
    with pytest.raises(HTTPException) as refused:
        decode(body, Tree)
    assert (refused.value.status_code, refused.value.detail) == (422, said)
