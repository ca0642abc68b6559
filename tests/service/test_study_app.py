"""The service of a study over HTTP: texts and clips for people, records and refusals."""

import asyncio
import json
import re
import threading
from pathlib import Path

import httpx
import pytest
import uvicorn

from audiosim import package_files
from audiosim.collection.collection import Collection
from audiosim.errors import InputError
from audiosim.people.answers import ListPair
from audiosim.people.study import Ending, ListStudy, StudyProgress, StudyRules
from audiosim.people.study_log import StudyLog, read_study_log, study_answers
from audiosim.service import study_app
from audiosim.service.app import listen, near
from audiosim.service.collections.sounds import Sounds
from audiosim.service.study_app import StudyAnswerIn, StudyDesk, create_study_app

DEMO = package_files.folder("fixtures") / "demo"
HEADER = "query\tA1\tB1\tfine_A1\tfine_B1"


def _pair(number, answer=""):
    a, b = f"d0{10 + number}", f"d0{40 + number}"
    return ListPair("q13", (a,), (b,), f"q13\t{a}\t{b}\t50\t40", answer)


STUDY = ListStudy(HEADER, (_pair(0), _pair(1)), tuple(_pair(number, "a") for number in range(2, 7)), StudyRules())


@pytest.fixture
def desk(tmp_path):
    collection = Collection.load(DEMO)
    log, progress = StudyLog.open(tmp_path / "log", STUDY)
    yield StudyDesk(progress, log, collection, Sounds(collection, DEMO), "DONE-7")
    log.close()


@pytest.fixture
def client(desk):
    app = create_study_app(desk)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none"))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        with httpx.Client(base_url=near(listening), timeout=60) as http:
            yield http
        server.should_exit = True
        thread.join()


def _as_in_file(desk, shown):
    """The right answer to a trap, or a of an example, as the side that the page shows it on."""
    a = {f"clips/{pair.a[0]}" for pair in (*STUDY.examples, *STUDY.traps)}
    return "a" if shown["a"][0] in a else "b"


def test_a_careful_person_gets_through_and_a_careless_one_does_not(desk, client, tmp_path):
    shown, seen = client.post("/next", json={"worker": " ann  b "}).json(), []
    while shown["state"] == "task":
        assert client.get(shown["query"]).headers["content-type"].startswith("audio/")
        assert client.get(shown["a"][0], headers={"range": "bytes=0-99"}).status_code == 206
        said = {
            "worker": "ann b",
            "key": shown["key"],
            "answer": _as_in_file(desk, shown),
            "seconds": 3,
            "comment": "x",
        }
        seen.append(shown)
        assert (shown["answered"], shown["most"]) == (len(seen) - 1, len(STUDY.examples) + len(STUDY.traps))
        answered = client.post("/answers", json=said)
        assert answered.status_code == 201
        # An answer sent again, as after a broken connection, is kept once.
        assert client.post("/answers", json=said).json() == answered.json()
        shown = answered.json()
    assert (shown["state"], shown["code"]) == ("complete", "DONE-7")
    assert {"clips/" + one.a[0] for one in STUDY.examples} < {one[side][0] for one in seen for side in "ab"}
    _, kept = read_study_log(tmp_path / "log")
    assert len(kept) == len(seen) == shown["answered"]
    assert {(one.worker, one.answer, one.seconds, one.comment) for one in kept} == {("ann b", "a", 3.0, "x")}

    shown = client.post("/next", json={"worker": "spam"}).json()
    for _ in range(4):
        shown = client.post("/answers", json={"worker": "spam", "key": shown["key"], "answer": "bad"}).json()
    assert (shown["state"], shown["code"]) == ("turned away", "")


def test_nothing_shown_tells_traps_from_examples(client):
    shown = client.post("/next", json={"worker": "ann"}).json()
    assert shown.keys() == {"state", "answered", "most", "key", "query", "a", "b", "code"}
    assert "trap" not in json.dumps(shown)
    assert client.post("/next", json={"worker": "ann"}).json() == shown


@pytest.mark.parametrize(
    ("path", "sent", "status", "detail"),
    [
        ("/next", {"json": {"worker": " "}}, 422, "expected a name of 1 to 200 printable characters"),
        ("/next", {"json": {}}, 422, "expected the field `worker`"),
        ("/next", {"content": '{"worker": "a"}', "headers": {"content-type": "text/plain"}}, 415, "expected app"),
        ("/answers", {"json": {"worker": "a", "key": "", "answer": "c"}}, 422, "unknown value 'c': expected a, b, "),
        ("/answers", {"json": {"worker": "a", "key": "?", "answer": "a"}}, 409, "no longer yours"),
        ("/answers", {"json": {"worker": "a" * 70_000}}, 413, "a body may have 65536 bytes"),
    ],
)
def test_what_is_wrong_is_refused_in_words(client, path, sent, status, detail):
    refused = client.post(path, **sent)
    assert refused.status_code == status
    assert detail in refused.json()["detail"]


@pytest.mark.slow
def test_only_the_clips_of_the_study_are_served_and_all_must_be_there(desk, client):
    assert client.get("/clips/d000").status_code == 404
    assert client.get("/clips/../collection.toml").status_code == 404
    assert client.get(f"/clips/{STUDY.examples[0].a[0]}", headers={"range": "bytes=99999999-"}).status_code == 416
    assert "script-src 'self'" in client.get("/").headers["content-security-policy"]
    with pytest.raises(InputError, match=r"no sound of \d+ documents of the study, such as d01"):
        StudyDesk(desk._progress, desk._log, Collection.load(DEMO), Sounds(Collection.load(DEMO), None))


