"""Memory that was freed is kept for the next answer."""

import subprocess
import sys

import pytest

# Pages are counted by the operating system. An array of 8 MiB has 2,048 of them.
SCRIPT = """
import resource, sys
from service.memory import keep_freed_memory

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
from service.memory import give_back_freed_memory, keep_freed_memory

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


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
def test_what_was_freed_is_given_back_when_it_is_asked_for():
    done = subprocess.run([sys.executable, "-c", TRIM], capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout) > 90 * 2**10
