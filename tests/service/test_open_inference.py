"""Models over the Open Inference Protocol: Triton's own client gets the same numbers as the service's own address."""

import json
import warnings

import httpx
import numpy as np
import pytest

from audiosim.relevance.model_files import load_model
from service.wire.prediction_types import MOST_ROWS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tritonclient import http as triton
    from tritonclient.utils import InferenceServerException

INFER = "/v2/models/mjud-fine/infer"
COLUMNS = {"aSYS": [50.0, 60.0, 12.5], "aART": [70.0, float("nan"), 0.0], "fSYS": [0.5, 0.25, 1.0]}


@pytest.fixture(scope="module")
def client(server):
    client = triton.InferenceServerClient(server.url.removeprefix("http://"))
    yield client
    client.close()


def inputs(columns, shape=(-1,), binary=True):
    made = []
    for name, column in columns.items():
        values = np.array(column).reshape(shape)
        one = triton.InferInput(name, list(values.shape), "FP64")
        one.set_data_from_numpy(values, binary_data=binary)
        made.append(one)
    return made


@pytest.fixture(scope="module")
def expected(http):
    """Answer of the service's own address about the columns; None where unknown."""
    features = {name: [None if np.isnan(value) else value for value in column] for name, column in COLUMNS.items()}
    return http.post(
        "/v1/models/mjud-fine/predictions", json={"features": features, "include": ["probabilities"]}
    ).json()


def check_answer(found, expected):
    for name in ("expectation", "variance"):
        np.testing.assert_array_equal(found.as_numpy(name), np.array(expected[name], dtype=float))
    rows = [row or [np.nan] * len(expected["levels"]) for row in expected["probabilities"]]
    np.testing.assert_array_equal(found.as_numpy("probabilities"), np.array(rows))
    np.testing.assert_array_equal(found.as_numpy("levels"), np.array(expected["levels"]))


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_tritons_client_gets_the_numbers_of_our_own_address_in_bytes(client, expected, shape):
    found = client.infer("mjud-fine", inputs(COLUMNS, shape))
    check_answer(found, expected)
    assert found.get_response()["model_version"] == load_model("mjud-fine").version


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_tritons_client_gets_the_numbers_of_our_own_address_as_json(client, http, shape):
    known = {name: column[::2] for name, column in COLUMNS.items()}
    outputs = [
        triton.InferRequestedOutput(name, binary_data=False)
        for name in ("levels", "probabilities", "variance", "expectation")
    ]
    found = client.infer("mjud-fine", inputs(known, shape, binary=False), outputs=outputs, request_id="mine")
    ours = http.post("/v1/models/mjud-fine/predictions", json={"features": known, "include": ["probabilities"]})
    check_answer(found, ours.json())
    answered = found.get_response()
    assert answered["id"] == "mine"
    assert [one["name"] for one in answered["outputs"]] == ["levels", "probabilities", "variance", "expectation"]


def test_many_rows_are_answered_too(client):
    rng = np.random.default_rng(2)
    columns = {name: rng.random(20_000) for name in COLUMNS}
    found = client.infer("mjud-fine", inputs(columns)).as_numpy("probabilities")
    np.testing.assert_array_equal(found, load_model("mjud-fine").probabilities(columns, 20_000))


def test_bytes_in_and_json_out_may_be_mixed(client, expected):
    outputs = [
        triton.InferRequestedOutput("variance", binary_data=True),
        triton.InferRequestedOutput("expectation", False),
    ]
    mixed = [*inputs(COLUMNS)[:2], *inputs(COLUMNS, binary=False)[2:]]
    found = client.infer("mjud-fine", mixed, outputs=outputs)
    for name in ("variance", "expectation"):
        np.testing.assert_array_equal(found.as_numpy(name), np.array(expected[name], dtype=float))


def test_null_is_unknown(http):
    tensors = [{"name": name, "shape": [1], "datatype": "FP64", "data": [None]} for name in COLUMNS]
    answer = http.post(INFER, json={"inputs": tensors}).json()
    assert [one["data"] for one in answer["outputs"][:2]] == [[None], [None]]
    assert answer["outputs"][2] == {"name": "probabilities", "datatype": "FP64", "shape": [1, 10], "data": [None] * 10}


