"""Logs behind a pooler in transaction mode: whatever a session keeps belongs to everybody there."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
import sqlalchemy as sql

from audiosim.campaign import DatabaseStore
from audiosim.campaign.engine import open_engine
from audiosim.campaign.schema import TIMEOUT_S
from audiosim.errors import StoreError
from audiosim.service.access.tokens import TokenStore

SETTINGS = "synchronous_commit", "lock_timeout", "default_transaction_read_only", "transaction_read_only"


def row_of(url, statement):
    """The only row of a statement as another program runs it."""
    engine = open_engine(url, TIMEOUT_S).execution_options(isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            return connection.exec_driver_sql(statement).one()
    finally:
        engine.dispose()


def test_no_acknowledged_judgment_is_lost_by_a_kill_behind_a_pooler(pooled, said, append):
    stores = [DatabaseStore(pooled.url, f"pooled {number}") for number in range(4)]
    written = {}

    def write(number):
        for place in range(40):  # every statement far more often than drivers need to prepare it
            append(stores[number], said(document=f"{number} {place}"))
            written[number] = place + 1

    with ThreadPoolExecutor(len(stores)) as threads:
        list(threads.map(write, range(len(stores))))
    pooled.cluster.stop()  # at once: what is not on the disk is lost
    pooled.cluster.start()
    for number, store in enumerate(stores):
        with closing(DatabaseStore(pooled.cluster.url, f"pooled {number}", reading=True)) as found:
            assert len(list(found.read())) == written[number] == 40
        store.close()


def test_every_transaction_has_its_settings_behind_a_pooler_and_leaves_none_to_others(pooled, said):
    values = ", ".join(f"current_setting('{name}')" for name in SETTINGS)
    before = row_of(pooled.url, f"SELECT {values}")
    writing, reading = (open_engine(pooled.url, 7.0, reading=one) for one in (False, True))
    for _ in range(3):
        for engine, read_only in ((writing, "off"), (reading, "on")):
            with engine.begin() as connection, writing.begin() as other:  # in both sessions of the pooler
                for one, expected in ((connection, read_only), (other, "off")):
                    found = one.exec_driver_sql(f"SELECT {values}").one()
                    assert tuple(found) == ("on", "7s", "off", expected)
        assert row_of(pooled.url, f"SELECT {values}") == before
    assert before[0] == "off"
    engine = open_engine(pooled.url, TIMEOUT_S, reading=True)
    with engine.connect() as connection, pytest.raises(sql.exc.InternalError, match="read-only transaction"):
        connection.exec_driver_sql("CREATE TABLE nowhere (one int)")
    for one in (writing, reading, engine):
        one.dispose()


def test_tokens_and_logs_work_through_a_pooler_while_its_server_restarts(pooled, said, append):
    tokens, store = TokenStore(pooled.url), DatabaseStore(pooled.url, "tiny")
    numbers = []
    for number in range(12):
        tokens.create(f"ann {number}", "assessor")
        numbers.append(append(store, said(document=str(number))))
    pooled.cluster.stop()
    with pytest.raises(StoreError):
        append(store, said(document="lost"))
    pooled.cluster.start()

    give_up = time.monotonic() + 60
    while len(numbers) < 13 and time.monotonic() < give_up:  # until the pooler has found the server again
        with suppress(StoreError):
            numbers.append(append(store, said(document="12")))
        time.sleep(0.1)
    assert numbers == list(range(1, 14))
    assert len(tokens.tokens()) == 12
    assert len(list(store.read())) == 13
    tokens.close()
    store.close()
