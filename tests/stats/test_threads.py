"""Threads of matrix products, for which the process has only one setting."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import threadpoolctl

from audiosim.stats.threads import one_thread, spread_on_threads

PATIENCE_S = 180


def threads_now():
    return [library["num_threads"] for library in threadpoolctl.ThreadpoolController().select(user_api="blas").info()]


def test_who_wants_one_thread_waits_for_nobody_and_the_last_restores_what_was():
    before, together = threads_now(), Barrier(2)

    def want_one():
        with one_thread():
            together.wait(PATIENCE_S)  # breaks if only one may be inside
            return threads_now()

    with ThreadPoolExecutor(2) as pool:
        found = [future.result() for future in [pool.submit(want_one), pool.submit(want_one)]]
    assert found == [[1] * len(before)] * 2
    assert threads_now() == before


def test_within_one_thread_tasks_are_done_in_turn_and_outside_again_as_before():
    before = threads_now()
    with one_thread(), one_thread():
        assert spread_on_threads(lambda task: (task, threads_now()), [1, 2]) == [
            (1, [1] * len(before)),
            (2, [1] * len(before)),
        ]
    assert threads_now() == before
