"""Recordings, metadata and runs added to a collection while it is served, or to its folder."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from audiosim.collection.arrivals import ARRIVALS
from audiosim.collection.collection import Collection
from audiosim.collection.joining import join
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Document, Judgment, Pair, Run
from audiosim.errors import InputError
from audiosim.joint.estimators import estimator_of
from audiosim.service.client import Client
from audiosim.service.collections.additions import Receiver
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.predictions import STATUSES
from audiosim.service.collections.shelf import Served
from audiosim.sound.index import AudioIndex, extract, load_all
from audiosim.sound.parameters import PLAIN

pytestmark = pytest.mark.usefixtures("forked_workers")

NAMES = [f"d{number}" for number in range(9)]
QUERIES = ("d0", "d1")
RATE_HZ = 22_050


def noise(path, seed, seconds=2):
    rng = np.random.default_rng(seed)
    soundfile.write(
        path, 0.1 * rng.standard_normal(seconds * RATE_HZ) * np.linspace(0.1, 1, seconds * RATE_HZ), RATE_HZ
    )
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection of nine recordings with an index, two queries and two systems."""
    place = tmp_path_factory.mktemp("made") / "music"
    (place / "sounds").mkdir(parents=True)
    for seed, name in enumerate(NAMES):
        noise(place / "sounds" / f"{name}.wav", seed)
    documents = {
        name: Document(name, None, "jazz" if seed % 2 else "rock", f"sounds/{name}.wav")
        for seed, name in enumerate(NAMES)
    }
    runs = (
        Run("S", {"d0": tuple(NAMES[2:6]), "d1": tuple(NAMES[3:7])}),
        Run("T", {"d0": tuple(NAMES[4:8]), "d1": tuple(NAMES[5:9])}),
    )
    Collection("music", "music", FINE, 4, runs, documents).save(place)
    extract(place / "documents.tsv", into=place / "sounds.index", parameters=PLAIN)
    return place


@pytest.fixture
def place(folder, tmp_path):
    """A copy of it that a test may change."""
    return shutil.copytree(folder, tmp_path / "music")


def serve(place, database=None):
    judging = Judging(None if database is None else f"sqlite:///{database}")
    served = Served([Collection.load(place)], {}, judging, {"music": place})
    return served, Receiver(served)


@pytest.fixture
def both(place):
    served, receiver = serve(place)
    yield served, receiver
    receiver.stop()


def predicted(served, pairs):
    one = served.collection("music")
    predictor = one.predictor()
    beyond = one.beyond(predictor, pairs, None)
    return (predictor if beyond is None else beyond).now().of(pairs)


def statuses(served, document):
    return {STATUSES[code] for code in predicted(served, [Pair(query, document) for query in QUERIES]).status}


def run_of(system, *documents):
    return "".join(
        f"{query} Q0 {name} {rank} {9 - rank} {system}\n" for query in QUERIES for rank, name in enumerate(documents)
    ).encode()


