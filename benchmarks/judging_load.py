"""Waiting of assessors while many judge at once and the model learns anew, and how much memory that takes.

    python benchmarks/judging_load.py COLLECTION [--assessors 50] [--seconds 300] [--pause 2]

A server as the command starts it, SQLite, nothing judged. Each assessor asks for a pair, pauses (somewhere between none
and twice the time given), judges it, and goes on; beside them /health/live is asked ten times a second. Prints the
median, the 99th percentile and the longest time of each, how often the model learned, and the server's memory after a
fifth of the time and at the end.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import httpx
import numpy as np

TIMES: dict[str, list[float]] = defaultdict(list)
TROUBLES: list[str] = []


def timed(what: str, http: httpx.Client, method: str, path: str, body: object = None) -> httpx.Response:
    """A request, and how long it took."""
    start = time.perf_counter()
    answer = http.request(method, path, json=body)
    TIMES[what].append(time.perf_counter() - start)
    if answer.status_code not in (200, 201):
        TROUBLES.append(f"{what} {answer.status_code} {answer.text}")
    return answer


def judge(url: str, collection: str, name: str, column: str, pause: float, stop: threading.Event) -> None:
    """Judge at random until told to stop."""
    rng, path = random.Random(name), f"/v1/collections/{collection}"
    with httpx.Client(base_url=url, timeout=120) as http:
        stop.wait(rng.uniform(0, pause))
        while not stop.is_set():
            for pair in timed("next", http, "POST", f"{path}/next", {"assessor": name}).json().get("pairs", []):
                stop.wait(rng.uniform(0, 2 * pause))
                said = {"query": pair["query"], "document": pair["document"], "assessor": name, "played_s": 20}
                timed("judgment", http, "POST", f"{path}/judgments", said | {column: rng.choice([0, 1, 2])})


def watch(url: str, stop: threading.Event) -> None:
    """Ask whether the service lives."""
    with httpx.Client(base_url=url, timeout=120) as http:
        while not stop.wait(0.1):
            timed("health/live", http, "GET", "/health/live")


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Play it and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("collection", type=Path)
    parser.add_argument("--assessors", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--pause", type=float, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "audiosim.cli", "serve", str(asked.collection), "--port", "0"]
        command += ["--judgments", "none", "--db", f"sqlite:///{folder}/campaign.db"]
        with log.open("wb") as stream:
            process = subprocess.Popen(command, stderr=stream)
        try:
            while not (found := re.search(r"serving (\S+) at (http://\S+);", log.read_text(encoding="utf-8"))):
                time.sleep(0.1)
            play(found[2], found[1], asked, process.pid)
        finally:
            process.terminate()
            process.wait()


def play(url: str, collection: str, asked: argparse.Namespace, pid: int) -> None:
    """Judge for as long as was asked for, and print what was measured."""
    with httpx.Client(base_url=url, timeout=60) as http:
        scale = http.get(f"/v1/collections/{collection}").json()["scale"]["name"]
    column, stop = scale if scale in ("fine", "broad") else "grade", threading.Event()
    threads = [threading.Thread(target=watch, args=(url, stop))]
    for number in range(asked.assessors):
        given = (url, collection, f"a{number}", column, asked.pause, stop)
        threads.append(threading.Thread(target=judge, args=given))
    for thread in threads:
        thread.start()
    time.sleep(asked.seconds / 5)
    early = memory_mb(pid)
    time.sleep(4 * asked.seconds / 5)
    late = memory_mb(pid)
    stop.set()
    for thread in threads:
        thread.join()
    with httpx.Client(base_url=url, timeout=60) as http:
        rows = http.get(f"/v1/collections/{collection}/judgments?format=log").text.splitlines()
    learned = sum('"kind": "learn"' in row for row in rows)
    for what, seconds in TIMES.items():
        median, high, most = 1000 * np.quantile(seconds, [0.5, 0.99, 1])
        print(f"{what}: {len(seconds)} requests, median {median:.1f} ms, p99 {high:.1f} ms, longest {most:.1f} ms")
    print(f"learned {learned} times; memory {early:.0f} MB, then {late:.0f} MB; {len(TROUBLES)} refused {TROUBLES[:2]}")


if __name__ == "__main__":
    main()
