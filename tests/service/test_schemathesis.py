"""Schemathesis tests all promises of the OpenAPI document on a live server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Requests that a schema allows and the service still refuses: columns of different lengths or unknown to a model,
# a text that names no measure, an answer without an assessor, a campaign already closed.
CONFIGURATION = """
warnings = false
request-timeout = 240
suppress-health-check = ["too_slow"]

[generation]
deterministic = true
database = "none"
max-examples = 3

[phases]
examples.enabled = false  # test_operation_examples sends them all
coverage.unexpected-methods = ["OPTIONS", "PUT"]  # by which nothing is asked: what answers to one answers to all
stateful.enabled = false  # no operation links to another

[checks]
max_response_time = 240  # how long an answer takes is what benchmarks/ measure; a busy machine is no defect
positive_data_acceptance.expected-statuses = ["2xx", 404]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 414, 415, 422, 428, 431]

[[operations]]
include-path-regex = "/(judgments|comparisons)/import$"  # a text is read later, and too many may wait
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 409, 422, 503]
checks.negative_data_rejection.expected-statuses = [202, 400, 401, 403, 404, 409, 413, 415, 422, 428, 503]

[[operations]]
include-method = "POST"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 409, 422]

[[operations]]
include-path-regex = "/(answers|ranking|model-effect|models)$|/drafts/"  # there is no folder for drafts here: 409
include-method = "GET"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404, 409, 422]

[[operations]]
include-method = "DELETE"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404, 409, 422]
"""
# A deliberate bug, a deliberate wait, and a stream that ends only when the client disconnects.
ELSEWHERE = "^/(bug|slow)$|/events$"


@pytest.mark.longest
@pytest.mark.slow
def test_every_operation_keeps_what_the_document_promises(another, tmp_path):
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION, encoding="utf-8")
    with another.client() as http:
        document = http.get("/openapi.json").json()
    for operation in (one for methods in document["paths"].values() for one in methods.values()):
        operation["responses"].pop("default", None)  # so that every status must be named
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path" and parameter["name"] in ("collection", "model"):  # those served
                parameter["schema"]["enum"] = [parameter["example"]]
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    # There Hypothesis keeps which characters there are, which takes a second to find out.
    (tmp_path / ".hypothesis").symlink_to(Path(".hypothesis").resolve(), target_is_directory=True)
    command = [Path(sys.executable).with_name("schemathesis"), "--config-file", tmp_path / "schemathesis.toml", "run"]
    options = ["--checks", "all", "--seed", "1", "--no-color", "--exclude-path-regex", ELSEWHERE]
    done = subprocess.run(
        [*command, "openapi.json", "--url", another.url, *options],
        cwd=tmp_path,
        env={},  # read for proxies at each request
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout
    assert "Tested: " in done.stdout
    assert "Traceback" not in another.log.read_text(encoding="utf-8")
