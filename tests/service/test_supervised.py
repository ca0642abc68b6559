"""A loop that fails continues, reports it once, and is known to fail until it works again."""

import logging
import threading

import pytest

from audiosim.errors import StoreError
from audiosim.service.process.loops import Loop


class Rounds:
    """Work that fails as the test wants, and counts its rounds."""

    def __init__(self):
        self.error, self.count, self.made = None, 0, threading.Semaphore(0)

    def __call__(self):
        self.count += 1
        self.made.release()
        if self.error is not None:
            raise self.error
        return 0.001

    def more(self, rounds=3):
        for _ in range(rounds):
            assert self.made.acquire(timeout=180)


@pytest.fixture
def rounds():
    return Rounds()


@pytest.fixture
def loop(rounds):
    loop = Loop("counting", rounds, longest_rest_s=0.001)
    loop.start()
    yield loop
    loop.stop()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ZeroDivisionError("by nothing"), "counting: ZeroDivisionError: by nothing"),
        (StoreError("full"), "counting: full"),
    ],
)
def test_what_fails_is_tried_again_and_said_once(loop, rounds, wait_until, caplog, error, expected):
    caplog.set_level(logging.INFO)
    rounds.more()
    assert list(loop.reasons()) == []
    rounds.error = error
    wait_until(lambda: list(loop.reasons()) == [expected])
    rounds.more(10)
    assert caplog.text.count(expected) == 1
    rounds.error = None
    wait_until(lambda: not list(loop.reasons()))
    rounds.more()
    assert "counting works again" in caplog.text


def test_a_task_that_fails_keeps_no_other_from_being_done(wait_until):
    done = set()

    def work():
        for name in ("one", "two", "three"):
            with loop.attempt(name):
                if name == "two":
                    raise TypeError("a bug")
                done.add(name)
        return 0.0

    loop = Loop("going", work)
    loop.start()
    wait_until(lambda: list(loop.reasons()) == ["going: two: TypeError: a bug"])
    assert done == {"one", "three"}
    loop.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_is_a_reason_not_to_be_asked(wait_until):
    def work():
        raise SystemExit  # not a subclass of Exception

    loop = Loop("ending", work)
    assert list(loop.reasons()) == []
    loop.start()
    wait_until(lambda: list(loop.reasons()) == ["ending: its thread has ended; restart the service"])
    loop.stop()
    assert list(loop.reasons()) == []


def test_rests_grow_while_all_fails_and_a_wish_to_stop_ends_them():
    waited, stopped = [], threading.Event()

    class Wake(threading.Event):
        def wait(self, timeout=None):
            waited.append(timeout)
            if len(waited) == 8:
                loop.stop()
                stopped.set()
            return True

    def work():
        raise StoreError("full")

    loop = Loop("waiting", work, Wake(), longest_rest_s=10)
    loop.start()
    assert stopped.wait(60)
    assert waited == [0.5, 1, 2, 4, 8, 10, 10, 10]
