"""Work in other processes, some of which do not come back."""

import importlib
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from audiosim import workers
from audiosim.errors import InputError
from audiosim.workers import AHEAD, Crew, spread

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends processes by signals")

# The workers' tasks are in a separate module, so that workers need not import this one.
ACTS = """
import os, signal, sys, time

class Stubborn(Exception):
    def __init__(self, one, two):
        super().__init__("cannot be sent")

def act(task):
    kind, value = task
    if kind == "signal":
        os.kill(os.getpid(), value)
    elif kind == "exit":
        os._exit(value)
    elif kind == "sleep":
        time.sleep(value)
    elif kind == "raise":
        raise Stubborn(1, 2) if value is None else ValueError(value)
    elif kind == "threads":
        import numpy, threadpoolctl
        return [library["num_threads"] for library in threadpoolctl.threadpool_info()]
    elif kind == "print":
        print(value)
        os.write(1, b"noise of a library")
        os.write(2, b"noise of a library")
    return value if kind != "pid" else os.getpid()
"""


@pytest.fixture
def act(tmp_path, monkeypatch):
    (tmp_path / "acts_of_workers.py").write_text(ACTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("acts_of_workers").act
    del sys.modules["acts_of_workers"]


def five_minutes(task):
    return 300.0


def lost(task, why):
    return f"lost: {why}"


def done(act, tasks, workers=2, limit_s=five_minutes):
    return list(spread(act, tasks, workers, limit_s, lost))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_tasks_whoever_is_done_first(act, workers):
    seconds = [0.2, 0, 0, 0.1, 0, 0, 0.05, 0, 0, 0, 0, 0.02]
    assert done(act, [("sleep", s) for s in seconds], workers) == seconds


def test_nothing_to_do_starts_nothing(act):
    assert done(act, []) == []


@pytest.mark.slow
def test_any_number_of_crashes_cost_their_own_tasks_only(act):
    ends = {
        3: (("signal", signal.SIGSEGV), "lost: crashed (signal 11, Segmentation fault)"),
        7: (("signal", signal.SIGABRT), "lost: crashed (signal 6, Aborted)"),
        8: (("signal", signal.SIGKILL), "lost: crashed (signal 9, Killed)"),
        15: (("exit", 3), "lost: crashed (exit code 3)"),
    }
    tasks = [ends[n][0] if n in ends else ("give", n) for n in range(20)]
    assert done(act, tasks) == [ends[n][1] if n in ends else n for n in range(20)]


@pytest.mark.slow
def test_a_crash_is_its_own_task_s_when_this_process_reads_late_what_its_workers_sent(act):
    patience, ended = sys.getswitchinterval(), threading.Event()

    def compute():
        while not ended.is_set():
            pass

    other = threading.Thread(target=compute)
    sys.setswitchinterval(0.05)  # every other thread waits so long for its turn
    try:
        other.start()
        tasks = [("signal", signal.SIGKILL) if n % 2 else ("give", n) for n in range(8)]
        expected = ["lost: crashed (signal 9, Killed)" if n % 2 else n for n in range(8)]
        assert done(act, tasks) == expected
    finally:
        sys.setswitchinterval(patience)
        ended.set()
        other.join()


@pytest.mark.slow
def test_a_task_that_hangs_is_ended_at_its_limit(act):
    tasks = [("give", 0), ("sleep", 1000), ("give", 2), ("give", 3), ("give", 4)]
    start = time.monotonic()
    results = done(act, tasks, limit_s=lambda task: 1.0 if task[0] == "sleep" else 300.0)
    assert results == [0, "lost: took more than 1 s", 2, 3, 4]
    assert time.monotonic() - start < 600  # it would have slept for a thousand


@pytest.mark.slow
def test_time_that_the_caller_takes_counts_for_no_task(act):
    results = spread(act, [("give", n) for n in range(12)], 1, lambda task: 3.0, lost)
    seen = []
    for result in results:
        seen.append(result)
        if result == 1:
            time.sleep(4.0)
    assert seen == list(range(12))


@pytest.mark.slow
def test_tasks_are_taken_as_they_are_needed(act):
    taken = []
    endless = (taken.append(n) or ("give", n) for n in itertools.count())
    with closing(spread(act, endless, 2, five_minutes, lost)) as results:
        assert list(itertools.islice(results, 10)) == list(range(10))
    assert len(taken) <= 10 + 2 * AHEAD


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
def test_closing_ends_the_workers_at_once(act):
    tasks = [("pid", None), *[("sleep", 1000)] * 8]
    before = {process.pid for process in multiprocessing.active_children()}
    with closing(spread(act, tasks, 2, five_minutes, lost)) as results:
        assert next(results) != os.getpid()
        pids = {process.pid for process in multiprocessing.active_children()} - before
        assert len(pids) == 2
    assert all(map(gone, pids))


@pytest.mark.slow
def test_workers_that_still_start_are_ended_without_a_word(act, capfd):
    with closing(spread(act, [("pid", None)] * 8, 8, five_minutes, lost)) as results:
        next(results)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("by", ["put", "done"])
def test_an_interrupt_that_leaves_a_lock_taken_ends_the_workers(act, monkeypatch, by):
    def interrupt(frame, event, argument):
        code, caller = frame.f_code, frame.f_back.f_code.co_name if frame.f_back else None
        if event == "return" and (code.co_qualname, caller) == ("Condition.__enter__", by):
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    monkeypatch.setattr(workers, "PATIENCE_S", 0.5)
    before = {process.pid for process in multiprocessing.active_children()}
    tasks = itertools.repeat(("give", 1))
    with closing(spread(act, tasks, 2, five_minutes, lost)) as results:
        next(results)
        pids = {process.pid for process in multiprocessing.active_children()} - before
        sys.settrace(interrupt)
        with pytest.raises(KeyboardInterrupt):
            list(results)
    deadline = time.monotonic() + 180
    while pids & {process.pid for process in multiprocessing.active_children()} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(pids) == 2
    assert all(map(gone, pids))


@pytest.mark.slow
def test_an_exception_is_raised_in_its_turn_and_says_where_it_comes_from(act):
    results = spread(act, [("give", 0), ("give", 1), ("raise", "no such thing"), ("give", 3)], 2, five_minutes, lost)
    assert (next(results), next(results)) == (0, 1)
    with pytest.raises(ValueError, match=r"^no such thing$") as raised:
        next(results)
    assert "in act" in str(raised.value.__cause__)


@pytest.mark.slow
def test_an_exception_that_cannot_be_sent_is_an_error(act):
    with pytest.raises(InputError, match=r"^worker processes end: Unpicklable object from worker$"):
        done(act, [("raise", None)])


@pytest.mark.slow
def test_workers_that_cannot_start_are_an_error_not_a_loop(act, tmp_path, capfd):
    (tmp_path / "acts_of_workers.py").write_text("raise ImportError('gone meanwhile')")
    with pytest.raises(InputError, match=r"^worker processes end: All workers expired$"):
        done(act, [("give", 0)])
    assert "gone meanwhile" in capfd.readouterr().out


@pytest.mark.slow
def test_a_worker_keeps_to_one_thread(act):
    (threads,) = done(act, [("threads", None)])
    assert set(threads) == {1}


@pytest.mark.slow
def test_what_workers_print_stays_out_of_the_output_and_libraries_are_muted(act, capfd):
    assert done(act, [("print", "said in Python")]) == ["said in Python"]
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "said in Python\n")


