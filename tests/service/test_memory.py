"""Freed memory is kept for the next answer."""

import gc
import subprocess
import sys
import weakref

import pytest

from audiosim import estimate
from audiosim.ranking.verdicts import Verdicts
from service.operations.campaign import verdict_fields
from service.process.loops import kept_beside

# The operating system counts pages. An array of 8 MiB has 2,048 pages.
SCRIPT = """
import resource, sys
from service.process.loops import keep_freed_memory

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
from service.process.loops import give_back_freed_memory, keep_freed_memory

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

keep_freed_memory()
held = [bytearray(b"x" * 2**20) for _ in range(100)]
last = bytearray(b"x" * 2**20)  # at the end: what is before it is not given back by itself
del held
before = resident()
give_back_freed_memory()
print(before - resident())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
def test_what_was_freed_is_given_back_when_it_is_asked_for():
    done = subprocess.run([sys.executable, "-c", TRIM], capture_output=True, text=True, check=True, timeout=300)
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