def test_only_those_who_answered_something_and_are_done_get_the_code(tmp_path):
    study = ListStudy(HEADER, (_pair(0),))
    collection = Collection.load(DEMO)
    log, progress = StudyLog.open(tmp_path / "log", study)
    desk = StudyDesk(progress, log, collection, Sounds(collection, DEMO), "DONE-7")
    shown = desk.show("ann")
    assert (desk.show("bob").state, desk.show("bob").code) == (Ending.LATER, "")
    done = desk.take(StudyAnswerIn("ann", shown.key, "good"))
    assert (done.state, done.code) == (Ending.COMPLETE, "DONE-7")
    assert (desk.show("bob").state, desk.show("bob").code) == (Ending.COMPLETE, "")
    log.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_to_the_organiser_and_not_to_participants(caplog):
    collection = Collection.load(DEMO)
    with Path("/dev/full").open("wb", buffering=0) as full:
        log = StudyLog(full, Path("/secret/log"))
        desk = StudyDesk(StudyProgress(STUDY), log, collection, Sounds(collection, DEMO), "DONE-7")
        said = {"worker": "ann", "key": desk.show("ann").key, "answer": "a"}
        refused, body = _sent(create_study_app(desk), json.dumps(said).encode())
    assert refused == 503
    assert body["detail"] == "answers cannot be saved at the moment; try again"
    assert "secret" not in json.dumps(body)
    assert "/secret/log: cannot be written: No space left on device" in caplog.text


def test_a_body_that_does_not_arrive_is_waited_for_only_so_long(desk, monkeypatch):
    monkeypatch.setattr(study_app, "BODY_S", 0.01)
    status, body = _sent(create_study_app(desk), b"{", more=True)
    assert (status, body["detail"]) == (408, "the body did not arrive within 0.01 s")


def _sent(app, content, more=False):
    """Status and JSON of the response to an answer, sent without a server; `more` of its body never comes."""
    chunks = [{"type": "http.request", "body": content, "more_body": more}]
    responded = []

    async def receive():
        if not chunks:
            await asyncio.Event().wait()
        return chunks.pop()

    async def send(message):
        responded.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/answers",
        "raw_path": b"/answers",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    asyncio.run(app(scope, receive, send))
    whole = b"".join(one.get("body", b"") for one in responded)
    return responded[0]["status"], json.loads(whole)


def test_a_study_for_invited_people_is_closed_to_others(tmp_path):
    collection = Collection.load(DEMO)
    log, progress = StudyLog.open(tmp_path / "log", STUDY)
    people = ["c0ffee", "  ann   b "]
    desk = StudyDesk(progress, log, collection, Sounds(collection, DEMO), "DONE-7", people)
    assert [desk.admit(name) for name in (" c0ffee", "ann b")] == ["c0ffee", "ann b"]
    shown = desk.show(desk.admit("c0ffee"))
    said = {"worker": "mallory", "key": shown.key, "answer": "a"}
    refused, body = _sent(create_study_app(desk), json.dumps(said).encode())
    assert (refused, "only for people with an invitation" in body["detail"]) == (403, True)
    document = shown.query.rpartition("/")[2]
    assert desk.clip(shown.query.removeprefix("clips/")).is_file()
    strange = StudyDesk(progress, log, collection, Sounds(collection, DEMO), people=["eve"])
    theirs = strange.show(strange.admit("eve")).query.removeprefix("clips/")
    assert [desk.clip(place) for place in (document, f"/{document}", f"c0ffee/{document}", theirs)] == [None] * 4
    accepted, _ = _sent(create_study_app(desk), json.dumps(said | {"worker": "c0ffee"}).encode())
    assert accepted == 201
    log.close()
    assert {one.worker for one in read_study_log(tmp_path / "log")[1]} == {"c0ffee"}
    for name, count in (("c0ffee", 1), ("ann", 0)):
        (tmp_path / "people.txt").write_text(f"\n {name}\n", encoding="utf-8")
        assert len(study_answers(tmp_path / "log", people=tmp_path / "people.txt").people) == count


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("# people", "expected a name or code, which does not begin with #, found '# people'$"),
        ("a" * 201, r"expected a name of 1 to 200 printable characters, found 'a{20}' \.\.\. of 201$"),
        ("a\x07b", "expected a name of 1 to 200 printable characters, found "),
    ],
)
def test_a_line_that_names_nobody_is_refused_before_the_service_starts(run, tmp_path, line, problem):
    (tmp_path / "people.txt").write_text(f"ann\n\n{line}\n", encoding="utf-8")
    (tmp_path / "examples.tsv").write_text(f"answer\t{HEADER}\n\tq13\td010\td040\t50\t40\n", encoding="utf-8")
    files = [tmp_path / "examples.tsv", "--log", tmp_path / "log", "--people", tmp_path / "people.txt"]
    code, _, err = run("study", "serve", DEMO, *files)
    assert code == 1
    assert re.search(r"people\.txt:3: " + problem, err.strip())
    assert not (tmp_path / "log").exists()


def test_invented_names_leave_no_keys_behind(desk, monkeypatch):
    moment = [0.0]
    monkeypatch.setattr(study_app, "monotonic", lambda: moment[0])
    for number in range(20):
        desk.show(f"nobody {number}")
        moment[0] += STUDY.rules.lease_s
    assert list(desk._keys) == ["nobody 19"]
