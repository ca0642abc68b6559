"""Freed memory is kept for the next answer; what is kept for a state is kept once, and for one state."""

import gc
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

from audiosim import estimate
from audiosim.collection.values import Judgment
from audiosim.ranking.verdicts import Verdicts
from audiosim.service.collections.campaigns import Judging
from audiosim.service.collections.outlook import Outlook
from audiosim.service.collections.served import ServedCollection
from audiosim.service.operations.campaign import verdict_fields
from audiosim.service.process.loops import kept_beside
from audiosim.service.types.campaign import ProgressOut
from benchmarks.synthetic import Design, synthetic_collection

# The operating system counts pages. An array of 8 MiB has 2,048 pages.
SCRIPT = """
import resource, sys
from audiosim.service.process.loops import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        bytearray(8 * 2**20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
faults()
print(faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
def test_a_large_array_is_not_fetched_page_by_page_each_time():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout) < 2048


TRIM = """
import re
from audiosim.service.process.loops import SpareMemory, give_back_freed_memory, keep_freed_memory

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

keep_freed_memory()
spare = SpareMemory()
held = [bytearray(b"x" * 2**20) for _ in range(100)]
last = bytearray(b"x" * 2**20)  # at the end: what is before it is not given back by itself
{call}()  # at the peak, above which the process does not grow again
del held
before = resident()
{call}()
print(before - resident())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
@pytest.mark.parametrize("call", ["give_back_freed_memory", "spare"])
def test_what_was_freed_is_given_back_when_it_is_asked_for_and_after_a_peak(call):
    done = subprocess.run(
        [sys.executable, "-c", TRIM.replace("{call}", call)], capture_output=True, text=True, check=True, timeout=300
    )
    assert int(done.stdout) > 90 * 2**10


class Thing:
    """Something to ask about."""


def test_an_answer_is_made_once_and_goes_with_what_it_is_about():
    made = []
    answer = kept_beside(lambda about: made.append(1) or [about.__class__.__name__])
    things = [Thing() for _ in range(100)]
    first = [answer(thing) for thing in things]
    assert all(answer(thing) is known for thing, known in zip(things, first, strict=True))
    assert len(made) == 100
    gone = [weakref.ref(thing) for thing in things]
    del things
    gc.collect()
    assert [one() for one in gone] == [None] * 100


@pytest.mark.slow
def test_what_was_told_of_a_ranking_keeps_no_ranking_of_before(small):
    told = [Verdicts(estimate(small, "joint")) for _ in range(3)]
    words = [verdict_fields(one) for one in told]
    assert words[0] == words[1] == words[2]
    gone = [weakref.ref(one.ranking) for one in told]
    del told
    gc.collect()
    assert [one() for one in gone] == [None] * 3


@pytest.mark.slow
def test_what_was_computed_about_a_state_goes_when_people_judge_on(small):
    """Everything that an organiser's page shows, of some states: none is left, nor its belief."""
    one = ServedCollection(small, "joint", Judging())
    outlook, rng, gone = Outlook(one), np.random.default_rng(0), []
    gc.disable()  # what only the collector of cycles frees would pile up between its rounds
    try:
        for name in ("ann", "ben", "cho", "ben"):
            verdict_fields(one.verdicts()[1])
            _ = one.predictor().now().variance
            ProgressOut.from_domain("small", one.campaign.current_state)
            outlook.leanings()
            outlook.course(seconds=0.1)
            outlook.remaining.worked_out(seconds=0.1)
            assert outlook.plan() is not None
            gone += [weakref.ref(one.campaign.selection), weakref.ref(one.campaign.selection.belief)]
            (pair,) = one.campaign.ask(assessor=name)
            one.campaign.tell(Judgment(*pair, float(rng.choice(small.scale.levels)), name))
        one.campaign.sync()
        gone.pop(1)  # the belief before the log, from which it can be counted again
        assert [ref() for ref in gone] == [None] * len(gone)
    finally:
        gc.enable()


def megabytes_of_arrays():
    """Memory of all arrays that objects refer to, each once."""
    seen = {}
    for part in gc.get_referents(*gc.get_objects()):
        if type(part) is np.ndarray:
            while isinstance(part.base, np.ndarray):
                part = part.base
            seen[id(part)] = part.nbytes
    return sum(seen.values()) / 1e6


@pytest.mark.slow
def test_with_many_assessors_arrays_of_one_state_stay_and_none_of_forecasts_and_courses():
    whole = synthetic_collection(np.random.default_rng(0), Design(12, 6, 72, 5, 100))
    one = ServedCollection(replace(whole, judgments=()), "joint", Judging())
    one.judging.errands.start()
    outlook, places, known = Outlook(one), np.random.default_rng(1).permutation(len(whole.judgments)), []
    before = megabytes_of_arrays()
    for number, place in enumerate(places[:24].tolist()):
        judged = whole.judgments[place]
        one.campaign.tell(Judgment(*judged.pair, judged.grade, f"a{number}"))
    verdict_fields(one.verdicts()[1])
    outlook.course()  # somebody looks at it, and at what remains
    state = megabytes_of_arrays() - before
    assert 5 < state < 30
    work = [threading.Thread(target=lambda: outlook.remaining.worked_out(seconds=0.5))]
    work.append(threading.Thread(target=lambda: outlook.go_on(lambda: True)))
    for thread in work:
        thread.start()
    while any(thread.is_alive() for thread in work):
        known.append(megabytes_of_arrays() - before)
        time.sleep(1)
    one.judging.errands.stop()
    assert max(known) < state + 5
    assert outlook.course().moments  # it was computed
    assert outlook.remaining.at_hand() is not None
