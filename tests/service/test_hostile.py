"""Requests of hostile or broken clients get a short refusal and never cause a failure."""

import gzip
import json

import pytest

from audiosim.collection.pool import build_pool
from audiosim.service.http.limits import Limits
from audiosim.service.types.base import MOST_VALUES
from audiosim.service.types.predictions import MOST_ROWS

PAIRS = "/v1/collections/small/predictions"
ROWS = "/v1/models/mjud-fine/predictions"
POSTS = [PAIRS, ROWS]
SHORT = 1000


def detail(answer):
    """Text of a refusal, checked to be short and marked as a refusal."""
    problem = answer.json()
    assert len(answer.content) < SHORT
    assert answer.status_code >= 400
    return problem["detail"]


def features(rows):
    return b'{"features": {"aSYS": [%s], "aART": [1], "fSYS": [1]}}' % rows


def pairs(count):
    return {"query": ["q0"] * count, "document": ["d00"] * count}


@pytest.mark.parametrize("path", POSTS)
def test_two_million_rows_are_refused_before_they_are_parsed(http, path):
    answer = http.post(path, content=b'{"query": [' + b'"q00",' * 2_000_000 + b'"q"], "document": []}')
    assert answer.status_code == 413
    assert detail(answer) == f"a body may have {Limits().body_bytes} bytes at most"
    assert http.get("/health/live").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("path", POSTS)
def test_two_million_short_values_are_refused_before_they_are_parsed(http, path):
    answer = http.post(path, content=b'{"features": {"aSYS": [' + b"1," * 2_000_000 + b"1]}}")
    assert answer.status_code == 422
    assert detail(answer) == f"a body may hold {MOST_VALUES} values at most, this one has more commas than that"


@pytest.mark.slow
@pytest.mark.parametrize("path", POSTS)
def test_a_body_compressed_to_nothing_is_refused_unopened(http, path):
    bomb = gzip.compress(b" " * 50_000_000)
    answer = http.post(path, content=bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert detail(answer) == "a body must be sent as it is, without a content encoding"


def test_as_many_rows_as_may_be_are_answered_and_one_more_is_refused(http):
    assert len(http.post(PAIRS, json=pairs(MOST_ROWS)).json()["status"]) == MOST_ROWS
    answer = http.post(PAIRS, json=pairs(MOST_ROWS + 1))
    assert answer.status_code == 422
    assert detail(answer).endswith(f": expected a list of length at most {MOST_ROWS}")


def test_ten_thousand_bad_rows_get_one_short_answer(http):
    answer = http.post(PAIRS, json={"query": [1] * 10_000, "document": [None] * 10_000})
    assert answer.status_code == 422
    assert detail(answer) == "query[0]: expected a text, got a whole number"
    answer = http.post(ROWS, json={"features": {name: ["x"] * 10_000 for name in ("aSYS", "aART", "fSYS")}})
    assert answer.status_code == 422
    assert detail(answer) == "features[...][0]: expected a number or null, got a text"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
def test_a_number_that_is_not_finite_is_refused_and_never_a_null(http, number):
    assert http.post(ROWS, content=features(number)).status_code == 422


def test_numbers_that_overflow_in_the_model_are_refused_and_never_a_null(http):
    many = {name: [0.5, 1e300] for name in ("fSYS", "OV", "fART", "sGEN", "fGEN")}
    answer = http.post("/v1/models/mout-fine/predictions", json={"features": many})
    assert answer.status_code == 422
    assert detail(answer) == "the features of row 1 are too large to multiply"


@pytest.mark.parametrize("value", [b'"1"', b"true", b"{}", b"[[1]]", b"1_0", b"0x10", b"01", b"+1", b".5", b"'1'"])
def test_what_only_looks_like_a_number_is_refused(http, value):
    assert http.post(ROWS, content=features(value)).status_code in {400, 422}


def test_a_number_of_a_million_digits_is_refused_or_read(http):
    assert http.post(ROWS, content=features(b"1" * 1_000_000)).status_code in {400, 422}
    assert http.post(ROWS, content=features(b"0." + b"1" * 1_000_000)).status_code == 200


def test_an_empty_batch_is_answered_with_nothing(http):
    answer = http.post(PAIRS, json=pairs(0))
    assert answer.status_code == 200
    assert answer.json()["status"] == []
    empty = {"features": {name: [] for name in ("aSYS", "aART", "fSYS")}}
    assert http.post(ROWS, json=empty).json()["expectation"] == []


def test_unknown_identifiers_are_said_row_by_row(http, small):
    known = build_pool(small).pairs[0]
    strange = ["nobody", "", "\0", "../../etc/passwd", "q0\n", "x" * 100_000, "é" * 50, "\U0001f3b5"]
    body = {"query": [known[0], *strange], "document": [known[1], *strange]}
    assert http.post(PAIRS, json=body).json()["status"][1:] == ["unknown"] * len(strange)


def test_a_pair_that_is_there_twice_is_answered_twice(http, small):
    query, document = build_pool(small).pairs[0]
    answer = http.post(PAIRS, json={"query": [query] * 2, "document": [document] * 2}).json()
    assert answer["expectation"][0] == answer["expectation"][1]


# JSON does not define the meaning of a repeated key, so neither of the two is taken.
@pytest.mark.parametrize("more", [0, 2**17])
def test_a_key_that_is_there_twice_is_refused_however_long_the_body(http, more):
    body = b'{"query": ["a", "b"], "document": ["a"], "query": ["c"]}' + b" " * more
    answer = http.post(PAIRS, content=body)
    assert answer.status_code == 422
    assert "query" in str(detail(answer))


@pytest.mark.parametrize("text", [rb'"\ud800"', rb'"\udc00\ud800"', rb'"\ud800x"', b'"\xed\xa0\x80"', b'"\xff"'])
def test_half_a_character_is_refused(http, text):
    answer = http.post(PAIRS, content=b'{"query": [' + text + b'], "document": ["d"]}')
    assert answer.status_code in {400, 422}
    assert detail(answer)


DEPTH = 200_000
PIT = [
    b"[" * DEPTH,
    b'{"a":' * DEPTH,
    b'{"query":' + b"[" * DEPTH + b"]" * DEPTH + b"}",
    b'{"features":' + b'{"a":' * DEPTH + b"1" + b"}" * DEPTH + b"}",
    b'{"unknown":' + b"[" * DEPTH + b"]" * DEPTH + b"}",
    b'{"inputs": [{"unknown":' + b"[" * DEPTH + b"]" * DEPTH + b"}]}",
    b'{"inputs": [{"data":' + b"[" * DEPTH + b"]" * DEPTH + b"}]}",
]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("body", PIT, ids=range(len(PIT)))
def test_json_that_is_two_hundred_thousand_deep_is_refused(http, path, body):
    answer = http.post(path, content=body)
    assert answer.status_code in {400, 422}
    assert detail(answer)


@pytest.mark.parametrize("body", [b"null", b"1", b'"x"', b"[]", b"true", b"\xef\xbb\xbf{}", b"{}{}", b'{"a": }', b"\0"])
@pytest.mark.parametrize("path", POSTS)
def test_a_body_of_another_kind_is_refused(http, path, body):
    assert http.post(path, content=body).status_code in {400, 422}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PAIRS, {"query": [], "document": [], "model": "mout"}),
        (ROWS, {"features": {}, "url": "http://127.0.0.1/"}),
        (PAIRS, {"query": [], "document": [], "judgments": {"query": [], "document": [], "grade": [], "assessor": []}}),
    ],
)
def test_a_field_that_nobody_asked_for_is_refused(http, path, body):
    answer = http.post(path, json=body)
    assert answer.status_code == 422
    assert "unknown field" in detail(answer)


