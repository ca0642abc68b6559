"""Lines of the service's log are in the order of their times, from any thread and of any kind."""

import io
import json
import logging
import sys
from datetime import datetime
from threading import Thread

import pytest

from audiosim.service.http.observation import Seen, request_log, start_logging

SEEN = Seen("1", "GET", "/", 200, 0.001, 1, 0, "127.0.0.1", None)


@pytest.fixture
def logged(monkeypatch):
    """Lines logged as JSON from now on."""
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level = root.handlers, root.level
    monkeypatch.setattr(sys, "stderr", stream)
    start_logging("json")
    yield stream
    root.handlers, root.level = handlers, level


def test_lines_of_many_threads_stand_in_the_order_of_their_times(logged):
    write, interval = request_log("json", logged), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work():
        for _ in range(300):
            write(SEEN)
            logging.getLogger("service").info("a line")

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    times = [datetime.fromisoformat(json.loads(line)["time"]) for line in logged.getvalue().splitlines()]
    assert len(times) == 8 * 600
    assert times == sorted(times)
