"""Faults of a service's database, and the service's reactions, with real servers throughout."""

import hashlib
import itertools
import json
import shutil
import signal
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace

import httpx
import numpy as np
import pytest

from audiosim.campaign import Campaign, DatabaseStore
from audiosim.collection.collection import Collection
from audiosim.collection.pool import build_pool
from audiosim.collection.values import FINE, Run
from audiosim.service.access.tokens import TokenStore
from benchmarks.synthetic import Design, synthetic_collection

pytestmark = pytest.mark.slow

COARSE = "/v1/collections/coarse"
SOON_S = 30.0  # on a busy machine; the service itself waits for one second
MANY = 45  # one after another, they would take longer than SOON_S


def said(pair, assessor="ann", grade=1):
    return {"query": pair.query, "document": pair.document, "broad": grade, "assessor": assessor}


def judge(http, pair, **more):
    return http.post(f"{COARSE}/judgments", json=said(pair, **more))


def timed(call):
    start = time.monotonic()
    return call(), time.monotonic() - start


def reasons(http):
    answer = http.get("/health/ready")
    return (answer.status_code, answer.json().get("reasons", []))


def unready_because(http, words):
    """Say if the service answers 503 and one of its reasons, in any word order, has these words."""
    status, found = reasons(http)
    return status == 503 and any(words in reason for reason in found)


@pytest.fixture
def pairs(coarse):
    return build_pool(coarse).pairs