@pytest.mark.slow
def test_a_recording_that_came_is_predicted_as_if_it_had_always_been_there(both, place, tmp_path):
    served, receiver = both
    assert statuses(served, "new") == {"unknown"}
    sound = noise(tmp_path / "new.wav", 99)
    came = receiver.take_document("music", Document("new", None, "jazz"), sound, ".wav")
    assert came.fresh
    assert came.recording.seconds == pytest.approx(2)
    found = predicted(served, [Pair("d0", "new")])
    assert STATUSES[found.status[0]] == "predicted"
    assert found.evidence[found.spoke[0]] == ("output", "genre", "sound")
    # The same from the library, for a collection opened with it in its folder.
    again = Collection.load(place)
    pool = build_pool(again, also=[Pair("d0", "new")])
    expected = estimator_of(pool, "joint").predict(np.full(len(pool.pairs), np.nan)).expectation[-1]
    assert found.expectation[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_it_is_described_as_the_index_describes_its_own(both, place, tmp_path):
    _, receiver = both
    sound = noise(tmp_path / "new.wav", 99)
    receiver.take_document("music", Document("new"), sound, ".wav")
    own = extract({"new": tmp_path / "new.wav"}, parameters=AudioIndex.load(place / "sounds.index").parameters)
    index, settled = load_all(place / "sounds.index")
    assert (settled, index.ids[9:]) == (9, ("new",))
    np.testing.assert_array_equal(index.rows[9], own.rows[0])
    assert (place / Collection.load(place).documents["new"].path).read_bytes() == sound


@pytest.mark.slow
def test_what_is_said_of_the_pool_stays_as_it_was(both, tmp_path):
    served, receiver = both
    one = served.collection("music")
    before = one.predictor().now().belief.expectation
    receiver.take_document("music", Document("new"), noise(tmp_path / "new.wav", 99), ".wav")
    np.testing.assert_array_equal(served.collection("music").predictor().now().belief.expectation, before)
    assert served.collection("music") is one


def test_metadata_alone_will_do_and_is_there_after_a_restart(both, place):
    served, receiver = both
    receiver.take_document("music", Document("other", "Ann", "rock", more={"year": "1971"}))
    assert statuses(served, "other") == {"predicted"}
    again, _ = serve(place)
    assert statuses(again, "other") == {"predicted"}
    assert Collection.load(place).documents["other"] == Document("other", "Ann", "rock", more={"year": "1971"})


@pytest.mark.slow
def test_what_was_sent_before_is_answered_and_nothing_is_written(both, tmp_path, place):
    _, receiver = both
    sound = noise(tmp_path / "new.wav", 99)
    assert receiver.take_document("music", Document("new", "Ann"), sound, ".wav").fresh
    files = {path: path.stat().st_mtime_ns for path in (place / ARRIVALS).rglob("*")}
    assert not receiver.take_document("music", Document("new", "Ann"), sound, ".wav").fresh
    assert {path: path.stat().st_mtime_ns for path in (place / ARRIVALS).rglob("*")} == files


def test_what_is_known_stays_and_what_is_blank_is_filled(both):
    served, receiver = both
    with pytest.raises(InputError, match="document d3: its genre is already known as 'jazz', got 'pop'"):
        receiver.take_document("music", Document("d3", None, "pop"))
    assert receiver.take_document("music", Document("d3", "Bob", "jazz")).document.artist == "Bob"
    # d3 is retrieved: the campaign knows its artist from now on.
    assert served.collection("music").collection.artist("d3") == "Bob"


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"RIFF" + bytes(200), b"\x00" * 5000])
def test_what_is_no_sound_is_refused_and_leaves_nothing(both, place, content):
    _, receiver = both
    with pytest.raises(InputError, match="document new: the sound "):
        receiver.take_document("music", Document("new"), content, ".wav")
    assert list((place / ARRIVALS).rglob("*.*")) == []
    assert "new" not in Collection.load(place).documents


@pytest.mark.parametrize("name", ["", "  ", "a\tb", "a\nb", "x" * 1001])
def test_an_identifier_that_no_file_could_hold_is_refused(both, name):
    with pytest.raises(InputError, match="expected an identifier of 1 to 1000 printable characters"):
        both[1].take_document("music", Document(name))


def test_sound_for_a_collection_without_an_index_is_refused(place, tmp_path):
    (place / "sounds.index").rename(tmp_path / "elsewhere")
    _, receiver = serve(place)
    with pytest.raises(InputError, match="the collection has no index of sounds"):
        receiver.take_document("music", Document("new"), b"RIFF", ".wav")


