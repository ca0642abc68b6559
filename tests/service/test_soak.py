"""Memory of a server under load: it grows during the first requests and then stays constant.

Some two thousand requests here. `AUDIOSIM_SOAK_S=600` takes ten minutes; memory may grow in the first one only.
"""

import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle
from pathlib import Path

import pytest

from audiosim.collection.pool import build_pool

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")]

SOAK_S = float(os.environ.get("AUDIOSIM_SOAK_S", "0"))
EARLY, LATE = 750, 1750  # requests; after 250, and learning from all pairs, 8,000 add .5 %
EARLY_S = min(60.0, SOAK_S / 2)
GROWTH = 1.05 if SOAK_S else 1.01  # memory holds the log: a line per 25 requests once all are judged
SMALL, COARSE = "/v1/collections/small", "/v1/collections/coarse"


def memory_kb(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


def test_memory_is_flat_under_load(commanded, folders, small, coarse, tmp_path, request):
    pairs = build_pool(coarse).pairs
    asked = {"query": [q for q, _ in build_pool(small).pairs], "document": [d for _, d in build_pool(small).pairs]}
    reading = [
        ("GET", f"{SMALL}/ranking", None),
        ("GET", f"{SMALL}/ranking?measure=nDCG@4", None),
        ("POST", f"{SMALL}/predictions", asked),
        ("GET", f"{COARSE}/campaign", None),
        ("GET", f"{COARSE}/judgments?format=csv", None),
        ("GET", f"{COARSE}/answers?assessor=a1", None),
        ("GET", f"{COARSE}/course", None),
        ("GET", "/metrics", None),
        ("GET", "/organise/coarse", None),
        ("GET", f"{COARSE}/nowhere", None),
    ]
    stop, statuses, begun = threading.Event(), set(), time.monotonic()
    served = []  # one for each request: threads can append safely

    with commanded(folders, tmp_path / "log", "--db", f"sqlite:///{tmp_path / 'campaign.db'}") as server:

        def read(first):
            with server.client() as http:
                for method, path, body in cycle(reading[first:] + reading[:first]):
                    if stop.is_set():
                        return
                    statuses.add((path, http.request(method, path, json=body).status_code))
                    served.append(path)

        def write():
            with server.client() as http:
                for number in count():
                    while len(served) < 25 * (number - len(pairs)):  # all pairs at first, then one now and then
                        if stop.wait(0.01):
                            return
                    pair = pairs[number % len(pairs)]
                    said = {"query": pair.query, "document": pair.document, "assessor": f"a{number % 5}"}
                    answer = http.post(f"{COARSE}/judgments", json=said | {"broad": number % 3})
                    statuses.add(("judgment", answer.status_code))

        def memory_after(requests, seconds):
            while len(served) < requests or time.monotonic() - begun < seconds:
                if any(job.done() for job in jobs):  # with an error, raised below
                    break
                time.sleep(0.01)
            return memory_kb(server.process.pid)

        with ThreadPoolExecutor(4) as threads:
            jobs = [threads.submit(read, first) for first in (0, 3, 6)] + [threads.submit(write)]
            early, late = memory_after(EARLY, EARLY_S), memory_after(LATE, SOAK_S)
            stop.set()
        for job in jobs:
            job.result()
    took_s = time.monotonic() - begun
    found = f"{early / 1024:.1f} MB early on, {late / 1024:.1f} MB after {len(served)} requests in {took_s:.0f} s"
    request.node.user_properties.append(("memory", found))
    expected = {(path, 404 if path.endswith("nowhere") else 200) for _, path, _ in reading}
    assert statuses == expected | {("judgment", 201)}
    assert late <= GROWTH * early, found
