"""Databases: what only they can do, and their failures."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from threading import Barrier, Thread

import pytest
import sqlalchemy as sql

from audiosim.campaign import DatabaseStore, engine
from audiosim.errors import AudiosimError, InputError, StoreError

WRITER = """
import sys
from audiosim.campaign import DatabaseStore, Event
store = DatabaseStore(sys.argv[1], "killed")
for place in range(100000):
    event = Event("judgment", "2013-05-01T12:00:00Z", "", "q", str(place), {"grade": 1})
    print(*store.append_all([event], place), flush=True)
"""


def log(path, **options):
    return closing(DatabaseStore(f"sqlite:///{path}", "tiny", **options))


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM audiosim_events").fetchone()[0]


@pytest.mark.slow
def test_two_collections_share_a_database_without_mixing(database, said, append):
    with (
        closing(DatabaseStore(database, "first of two")) as one,
        closing(DatabaseStore(database, "second of two")) as two,
    ):
        assert [append(one, said()), append(two, said(document="b")), append(one, said(document="c"))] == [1, 1, 2]
        assert [event.document for _, event in one.read()] == ["a", "c"]
        assert [event.document for _, event in two.read()] == ["b"]


def test_a_log_to_which_nobody_wrote_is_not_read_again_but_every_writer_is_noticed(tmp_path, said, append):
    asked = []
    with log(tmp_path / "log.db") as store, log(tmp_path / "log.db") as other:
        sql.event.listen(store._engine, "before_cursor_execute", lambda *what: asked.append(what[2]))

        def seen(after):
            asked.clear()
            found = [number for number, _ in store.read(after)]
            return found, sum("audiosim_events" in one for one in asked)

        assert [seen(0), seen(0)] == [([], 1), ([], 0)]
        assert (append(other, said()), seen(0), seen(1), seen(1)) == (1, ([1], 1), ([], 1), ([], 0))
        assert (store.append_all([said(document="b")], 1), seen(1)) == ([2], ([2], 1))
        assert [seen(2), seen(2)] == [([], 1), ([], 0)]
        with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
            connection.execute("DELETE FROM audiosim_events WHERE number = 2")
            connection.commit()
        with pytest.raises(StoreError, match="line 2 is gone"):
            seen(2)


def test_sqlite_writes_ahead_and_waits_for_the_disk(tmp_path):
    with log(tmp_path / "log.db") as store, store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10_000


@pytest.mark.parametrize(("theirs", "ours"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_postgres_waits_for_the_disk_even_where_its_owner_would_not(postgres, theirs, ours):
    url = f"{postgres}&options=-csynchronous_commit={theirs}"
    with closing(DatabaseStore(url, "tiny")) as store, store._engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == ours
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "10s"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True)
    acknowledged = [int(writer.stdout.readline()) for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in writer.communicate()[0].splitlines() if line.strip()]
    with closing(DatabaseStore(url, "killed")) as store:
        kept = [(number, event.document) for number, event in store.read()]
    assert kept[: len(acknowledged)] == [(number, str(number - 1)) for number in acknowledged]
    assert len(kept) <= len(acknowledged) + 1


@pytest.mark.slow
def test_processes_that_make_one_database_at_the_same_moment_all_find_it(database_to_make, together):
    code = "from audiosim.campaign import DatabaseStore; begin(); DatabaseStore(url, 'raced').read(); print('open')"
    assert together(code, *[{"url": database_to_make}] * 4) == [(0, "open\n")] * 4


@pytest.mark.parametrize(
    "url", ["nonsense", "mysql://u:secret@host/x", "postgresql+pg8000://u:secret@host/x", "x://u:secret@h:y/z", ""]
)
def test_a_database_url_that_cannot_be_used_is_refused_without_its_password(url):
    expected = r"cannot use database '.*expected a URL such as sqlite:///campaign.db or postgresql://user@host/name"
    with pytest.raises(InputError, match=expected) as refused:
        DatabaseStore(url, "tiny")
    assert "secret" not in str(refused.value)


def test_where_the_driver_is_missing_what_installs_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"'postgresql://u:\*\*\*@host/x': .*install audiosim\[postgres\] for Post"):
        DatabaseStore("postgresql://u:secret@host/x", "tiny")


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_without_its_password():
    pytest.importorskip("psycopg", reason="psycopg is not installed: audiosim[postgres]")
    with pytest.raises(StoreError, match=r"database postgresql\+psycopg://u:\*\*\*@127.0.0.1:9/x: ") as failed:
        DatabaseStore("postgresql://u:secret@127.0.0.1:9/x", "tiny")
    assert "secret" not in str(failed.value)


def test_a_database_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(AudiosimError, match="database sqlite:///.*log.db: unable to open database file"):
        DatabaseStore(f"sqlite:///{tmp_path / 'absent' / 'log.db'}", "tiny")


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "log.db").write_text("not a database, but long enough to be looked at as if it were one\n" * 20)
    with pytest.raises(StoreError, match=r"log.db: file is not a database"):
        DatabaseStore(f"sqlite:///{tmp_path / 'log.db'}", "tiny")


def test_a_database_whose_making_was_broken_off_is_made_whole(tmp_path, said, append):
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection, connection:
        connection.execute("CREATE TABLE audiosim_schema (one INTEGER PRIMARY KEY, version INTEGER NOT NULL)")
    with log(tmp_path / "log.db") as store:
        assert append(store, said()) == 1


def test_a_read_only_database_refuses_and_keeps_what_it_has(tmp_path, said, append):
    path = tmp_path / "log.db"
    with log(path) as store:
        append(store, said())
    with log(f"file:{path}?mode=ro&uri=true") as read_only:
        with pytest.raises(StoreError, match="attempt to write a readonly database"):
            append(read_only, said(document="b"))
        assert len(list(read_only.read())) == 1
    assert rows(path) == 1


@contextmanager
def files_no_larger_than(size):
    """A simulated full disk: no file of this process may exceed a number of bytes."""
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # bytecode would be truncated
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        sys.dont_write_bytecode = kept


def test_a_full_disk_refuses_whole_events_and_the_log_goes_on_when_there_is_room(tmp_path, said, append):
    path = tmp_path / "log.db"
    with log(path) as store:
        append(store, said())
        several = [said(document=str(place), details={"note": "x" * 4000}) for place in range(40)]
        with files_no_larger_than((tmp_path / "log.db-wal").stat().st_size + 20_000):
            with pytest.raises(StoreError, match=r"log.db: (disk I/O error|database or disk is full)"):
                store.append_all(several, last=1)
            assert [number for number, _ in store.read()] == [1]
        assert store.append_all(several, last=1) == list(range(2, 42))
        assert append(store, said(document="b")) == 42
    assert rows(path) == 42


def test_a_full_database_refuses_and_keeps_what_it_has(tmp_path, said, append):
    with log(tmp_path / "log.db") as store:
        append(store, said())

        def limit(connection, _):
            connection.execute("PRAGMA max_page_count = 1")  # no further page

        sql.event.listen(store._engine, "connect", limit)
        store._engine.dispose()
        large = [said(document=str(place), details={"note": "x" * 4000}) for place in range(10)]
        with pytest.raises(StoreError, match="log.db: database or disk is full"):
            store.append_all(large, last=1)
        assert [number for number, _ in store.read()] == [1]
        sql.event.remove(store._engine, "connect", limit)
        store._engine.dispose()
        assert store.append_all(large, last=1) == list(range(2, 12))


def test_a_locked_sqlite_database_is_waited_for_and_then_given_up(tmp_path, said, append):
    path = tmp_path / "log.db"
    with log(path, timeout_s=0.05) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="log.db: database is locked"):
            append(store, said())
        assert list(store.read()) == []
        other.execute("ROLLBACK")
        assert append(store, said()) == 1


def test_a_locked_postgres_campaign_is_waited_for_and_then_given_up(postgres, said, append):
    with closing(DatabaseStore(postgres, "locked", timeout_s=0.05)) as store:
        append(store, said())
        with store._engine.connect() as other:
            other.exec_driver_sql("SELECT last FROM audiosim_campaigns WHERE collection = 'locked' FOR UPDATE")
            with pytest.raises(StoreError, match="canceling statement due to lock timeout"):
                append(store, said(document="b"))
            other.rollback()
        assert append(store, said(document="b")) == 2


@pytest.mark.parametrize("idle_s", [0, engine.IDLE_S], ids=["tried before use", "found lost in use"])
def test_a_lost_connection_to_postgres_is_made_anew(postgres, said, monkeypatch, idle_s, append):
    monkeypatch.setattr(engine, "IDLE_S", idle_s)
    collection = f"lost {idle_s}"
    with closing(DatabaseStore(postgres, collection)) as store, closing(DatabaseStore(postgres, "other")) as other:

        def end_others():
            with other._engine.connect() as connection:
                others = "WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
                connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity {others}")

        append(store, said())
        end_others()
        assert append(store, said(document="b")) == 2
        end_others()
        assert store.append_all([said(document="c")], 2) == [3]
        end_others()
        assert len(list(store.read())) == 3


@pytest.mark.slow
def test_the_first_events_of_many_logs_that_several_append_at_one_moment_are_all_numbered(database, said, append):
    # The row of a collection may appear between two statements of one writer.
    for turn in range(25):
        stores = [DatabaseStore(database, f"first {turn}") for _ in range(4)]
        start, numbers = Barrier(len(stores)), []

        def write(store, start=start, numbers=numbers):
            start.wait()
            numbers.append(append(store, said()))

        threads = [Thread(target=write, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(numbers) == [number for number, _ in stores[0].read()] == [1, 2, 3, 4]
        for store in stores:
            store.close()


def test_servers_of_a_database_share_a_secret_that_no_note_displaces(database, monkeypatch):
    monkeypatch.setattr("audiosim.campaign.database.MOST_NOTES", 3)
    with closing(DatabaseStore(database, "one")) as one, closing(DatabaseStore(database, "two")) as two:
        start, found = Barrier(2), []

        def ask(store):
            start.wait()
            found.append(store.secret())

        threads = [Thread(target=ask, args=(store,)) for store in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(5):
            one.write_note(f"key {number}", "text")
        assert {*found, one.secret(), two.secret()} == {found[0]}
        assert len(bytes.fromhex(found[0])) == 32