@pytest.mark.slow
def test_a_new_system_joins_a_running_campaign_and_judgments_stay(place, tmp_path):
    served, receiver = serve(place, tmp_path / "log.db")
    one = served.collection("music")
    for pair in one.campaign.ask(3):
        one.campaign.tell(Judgment(*pair, 70.0, "ann"))
    came = receiver.take_runs("music", run_of("U", "d8", "d7", "d2"), team="one")
    now = served.collection("music")
    assert (came.new, came.gone, came.fresh) == (2, 0, True)  # d0 had d2 to d7, d1 had d3 to d8
    assert now.campaign.selection.pool.systems == ("S", "T", "U")
    assert now.campaign.judgments() == one.campaign.judgments()
    assert now.collection.team("U") == "one"
    receiver.stop()
    again, _ = serve(place, tmp_path / "log.db")
    assert again.collection("music").campaign.judgments() == one.campaign.judgments()
    assert again.collection("music").campaign.selection.pool.systems == ("S", "T", "U")


@pytest.mark.slow
def test_a_changed_run_takes_the_place_of_the_earlier_and_its_judgments_come_back_with_it(place, tmp_path):
    served, receiver = serve(place, tmp_path / "log.db")
    one, only_t = served.collection("music"), Pair("d1", "d8")
    one.campaign.tell(Judgment(*only_t, 80.0, "ann"))
    came = receiver.take_runs("music", run_of("T", "d2", "d3"))
    now = served.collection("music")
    assert (came.new, came.gone) == (1, 4)  # d0 had d2 to d7 and keeps d2 to d5; d1 d3 to d8, now d2 to d6
    assert only_t not in now.campaign.selection.pool.positions
    assert [judgment.pair for judgment in now.campaign.judgments()] == [only_t]
    assert now.campaign.progress.judged == 0
    receiver.take_runs("music", run_of("T", "d8"))
    assert served.collection("music").campaign.progress.judged == 1
    receiver.stop()
    serve(place, tmp_path / "log.db")  # the log still belongs to this collection


def test_a_run_that_says_what_is_known_changes_nothing(both):
    served, receiver = both
    receiver.take_runs("music", run_of("U", "d8"))
    one = served.collection("music")
    assert not receiver.take_runs("music", run_of("U", "d8")).fresh
    assert served.collection("music") is one


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (b"d0 Q0 d1 1 x S\n", "line 1: expected a finite number for score"),
        (b"q9 Q0 d1 1 1 S\n", "answers no query of music, expected such as d0, found q9"),
        (b"\xff\xfe\x00\xd8 \x00", "the UTF-16 text is broken"),
    ],
)
def test_a_run_that_is_wrong_is_refused_and_all_stays(both, place, text, message):
    served, receiver = both
    one = served.collection("music")
    with pytest.raises(InputError, match=message):
        receiver.take_runs("music", text)
    assert served.collection("music") is one
    assert not (place / ARRIVALS).exists()


def test_what_cannot_be_opened_leaves_the_folder_as_it_was(both, place, monkeypatch):
    served, receiver = both
    receiver.take_runs("music", run_of("U", "d8"), team="one")
    files = {path: path.read_bytes() for path in (place / ARRIVALS).rglob("*") if path.is_file()}
    monkeypatch.setattr(
        type(served.collection("music")), "joined_by", lambda *_: (_ for _ in ()).throw(InputError("no"))
    )
    with pytest.raises(InputError, match="no"):
        receiver.take_runs("music", run_of("U", "d7") + run_of("V", "d2"), team="two")
    assert {path: path.read_bytes() for path in (place / ARRIVALS).rglob("*") if path.is_file()} == files


@pytest.mark.slow
def test_a_run_that_another_way_brought_to_the_folder_is_taken_in(both, place, tmp_path, wait_until):
    served, receiver = both
    receiver.start()
    (tmp_path / "run").write_bytes(run_of("U", "d8", "d2"))
    join(place, tmp_path / "run", None, "one")
    wait_until(lambda: "U" in served.collection("music").campaign.selection.pool.systems)


