"""A log that goes back in time, and a file that is moved."""

import json
import shutil
from contextlib import closing
from hashlib import sha256

import pytest
import sqlalchemy as sql

from audiosim.campaign import Campaign, DatabaseStore
from audiosim.campaign.tables import CAMPAIGNS, EVENTS
from audiosim.errors import RewoundError, StoreError

NOON = "2013-05-01T12:00:00Z"


def engine_of(url):
    return sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))


def rewrite(database, *statements):
    """Change a database unnoticed by programs that have it open."""
    engine = engine_of(database)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(statement)
    engine.dispose()


def cut(collection, last, digest):
    """Statements that set a log back to a line."""
    return (
        sql.delete(EVENTS).where(EVENTS.c.collection == collection, EVENTS.c.number > last),
        sql.update(CAMPAIGNS).where(CAMPAIGNS.c.collection == collection).values(last=last, digest=digest),
    )


def digests(database, collection):
    engine = engine_of(database)
    with engine.connect() as connection:
        found = connection.execute(sql.select(EVENTS.c.digest).where(EVENTS.c.collection == collection)).scalars().all()
    engine.dispose()
    return found


def test_each_line_carries_the_hash_of_itself_and_of_the_line_before(database, said):
    with closing(DatabaseStore(database, "chained")) as store:
        store.append_all([said(details={"z": 1, "note": "Ö"}), said(document="b")], last=0)
        before = ""
        for number, event in store.read():
            fields = [before, number, event.kind, event.time, event.assessor, event.query, event.document]
            fields += [event.grades, event.details, event.key, event.refers, event.until]
            before = sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
        assert store.head == (2, before)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 1])
def test_a_log_that_became_shorter_is_told_from_one_that_has_grown(database, said, kept, append):
    name = f"shorter {kept}"
    with closing(DatabaseStore(database, name)) as store, closing(DatabaseStore(database, name)) as other:
        store.append_all([said(), said(document="b")], last=0)
        assert append(other, said(document="c")) == 3
        assert store.append_all([said(document="d")], last=2) is None  # it has grown
        assert [number for number, _ in store.read(2)] == [3]
        rewrite(database, *cut(name, kept, ["", digests(database, name)[0]][kept]))
        for act in (
            lambda: store.append_all([said(document="d")], last=3),
            lambda: append(store, said(document="d")),
            lambda: store.read(3),
            lambda: store.read(0),
        ):
            with pytest.raises(RewoundError, match=rf"the log of {name} went back: .*line \d.*; restart"):
                act()
        assert len(digests(database, name)) == kept


def test_a_log_in_which_another_line_stands_at_the_number_went_back(database, said, append):
    with closing(DatabaseStore(database, "other")) as store:
        store.append_all([said(), said(document="b")], last=0)
        rewrite(database, *cut("other", 1, digests(database, "other")[0]))
        with closing(DatabaseStore(database, "other")) as later:
            list(later.read())
            assert append(later, said(document="c")) == 2
            for act in (lambda: store.append_all([said(document="d")], last=2), lambda: store.read(2)):
                with pytest.raises(RewoundError, match="the log of other went back: line 2 is another; restart"):
                    act()
            assert append(later, said(document="e")) == 3
            with pytest.raises(RewoundError, match="line 2 is another"):
                store.append_all([said(document="d")], last=2)


@pytest.mark.slow
def test_a_campaign_whose_log_went_back_answers_nothing_any_more(tiny, database, said):
    collection = f"tiny gone {database[:6]}"
    store = DatabaseStore(database, collection)
    campaign = Campaign(tiny, "mjud", "CG@2", store)
    campaign.tell(said(key="first"))
    campaign.tell(said(document="b"))
    rewrite(database, *cut(collection, 0, ""))
    for _ in range(2):
        for act in (
            lambda: campaign.tell(said(key="first")),
            lambda: campaign.ask(1, "ann"),
            campaign.ask,
            campaign.sync,
            campaign.refresh,
        ):
            with pytest.raises(RewoundError, match="went back"):
                act()
    # The log as restored, which is also what a new process finds.
    with closing(DatabaseStore(database, collection)) as restored:
        assert Campaign(tiny, "mjud", "CG@2", restored).tell(said(key="first")).number == 1
    store.close()


def test_a_line_that_was_changed_is_found_at_the_start(database, said):
    with closing(DatabaseStore(database, "changed")) as store:
        store.append_all([said(), said(document="b"), said(document="c")], last=0)
    rewrite(
        database,
        sql.update(EVENTS)
        .where(EVENTS.c.collection == "changed", EVENTS.c.number == 2)
        .values(grades='{"fine": 10.0}'),
    )
    with (
        closing(DatabaseStore(database, "changed")) as store,
        pytest.raises(
            StoreError, match="the log of changed: line 2 was altered, or does not follow line 1: restore a b"
        ),
    ):
        store.read()


def test_a_line_that_is_missing_at_the_end_is_found_at_the_start(database, said):
    with closing(DatabaseStore(database, "short")) as store:
        store.append_all([said(), said(document="b")], last=0)
    rewrite(database, sql.delete(EVENTS).where(EVENTS.c.collection == "short", EVENTS.c.number == 2))
    with (
        closing(DatabaseStore(database, "short")) as store,
        pytest.raises(StoreError, match="the log of short ends at line 1, but its campaign's row names line 2"),
    ):
        store.read()


@pytest.mark.parametrize("what", ["moved", "removed", "replaced"])
def test_what_is_written_to_a_file_that_nobody_finds_is_not_acknowledged(tmp_path, said, what, append):
    path, away = tmp_path / "log.db", tmp_path / "away.db"
    with closing(DatabaseStore(f"sqlite:///{path}", "tiny")) as store:
        append(store, said())
        if what == "removed":
            path.unlink()
        else:
            path.rename(away)
        if what == "replaced":
            path.write_bytes(b"")
        for act in (lambda: append(store, said(document="b")), lambda: store.append_all([said()], last=1), store.read):
            with pytest.raises(
                StoreError, match=r"log.db was moved, removed or replaced: put it back.* or stop the service"
            ):
                act()
        if what != "removed":
            away.rename(path)
            assert append(store, said(document="b")) == 2
            assert len(list(store.read())) == 2


def test_what_waits_in_the_write_ahead_log_is_folded_into_the_file(tmp_path, said, append):
    path = tmp_path / "log.db"
    with closing(DatabaseStore(f"sqlite:///{path}", "tiny")) as store:
        append(store, said())
        store.fold(idle_s=60)
        assert (tmp_path / "log.db-wal").stat().st_size > 0
        store.fold()
        assert (tmp_path / "log.db-wal").stat().st_size == 0
        shutil.copy(path, tmp_path / "copy.db")  # as people do
        with closing(DatabaseStore(f"sqlite:///{tmp_path / 'copy.db'}", "tiny")) as copied:
            assert list(copied.read()) == list(store.read())
