"""The report of record over HTTP: the library's bundle with the campaign's log, only for the organiser."""

import hashlib
import io
import json
import zipfile

import httpx
import pytest

from audiosim import package_files
from audiosim.report.record import record_of
from audiosim.service.access.callers import scopes_of
from audiosim.service.operations import publication as publishing

PLACE = "/v1/collections/small/report"


@pytest.fixture(scope="module")
def server(commanded, folders, tmp_path_factory):
    root = tmp_path_factory.mktemp("record")
    with commanded(folders, root / "log", "--db", f"sqlite:///{root / 'campaign.db'}") as running:
        yield running


@pytest.mark.slow
def test_the_bundle_says_what_the_library_says_and_has_log_and_checksums(server, small, folders):
    with httpx.Client(base_url=server.url, timeout=180) as client:
        pair = client.post("/v1/collections/small/next", json={"assessor": "cat", "count": 1}).json()["pairs"][0]
        judgment = {"query": pair["query"], "document": pair["document"], "grade": 40, "assessor": "cat"}
        assert client.post("/v1/collections/small/judgments", json=judgment).is_success
        answer = client.get(PLACE, params={"measure": "CG@2", "success": 0.4})
        log = client.get("/v1/collections/small/judgments", params={"format": "log"}).text
    assert answer.headers["content-type"] == "application/zip", answer.text
    assert answer.headers["content-disposition"] == 'attachment; filename="small-record.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        files = {name.split("/")[1]: archive.read(name) for name in archive.namelist()}
    value = json.loads(files["record.json"])
    assert (value["measure"], value["threshold"], value["collection"]) == ("CG@2", 0.4, "small")
    assert files["log.jsonl"].decode().splitlines() == log.splitlines()
    assert any(line.endswith(b"cat") or b",cat," in line for line in files["judgments.csv"].splitlines())
    assert value["content"] == record_of(small, "CG@2", "uniform", imputations=2).source.pool
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert sums["index.html"] == hashlib.sha256(files["index.html"]).hexdigest()
    folder = next(path for path in folders if path.name == "small")
    own = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    own |= {"model joint-fine.json": package_files.folder("models") / "joint-fine.json"}
    assert value["sources"] == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in own.items()}


def test_a_threshold_that_is_no_share_is_refused(server):
    answer = httpx.get(f"{server.url}{PLACE}", params={"success": 1.5}, timeout=180)
    assert answer.status_code == 422


def test_it_is_the_organiser_s():
    (route,) = [one for one in publishing.router.routes if one.path == "/v1/collections/{collection}/report"]
    assert scopes_of(route) == {"organiser"}
