"""Servers on machines with different clocks use one clock: that of their database."""

import re
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from audiosim.campaign import DatabaseStore
from audiosim.campaign import engine as clock

pytestmark = pytest.mark.slow

COARSE = "/v1/collections/coarse"
# A server on a machine that is some seconds ahead: every function for the time of day is shifted.
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


@pytest.fixture
def ahead(programmed):
    """A maker of servers on machines that are some seconds ahead."""

    def start(folder, url, seconds, log):
        command = [sys.executable, "-c", AHEAD, "serve", folder, "--port", "0", "--db", url, "--model", "uniform"]
        return programmed(command, log, AHEAD_S=str(seconds))

    return start


def test_no_pair_is_handed_out_twice_by_servers_whose_clocks_differ_by_an_hour(
    ahead, commanded, folders, tmp_path, empty_postgres
):
    with ExitStack() as stack:
        options = ("--db", empty_postgres, "--model", "uniform")
        server = stack.enter_context(commanded(folders[1:], tmp_path / "log", *options))
        right = stack.enter_context(server.client())
        fast, slow = (
            stack.enter_context(ahead(folders[1], empty_postgres, seconds, tmp_path / f"log {seconds}"))
            for seconds in (3600, -3600)
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


def test_the_clock_is_that_of_the_database_server(empty_postgres, monkeypatch):
    monkeypatch.setattr(clock, "utc_now", lambda: datetime(2000, 1, 1, tzinfo=UTC))
    store = DatabaseStore(empty_postgres, "coarse")
    assert abs(store.clock() - datetime.now(UTC)) < timedelta(minutes=1)
    store.close()
