"""Databases of older layouts are upgraded, and their contents are kept unchanged."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import pytest
import sqlalchemy as sql
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from audiosim import Collection
from audiosim.campaign import Campaign, DatabaseStore, Event, judgments_in
from audiosim.campaign.archive import backup, verify
from audiosim.campaign.reader import log_in
from audiosim.campaign.schema import LATEST, MIGRATIONS, TablesBeside, layout_in, layout_of_database, migrate
from audiosim.campaign.store import link
from audiosim.campaign.tables import CAMPAIGNS, EVENTS, LAYOUTS, PUBLICATIONS, TABLES, TOKENS, row_of
from audiosim.errors import InputError, StoreError
from audiosim.service.access.tokens import TokenStore
from audiosim.service.collections.imports import Delivery, ImportStore

OLDER = Path(__file__).with_name("older")
DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
# Digest of the last event as the code of each layout wrote it.
LAST = {
    "4": "f21a9e0ce9d903d4a5a86c573c08590771986f30aa3804ea13024bd3dcd831c4",
    "5": "3d257aa39382beb5feef196833780e27cf3ea1cbbb9ad6c6162c11fcd25ee049",
}
NOON = "2026-11-22T12:00:00.000Z"
FIRST_JUDGMENT = ("judgment", "2026-11-21T09:00:28.000Z", "ann", "q06", "d067", {"fine": 5.0})


def engine_of(url):
    return sql.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))


def drop_all(url):
    engine, found = engine_of(url), sql.MetaData()
    found.reflect(engine)  # including tables of older layouts
    found.drop_all(engine)
    engine.dispose()


def load_older(url, layout):
    """Fill an empty database with the data written by a version of that layout."""
    text = (OLDER / f"layout-{layout}-{url.partition(':')[0]}.sql").read_text(encoding="utf-8")
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(text)
        return
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.connection.execute(text)  # psycopg accepts several statements at once
    engine.dispose()


@pytest.fixture
def older(database_to_make):
    """The URL of a database of the layout before the latest, and the layout."""
    load_older(database_to_make, "4")
    yield database_to_make, "4"
    drop_all(database_to_make)


@pytest.fixture(params=["4", "5"])
def written(request, database_to_make):
    """The URL of a database as written by a version of each layout, including released ones, and the layout."""
    load_older(database_to_make, request.param)
    yield database_to_make, request.param
    drop_all(database_to_make)


def differences(url):
    """Differences between a database and the table definitions, found by Alembic."""
    engine = engine_of(url)
    with engine.connect() as connection:
        # Alembic reports SQLite's empty default text as different from itself.
        defaults = engine.dialect.name != "sqlite"
        options = {"compare_type": True, "compare_server_default": defaults, "version_table": LAYOUTS.name}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), TABLES)
    engine.dispose()
    own = [one for one in found if isinstance(one, tuple) and one[0] == "add_table" and one[1] is LAYOUTS]
    return [one for one in found if one not in own]


def columns(url):
    """Name, type, default and other properties of each column, by table."""
    engine = engine_of(url)
    found = sql.inspect(engine).get_multi_columns()
    engine.dispose()
    return {name: sorted((str(one) for one in each), key=str) for (_, name), each in found.items()}


@pytest.mark.slow
def test_what_an_older_version_wrote_is_all_there_and_goes_on(written):
    url, layout = written
    done = migrate(url)
    assert (done.before, done.layout, layout_of_database(url)) == (layout, LATEST, LATEST)
    (found,) = verify(url).campaigns
    assert (found.collection, found.events, found.digest) == ("demo", 17, LAST[layout])
    with closing(DatabaseStore(url, "demo")) as store:
        event = list(store.read())[1][1]
        assert (event.kind, event.time, event.assessor, event.query, event.document, event.grades) == FIRST_JUDGMENT
        campaign = Campaign(Collection.load(DEMO), "uniform", "CG@5", store)
        assert (campaign.state, campaign.progress.judged, campaign.number) == ("paused", 5, 17)
        campaign.resume("me")
        (pair,) = campaign.ask(1, "ann")
        assert pair == ("q18", "d070")  # withdrawn, and so leased to them again
    assert verify(url)[0]["events"] == 19


def test_tokens_of_an_older_version_stay_good(written):
    url, layout = written
    migrate(url)
    engine = engine_of(url)
    with engine.connect() as connection:
        rows = connection.execute(sql.select(TOKENS.c.name, TOKENS.c.role, TOKENS.c.digest)).all()
    engine.dispose()
    text = (OLDER / f"layout-{layout}-sqlite.sql").read_text(encoding="utf-8")
    assert [(row.name, row.role) for row in rows] == [("ann", "assessor")]
    assert url.startswith("postgresql") or rows[0].digest in text


def test_the_keys_of_imports_go_on_being_known(written):
    url, _ = written
    migrate(url)
    imports = ImportStore(url)
    sent = Delivery.of("demo", "me", "key", b"q d 1\n")
    assert imports.add(sent, b"q d 1\n").problem == "line 1: expected a header"
    assert imports.add(replace(sent, key="new"), b"q d 1\n").status == "waiting"
    imports.close()


@pytest.mark.slow
def test_a_migrated_database_is_laid_out_as_a_new_one(older, tmp_path):
    url, _ = older
    migrate(url)
    assert differences(url) == []
    new = f"sqlite:///{tmp_path / 'new.db'}"
    DatabaseStore(new, "tiny").close()
    assert differences(new) == []
    if url.startswith("sqlite"):
        assert columns(url) == columns(new)


@pytest.mark.slow
def test_the_migrations_lead_from_nothing_to_the_latest_layout(database_to_make):
    assert ScriptDirectory(MIGRATIONS).get_current_head() == LATEST
    settings, engine = Config(), engine_of(database_to_make)
    settings.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")
    engine.dispose()
    assert layout_of_database(database_to_make) == LATEST
    assert differences(database_to_make) == []
    drop_all(database_to_make)


def test_a_copy_of_the_file_is_kept_and_its_way_is_said(tmp_path, caplog):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    load_older(url, "4")
    DatabaseStore(url, "demo").close()
    copy = tmp_path / "campaign.db.layout-4"
    assert f"layout 4 was upgraded to {LATEST}; the file as it was is {copy}" in caplog.text
    assert layout_of_database(f"sqlite:///{copy}") == "4"
    assert migrate(url).kept == ""  # there was nothing left to do
    copied = f"sqlite:///{tmp_path / 'again.db'}"
    copy.rename(tmp_path / "again.db")
    (tmp_path / "again.db.layout-4").touch()
    assert migrate(copied).kept == str(tmp_path / "again.db.layout-4-1")


def test_of_two_that_start_at_once_one_migrates(older, tmp_path):
    url, layout = older
    together, done = Barrier(4), []

    def start():
        together.wait()
        done.append(migrate(url))

    threads = [Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.before for one in done) == [layout, LATEST, LATEST, LATEST]
    assert len(list(tmp_path.glob("*.layout-*"))) == url.startswith("sqlite")
    assert verify(url)[0]["events"] == 17


def test_of_two_that_make_a_database_at_once_one_makes_it(database_to_make):
    together, stores = Barrier(4), []

    def start():
        together.wait()
        stores.append(DatabaseStore(database_to_make, "tiny"))

    threads = [Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [list(store.read()) for store in stores] == [[]] * 4
    for store in stores:
        store.close()


def test_a_database_that_another_process_makes_between_two_questions_is_of_no_older_layout(database_to_make):
    engine = engine_of(database_to_make)
    engine.connect().close()  # connecting sends queries of its own

    def make_it(*_):
        DatabaseStore(database_to_make, "tiny").close()

    sql.event.listen(engine, "after_cursor_execute", make_it, once=True)
    assert layout_in(engine) == LATEST
    engine.dispose()


def test_a_migration_that_fails_changes_nothing(older):
    url, layout = older
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE audiosim_events ADD COLUMN layout INTEGER")
    with pytest.raises(StoreError, match=r"duplicate column name: layout|column \"layout\" .*already exists"):
        migrate(url)
    assert layout_of_database(url) == layout
    assert sql.inspect(engine).has_table("audiosim_schema")  # the migration would have dropped it
    engine.dispose()


def test_an_older_file_that_cannot_be_written_says_so_and_stays(tmp_path):
    path = tmp_path / "old.db"
    load_older(f"sqlite:///{path}", "4")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(StoreError, match="attempt to write a readonly database"):
        DatabaseStore(f"sqlite:///file:{path}?mode=ro&uri=true", "demo")
    assert layout_of_database(f"sqlite:///{path}") == "4"


@pytest.mark.parametrize("layout", ["7", "3", "none"])
def test_a_database_of_another_version_is_refused_in_one_line(tmp_path, layout):
    url = f"sqlite:///{tmp_path / 'log.db'}"
    DatabaseStore(url, "tiny").close()
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(sql.update(LAYOUTS).values(version_num=layout))
        if layout == "none":  # as left by the first versions
            LAYOUTS.drop(connection)
    engine.dispose()
    expected = (
        rf"log.db has layout {layout}, and this version of audiosim knows layouts 4 to {LATEST}: "
        r"use the version that wrote it, or restore a backup into a new database"
    )
    with pytest.raises(InputError, match=expected) as refused:
        DatabaseStore(url, "tiny")
    assert "\n" not in str(refused.value)


def whole(url):
    """The contents and the layout of a database."""
    engine = engine_of(url)
    found = sql.MetaData()
    found.reflect(engine)
    with engine.connect() as connection:
        rows = {name: sorted(map(str, connection.execute(sql.select(t)))) for name, t in found.tables.items()}
    engine.dispose()
    return columns(url), rows


@pytest.mark.slow
def test_commands_that_read_change_nothing_and_read_every_layout(older, tmp_path, run):
    url, layout = older
    before = whole(url)
    (found,) = verify(url).campaigns
    assert (found.collection, found.events, found.digest) == ("demo", 17, LAST[layout])
    assert backup(url, tmp_path / "copy.jsonl") == verify(url) == verify(str(tmp_path / "copy.jsonl"))
    demo = Collection.load(DEMO)
    assert len(judgments_in(url, demo)) == len(demo.judgments) + 5
    assert [record.number for record in log_in(url, demo)] == list(range(1, 18))
    code, out, said = run("token", "list", "--db", url, "--format", "json")
    assert (code, [row["name"] for row in json.loads(out)]) == (0, ["ann"]), said
    code, _, said = run("restore", tmp_path / "copy.jsonl", "--db", url)
    assert code == 1
    assert f"the database has layout {layout}, the latest is {LATEST}: stop the servers that use it" in said
    assert whole(url) == before
    with closing(DatabaseStore(url, "demo", reading=True)) as store, pytest.raises(StoreError, match=r"read.?only"):
        store.describe("another", "")
    assert not list(tmp_path.glob("*.layout-*"))


def test_a_token_is_made_and_ended_under_a_server_of_an_older_version(older):
    url, layout = older
    TokenStore(url).create("new", "client")
    TokenStore(url, existing=True).revoke("ann")
    assert [token.name for token in TokenStore(url, reading=True).tokens()] == ["new"]
    assert layout_of_database(url) == layout


def test_what_is_not_there_is_not_made_by_reading(tmp_path, run):
    url = f"sqlite:///{tmp_path / 'nowhere.db'}"
    with pytest.raises(InputError, match=r"there is no database .*nowhere\.db"):
        judgments_in(url, Collection.load(DEMO))
    assert list(tmp_path.iterdir()) == []


def insert(url, number, seal):
    """Write a line like a program of an older layout, without later columns."""
    engine = engine_of(url)
    event = Event("resume" if number % 2 else "pause", NOON)
    row = {"collection": "demo", "number": number, **row_of(event)}
    try:
        with engine.begin() as connection:
            last = connection.execute(sql.select(CAMPAIGNS.c.digest)).scalar()
            row |= {"digest": link(last, number, event)} if seal else {}
            connection.execute(EVENTS.insert().values(row))
            own = {"last": number} | ({"digest": row["digest"]} if seal else {})
            connection.execute(sql.update(CAMPAIGNS).values(own))
    finally:
        engine.dispose()


@pytest.mark.parametrize("seal", [False, True])
def test_a_program_from_before_the_upgrade_can_write_no_line_after_it(older, seal):
    url, _ = older
    migrate(url)
    with pytest.raises(sql.exc.IntegrityError, match="the database was upgraded and this program is older: restart it"):
        insert(url, 18, seal)
    assert verify(url)[0]["events"] == 17


@pytest.mark.slow
def test_alembic_is_imported_only_where_there_is_something_to_migrate(tmp_path, together):
    code = """