@pytest.mark.slow
def test_what_is_deleted_from_the_arrivals_is_taken_back(both, place, wait_until):
    served, receiver = both
    before = Collection.load(place)
    receiver.take_runs("music", run_of("S", "d8"), team="one")  # in place of the collection's own run
    receiver.take_runs("music", run_of("U", "d8", "d2"), team="two")
    receiver.take_document("music", Document("other", None, "rock"))
    served.collection("music").campaign.tell(Judgment("d0", "d8", 60.0, "ann"))
    receiver.start()
    (place / ARRIVALS / "runs" / "U.trec").unlink()
    wait_until(lambda: served.collection("music").campaign.selection.pool.systems == ("S", "T"))
    assert served.collection("music").collection.team("S") == "one"
    assert statuses(served, "other") == {"predicted"}
    shutil.rmtree(place / ARRIVALS)
    wait_until(lambda: served.collection("music").collection.runs == before.runs)
    now = served.collection("music")
    assert (now.collection.documents, now.collection.teams) == (before.documents, before.teams)
    assert statuses(served, "other") == {"unknown"}
    assert [judgment.pair for judgment in now.campaign.judgments()] == [Pair("d0", "d8")]


@pytest.mark.slow
def test_the_command_adds_runs_to_a_campaign_that_a_server_is_at(commanded, place, tmp_path, wait_until, run):
    """Added, changed and withdrawn, across a restart; judgments stay throughout."""
    log, ranked = f"sqlite:///{tmp_path / 'log.db'}", tmp_path / "new.trec"

    def joined(server, text):
        ranked.write_bytes(text)
        code, out, err = run("join", f"{server.url}/v1/collections/music", ranked, "--team", "two", "--format", "json")
        return json.loads(out) if code == 0 else err

    def standing(server):
        with Client(server.url) as client:
            systems = client.collection("music").systems
            return list(systems), client.ranking("music").judged, len(list(client.export("music"))) - 1

    with commanded([place], tmp_path / "1", "--db", log) as server, Client(server.url) as client:
        for pair in client.next("music", 3, assessor="ann").pairs:
            client.judge("music", pair.query, pair.document, assessor="ann", fine=70)
        assert standing(server) == (["S", "T"], 3, 3)
        systems = [{"system": "U", "team": "two", "queries": 2}]
        found = {"collection": "music", "systems": systems, "new": 2, "gone": 0}
        assert joined(server, run_of("U", "d8", "d2")) == found
        assert standing(server) == (["S", "T", "U"], 3, 3)
        assert joined(server, run_of("U", "d7"))["gone"] == 2  # d0 with d8 and d1 with d2
        assert joined(server, run_of("U", "d7")) == {**found, "new": 0}
        assert "answers no query of music, expected such as d0" in joined(server, b"q Q0 d1 1 1 U\n")
        assert standing(server) == (["S", "T", "U"], 3, 3)
    with commanded([place], tmp_path / "2", "--db", log) as server:
        assert standing(server) == (["S", "T", "U"], 3, 3)
        (place / ARRIVALS / "runs" / "U.trec").unlink()
        wait_until(lambda: standing(server) == (["S", "T"], 3, 3))


@pytest.mark.slow
def test_over_http_a_recording_and_a_run_come_and_are_answered_for(commanded, place, tmp_path, monkeypatch):
    sound = noise(tmp_path / "new.wav", 99)
    with commanded([place], tmp_path / "log") as server, Client(server.url) as client, server.client() as http:
        assert client.campaign("music").evidence == {"output": 12, "genre": 12, "sound": 12}
        came = client.add_document("music", "new", genre="jazz", sound=sound, media_type="audio/wav")
        assert (came.document, came.genre, came.seconds) == ("new", "jazz", pytest.approx(2))
        answer = client.predict("music", [("d0", "new"), ("d1", "new")])
        assert answer.status == ["predicted", "predicted"]
        assert answer.evidence == ["output, genre, sound"] * 2
        assert client.add_document("music", "other", artist="Ann", year="1971").more == {"year": "1971"}
        runs = client.add_runs("music", run_of("U", "new", "other").decode(), team="one")
        assert ([one.system for one in runs.systems], runs.new) == (["U"], 4)
        assert "U" in client.collection("music").systems
        sent = http.post("/v1/collections/music/judges/gpt", content=GRADES, headers={"content-type": "text/plain"})
        assert (sent.status_code, sent.json()["judge"], sent.json()["grades"]) == (201, "gpt", 5)
        assert client.predict("music", [("d0", "d2")]).evidence == ["output, genre, sound, gpt"]
        assert http.post("/v1/collections/music/judges/gpt", content=b"nothing").status_code == 422
        (report,) = http.get("/v1/collections/music/judges").json()["judges"]
        assert (report["judge"], report["kind"], report["judgments"]) == ("gpt", "machine", 5)
        assert http.get("/v1/documents/new/sound").content == sound
        assert (
            http.post(
                "/v1/collections/music/documents", content=b"x", headers={"content-type": "text/html"}
            ).status_code
            == 415
        )
        assert (
            http.post(
                "/v1/collections/music/documents", content=sound, headers={"content-type": "audio/wav"}
            ).status_code
            == 422
        )
        assert (
            http.post("/v1/collections/music/documents", json={"document": "other", "artist": "Ann"}).status_code == 200
        )
        assert http.post("/v1/collections/music/documents?artist=Bob", json={"document": "x"}).status_code == 422


