import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from audiosim.campaign import Campaign, DatabaseStore, MemoryStore
from audiosim.corpus.model import Judgment
from audiosim.errors import AudiosimError, InputError


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    """Every kind of log, for the tests of the contract that they share."""
    if request.param == "memory":
        yield MemoryStore()
        return
    database = DatabaseStore(f"sqlite:///{tmp_path / 'log.db'}", "tiny")
    yield database
    database.close()


def open_campaign(collection, store, **options):
    return Campaign(collection, "mjud", "CG@2", store, **options)


def test_a_log_gives_back_what_was_appended_in_order_and_numbered(store, tiny_truth):
    numbers = [store.append(judgment) for judgment in tiny_truth]
    assert numbers == list(range(1, 8))
    assert list(store.read()) == list(zip(numbers, tiny_truth, strict=True))
    assert [number for number, _ in store.read(after=5)] == [6, 7]


def test_a_log_keeps_every_field(store):
    judgment = Judgment("q1", "a", 12.0, "Ann Ö.", "2013-05-01T12:00:00Z")
    store.append(judgment)
    assert [kept for _, kept in store.read()] == [judgment]


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_a_campaign_opened_again_is_where_it_was(tiny, tiny_truth, store, batch):
    campaign = open_campaign(tiny, store, batch=batch)
    revised = replace(tiny_truth[1], grade=40.0)
    for judgment in [*tiny_truth[:3], revised, *tiny_truth[3:5]]:
        campaign.tell(judgment)
    again = open_campaign(tiny, store, batch=batch)
    assert again.ranking.to_dict() == campaign.ranking.to_dict()
    assert again.ask(7) == campaign.ask(7)
    assert again.confidence == campaign.confidence


def test_a_refused_judgment_leaves_no_trace_in_the_log(tiny, store):
    campaign = open_campaign(tiny, store)
    with pytest.raises(InputError, match="grade 101 is not on the fine scale"):
        campaign.tell(Judgment("q1", "a", 101.0))
    assert list(store.read()) == []
    assert campaign.selection.judged == 0


def test_judgments_of_the_collection_count_before_the_log(tiny, tiny_truth, store):
    campaign = open_campaign(replace(tiny, judgments=tuple(tiny_truth[:2])), store)
    campaign.tell(tiny_truth[2])
    assert campaign.selection.judged == 3
    assert len(list(store.read())) == 1


def test_two_collections_share_a_database_without_mixing(tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    one, two = DatabaseStore(url, "one"), DatabaseStore(url, "two")
    one.append(Judgment("q", "a", 1.0))
    two.append(Judgment("q", "b", 2.0))
    assert [judgment.document for _, judgment in one.read()] == ["a"]
    assert [judgment.document for _, judgment in two.read()] == ["b"]
    one.close()
    two.close()


def test_sqlite_waits_for_the_disk(tmp_path):
    store = DatabaseStore(f"sqlite:///{tmp_path / 'log.db'}", "tiny")
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()


WRITER = """
import sys
from audiosim.campaign import DatabaseStore
from audiosim.corpus.model import Judgment
store = DatabaseStore(sys.argv[1], "tiny")
for grade in range(100000):
    print(store.append(Judgment("q", "d", float(grade))), flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True)
    acknowledged = [int(writer.stdout.readline()) for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in writer.communicate()[0].splitlines() if line.strip()]
    store = DatabaseStore(url, "tiny")
    kept = [(number, judgment.grade) for number, judgment in store.read()]
    store.close()
    assert kept[: len(acknowledged)] == [(number, number - 1) for number in acknowledged]
    assert len(kept) <= len(acknowledged) + 1


def test_a_database_url_that_is_none_is_refused():
    with pytest.raises(
        InputError, match="cannot use database 'nonsense': .*; expected a URL such as sqlite:///campaign.db"
    ):
        DatabaseStore("nonsense", "tiny")


def test_a_database_that_cannot_be_opened_is_named(tmp_path):
    url = f"sqlite:///{tmp_path / 'absent' / 'log.db'}"
    with pytest.raises(AudiosimError, match="database sqlite:///.*log.db: unable to open database file"):
        DatabaseStore(url, "tiny")


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "log.db").write_text("not a database, but long enough to be looked at as if it were one\n" * 20)
    with pytest.raises(AudiosimError, match=r"log.db: file is not a database"):
        DatabaseStore(f"sqlite:///{tmp_path / 'log.db'}", "tiny")


def test_a_read_only_database_refuses_and_keeps_what_it_has(tmp_path):
    path = tmp_path / "log.db"
    store = DatabaseStore(f"sqlite:///{path}", "tiny")
    store.append(Judgment("q", "d", 1.0))
    store.close()
    read_only = DatabaseStore(f"sqlite:///file:{path}?mode=ro&uri=true", "tiny")
    with pytest.raises(AudiosimError, match="attempt to write a readonly database"):
        read_only.append(Judgment("q", "d", 2.0))
    assert len(list(read_only.read())) == 1
    read_only.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM judgments").fetchone() == (1,)
    connection.close()