begin()
from audiosim.campaign import DatabaseStore
DatabaseStore(url, "demo")
print("alembic" in sys.modules)
"""

    def imports(url):
        ((status, said),) = together(code, {"url": url})
        assert status == 0, said
        return said.splitlines()[-1]  # a migration is told before it

    url = f"sqlite:///{tmp_path / 'new.db'}"
    assert [imports(url), imports(url)] == ["False", "False"]
    load_older(f"sqlite:///{tmp_path / 'old.db'}", "4")
    assert imports(f"sqlite:///{tmp_path / 'old.db'}") == "True"


def test_the_command_says_what_it_did(tmp_path, run):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    code, _, said = run("migrate", "--db", url)
    assert (code, said.startswith(f"audiosim: there is no database {tmp_path / 'campaign.db'}, expected one")) == (
        1,
        True,
    )
    load_older(url, "4")
    code, out, _ = run("migrate", "--check", "--db", url, "--format", "json")
    assert (code, out.strip()) == (1, f'{{"layout": "4", "latest": "{LATEST}"}}')
    code, out, _ = run("migrate", "--db", url, "--format", "csv")
    assert (code, out.splitlines()) == (
        0,
        ["database,before,layout,kept", f"{url},4,{LATEST},{tmp_path}/campaign.db.layout-4"],
    )
    assert run("migrate", "--check", "--db", url)[0] == 0


@pytest.mark.parametrize("own", [False, True])
def test_tables_beside_the_logs_are_empty_until_their_first_row(own, tmp_path):
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    DatabaseStore(url, "tiny").close()
    before, tables, asked = (
        columns(url),
        TablesBeside(None if own else url, PUBLICATIONS),
        sql.select(PUBLICATIONS.c.by),
    )
    row = {
        "collection": "tiny",
        "number": 1,
        "time": NOON,
        "by": "ann",
        "judgments": 0,
        "withdrawn": "",
        "content": b"",
    }

    def read():
        with tables.connected() as connection:
            return connection.execute(asked).scalars().all()

    def add(*rows):
        with tables.adding() as connection:
            for one in rows:
                connection.execute(sql.insert(PUBLICATIONS), [one])

    assert read() == []
    with tables.changing() as connection:
        assert connection.execute(sql.delete(PUBLICATIONS)).rowcount == 0
    assert columns(url) == before
    with pytest.raises(sql.exc.IntegrityError):
        add(row, row)
    assert read() == []
    add(row)
    assert read() == ["ann"]
    tables.close()
