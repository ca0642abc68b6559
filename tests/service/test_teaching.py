"""Learning in a process of its own: it gives what learning here gives, and what both have is not sent twice."""

import os
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from audiosim.campaign import Lesson
from audiosim.corpus.pool import build_pool
from audiosim.errors import ServiceError
from audiosim.plugins import make_estimator
from service.teaching import Learner, _environment, receive, wrap


@pytest.fixture
def lesson(small):
    pool = build_pool(small)
    return Lesson(1, make_estimator(pool, "joint"), pool.spread(small.grades()))


@pytest.mark.slow
def test_what_a_process_of_its_own_learns_is_what_is_learned_here_to_the_last_bit(lesson):
    nothing = np.full(len(lesson.grades), np.nan)
    there, here = (learned.predict(nothing) for learned in (Learner(lesson).learned(), lesson.learned()))
    assert not np.array_equal(here.prior.variance, lesson.estimator.predict(nothing).prior.variance)
    for name in ("mean", "variance", "shared"):
        assert np.array_equal(getattr(there.prior, name), getattr(here.prior, name))
    assert np.array_equal(there.probabilities, here.probabilities)


def test_arrays_that_the_service_has_are_not_sent_back_but_shared(lesson, tmp_path):
    value = {"old": np.arange(50_000.0), "new": np.arange(50_000.0)}
    with (tmp_path / "there").open("w+b") as there, (tmp_path / "back").open("w+b") as back:
        sent = wrap(value)
        sent.write(there)
        there.seek(0)
        got, arrays = receive(there)
        wrap({"old": got["old"], "new": got["new"] + 1}, arrays).write(back)
        assert 400_000 < back.tell() < 410_000  # one of two arrays of 400,000 bytes
        back.seek(0)
        answer, _ = receive(back, sent.arrays)
    assert np.shares_memory(answer["old"], value["old"])
    assert np.array_equal(answer["new"], value["new"] + 1)


def test_a_lesson_is_packed_without_a_copy_of_its_arrays(lesson):
    held = np.zeros(2_000_000)
    tracemalloc.start()
    try:
        packed = wrap({"held": held})
        assert tracemalloc.get_traced_memory()[1] < held.nbytes / 10
    finally:
        tracemalloc.stop()
    assert sum(array.nbytes for array in packed.arrays) == held.nbytes


def test_a_process_that_is_ended_while_it_learns_is_said(lesson):
    learner = Learner(lesson)
    learner._process.send_signal(signal.SIGKILL)
    time.sleep(0.05)
    with pytest.raises(ServiceError, match="^the process that learns ended with status -9$"):
        learner.learned()


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_process_whose_service_was_killed_ends_without_a_word(lesson, share, tmp_path):
    sent = tmp_path / "sent"
    with sent.open("wb") as target:
        wrap(lesson).write(target)
    text = sent.read_bytes()
    command = [sys.executable, "-m", "service.teaching"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment(os.environ)
    ) as process:
        process.stdin.write(text[: int(share * len(text))])
        process.stdin.close()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