HANG = """
import sys
sys.path.insert(0, sys.argv[1])
from acts_of_workers import act
from audiosim.workers import spread
results = spread(act, [("pid", 0), ("pid", 0), *[("sleep", 1000)] * 8], 2, lambda task: 1000.0, print)
print(next(results), next(results), flush=True)
next(results)
"""


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("group", [False, True], ids=["alone", "with its group"])
@pytest.mark.slow
def test_workers_end_with_the_process_they_work_for_even_while_they_hang(act, tmp_path, by, group):
    command = [sys.executable, "-c", HANG, tmp_path]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, cwd=tmp_path
    )
    pids = list(map(int, running.stdout.readline().split()))
    (os.killpg if group else os.kill)(running.pid, by)
    running.communicate(timeout=180)  # ends when the last of its workers closes the pipe
    assert running.returncode == -by
    deadline = time.monotonic() + 180
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(map(gone, pids))


@pytest.mark.slow
def test_a_process_that_ends_while_its_workers_work_ends_them(act, tmp_path):
    ends = HANG[: HANG.rindex("next")] + "sys.exit(3)"
    found = subprocess.run([sys.executable, "-c", ends, tmp_path], capture_output=True, timeout=180, cwd=tmp_path)
    assert found.returncode == 3
    assert all(map(gone, map(int, found.stdout.split())))


@pytest.fixture
def standby(act):
    one = Crew(act, lambda task: 0.5 if task[0] == "sleep" else 300.0, lambda task, why: why)
    yield one
    one.end()


@pytest.mark.slow
def test_a_worker_that_stands_by_does_what_comes_in_another_process(standby):
    standby.start()
    assert standby.do(("value", 3)) == 3
    assert standby.do(("pid", None)) != os.getpid()


@pytest.mark.slow
def test_a_worker_that_is_ended_while_it_has_nothing_to_do_is_replaced(standby):
    os.kill(standby.do(("pid", None)), signal.SIGKILL)
    time.sleep(0.5)
    assert standby.do(("value", 3)) == 3


@pytest.mark.slow
def test_a_task_that_ends_its_process_is_lost_and_the_next_is_done(standby):
    for task, why in (
        (("signal", signal.SIGSEGV), "crashed (signal 11"),
        (("exit", 3), "crashed (exit code 3)"),
        (("sleep", 1000), "took "),
    ):
        assert standby.do(task).startswith(why)
        assert standby.do(("value", 4)) == 4


@pytest.mark.slow
def test_an_exception_of_a_task_is_raised_where_it_was_asked_for(standby):
    with pytest.raises(ValueError, match="no good"):
        standby.do(("raise", "no good"))
    assert standby.do(("value", 5)) == 5


@pytest.mark.slow
def test_tasks_that_come_at_once_wait_for_each_other(standby):
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(standby.do, [("value", number) for number in range(8)])) == list(range(8))