def test_of_a_collection_in_memory_it_is_known_while_the_service_lives(place, tmp_path):
    collection = replace(Collection.load(place), sounds=None)
    served = Served([collection], {})
    receiver = Receiver(served)
    receiver.take_document("music", Document("other", None, "rock"))
    receiver.take_runs("music", run_of("U", "other"))
    assert served.collection("music").campaign.selection.pool.systems == ("S", "T", "U")
    assert not (place / ARRIVALS).exists()


@pytest.mark.slow
def test_a_run_that_answers_far_fewer_queries_takes_no_place_without_being_told_to(both, place):
    served, receiver = both
    receiver.take_runs("music", run_of("NEW", "d7", "d8"))
    for system in ("NEW", "S"):  # an added one, and one of the collection's own
        short = f"d0 Q0 d8 1 1.0 {system}\n".encode()
        with pytest.raises(
            InputError, match=f"^the run of {system} answers 1 of the 2 queries that its earlier run answers"
        ):
            receiver.take_runs("music", short)
        (place.parent / "short.trec").write_bytes(short)
        with pytest.raises(InputError, match="`replace=True`"):
            join(place, place.parent / "short.trec")
    assert {run.system: len(run.rankings) for run in served.collection("music").collection.runs}["S"] == 2
    assert receiver.take_runs("music", b"d0 Q0 d8 1 1.0 NEW\n", replace=True).fresh
    assert Collection.load(place).runs[-1].rankings == {"d0": ("d8",)}


@pytest.mark.parametrize("name", ["x" * 250, "ñ" * 120, "x" * 1000])
def test_a_system_may_have_a_name_that_is_too_long_for_a_file(both, place, name):
    _, receiver = both
    assert receiver.take_runs("music", run_of(name, "d7", "d8")).fresh
    assert receiver.take_runs("music", run_of(f"{name[:-1]}y", "d7", "d8")).fresh
    assert {run.system for run in Collection.load(place).runs} == {"S", "T", name, f"{name[:-1]}y"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (run_of("N\x1b[31mEW", "d7"), r"the run has the name 'N\\x1b\[31mEW', expected printable characters"),
        (run_of("NEW", "d7\x1b[2J"), "expected printable characters"),
        (run_of("NEW", "D7"), "unknown document 'D7': the known 'd7' differs only in case or spaces"),
        (run_of("s", "d7"), "unknown system 's': the known 'S' differs only in case or spaces"),
        (run_of("x" * 1001, "d7"), "expected a name of 1 to 1000 printable characters"),
    ],
)
def test_a_name_that_is_a_slip_or_no_text_is_refused(both, lines, message):
    served, receiver = both
    with pytest.raises(InputError, match=message):
        receiver.take_runs("music", lines)
    assert len(served.collection("music").collection.runs) == 2


