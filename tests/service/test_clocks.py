"""Servers on machines whose clocks differ go by one clock, that of their database."""

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import sqlalchemy as sql

from audiosim.campaign import DatabaseStore, clock
from audiosim.campaign.tables import TABLES

pytestmark = pytest.mark.slow

COARSE = "/v1/collections/coarse"
# A server whose machine is so many seconds ahead: whatever asks for the time of day is told another one.
AHEAD = """
import datetime, os, time

seconds, right, of_day = float(os.environ["AHEAD_S"]), datetime.datetime, time.time


class Ahead(right):
    @classmethod
    def now(cls, tz=None):
        return right.now(tz) + datetime.timedelta(seconds=seconds)


datetime.datetime, time.time = Ahead, lambda: of_day() + seconds
from audiosim.cli import main

main()
"""


@contextmanager
def ahead(folder, url, seconds, log):
    command = [sys.executable, "-c", AHEAD, "serve", folder, "--port", "0", "--db", url, "--model", "uniform"]
    with log.open("wb") as stream:
        process = subprocess.Popen(list(map(str, command)), stderr=stream, env=os.environ | {"AHEAD_S": str(seconds)})
    try:
        give_up = time.monotonic() + 120
        while not (found := re.search(r"serving .* at (http://[^;\s]+)", log.read_text(encoding="utf-8"))):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < give_up
            time.sleep(0.05)
        with httpx.Client(base_url=found[1], timeout=60) as http:
            yield http
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def database(postgres):
    engine = sql.create_engine(postgres.replace("postgresql:", "postgresql+psycopg:"))
    TABLES.drop_all(engine)
    engine.dispose()
    return postgres


def test_no_pair_is_handed_out_twice_by_servers_whose_clocks_differ_by_an_hour(folders, tmp_path, database):
    with ExitStack() as stack:
        right, fast, slow = (
            stack.enter_context(ahead(folders[1], database, seconds, tmp_path / f"log {seconds}"))
            for seconds in (0, 3600, -3600)
        )
        held = {}
        for number, http in enumerate((right, fast, slow, right, fast, slow)):
            (pair,) = http.post(f"{COARSE}/next", json={"assessor": f"a{number}"}).json()["pairs"]
            held[f"a{number}"] = pair["query"], pair["document"]
        assert len(set(held.values())) == len(held)
        for (name, (query, document)), http in zip(held.items(), (fast, slow, right, slow, right, fast), strict=True):
            said = {"query": query, "document": document, "assessor": name, "broad": 1}
            answer = http.post(f"{COARSE}/judgments", json=said)
            assert answer.status_code == 201, answer.text
        other = fast.post(f"{COARSE}/next", json={"assessor": "late"}).json()["pairs"][0]
        said = {"query": other["query"], "document": other["document"], "assessor": "thief", "broad": 1}
        assert slow.post(f"{COARSE}/judgments", json=said).status_code == 403
        rows = right.get(f"{COARSE}/judgments?format=log").text
        times = [datetime.fromisoformat(found) for found in re.findall(r'"time": "([^"]+)"', rows)]
        assert all(abs(moment - datetime.now(UTC)) < timedelta(minutes=10) for moment in times)


def test_the_clock_is_that_of_the_database_server(database, monkeypatch):
    monkeypatch.setattr(clock, "utc_now", lambda: datetime(2000, 1, 1, tzinfo=UTC))
    store = DatabaseStore(database, "coarse")
    assert abs(store.clock() - datetime.now(UTC)) < timedelta(minutes=1)
    store.close()