def test_tritons_client_finds_the_server_and_its_models(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("mout-fine")
    assert client.is_model_ready("mout-fine", load_model("mout-fine").version)
    assert not client.is_model_ready("nobody")
    assert client.get_server_metadata()["extensions"] == ["binary_tensor_data", "model_repository"]


@pytest.mark.parametrize("version", ["", load_model("mout-fine").version])
def test_a_models_inputs_and_outputs_are_told(client, version):
    found = client.get_model_metadata("mout-fine", version)
    assert found["versions"] == [load_model("mout-fine").version]
    assert found["inputs"] == [
        {"name": name, "datatype": "FP64", "shape": [-1]} for name in ("fSYS", "OV", "fART", "sGEN", "fGEN")
    ]
    assert {one["name"]: one["shape"] for one in found["outputs"]} == {
        "expectation": [-1],
        "variance": [-1],
        "probabilities": [-1, 10],
        "levels": [10],
    }


def test_tritons_client_is_told_what_is_wrong(client):
    with pytest.raises(
        InferenceServerException, match=r"^\[400\] model mjud-fine needs the features .*; aART missing$"
    ):
        client.infer("mjud-fine", [one for one in inputs(COLUMNS) if one.name() != "aART"])
    with pytest.raises(InferenceServerException, match=r"^\[404\] unknown model 'nobody', expected one of"):
        client.infer("nobody", inputs(COLUMNS))
    with pytest.raises(InferenceServerException, match=r"^\[404\] model mjud-fine has no version '7', only "):
        client.infer("mjud-fine", inputs(COLUMNS), model_version="7")


def tensor(name="aSYS", shape=(1,), datatype="FP64", **more):
    return {"name": name, "shape": list(shape), "datatype": datatype, **({"data": [1.0]} | more)}


REST = [tensor("aART"), tensor("fSYS")]
SIZED = {"data": None, "parameters": {"binary_data_size": 8}}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([tensor(datatype="FP32"), *REST], "input aSYS must have the datatype FP64, got 'FP32'"),
        (
            [tensor(shape=[1, 2]), *REST],
            f"input aSYS must have the shape [n] or [n, 1], n up to {MOST_ROWS}, got [1, 2]",
        ),
        ([tensor(shape=[]), *REST], f"input aSYS must have the shape [n] or [n, 1], n up to {MOST_ROWS}, got []"),
        ([tensor(shape=[-1]), *REST], f"input aSYS must have the shape [n] or [n, 1], n up to {MOST_ROWS}, got [-1]"),
        (
            [tensor(shape=[10**9]), *REST],
            "input aSYS must have the shape [n] or [n, 1], n up to 50000, got [1000000000]",
        ),
        ([tensor(shape=[2]), *REST], "input aSYS has 1 values but its shape says 2"),
        ([tensor(data=[[1.0, 2.0]]), *REST], "nested data must have one value in each row"),
        ([tensor(data=[[1.0], 2.0]), *REST], "nested data must have one value in each row"),
        (
            [tensor(shape=[2], data=[1.0, 2.0]), *REST],
            "the inputs must have one number of rows, got aSYS 2, aART 1, fSYS 1",
        ),
        ([tensor(), *REST, tensor()], "input aSYS occurs twice"),
        ([tensor("loudness"), *REST], "unknown feature 'loudness', expected one of"),
        ([tensor(**SIZED), *REST], "the inputs declare 8 bytes after the JSON, there are 0"),
        ([tensor(data=["1"]), *REST], "Expected `float | array | null`, got `str`"),
        ([tensor(data=[True]), *REST], "Expected `float | array | null`, got `bool`"),
    ],
)
def test_inputs_that_are_wrong_are_refused(http, inputs, message):
    answer = http.post(INFER, json={"inputs": inputs})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert answer.json()["error"].startswith(message)


@pytest.mark.parametrize(
    ("size", "tail", "header", "message"),
    [
        (8, b"12345678", "x", "Inference-Header-Content-Length must be a number of bytes up to the body's "),
        (8, b"12345678", "100000", "Inference-Header-Content-Length must be a number of bytes up to the body's "),
        (8, b"1234", None, "the inputs declare 8 bytes after the JSON, there are 4"),
        (4, b"1234", None, "input aSYS has 4 bytes, not a multiple of FP64"),
        (-8, b"", None, "the inputs declare -8 bytes after the JSON, there are 0"),
        ("8", b"", None, "binary_data_size must be a number of bytes, got '8'"),
        (8, np.array([np.inf]).tobytes(), None, "every number must be finite, input aSYS has an infinite one"),
    ],
)
def test_bytes_that_are_wrong_are_refused(http, size, tail, header, message):
    one = tensor(data=None, parameters={"binary_data_size": size})
    body = json.dumps({"inputs": [one, *REST]}).encode()
    headers = {"Inference-Header-Content-Length": header or str(len(body))}
    answer = http.post(INFER, content=body + tail, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(message)


def test_negative_sizes_that_add_up_are_refused(http):
    sizes = [
        tensor(name, data=None, parameters={"binary_data_size": size}) for name, size in (("aSYS", 16), ("aART", -8))
    ]
    body = json.dumps({"inputs": [*sizes, tensor("fSYS")]}).encode()
    answer = http.post(INFER, content=body + b"12345678", headers={"Inference-Header-Content-Length": str(len(body))})
    assert answer.json() == {"error": "binary_data_size must be a number of bytes, got -8"}


def test_an_unknown_output_is_refused(http):
    answer = http.post(INFER, json={"inputs": [tensor(), *REST], "outputs": [{"name": "grade"}]})
    assert answer.status_code == 400
    assert answer.json() == {
        "error": "unknown output 'grade', expected one of expectation, variance, probabilities, levels"
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v2/nothing", 404), ("GET", INFER, 405), ("GET", "/v2/models/no/versions/1", 404), ("POST", "/v2", 405)],
)
def test_errors_have_the_protocols_form(http, method, path, status):
    answer = http.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert answer.headers["content-type"] == "application/json"


def test_a_body_beyond_the_limit_is_refused_in_the_protocols_form(server):
    answer = httpx.post(server.url + INFER, content=b" " * (9 * 2**20), timeout=180)
    assert answer.status_code == 413
    assert set(answer.json()) == {"error"}