@pytest.mark.parametrize("name", ["d8 ", " d8", "D8", "\uff448"])
def test_a_document_whose_name_is_nearly_known_is_a_slip(both, name):
    served, receiver = both
    with pytest.raises(InputError, match="without spaces at its ends|differs only in case or spaces"):
        receiver.take_document("music", Document(name, "Ann"))
    assert name not in served.collection("music").collection.documents


@pytest.mark.slow
def test_keys_hold_for_documents_and_runs_and_clients_have_a_quota(commanded, place, tmp_path, run):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    secrets = {}
    for name, role in (("olga", "organiser"), ("carl", "client"), ("cleo", "client")):
        secrets[name] = run("token", "create", "--role", role, "--name", name, "--db", url)[1].strip().splitlines()[-1]
    with (
        commanded([place], tmp_path / "log", "--db", url, AUDIOSIM_UPLOAD_LIMIT="0.0000002") as server,
        server.client() as http,
    ):

        def send(name, path, body, key="k", **query):
            headers = {"Authorization": f"Bearer {secrets[name]}", "Idempotency-Key": key}
            headers["Content-Type"] = "application/json" if path == "documents" else "text/plain"
            return http.post(f"/v1/collections/music/{path}", content=body, params=query, headers=headers)

        first, other = run_of("NEW", "d7", "d8"), run_of("NEW", "d8", "d7")
        done = send("olga", "runs", first)
        assert done.status_code == 201
        assert send("olga", "runs", other, "k2").status_code == 201
        again = send("olga", "runs", first)  # repeated late: it undoes nothing
        assert (again.status_code, again.json()) == (200, done.json())
        assert Collection.load(place).runs[-1].rankings["d0"] == ("d8", "d7")
        for body, query in ((other, {}), (first, {"team": "X"})):
            refused = send("olga", "runs", body, **query)
            assert refused.status_code == 422
            assert refused.json()["detail"].startswith("the Idempotency-Key 'k' was used for other content")
        assert send("carl", "documents", b'{"document": "one"}').status_code == 201  # the same key from another sender
        assert send("carl", "documents", b'{"document": "two"}').status_code == 422
        assert send("carl", "documents", b'{"document": "two"}', "k2").status_code == 201
        long = b'{"document": "three", "genre": "' + b"x" * 150 + b'"}'
        refused = send("carl", "documents", long, "k3")
        assert refused.status_code == 413
        assert refused.json()["detail"] == "one sender may store 200 bytes at most (the setting upload-limit)"
        assert send("cleo", "documents", long, "k3").status_code == 201


GRADES = b"query\tdocument\tgrade\nd0\td2\t3\nd0\td3\t1\nd0\td5\t0\nd1\td6\t2\nd1\td8\t0\n"


def test_grades_of_a_machine_join_a_running_campaign_and_are_there_after_a_restart(both, place):
    served, receiver = both
    came = receiver.take_judge("music", "gpt", GRADES)
    assert (came.judge.name, came.graded, came.fresh) == ("gpt", 5, True)
    assert not receiver.take_judge("music", "gpt", GRADES).fresh
    selection = served.collection("music").campaign.selection
    belief = selection.belief
    assert "gpt" in belief.evidence_of(selection.pool.positions[Pair("d0", "d2")])
    (judge,) = Collection.load(place).judges
    assert (judge.name, judge.values.tolist()) == ("gpt", [3, 1, 0, 2, 0])
    again = receiver.take_judge("music", "gpt", GRADES.replace(b"d8\t0", b"d8\t9"))
    assert again.fresh
    assert [one.values[-1] for one in served.collection("music").collection.judges] == [9]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gpt", b"", "line 1: the file is empty, expected a header"),
        ("gpt", b"query\tdocument\tgrade\nd0\td2\tgood\n", "line 2: .*good"),
        ("gpt", b"query\tdocument\tgrade\nq9\td2\t1\n", "judge gpt: the collection knows none of its 1 pairs"),
        ("genre", GRADES, "judge 'genre': expected a name"),
        ("../gpt", GRADES, "judge '../gpt': expected a name"),
    ],
)
def test_grades_that_are_wrong_are_refused_and_all_stays(both, place, name, text, message):
    served, receiver = both
    one = served.collection("music")
    with pytest.raises(InputError, match=message):
        receiver.take_judge("music", name, text)
    assert served.collection("music") is one
    assert not (place / ARRIVALS / "judges").exists()