def test_too_many_columns_are_refused(http):
    answer = http.post(ROWS, json={"features": {str(number): [] for number in range(101)}})
    assert answer.status_code == 422
    assert detail(answer) == "features: expected an object of length at most 100"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/collections/%2e%2e/predictions",
        "/v1/models/..%2f..%2fetc%2fpasswd",
        "/v1/models/mout-fine%00",
        "/v1/models/%ff",
        "/v1//models",
    ],
)
def test_a_path_that_climbs_or_is_broken_is_not_found(http, path):
    assert http.get(path).status_code in {404, 405}


def test_a_query_beyond_the_limit_is_refused(http):
    answer = http.get("/v1/collections/small", params={"model": "x" * 5000})
    assert answer.status_code == 414
    assert detail(answer) == "a path and a query may have 4096 bytes at most, each"


def test_headers_beyond_the_limit_are_refused(http):
    answer = http.get("/v1/models", headers={"X-Long": "x" * 17_000})
    assert answer.status_code == 431
    assert detail(answer) == "the headers may have 16384 bytes at most"


def test_after_all_that_the_service_answers_as_before(server):
    with server.client() as http:
        assert http.get("/health/ready").json() == {"status": "ready"}
        assert http.post(ROWS, content=features(b"1")).status_code == 200
    log = server.log.read_text(encoding="utf-8")
    assert [line for line in log.splitlines() if " 500 " in line and " /bug " not in line] == []


def test_json_of_every_answer_is_strict(http):
    def refuse(constant):
        raise AssertionError(constant)

    answer = http.post(PAIRS, json={"query": ["nobody"], "document": ["d00"], "include": ["probabilities"]})
    assert json.loads(answer.content, parse_constant=refuse)["expectation"] == [None]


def test_a_wrong_method_is_told_all_the_right_ones(http):
    assert http.put("/v1/collections/small/judgments").headers["allow"] == "GET, HEAD, POST"
    assert http.get(ROWS).headers["allow"] == "POST"