def test_a_log_that_goes_back_is_one_error_and_the_server_still_stops(commanded, folders, pairs, tmp_path, wait_until):
    path = tmp_path / "campaign.db"
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert [judge(http, pair).status_code for pair in pairs[:3]] == [201] * 3
        with closing(sqlite3.connect(path)) as other, other:
            (digest,) = other.execute("SELECT digest FROM audiosim_events WHERE number = 1").fetchone()
            other.execute("DELETE FROM audiosim_events WHERE number > 1")
            other.execute("UPDATE audiosim_campaigns SET last = 1, digest = ?", (digest,))
        wait_until(lambda: unready_because(http, "the log of coarse went back: line 3 is gone; restart"))
        with ThreadPoolExecutor(20) as threads:
            answers = [
                one.result()
                for act in (
                    lambda: judge(http, pairs[4]),
                    lambda: http.post(f"{COARSE}/next", json={"assessor": "bob"}),
                    lambda: http.get(f"{COARSE}/ranking"),
                    lambda: http.get(f"{COARSE}/answers?assessor=ann"),
                )
                for one in [threads.submit(act) for _ in range(10)]
            ]
        assert {answer.status_code for answer in answers} == {503}
        assert all("went back" in answer.json()["detail"] for answer in answers)
        assert http.get("/health/live").status_code == 200
        assert server.stop() == 0
    with commanded(folders[1:], tmp_path / "again", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert judge(http, pairs[5]).json()["number"] == 2
        assert reasons(http) == (200, [])


def write_line(path, kind, number):
    """Write a line of a later version, chained to the previous line."""
    with closing(sqlite3.connect(path)) as other, other:
        (before,) = other.execute("SELECT digest FROM audiosim_campaigns").fetchone()
        line = [number, kind, "2026-11-22T12:00:00.000Z", "", "", "", {}, {}, "", 0, ""]
        digest = hashlib.sha256(json.dumps([before, *line], sort_keys=True).encode()).hexdigest()
        columns = [row[1] for row in other.execute("PRAGMA table_info(audiosim_events)")]
        last = other.execute("SELECT * FROM audiosim_events ORDER BY number DESC").fetchone()
        new = dict(zip(columns, last, strict=True)) | {"number": number, "kind": kind, "time": line[2]}
        new |= {"assessor": "", "query": "", "document": "", "grades": "{}", "details": "{}", "key": None}
        new |= {"refers": 0, "until": "", "digest": digest}
        other.execute(f"INSERT INTO audiosim_events VALUES ({', '.join('?' * len(new))})", list(new.values()))
        other.execute("UPDATE audiosim_campaigns SET last = ?, digest = ?", (number, digest))
    return before


def test_a_line_of_a_later_version_stops_judging_and_nothing_that_guards(
    commanded, folders, pairs, tmp_path, wait_until, apart
):
    path = tmp_path / "campaign.db"
    tokens = TokenStore(f"sqlite:///{path}")
    own, other = (tokens.create(name, "organiser") for name in ("me", "gone"))
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        http.headers["authorization"] = f"Bearer {own}"
        assert judge(http, pairs[0]).status_code == 201
        before = write_line(path, "flag", 2)
        server.says("line 2 cannot be read by audiosim")
        wait_until(lambda: reasons(http) == (503, ["the logs"]))
        refused = judge(http, pairs[1])
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert "unknown kind of event 'flag'" in refused.json()["detail"]
        assert http.get(f"{COARSE}/ranking").status_code == 200
        # Statements about tokens continue even when the log cannot be read.
        asked = {"headers": {"authorization": f"Bearer {other}"}}
        assert http.get(f"{COARSE}/ranking", **asked).status_code == 200
        tokens.revoke("gone")
        wait_until(lambda: http.get(f"{COARSE}/ranking", **asked).status_code == 401)
        assert server.stop() == 0
        assert server.log.read_text(encoding="utf-8").count("Traceback") == 0
    code, printed = apart("serve", folders[1], "--port", 0, "--db", f"sqlite:///{path}")
    assert code == 1
    last = printed.splitlines()[-1]
    assert "line 2 cannot be read by audiosim" in last
    assert last.endswith("use the version that wrote it, or restore a backup that audiosim verify accepts")
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("DELETE FROM audiosim_events WHERE number = 2")
        other.execute("UPDATE audiosim_campaigns SET last = 1, digest = ?", (before,))
    with commanded(folders[1:], tmp_path / "again", "--db", f"sqlite:///{path}") as server, server.client() as http:
        http.headers["authorization"] = f"Bearer {own}"
        assert judge(http, pairs[1]).json()["number"] == 2


def test_a_database_that_is_moved_away_takes_no_judgment_until_it_is_back(
    commanded, folders, pairs, tmp_path, wait_until
):
    path, away = tmp_path / "campaign.db", tmp_path / "away.db"
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert judge(http, pairs[0]).status_code == 201
        # While nothing is being written, the file alone is the whole log, so people can copy it.
        wait_until(lambda: (tmp_path / "campaign.db-wal").stat().st_size == 0)
        shutil.copy(path, tmp_path / "copy.db")
        with closing(DatabaseStore(f"sqlite:///{tmp_path / 'copy.db'}", "coarse")) as copied:
            assert [event.document for _, event in copied.read()] == [pairs[0].document]
        path.rename(away)
        refused = judge(http, pairs[1])
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert f"database file {path} was moved, removed or replaced" in refused.json()["detail"]
        wait_until(lambda: reasons(http)[0] == 503)
        assert not path.exists()  # and no new file was created
        away.rename(path)
        assert judge(http, pairs[1]).json()["number"] == 2
        wait_until(lambda: reasons(http) == (200, []))


@pytest.mark.parametrize("slip", ["mv", "rm", "replace", "rm all"])
def test_what_a_service_holds_of_a_file_that_is_gone_is_kept_when_it_stops(
    commanded, folders, pairs, tmp_path, apart, slip
):
    path, rescued = tmp_path / "campaign.db", tmp_path / "campaign.db.rescued"
    with commanded(folders, tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert [judge(http, pair).status_code for pair in pairs[:12]] == [201] * 12
        if slip == "mv":
            path.rename(tmp_path / "away.db")
        elif slip == "replace":
            (tmp_path / "other.db").write_bytes(b"")
            (tmp_path / "other.db").rename(path)
        else:
            for gone in tmp_path.glob("campaign.db*") if slip == "rm all" else [path]:
                gone.unlink()
        refused = judge(http, pairs[12])
        assert refused.status_code == 503
        assert f"or stop the service, which then saves its contents to {rescued}" in refused.json()["detail"]
        assert server.stop() == 0
        said_last = server.log.read_text(encoding="utf-8")
        assert said_last.count(f"its contents are in {rescued}: rename that before the next start") == 1
        assert "Traceback" not in said_last
    code, printed = apart("serve", folders[1], "--port", 0, "--db", f"sqlite:///{path}")
    assert code == 1
    assert printed.splitlines()[-1] == (
        f"audiosim: {path} is gone, and {rescued} has its contents: rename that to campaign.db, or move it away"
    )
    rescued.rename(path)
    with closing(DatabaseStore(f"sqlite:///{path}", "coarse")) as store:
        assert [event.document for _, event in store.read()] == [pair.document for pair in pairs[:12]]


def test_beside_what_is_left_of_a_database_none_is_made(commanded, folders, pairs, tmp_path, apart):
    path, away, ahead = tmp_path / "campaign.db", tmp_path / "away.db", tmp_path / "campaign.db-wal"
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert [judge(http, pair).status_code for pair in pairs[:12]] == [201] * 12
        path.rename(away)
        server.kill()
    kept = ahead.read_bytes()
    for before in (lambda: None, path.touch):  # SQLite removes a log ahead of an empty file
        before()
        code, printed = apart("serve", folders[1], "--port", 0, "--db", f"sqlite:///{path}")
        assert code == 1
        assert printed.splitlines()[-1] == (
            f"audiosim: {path} is gone, and {ahead} belongs to it: put campaign.db back beside it, "
            "or move campaign.db-wal away to start over"
        )
        assert ahead.read_bytes() == kept
    away.rename(path)
    with closing(DatabaseStore(f"sqlite:///{path}", "coarse")) as store:
        assert len(list(store.read())) == 12


def test_under_a_load_that_never_ends_the_file_alone_has_what_is_older_than_seconds(
    commanded, folders, pairs, tmp_path, wait_until
):
    path, copy, stop = tmp_path / "campaign.db", tmp_path / "copy.db", threading.Event()
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert server.says(f"judgments are kept in {path}: audiosim backup --db sqlite:///{path} -o FILE copies them")

        def write():
            for number in itertools.count():
                if stop.is_set():
                    return
                judge(http, pairs[number % len(pairs)], grade=number % 3)
                time.sleep(0.02)

        def copied():
            shutil.copy(path, copy)
            with closing(sqlite3.connect(copy)) as found, suppress(sqlite3.DatabaseError):
                return found.execute("SELECT count(*) FROM audiosim_events").fetchone()[0] > 5
            return False

        with ThreadPoolExecutor(1) as threads:
            job = threads.submit(write)
            try:
                wait_until(copied)
            finally:
                stop.set()
            job.result()


def test_behind_a_locked_database_nobody_waits_in_line_and_reading_goes_on(commanded, folders, pairs, tmp_path):
    path = tmp_path / "campaign.db"
    with commanded(folders[1:], tmp_path / "log", "--db", f"sqlite:///{path}") as server, server.client() as http:
        assert judge(http, pairs[0]).status_code == 201
        with closing(sqlite3.connect(path, isolation_level=None)) as other, ThreadPoolExecutor(MANY) as threads:
            other.execute("BEGIN IMMEDIATE")
            writing = [threads.submit(timed, lambda: judge(http, pairs[1])) for _ in range(MANY)]
            time.sleep(0.2)
            for path_ in ("/health/live", f"{COARSE}/ranking", f"{COARSE}/campaign"):
                answer, took_s = timed(lambda path_=path_: http.get(path_))
                assert (answer.status_code, took_s < SOON_S) == (200, True)
            answers = [one.result() for one in writing]
            other.execute("ROLLBACK")
        assert {answer.status_code for answer, _ in answers} == {503}
        assert all(answer.headers["retry-after"] for answer, _ in answers)
        assert max(took_s for _, took_s in answers) < SOON_S
        assert judge(http, pairs[1]).status_code == 201


@pytest.mark.parametrize("fault", ["frozen", "stopped"])
def test_a_service_lives_and_reads_while_its_database_does_not_answer(
    commanded, folders, pairs, tmp_path, cluster, wait_until, fault
):
    with commanded(folders[1:], tmp_path / "log", "--db", cluster.url) as server, server.client() as http:
        assert judge(http, pairs[0]).status_code == 201
        if fault == "frozen":
            cluster.signal(signal.SIGSTOP)
        else:
            cluster.stop()
        try:
            wait_until(lambda: unready_because(http, "coarse: "))
            for path in ("/health/live", f"{COARSE}/ranking", "/health/live", f"{COARSE}/campaign"):
                answer, took_s = timed(lambda path=path: http.get(path))
                assert (answer.status_code, took_s < SOON_S) == (200, True), path
            with ThreadPoolExecutor(6) as threads:
                refused = list(threads.map(lambda _: timed(lambda: judge(http, pairs[1])), range(6)))
            assert {answer.status_code for answer, _ in refused} == {503}
            assert max(took_s for _, took_s in refused) < 2 * SOON_S
        finally:
            if fault == "frozen":
                cluster.signal(signal.SIGCONT)
            else:
                cluster.start()
        wait_until(lambda: judge(http, pairs[2]).status_code in (200, 201))
        wait_until(lambda: reasons(http) == (200, []))


def test_a_service_waits_for_a_database_that_is_starting(starting, folders, tmp_path, cluster, port, wait_until):
    cluster.stop()
    with starting(folders[1:], tmp_path / "log", "--port", port, "--db", cluster.url) as process:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=180) as http:

            def waiting():
                try:
                    return reasons(http) == (503, ["waiting for the database"])  # which one, the log says
                except httpx.TransportError:
                    return False

            wait_until(waiting)
            written = (tmp_path / "log").read_text(encoding="utf-8")
            assert "waiting for the database: database postgresql" in written
            assert http.get("/health/live").status_code == 200
            cluster.start()
            wait_until(lambda: reasons(http) == (200, []))
        process.terminate()
        process.join()
        assert process.exitcode == 0


def test_the_model_learns_beside_the_judging_and_a_replay_agrees(commanded, tmp_path, wait_until, check_close):
    judged = synthetic_collection(np.random.default_rng(3), Design(6, 3, 12, 5, 30))
    truth = judged.grades()
    replace(judged, judgments=()).save(tmp_path / "made")
    url, made = f"sqlite:///{tmp_path / 'campaign.db'}", "/v1/collections/made"
    with commanded([tmp_path / "made"], tmp_path / "log", "--db", url) as server, server.client() as http:
        for _ in range(52):
            (pair,) = http.post(f"{made}/next", json={"assessor": "ann"}).json()["pairs"]
            grade = truth[pair["query"], pair["document"]]
            answer = {"query": pair["query"], "document": pair["document"], "assessor": "ann", "fine": grade}
            assert http.post(f"{made}/judgments", json=answer).status_code == 201

        def lines():
            return list(map(json.loads, http.get(f"{made}/judgments?format=log").text.splitlines()))

        fiftieth = [line["number"] for line in lines() if line["kind"] == "judgment"][49]
        wait_until(lambda: any(line["refers"] == fiftieth for line in lines()))
        learned = lines()[-1]
        assert learned["kind"] == "learn"
        wait_until(lambda: http.get(f"{made}/ranking").json()["state"] >= learned["number"])
        ranking = http.get(f"{made}/ranking").json()
        assert "the model learns within the service" not in server.log.read_text(encoding="utf-8")
    with closing(DatabaseStore(url, "made")) as store:
        again = Campaign(Collection.load(tmp_path / "made"), store=store)
        replayed = again.selection.ranking.to_dict()
        ranked = [{name: system[name] for name in replayed["systems"][0]} for system in ranking["systems"]]
        check_close(ranked, replayed["systems"])
        assert again.log()[-1].event.refers == fiftieth


def test_another_collection_of_the_same_name_is_not_served_unless_it_is_adopted(
    commanded, folders, coarse, pairs, tmp_path, apart
):
    database = f"sqlite:///{tmp_path / 'campaign.db'}"
    with commanded(folders[1:], tmp_path / "log", "--db", database) as server, server.client() as http:
        judge(http, pairs[0])
    replace(coarse, runs=coarse.runs[:1]).save(tmp_path / "other" / "coarse")
    code, printed = apart("serve", tmp_path / "other" / "coarse", "--port", 0, "--db", database)
    assert code == 1
    last = printed.splitlines()[-1]
    assert last.startswith("audiosim: the campaign in the database is of another collection: ")
    assert last.endswith("the setting adopt continues with it anyway")
    with commanded(
        [tmp_path / "other" / "coarse"], tmp_path / "adopted", "--db", database, AUDIOSIM_ADOPT="1"
    ) as server:
        assert server.url


def test_invented_names_from_one_address_hold_half_of_the_pool_at_most(commanded, folders, pairs, tmp_path):
    with commanded(folders[1:], tmp_path / "log") as server, server.client() as http:
        answers = [http.post(f"{COARSE}/next", json={"assessor": f"n{i}", "count": 100}) for i in range(12)]
        held = Counter(answer.status_code for answer in answers)
        leased = [len(answer.json()["pairs"]) for answer in answers if answer.status_code == 200]
        assert max(leased) == 10  # from a pool of fewer than a hundred
        assert sum(leased) <= np.ceil(len(pairs) / 2)
        assert held[429] > 0
        refused = answers[-1]
        assert refused.headers["retry-after"] == "60"
        assert refused.json()["detail"].startswith("assessors at this address hold half of the pairs")
        again = http.post(f"{COARSE}/next", json={"assessor": "N0", "count": 100}).json()["pairs"]
        assert len(again) == leased[0]  # people keep their pairs, in whatever case they type their name


def test_thirty_dear_rankings_at_once_hold_up_nobody(commanded, mirexlike, tmp_path):
    """Rankings by the campaign's own measure are answered at once, a few others are computed, the rest are refused."""
    with commanded([mirexlike], tmp_path / "log") as server, server.client() as http:
        path = "/v1/collections/like"
        own = http.get(f"{path}/ranking").json()
        with ThreadPoolExecutor(32) as threads:

            def ask(number):
                return http.get(f"{path}/ranking", params={"measure": f"nDCG@{number % 15 + 6}"})

            dear = [threads.submit(ask, number) for number in range(30)]
            time.sleep(0.1)
            answers = [timed(lambda: http.get(f"{path}/ranking")) for _ in range(5)]
            answers.append(timed(lambda: http.get("/health/live")))
            others = [one.result() for one in dear]
        assert all(answer.status_code == 200 and took_s < SOON_S for answer, took_s in answers)
        assert answers[0][0].json() == own
        assert {answer.status_code for answer in others} <= {200, 503}
        assert sum(answer.status_code == 200 for answer in others) >= 2
        refused = [answer for answer in others if answer.status_code == 503]
        assert refused
        assert all("rankings are waiting already" in answer.json()["detail"] for answer in refused)
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}


@pytest.fixture
def mirexlike(tmp_path):
    """A folder with a collection of 12 systems, whose rankings by nDCG, made by drawing, take a while."""
    rng = np.random.default_rng(8)
    names = [f"d{i:03}" for i in range(300)]
    queries = [f"q{i:02}" for i in range(40)]
    runs = [Run(f"S{i}", {q: tuple(map(str, rng.permutation(names)[:25])) for q in queries}) for i in range(12)]
    Collection("like", "like", FINE, 5, tuple(runs)).save(tmp_path / "like")
    return tmp_path / "like"