def test_grades_that_cannot_be_taken_in_leave_the_folder_as_it_was(both, place, monkeypatch):
    served, receiver = both
    receiver.take_judge("music", "gpt", GRADES)
    files = {path: path.read_bytes() for path in (place / ARRIVALS).rglob("*") if path.is_file()}
    monkeypatch.setattr(
        type(served.collection("music")), "joined_by", lambda *_: (_ for _ in ()).throw(InputError("no"))
    )
    for name in ("gpt", "other"):
        with pytest.raises(InputError, match="no"):
            receiver.take_judge("music", name, GRADES.replace(b"\t3\n", b"\t4\n"))
    assert {path: path.read_bytes() for path in (place / ARRIVALS).rglob("*") if path.is_file()} == files


@pytest.mark.slow
def test_a_dropped_file_is_taken_for_what_it_is_and_told_by_line(commanded, place, tmp_path, wait_until):
    documents = b"document\tartist\tgenre\nd2\tAnn\trock\nd3\tBen\t\n"
    people = b"query,document,grade,assessor\nd0,d2,70,cat\n"
    with (
        commanded([place], tmp_path / "log", "--db", f"sqlite:///{tmp_path / 'c.db'}") as server,
        server.client() as http,
    ):

        def drop(name, content, **more):
            sent = http.post("/v1/collections/music/files", content=content, params={"name": name, **more})
            return sent.json()["said"] if sent.is_success else sent.json()["detail"]

        def last_import():
            wait_until(lambda: http.get("/v1/collections/music/imports").json()[0]["status"] in ("done", "failed"))
            return http.get("/v1/collections/music/imports").json()[0]

        assert drop("late/U.trec", run_of("U", "d8", "d2")) == "U: 2 new pairs"
        assert drop("late/U.trec", run_of("U", "d8", "d2")) == "U: 0 new pairs; nothing new"
        assert drop("wrong.trec", b"d0 Q0 d1 1 1 V\nd0 Q0 d2 2 high V\n").startswith("wrong.trec:2: ")
        assert drop("judges/gpt.tsv", GRADES).startswith("machine gpt: ")
        assert drop("judges/gpt.tsv", b"query\tdocument\tgrade\nd0\td2\n").startswith("judges/gpt.tsv:2: ")
        assert drop("documents.tsv", documents) == "2 documents, 2 with something new"
        assert drop("documents.tsv", documents) == "2 documents, 0 with something new"
        clash = b"document\tartist\nd4\tCem\nd3\tSomebody\n"
        assert drop("documents.tsv", clash) == (
            "documents.tsv: document d3: its artist is already known as 'Ben', got 'Somebody'"
        )
        assert (
            drop("documents.tsv", b"document\tartist\nd4\tCem\n") == "1 document, 1 with something new"
        )  # all or none
        assert drop("documents.tsv", b"document\n\n\td\n").startswith("documents.tsv:")
        later = "being imported: see below"  # if reading takes more than half a second
        assert drop("cat.csv", people) in ("in the log: 1 answer", later)
        assert last_import()["written"] == 1
        assert drop("cat.csv", b"query,document,grade\nd0,d2\n").startswith(("cat.csv:2: ", later))
        assert last_import()["problem"].startswith("line 2: ")
        assert drop("new.wav", noise(tmp_path / "n.wav", 98)) == "document new"
        assert drop("task.toml", b"question = 'How?'") == (
            "task.toml: task.toml belongs to a new collection, not to one that is served"
        )
        known = http.get("/v1/collections/music").json()
        assert known["systems"] == ["S", "T", "U"]
    read = Collection.load(place)
    assert (read.artist("d2"), read.artist("d3"), read.artist("d4")) == ("Ann", "Ben", "Cem")
